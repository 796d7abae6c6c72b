//! Nodes for other programs, and what is left of them after a crash.

use std::{
    io::{BufRead, BufReader, Write},
    os::unix::net::UnixStream,
    path::Path,
    process::Command,
};

use crate::support::{Running, Stage};
use serde_json::Value;

pub(crate) fn text(path: &Path) -> String {
    path.to_str().unwrap().to_owned()
}

/// A node with a durable cache that keeps everything.
pub(crate) fn node(stage: &Stage) -> (Running, Value) {
    let (socket, cache) = (text(&stage.path("socket")), text(&stage.path("cache")));
    let args = ["--socket", &socket, "--cache-dir", &cache, "--topic", "#"];
    let mut node = stage.start("node", &args);
    // It listens before it says so.
    let start = node.wait_for("start");
    (node, start)
}

pub(crate) fn run(args: &[&str]) -> Running {
    let args: Vec<&std::ffi::OsStr> = args.iter().map(std::ffi::OsStr::new).collect();
    Running::start(&[&args[..], &["--json".as_ref()]].concat(), None)
}

pub(crate) fn texts(values: &[&Value]) -> Vec<String> {
    let mut texts: Vec<String> =
        values.iter().map(|value| value["text"].as_str().unwrap().to_owned()).collect();
    texts.sort();
    texts
}

#[test]
fn programs_at_a_node_hear_each_other_and_the_group_and_the_group_hears_them() {
    let stage = Stage::new();
    let (node, start) = node(&stage);
    let socket = text(&stage.path("socket"));
    let mut far = stage.start("sub", &["#", "--count", "1"]);
    far.wait_for("start");
    let mut near = run(&["sub", "a/#", "--via", &socket, "--count", "2"]);
    near.wait_for("subscribed");
    run(&["pub", "a/1", "--message", "from here", "--via", &socket]).end().expect(0);
    assert_eq!(texts(&far.end().expect(0).all("message")), ["from here"]);
    stage.start("pub", &["a/2", "--message", "from there"]).end().expect(0);
    assert_eq!(texts(&near.end().expect(0).all("message")), ["from here", "from there"]);
    let late = run(&["sub", "a/+", "--via", &socket, "--count", "2"]).end().expect(0);
    assert_eq!(texts(&late.all("message")), ["from here", "from there"]);
    let status = run(&["node", "status", "--socket", &socket]).end().expect(0);
    let status = status.all("status")[0].clone();
    assert_eq!(
        (&status["node"], &status["own"], &status["kept"]),
        (&start["node_id"], &1.into(), &1.into())
    );
    node.interrupt();
    node.end().expect(130);
    assert!(!stage.path("socket").exists());
}

#[test]
fn a_node_that_was_killed_comes_back_with_everything_that_it_had() {
    let stage = Stage::new();
    let (first, start) = node(&stage);
    let socket = text(&stage.path("socket"));
    let (long, own) = (text(&stage.file("long", 200_000)), text(&stage.file("own", 100_000)));
    stage.start("pub", &["a/short", "--message", "from there"]).end().expect(0);
    stage.start("pub", &["a/long", &long]).end().expect(0);
    run(&["pub", "b/own", &own, "--via", &socket]).end().expect(0);
    // What came from others is gathered for 20 ms before it is written; asking takes longer.
    while run(&["node", "status", "--socket", &socket]).end().expect(0).all("status")[0]["kept"]
        != 2
    {}
    run(&["pub", "b/own", "--message", "second", "--via", &socket]).end().expect(0);
    first.kill();
    let (second, again) = node(&stage);
    // Its directory may be a copy: it is not taken for who it was.
    assert_ne!(start["node_id"], again["node_id"]);
    run(&["pub", "b/own", "--message", "third", "--via", &socket]).end().expect(0);
    // All publishers but the node are gone.
    let out = text(&stage.path("out"));
    let late = ["#", "--count", "5", "--out", &out, "--create-dirs"];
    let late = stage.start("sub", &late).end().expect(0);
    let mut found: Vec<(String, u64, u64)> = late
        .all("message")
        .iter()
        .map(|m| {
            let topic = m["topic"].as_str().unwrap().to_owned();
            (topic, m["number"].as_u64().unwrap(), m["size"].as_u64().unwrap())
        })
        .collect();
    found.sort();
    let expected = [
        ("a/long", 0, 200_000),
        ("a/short", 0, 10),
        ("b/own", 0, 100_000),
        ("b/own", 1, 6),
        ("b/own", 2, 5),
    ];
    assert_eq!(found, expected.map(|(topic, number, size)| (topic.to_owned(), number, size)));
    let path = |topic: &str| {
        let message =
            late.all("message").into_iter().find(|m| m["topic"] == topic && m["number"] == 0);
        message.unwrap()["path"].as_str().unwrap().to_owned()
    };
    crate::support::assert_same(long.as_ref(), path("a/long").as_ref());
    crate::support::assert_same(own.as_ref(), path("b/own").as_ref());
    drop(second);
}

