//! Transfers that are broken off and taken up again: what is there does not travel twice.

use std::{
    ffi::OsStr,
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
};

use crate::support::{Ended, Running, Stage, assert_same, entries};

const SIZE: usize = 24 << 20;
/// What a crash may cost beyond what was lacking: 8 MiB not yet on disk, 5 % for headers.
const SLACK: u64 = 8 << 20;

fn send(stage: &Stage, file: &Path, more: &[&str]) -> Running {
    let more = more.iter().map(OsStr::new);
    stage.start("send", &[file.as_os_str()].into_iter().chain(more).collect::<Vec<_>>())
}

fn sent_bytes(sent: &Ended) -> u64 {
    sent.result()["wire_bytes"].as_u64().unwrap()
}

/// The part that an earlier attempt has left.
fn part(stage: &Stage) -> PathBuf {
    let names = entries(&stage.path("in"));
    let name = names.iter().find(|name| name.ends_with(".part"));
    stage.path("in").join(name.unwrap_or_else(|| panic!("no part in {names:?}")))
}

/// Bytes that the receiver had already, as it says itself.
fn resumed(received: &Ended) -> u64 {
    received.all("resumed").iter().map(|event| event["bytes"].as_u64().unwrap()).sum()
}

#[track_caller]
fn assert_little_was_sent_again(sent: &Ended, had: u64) {
    let lacking = SIZE as u64 - had.min(SIZE as u64);
    let allowed = (lacking + SLACK) * 105 / 100;
    assert!(sent_bytes(sent) <= allowed, "{} of {allowed}", sent_bytes(sent));
}

/// Both ends are killed when the receiver has about half.
fn break_off(stage: &Stage, file: &Path) {
    let mut receiver = stage.recv("in", &[]);
    let sender = send(stage, file, &["--rate=100M"]);
    receiver.wait_for_progress("bytes", SIZE as u64 / 2);
    receiver.kill();
    sender.kill();
}

#[test]
fn a_killed_receiver_goes_on_where_it_was_while_its_sender_goes_on_too() {
    let stage = Stage::new();
    let file = stage.file("out/f", SIZE);
    let mut first = stage.recv("in", &[]);
    let sender = send(&stage, &file, &["--rate=40M"]);
    first.wait_for_progress("bytes", SIZE as u64 / 2);
    first.kill();
    let second = stage.recv("in", &["--once"]);
    let received = second.end().expect(0);
    // The life that was killed never answers again: its sender may call that partial.
    let sent = sender.end();
    assert!(sent.code == Some(0) || sent.code == Some(3), "{:#?}", sent.events);
    assert!(resumed(&received) >= SIZE as u64 / 2 - SLACK, "{:#?}", received.events);
    assert!(sent_bytes(&sent) <= (SIZE as u64 + SLACK) * 105 / 100, "{}", sent_bytes(&sent));
    assert_same(&file, &stage.path("in/f"));
    assert_eq!(entries(&stage.path("in")), ["f"]);
}

#[test]
fn a_killed_sender_sends_only_what_is_lacking_when_it_is_run_again() {
    let stage = Stage::new();
    let file = stage.file("out/f", SIZE);
    let mut receiver = stage.recv("in", &["--count=1"]);
    let sender = send(&stage, &file, &["--rate=100M"]);
    receiver.wait_for_progress("bytes", SIZE as u64 / 2);
    sender.kill();
    let sent = send(&stage, &file, &["--rate=100M"]).end().expect(0);
    assert_eq!(sent.all("resuming")[0]["file"], "f");
    receiver.end();
    assert_little_was_sent_again(&sent, SIZE as u64 / 2);
    assert_same(&file, &stage.path("in/f"));
    assert_eq!(entries(&stage.path("in")), ["f"]);
}

