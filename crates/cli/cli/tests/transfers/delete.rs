//! What is not at the sender goes from receivers that allow it, and from nobody else.

use std::{fs, path::Path};

use crate::support::{Ended, Running, Stage, entries};
use serde_json::Value;

/// Three files, an empty directory and a link.
fn make_tree(stage: &Stage) {
    for (name, size) in [("out/t/a", 10), ("out/t/d/b", 100), ("out/t/large", 100_000)] {
        stage.file(name, size);
    }
    fs::create_dir_all(stage.path("out/t/empty")).unwrap();
    std::os::unix::fs::symlink("a", stage.path("out/t/link")).unwrap();
}

/// What a receiver has besides: five names beneath the root, and what is elsewhere.
fn make_extras(stage: &Stage, dir: &str) {
    for name in ["t/old/x/y", "t/empty/z", "t/zz", "t/link", "mine", "u/mine"] {
        stage.file(&format!("{dir}/{name}"), 3);
    }
}

fn send(stage: &Stage, more: &[&str]) -> Ended {
    let tree = stage.path("out/t");
    stage.send(&[&[tree.to_str().unwrap(), "--delete", "--rate=50M"], more].concat())
}

/// The receiver and what it said of the listing.
#[track_caller]
fn end(receiver: Running, code: i32) -> (Ended, Value) {
    let ended = receiver.end().expect(code);
    let told = ended.all("deletion");
    assert_eq!(told.len(), 1, "{:#?}", ended.events);
    let told = told[0].clone();
    (ended, told)
}

fn has_extras(dir: &Path) -> bool {
    ["t/old/x/y", "t/empty/z", "t/zz", "t/link"].iter().all(|name| dir.join(name).exists())
}

#[test]
fn what_is_not_at_the_sender_is_removed_and_told_and_everything_else_stays() {
    let stage = Stage::new();
    make_tree(&stage);
    make_extras(&stage, "a");
    let receiver = stage.recv("a", &["--once", "--allow-delete"]);
    let sent = send(&stage, &[]).expect(0);
    let receipts = sent.all("receipt");
    assert!(receipts.iter().any(|receipt| receipt["file"] == "listing"), "{receipts:#?}");
    let (received, told) = end(receiver, 0);
    assert_eq!(
        (&told["extra"], &told["deleted"], &told["roots"][0]),
        (&5.into(), &5.into(), &"t".into())
    );
    let path = |name: &str| stage.path("a").join(name).to_str().unwrap().to_owned();
    let gone: Vec<&str> =
        received.all("deleted").iter().map(|line| line["path"].as_str().unwrap()).collect();
    let expected = ["t/empty/z", "t/old/x/y", "t/old/x", "t/old", "t/zz"].map(path);
    assert_eq!(gone, expected);
    assert_eq!(received.result()["deleted"], 5);
    assert_eq!(entries(&stage.path("a")), ["mine", "t", "u"]);
    // At the sender the name is that of a link, which is not sent: here it stays.
    assert_eq!(entries(&stage.path("a/t")), ["a", "d", "empty", "large", "link"]);
    assert!(entries(&stage.path("a/t/empty")).is_empty());
}

#[test]
fn a_second_time_nothing_is_left_to_remove_and_that_needs_no_permission() {
    let stage = Stage::new();
    make_tree(&stage);
    for options in [&["--once", "--allow-delete"][..], &["--once"]] {
        let receiver = stage.recv("a", options);
        send(&stage, &[]).expect(0);
        let (_, told) = end(receiver, 0);
        assert_eq!((&told["extra"], &told["deleted"]), (&0.into(), &0.into()));
    }
}

