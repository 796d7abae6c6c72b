//! Files that change while they are sent are sent again, once, and are never a mixture.

use std::{
    fs,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use crate::support::{Stage, assert_same, entries};

/// Overwrites a file in its place, as a program does that has it open.
fn overwrite(path: &Path, byte: u8) {
    let len = fs::metadata(path).unwrap().len() as usize;
    fs::write(path, vec![byte; len]).unwrap();
}

#[test]
fn a_file_that_changes_while_it_is_sent_is_sent_again_as_it_is_then() {
    let stage = Stage::new();
    let path = stage.file("out/t/large", 3_000_000);
    stage.file("out/t/other", 1000);
    let receivers = ["a", "b"].map(|name| stage.recv(name, &["--once"]));
    let tree = stage.path("out/t");
    let args = [tree.to_str().unwrap(), "--expect=2", "--rate=8M", "--cc=fixed"];
    let mut sender = stage.start("send", &args);
    sender.wait_for_progress("sent_bytes", 1_000_000);
    overwrite(&path, 7);
    let sent = sender.end().expect(0);
    assert!(sent.all("receipt").iter().any(|receipt| receipt["file"] == "t/large"));
    for (receiver, name) in receivers.into_iter().zip(["a", "b"]) {
        receiver.end().expect(0);
        assert_same(&path, &stage.path(name).join("t/large"));
        assert_eq!(entries(&stage.path(name).join("t")), ["large", "other"]);
    }
}

#[test]
fn a_file_of_a_pack_that_changes_is_sent_again_with_its_pack() {
    let stage = Stage::new();
    let files: Vec<_> =
        (0..200).map(|n| stage.file(&format!("out/t/{n:03}"), 15_000 + n)).collect();
    let receiver = stage.recv("a", &["--once"]);
    let tree = stage.path("out/t");
    let args = [tree.to_str().unwrap(), "--expect=1", "--rate=8M", "--cc=fixed"];
    let mut sender = stage.start("send", &args);
    sender.wait_for_progress("sent_bytes", 300_000);
    overwrite(&files[190], 9);
    sender.end().expect(0);
    receiver.end().expect(0);
    for (n, file) in files.iter().enumerate() {
        assert_same(file, &stage.path(&format!("a/t/{n:03}")));
    }
}

#[test]
fn a_file_that_does_not_stop_changing_is_named_and_what_is_there_is_one_version() {
    let stage = Stage::new();
    let path = stage.file("out/t/log", 3_000_000);
    overwrite(&path, 1);
    let other = stage.file("out/t/other", 1000);
    let receiver = stage.recv("a", &["--once"]);
    let tree = stage.path("out/t");
    let args = [tree.to_str().unwrap(), "--expect=1", "--rate=16M", "--cc=fixed"];
    let mut sender = stage.start("send", &args);
    sender.wait_for_progress("sent_bytes", 500_000);
    let stop = Arc::new(AtomicBool::new(false));
    let (stopped, changing) = (stop.clone(), path.clone());
    let writer = std::thread::spawn(move || {
        for byte in (0..=u8::MAX).cycle() {
            if stopped.load(Ordering::Relaxed) {
                return;
            }
            // Written aside and renamed: each version is of one byte.
            let aside = changing.with_extension("new");
            fs::write(&aside, vec![byte; 3_000_000]).unwrap();
            fs::rename(&aside, &changing).unwrap();
            std::thread::sleep(Duration::from_millis(300));
        }
    });
    let sent = sender.end();
    stop.store(true, Ordering::Relaxed);
    writer.join().unwrap();
    let sent = sent.expect(3);
    assert!(sent.error().contains("/log"), "{}", sent.error());
    drop(receiver.end());
    assert_same(&other, &stage.path("a/t/other"));
    if let Ok(there) = fs::read(stage.path("a/t/log")) {
        assert!(there.len() == 3_000_000 && there.iter().all(|byte| *byte == there[0]));
    }
}
