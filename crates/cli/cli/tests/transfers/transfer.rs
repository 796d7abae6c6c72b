//! Files from one process to others over loopback multicast.

use std::ffi::OsStr;

use crate::support::{Running, Stage, assert_same, entries};

#[test]
fn a_file_arrives_whole_and_every_receiver_gives_a_receipt() {
    let stage = Stage::new();
    let file = stage.file("out/data.bin", 1_000_000);
    let receivers = ["a", "b"].map(|name| stage.recv(name, &["--once"]));
    let receipts = stage.path("receipts.jsonl");
    let options = ["--expect", "2", "--rate", "50M", "--receipts"].map(OsStr::new);
    let sent = stage
        .send(&[&[file.as_os_str()], &options[..], &[receipts.as_os_str()]].concat())
        .expect(0);
    assert_eq!((&sent.result()["receivers"], &sent.result()["complete"]), (&2.into(), &2.into()));
    let hash = blake3::hash(&std::fs::read(&file).unwrap()).to_hex().to_string();
    let given = sent.all("receipt");
    assert!(given.len() == 2 && given.iter().all(|receipt| receipt["hash"] == hash));
    let kept = std::fs::read_to_string(receipts).unwrap();
    assert_eq!(kept.lines().count(), 2);
    for (receiver, name) in receivers.into_iter().zip(["a", "b"]) {
        let received = receiver.end().expect(0);
        let files = received.all("file");
        assert_eq!(
            (&files[0]["hash"], &files[0]["verified"]),
            (&hash.clone().into(), &true.into())
        );
        assert_same(&file, &stage.path(name).join("data.bin"));
        assert_eq!(entries(&stage.path(name)), ["data.bin"]);
    }
}

#[test]
fn directories_arrive_with_their_names_and_empty_files_too() {
    let stage = Stage::new();
    for (name, size) in
        [("out/album/a.bin", 5000), ("out/album/deep/b.bin", 1400), ("out/album/empty", 0)]
    {
        stage.file(name, size);
    }
    let receiver = stage.recv("in", &["--once"]);
    stage.send(&[stage.path("out/album"), "--rate".into(), "50M".into()]).expect(0);
    let received = receiver.end().expect(0);
    assert_eq!(received.result()["files"], 3);
    for name in ["album/a.bin", "album/deep/b.bin", "album/empty"] {
        assert_same(&stage.path("out").join(name), &stage.path("in").join(name));
    }
}

#[test]
fn standard_input_arrives_under_the_name_it_was_given() {
    let stage = Stage::new();
    let receiver = stage.recv("in", &["--once"]);
    let args = [
        "send",
        "-",
        "--stdin-name",
        "log.txt",
        "--json",
        "--interface",
        "127.0.0.1",
        "--group",
        &stage.group,
    ];
    let args = args.map(OsStr::new);
    Running::start(&args, Some(b"from a pipe")).end().expect(0);
    receiver.end().expect(0);
    assert_eq!(std::fs::read(stage.path("in/log.txt")).unwrap(), b"from a pipe");
}

#[test]
fn more_files_than_receivers_keep_in_view_all_arrive() {
    let stage = Stage::new();
    for n in 0..1500 {
        stage.file(&format!("out/many/{n:04}"), n % 50);
    }
    let receivers = ["a", "b"].map(|name| stage.recv(name, &["--once"]));
    let sent = stage
        .send(&[
            stage.path("out/many"),
            "--expect=2".into(),
            "--rate=20M".into(),
            "--no-pack".into(),
        ])
        .expect(0);
    // From each for every file, and for the tree.
    assert_eq!(sent.all("receipt").len(), 3002);
    for (receiver, name) in receivers.into_iter().zip(["a", "b"]) {
        assert_eq!(receiver.end().expect(0).result()["files"], 1500);
        assert_eq!(entries(&stage.path(name).join("many")).len(), 1500);
    }
}

