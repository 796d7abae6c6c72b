//! Directories here, by descriptors. Nothing follows a link, and nothing crosses into another file
//! system: what somebody has mounted beneath a root is not its sender's.

use fanfare_udp::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::ffi::{CStr, CString};

use fanfare_node::disk::name::{PART_PREFIX, text_of};
use fanfare_udp::os::{
    fs::{AtFlags, Dir, FileType, Mode, OFlags, ResolveFlags, Stat, kind_of},
    io::Errno,
};

/// A name in a directory.
#[derive(Debug)]
pub(super) struct Name {
    pub(super) name: CString,
    /// The same as text, by which names are in order.
    pub(super) text: String,
    kind: FileType,
}

impl Name {
    /// Some file systems do not say it along with the name.
    fn kind(&self, parent: BorrowedFd<'_>) -> FileType {
        match self.kind {
            FileType::Unknown => {
                stat(parent, &self.name).map_or(FileType::Unknown, |stat| kind_of(&stat))
            }
            known => known,
        }
    }

    pub(super) fn is_file(&self, parent: BorrowedFd<'_>) -> bool {
        self.kind(parent).is_file()
    }
}

/// What has that name, itself and not what it may link to.
pub(super) fn stat(parent: BorrowedFd<'_>, name: &CStr) -> Result<Stat, Errno> {
    fanfare_udp::os::fs::statat(parent, name, AtFlags::SYMLINK_NOFOLLOW)
}

/// Which file system an open directory is on.
pub(super) fn device(directory: BorrowedFd<'_>) -> Result<u64, Errno> {
    Ok(fanfare_udp::os::fs::fstat(directory)?.st_dev)
}

/// Opens a directory that is on `device`. XDEV: it is on another.
pub(super) fn open(parent: BorrowedFd<'_>, name: &CStr, device: u64) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let resolve = ResolveFlags::BENEATH
        | ResolveFlags::NO_SYMLINKS
        | ResolveFlags::NO_MAGICLINKS
        // A directory of this very file system may be mounted here a second time.
        | ResolveFlags::NO_XDEV;
    let opened = match fanfare_udp::os::fs::openat2(parent, name, flags, Mode::empty(), resolve) {
        // Kernels before 5.6 and some sandboxes lack it.
        Err(Errno::NOSYS | Errno::PERM) => {
            fanfare_udp::os::fs::openat(parent, name, flags, Mode::empty())
        }
        other => other,
    }?;
    if self::device(opened.as_fd())? == device { Ok(opened) } else { Err(Errno::XDEV) }
}

/// Names in a directory, sorted, without those of our own files.
pub(super) fn names(directory: BorrowedFd<'_>) -> Result<Vec<Name>, Errno> {
    let mut names = Vec::new();
    for entry in Dir::read_from(directory)? {
        let entry = entry?;
        let name = entry.file_name();
        let own = name.to_bytes().starts_with(PART_PREFIX.as_bytes());
        if !own && !matches!(name.to_bytes(), b"." | b"..") {
            let text = text_of(name.to_bytes());
            names.push(Name { name: name.to_owned(), text, kind: entry.file_type() });
        }
    }
    names.sort_unstable_by(|a, b| a.text.cmp(&b.text));
    Ok(names)
}