#[test]
fn when_both_were_killed_only_what_is_lacking_travels() {
    let stage = Stage::new();
    let file = stage.file("out/f", SIZE);
    break_off(&stage, &file);
    let receiver = stage.recv("in", &["--once"]);
    let sent = send(&stage, &file, &["--rate=100M"]).end().expect(0);
    let received = receiver.end().expect(0);
    assert!(resumed(&received) >= SIZE as u64 / 2 - SLACK, "{:#?}", received.events);
    assert_little_was_sent_again(&sent, SIZE as u64 / 2);
    assert_same(&file, &stage.path("in/f"));
    assert_eq!(entries(&stage.path("in")), ["f"]);
}

#[test]
fn bytes_that_went_bad_in_a_part_travel_again_and_only_their_groups() {
    let stage = Stage::new();
    let file = stage.file("out/f", SIZE);
    break_off(&stage, &file);
    // All of it is there, but for one byte in each of two groups.
    std::fs::copy(&file, part(&stage)).unwrap();
    let kept = std::fs::OpenOptions::new().write(true).open(part(&stage)).unwrap();
    let original = std::fs::read(&file).unwrap();
    for at in [5_u64 << 20, (17 << 20) + 12_345] {
        kept.write_all_at(&[!original[at as usize]], at).unwrap();
    }
    let receiver = stage.recv("in", &["--once"]);
    let sent = send(&stage, &file, &["--rate=100M"]).end().expect(0);
    let received = receiver.end().expect(0);
    assert_eq!(resumed(&received), SIZE as u64 - (2 << 16));
    // Groups begin and end within segments.
    assert!(sent_bytes(&sent) <= (2 << 16) * 110 / 100 + 100_000, "{}", sent_bytes(&sent));
    assert_same(&file, &stage.path("in/f"));
}

#[test]
fn a_part_is_not_used_when_it_is_to_be_discarded() {
    let stage = Stage::new();
    let file = stage.file("out/f", SIZE);
    break_off(&stage, &file);
    let receiver = stage.recv("in", &["--once", "--discard-parts"]);
    let sent = send(&stage, &file, &["--rate=200M"]).end().expect(0);
    assert!(receiver.end().expect(0).all("resumed").is_empty());
    assert!(sent_bytes(&sent) >= SIZE as u64);
    assert_same(&file, &stage.path("in/f"));
    assert_eq!(entries(&stage.path("in")), ["f"]);
}

#[test]
fn sync_of_an_equal_tree_sends_almost_nothing() {
    let stage = Stage::new();
    for (name, size) in [("tree/large", 5_000_000), ("tree/d/small", 70_000), ("tree/empty", 0)] {
        stage.file(&format!("out/{name}"), size);
        let copy = stage.path("in").join(name);
        std::fs::create_dir_all(copy.parent().unwrap()).unwrap();
        std::fs::copy(stage.path("out").join(name), copy).unwrap();
    }
    // One is of the same size but another one.
    stage.file("out/tree/other", 50_000);
    std::fs::write(stage.path("in/tree/other"), vec![1; 50_000]).unwrap();
    let receiver = stage.recv("in", &["--once", "--overwrite"]);
    let sent = send(&stage, &stage.path("out/tree"), &["--sync", "--rate=10M"]).end().expect(0);
    let received = receiver.end().expect(0);
    assert!(sent_bytes(&sent) < 50_000 * 130 / 100 + 20_000, "{}", sent_bytes(&sent));
    let files = received.all("file");
    let already = files.iter().filter(|file| file["already"] == true).count();
    assert_eq!((files.len(), already), (4, 3));
    for name in ["large", "d/small", "empty", "other"] {
        assert_same(&stage.path("out/tree").join(name), &stage.path("in/tree").join(name));
    }
    assert_eq!(entries(&stage.path("in")), ["tree"]);
}

