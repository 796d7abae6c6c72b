//! A second send of a tree costs what has changed.

use std::{fs, os::unix::fs::FileExt};

use crate::support::{Ended, Stage, assert_same};

const MIB: usize = 1 << 20;

/// Sends `out/t` to these receivers.
fn pass(stage: &Stage, names: &[&str], send: &[&str], receive: &[&str]) -> Ended {
    let options = [&["--once"], receive].concat();
    let receivers: Vec<_> = names.iter().map(|name| stage.recv(name, &options)).collect();
    let (tree, expect) = (stage.path("out/t"), format!("--expect={}", names.len()));
    let args = [&[tree.to_str().unwrap(), &expect, "--rate=200M"], send].concat();
    let sent = stage.send(&args).expect(0);
    receivers.into_iter().for_each(|receiver| drop(receiver.end().expect(0)));
    sent
}

fn wire(sent: &Ended) -> u64 {
    sent.result()["wire_bytes"].as_u64().unwrap()
}

fn assert_all_same(stage: &Stage, files: &[String], names: &[&str]) {
    for (file, name) in files.iter().flat_map(|file| names.iter().map(move |name| (file, name))) {
        assert_same(&stage.path("out").join(file), &stage.path(name).join(file));
    }
}

#[test]
fn of_many_small_files_what_has_not_changed_does_not_travel() {
    let stage = Stage::new();
    // Ten packs, and files of their own.
    let mut files: Vec<String> = (0..1500).map(|n| format!("t/{}/{n:05}", n % 13)).collect();
    for (n, file) in files.iter().enumerate() {
        stage.file(&format!("out/{file}"), 15_000 + n);
    }
    let bytes: u64 = (0..1500).map(|n| 15_000 + n).sum();
    let names = ["a", "b"];
    pass(&stage, &names, &[], &[]);
    let unchanged = wire(&pass(&stage, &names, &[], &[]));
    assert!(unchanged < bytes / 50, "{unchanged} of {bytes}");
    // One file comes, one goes, one changes, and one is touched.
    files.push("t/3/00000-new".into());
    stage.file("out/t/3/00000-new", 9000);
    fs::remove_file(stage.path("out").join(files.remove(700))).unwrap();
    stage.file(&format!("out/{}", files[40]), 15_001);
    let touched = fs::File::open(stage.path("out").join(&files[1000])).unwrap();
    touched.set_modified(std::time::UNIX_EPOCH).unwrap();
    let changed = wire(&pass(&stage, &names, &[], &[]));
    // On a busy machine some blocks are repaired before word of them has come.
    assert!(changed < bytes / 20, "{changed} of {bytes}");
    assert_all_same(&stage, &files, &names);
}

#[test]
fn of_a_large_file_the_blocks_that_have_changed_travel_through_loss_too() {
    for loss in ["0", "0.05"] {
        let stage = Stage::new();
        let path = stage.file("out/t/large", 24 * MIB + 77);
        let names = ["a", "b"];
        pass(&stage, &names, &[], &[]);
        let file = fs::File::options().write(true).open(&path).unwrap();
        // In the middle, and at its end.
        file.write_all_at(b"changed", 9 << 20).unwrap();
        file.write_all_at(&[7; 1000], 24 << 20).unwrap();
        let sent = pass(&stage, &names, &[], &["--test-drop", loss]);
        assert!(wire(&sent) < MIB as u64, "{} with loss {loss}", wire(&sent));
        assert_all_same(&stage, &["t/large".into()], &names);
    }
}

#[test]
fn a_receiver_that_has_nothing_gets_everything_beside_one_that_has() {
    let stage = Stage::new();
    let files: Vec<String> = (0..40).map(|n| format!("t/{n}")).collect();
    files.iter().for_each(|file| drop(stage.file(&format!("out/{file}"), 90_000)));
    pass(&stage, &["a"], &[], &[]);
    stage.file("out/t/7", 91_000);
    pass(&stage, &["a", "new"], &[], &[]);
    assert_all_same(&stage, &files, &["a", "new"]);
}

#[test]
fn a_directory_of_that_name_with_other_files_in_it_is_no_hindrance() {
    let stage = Stage::new();
    let files: Vec<String> = (0..400).map(|n| format!("t/{n}")).collect();
    for (n, file) in files.iter().enumerate() {
        stage.file(&format!("out/{file}"), n * 217);
        stage.file(&format!("a/{file}"), n * 217 - n / 2);
    }
    let bytes: u64 = (0..400).map(|n| n * 217).sum();
    let sent = pass(&stage, &["a"], &[], &["--test-drop=0.02"]);
    assert!(wire(&sent) < bytes * 5 / 4, "{} of {bytes}", wire(&sent));
    assert_all_same(&stage, &files, &["a"]);
}