#[test]
fn without_permission_nothing_is_removed_and_the_sender_is_told() {
    let stage = Stage::new();
    make_tree(&stage);
    make_extras(&stage, "a");
    let receiver = stage.recv("a", &["--once"]);
    let sent = send(&stage, &[]).expect(3);
    let reported = sent.all("reported");
    assert_eq!(
        (&reported[0]["file"], &reported[0]["reason"]),
        (&"listing".into(), &"delete-not-allowed".into())
    );
    let (received, told) = end(receiver, 3);
    assert_eq!((&told["extra"], &told["deleted"]), (&5.into(), &0.into()));
    assert_eq!(told["reason"], "delete-not-allowed");
    assert!(told["why"].as_str().unwrap().contains("--allow-delete"));
    assert!(has_extras(&stage.path("a")));
    // The files themselves have come.
    assert_eq!(received.result()["files"], 3);
}

#[test]
fn permission_alone_removes_nothing() {
    let stage = Stage::new();
    make_tree(&stage);
    make_extras(&stage, "a");
    let receiver = stage.recv("a", &["--once", "--allow-delete"]);
    stage.send(&[stage.path("out/t"), "--rate=50M".into()]).expect(0);
    assert!(receiver.end().expect(0).all("deletion").is_empty());
    assert!(has_extras(&stage.path("a")));
}

#[test]
fn more_than_was_allowed_is_not_removed_in_part() {
    let stage = Stage::new();
    make_tree(&stage);
    make_extras(&stage, "a");
    for (max, code) in [("4", 3), ("5", 0)] {
        let receiver = stage.recv("a", &["--once", "--allow-delete", "--max-delete", max]);
        let sent = send(&stage, &[]).expect(code);
        let (_, told) = end(receiver, code);
        assert_eq!(told["extra"], 5);
        assert_eq!(told["deleted"], if code == 0 { 5 } else { 0 });
        assert_eq!(has_extras(&stage.path("a")), code == 3);
        let reasons = sent.all("reported");
        assert!(reasons.iter().all(|line| line["reason"] == "delete-too-many"), "{reasons:#?}");
    }
}

#[test]
fn where_a_file_could_not_be_had_nothing_is_removed() {
    let stage = Stage::new();
    make_tree(&stage);
    make_extras(&stage, "a");
    stage.file("a/t/large", 7);
    let receiver = stage.recv("a", &["--once", "--allow-delete", "--refuse"]);
    let sent = send(&stage, &[]).expect(3);
    let reasons: Vec<&Value> = sent.all("reported").iter().map(|line| &line["reason"]).collect();
    assert!(reasons.contains(&&"conflict".into()), "{reasons:?}");
    assert!(reasons.contains(&&"delete-incomplete".into()), "{reasons:?}");
    let (_, told) = end(receiver, 3);
    assert_eq!((&told["extra"], &told["reason"]), (&Value::Null, &"delete-incomplete".into()));
    assert!(has_extras(&stage.path("a")));
}

#[test]
fn the_file_that_a_conflict_put_beside_another_is_not_removed() {
    let stage = Stage::new();
    make_tree(&stage);
    stage.file("a/t/large", 7);
    let receiver = stage.recv("a", &["--once", "--allow-delete", "--keep"]);
    send(&stage, &[]).expect(3);
    end(receiver, 0);
    assert_eq!(entries(&stage.path("a/t")), ["a", "d", "empty", "large", "large.1", "link"]);
    let receiver = stage.recv("a", &["--once", "--allow-delete", "--overwrite"]);
    send(&stage, &[]).expect(0);
    let (_, told) = end(receiver, 0);
    assert_eq!(told["deleted"], 1);
    assert_eq!(entries(&stage.path("a/t")), ["a", "d", "empty", "large", "link"]);
}

#[test]
fn hundreds_of_files_at_two_receivers_through_loss_become_what_the_sender_has() {
    // Loss 5 % at each of two receivers; the listing is longer than one segment.
    let stage = Stage::new();
    (0..600).for_each(|n| drop(stage.file(&format!("out/t/{}/{n:05}", n % 7), n * 37 % 512)));
    for dir in ["a", "b"] {
        (0..300).for_each(|n| drop(stage.file(&format!("{dir}/t/{}/old-{n}", n % 9), 1)));
    }
    let options = ["--once", "--allow-delete", "--test-drop", "0.05"];
    let receivers = ["a", "b"].map(|name| stage.recv(name, &options));
    send(&stage, &["--expect=2"]).expect(0);
    for (receiver, name) in receivers.into_iter().zip(["a", "b"]) {
        // Two directories were only here.
        assert_eq!(end(receiver, 0).1["deleted"], 302);
        let files = (0..7).map(|n| entries(&stage.path(name).join(format!("t/{n}"))).len());
        assert_eq!((files.sum::<usize>(), entries(&stage.path(name).join("t")).len()), (600, 7));
    }
}

