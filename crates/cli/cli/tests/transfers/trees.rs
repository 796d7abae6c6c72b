//! A tree arrives as it was: names, replacement, links, modes and times.

use std::{ffi::OsStr, os::unix::ffi::OsStrExt};

use crate::support::{Ended, Stage, assert_same, entries};

/// Sends to one receiver in `dir`, and gives what both came to.
fn pass(stage: &Stage, dir: &str, receive: &[&str], send: &[&OsStr]) -> (Ended, Ended) {
    let receiver = stage.recv(dir, &[&["--once"], receive].concat());
    let sent = stage.send(&[send, &[OsStr::new("--expect=1"), OsStr::new("--rate=200M")]].concat());
    (sent, receiver.end())
}

#[test]
fn two_sources_of_one_name_are_refused_before_anything_is_sent_and_both_are_named() {
    let stage = Stage::new();
    let (one, two) = (stage.file("q1/cfg", 10), stage.file("q2/cfg", 20));
    let refused = stage.send(&[&one, &two]).expect(2);
    let why = refused.error();
    assert!(why.contains("q1/cfg") && why.contains("q2/cfg") && why.contains("PATH=NAME"), "{why}");
    let renamed = format!("{}=cfg.2", two.display());
    let args = [one.as_os_str(), OsStr::new(&renamed), OsStr::new("--prefix=site")];
    let (sent, received) = pass(&stage, "in", &[], &args);
    sent.expect(0);
    received.expect(0);
    assert_same(&one, &stage.path("in/site/cfg"));
    assert_same(&two, &stage.path("in/site/cfg.2"));
}

#[test]
fn names_that_linux_can_hold_arrive_byte_for_byte_in_their_own_directories() {
    let names: [&[u8]; 9] = [
        b"aux.c",
        b"sha256:abc",
        b"dot.",
        b"space ",
        b"con",
        b"line\nbreak",
        b"back\\slash",
        b"caf\xe9",
        "turned\u{202e}text".as_bytes(),
    ];
    for packed in [true, false] {
        let stage = Stage::new();
        let path = |dir: &str, name: &[u8]| stage.path(dir).join(OsStr::from_bytes(name));
        for (n, name) in names.iter().enumerate() {
            let directory = path("out/t", name);
            std::fs::create_dir_all(&directory).unwrap();
            std::fs::write(directory.join(OsStr::from_bytes(name)), n.to_string()).unwrap();
            // Two of equal content are two files, and there are enough for a pack.
            std::fs::write(directory.join("equal"), "same").unwrap();
        }
        let args = [stage.path("out/t"), "--no-pack".into()];
        let args: Vec<&OsStr> =
            args[..if packed { 1 } else { 2 }].iter().map(|a| a.as_ref()).collect();
        let (sent, received) = pass(&stage, "in", &[], &args);
        assert!(sent.expect(0).all("reported").is_empty());
        received.expect(0);
        for (n, name) in names.iter().enumerate() {
            let directory = path("in/t", name);
            let content = std::fs::read_to_string(directory.join(OsStr::from_bytes(name)));
            assert_eq!(content.unwrap(), n.to_string(), "{name:?}");
            assert_eq!(std::fs::read_to_string(directory.join("equal")).unwrap(), "same");
        }
        assert_eq!(entries(&stage.path("in")), ["t"]);
    }
}

/// Sends `f` to a receiver that has another one.
fn conflict(option: &[&str]) -> (Stage, Ended, Ended) {
    let stage = Stage::new();
    let file = stage.file("out/f", 100);
    stage.file("in/f", 7);
    let (sent, received) = pass(&stage, "in", option, &[file.as_os_str()]);
    (stage, sent, received)
}

#[test]
fn a_new_version_takes_the_place_of_the_old_one() {
    let (stage, sent, received) = conflict(&[]);
    sent.expect(0);
    assert_eq!(received.expect(0).all("file")[0]["replaced"], true);
    assert_same(&stage.path("out/f"), &stage.path("in/f"));
    assert_eq!(entries(&stage.path("in")), ["f"]);
}

