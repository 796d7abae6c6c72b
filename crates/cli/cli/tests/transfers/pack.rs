//! Trees of many small files from one process to others over loopback multicast.

use std::{collections::BTreeMap, path::Path};

use crate::support::{LEDGER, Stage, entries};

/// Every file below `root` with its content; directories end with a slash.
fn tree(root: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut stack = vec![(root.to_owned(), String::new())];
    while let Some((path, name)) = stack.pop() {
        for entry in std::fs::read_dir(&path).unwrap() {
            let entry = entry.unwrap();
            let name = format!("{name}{}", entry.file_name().to_str().unwrap());
            if entry.file_type().unwrap().is_dir() {
                found.insert(format!("{name}/"), Vec::new());
                stack.push((entry.path(), format!("{name}/")));
            } else {
                found.insert(name, std::fs::read(entry.path()).unwrap());
            }
        }
    }
    found
}

/// Files of 0 to 3 KB, one of 100 KB, and an empty directory; the bytes of all.
fn make_tree(stage: &Stage, files: usize) -> usize {
    for n in 0..files {
        stage.file(&format!("out/t/{}/{}/{n:05}", n % 7, n % 11), n * 37 % 3072);
    }
    stage.file("out/t/large", 100_000);
    std::fs::create_dir_all(stage.path("out/t/nothing/here")).unwrap();
    (0..files).map(|n| n * 37 % 3072).sum::<usize>() + 100_000
}

#[test]
fn three_thousand_small_files_arrive_at_two_receivers_through_loss() {
    // Loss 5 % at each of two receivers.
    let stage = Stage::new();
    let content = make_tree(&stage, 3000);
    let receivers = ["a", "b"].map(|name| stage.recv(name, &["--once", "--test-drop", "0.05"]));
    let sent =
        stage.send(&[stage.path("out/t"), "--expect=2".into(), "--rate=50M".into()]).expect(0);
    let is_file = |receipt: &&&serde_json::Value| receipt["file"] != "tree";
    let files = sent.all("receipt").iter().filter(is_file).count();
    assert_eq!(files, 2 * 3001, "one for each file and receiver");
    for (receiver, name) in receivers.into_iter().zip(["a", "b"]) {
        let received = receiver.end().expect(0);
        assert_eq!(received.result()["files"], 3001);
        assert_eq!(received.result()["bytes"], content);
        assert_eq!(received.all("file").len(), 3001);
        let last = |event: &str| received.events.iter().rposition(|told| told["event"] == event);
        assert!(last("file") < last("tree"), "files are told of before what comes next");
        assert_eq!(entries(&stage.path(name)), ["t"]);
        assert!(tree(&stage.path(name).join("t")) == tree(&stage.path("out/t")));
    }
}

#[test]
fn small_files_cost_less_than_five_percent_on_the_wire() {
    let stage = Stage::new();
    let content = make_tree(&stage, 3000);
    let receiver = stage.recv("a", &["--once"]);
    let sent = stage.send(&[stage.path("out/t"), "--rate=50M".into()]).expect(0);
    receiver.end().expect(0);
    let result = sent.result();
    // What a busy machine loses and has repaired is not what is measured here.
    let wire = result["wire_bytes"].as_u64().unwrap() - result["repair_bytes"].as_u64().unwrap();
    let overhead = wire as f64 / content as f64 - 1.0;
    assert!(overhead < 0.05, "{:.2} %", overhead * 100.0);
}

#[test]
fn a_tree_that_is_there_already_is_not_written_again() {
    let stage = Stage::new();
    make_tree(&stage, 50);
    for policy in ["--overwrite", "--keep", "--once"] {
        let receiver = stage.recv("a", &["--once", policy][usize::from(policy == "--once")..]);
        stage.send(&[stage.path("out/t"), "--rate=50M".into()]).expect(0);
        assert_eq!(receiver.end().expect(0).result()["files"], 51);
        assert!(tree(&stage.path("a/t")) == tree(&stage.path("out/t")));
    }
}

#[test]
fn files_to_be_kept_that_differ_are_a_conflict_and_the_sender_is_told() {
    let stage = Stage::new();
    make_tree(&stage, 50);
    stage.file("a/t/3/3/00003", 7);
    stage.file("a/t/large", 7);
    let receiver = stage.recv("a", &["--once", "--refuse"]);
    let sent = stage.send(&[stage.path("out/t"), "--rate=50M".into()]).expect(3);
    assert!(sent.all("reported").iter().all(|line| line["reason"] == "conflict"));
    let received = receiver.end().expect(3);
    let names: Vec<&str> =
        received.all("failed").iter().map(|line| line["name"].as_str().unwrap()).collect();
    assert!(names.len() == 2 && names.contains(&"t/3/3/00003") && names.contains(&"t/large"));
    assert_eq!(received.result()["files"], 49);
    assert_eq!(std::fs::metadata(stage.path("a/t/3/3/00003")).unwrap().len(), 7);
}

