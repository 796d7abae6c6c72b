//! What is published comes to all who want it, however quickly it comes and however slowly they take it;
//! and what does not is told.

use std::{
    fs::File,
    io::{BufRead, BufReader, Read, Write},
    os::unix::net::UnixStream,
    path::Path,
    process::{Child, Command, Stdio},
};

use crate::support::{Running, Stage, assert_same};
use serde_json::Value;

/// More than an engine's and a client's queues ever held.
const MANY: usize = 3000;

fn text(path: &Path) -> String {
    path.to_str().unwrap().to_owned()
}

/// A node that keeps everything, at the socket that this gives.
fn node(stage: &Stage, more: &[&str]) -> (Running, String) {
    let socket = text(&stage.path("socket"));
    let mut node = stage.start("node", &[&["--socket", &socket, "--topic", "#"], more].concat());
    node.wait_for("start");
    (node, socket)
}

fn run(args: &[&str]) -> Running {
    let args: Vec<&std::ffi::OsStr> = args.iter().map(std::ffi::OsStr::new).collect();
    Running::start(&[&args[..], &["--json".as_ref()]].concat(), None)
}

/// A file of so many lines.
fn lines(stage: &Stage, count: usize) -> String {
    let lines: String = (0..count).map(|number| format!("{number:0100}\n")).collect();
    text(&stage.text("lines", &lines))
}

fn numbers(messages: &[&Value]) -> Vec<u64> {
    messages.iter().map(|message| message["number"].as_u64().unwrap()).collect()
}

struct Client(BufReader<UnixStream>);

impl Client {
    fn connect(socket: &str) -> Self {
        Self(BufReader::new(UnixStream::connect(socket).unwrap()))
    }

    fn ask(&mut self, request: &str) -> Value {
        writeln!(self.0.get_mut(), "{request}").unwrap();
        self.next()
    }

    fn next(&mut self) -> Value {
        let mut line = String::new();
        self.0.read_line(&mut line).unwrap();
        serde_json::from_str(&line).expect(&line)
    }
}

#[test]
fn thousands_of_lines_are_held_and_a_history_of_thousands_is_handed_over_whole_and_in_order() {
    let stage = Stage::new();
    let (node, socket) = node(&stage, &[]);
    let file = lines(&stage, MANY);
    let sent = stage.start("pub", &["h/a", &file, "--lines"]).end().expect(0);
    assert_eq!((&sent.result()["held"], &sent.result()["messages"]), (&MANY.into(), &MANY.into()));
    assert_eq!(sent.result()["drops"]["events"], 0);
    let count = MANY.to_string();
    for order in ["arrival", "source"] {
        let late = ["sub", "#", "--via", &socket, "--order", order, "--count", &count];
        let late = run(&late).end().expect(0);
        let expected: Vec<u64> = (0..MANY as u64).collect();
        assert_eq!(numbers(&late.all("message")), expected, "{order}");
    }
    node.interrupt();
    let ended = node.end().expect(130);
    assert!(ended.all("warning").is_empty(), "{:?}", ended.all("warning"));
}