#[test]
fn a_receiver_that_keeps_both_says_so_and_the_sender_does_not_call_it_complete() {
    let (stage, sent, received) = conflict(&["--keep"]);
    assert_eq!(sent.expect(3).all("reported")[0]["reason"], "kept-beside");
    assert_eq!(received.expect(0).all("file")[0]["beside"], true);
    assert_same(&stage.path("out/f"), &stage.path("in/f.1"));
    assert_eq!(std::fs::metadata(stage.path("in/f")).unwrap().len(), 7);
}

#[test]
fn a_receiver_that_refuses_a_new_version_keeps_the_old_one_and_the_sender_is_told() {
    let (stage, sent, received) = conflict(&["--refuse"]);
    assert_eq!(sent.expect(3).all("reported")[0]["reason"], "conflict");
    assert_eq!(received.code, Some(1));
    assert_eq!(std::fs::metadata(stage.path("in/f")).unwrap().len(), 7);
    assert_eq!(entries(&stage.path("in")), ["f"]);
}

fn mode_and_time(path: &std::path::Path) -> (u32, i64, i64) {
    use std::os::unix::fs::MetadataExt;
    let meta = std::fs::metadata(path).unwrap();
    (meta.mode() & 0o7777, meta.mtime(), meta.mtime_nsec())
}

#[test]
fn modes_and_times_arrive_exactly_and_a_change_of_nothing_else_arrives_too() {
    use std::os::unix::fs::PermissionsExt;
    // As objects of their own, and in a pack.
    for count in [1, 20] {
        let stage = Stage::new();
        let change = |mode: u32, nanoseconds: u32| {
            for n in 0..count {
                let path = stage.path(&format!("out/t/{n}"));
                let file = std::fs::File::open(&path).unwrap();
                let time = std::time::Duration::new(1_000_000_000, nanoseconds);
                file.set_modified(std::time::UNIX_EPOCH + time).unwrap();
                file.set_permissions(PermissionsExt::from_mode(mode)).unwrap();
            }
        };
        (0..count).for_each(|n| drop(stage.file(&format!("out/t/{n}"), 100 + n)));
        // Beyond the umask, without a right to write, and again other ones.
        for (mode, nanoseconds) in [(0o777, 123_456_789), (0o444, 5), (0o640, 5), (0o640, 6)] {
            change(mode, nanoseconds);
            let (sent, received) = pass(&stage, "in", &[], &[stage.path("out/t").as_os_str()]);
            sent.expect(0);
            received.expect(0);
            for n in 0..count {
                let (out, there) = (format!("out/t/{n}"), format!("in/t/{n}"));
                assert_same(&stage.path(&out), &stage.path(&there));
                let expected = (mode, 1_000_000_000, i64::from(nanoseconds));
                assert_eq!(mode_and_time(&stage.path(&there)), expected, "{there}");
            }
        }
    }
}

#[test]
fn a_file_of_any_size_arrives_under_a_name_for_which_no_announcement_has_room() {
    let stage = Stage::new();
    let deep: Vec<String> = (0..7).map(|level| format!("{level}{}", "d".repeat(200))).collect();
    let names = ["small", "large", "larger"].map(|name| format!("t/{}/{name}", deep.join("/")));
    for (name, bytes) in names.iter().zip([100, 65_536, 700_001]) {
        stage.file(&format!("out/{name}"), bytes);
    }
    let (sent, received) = pass(&stage, "in", &[], &[stage.path("out/t").as_os_str()]);
    sent.expect(0);
    received.expect(0);
    for name in &names {
        assert_same(&stage.path(&format!("out/{name}")), &stage.path(&format!("in/{name}")));
    }
    // What is there does not travel again, even where nobody remembers it: packs of a few groups do.
    std::fs::remove_file(stage.path("in/.fanfare-ledger")).unwrap();
    let again = [stage.path("out/t"), "--sync".into()];
    let again: Vec<&OsStr> = again.iter().map(|a| a.as_ref()).collect();
    let (sent, received) = pass(&stage, "in", &[], &again);
    let wire = sent.expect(0).result()["wire_bytes"].as_u64().unwrap();
    assert!(wire < 400_000, "{wire}");
    received.expect(0);
}