#[test]
fn without_packs_every_file_is_an_object() {
    let stage = Stage::new();
    make_tree(&stage, 40);
    let receiver = stage.recv("a", &["--once"]);
    let sent = stage.send(&[stage.path("out/t"), "--no-pack".into(), "--rate=50M".into()]);
    // And the tree.
    assert_eq!(sent.expect(0).all("receipt").len(), 42);
    assert_eq!(receiver.end().expect(0).result()["files"], 41);
}

#[test]
fn a_receiver_killed_between_packs_is_not_sent_again_what_it_has_unpacked() {
    let stage = Stage::new();
    // Six packs.
    let content: usize = (0..2400).map(|n| n * 3701 % 20_000).sum();
    for n in 0..2400 {
        stage.file(&format!("out/t/{}/{n:05}", n / 100), n * 3701 % 20_000);
    }
    let mut receiver = stage.recv("a", &[]);
    let sender = stage.start("send", &[stage.path("out/t"), "--rate=30M".into()]);
    receiver.wait_for_progress("bytes", content as u64 / 2);
    receiver.kill();
    sender.kill();
    assert_nothing_is_wrong(&stage.path("out/t"), &stage.path("a/t"));
    let there = remembered(&stage.path("a"));
    assert!(there > 1 << 20, "{there} bytes were in their place for good");
    let receiver = stage.recv("a", &["--once"]);
    let sent = stage.send(&[stage.path("out/t"), "--rate=50M".into()]).expect(0);
    receiver.end().expect(0);
    let wire = sent.result()["wire_bytes"].as_u64().unwrap();
    // What a busy machine loses and has repaired.
    let allowed = (content as u64).saturating_sub(there) + content as u64 * 8 / 100;
    assert!(wire <= allowed, "{wire} of {allowed}");
    assert!(tree(&stage.path("a/t")) == tree(&stage.path("out/t")));
    assert_eq!(entries(&stage.path("a")), ["t"]);
}

#[test]
fn a_listed_pack_that_is_gone_is_taken_as_it_comes_and_travels_once() {
    // Both listen; the one whose files were removed still has them in its ledger.
    let stage = Stage::new();
    let content = make_tree(&stage, 1500);
    let tree_sent = || [stage.path("out/t"), "--expect=2".into(), "--rate=20M".into()];
    let receiver = stage.recv("a", &["--once"]);
    stage.send(&tree_sent()[..1]).expect(0);
    receiver.end().expect(0);
    std::fs::remove_dir_all(stage.path("a/t")).unwrap();
    assert!(remembered(&stage.path("a")) > content as u64 / 2);
    let receivers = ["a", "b"].map(|name| stage.recv(name, &["--once"]));
    let sent = stage.send(&tree_sent()).expect(0);
    for (receiver, name) in receivers.into_iter().zip(["a/t", "b/t"]) {
        receiver.end().expect(0);
        assert!(tree(&stage.path(name)) == tree(&stage.path("out/t")));
    }
    let wire = sent.result()["wire_bytes"].as_u64().unwrap();
    assert!(wire < content as u64 * 5 / 4, "{wire} of {content}");
}

/// Bytes of the objects that a receiver knows to have in this directory.
fn remembered(directory: &Path) -> u64 {
    let ledger = std::fs::read_to_string(directory.join(LEDGER)).unwrap();
    let heads = ledger.lines().filter(|line| line.starts_with("o "));
    heads.map(|line| line.split(' ').nth(4).unwrap().parse::<u64>().unwrap()).sum()
}

/// Every file that is there is whole, and the right one.
#[track_caller]
fn assert_nothing_is_wrong(out: &Path, there: &Path) {
    let right = tree(out);
    let wrong = tree(there).into_iter().find(|(name, content)| right.get(name) != Some(content));
    assert!(wrong.is_none(), "{:?}", wrong.map(|(name, _)| name));
}

#[test]
fn of_a_tree_that_is_there_only_groups_with_changes_travel_and_only_changed_files_are_written() {
    let stage = Stage::new();
    let content = make_tree(&stage, 9000);
    let receiver = stage.recv("a", &["--once"]);
    stage.send(&[stage.path("out/t"), "--rate=100M".into()]).expect(0);
    receiver.end().expect(0);
    let changed = [3, 4500, 8999].map(|n| format!("out/t/{}/{}/{n:05}", n % 7, n % 11));
    for name in &changed {
        let path = stage.path(name);
        let longer = [&std::fs::read(&path).unwrap()[..], b"longer"].concat();
        std::fs::write(path, longer).unwrap();
    }
    let receiver = stage.recv("a", &["--once", "--overwrite"]);
    let sent = stage.send(&[stage.path("out/t"), "--sync".into(), "--rate=20M".into()]).expect(0);
    let received = receiver.end().expect(0);
    let written = received.all("file").iter().filter(|line| line["already"] != true).count();
    assert_eq!(written, changed.len());
    let wire = sent.result()["wire_bytes"].as_u64().unwrap();
    assert!(wire < content as u64 / 10, "{wire} of {content}");
    assert!(tree(&stage.path("a/t")) == tree(&stage.path("out/t")));
    assert_eq!(entries(&stage.path("a")), ["t"]);
}
