//! What interrupted transfers leave, and how it is bounded.

use std::ffi::OsStr;

use crate::support::{Ended, Running, Stage, entries};

const SIZE: usize = 6_000_000;

/// A transfer of a file of this name that is interrupted in the middle, by Ctrl-C at the receiver.
fn interrupt(stage: &Stage, name: &str, more: &[&str]) {
    let file = stage.file(&format!("out/{name}"), SIZE);
    let mut receiver = stage.recv("in", more);
    let sender = stage.start("send", &[file.as_os_str(), OsStr::new("--rate=40M")]);
    receiver.wait_for_progress("bytes", SIZE as u64 / 2);
    receiver.interrupt();
    receiver.end().expect(130);
    drop(sender);
}

fn parts(stage: &Stage, args: &[&str]) -> Ended {
    let dir = stage.path("in");
    let args: Vec<&OsStr> = args.iter().map(OsStr::new).collect();
    let words = [&[OsStr::new("parts")], &args[..], &[dir.as_os_str(), OsStr::new("--json")]];
    Running::start(&words.concat(), None).end().expect(0)
}

fn left(stage: &Stage) -> usize {
    entries(&stage.path("in")).iter().filter(|name| name.ends_with(".part")).count()
}

#[test]
fn what_interrupted_transfers_leave_is_listed_and_deleted() {
    let stage = Stage::new();
    interrupt(&stage, "a", &[]);
    interrupt(&stage, "b", &[]);
    let listed = parts(&stage, &["list"]);
    let told = listed.all("part");
    assert_eq!(told.len(), 2);
    for part in told {
        assert_eq!((&part["size"], &part["in_use"]), (&SIZE.into(), &false.into()));
        let taken = part["taken"].as_u64().unwrap();
        assert!(taken >= SIZE as u64 / 2 - (1 << 20), "{taken}");
    }
    let young = parts(&stage, &["clean", "--older=1h"]);
    assert_eq!((&young.result()["parts"], left(&stage)), (&0.into(), 2));
    let cleaned = parts(&stage, &["clean"]);
    assert_eq!((&cleaned.result()["parts"], left(&stage)), (&2.into(), 0));
    assert_eq!(entries(&stage.path("in")), [""; 0], "their manifests, too");
}

#[test]
fn a_part_in_which_a_receiver_works_is_told_and_not_deleted() {
    let stage = Stage::new();
    let file = stage.file("out/a", SIZE);
    let mut receiver = stage.recv("in", &["--once"]);
    let sender = stage.start("send", &[file.as_os_str(), OsStr::new("--rate=20M")]);
    receiver.wait_for_progress("bytes", SIZE as u64 / 3);
    let listed = parts(&stage, &["list"]);
    assert_eq!(listed.all("part")[0]["in_use"], true);
    assert_eq!(parts(&stage, &["clean"]).result()["parts"], 0);
    sender.end().expect(0);
    receiver.end().expect(0);
}

#[test]
fn unfinished_files_take_no_more_room_than_they_may_and_the_oldest_go_first() {
    let stage = Stage::new();
    // Each leaves three megabytes or more: there is room for one.
    for name in ["a", "b", "c"] {
        interrupt(&stage, name, &["--part-space=5MiB"]);
        assert_eq!(left(&stage), 1, "{name}");
    }
    // The last one is what a new attempt begins from.
    let receiver = stage.recv("in", &["--once", "--part-space=5MiB"]);
    stage.send(&[stage.path("out/c")]).expect(0);
    assert_eq!(receiver.end().expect(0).all("resumed").len(), 1);
    interrupt(&stage, "d", &["--part-space=0"]);
    assert_eq!(left(&stage), 0);
}
