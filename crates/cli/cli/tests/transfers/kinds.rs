//! Mirrors that have a directory in the place of a file or a link, or the other way round.

use std::{fs, os::unix::fs::symlink, path::Path};

use crate::support::{Ended, Stage, entries};

/// A tree with something of each kind.
fn make_tree(stage: &Stage) {
    for (name, size) in [("out/t/file", 1000), ("out/t/d/x", 100), ("out/t/d/sub/y", 200_000)] {
        stage.file(name, size);
    }
    for name in ["one", "two"] {
        stage.text(&format!("out/t/{name}"), "the same");
    }
    fs::create_dir_all(stage.path("out/t/links")).unwrap();
    fs::create_dir_all(stage.path("out/t/empty")).unwrap();
    symlink("../file", stage.path("out/t/links/inner")).unwrap();
    symlink("file", stage.path("out/t/link")).unwrap();
    fs::hard_link(stage.path("out/t/file"), stage.path("out/t/other-name")).unwrap();
}

/// Makes names that have another kind at the receiver: directories in the place of files and links, a file and
/// a link in the place of directories. Eighteen names that are not at the sender.
fn make_others(stage: &Stage, dir: &str) {
    for name in ["file", "one", "two", "link", "other-name"] {
        stage.file(&format!("{dir}/t/{name}/old/mine"), 3);
    }
    stage.text(&format!("{dir}/t/empty"), "old");
    stage.text(&format!("{dir}/t/links"), "old");
    stage.file(&format!("{dir}/elsewhere/kept"), 3);
    symlink("../elsewhere", stage.path(dir).join("t/d")).unwrap();
}

fn send(stage: &Stage, more: &[&str]) -> Ended {
    let tree = stage.path("out/t");
    stage.send(&[&[tree.to_str().unwrap(), "--rate=50M"], more].concat())
}

/// Both trees have the same names, kinds and contents.
#[track_caller]
fn assert_same(left: &Path, right: &Path) {
    assert_eq!(entries(left), entries(right), "{}", right.display());
    for name in entries(left) {
        let [a, b] = [left, right].map(|dir| dir.join(&name));
        let [kind_a, kind_b] = [&a, &b].map(|path| path.symlink_metadata().unwrap().file_type());
        assert_eq!(kind_a, kind_b, "{}", b.display());
        if kind_a.is_dir() {
            assert_same(&a, &b);
        } else if kind_a.is_symlink() {
            assert_eq!(fs::read_link(&a).unwrap(), fs::read_link(&b).unwrap());
        } else {
            assert!(fs::read(&a).unwrap() == fs::read(&b).unwrap(), "{}", b.display());
        }
    }
}

#[test]
fn what_has_another_kind_at_the_sender_is_replaced_where_deletion_is_allowed() {
    let stage = Stage::new();
    make_tree(&stage);
    make_others(&stage, "a");
    let receiver = stage.recv("a", &["--once", "--allow-delete"]);
    let sent = send(&stage, &["--delete"]);
    let received = receiver.end();
    assert_same(&stage.path("out/t"), &stage.path("a/t"));
    // What the link led to was not asked for.
    assert_eq!(entries(&stage.path("a")), ["elsewhere", "t"]);
    assert!(stage.path("a/elsewhere/kept").exists());
    sent.expect(0);
    let received = received.expect(0);
    assert_eq!(received.all("deleted").len(), 18, "{:#?}", received.events);
    assert_eq!(received.result()["deleted"], 18);
}

#[test]
fn without_permission_nothing_is_replaced_and_both_kinds_are_named() {
    let stage = Stage::new();
    make_tree(&stage);
    make_others(&stage, "a");
    for options in [&["--once"][..], &["--once", "--allow-delete", "--max-delete=11"]] {
        let receiver = stage.recv("a", options);
        let sent = send(&stage, &["--delete"]).expect(3);
        let received = receiver.end().expect(3);
        let reasons: Vec<&str> =
            sent.all("reported").iter().map(|line| line["reason"].as_str().unwrap()).collect();
        let wanted = if options.len() == 1 { "delete-not-allowed" } else { "delete-too-many" };
        assert!(reasons.contains(&wanted) && reasons.contains(&"name-rejected"), "{reasons:?}");
        assert_eq!(received.all("deletion")[0]["extra"], 12);
        assert!(received.all("deleted").is_empty());
        assert_others_stay(&stage.path("a/t"));
        let said = "'t/d' is no directory here and a directory at the sender, and this receiver was \
                    started without --allow-delete, which would replace it";
        assert_eq!(received.stderr.contains(said), options.len() == 1, "{}", received.stderr);
        let said = "/t/file' is a directory here and a file at the sender. Move it away";
        assert!(received.stderr.contains(said), "{}", received.stderr);
    }
}

#[track_caller]
fn assert_others_stay(tree: &Path) {
    for name in ["file", "one", "two", "link", "other-name"] {
        assert!(tree.join(name).join("old/mine").exists(), "{name}");
    }
    assert!(["empty", "links"].iter().all(|name| tree.join(name).is_file()));
    assert!(tree.join("d").is_symlink());
}

#[test]
fn what_is_to_be_kept_is_not_replaced_and_a_sender_without_delete_replaces_nothing() {
    for (receiving, sending) in [
        (&["--keep"][..], &["--delete"][..]),
        (&["--refuse"], &["--delete"]),
        (&["--overwrite"], &[]),
    ] {
        let stage = Stage::new();
        make_tree(&stage);
        make_others(&stage, "a");
        let receiver = stage.recv("a", &[&["--once", "--allow-delete"], receiving].concat());
        send(&stage, sending).expect(3);
        let received = receiver.end();
        assert!(received.all("deleted").is_empty(), "{receiving:?}");
        assert_others_stay(&stage.path("a/t"));
    }
}

#[test]
fn what_a_sender_that_is_killed_would_replace_stays() {
    let stage = Stage::new();
    make_tree(&stage);
    stage.file("out/t/large", 4_000_000);
    make_others(&stage, "a");
    let mut receiver = stage.recv("a", &["--once", "--allow-delete"]);
    let tree = stage.path("out/t");
    let sender = stage.start("send", &[tree.to_str().unwrap(), "--delete", "--rate=20M"]);
    receiver.wait_for_progress("bytes", 2_000_000);
    sender.kill();
    receiver.interrupt();
    receiver.end();
    assert_others_stay(&stage.path("a/t"));
    // Later all of it comes.
    let receiver = stage.recv("a", &["--once", "--allow-delete"]);
    send(&stage, &["--delete"]).expect(0);
    receiver.end().expect(0);
    assert_same(&stage.path("out/t"), &stage.path("a/t"));
}

#[test]
fn a_file_takes_no_other_files_name_where_a_directory_has_its_own() {
    let stage = Stage::new();
    fs::create_dir_all(stage.path("out/t")).unwrap();
    stage.text("out/t/x", "x");
    stage.text("out/t/x.1", "another");
    stage.file("a/t/x/mine", 3);
    let receiver = stage.recv("a", &["--once"]);
    send(&stage, &[]).expect(3);
    // Both ends say that not all is under its name.
    let received = receiver.end().expect(3);
    assert!(received.error().contains("not under their names"), "{}", received.stderr);
    assert_eq!(fs::read_to_string(stage.path("a/t/x.1")).unwrap(), "another");
    let paths = received.all("file");
    let aside = paths.iter().find(|file| file["name_rejected"].is_string()).unwrap();
    assert_eq!(fs::read_to_string(aside["path"].as_str().unwrap()).unwrap(), "x");
}
