//! A pack to be sent: its index in memory, its content where it always was, in the files.

use fanfare_udp::os::text::OsStrExt;
use std::{
    io,
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
};

use fanfare_node::disk::name::{path_of, text_of};

use crate::content::{
    announcement::PackHead,
    read_at::ReadAt,
    source::{Stamp, Stamped},
};

/// What was named to be sent, and the name receivers give it.
#[derive(Debug)]
pub(crate) struct Root {
    pub(crate) path: PathBuf,
    pub(crate) name: String,
}

impl Root {
    /// The name of what is at this path; `None` where that is no name.
    pub(crate) fn name_of(&self, path: &Path) -> Option<String> {
        let below = text_of(path.strip_prefix(&self.path).ok()?.as_os_str().as_bytes());
        Some(format!("{}/{below}", self.name))
    }

    /// Where the file of this name is.
    pub(crate) fn path_of(&self, name: &str) -> PathBuf {
        match name.strip_prefix(self.name.as_str()).and_then(|rest| rest.strip_prefix('/')) {
            Some(rest) => self.path.join(path_of(rest)),
            None => self.path.clone(),
        }
    }
}

/// A file in a pack. There may be a million of them: about 90 bytes, and the name.
#[derive(Debug)]
pub(super) struct Member {
    pub(super) root: Arc<Root>,
    pub(super) name: Box<str>,
    pub(super) stamp: Stamp,
    /// Where its bytes end in the pack's content.
    pub(super) end: u32,
    /// BLAKE3 hash of them, for receipts.
    pub(super) hash: [u8; 32],
}

impl Member {
    pub(super) fn path(&self) -> PathBuf {
        self.root.path_of(&self.name)
    }
}

/// A pack, read from its files. Each is opened when it is read and must then be what it was when
/// it was hashed; empty ones are not looked at again.
#[derive(Debug)]
pub(crate) struct Packed {
    /// All that is ahead of the content.
    head: Vec<u8>,
    pub(super) members: Vec<Member>,
    /// The first file that was found to be another.
    changed: OnceLock<PathBuf>,
}

impl Packed {
    pub(super) fn new(head: Vec<u8>, members: Vec<Member>) -> Self {
        Self { head, members, changed: OnceLock::new() }
    }

    /// What is announced of its head.
    pub(crate) fn head(&self) -> PackHead {
        PackHead { bytes: self.head.len() as u64, hash: *blake3::hash(&self.head).as_bytes() }
    }

    /// The names of its first and its last file.
    pub(crate) fn ends(&self) -> [&str; 2] {
        let ends = [self.members.first(), self.members.last()];
        ends.map(|member| member.map_or("", |member| &*member.name))
    }

    /// Files in it.
    pub(crate) fn files(&self) -> u64 {
        self.members.len() as u64
    }

    /// A file that is no longer what was hashed, once one was found while reading.
    pub(crate) fn changed(&self) -> Option<&PathBuf> {
        self.changed.get()
    }

    /// Where its first file is, for messages.
    pub(crate) fn first_path(&self) -> PathBuf {
        self.members.first().map_or_else(PathBuf::new, Member::path)
    }

    fn read_content(&self, into: &mut [u8], offset: u64) -> io::Result<usize> {
        let at = self.members.partition_point(|member| u64::from(member.end) <= offset);
        let Some(member) = self.members.get(at) else { return Ok(0) };
        let left = u64::from(member.end) - offset;
        let inside = member.stamp.size - left;
        let len = into.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        let path = member.path();
        let read = Stamped::open(&path, member.stamp)
            .and_then(|file| file.read_exact_at(&mut into[..len], inside));
        read.inspect_err(|_| {
            let _ = self.changed.set(path);
        })?;
        Ok(len)
    }
}

/// A pack that is ready, with its hash.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) pack: Packed,
    /// Bytes of the whole object.
    pub(crate) size: u64,
    /// BLAKE3 hash of the whole object.
    pub(crate) root: [u8; 32],
}

/// The files of a pack, one by one.
#[derive(Debug, Clone)]
pub struct PackedFiles(pub(crate) Arc<Packed>);

/// A file of a pack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PackedFile<'a> {
    /// Its name for receivers.
    pub name: &'a str,
    /// Its size.
    pub bytes: u64,
    /// BLAKE3 hash of its content.
    pub hash: [u8; 32],
}

impl PackedFiles {
    /// Each of them; empty directories are not told.
    pub fn iter(&self) -> impl Iterator<Item = PackedFile<'_>> {
        self.0.members.iter().map(|member| PackedFile {
            name: &member.name,
            bytes: member.stamp.size,
            hash: member.hash,
        })
    }
}

impl PartialEq for PackedFiles {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl ReadAt for Packed {
    fn read_at(&self, into: &mut [u8], offset: u64) -> io::Result<usize> {
        let head = usize::try_from(offset).ok().and_then(|offset| self.head.get(offset..));
        match head.filter(|head| !head.is_empty()) {
            Some(head) => {
                let len = into.len().min(head.len());
                into[..len].copy_from_slice(&head[..len]);
                Ok(len)
            }
            None => self.read_content(into, offset - self.head.len() as u64),
        }
    }

    /// Every file is opened for it: thousands of them at once kept the sender from hearing anybody
    /// for seconds where the disk was busy.
    fn read_ahead(&self) -> usize {
        16 << 10
    }
}
