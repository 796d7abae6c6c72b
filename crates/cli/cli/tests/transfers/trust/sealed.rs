//! Transfers with keys: sealed, signed, and the mistakes that are made with both.

use std::ffi::OsStr;

use crate::support::{Ended, Running, Stage, assert_same};

/// A command that ends by itself.
fn run(args: &[&str]) -> Ended {
    let args: Vec<&OsStr> = args.iter().map(OsStr::new).collect();
    Running::start(&args, None).end()
}

fn path(stage: &Stage, name: &str) -> String {
    stage.path(name).display().to_string()
}

/// A new key file of this name.
fn key(stage: &Stage, name: &str, more: &[&str]) -> String {
    let file = path(stage, name);
    run(&[&["key", "new", &file, "--json"], more].concat()).expect(0);
    format!("--key={file}")
}

fn public_key(stage: &Stage, name: &str) -> String {
    let told = run(&["id", "--identity", &path(stage, name), "--json"]).expect(0);
    told.all("id")[0]["key"].as_str().unwrap().to_owned()
}

#[test]
fn what_is_sealed_arrives_in_both_forms_and_with_loss() {
    let stage = Stage::new();
    let key = key(&stage, "k", &[]);
    stage.file("f", 1_500_000);
    for (dir, more) in [("one", &[][..]), ("two", &["--seal-short"][..])] {
        let options = [&[key.as_str()][..], more].concat();
        let receiver = stage.recv(dir, &[&options[..], &["--once", "--test-drop=0.05"]].concat());
        let file = path(&stage, "f");
        let sent = stage.send(&[&[file.as_str(), "--expect=1"][..], &options].concat());
        sent.expect(0);
        receiver.end().expect(0);
        assert_same(&stage.path("f"), &stage.path(dir).join("f"));
    }
}

#[test]
fn while_a_key_is_changed_who_has_both_and_who_has_one_hear_each_other() {
    let stage = Stage::new();
    let old = key(&stage, "old", &[]);
    let new = key(&stage, "new", &["--replaces", &path(&stage, "old")]);
    stage.file("f", 100_000);
    let both = stage.recv("both", &[&new, &old, "--once"]);
    let one = stage.recv("one", &[&old, "--once"]);
    let file = path(&stage, "f");
    // The sender still speaks with the old one.
    stage.send(&[file.as_str(), "--expect=2", &old, &new]).expect(0);
    assert_eq!(both.end().expect(0).result()["files"], 1);
    assert_eq!(one.end().expect(0).result()["files"], 1);
}

#[test]
fn another_key_none_or_the_other_form_are_told_on_both_sides_with_exit_4() {
    let stage = Stage::new();
    let (ours, theirs) = (key(&stage, "ours", &[]), key(&stage, "theirs", &[]));
    stage.file("f", 100_000);
    let file = path(&stage, "f");
    let mistake = |receiver: &[&str], sender: &[&str]| {
        let receiver = stage.recv("in", &[receiver, &["--timeout=3s"]].concat());
        let sent = stage.send(&[&[file.as_str(), "--wait=2s"][..], sender].concat());
        (receiver.end().expect(4).error(), sent.code)
    };
    let (told, code) = mistake(&[&theirs], &[&ours]);
    assert!(told.contains("sealed with another key than ours (key id"), "{told}");
    assert_eq!(code, Some(4));
    let (told, code) = mistake(&[], &[&ours]);
    assert!(told.contains("sealed, and this node has no key. Give --key"), "{told}");
    assert_eq!(code, Some(6));
    let (told, _) = mistake(&[&ours], &[]);
    assert!(told.contains("not sealed. Their sender needs --key, too"), "{told}");
    let (told, _) = mistake(&[&ours, "--seal-short"], &[&ours]);
    assert!(told.contains("sealed in the other form"), "{told}");
}

#[test]
fn another_epoch_of_the_same_group_is_told_on_both_sides_with_exit_4() {
    let stage = Stage::new();
    let old = key(&stage, "old", &[]);
    let new = key(&stage, "new", &["--replaces", &path(&stage, "old")]);
    stage.file("f", 100_000);
    let receiver = stage.recv("in", &[&old, "--timeout=3s"]);
    let sent = stage.send(&[path(&stage, "f").as_str(), "--wait=2s", &new]);
    let told = receiver.end().expect(4).error();
    assert!(told.contains("sealed with another key than ours (key id"), "{told}");
    sent.expect(4);
    assert!(!stage.path("in/f").exists());
}

/// Puts the file of this name in place of a key that programs have read.
fn replace(stage: &Stage, new: &str, old: &str) {
    std::fs::rename(stage.path(new), stage.path(old)).unwrap();
}