#[test]
fn a_file_that_is_there_already_is_not_kept_twice() {
    let stage = Stage::new();
    let file = stage.file("out/f", 3_000_000);
    stage.file("out/g", 1000);
    for _ in 0..2 {
        let receiver = stage.recv("in", &["--once"]);
        stage.send(&[file.clone(), stage.path("out/g"), "--rate=100M".into()]).expect(0);
        receiver.end().expect(0);
    }
    assert_eq!(entries(&stage.path("in")), ["f", "g"]);
}

#[test]
fn equal_files_under_two_names_are_two_files() {
    let stage = Stage::new();
    let file = stage.file("out/d/a", 3_000_000);
    std::fs::copy(&file, stage.path("out/d/b")).unwrap();
    let receiver = stage.recv("in", &["--once"]);
    stage.send(&[stage.path("out/d"), "--rate=200M".into()]).expect(0);
    receiver.end().expect(0);
    assert_eq!(entries(&stage.path("in")), ["d"]);
    assert_same(&file, &stage.path("in/d/a"));
    assert_same(&file, &stage.path("in/d/b"));
}

#[test]
fn two_senders_of_one_file_at_once_make_one_file() {
    let stage = Stage::new();
    let file = stage.file("out/f", 6_000_000);
    let receiver = stage.recv("in", &["--once"]);
    let senders = [send(&stage, &file, &["--rate=50M"]), send(&stage, &file, &["--rate=30M"])];
    for sender in senders {
        sender.end().expect(0);
    }
    receiver.end().expect(0);
    assert_same(&file, &stage.path("in/f"));
    assert_eq!(entries(&stage.path("in")), ["f"]);
}

/// A tree of three files, of which two have come when the sender is killed.
fn two_of_three(stage: &Stage, receiver: &mut Running) -> PathBuf {
    let sizes = [("1", 5_000_000), ("2", 300_000), ("3", 6_000_000)];
    sizes.iter().for_each(|(name, size)| drop(stage.file(&format!("out/t/{name}"), *size)));
    let tree = stage.path("out/t");
    let sender = send(stage, &tree, &["--rate=60M"]);
    receiver.wait_for("file");
    receiver.wait_for("file");
    sender.kill();
    tree
}

#[track_caller]
fn assert_third_alone_travelled(stage: &Stage, sent: &Ended) {
    assert!(sent_bytes(sent) < 6_000_000 * 105 / 100 + 50_000, "{}", sent_bytes(sent));
    // And the tree.
    assert_eq!(sent.all("receipt").len(), 4);
    for name in ["1", "2", "3"] {
        assert_same(&stage.path("out/t").join(name), &stage.path("in/t").join(name));
    }
    assert_eq!(entries(&stage.path("in/t")), ["1", "2", "3"]);
}

#[test]
fn files_that_have_come_do_not_travel_again_when_the_sender_is_run_again() {
    let stage = Stage::new();
    let mut receiver = stage.recv("in", &["--count=3"]);
    let tree = two_of_three(&stage, &mut receiver);
    let sent = send(&stage, &tree, &["--rate=60M"]).end().expect(0);
    let received = receiver.end().expect(0);
    assert_third_alone_travelled(&stage, &sent);
    // Each is told once, whichever of the sender's lives brought it.
    assert_eq!(received.all("file").len(), 3);
}

#[test]
fn files_that_have_come_do_not_travel_again_when_both_ends_are_run_again() {
    let stage = Stage::new();
    let mut receiver = stage.recv("in", &[]);
    let tree = two_of_three(&stage, &mut receiver);
    receiver.kill();
    let receiver = stage.recv("in", &["--once"]);
    let sent = send(&stage, &tree, &["--rate=60M"]).end().expect(0);
    let received = receiver.end().expect(0);
    assert_third_alone_travelled(&stage, &sent);
    let files = received.all("file");
    assert_eq!(files.iter().filter(|file| file["already"] == true).count(), 2);
}

