//! What programs may ask a node through its socket, besides to publish and to subscribe.

use std::{
    io::{BufReader, Write},
    os::unix::net::UnixStream,
};

use crate::{
    messages::node::{answer, connect, node, run, text},
    support::Stage,
};
use serde_json::Value;

fn ask(client: &mut BufReader<UnixStream>, request: &str) -> Value {
    writeln!(client.get_mut(), "{request}").unwrap();
    answer(client)
}

#[test]
fn what_a_tag_names_is_withdrawn_and_stays_so_after_a_kill() {
    let stage = Stage::new();
    let (first, _) = node(&stage);
    let socket = text(&stage.path("socket"));
    let tags = ["7", "7", "8", "18446744073709551615"];
    for tag in tags {
        let args = ["pub", "a", "--message", "x", "--tag", tag, "--via", &socket];
        run(&args).end().expect(0);
    }
    let cancelled = run(&["pub", "--cancel", "7", "--via", &socket]).end().expect(0);
    assert_eq!(cancelled.all("cancelled")[0]["messages"], 2);
    assert!(cancelled.stderr.contains("2 messages with tag 7 are withdrawn"));
    let mut client = connect(&stage);
    // Of one that numbers of 53 bits do not hold.
    let told = ask(&mut client, r#"{"do":"cancel","tag":"18446744073709551615"}"#);
    assert_eq!((&told["messages"], &told["tag_text"]), (&1.into(), &tags[3].into()));
    let again = ask(&mut client, r#"{"do":"cancel","tag":7}"#);
    assert_eq!((&again["event"], &again["messages"]), (&"cancelled".into(), &0.into()));
    assert!(again["tag_text"].is_null());
    assert_eq!(ask(&mut client, r#"{"do":"status"}"#)["own"], 1);
    // What goes is written within 20 ms, and what is published after it by the same thread.
    run(&["pub", "a", "--message", "y", "--via", &socket]).end().expect(0);
    first.kill();
    let (_second, _) = node(&stage);
    let status = ask(&mut connect(&stage), r#"{"do":"status"}"#);
    // Messages of the life before are kept for others, and are no longer its own.
    assert_eq!((&status["own"], &status["kept"]), (&0.into(), &2.into()));
    let alone = run(&["pub", "--cancel", "7"]).end().expect(2);
    assert!(alone.error().contains("arguments (--via <SOCKET>): are missing"), "{}", alone.error());
}

#[test]
fn a_tag_beyond_53_bits_is_told_in_digits_too() {
    let stage = Stage::new();
    let (_node, _) = node(&stage);
    let mut client = connect(&stage);
    ask(&mut client, r#"{"do":"subscribe","filter":"a"}"#);
    for (tag, digits) in
        [("9007199254740991", None), ("9007199254740993", Some("9007199254740993"))]
    {
        run(&["pub", "a", "--message", "x", "--tag", tag, "--via", &text(&stage.path("socket"))])
            .end()
            .expect(0);
        let message = answer(&mut client);
        assert_eq!(message["tag"].to_string(), tag);
        assert_eq!(message["tag_text"].as_str(), digits);
    }
}

#[test]
fn a_subscription_ends_when_it_is_asked_to_and_others_go_on() {
    let stage = Stage::new();
    let (_node, _) = node(&stage);
    let mut client = connect(&stage);
    let first = ask(&mut client, r#"{"do":"subscribe","filter":"a"}"#)["subscription"].clone();
    ask(&mut client, r#"{"do":"subscribe","filter":"b"}"#);
    let request = format!(r#"{{"do":"unsubscribe","subscription":{first}}}"#);
    let told = ask(&mut client, &request);
    assert_eq!((&told["event"], &told["subscription"]), (&"unsubscribed".into(), &first));
    assert_eq!(ask(&mut client, &request)["code"], "request.invalid");
    let mut other = connect(&stage);
    for topic in ["a", "b"] {
        ask(&mut other, &format!(r#"{{"do":"publish","topic":"{topic}","text":"x"}}"#));
    }
    assert_eq!(answer(&mut client)["topic"], "b");
    let foreign = ask(&mut other, r#"{"do":"unsubscribe","subscription":2}"#);
    assert!(foreign["message"].as_str().unwrap().contains("is none of this connection"));
}

#[test]
fn who_asks_for_members_is_told_who_is_there_and_who_comes_and_goes() {
    let stage = Stage::new();
    let (_node, _) = node(&stage);
    let mut client = connect(&stage);
    for _ in 0..2 {
        // Asked again, each is told once still.
        let told = ask(&mut client, r#"{"do":"members"}"#);
        assert_eq!(
            (&told["event"], &told["members"]),
            (&"members".into(), &Value::Array(Vec::new()))
        );
    }
    let mut sub = stage.start("sub", &["#"]);
    let id = sub.wait_for("start")["node_id"].clone();
    let joined = answer(&mut client);
    assert_eq!(
        (&joined["event"], &joined["state"], &joined["id"]),
        (&"member".into(), &"joined".into(), &id)
    );
    let next = answer(&mut client);
    assert_ne!(next["state"], "joined", "told once");
    let late = ask(&mut connect(&stage), r#"{"do":"members"}"#);
    assert_eq!(late["members"][0]["id"], id);
}

#[test]
fn a_client_has_a_bounded_number_of_subscriptions_and_is_told_so() {
    let stage = Stage::new();
    let (_node, _) = node(&stage);
    let mut client = connect(&stage);
    let request = |number| format!(r#"{{"do":"subscribe","filter":"a/{number}"}}"#);
    let first = ask(&mut client, &request(0))["subscription"].clone();
    for number in 1..256 {
        assert_eq!(ask(&mut client, &request(number))["event"], "subscribed");
    }
    let refused = ask(&mut client, &request(256));
    assert_eq!(refused["code"], "subscriptions.full");
    assert!(refused["message"].as_str().unwrap().starts_with("error: subscriptions (256): "));
    ask(&mut client, &format!(r#"{{"do":"unsubscribe","subscription":{first}}}"#));
    assert_eq!(ask(&mut client, &request(256))["event"], "subscribed");
}

#[test]
fn a_quiet_status_says_only_by_its_code_whether_the_node_answers() {
    let stage = Stage::new();
    let (node, _) = node(&stage);
    let socket = text(&stage.path("socket"));
    let quiet = || {
        let program = std::process::Command::new(crate::PROGRAM)
            .args(["node", "status", "--quiet", "--socket", &socket])
            .output()
            .unwrap();
        (program.status.code(), program.stdout.len(), program.stderr.is_empty())
    };
    assert_eq!(quiet(), (Some(0), 0, true));
    node.interrupt();
    node.end().expect(130);
    assert_eq!(quiet(), (Some(1), 0, false));
}