#[test]
fn nothing_that_was_said_to_be_published_is_lost_by_kills_between_writes() {
    let stage = Stage::new();
    let mut published = Vec::new();
    for round in 0..5 {
        let (node, _) = node(&stage);
        let mut client = connect(&stage);
        // Kills at different places of a transaction, as far as a machine's timing differs.
        for number in 0..20 + round {
            let content = format!("{round}-{number}");
            let request = format!(r#"{{"do":"publish","topic":"t","text":"{content}"}}"#);
            writeln!(client.get_mut(), "{request}").unwrap();
            if number >= 15 {
                continue;
            }
            assert_eq!(answer(&mut client)["event"], "published");
            published.push(content);
        }
        node.kill();
    }
    let (_node, _) = node(&stage);
    let mut client = connect(&stage);
    writeln!(client.get_mut(), r#"{{"do":"subscribe","filter":"t","order":"topic"}}"#).unwrap();
    assert_eq!(answer(&mut client)["event"], "subscribed");
    let (mut numbers, mut left) = (Vec::new(), published);
    while !left.is_empty() {
        let message = answer(&mut client);
        numbers.push(message["number"].as_u64().unwrap());
        left.retain(|content| message["text"] != **content);
    }
    // Each life orders its own messages.
    let count = numbers.len();
    numbers.sort_unstable();
    numbers.dedup();
    assert_eq!(numbers.len(), count, "a number stands for one message");
}

pub(crate) fn connect(stage: &Stage) -> BufReader<UnixStream> {
    let path = stage.path("socket");
    let begun = std::time::Instant::now();
    loop {
        match UnixStream::connect(&path) {
            Ok(stream) => return BufReader::new(stream),
            Err(error) => assert!(begun.elapsed().as_secs() < 200, "{error}"),
        }
        std::thread::yield_now();
    }
}

pub(crate) fn answer(client: &mut BufReader<UnixStream>) -> Value {
    let mut line = String::new();
    client.read_line(&mut line).unwrap();
    serde_json::from_str(&line).expect(&line)
}

#[test]
fn a_cache_that_cannot_be_read_is_put_aside_and_the_node_goes_on() {
    let stage = Stage::new();
    std::fs::create_dir_all(stage.path("cache")).unwrap();
    stage.file("cache/messages.redb", 100_000);
    let (broken, _) = node(&stage);
    let socket = text(&stage.path("socket"));
    run(&["pub", "a", "--message", "x", "--via", &socket]).end().expect(0);
    broken.interrupt();
    // Before it said that it had begun, or behind that.
    let ended = broken.end().expect(130);
    let warning = ended.all("warning")[0];
    assert_eq!(warning["code"], "cache.damaged");
    assert!(warning["message"].as_str().unwrap().contains("messages.redb.broken-"));
}

#[test]
fn a_full_disk_refuses_a_message_and_keeps_those_before() {
    let stage = Stage::new();
    let Some(_mount) = stage.file_system("cache", "size=8m") else { return };
    let (_node, _) = node(&stage);
    let socket = text(&stage.path("socket"));
    let big = text(&stage.file("big", 1_500_000));
    run(&["pub", "a", "--message", "before", "--via", &socket]).end().expect(0);
    let mut refused = None;
    for _ in 0..10 {
        let ended = run(&["pub", "a/big", &big, "--via", &socket]).end();
        if ended.code != Some(0) {
            refused = Some(ended.expect(5).error());
            break;
        }
    }
    let refused = refused.expect("8 MiB do not hold 15 MB");
    assert!(refused.contains("could not be written to the cache directory"), "{refused}");
    let kept = run(&["sub", "a", "--via", &socket, "--count", "1"]).end().expect(0);
    assert_eq!(texts(&kept.all("message")), ["before"]);
}

#[test]
fn what_a_client_asks_wrongly_is_told_and_the_connection_stands() {
    let stage = Stage::new();
    let (_node, _) = node(&stage);
    let mut client = connect(&stage);
    for (request, expected) in [
        ("nonsense", "error: request (nonsense): expected"),
        (r#"{"do":"fly"}"#, "error: request ({\"do\":\"fly\"}): unknown variant `fly`"),
        (r#"{"do":"publish","topic":"a/+","text":"x"}"#, "error: topic (a/+): has a wildcard"),
        (
            r#"{"do":"publish","topic":"a"}"#,
            "error: message (neither text, hex nor bytes): has not one content",
        ),
        (
            r#"{"do":"publish","topic":"a","text":"x","hex":"00"}"#,
            "error: message (text and hex): has",
        ),
        (
            r#"{"do":"publish","topic":"a","text":"x","replace":true}"#,
            "error: replace (true): there is no tag by which it replaces. Give a tag, too",
        ),
        (
            r#"{"do":"publish","topic":"a","text":"x","expiry_ms":0}"#,
            "error: expiry (0 ms): nobody would be given the message",
        ),
        (r#"{"do":"unsubscribe","subscription":7}"#, "error: subscription (7): is none of this"),
        (
            r#"{"do":"cancel","tag":"x"}"#,
            "error: request ({\"do\":\"cancel\",\"tag\":\"x\"}): tag 'x'",
        ),
        (r#"{"do":"publish","topic":"a","hex":"0"}"#, "error: hex (0): has no even number"),
        (
            r#"{"do":"publish","topic":"a","text":"","priority":11}"#,
            "error: priority (11): is above 10",
        ),
        (r#"{"do":"subscribe","filter":"a#"}"#, "error: filter (a#): + and #"),
        (r#"{"do":"subscribe","filter":"a","order":"up"}"#, "error: order (up): not known"),
    ] {
        writeln!(client.get_mut(), "{request}").unwrap();
        let told = answer(&mut client);
        assert!(told["message"].as_str().unwrap().starts_with(expected), "{told}");
    }
    writeln!(client.get_mut(), r#"{{"do":"status"}}"#).unwrap();
    assert_eq!(answer(&mut client)["event"], "status");
}

#[test]
fn a_socket_and_a_cache_belong_to_one_node() {
    let stage = Stage::new();
    let (_node, _) = node(&stage);
    let (socket, cache) = (text(&stage.path("socket")), text(&stage.path("cache")));
    drop(connect(&stage));
    let second = stage.start("node", &["--socket", &socket]).end().expect(5);
    assert!(second.error().contains("another node listens there"));
    let second = stage.start("sub", &["a", "--cache-dir", &cache]).end().expect(5);
    assert!(second.error().contains("another process uses it"));
    let nowhere = text(&stage.path("nowhere"));
    let none = run(&["pub", "a", "--message", "x", "--via", &nowhere]).end().expect(1);
    assert!(none.error().contains("no node answers there"));
}

#[test]
fn every_mistake_in_a_nodes_file_is_told_with_its_line() {
    let stage = Stage::new();
    let file =
        stage.text("node.toml", "[node]\nrate = \"10Gb\"\ncashe = \"1GiB\"\ntopic = [\"a/#/b\"]\n");
    let output =
        Command::new(crate::PROGRAM).args(["config", "check"]).arg(&file).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let errors = String::from_utf8(output.stderr).unwrap();
    let at = |line: u32| format!("{}:{line}", file.display());
    assert!(
        errors.contains(&format!("error: rate (10Gb) at {}: 'Gb' is not a unit. Write", at(2))),
        "{errors}"
    );
    assert!(
        errors.contains(&format!("unknown key 'cashe' at {}, did you mean 'cache'?", at(3))),
        "{errors}"
    );
    assert!(errors.contains(&at(4)) && errors.contains("stand for whole levels"), "{errors}");
}