#[test]
fn a_receiver_killed_while_it_removes_has_all_that_is_listed_and_removes_the_rest_next_time() {
    let stage = Stage::new();
    (0..50).for_each(|n| drop(stage.file(&format!("out/t/{n:02}"), n)));
    (0..3000).for_each(|n| drop(stage.file(&format!("a/t/old/{n}"), 1)));
    let mut receiver = stage.recv("a", &["--allow-delete"]);
    let tree = stage.path("out/t");
    let sender = stage.start("send", &[tree.to_str().unwrap(), "--delete", "--rate=50M"]);
    receiver.wait_for("deleted");
    receiver.kill();
    sender.kill();
    let there = entries(&stage.path("a/t"));
    assert!((0..50).all(|n| there.contains(&format!("{n:02}"))), "{there:?}");
    let receiver = stage.recv("a", &["--once", "--allow-delete"]);
    send(&stage, &[]).expect(0);
    end(receiver, 0);
    assert_eq!(entries(&stage.path("a/t")), entries(&tree));
    assert_eq!(entries(&stage.path("a")), ["t"]);
}

#[test]
fn a_carousel_of_more_objects_than_are_kept_removes_once_all_of_a_round_is_held() {
    // 300 files and the listing, twice, each time under other ids.
    let stage = Stage::new();
    (0..300).for_each(|n| drop(stage.file(&format!("out/t/{n:03}"), n)));
    stage.file("a/t/old", 1);
    let receiver = stage.recv("a", &["--once", "--allow-delete"]);
    send(&stage, &["--no-pack", "--carousel", "1"]).expect(0);
    assert_eq!(end(receiver, 0).1["deleted"], 1);
    assert_eq!(entries(&stage.path("a/t")), entries(&stage.path("out/t")));
}

#[test]
fn what_is_mounted_beneath_a_root_is_not_touched() {
    let stage = Stage::new();
    make_tree(&stage);
    make_extras(&stage, "a");
    let Some(_mount) = stage.file_system("a/t/old", "size=1m") else { return };
    stage.file("a/t/old/mounted", 3);
    let receiver = stage.recv("a", &["--once", "--allow-delete"]);
    send(&stage, &[]).expect(3);
    let (_, told) = end(receiver, 3);
    assert_eq!((&told["reason"], &told["deleted"]), (&"delete-unsafe".into(), &0.into()));
    assert!(stage.path("a/t/zz").exists() && stage.path("a/t/old/mounted").exists());
}

#[test]
fn a_sending_without_a_directory_or_with_an_empty_one_cannot_ask_for_removal() {
    let stage = Stage::new();
    let file = stage.file("out/f", 3);
    let empty = stage.path("out/empty");
    fs::create_dir_all(&empty).unwrap();
    for (paths, says) in
        [(vec![file.clone()], "none is"), (vec![file, empty], "(empty): it is empty")]
    {
        let mut args: Vec<String> = paths.iter().map(|p| p.to_str().unwrap().to_owned()).collect();
        args.push("--delete".into());
        let ended = stage.send(&args).expect(2);
        assert!(ended.error().contains(says), "{}", ended.error());
        assert_eq!(ended.all("error")[0]["code"], "delete.invalid");
    }
}

#[test]
fn a_receiver_that_may_delete_is_told_where() {
    let words = ["recv", "--allow-delete", "--json"].map(std::ffi::OsStr::new);
    let ended = Running::start(&words, None).end().expect(2);
    let told = ended.all("error")[0]["message"].as_str().unwrap();
    assert_eq!(told, "error: arguments (<CODE|DIR>): are missing. See fanfare recv --help");
}
