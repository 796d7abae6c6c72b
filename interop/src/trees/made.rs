//! Directories that are made for a test: every kind of entry, and very many small files.

use std::ffi::OsStr;
use std::fs::{self, File, FileTimes, Permissions};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{FileExt as _, PermissionsExt as _, chown, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rustix::fs::{CWD, FileType, Mode, XattrFlags};

use crate::tool::{self, ToolError};

/// Files of a directory of the many small ones.
const PER_DIRECTORY: u32 = 500;
const KIB: usize = 1024;

/// Names that are legal here and are a danger, or not allowed, elsewhere.
const NAMES: [&[u8]; 9] = [
    b"aux.c",
    b"con",
    b"sha256:abc",
    b"ends in a dot.",
    b"ends in a space ",
    b"two\nlines",
    b"not UTF-8 \xff\xfe",
    b"-n",
    b".hidden",
];
/// Sizes around those where the way to send a file changes.
const SIZES: [usize; 7] = [0, 1, KIB, 64 * KIB - 1, 64 * KIB, 64 * KIB + 1, 3 * KIB * KIB + 5];

/// A directory with some entries of every kind. Owners and capabilities need root.
pub(super) fn every_kind(scratch: &Path) -> Result<PathBuf, ToolError> {
    let root = scratch.join("every-kind");
    let made = fill(&root);
    made.map_err(tool::at(root.display()))?;
    Ok(root)
}

fn fill(root: &Path) -> io::Result<()> {
    fs::create_dir(root)?;
    fs::create_dir(root.join("names"))?;
    for (number, name) in NAMES.iter().enumerate() {
        fs::write(root.join("names").join(OsStr::from_bytes(name)), content(number, 300))?;
    }
    fs::write(root.join("names").join("n".repeat(255)), content(9, 300))?;
    fs::create_dir(root.join("sizes"))?;
    for (number, size) in SIZES.iter().enumerate() {
        fs::write(root.join(format!("sizes/{size}")), content(20 + number, *size))?;
    }
    fs::create_dir_all(root.join("empty/emptier"))?;
    long_names(root)?;
    holes(&root.join("holes"))?;
    links(root)?;
    properties(&root.join("properties"))?;
    rustix::fs::mknodat(CWD, root.join("pipe"), FileType::Fifo, Mode::RUSR, 0)?;
    drop(UnixListener::bind(root.join("socket"))?);
    // Last: what is made in a directory changes its time.
    for (path, nanos) in [("empty/emptier", 1), ("empty", 999_999_999), ("sizes/0", 123_456_789)] {
        set_time(&root.join(path), Duration::new(1_000_000_000, nanos))?;
    }
    set_time(&root.join("sizes/1"), Duration::ZERO)
}

/// A name is 255 bytes at most, a path has no such limit: small and large files deep below.
fn long_names(root: &Path) -> io::Result<()> {
    let mut deep = root.join("deep");
    for level in 0..6 {
        deep.push(format!("{level}{}", "d".repeat(250)));
    }
    fs::create_dir_all(&deep)?;
    fs::write(deep.join("small"), content(40, 100))?;
    fs::write(deep.join("large"), content(41, 300 * KIB))
}

fn holes(path: &Path) -> io::Result<()> {
    let file = File::create(path)?;
    file.set_len(64 << 20)?;
    file.write_all_at(&content(42, 4096), 10 << 20)?;
    file.write_all_at(&content(43, 4096), 50 << 20)
}

fn links(root: &Path) -> io::Result<()> {
    fs::create_dir(root.join("links"))?;
    let path = |name: &str| root.join("links").join(name);
    fs::write(path("first name"), content(44, 100 * KIB))?;
    fs::hard_link(path("first name"), path("second name"))?;
    fs::hard_link(path("first name"), root.join("third name"))?;
    symlink("first name", path("beside"))?;
    symlink("../sizes", path("to a directory"))?;
    symlink("nowhere", path("dangling"))?;
    symlink("/etc/hostname", path("absolute"))?;
    symlink("../../outside", path("leads out"))?;
    symlink(OsStr::from_bytes(b"bytes \xff"), path("to bytes"))
}

/// Owners, modes, extended attributes, an ACL and a capability.
fn properties(root: &Path) -> io::Result<()> {
    fs::create_dir(root)?;
    for (number, mode) in [0o400, 0o755, 0o4755, 0o2750, 0o1777, 0o000].into_iter().enumerate() {
        let path = root.join(format!("mode-{mode:o}"));
        fs::write(&path, content(50 + number, 200))?;
        chown(&path, Some(1234), Some(5678))?;
        fs::set_permissions(&path, Permissions::from_mode(mode))?;
    }
    let path = root.join("attributes");
    fs::write(&path, content(60, 200))?;
    let none = XattrFlags::empty();
    rustix::fs::setxattr(&path, "user.fanfare.test", b"\0some\xffbytes", none)?;
    rustix::fs::setxattr(&path, "system.posix_acl_access", &acl(), none)?;
    let capable = root.join("capable");
    fs::write(&capable, content(61, 200))?;
    rustix::fs::setxattr(&capable, "security.capability", &capability(), none)?;
    fs::create_dir(root.join("closed"))?;
    fs::write(root.join("closed/file"), content(62, 200))?;
    rustix::fs::setxattr(root.join("closed"), "user.of-a-directory", b"1", none)?;
    fs::set_permissions(root.join("closed"), Permissions::from_mode(0o500))
}

/// Version 2 of linux/posix_acl_xattr.h: owner, user 1234, group, mask, others.
fn acl() -> Vec<u8> {
    let mut acl = 2_u32.to_le_bytes().to_vec();
    let nobody = u32::MAX;
    for (tag, allowed, id) in
        [(1_u16, 6_u16, nobody), (2, 4, 1234), (4, 4, nobody), (0x10, 4, nobody), (0x20, 0, nobody)]
    {
        acl.extend(tag.to_le_bytes());
        acl.extend(allowed.to_le_bytes());
        acl.extend(id.to_le_bytes());
    }
    acl
}

/// Revision 2 of linux/capability.h, effective: low ports may be bound.
fn capability() -> Vec<u8> {
    const NET_BIND_SERVICE: u32 = 1 << 10;
    [0x0200_0001, NET_BIND_SERVICE, 0, 0, 0].iter().flat_map(|n: &u32| n.to_le_bytes()).collect()
}

fn set_time(path: &Path, since_1970: Duration) -> io::Result<()> {
    let time = SystemTime::UNIX_EPOCH + since_1970;
    File::open(path)?.set_times(FileTimes::new().set_modified(time))
}

/// So many files of 1 KiB.
pub(super) fn small_files(scratch: &Path, count: u32) -> Result<PathBuf, ToolError> {
    let root = scratch.join("small-files");
    for number in 0..count {
        let directory = root.join(format!("{:04}", number / PER_DIRECTORY));
        if number % PER_DIRECTORY == 0 {
            fs::create_dir_all(&directory).map_err(tool::at(directory.display()))?;
        }
        let path = directory.join(format!("{number:06}"));
        fs::write(&path, content(number as usize, KIB)).map_err(tool::at(path.display()))?;
    }
    Ok(root)
}

/// Bytes that nothing shrinks, others for each seed.
pub(super) fn content(seed: usize, bytes: usize) -> Vec<u8> {
    let mut content = vec![0; bytes];
    blake3::Hasher::new().update(&seed.to_le_bytes()).finalize_xof().fill(&mut content);
    content
}
