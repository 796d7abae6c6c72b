//! Trees arrive whole: links, directories, owners, attributes, ACLs. rsync, which knows all of that, is
//! asked whether anything is left to do.

mod chance;
mod policy;

use std::{
    fs::{self, File},
    os::{
        fd::AsFd,
        unix::{
            ffi::OsStrExt,
            fs::{FileExt, MetadataExt, PermissionsExt, symlink},
        },
    },
    path::Path,
    process::Command,
    time::{Duration, UNIX_EPOCH},
};

use rustix::fs::{CWD, FileType, Gid, Mode, Uid, XattrFlags};

use crate::support::{Ended, Stage, entries};

/// Sends `out/t` to a receiver in `in`.
fn pass(stage: &Stage, send: &[&str], receive: &[&str]) -> (Ended, Ended) {
    let receiver = stage.recv("in", &[&["--once"], receive].concat());
    let tree = stage.path("out/t");
    let common = [tree.to_str().unwrap(), "--expect=1", "--rate=200M"];
    let sent = stage.send(&[&common, send].concat());
    (sent, receiver.end())
}

/// What rsync would still have to do to make `to` as `from` is: a line for each name.
fn left_to_do(from: &Path, to: &Path) -> String {
    let mut rsync = Command::new("rsync");
    rsync.args(["-aHAX", "--numeric-ids", "--checksum", "--dry-run", "--itemize-changes"]);
    rsync.args(["--delete", "--exclude=.fanfare-*"]);
    let mut from = from.as_os_str().to_owned();
    from.push("/");
    let output = rsync.arg(from).arg(to).output();
    let output = output.expect("rsync: apt-get install rsync, it compares what has arrived");
    let text = [output.stdout, output.stderr].concat();
    String::from_utf8_lossy(&text).into_owned()
}

fn assert_nothing_left(stage: &Stage) {
    let left = left_to_do(&stage.path("out/t"), &stage.path("in/t"));
    assert_eq!(left, "", "rsync would still change this");
}

