//! More than one sender on a group, or receiver in a directory; others that are none; two with one
//! id.

use std::ffi::OsStr;

use crate::support::{Ended, Running, Stage, assert_same, entries};

fn send(stage: &Stage, file: &str, more: &[&str]) -> Running {
    let path = stage.path(file);
    let more = more.iter().map(OsStr::new);
    stage.start("send", &[path.as_os_str()].into_iter().chain(more).collect::<Vec<_>>())
}

/// Hashes of the files that a sender has receipts for.
fn receipts(sent: &Ended) -> Vec<String> {
    let hash = |receipt: &&serde_json::Value| receipt["hash"].as_str().unwrap().to_owned();
    sent.all("receipt").iter().filter(|receipt| receipt["file"] != "tree").map(hash).collect()
}

fn hash_of(stage: &Stage, file: &str) -> String {
    blake3::hash(&std::fs::read(stage.path(file)).unwrap()).to_hex().to_string()
}

#[test]
fn two_senders_at_once_each_get_receipts_for_their_own_files() {
    let stage = Stage::new();
    let files = ["one/a", "one/b", "two/c", "two/d"];
    files.iter().for_each(|file| drop(stage.file(file, 2_000_000)));
    let receivers = ["in", "also"].map(|name| stage.recv(name, &["--count=4"]));
    let senders = ["one", "two"].map(|dir| send(&stage, dir, &["--rate=40M", "--expect=in,also"]));
    let [one, two] = senders.map(|sender| sender.end().expect(0));
    for (sent, own) in [(&one, &files[..2]), (&two, &files[2..])] {
        let mut expected: Vec<String> = own.iter().map(|file| hash_of(&stage, file)).collect();
        expected.extend(expected.clone());
        let mut had = receipts(sent);
        expected.sort();
        had.sort();
        assert_eq!(had, expected);
    }
    for receiver in receivers {
        assert_eq!(receiver.end().expect(0).result()["files"], 4);
    }
    for file in files {
        assert_same(&stage.path(file), &stage.path("in").join(file));
    }
}

#[test]
fn one_sender_hears_of_a_failure_and_the_other_does_not() {
    let stage = Stage::new();
    stage.file("one/f", 600_000);
    stage.file("two/g", 600_000);
    std::fs::create_dir_all(stage.path("in")).unwrap();
    std::fs::write(stage.path("in/f"), "another one").unwrap();
    let receiver = stage.recv("in", &["--refuse", "--timeout=3s"]);
    let senders = ["one/f", "two/g"].map(|file| send(&stage, file, &["--rate=10M"]));
    let [one, two] = senders.map(Running::end);
    assert_eq!(one.expect(3).all("reported")[0]["reason"], "conflict");
    assert!(two.expect(0).all("reported").is_empty());
    receiver.end();
    assert_same(&stage.path("two/g"), &stage.path("in/g"));
}

#[test]
fn files_of_one_name_from_two_senders_are_both_kept_and_the_second_sender_hears_of_it() {
    let stage = Stage::new();
    stage.file("one/f", 3_000_000);
    stage.file("two/f", 3_000_000);
    let receiver = stage.recv("in", &["--keep", "--count=2"]);
    let senders = ["one/f", "two/f"].map(|file| send(&stage, file, &["--rate=40M"]));
    let mut codes = senders.map(|sender| sender.end().code);
    codes.sort_unstable();
    assert_eq!(codes, [Some(0), Some(3)]);
    receiver.end().expect(0);
    assert_eq!(entries(&stage.path("in")), ["f", "f.1"]);
    let mut kept = ["in/f", "in/f.1"].map(|file| hash_of(&stage, file));
    let mut sent = ["one/f", "two/f"].map(|file| hash_of(&stage, file));
    kept.sort();
    sent.sort();
    assert_eq!(kept, sent);
}

#[test]
fn a_doctor_on_the_group_is_no_sender() {
    let stage = Stage::new();
    let receiver = stage.recv("in", &["--timeout=4s"]);
    let doctor = stage.start("doctor", &["--peer-wait=2s"]);
    doctor.end().expect(0);
    let received = receiver.end().expect(6);
    assert!(received.all("sender").is_empty(), "{:#?}", received.events);
    assert!(received.all("gone").is_empty(), "{:#?}", received.events);
}

