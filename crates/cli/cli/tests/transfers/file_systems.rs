//! File systems that cannot do all: no permissions, no links, no renaming without replacing.

use std::os::unix::fs::{PermissionsExt as _, symlink};

use crate::support::{Stage, assert_same, entries};

// Linux's numbers on the machines that these tests run on.
const EPERM: i32 = 1;
const EINVAL: i32 = 22;
const ENOSYS: i32 = 38;
const EOPNOTSUPP: i32 = 95;

/// A tree with a large and many small files, special permissions, a hard link and nothing else.
fn tree(stage: &Stage) -> String {
    for name in ["large", "d/part", "d/other"] {
        stage.file(&format!("t/{name}"), 200_000);
    }
    (0..20).for_each(|n| drop(stage.file(&format!("t/small/{n:02}"), 100)));
    let mode = std::fs::Permissions::from_mode(0o640);
    for name in ["large", "small/07"] {
        std::fs::set_permissions(stage.path("t").join(name), mode.clone()).unwrap();
    }
    stage.path("t").to_str().unwrap().to_owned()
}

#[test]
fn without_permissions_everything_arrives_and_the_loss_is_told_once() {
    for errno in [EPERM, EOPNOTSUPP, ENOSYS] {
        let stage = Stage::new();
        let tree = tree(&stage);
        let receiver = stage.recv_without(errno, &["fchmod", "fchmodat"], "in");
        stage.send(&[&tree]).expect(0);
        let received = receiver.end().expect(0);
        assert_same(&stage.path("in/t/large"), &stage.path("t/large"));
        assert_eq!(entries(&stage.path("in/t/small")).len(), 20);
        let told: Vec<_> = received
            .all("warning")
            .into_iter()
            .filter(|w| w["code"] == "receive.without_mode")
            .collect();
        assert_eq!(told.len(), 1, "{}", received.stderr);
    }
}

#[test]
fn without_hard_links_their_content_arrives_and_a_second_time_nothing_changes() {
    for errno in [EPERM, EOPNOTSUPP, ENOSYS] {
        let stage = Stage::new();
        let tree = tree(&stage);
        std::fs::hard_link(stage.path("t/d/part"), stage.path("t/d/second")).unwrap();
        for _ in 0..2 {
            let receiver = stage.recv_without(errno, &["linkat"], "in");
            stage.send(&[&tree]).expect(0);
            receiver.end().expect(0);
            assert_same(&stage.path("in/t/d/second"), &stage.path("t/d/part"));
            assert_eq!(entries(&stage.path("in/t/d")), ["other", "part", "second"]);
        }
    }
}

#[test]
fn without_links_at_all_the_files_arrive_and_what_did_not_is_named() {
    let stage = Stage::new();
    let tree = tree(&stage);
    symlink("large", stage.path("t/link")).unwrap();
    let receiver = stage.recv_without(EPERM, &["linkat", "symlinkat"], "in");
    stage.send(&[&tree]).expect(3);
    let received = receiver.end().expect(3);
    let failed = received.all("failed");
    assert_eq!(
        (failed.len(), &failed[0]["reason"]),
        (1, &"unsupported".into()),
        "{}",
        received.stderr
    );
    assert!(received.error().contains("another file system"), "{}", received.error());
    assert_same(&stage.path("in/t/large"), &stage.path("t/large"));
}

#[test]
fn where_nothing_can_be_renamed_without_replacing_and_there_are_no_links_files_arrive() {
    for errno in [EINVAL, ENOSYS] {
        let stage = Stage::new();
        let tree = tree(&stage);
        for _ in 0..2 {
            let receiver = stage.recv_without(errno, &["renameat2", "linkat"], "in");
            stage.send(&[&tree]).expect(0);
            receiver.end().expect(0);
            assert_same(&stage.path("in/t/d/part"), &stage.path("t/d/part"));
            assert_eq!(entries(&stage.path("in/t/small")).len(), 20);
        }
    }
}
