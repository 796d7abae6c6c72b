//! What a sender shows while it sends, and whom it names.

use std::{
    collections::BTreeSet,
    fs::File,
    io::Read,
    process::{Command, Stdio},
};

use rustix::{
    pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt},
    termios::{Winsize, tcsetwinsize},
};
use serde_json::Value;

use crate::support::Stage;

/// What `fanfare send` writes to a terminal of 120 columns and 30 rows.
fn on_a_terminal(stage: &Stage, args: &[&str]) -> String {
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY;
    let master = openpt(flags).unwrap();
    grantpt(&master).unwrap();
    unlockpt(&master).unwrap();
    tcsetwinsize(&master, Winsize { ws_row: 30, ws_col: 120, ws_xpixel: 0, ws_ypixel: 0 }).unwrap();
    let slave = ioctl_tiocgptpeer(&master, flags).unwrap();
    let mut command = Command::new(crate::PROGRAM);
    command.arg("send").args(args).args(["--group", &stage.group, "--interface", "127.0.0.1"]);
    command.env("TERM", "xterm").stdin(Stdio::null()).stdout(Stdio::null()).stderr(slave);
    let mut child = command.spawn().unwrap();
    // It holds the terminal's other end open.
    drop(command);
    let (mut shown, mut bytes) = (Vec::new(), [0; 4096]);
    let mut master = File::from(master);
    // A terminal whose other end is closed gives an error, not an end.
    while let Ok(count @ 1..) = master.read(&mut bytes) {
        shown.extend_from_slice(&bytes[..count]);
    }
    child.wait().unwrap();
    String::from_utf8_lossy(&shown).into_owned()
}

#[test]
fn a_terminal_shows_who_is_waited_for_and_a_line_for_each_receiver() {
    let stage = Stage::new();
    let file = stage.file("out/f", 1_500_000);
    let file = file.to_str().unwrap();
    let receivers = [stage.recv("lab-1", &["--once"]), stage.recv("lab-2", &["--once"])];
    let args = [file, "--expect", "lab-1,lab-2,lab-3", "--wait", "3s", "--rate", "4M"];
    let shown = on_a_terminal(&stage, &args);
    assert!(shown.contains("waiting for lab-3 (2 of 3 are here)"), "{shown}");
    assert!(!shown.contains("0/0"), "{shown}");
    for name in ["lab-1", "lab-2"] {
        let is_row = |line: &str| {
            let line = line.trim_start_matches(|c: char| !c.is_ascii_alphanumeric());
            ["127.0.0.1", " %  ", "bit/s", "receiving"].iter().all(|part| line.contains(part))
        };
        let mut lines = shown.split(['\r', '\n']).filter(|line| line.contains(name));
        assert!(lines.any(is_row), "{shown}");
    }
    assert!(shown.contains(" of 1.4 MiB, ") && shown.contains("  0 of 2 done: "), "{shown}");
    // What is told of all goes into 80 columns.
    let bars = shown.split(['\r', '\n']).filter(|line| line.contains(" of 1.4 MiB"));
    // Behind it the line is filled up with spaces, and the next one may follow.
    let bars = bars.filter_map(|line| line.split("    ").next());
    assert!(bars.map(|bar| bar.chars().count()).all(|width| width < 80), "{shown}");
    receivers.into_iter().for_each(|receiver| drop(receiver.end()));
}

#[test]
fn each_receivers_bytes_are_told_as_they_grow() {
    let stage = Stage::new();
    let file = stage.file("out/f", 3_000_000);
    let receivers = ["a", "b"].map(|name| stage.recv(name, &["--once"]));
    let sent = stage.send(&[file, "--expect=2".into(), "--rate=4M".into()]).expect(0);
    for name in ["a", "b"] {
        let of_it = |line: &&Value| -> Option<u64> {
            let each = line["receivers"].as_array().unwrap();
            each.iter().find(|one| one["name"] == name)?["bytes"].as_u64()
        };
        let told = sent.all("receivers");
        let bytes: Vec<u64> = told.iter().filter_map(of_it).collect();
        assert!(bytes.is_sorted(), "{bytes:?}");
        let different: BTreeSet<u64> = bytes.into_iter().filter(|bytes| *bytes > 0).collect();
        assert!(different.len() >= 2, "six seconds, and asked every two: {told:#?}");
    }
    receivers.into_iter().for_each(|receiver| drop(receiver.end().expect(0)));
}

#[test]
fn a_receipt_of_small_files_that_travel_together_names_each_with_its_hash() {
    let stage = Stage::new();
    for n in 0..40 {
        stage.file(&format!("out/t/{n:02}"), 100 + n);
    }
    let receiver = stage.recv("a", &["--once"]);
    let receipts = stage.path("receipts.jsonl");
    let args = [stage.path("out/t"), "--receipts".into(), receipts.clone()];
    let sent = stage.send(&args).expect(0);
    let received = receiver.end().expect(0);
    let said = |lines: &[&Value], name: &str| -> BTreeSet<(String, String)> {
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let name_of = |line: &Value| text(&line[name]).rsplit('/').next().unwrap().to_owned();
        let files = lines.iter().filter(|line| line[name] != "tree");
        files.map(|line| (name_of(line), text(&line["hash"]))).collect()
    };
    let given = said(&sent.all("receipt"), "file");
    assert_eq!(given.len(), 40);
    assert_eq!(given, said(&received.all("file"), "path"));
    let kept = std::fs::read_to_string(receipts).unwrap();
    let kept: Vec<Value> = kept.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(given, said(&kept.iter().collect::<Vec<_>>(), "file"));
}

#[test]
fn nothing_is_said_to_be_resumed_that_is_there_whole_or_came_just_before() {
    let stage = Stage::new();
    let file = stage.file("out/f", 3 << 20);
    std::fs::copy(&file, stage.path("out/g")).unwrap();
    for _ in 0..2 {
        let receiver = stage.recv("in", &["--once"]);
        let sent = stage.send(&[stage.path("out")]).expect(0);
        assert_eq!(sent.all("resuming"), [&Value::Null; 0]);
        assert!(!sent.stderr.contains("resuming"), "{}", sent.stderr);
        let received = receiver.end().expect(0);
        assert!(!received.stderr.contains("resuming"), "{}", received.stderr);
    }
}

#[test]
fn who_waits_for_a_missing_receiver_may_start_with_those_who_are_there() {
    for (there, expect) in [(&["a"][..], "2"), (&["a", "b"], "3"), (&["a", "b"], "a,b,c")] {
        let stage = Stage::new();
        let file = stage.file("out/f", 10_000);
        let args = [file.to_str().unwrap(), "--expect", expect, "--wait", "200s"];
        let mut sender = stage.start("send", &args);
        // Nobody is there: that is no reason to send.
        sender.wait_for("waiting");
        sender.go();
        assert_eq!(sender.wait_for("warning")["code"], "start.nobody");
        let receivers: Vec<_> = there.iter().map(|name| stage.recv(name, &["--once"])).collect();
        while sender.wait_for("waiting")["receivers"] != there.len() {}
        sender.go();
        sender.end().expect(3);
        receivers.into_iter().for_each(|receiver| drop(receiver.end().expect(0)));
    }
}