fn set_time(path: &Path, seconds: u64, nanoseconds: u32) {
    let time = UNIX_EPOCH + Duration::new(seconds, nanoseconds);
    File::open(path).unwrap().set_modified(time).unwrap();
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// An extended attribute, if this file system and this user can have it.
fn set_attribute(path: &Path, name: &str, value: &[u8]) -> bool {
    let file = File::open(path).unwrap();
    rustix::fs::fsetxattr(file.as_fd(), name, value, XattrFlags::empty()).is_ok()
}

/// One of each: `count` small files make a pack.
fn make_tree(stage: &Stage, count: usize) {
    let path = |name: &str| stage.path(&format!("out/t/{name}"));
    (0..count).for_each(|n| drop(stage.file(&format!("out/t/d/{n}"), 50 + n)));
    stage.file("out/t/large", 3_000_000);
    for directory in ["empty", "only-links", "deep/er/still", "closed"] {
        fs::create_dir_all(path(directory)).unwrap();
    }
    stage.file("out/t/closed/f", 10);
    for (target, name) in [
        ("large", "link"),
        ("../large", "only-links/up"),
        ("nowhere", "deep/broken"),
        ("..", "deep/er/dots"),
        (".", "here"),
    ] {
        symlink(target, path(name)).unwrap();
    }
    let odd = path("deep").join(std::ffi::OsStr::from_bytes(b"caf\xe9"));
    symlink(std::ffi::OsStr::from_bytes(b"\xff\xfe"), odd).unwrap();
    fs::hard_link(path("large"), path("deep/large-too")).unwrap();
    fs::hard_link(path("d/0"), path("d/also-0")).unwrap();
    fs::hard_link(path("d/0"), path("deep/er/also-0")).unwrap();
    let sparse = File::create(path("sparse")).unwrap();
    sparse.set_len(20 << 20).unwrap();
    sparse.write_all_at(b"data", 9 << 20).unwrap();
    set_mode(&path("d"), 0o750);
    set_mode(&path("large"), 0o400);
    set_times(stage);
    set_mode(&path("closed"), 0o555);
}

/// Times of directories and links, from the bottom up.
fn set_times(stage: &Stage) {
    let path = |name: &str| stage.path(&format!("out/t/{name}"));
    let time = rustix::fs::Timespec { tv_sec: 1_234_567_890, tv_nsec: 987_654_321 };
    let times = rustix::fs::Timestamps { last_access: time, last_modification: time };
    let flags = rustix::fs::AtFlags::SYMLINK_NOFOLLOW;
    for link in ["link", "only-links/up", "deep/broken", "here"] {
        rustix::fs::utimensat(CWD, path(link), &times, flags).unwrap();
    }
    for (n, directory) in
        ["empty", "only-links", "deep/er/still", "deep/er", "deep", "closed", "d", ""]
            .into_iter()
            .enumerate()
    {
        set_time(&path(directory), 1_000_000_000 + n as u64, n as u32 + 1);
    }
}

#[test]
fn links_directories_times_and_modes_arrive_so_that_rsync_has_nothing_left_to_do() {
    for (count, options) in [(3, &[][..]), (30, &[]), (3, &["--no-pack"])] {
        let stage = Stage::new();
        make_tree(&stage, count);
        let (sent, received) = pass(&stage, options, &[]);
        sent.expect(0);
        let received = received.expect(0);
        let tree = received.all("tree")[0].clone();
        assert_eq!((&tree["links"], &tree["hard_links"]), (&6.into(), &3.into()), "{tree}");
        assert_nothing_left(&stage);
        // Where the file system has holes at all.
        let room = |dir: &str| fs::metadata(stage.path(dir)).unwrap().blocks() * 512;
        if room("out/t/sparse") < 1 << 20 {
            assert!(room("in/t/sparse") < 1 << 20, "{}", room("in/t/sparse"));
        }
        set_mode(&stage.path("out/t/closed"), 0o755);
        set_mode(&stage.path("in/t/closed"), 0o755);
    }
}

#[test]
fn what_has_changed_of_links_directories_and_times_arrives_with_the_next_pass() {
    let stage = Stage::new();
    make_tree(&stage, 30);
    set_mode(&stage.path("out/t/closed"), 0o755);
    let (sent, received) = pass(&stage, &[], &[]);
    sent.expect(0);
    received.expect(0);
    let path = |name: &str| stage.path(&format!("out/t/{name}"));
    // A link to another place, a link that was a file and the other way round, a directory made
    // private, one touched, a hard link broken and a new one.
    fs::remove_file(path("link")).unwrap();
    symlink("d", path("link")).unwrap();
    fs::remove_file(path("d/1")).unwrap();
    symlink("2", path("d/1")).unwrap();
    fs::remove_file(path("deep/broken")).unwrap();
    stage.file("out/t/deep/broken", 77);
    fs::remove_file(path("d/also-0")).unwrap();
    stage.file("out/t/d/also-0", 12);
    fs::hard_link(path("d/3"), path("d/also-3")).unwrap();
    set_times(&stage);
    set_mode(&path("d"), 0o700);
    set_time(&path("empty"), 5, 6);
    let (sent, received) = pass(&stage, &[], &[]);
    sent.expect(0);
    received.expect(0);
    assert_nothing_left(&stage);
}

#[test]
fn owners_attributes_acls_and_special_bits_arrive_where_both_sides_ask_for_them() {
    let stage = Stage::new();
    make_tree(&stage, 20);
    let path = |name: &str| stage.path(&format!("out/t/{name}"));
    if is_root() {
        let of = |user, group| (Some(Uid::from_raw(user)), Some(Gid::from_raw(group)));
        for (name, (user, group)) in
            [("d", of(1000, 1001)), ("d/3", of(7, 8)), ("large", of(1000, 0)), ("link", of(3, 4))]
        {
            let flags = rustix::fs::AtFlags::SYMLINK_NOFOLLOW;
            rustix::fs::chownat(CWD, path(name), user, group, flags).unwrap();
        }
        // Version 2 of a capability: permitted and effective, CAP_NET_RAW.
        let mut capability = vec![0; 20];
        capability[..8].copy_from_slice(&[1, 0, 0, 2, 0, 0x20, 0, 0]);
        set_attribute(&path("d/4"), "security.capability", &capability);
    }
    set_attribute(&path("d/5"), "user.note", b"\0bytes\xff");
    set_attribute(&path("d"), "user.of-directory", b"");
    set_attribute(&path("deep"), "system.posix_acl_default", &acl());
    set_attribute(&path("d/6"), "system.posix_acl_access", &acl());
    set_mode(&path("d/7"), 0o4711);
    set_mode(&path("only-links"), 0o1777);
    set_mode(&path("empty"), 0o2755);
    set_times(&stage);
    let (sent, received) = pass(&stage, &["--archive"], &["--archive"]);
    sent.expect(0);
    received.expect(0);
    assert_nothing_left(&stage);
    // Taken away again.
    for (name, attribute) in [("d/5", "user.note"), ("d/6", "system.posix_acl_access")] {
        let file = File::open(path(name)).unwrap();
        let _ = rustix::fs::fremovexattr(file.as_fd(), attribute);
    }
    set_mode(&path("d/7"), 0o711);
    set_times(&stage);
    let (sent, received) = pass(&stage, &["--archive"], &["--archive"]);
    sent.expect(0);
    received.expect(0);
    assert_nothing_left(&stage);
    // A receiver that does not take them says so.
    let receiver = stage.recv("plain", &["--once"]);
    let sent = stage.send(&[path("").to_str().unwrap(), "--archive", "--expect=1"]).expect(3);
    assert_eq!(sent.all("reported")[0]["reason"], "metadata-refused");
    receiver.end().expect(0);
    let there = stage.path("plain/t/d/7");
    assert_eq!(fs::metadata(there).unwrap().mode() & 0o7777, 0o711);
}

/// An ACL as the kernel keeps it: rwx for the owner, r-x for user 1000, group, mask and others.
fn acl() -> Vec<u8> {
    let none = u32::MAX;
    let entries =
        [(1_u16, 7_u16, none), (2, 5, 1000), (4, 5, none), (0x10, 5, none), (0x20, 5, none)];
    let mut acl = 2_u32.to_le_bytes().to_vec();
    for (tag, permissions, id) in entries {
        acl.extend(tag.to_le_bytes());
        acl.extend(permissions.to_le_bytes());
        acl.extend(id.to_le_bytes());
    }
    acl
}

#[test]
fn without_the_option_special_bits_stay_here() {
    let stage = Stage::new();
    stage.file("out/t/f", 10);
    set_mode(&stage.path("out/t/f"), 0o6755);
    set_mode(&stage.path("out/t"), 0o3755);
    let (sent, received) = pass(&stage, &[], &["--archive"]);
    sent.expect(0);
    received.expect(0);
    let mode = |name: &str| fs::metadata(stage.path(name)).unwrap().mode() & 0o7777;
    assert_eq!((mode("in/t"), mode("in/t/f")), (0o755, 0o755));
}

#[test]
fn what_is_no_file_is_left_out_counted_and_named() {
    let stage = Stage::new();
    stage.file("out/t/f", 10);
    for name in ["pipe", "second"] {
        let path = stage.path(&format!("out/t/{name}"));
        rustix::fs::mknodat(CWD, path, FileType::Fifo, Mode::RUSR, 0).unwrap();
    }
    let (sent, received) = pass(&stage, &[], &[]);
    let sent = sent.expect(0);
    let warning = sent.all("warning")[0]["message"].as_str().unwrap().to_owned();
    assert!(warning.starts_with("2 ") && warning.contains("/pipe'"), "{warning}");
    assert!(warning.contains("/second'"), "{warning}");
    received.expect(0);
    assert_eq!(entries(&stage.path("in/t")), ["f"]);
}

#[test]
fn a_tree_deeper_than_a_path_may_be_long_arrives() {
    let stage = Stage::new();
    stage.file("out/t/f", 10);
    let part = "d".repeat(250);
    let mut directory = File::open(stage.path("out/t")).unwrap();
    for depth in 0..30 {
        rustix::fs::mkdirat(&directory, part.as_str(), Mode::RWXU).unwrap();
        let flags = rustix::fs::OFlags::DIRECTORY;
        let next = rustix::fs::openat(&directory, part.as_str(), flags, Mode::empty()).unwrap();
        directory = File::from(next);
        let flags = rustix::fs::OFlags::CREATE | rustix::fs::OFlags::WRONLY;
        let file = rustix::fs::openat(&directory, "f", flags, Mode::RUSR | Mode::WUSR).unwrap();
        File::from(file).write_all_at(format!("{depth}").as_bytes(), 0).unwrap();
        rustix::fs::symlinkat("f", &directory, "link").unwrap();
    }
    let (sent, received) = pass(&stage, &[], &[]);
    sent.expect(0);
    assert_eq!(received.expect(0).result()["files"], 31);
    // rsync, too, takes paths of 4096 bytes only.
    let (mut here, mut there) =
        (File::open(stage.path("out/t")).unwrap(), File::open(stage.path("in/t")).unwrap());
    for depth in 0..30 {
        let enter = |at: &File| {
            let flags = rustix::fs::OFlags::DIRECTORY;
            File::from(rustix::fs::openat(at, part.as_str(), flags, Mode::empty()).unwrap())
        };
        (here, there) = (enter(&here), enter(&there));
        let time = |at: &File| at.metadata().unwrap().modified().unwrap();
        assert_eq!(time(&here), time(&there), "{depth}");
        let flags = rustix::fs::OFlags::RDONLY;
        let file = rustix::fs::openat(&there, "f", flags, Mode::empty()).unwrap();
        let text = std::io::read_to_string(File::from(file)).unwrap();
        assert_eq!(text, depth.to_string());
        let link = rustix::fs::readlinkat(&there, "link", Vec::new()).unwrap();
        assert_eq!(link.as_bytes(), b"f");
    }
}