#[test]
fn a_client_that_reads_nothing_costs_others_nothing_and_has_all_when_it_reads_on() {
    let stage = Stage::new();
    let (_node, socket) = node(&stage, &[]);
    let mut slow = Client::connect(&socket);
    assert_eq!(slow.ask(r##"{"do":"subscribe","filter":"#"}"##)["event"], "subscribed");
    let count = MANY.to_string();
    let mut quick = run(&["sub", "h/#", "--via", &socket, "--count", &count]);
    quick.wait_for("subscribed");
    let file = lines(&stage, MANY);
    stage.start("pub", &["h/a", &file, "--lines"]).end().expect(0);
    assert_eq!(quick.end().expect(0).all("message").len(), MANY);
    // In the order of arrival: on a busy machine some are lost at first, and repaired.
    let mut numbers: Vec<u64> =
        (0..MANY).map(|_| slow.next()["number"].as_u64().unwrap()).collect();
    numbers.sort_unstable();
    let wrong = numbers.iter().zip(0..).find(|(number, expected)| *number != expected);
    assert_eq!(wrong, None);
}

#[test]
fn what_gave_way_before_a_client_took_it_is_told_to_it_and_in_the_nodes_status() {
    let stage = Stage::new();
    let (_node, socket) = node(&stage, &["--cache", "20KiB"]);
    let mut slow = Client::connect(&socket);
    assert_eq!(slow.ask(r##"{"do":"subscribe","filter":"#"}"##)["event"], "subscribed");
    // More bytes than are handed over before one is taken.
    let long: String = (0..MANY).map(|number| format!("{number:01000}\n")).collect();
    let file = text(&stage.text("lines", &long));
    stage.start("pub", &["h/a", &file, "--lines", "--one-way", "--stay", "3s"]).end().expect(0);
    let (mut messages, mut dropped) = (0, 0);
    while messages + dropped < MANY as u64 {
        let line = slow.next();
        match line["event"].as_str() {
            Some("message") => messages += 1,
            _ => dropped += line["messages"].as_u64().expect("dropped"),
        }
    }
    assert!(dropped > 0 && messages > 256, "{dropped} dropped");
    let status = slow.ask(r#"{"do":"status"}"#);
    assert_eq!(status["drops"]["messages"], dropped);
    let shown = Command::new(crate::PROGRAM)
        .args(["node", "status", "--socket", &socket])
        .output()
        .unwrap();
    let shown = String::from_utf8(shown.stdout).unwrap();
    assert!(shown.contains(&format!("dropped  {dropped} messages")), "{shown}");
}

#[test]
fn every_reason_for_not_obeying_a_datagram_is_counted_in_the_status() {
    let stage = Stage::new();
    let (_node, socket) = node(&stage, &[]);
    let status = run(&["node", "status", "--socket", &socket]).end().expect(0);
    let drops = status.all("status")[0]["drops"].clone();
    for what in ["messages", "unkept", "events", "sums", "demands", "members", "publishers"] {
        assert!(drops[what].is_u64(), "{what}");
    }
    for why in ["malformed", "foreign-source", "unconfirmed", "buffer-full", "repair-request"] {
        assert!(drops["datagrams"][why].is_u64(), "{why}");
    }
}

#[test]
fn more_lines_than_can_be_repaired_at_once_are_all_known_to_be_held() {
    let stage = Stage::new();
    let holder = stage.sub(&["#"]);
    let file = lines(&stage, 9000);
    let sent = stage.start("pub", &["h/a", &file, "--lines", "--rate", "100M"]).end().expect(0);
    assert_eq!(sent.result()["held"], 9000);
    holder.interrupt();
}

#[test]
fn a_message_that_a_newer_one_replaced_is_not_waited_for() {
    let stage = Stage::new();
    let holder = stage.sub(&["#"]);
    let file = lines(&stage, 500);
    for (more, held) in [(None, 1), (Some("--one-way"), 0)] {
        let args = ["h/a", &file, "--lines", "--tag", "3", "--replace"];
        let args: Vec<&str> = args.into_iter().chain(more).collect();
        let sent = stage.start("pub", &args).end().expect(0);
        let result = sent.result();
        assert!(result["held"].as_u64() >= Some(held), "{result}");
        assert!(result["replaced"].as_u64() > Some(0), "{result}");
    }
    holder.interrupt();
}

#[test]
fn who_has_spoken_just_before_a_publisher_comes_is_waited_for() {
    let stage = Stage::new();
    let mut first = stage.sub(&["a/#", "--count", "1"]);
    let second = stage.sub(&["a/#", "--count", "1"]);
    // It has announced itself, and will not again for some seconds.
    while first.wait_for("member")["state"] != "joined" {}
    let sent = stage.start("pub", &["a/x", "--message", "hi"]).end().expect(0);
    assert_eq!(sent.result()["holders"], 2);
    for subscriber in [first, second] {
        subscriber.end().expect(0);
    }
}

#[test]
fn a_message_that_is_too_long_for_a_subscriber_is_told_with_topic_size_and_limit() {
    let stage = Stage::new();
    let modest = stage.sub(&["#", "--message-max", "10KiB", "--count", "1"]);
    let big = text(&stage.file("big", 50_000));
    stage.start("pub", &["maps/north", &big, "--one-way", "--stay", "1s"]).end().expect(0);
    stage.start("pub", &["a", "--message", "small"]).end().expect(0);
    let ended = modest.end().expect(0);
    let lost = ended.all("lost")[0];
    assert_eq!(
        (&lost["reason"], &lost["topic"], &lost["size"], &lost["max"]),
        (&"refused".into(), &"maps/north".into(), &50_000.into(), &10_240.into())
    );
    assert_eq!(ended.result()["lost"], 1);
    assert!(ended.stderr.contains("(maps/north; 50000 bytes)"), "{}", ended.stderr);
    assert!(ended.stderr.contains("Raise --message-max"), "{}", ended.stderr);
}

#[test]
fn long_messages_pass_through_a_nodes_socket_as_they_are() {
    let stage = Stage::new();
    let (_node, socket) = node(&stage, &[]);
    let (file, out) = (stage.file("map.bin", 20_000_000), text(&stage.path("out")));
    let into = ["--out", &out, "--create-dirs", "--count", "2"];
    let mut reader = run(&[&["sub", "maps/#", "--via", &socket][..], &into[..]].concat());
    reader.wait_for("subscribed");
    run(&["pub", "maps/north", &text(&file), "--via", &socket]).end().expect(0);
    run(&["pub", "maps/south", "--message", "short", "--via", &socket]).end().expect(0);
    let read = reader.end().expect(0);
    let path = |topic: &str| {
        let messages = read.all("message");
        let message = messages.into_iter().find(|message| message["topic"] == topic).unwrap();
        message["path"].as_str().unwrap().to_owned()
    };
    assert_same(&file, path("maps/north").as_ref());
    assert_eq!(std::fs::read(path("maps/south")).unwrap(), b"short");
    // Who does not ask for it so is told how long it is.
    let short = run(&["sub", "maps/north", "--via", &socket, "--count", "1"]).end().expect(0);
    assert_eq!(short.all("message")[0]["size"], 20_000_000);
}

#[test]
fn bytes_behind_a_request_are_passed_over_when_it_is_refused_and_a_line_without_end_is_answered() {
    let stage = Stage::new();
    let (_node, socket) = node(&stage, &["--message-max", "1KiB"]);
    let mut client = Client::connect(&socket);
    for (request, code) in [
        (r#"{"do":"publish","topic":"a/+","bytes":300}"#, "topic.invalid"),
        (r#"{"do":"publish","topic":"a","text":"x","bytes":300}"#, "request.invalid"),
        (r#"{"do":"publish","topic":"a","bytes":2000}"#, "message.too_large"),
    ] {
        let bytes = if request.contains("2000") { 2000 } else { 300 };
        write!(client.0.get_mut(), "{request}\n{}", "\n".repeat(bytes)).unwrap();
        assert_eq!(client.next()["code"], code, "{request}");
    }
    assert_eq!(client.ask(r#"{"do":"status"}"#)["event"], "status");
    let mut endless = Client::connect(&socket);
    // The node ends the connection within it.
    let _ = endless.0.get_mut().write_all(&vec![b'x'; 34 << 20]);
    assert_eq!(endless.next()["code"], "request.too_long");
    let mut rest = Vec::new();
    assert!(!matches!(endless.0.read_to_end(&mut rest), Ok(1..)));
}

/// A subscriber whose output goes there, once it listens.
fn subscriber(stage: &Stage, more: &[&str], stdout: Stdio) -> (Child, BufReader<impl Read>) {
    let mut command = Command::new(crate::PROGRAM);
    command.args(["sub", "#", "--group", &stage.group, "--interface", "127.0.0.1"]).args(more);
    let mut child = command.stdout(stdout).stderr(Stdio::piped()).spawn().unwrap();
    let mut errors = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    errors.read_line(&mut line).unwrap();
    assert!(line.starts_with("listening to"), "{line}");
    (child, errors)
}

#[test]
fn output_that_has_no_room_is_an_error_and_output_that_nobody_reads_is_the_end() {
    let stage = Stage::new();
    let full = || Stdio::from(File::create("/dev/full").unwrap());
    for more in [&["--count", "1"][..], &["--json"]] {
        let (mut child, mut errors) = subscriber(&stage, more, full());
        stage.start("pub", &["a", "--message", "x", "--one-way", "--stay", "1s"]).end().expect(0);
        assert_eq!(child.wait().unwrap().code(), Some(5), "{more:?}");
        let mut told = String::new();
        errors.read_to_string(&mut told).unwrap();
        assert!(told.contains("error: output (standard output): cannot be written"), "{told}");
    }
    // Nothing needs to come for that.
    let (mut child, mut errors) = subscriber(&stage, &[], Stdio::piped());
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let mut told = String::new();
    errors.read_to_string(&mut told).unwrap();
    assert_eq!(told, "");
    let (_node, socket) = node(&stage, &[]);
    let mut status = Command::new(crate::PROGRAM);
    status.args(["node", "status", "--socket", &socket]).stdout(full()).stderr(Stdio::null());
    assert_eq!(status.status().unwrap().code(), Some(5));
}

#[test]
fn messages_that_have_no_room_on_a_disk_count_and_are_why_a_subscriber_ends() {
    let stage = Stage::new();
    let Some(_mount) = stage.file_system("full", "size=16k") else { return };
    std::fs::write(stage.path("full/filler"), [0; 12 << 10]).unwrap();
    let out = text(&stage.path("full"));
    let counting = stage.sub(&["#", "--out", &out, "--count", "2"]);
    let waiting = stage.sub(&["#", "--out", &out, "--timeout", "4s"]);
    let big = text(&stage.file("big", 30_000));
    for topic in ["a", "b"] {
        stage.start("pub", &[topic, &big, "--one-way", "--stay", "1s"]).end().expect(0);
    }
    for subscriber in [counting, waiting] {
        let ended = subscriber.end().expect(5);
        assert_eq!(
            (&ended.result()["messages"], &ended.result()["unwritten"]),
            (&0.into(), &2.into())
        );
        assert!(ended.error().starts_with("error: messages (2): could not be written"));
    }
}