#[test]
fn where_one_has_all_and_another_a_part_only_what_the_second_lacks_travels() {
    let stage = Stage::new();
    let file = stage.file("out/f", SIZE);
    break_off(&stage, &file);
    let whole = stage.recv("whole", &["--once"]);
    send(&stage, &file, &["--rate=200M"]).end().expect(0);
    whole.end().expect(0);
    let receivers = ["in", "whole"].map(|name| stage.recv(name, &["--once"]));
    let sent = send(&stage, &file, &["--rate=100M", "--expect=in,whole"]).end().expect(0);
    let [part, whole] = receivers.map(|receiver| receiver.end().expect(0));
    let lacking = SIZE as u64 - resumed(&part);
    assert!(lacking < SIZE as u64 / 2 + SLACK, "{lacking}");
    let limit = lacking * 105 / 100 + SIZE as u64 / 100;
    assert!(sent_bytes(&sent) <= limit, "{} of {limit}", sent_bytes(&sent));
    assert_eq!(whole.all("file")[0]["already"], true);
    assert_same(&file, &stage.path("in/f"));
}

#[test]
fn files_that_an_earlier_run_brought_count_once_they_are_sent_again() {
    let stage = Stage::new();
    let first = stage.file("out/a", 10_000);
    let receiver = stage.recv("in", &["--count=1"]);
    send(&stage, &first, &["--rate=50M"]).end().expect(0);
    receiver.end().expect(0);
    let second = stage.file("out/b", 10_000);
    let receiver = stage.recv("in", &["--count=2"]);
    send(&stage, &first, &["--rate=50M", second.to_str().unwrap()]).end().expect(0);
    let received = receiver.end().expect(0);
    assert_eq!(received.result()["files"], 2);
    let already = received.all("file").iter().filter(|line| line["already"] == true).count();
    assert_eq!(already, 1);
}

#[test]
fn packs_that_have_come_do_not_travel_again_unless_a_file_of_them_has_changed() {
    let stage = Stage::new();
    (0..200).for_each(|n| drop(stage.file(&format!("out/t/{n}"), 30_000)));
    let tree = stage.path("out/t");
    for _ in 0..2 {
        let receiver = stage.recv("in", &["--once"]);
        let sent = send(&stage, &tree, &["--rate=100M"]).end().expect(0);
        receiver.end().expect(0);
        if sent_bytes(&sent) < 50_000 {
            std::fs::write(stage.path("in/t/7"), "changed here").unwrap();
            let receiver = stage.recv("in", &["--once", "--overwrite"]);
            send(&stage, &tree, &["--rate=100M"]).end().expect(0);
            receiver.end().expect(0);
            assert_same(&stage.path("out/t/7"), &stage.path("in/t/7"));
            return;
        }
        assert!(sent_bytes(&sent) > 6_000_000);
    }
    panic!("all of it travelled twice");
}

/// On a file system of two megabytes.
#[test]
fn a_file_that_is_here_whole_needs_no_room_a_second_time() {
    let stage = Stage::new();
    let file = stage.file("out/f", 1_400_000);
    let Some(_mount) = stage.file_system("in", "size=2m") else { return };
    for already in [false, true] {
        let receiver = stage.recv("in", &["--once"]);
        send(&stage, &file, &["--rate=100M"]).end().expect(0);
        let received = receiver.end().expect(0);
        assert_eq!(received.all("file")[0]["already"] == true, already);
    }
    // Changed here, there is no room for it beside what is there.
    std::fs::write(stage.path("in/f"), vec![1; 1_400_000]).unwrap();
    let receiver = stage.recv("in", &["--once", "--overwrite"]);
    let sent = send(&stage, &file, &["--rate=100M"]).end().expect(3);
    assert_eq!(sent.all("reported")[0]["reason"], "disk-full");
    receiver.end();
}