/// A receiver in the same directory as others, under another name.
fn recv_as(stage: &Stage, name: &str, more: &[&str]) -> Running {
    let dir = stage.path("in");
    let args = [&[dir.to_str().unwrap(), "--create-dirs", "--name", name][..], more].concat();
    let mut running = stage.start("recv", &args);
    running.wait_for("start");
    running
}

#[test]
fn two_receivers_in_one_directory_do_each_other_no_harm() {
    let stage = Stage::new();
    stage.file("out/t/large", 6_000_000);
    stage.file("out/t/d/other", 300_000);
    (0..100).for_each(|n| drop(stage.file(&format!("out/t/small/{n}"), 1000 + n)));
    let receivers = ["a", "b"].map(|name| recv_as(&stage, name, &["--once"]));
    send(&stage, "out/t", &["--rate=80M", "--expect=a,b"]).end().expect(0);
    for receiver in receivers {
        assert!(receiver.end().expect(0).all("failed").is_empty());
    }
    for name in ["large", "d/other", "small/0", "small/99"] {
        assert_same(&stage.path("out/t").join(name), &stage.path("in/t").join(name));
    }
    assert_eq!(entries(&stage.path("in")), ["t"]);
    assert_eq!(entries(&stage.path("in/t")), ["d", "large", "small"]);
    assert_eq!(entries(&stage.path("in/t/small")).len(), 100);
}

#[test]
fn a_receiver_that_begins_beside_another_leaves_its_parts_alone() {
    let stage = Stage::new();
    let file = stage.file("out/f", 6_000_000);
    let mut first = recv_as(&stage, "a", &["--once"]);
    let sender = send(&stage, "out/f", &["--rate=15M"]);
    first.wait_for_progress("bytes", 2_000_000);
    // However long the second takes to begin, it does so within the transfer.
    let halted = sender.stopped();
    let second = recv_as(&stage, "b", &["--once", "--discard-parts"]);
    drop(halted);
    sender.end();
    assert!(first.end().expect(0).all("failed").is_empty());
    second.end().expect(0);
    assert_same(&file, &stage.path("in/f"));
    assert_eq!(entries(&stage.path("in")), ["f"]);
}

#[test]
fn of_two_receivers_with_one_id_one_takes_another_and_both_get_everything() {
    let stage = Stage::new();
    let file = stage.file("out/f", 2_000_000);
    let receivers = ["a", "b"].map(|name| stage.recv(name, &["--once", "--node-id=77"]));
    let sent = send(&stage, "out/f", &["--rate=40M", "--expect=a,b"]).end().expect(0);
    assert_eq!(sent.result()["complete"], 2);
    let mut renamed = 0;
    for (receiver, name) in receivers.into_iter().zip(["a", "b"]) {
        let received = receiver.end().expect(0);
        for warning in received.all("warning") {
            let message = warning["message"].as_str().unwrap();
            assert_eq!(warning["code"], "node_id.taken", "{message}");
            assert!(
                message.contains("77") && message.matches("127.0.0.1:").count() == 2,
                "{message}"
            );
            renamed += usize::from(message.contains("this node is"));
        }
        assert_same(&file, &stage.path(name).join("f"));
    }
    assert_eq!(renamed, 1);
}

#[test]
fn two_senders_with_one_id_both_say_so() {
    let stage = Stage::new();
    stage.file("one/f", 1_500_000);
    stage.file("two/g", 1_500_000);
    let receiver = stage.recv("in", &["--timeout=4s"]);
    let mut senders = ["one/f", "two/g"]
        .map(|file| send(&stage, file, &["--rate=4M", "--node-id=78", "--wait=3s"]));
    for sender in &mut senders {
        let warning = sender.wait_for("warning");
        assert_eq!(warning["code"], "node_id.taken");
        assert!(warning["message"].as_str().unwrap().contains("--node-id"), "{warning}");
    }
    senders.into_iter().for_each(|sender| drop(sender.end()));
    receiver.end();
}