#[test]
fn loss_is_repaired_for_every_receiver() {
    // Loss 20 % at each of three receivers.
    let stage = Stage::new();
    let file = stage.file("out/data.bin", 2_000_000);
    let receivers = ["a", "b", "c"].map(|name| stage.recv(name, &["--once", "--test-drop", "0.2"]));
    let options = ["--expect", "a,b,c", "--rate", "20M"].map(OsStr::new);
    let sent = stage.send(&[&[file.as_os_str()], &options[..]].concat()).expect(0);
    assert_eq!(sent.result()["complete"], 3);
    for (receiver, name) in receivers.into_iter().zip(["a", "b", "c"]) {
        receiver.end().expect(0);
        assert_same(&file, &stage.path(name).join("data.bin"));
    }
}

#[test]
fn an_existing_file_is_kept_unless_it_is_to_be_replaced() {
    let stage = Stage::new();
    let file = stage.file("out/f", 100);
    stage.file("kept/f", 7);
    stage.file("replaced/f", 7);
    let kept = stage.recv("kept", &["--once", "--keep"]);
    let replaced = stage.recv("replaced", &["--once", "--overwrite"]);
    stage.send(&[file.clone(), "--expect=2".into()]).expect(3);
    kept.end().expect(0);
    replaced.end().expect(0);
    assert_eq!(std::fs::metadata(stage.path("kept/f")).unwrap().len(), 7);
    assert_same(&file, &stage.path("kept/f.1"));
    assert_same(&file, &stage.path("replaced/f"));
    assert_eq!(entries(&stage.path("replaced")), ["f"]);
}

#[test]
fn one_way_sending_needs_no_answer() {
    let stage = Stage::new();
    let file = stage.file("out/f", 100_000);
    let receiver = stage.recv("in", &["--once", "--silent"]);
    let options = ["--one-way", "--rate", "20M"].map(OsStr::new);
    let sent = stage.send(&[&[file.as_os_str()], &options[..]].concat()).expect(0);
    assert_eq!(sent.result()["receivers"], 0);
    receiver.end().expect(0);
    assert_same(&file, &stage.path("in/f"));
}

#[test]
fn a_carousel_brings_what_was_lost_to_those_who_cannot_ask() {
    // Loss 5 % at a silent receiver; four rounds.
    let stage = Stage::new();
    let file = stage.file("out/f", 50_000);
    let receiver = stage.recv("in", &["--once", "--silent", "--test-drop", "0.05"]);
    let options =
        ["--one-way", "--carousel", "3", "--parity", "8", "--rate", "20M"].map(OsStr::new);
    stage.send(&[&[file.as_os_str()], &options[..]].concat()).expect(0);
    receiver.end().expect(0);
    assert_same(&file, &stage.path("in/f"));
}

#[test]
fn one_receiver_can_be_reached_without_multicast() {
    let stage = Stage::new();
    let file = stage.file("out/f", 100_000);
    let port = stage.group.split(':').nth(1).unwrap().parse::<u16>().unwrap();
    let address = format!("127.0.0.2:{port}");
    let run = |args: &[&str]| {
        let net = ["--group", &address, "--unicast", "--json"];
        Running::start(&[args, &net].concat().into_iter().map(OsStr::new).collect::<Vec<_>>(), None)
    };
    let dir = stage.path("in");
    let mut receiver = run(&["recv", dir.to_str().unwrap(), "--create-dirs", "--once"]);
    receiver.wait_for("start");
    run(&["send", file.to_str().unwrap()]).end().expect(0);
    receiver.end().expect(0);
    assert_same(&file, &dir.join("f"));
}

#[test]
fn only_the_named_sender_is_received() {
    let stage = Stage::new();
    let (wanted, other) = (stage.file("out/wanted", 100), stage.file("out/other", 100));
    let receiver = stage.recv("in", &["--count", "1", "--from", "77"]);
    stage.send(&[other, "--one-way".into(), "--node-id=78".into()]).expect(0);
    stage.send(&[wanted, "--node-id=77".into()]).expect(0);
    receiver.end().expect(0);
    assert_eq!(entries(&stage.path("in")), ["wanted"]);
}