#[test]
fn sync_reads_what_is_there_even_where_the_ledger_knows_it() {
    let stage = Stage::new();
    let file = stage.file("out/f", 3_000_000);
    let receiver = stage.recv("in", &["--once"]);
    send(&stage, &file, &["--rate=100M"]).end().expect(0);
    receiver.end().expect(0);
    assert!(stage.path("in").join(crate::support::LEDGER).exists());
    // The ledger is made to say of the damaged file what it said of the right one.
    let ledger = stage.path("in").join(crate::support::LEDGER);
    let told = std::fs::read_to_string(&ledger).unwrap();
    std::fs::write(stage.path("in/f"), vec![1; 3_000_000]).unwrap();
    let meta = std::fs::metadata(stage.path("in/f")).unwrap();
    let line = told.lines().last().unwrap();
    let mut fields: Vec<String> = line.split(' ').map(str::to_owned).collect();
    use std::os::unix::fs::MetadataExt;
    let stamp = [meta.mtime(), meta.mtime_nsec(), meta.ctime(), meta.ctime_nsec()];
    stamp.iter().enumerate().for_each(|(n, number)| fields[3 + n] = number.to_string());
    std::fs::write(&ledger, told.replace(line, &fields.join(" "))).unwrap();
    for (more, right) in [(&["--rate=100M"][..], false), (&["--rate=100M", "--sync"], true)] {
        let receiver = stage.recv("in", &["--once", "--overwrite"]);
        send(&stage, &file, more).end().expect(0);
        receiver.end().expect(0);
        let same = std::fs::read(&file).unwrap() == std::fs::read(stage.path("in/f")).unwrap();
        assert_eq!(same, right);
    }
}

#[test]
fn stopped_at_either_end_a_transfer_goes_on_where_it_was() {
    for end in ["send", "recv"] {
        let stage = Stage::new();
        let file = stage.file("out/f", SIZE);
        let mut receiver = stage.recv("in", &["--count=1"]);
        let sender = send(&stage, &file, &["--rate=100M"]);
        receiver.wait_for_progress("bytes", SIZE as u64 / 2);
        if end == "send" {
            sender.interrupt();
            sender.end().expect(130);
        } else {
            receiver.interrupt();
            receiver.end().expect(130);
            sender.end().expect(3);
            receiver = stage.recv("in", &["--count=1"]);
        }
        let sent = send(&stage, &file, &["--rate=100M"]).end().expect(0);
        assert_eq!(sent.all("resuming")[0]["file"], "f", "stopped {end}");
        receiver.end();
        assert_little_was_sent_again(&sent, SIZE as u64 / 2);
        assert_same(&file, &stage.path("in/f"));
        assert_eq!(entries(&stage.path("in")), ["f"]);
    }
}

#[test]
fn what_was_whole_when_a_transfer_of_many_files_was_broken_off_does_not_travel_again() {
    let stage = Stage::new();
    // Two files of their own, and packs of small files; the last is under way when it ends.
    stage.file("out/d/a", 3_000_000);
    stage.file("out/d/b", 5_000_000);
    (0..900).for_each(|n| drop(stage.file(&format!("out/d/s/{n}"), 9000)));
    let last = stage.file("out/z", 8_000_000);
    let sources = [stage.path("out/d"), last.clone(), "--rate=60M".into()];
    let mut receiver = stage.recv("in", &[]);
    let sender = stage.start("send", &sources);
    receiver.wait_for_progress("bytes", 14_000_000);
    receiver.kill();
    sender.kill();
    let receiver = stage.recv("in", &["--once"]);
    let sent = stage.send(&sources).expect(0);
    receiver.end().expect(0);
    // Of 24 MB 14 had come.
    let allowed = (10_000_000 + SLACK) * 105 / 100;
    assert!(sent_bytes(&sent) <= allowed, "{} of {allowed}: {:#?}", sent_bytes(&sent), sent.events);
    for name in ["a", "b", "s/0", "s/899"] {
        assert_same(&stage.path("out/d").join(name), &stage.path("in/d").join(name));
    }
    assert_same(&last, &stage.path("in/z"));
    assert_eq!(entries(&stage.path("in")), ["d", "z"]);
}