#[test]
fn programs_that_run_take_the_groups_new_key_in_the_middle_of_a_transfer() {
    // 2 MB at 1.5 Mbit/s: 11 s. The key changes in the first of them, and is spoken with three later.
    let stage = Stage::new();
    let k = key(&stage, "k", &[]);
    let old = std::fs::copy(stage.path("k"), stage.path("before")).map(|_| path(&stage, "before"));
    key(&stage, "next", &["--replaces", &path(&stage, "k")]);
    stage.file("f", 2_000_000);
    let mut receiver = stage.recv("in", &[&k, "--once"]);
    let args = [path(&stage, "f"), "--expect=in".into(), "--rate=1500k".into(), k.clone()];
    let sender = stage.start("send", &args);
    receiver.wait_for_progress("bytes", 50_000);
    replace(&stage, "next", "k");
    // Who has only the new key hears the rest, and asks for what it has missed.
    let late = stage.recv("late", &[&k, "--once"]);
    // Who has only the old one hears less and less.
    let left = stage.recv("left", &[&format!("--key={}", old.unwrap()), "--timeout=6s"]);
    sender.end().expect(0);
    for (running, name) in [(receiver, "in"), (late, "late")] {
        running.end().expect(0);
        assert_same(&stage.path("f"), &stage.path(name).join("f"));
    }
    left.end();
    assert!(!stage.path("left/f").exists(), "it was removed from the group");
}

#[test]
fn a_receiver_whose_key_was_revoked_gets_no_receipt_and_its_sender_ends_with_exit_4() {
    let stage = Stage::new();
    let (receiver, other) = (public_key(&stage, "r"), public_key(&stage, "x"));
    let list = format!("in {other}\n@revoked in {receiver}\n");
    let hosts = stage.text("hosts", &list).display().to_string();
    stage.file("f", 100_000);
    let waiting = stage.recv("in", &["--once", "--identity", &path(&stage, "r")]);
    let sent = stage.send(&[path(&stage, "f").as_str(), "--expect", &hosts]).expect(4);
    let told = sent.error();
    assert!(told.contains("the key of receiver in was revoked"), "{told}");
    assert!(sent.all("receipt").is_empty());
    waiting.end();
    assert_same(&stage.path("f"), &stage.path("in/f"));
}

#[test]
fn keys_that_cannot_be_used_end_the_command_with_exit_4_before_anything_is_sent() {
    use std::os::unix::fs::PermissionsExt;
    let stage = Stage::new();
    let key = key(&stage, "k", &[]);
    let exposed = <std::fs::Permissions as PermissionsExt>::from_mode(0o644);
    std::fs::set_permissions(stage.path("k"), exposed).unwrap();
    stage.file("f", 1000);
    let file = path(&stage, "f");
    let refused =
        |args: &[&str]| run(&[&["send", file.as_str(), "--json"], args].concat()).expect(4).error();
    assert!(refused(&[&key]).contains("others may read or change it (mode 644)"));
    let none = format!("--key={}", path(&stage, "none"));
    assert!(refused(&[&none]).contains("cannot be read"));
    assert!(refused(&["--key-env=FANFARE_NO_SUCH"]).contains("the variable is not set"));
    let words = path(&stage, "w");
    let words = Running::start(
        &["key", "new", words.as_str(), "--passphrase", "--json"].map(OsStr::new),
        Some(b"\n"),
    );
    assert!(words.end().expect(4).error().contains("passphrase (standard input): it is empty"));
    let one = public_key(&stage, "id");
    let twice = stage.text("hosts", &format!("a {one}\nb {one}\n")).display().to_string();
    let told = refused(&["--expect", &twice]);
    assert!(told.contains("line 2 gives one key two names (a and b)"), "{told}");
}

#[test]
fn signed_receipts_are_verified_later_and_only_believed_keys_count() {
    let stage = Stage::new();
    let (sender, receiver) = (public_key(&stage, "s"), public_key(&stage, "r"));
    let hosts = stage.text("hosts", &format!("in {receiver}\n")).display().to_string();
    stage.file("f", 2_000_000);
    let (file, receipts) = (path(&stage, "f"), path(&stage, "receipts"));
    let (ids, idr) = (path(&stage, "s"), path(&stage, "r"));
    let waiting = stage.recv("in", &["--once", "--identity", &idr, "--from", &sender]);
    let args = [file.as_str(), "--identity", &ids, "--expect", &hosts, "--receipts", &receipts];
    stage.send(&args).expect(0);
    waiting.end().expect(0);
    let verified = run(&["receipts", "verify", &receipts, "--trust", &hosts, "--json"]);
    assert_eq!(verified.expect(0).all("verified")[0]["result"], "right");
    // The key is revoked afterwards.
    let revoked = stage.text("now", &format!("@revoked in {receiver}\n")).display().to_string();
    run(&["receipts", "verify", &receipts, "--trust", &revoked, "--json"]).expect(4);
    // Another receiver of that name, and another sender.
    public_key(&stage, "x");
    let other = stage.recv("in", &["--once", "--identity", &path(&stage, "x")]);
    let told = stage.send(&args).expect(4).error();
    assert!(told.contains("has signed with a key that is not in the list"), "{told}");
    other.end();
    std::fs::remove_file(stage.path("in/f")).unwrap();
    let waiting = stage.recv("in", &["--timeout=3s", "--from", &sender]);
    stage.send(&[file.as_str(), "--sign", "--identity", &path(&stage, "x"), "--wait=2s"]);
    let told = waiting.end().expect(4).error();
    assert!(told.contains("is not signed with the key of --from"), "{told}");
    assert!(!stage.path("in/f").exists());
}
