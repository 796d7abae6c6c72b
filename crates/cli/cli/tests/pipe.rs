//! `fanfare pipe`: standard input here, standard output there.

use std::{
    io::{Read, Write},
    process::{Child, Command, Output, Stdio},
    sync::mpsc::{Sender, channel},
    thread,
    time::{Duration, Instant},
};

use crate::support::{Stage, hosts::Hosts};

const MIB: usize = 1 << 20;

fn pipe(stage: &Stage, end: &str, more: &[&str]) -> Child {
    Command::new(crate::PROGRAM)
        .args(["pipe", end, "--group", &stage.group, "--interface", "127.0.0.1"])
        .args(more)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// The same on another host, in this group.
fn pipe_on(hosts: &Hosts, n: u8, end: &str, more: &[&str]) -> Child {
    Command::new("ip")
        .args(["netns", "exec", &hosts.host(n), crate::PROGRAM, "pipe", end])
        .args(["--interface", "eth0"])
        .args(more)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

fn recv(stage: &Stage, name: &str, more: &[&str]) -> Child {
    pipe(stage, "recv", &[&["--name", name], more].concat())
}

/// What it writes, and how it ends.
fn collect(child: Child) -> thread::JoinHandle<Output> {
    thread::spawn(move || child.wait_with_output().unwrap())
}

fn feed(child: &mut Child, bytes: Vec<u8>) -> thread::JoinHandle<()> {
    let mut input = child.stdin.take().unwrap();
    thread::spawn(move || {
        let _ = input.write_all(&bytes);
    })
}

fn bytes(count: usize) -> Vec<u8> {
    (0..count).map(|n| (n * 7 + n / 251) as u8).collect()
}

fn code(output: &Output) -> i32 {
    output.status.code().unwrap_or_else(|| panic!("{output:?}"))
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn three_have_what_went_in_though_each_loses_two_percent() {
    let stage = Stage::new();
    let receivers = ["a", "b", "c"].map(|name| recv(&stage, name, &["--test-drop", "0.02"]));
    let receivers = receivers.map(collect);
    let mut sender = pipe(&stage, "send", &["--expect", "a,b,c", "--json"]);
    let sent = bytes(20 * MIB);
    let feeder = feed(&mut sender, sent.clone());
    let told = collect(sender).join().unwrap();
    feeder.join().unwrap();
    assert_eq!(code(&told), 0, "{}", stderr(&told));
    for receiver in receivers {
        let receiver = receiver.join().unwrap();
        assert_eq!(code(&receiver), 0, "{}", stderr(&receiver));
        assert!(receiver.stdout == sent);
    }
    let told = String::from_utf8(told.stdout).unwrap();
    let last: serde_json::Value = serde_json::from_str(told.lines().last().unwrap()).unwrap();
    assert_eq!((&last["ok"], &last["bytes"]), (&true.into(), &(20 * MIB).into()));
    let hash = blake3::hash(&sent).to_hex().to_string();
    for receiver in last["receivers"].as_array().unwrap() {
        assert_eq!(
            (&receiver["outcome"], &receiver["hash"]),
            (&"whole".into(), &hash.clone().into())
        );
    }
}

#[test]
fn an_empty_standard_input_is_an_empty_stream() {
    let stage = Stage::new();
    let receiver = collect(recv(&stage, "a", &[]));
    let mut sender = pipe(&stage, "send", &["--expect", "1"]);
    drop(sender.stdin.take());
    assert_eq!(code(&collect(sender).join().unwrap()), 0);
    let receiver = receiver.join().unwrap();
    assert_eq!((code(&receiver), receiver.stdout.len()), (0, 0));
}

#[test]
fn lines_arrive_as_they_are_written() {
    let stage = Stage::new();
    let mut receiver = recv(&stage, "a", &[]);
    let mut sender = pipe(&stage, "send", &["--expect", "1", "--flush", "line"]);
    let mut input = sender.stdin.take().unwrap();
    let mut output = receiver.stdout.take().unwrap();
    for line in ["one\n", "two\n", "three\n"] {
        input.write_all(line.as_bytes()).unwrap();
        let mut come = vec![0; line.len()];
        output.read_exact(&mut come).unwrap();
        assert_eq!(come, line.as_bytes());
    }
    drop(input);
    let mut rest = Vec::new();
    output.read_to_end(&mut rest).unwrap();
    assert!(rest.is_empty());
    assert_eq!(code(&collect(sender).join().unwrap()), 0);
    assert_eq!(code(&collect(receiver).join().unwrap()), 0);
}

#[test]
fn without_order_every_line_comes_once_though_packets_are_lost() {
    let stage = Stage::new();
    let options = ["--unordered", "--test-drop", "0.1"];
    let receiver = collect(recv(&stage, "a", &options));
    let mut sender = pipe(&stage, "send", &["--expect", "1", "--flush", "line"]);
    let mut lines: Vec<String> = (0..2000).map(|n| format!("{n} {}", "x".repeat(n % 90))).collect();
    let feeder = feed(&mut sender, (lines.join("\n") + "\n").into_bytes());
    assert_eq!(code(&collect(sender).join().unwrap()), 0);
    feeder.join().unwrap();
    let receiver = receiver.join().unwrap();
    assert_eq!(code(&receiver), 0, "{}", stderr(&receiver));
    let come = String::from_utf8(receiver.stdout).unwrap();
    let mut come: Vec<String> = come.lines().map(str::to_owned).collect();
    come.sort();
    lines.sort();
    assert!(come == lines, "{} lines", come.len());
}

#[test]
fn without_order_a_stream_that_has_no_lines_is_refused() {
    let stage = Stage::new();
    let receiver = collect(recv(&stage, "a", &["--unordered"]));
    let mut sender = pipe(&stage, "send", &["--expect", "1"]);
    drop(feed(&mut sender, b"no line".to_vec()));
    collect(sender).join().unwrap();
    let receiver = receiver.join().unwrap();
    assert_eq!(code(&receiver), 3, "{}", stderr(&receiver));
    assert!(stderr(&receiver).contains("--flush line"), "{}", stderr(&receiver));
}

#[test]
fn an_output_that_is_full_ends_the_receiver_and_the_sender_names_it() {
    let stage = Stage::new();
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let receiver = Command::new(crate::PROGRAM)
        .args(["pipe", "recv", "--group", &stage.group, "--interface", "127.0.0.1"])
        .args(["--name", "full"])
        .stdout(full)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let receiver = collect(receiver);
    let mut sender = pipe(&stage, "send", &["--expect", "1"]);
    let feeder = feed(&mut sender, bytes(MIB));
    let sender = collect(sender).join().unwrap();
    feeder.join().unwrap();
    let receiver = receiver.join().unwrap();
    assert_eq!(code(&receiver), 5, "{}", stderr(&receiver));
    assert_eq!(code(&sender), 3, "{}", stderr(&sender));
    assert!(stderr(&sender).contains("full"), "{}", stderr(&sender));
}

#[test]
fn a_receiver_that_is_stopped_holds_a_lossless_stream_which_says_so_and_goes_on_afterwards() {
    let stage = Stage::new();
    let stopped = recv(&stage, "sleeper", &[]);
    let signal = |name: &str| {
        let id = stopped.id().to_string();
        assert!(Command::new("kill").args([name, &id]).status().unwrap().success());
    };
    let mut sender = pipe(&stage, "send", &["--expect", "1", "--buffer", "1MiB", "--wait", "60s"]);
    let mut told = sender.stderr.take().unwrap();
    let mut input = sender.stdin.take().unwrap();
    input.write_all(&bytes(1000)).unwrap();
    let sent = bytes(20 * MIB);
    signal("-STOP");
    let feeder = thread::spawn({
        let sent = sent.clone();
        move || input.write_all(&sent).unwrap()
    });
    let (mut text, mut piece) = (String::new(), [0; 256]);
    while !text.contains("waiting for sleeper to read") {
        let count = told.read(&mut piece).unwrap();
        assert!(count > 0, "{text}");
        text.push_str(&String::from_utf8_lossy(&piece[..count]));
    }
    signal("-CONT");
    let receiver = collect(stopped);
    feeder.join().unwrap();
    assert_eq!(code(&collect(sender).join().unwrap()), 0);
    let receiver = receiver.join().unwrap();
    assert_eq!(code(&receiver), 0, "{}", stderr(&receiver));
    assert!(receiver.stdout[1000..] == sent);
}

#[test]
fn a_sender_for_whom_nobody_comes_says_so() {
    let stage = Stage::new();
    let mut sender = pipe(&stage, "send", &["--expect", "1", "--wait", "500ms"]);
    let feeder = feed(&mut sender, bytes(MIB));
    let sender = collect(sender).join().unwrap();
    feeder.join().unwrap();
    assert_eq!(code(&sender), 6, "{}", stderr(&sender));
    assert!(stderr(&sender).contains("receiver 1: did not come"), "{}", stderr(&sender));
}

#[test]
fn a_receiver_to_which_nothing_comes_says_so() {
    let stage = Stage::new();
    let receiver = collect(recv(&stage, "a", &["--timeout", "500ms"])).join().unwrap();
    assert_eq!(code(&receiver), 6, "{}", stderr(&receiver));
}

#[test]
fn a_receiver_whose_output_is_closed_leaves_and_the_others_have_everything() {
    let stage = Stage::new();
    let mut head = recv(&stage, "head", &[]);
    let other = collect(recv(&stage, "other", &[]));
    let mut sender = pipe(&stage, "send", &["--expect", "2"]);
    let sent = bytes(20 * MIB);
    let feeder = feed(&mut sender, sent.clone());
    let mut first = [0; 1000];
    head.stdout.take().unwrap().read_exact(&mut first).unwrap();
    assert_eq!(first, sent[..1000]);
    assert_eq!(code(&collect(head).join().unwrap()), 0);
    let begun = Instant::now();
    let sender = collect(sender).join().unwrap();
    feeder.join().unwrap();
    assert!(begun.elapsed() < Duration::from_secs(20), "it waits for who has left");
    assert_eq!(code(&sender), 3, "{}", stderr(&sender));
    assert!(stderr(&sender).contains("head: left before the end"), "{}", stderr(&sender));
    let other = other.join().unwrap();
    assert!(code(&other) == 0 && other.stdout == sent);
}

#[test]
fn a_command_may_read_the_stream() {
    let stage = Stage::new();
    let receiver = collect(recv(&stage, "a", &["--exec", "wc -c"]));
    let mut sender = pipe(&stage, "send", &["--expect", "1"]);
    let feeder = feed(&mut sender, bytes(MIB));
    assert_eq!(code(&collect(sender).join().unwrap()), 0);
    feeder.join().unwrap();
    let receiver = receiver.join().unwrap();
    assert_eq!((code(&receiver), &receiver.stdout[..]), (0, &b"1048576\n"[..]));
}

/// What is written last by who waits for those that came late.
const END: &[u8] = b"the end of the stream";

/// The same; it is told when the first byte has come, or none will, and when [`END`] has.
fn collect_and_tell(mut child: Child, told: &Sender<()>) -> thread::JoinHandle<Output> {
    let told = told.clone();
    let mut stdout = child.stdout.take().unwrap();
    thread::spawn(move || {
        let (mut come, mut piece) = (Vec::new(), vec![0; 64 << 10]);
        loop {
            let count = stdout.read(&mut piece).unwrap();
            if come.is_empty() {
                let _ = told.send(());
            }
            if count == 0 {
                break;
            }
            come.extend_from_slice(&piece[..count]);
            if come.ends_with(END) {
                let _ = told.send(());
            }
        }
        let output = child.wait_with_output().unwrap();
        Output { stdout: come, ..output }
    })
}

#[test]
fn who_comes_late_is_told_what_is_missing_and_writes_nothing_unless_it_may() {
    const BUFFER: usize = 256 << 10;
    const KIB: usize = 1 << 10;
    const LAST: usize = 64 << 10;
    const PACE: Duration = Duration::from_millis(20);
    const LATEST: Duration = Duration::from_secs(60);
    let stage = Stage::new();
    let mut early = recv(&stage, "early", &[]);
    let mut sender = pipe(&stage, "send", &["--expect", "1", "--buffer", "256KiB"]);
    let mut input = sender.stdin.take().unwrap();
    let sent = bytes(8 * MIB);
    let (head, tail) = sent.split_at(6 * MIB);
    // What one has read before the last of it is not in the sender's buffer any more. The sender waits for
    // who reads slowly: one thread cannot write it all and then read.
    let mut come = vec![0; head.len() - BUFFER];
    thread::scope(|scope| {
        scope.spawn(|| input.write_all(head).unwrap());
        early.stdout.as_mut().unwrap().read_exact(&mut come).unwrap();
    });
    let early = collect(early);
    let (tell, told) = channel();
    let late = |name, args: &[&str]| collect_and_tell(recv(&stage, name, args), &tell);
    let stops = late("stops", &[]);
    let marks = late("marks", &["--gaps", "mark"]);
    let now = late("now", &["--from", "now"]);
    // Where nothing new is sent nobody begins: a little at a time, until all have. The sender waits for
    // nobody who came late, so that no more follows than its buffer holds.
    let (mut missing, mut written) = (3, head.len());
    for piece in tail.chunks(KIB) {
        input.write_all(piece).unwrap();
        written += piece.len();
        while missing > 0 && told.recv_timeout(PACE).is_ok() {
            missing -= 1;
        }
        if missing == 0 {
            break;
        }
    }
    assert_eq!(missing, 0);
    let sent = [&sent[..written + LAST], END].concat();
    input.write_all(&sent[written..]).unwrap();
    // A sender that has ended serves nobody who came late.
    for _ in 0..2 {
        told.recv_timeout(LATEST).unwrap();
    }
    drop(input);
    assert_eq!(code(&collect(sender).join().unwrap()), 0);
    come.extend(early.join().unwrap().stdout);
    assert!(come == sent);
    let stops = stops.join().unwrap();
    assert_eq!((code(&stops), stops.stdout.len()), (3, 0), "{}", stderr(&stops));
    assert!(stderr(&stops).contains("stream: bytes 0 to "), "{}", stderr(&stops));
    let marks = marks.join().unwrap();
    assert_eq!(code(&marks), 3);
    assert_eq!(marks.stdout.len(), sent.len());
    assert!(marks.stdout[written..] == sent[written..]);
    let now = now.join().unwrap();
    assert_eq!(code(&now), 0, "{}", stderr(&now));
    assert!(!now.stdout.is_empty() && sent.ends_with(&now.stdout));
}

#[test]
fn segments_of_a_stream_fit_into_the_packets_of_the_link_whatever_else_is_in_them() {
    let stage = Stage::new();
    let key = stage.path("k");
    let key = key.to_str().unwrap();
    assert!(Command::new(crate::PROGRAM).args(["key", "new", key]).status().unwrap().success());
    let hosts = Hosts::new("pm", 2);
    for n in [1, 2] {
        hosts.on(n, &format!("addr add fd00::{n}/64 dev eth0 nodad"));
    }
    let (v4, v6) = ("239.255.42.1:6003", "[ff05::42]:6003");
    for (mtu, group, sealing) in [
        (1500, v6, &["--key", key][..]),
        (1400, v6, &[]),
        (1400, v4, &["--key", key]),
        (1400, v4, &[]),
    ] {
        for n in [1, 2] {
            hosts.on(n, &format!("link set eth0 mtu {mtu}"));
        }
        let args = [&["--group", group][..], sealing].concat();
        let receiver = collect(pipe_on(&hosts, 2, "recv", &[&args[..], &["--name=a"]].concat()));
        let sending = [&args[..], &["--expect=a", "--wait=10s"]].concat();
        let mut sender = pipe_on(&hosts, 1, "send", &sending);
        let sent = bytes(300_000);
        let feeder = feed(&mut sender, sent.clone());
        let told = collect(sender).join().unwrap();
        feeder.join().unwrap();
        assert_eq!(code(&told), 0, "{mtu} {group} {sealing:?}: {}", stderr(&told));
        let receiver = receiver.join().unwrap();
        assert!(receiver.stdout == sent, "{mtu} {group} {sealing:?}");
    }
}

#[test]
fn a_sender_whose_receiver_reads_another_pipe_says_so_and_ends() {
    for expected in ["a", "1"] {
        let stage = Stage::new();
        let receiver = recv(&stage, "a", &[]);
        let mut first = pipe(&stage, "send", &["--expect=a"]);
        let mut input = first.stdin.take().unwrap();
        input.write_all(b"first").unwrap();
        let mut receiver = receiver;
        let mut begun = [0; 5];
        receiver.stdout.as_mut().unwrap().read_exact(&mut begun).unwrap();
        let mut second = pipe(&stage, "send", &["--expect", expected, "--wait=2s", "--json"]);
        feed(&mut second, bytes(10));
        let second = collect(second).join().unwrap();
        assert_eq!(code(&second), 3, "{}", stderr(&second));
        assert!(stderr(&second).contains("a: receives another pipe"), "{}", stderr(&second));
        let told = String::from_utf8(second.stdout).unwrap();
        let last: serde_json::Value = serde_json::from_str(told.lines().last().unwrap()).unwrap();
        assert_eq!(last["receivers"][0]["outcome"], "taken");
        drop(input);
        assert_eq!(code(&collect(first).join().unwrap()), 0);
        assert_eq!(code(&collect(receiver).join().unwrap()), 0);
    }
}

#[test]
fn of_two_senders_that_wait_for_the_same_receiver_one_ends_without_it() {
    let stage = Stage::new();
    let senders = [1, 2].map(|n| {
        let mut sender = pipe(&stage, "send", &["--expect=a", "--wait=10s", "--rate=4M"]);
        feed(&mut sender, bytes(n * MIB));
        collect(sender)
    });
    let receiver = collect(recv(&stage, "a", &[]));
    let mut ended = senders.map(|sender| sender.join().unwrap());
    ended.sort_by_key(code);
    assert_eq!(ended.each_ref().map(code), [0, 3], "{}", stderr(&ended[1]));
    assert!(stderr(&ended[1]).contains("a: receives another pipe"), "{}", stderr(&ended[1]));
    assert_eq!(code(&receiver.join().unwrap()), 0);
}
