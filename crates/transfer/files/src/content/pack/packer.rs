//! Small files gathered into packs.
//!
//! A file is read once, here, into the content of the pack that is being filled; when the pack is
//! full it is hashed as one stream and the content let go. To send it, the files are read again.

use fanfare_udp::os::file::{FileExt, MetadataExt};
use std::{io, path::Path, sync::Arc};

use fanfare_node::disk::Mtime;

use super::{
    format::{GROUP_BYTES, HASH, HEADER_BYTES, SMALL_BYTES, header, is_long},
    index::Writer,
    packed::{Finished, Member, Packed, Root},
    rebuild::group_hash,
};
use crate::content::{reach, source::Stamp};

/// Content of a full pack. Long enough that packs are few, short enough that a receiver which
/// loses one in the end loses little.
const CONTENT_MAX: usize = 4 << 20;
/// Files of a full pack.
const FILES_MAX: usize = 4096;
/// From half of that on, the name of a file decides whether it is the last of its pack: so a file that
/// comes or goes changes one pack, and not all that follow. One MiB, or 1024 files, later on average.
const CONTENT_MIN: usize = CONTENT_MAX / 2;
const FILES_MIN: usize = FILES_MAX / 2;
const MORE_BYTES: u64 = 1 << 20;
const MORE_FILES: u64 = 1024;
/// A pack is closed when its index has come so far; half of what receivers take.
const INDEX_MAX: usize = 512 << 10;
/// Fewer small files than this are sent one by one, as plain NORM receivers can take them.
const WORTHWHILE: usize = 16;
/// A file that changes while it is read is read again so many times.
const TRIES: usize = 3;

/// Whether a file went into a pack.
#[derive(Debug)]
pub(crate) enum Taken {
    /// It did, with so many bytes.
    Yes(u64),
    /// It is too large, or changes faster than it is read: send it as an object of its own.
    No,
}

/// What is left at the end.
#[derive(Debug)]
pub(crate) enum Rest {
    /// The last pack; none where nothing is left.
    Pack(Option<Finished>),
    /// Too few files for a pack, by root and name; and a pack of empty directories, if there are.
    Files(Vec<(Arc<Root>, Box<str>)>, Option<Finished>),
}

/// Fills one pack after the other.
#[derive(Debug, Default)]
pub(crate) struct Packer {
    index: Writer,
    members: Vec<Member>,
    content: Vec<u8>,
    directories: Vec<(Box<str>, u32, Mtime)>,
    /// Bytes of the names of those.
    directory_bytes: usize,
    /// One pack was full before: there are many small files.
    many: bool,
}

impl Packer {
    /// Takes a file if it is small.
    pub(crate) fn take(&mut self, root: &Arc<Root>, path: &Path, name: &str) -> io::Result<Taken> {
        for _ in 0..TRIES {
            let file = reach::open(path)?;
            let meta = file.metadata()?;
            if meta.size() >= SMALL_BYTES {
                return Ok(Taken::No);
            }
            let start = self.content.len();
            // One more than there is: a read that comes back short has seen the end.
            self.content.resize(start + meta.size() as usize + 1, 0);
            let read = file.read_at(&mut self.content[start..], 0);
            self.content.truncate(start + *read.as_ref().unwrap_or(&0));
            read?;
            let size = (self.content.len() - start) as u64;
            let stamp = Stamp::of(&file.metadata()?);
            if size == stamp.size && stamp == Stamp::of(&meta) {
                self.many |= is_long(name);
                self.index.push(name, size, meta.mode() & 0o777, stamp.mtime());
                let end = self.content.len() as u32;
                let hash = *blake3::hash(&self.content[start..]).as_bytes();
                let (root, name) = (root.clone(), name.into());
                self.members.push(Member { root, name, stamp, end, hash });
                return Ok(Taken::Yes(size));
            }
            self.content.truncate(start);
        }
        Ok(Taken::No)
    }

    /// Takes a directory that has nothing in it.
    pub(crate) fn take_directory(&mut self, name: &str, mode: u32, mtime: Mtime) {
        self.directories.push((format!("{name}/").into(), mode, mtime));
        self.directory_bytes += name.len();
    }

    /// The pack, when it is full.
    pub(crate) fn full(&mut self) -> Option<Finished> {
        let room = CONTENT_MAX - CONTENT_MAX.min(self.content.len());
        let full = room < SMALL_BYTES as usize
            || self.index.len() + self.directories.len() >= FILES_MAX
            || self.index.bytes() + self.directory_bytes >= INDEX_MAX
            || self.is_boundary();
        self.many |= full;
        full.then(|| self.close())
    }

    /// Whether the file taken last ends a pack that has enough.
    fn is_boundary(&self) -> bool {
        let Some(last) = self.members.last() else { return false };
        let hash = blake3::hash(last.name.as_bytes());
        let chance = u64::from_be_bytes(hash.as_bytes().first_chunk().copied().unwrap_or_default());
        let by_bytes = (u64::MAX / MORE_BYTES).saturating_mul(last.stamp.size);
        let enough_bytes = self.content.len() >= CONTENT_MIN && chance < by_bytes;
        let enough_files = self.members.len() >= FILES_MIN && chance < u64::MAX / MORE_FILES;
        enough_bytes || enough_files
    }

    fn is_worthwhile(&self) -> bool {
        self.many || self.members.len() >= WORTHWHILE
    }

    /// What is left at the end.
    pub(crate) fn finish(mut self) -> Rest {
        if self.is_worthwhile() {
            let empty = self.members.is_empty() && self.directories.is_empty();
            return Rest::Pack((!empty).then(|| self.close()));
        }
        let files = std::mem::take(&mut self.members).into_iter();
        let files = files.map(|member| (member.root, member.name)).collect();
        self.content.clear();
        self.index = Writer::default();
        Rest::Files(files, (!self.directories.is_empty()).then(|| self.close()))
    }

    fn close(&mut self) -> Finished {
        let mut index = std::mem::take(&mut self.index);
        for (name, mode, mtime) in self.directories.drain(..) {
            index.push(&name, 0, mode, mtime);
        }
        self.directory_bytes = 0;
        let index = index.finish();
        let groups = self.content.chunks(GROUP_BYTES as usize);
        let mut head = Vec::with_capacity(HEADER_BYTES + index.len() + groups.len() * HASH);
        head.extend_from_slice(&header(index.len(), groups.len()));
        head.extend_from_slice(&index);
        groups.for_each(|group| head.extend_from_slice(&group_hash(group)));
        let mut hasher = blake3::Hasher::new();
        hasher.update(&head).update(&self.content);
        let root = hasher.finalize().into();
        self.content.clear();
        let mut members = std::mem::take(&mut self.members);
        members.shrink_to_fit();
        Finished { pack: Packed::new(head, members), size: hasher.count(), root }
    }
}
