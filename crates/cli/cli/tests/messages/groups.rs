//! Messages from one process to others over loopback multicast.

use std::{
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use crate::support::{Running, Stage, assert_same};

fn sub(stage: &Stage, args: &[&str]) -> Running {
    stage.sub(args)
}

/// A path as the command line takes it.
fn text(path: &std::path::Path) -> String {
    path.to_str().unwrap().to_owned()
}

#[test]
fn a_message_comes_to_all_who_subscribe_to_its_topic_and_its_publisher_learns_it() {
    let stage = Stage::new();
    let wanted = ["convoy/#", "+/2/position"].map(|filter| sub(&stage, &[filter, "--count", "1"]));
    let other = sub(&stage, &["base/#"]);
    let sent = stage.start("pub", &["convoy/2/position", "--message", "60.17 24.94", "--tag", "7"]);
    let sent = sent.end().expect(0);
    assert!(!sent.all("held").is_empty() && sent.result()["held"] == 1);
    for running in wanted {
        let received = running.end().expect(0);
        let message = received.all("message")[0];
        assert_eq!(
            (&message["topic"], &message["text"], &message["tag"]),
            (&"convoy/2/position".into(), &"60.17 24.94".into(), &7.into())
        );
        assert_eq!(received.result()["messages"], 1);
    }
    other.interrupt();
    assert!(other.end().expect(130).all("message").is_empty());
}

#[test]
fn a_long_message_comes_whole_through_loss_and_becomes_a_file() {
    // Loss 20 % at each of two subscribers.
    let stage = Stage::new();
    let file = stage.file("map.bin", 400_000);
    let inboxes = ["a", "b"].map(|name| {
        let out = text(&stage.path(name));
        let loss = ["--count", "1", "--test-drop", "0.2"];
        (out.clone(), sub(&stage, &[&["#", "--out", &out, "--create-dirs"], &loss[..]].concat()))
    });
    // The first to hold it leaves at once, and could not repair it for the other.
    let args = ["maps/north", &text(&file), "--rate", "20M", "--stay", "10s"];
    let publisher = stage.start("pub", &args);
    for (out, running) in inboxes {
        let received = running.end().expect(0);
        let path = received.all("message")[0]["path"].as_str().unwrap().to_owned();
        assert!(path.starts_with(&format!("{out}/maps/north/")), "{path}");
        assert_same(&file, path.as_ref());
    }
    publisher.end().expect(0);
}

#[test]
fn who_comes_late_is_given_by_others_what_a_publisher_that_is_gone_has_said() {
    let stage = Stage::new();
    let witness = sub(&stage, &["#"]);
    let lines = stage.text("lines", "one\ntwo\nthree\n");
    stage.start("pub", &["a/log", &text(&lines), "--lines"]).end().expect(0);
    let late = sub(&stage, &["a/+", "--count", "3", "--order", "topic"]).end().expect(0);
    let texts: Vec<&str> =
        late.all("message").iter().map(|message| message["text"].as_str().unwrap()).collect();
    assert_eq!(texts, ["one", "two", "three"]);
    witness.interrupt();
    witness.end().expect(130);
}

#[test]
fn who_wants_the_latest_only_is_never_given_an_older_one_after_it() {
    let stage = Stage::new();
    let mut latest = sub(&stage, &["position", "--order", "latest"]);
    let numbers: String = (0..50).map(|number| format!("{number}\n")).collect();
    let lines = stage.text("lines", &numbers);
    stage.start("pub", &["position", &text(&lines), "--lines"]).end().expect(0);
    let mut seen = Vec::new();
    while seen.last() != Some(&49) {
        seen.push(latest.wait_for("message")["number"].as_u64().unwrap());
    }
    assert!(seen.is_sorted(), "{seen:?}");
}

#[test]
fn without_anybody_to_hold_it_a_message_counts_as_undelivered() {
    let stage = Stage::new();
    let alone = stage.start("pub", &["a", "--message", "x", "--wait", "300ms"]).end().expect(6);
    assert_eq!(
        alone.error(),
        "error: holders (0): no node said within 0.3 s that it holds the message. Check that one \
         is on this group and interface, or use --one-way"
    );
    stage.start("pub", &["a", "--message", "x", "--one-way"]).end().expect(0);
    let nothing = stage.start("sub", &["b", "--timeout", "300ms"]).end().expect(6);
    assert!(nothing.error().starts_with("error: timeout (300ms): no message arrived"));
}

#[test]
fn a_publisher_stays_until_the_last_of_those_who_want_the_message_has_it() {
    // One loses half of all that comes, and has it later than the other.
    let stage = Stage::new();
    let quick = sub(&stage, &["maps/#", "--count", "1"]);
    let slow = sub(&stage, &["maps/#", "--count", "1", "--test-drop", "0.5"]);
    let uninterested = sub(&stage, &["base/#"]);
    let file = text(&stage.file("map.bin", 200_000));
    let args = ["maps/north", &file, "--rate", "20M", "--wait", "30s"];
    let sent = stage.start("pub", &args).end().expect(0);
    let holders = |id| sent.all("held").iter().filter(|held| held["node"] == id).count();
    for running in [quick, slow] {
        let ended = running.end().expect(0);
        assert_eq!(holders(ended.all("start")[0]["node_id"].clone()), 1);
    }
    uninterested.interrupt();
    uninterested.end().expect(130);
}

#[test]
fn who_still_lacks_a_message_when_time_is_up_is_named() {
    let stage = Stage::new();
    let holder = sub(&stage, &["#"]);
    // It loses nearly everything, and cannot have it whole in this time.
    let mut deaf = stage.start("sub", &["#", "--test-drop", "0.97"]);
    let id = deaf.wait_for("start")["node_id"].as_u64().unwrap();
    let file = text(&stage.file("map.bin", 2_000_000));
    let args = ["maps/north", &file, "--rate", "100M", "--wait", "5s"];
    let sent = stage.start("pub", &args).end().expect(3);
    assert!(sent.error().starts_with(&format!("error: nodes ({id:08x}): did not say within 5 s")));
    assert_eq!(sent.result()["lacking"][0], id);
    assert_eq!(sent.result()["held"], 1);
    [holder, deaf].iter().for_each(Running::interrupt);
}

/// Time until two subscribers have a message, where a third one loses nearly everything.
fn time_beside_a_lossy_one(slow: &str) -> Duration {
    let stage = Stage::new();
    let file = text(&stage.file("map.bin", 2_000_000));
    let others = [sub(&stage, &["#", "--count", "1"]), sub(&stage, &["#", "--count", "1"])];
    let mut lossy = stage.start("sub", &["#", "--test-drop", "0.95"]);
    lossy.wait_for("start");
    let begun = Instant::now();
    let args = ["maps/north", &file, "--rate", "20M", "--slow", slow, "--wait", "2s"];
    let sent = stage.start("pub", &args);
    for running in others {
        running.end().expect(0);
    }
    let took = begun.elapsed();
    [lossy, sent].iter().for_each(Running::interrupt);
    took
}

#[test]
fn with_slow_tail_a_subscriber_that_loses_most_does_not_slow_the_others_down() {
    let (keep, tail) = (time_beside_a_lossy_one("keep"), time_beside_a_lossy_one("tail"));
    assert!(tail * 2 < keep, "{tail:?} with tail, {keep:?} with keep");
}

#[test]
fn mistakes_are_told_before_anything_is_sent() {
    let stage = Stage::new();
    let file = text(&stage.file("f", 2000));
    let dir = text(&stage.path(""));
    let cases: [(&[&str], &str); 10] = [
        (
            &["pub", "a\u{7}", "-m", "x"],
            "topic (\"a\\u{7}\"): has a control character. Leave it out",
        ),
        (&["pub", "a/+", "-m", "x"], "topic (a/+): has a wildcard"),
        (&["pub", "", "-m", "x"], "topic (\"\"): is empty. Name at least one level"),
        (&["sub", "a/#/b"], "filter (a/#/b): + and # stand for whole levels"),
        (
            &["sub", "a", "--history=-1"],
            "history (-1): not a number up to 65535, a time such as 10m",
        ),
        (
            &["pub", "a", &file, "--message-max", "1999"],
            "message (more than 1999 bytes): is longer",
        ),
        (&["pub", "a", "/nowhere/x"], "message (/nowhere/x): cannot be read"),
        (&["pub", "a", &dir], "is a directory. Use fanfare send for directories"),
        (&["sub", "a", "--cache", "1KB"], "cache (1KB): not a size"),
        (
            &["pub", "a", "-m", "x", "--min-rate", "1M"],
            "min-rate (1.0 Mbit/s): nobody is put off. Add --slow tail",
        ),
    ];
    for (args, expected) in cases {
        let ended = stage.start(args[0], &args[1..]).end().expect(2);
        assert!(ended.error().contains(expected), "{}", ended.error());
        assert!(ended.all("start").is_empty());
    }
    let no_time = stage.start("pub", &["a", "-m", "x", "--expiry", "0s"]).end().expect(2);
    assert!(no_time.error().starts_with("error: expiry (0s): nobody would be given"));
    // What clap itself refuses.
    for (args, expected) in [
        (&["pub", "a"][..], "error: arguments (<FILE>): are missing. See fanfare pub --help"),
        (
            &["sub", "a", "--priority", "11"],
            "error: priority (11): is not from 0 to 10. Give such a number",
        ),
        (
            &["pub", "a", "-m", "x", "--replace"],
            "error: arguments (--tag <N>): are missing. See fanfare pub --help",
        ),
        (
            &["sub", "a", "--name", "x"],
            "error: option (--name): is not known. See fanfare sub --help",
        ),
    ] {
        let ended = stage.start(args[0], &args[1..]).end().expect(2);
        assert_eq!((ended.error().as_str(), ended.stderr.lines().count()), (expected, 1));
    }
}

#[test]
fn a_message_moves_no_cursor_and_takes_no_second_line_on_a_terminal() {
    let stage = Stage::new();
    let net = ["--group", &stage.group, "--interface", "127.0.0.1"];
    let args = [&["sub", "a/#", "--count", "1", "--quiet"][..], &net].concat();
    let terminal = Command::new(crate::PROGRAM).args(&args).stdout(Stdio::piped()).spawn().unwrap();
    let text = "hello\nbank/transfer 1000000\u{1b}]0;owned\u{7}";
    let mut program = sub(&stage, &["a/#", "--count", "1"]);
    stage.start("pub", &["a/b", "--message", text, "--stay", "1s"]).end().expect(0);
    assert_eq!(program.wait_for("message")["text"], text, "as it is for programs");
    let shown = terminal.wait_with_output().unwrap();
    assert_eq!(
        String::from_utf8(shown.stdout).unwrap(),
        "a/b hello\\nbank/transfer 1000000\\u{1b}]0;owned\\u{7}\n"
    );
}

#[test]
fn a_segment_may_be_given_as_far_as_the_links_packets_take_it() {
    let stage = Stage::new();
    let short = sub(&stage, &["a", "--count", "1", "--segment", "500"]);
    let file = text(&stage.file("f", 20_000));
    stage.start("pub", &["a", &file, "--segment", "300"]).end().expect(0);
    short.end().expect(0);
    for (size, why) in [
        ("127", "error: segment (127): not a size of at least 128 bytes"),
        (
            "65500",
            "error: segment (65500): with its headers longer than the link's packets of 65536",
        ),
        ("9000", "error: segment (9000): receivers take at most 8192 bytes"),
    ] {
        let refused = stage.start("sub", &["a", "--segment", size]).end().expect(2);
        assert!(refused.error().starts_with(why), "{}", refused.error());
    }
}

#[test]
fn a_message_above_a_subscribers_policy_is_left_out_and_others_come() {
    let stage = Stage::new();
    let mut modest = sub(&stage, &["#", "--message-max", "10KiB"]);
    let big = text(&stage.file("big", 50_000));
    stage.start("pub", &["a", &big, "--one-way"]).end().expect(0);
    stage.start("pub", &["a", "--message", "small"]).end().expect(0);
    assert_eq!(modest.wait_for("message")["text"], "small");
}
