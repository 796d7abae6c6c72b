//! The files of a pack, written under names of our own, or into new directories as a whole.

use std::{collections::BTreeSet, io, sync::Arc};

use fanfare_node::disk::{
    FileHandle,
    directory::{Directory, umask},
    name::SafeName,
    parents::Parents,
};
use fanfare_proto::ObjectKey;
use fanfare_udp::os::fs::mode_of;

use super::{At, Staged, StagedFile};
use crate::content::{
    pack::{
        graft::Grafts,
        head::{Head, HeadError},
        staging::Staging,
    },
    receipt::Reason,
};

/// Bytes copied at once.
const COPY_BYTES: u64 = 1 << 20;

/// Writes the files of the pack `part`, of `size` bytes, whose hash is right. `promised` are the
/// directories that packs before this one will bring, and this one then.
pub fn stage(
    directory: &Arc<Directory>,
    key: ObjectKey,
    part: &dyn FileHandle,
    size: u64,
    promised: &mut BTreeSet<Vec<String>>,
) -> Result<Staged, Reason> {
    let head = Head::read(part, size).map_err(|error| match error {
        HeadError::Malformed => Reason::Refused,
        HeadError::Io(error) => Reason::of_disk(&error),
    })?;
    let (entries, head_bytes) = (head.entries, head.bytes);
    let mut offset = head_bytes;
    let staging = Staging::create(directory, key).map_err(|e| Reason::of_disk(&e))?;
    let mut stager = Stager {
        // A directory that comes meanwhile is a matter for placing.
        existing: Parents::noticed(directory),
        promised,
        grafts: Grafts::default(),
        inside: Parents::created(staging.directory()),
        window: Window { part, end: size, start: 0, bytes: Vec::new() },
        umask: umask(),
        directory,
    };
    let mut files = Vec::with_capacity(entries.len());
    for (number, entry) in entries.into_iter().enumerate() {
        let source = Source { offset, size: entry.size };
        offset += entry.size;
        let name = SafeName::of_text(entry.name.trim_end_matches('/'));
        let mut file = StagedFile { entry, name, hash: [0; 32], at: At::Number };
        if !file.is_directory() {
            stager.stage(&source, number, &mut file).map_err(|e| Reason::of_disk(&e))?;
        }
        files.push(file);
    }
    let grafts = stager.grafts;
    promise(&grafts, &files, promised);
    Ok(Staged { directory: directory.clone(), staging, grafts, files, head_bytes })
}

/// Adds the directories that come with the grafts.
fn promise(grafts: &Grafts, files: &[StagedFile], promised: &mut BTreeSet<Vec<String>>) {
    if grafts.is_empty() {
        return;
    }
    let grafted = files.iter().filter(|file| matches!(file.at, At::Graft(_)));
    for name in grafted.filter_map(|file| file.name.as_ref().ok()) {
        let (mut directories, _) = name.split();
        // Whatever is below one that is known is known.
        while !directories.is_empty() && !promised.contains(directories) {
            promised.insert(directories.to_vec());
            directories = &directories[..directories.len() - 1];
        }
    }
}

/// Where the bytes of a file are in the pack.
struct Source {
    offset: u64,
    size: u64,
}

/// A stretch of the pack in memory: its files are mostly much shorter.
struct Window<'a> {
    part: &'a dyn FileHandle,
    /// Bytes of the pack.
    end: u64,
    /// Where the stretch begins.
    start: u64,
    bytes: Vec<u8>,
}

impl Window<'_> {
    /// As many of the bytes from `offset` on as are at hand, at least one.
    fn get(&mut self, offset: u64, len: u64) -> io::Result<&[u8]> {
        let loaded = self.start..self.start + self.bytes.len() as u64;
        if offset < loaded.start || offset + len.min(COPY_BYTES) > loaded.end {
            self.bytes.resize((self.end - offset).min(COPY_BYTES) as usize, 0);
            self.start = offset;
            self.part.read_exact_at(&mut self.bytes, offset)?;
        }
        let from = (offset - self.start) as usize;
        let len = len.min(COPY_BYTES) as usize;
        Ok(&self.bytes[from..from + len])
    }
}

/// What the files of a pack have in common while they are written.
struct Stager<'a> {
    existing: Parents<'a>,
    promised: &'a BTreeSet<Vec<String>>,
    grafts: Grafts,
    /// Directories in the staging directory.
    inside: Parents<'a>,
    window: Window<'a>,
    /// What the system takes from the permissions of new files.
    umask: u32,
    directory: &'a Directory,
}

impl Stager<'_> {
    fn stage(&mut self, source: &Source, number: usize, file: &mut StagedFile) -> io::Result<()> {
        if self.may_be_there(file) {
            file.hash = source.copy(None, &mut self.window)?;
            if file.is_there_in(&mut self.existing) {
                file.at = At::Place;
                return Ok(());
            }
        }
        let out = self.create(number, file)?;
        file.hash = source.copy(Some(&*out), &mut self.window)?;
        let mode = file.entry.mode & 0o777;
        let differs = mode & self.umask != 0 || mode & 0o600 != 0o600;
        if differs && !out.set_properties(mode_of(mode), None)? {
            self.directory.note_without_mode();
        }
        out.set_mtime(file.entry.mtime);
        Ok(())
    }

    fn may_be_there(&mut self, file: &StagedFile) -> bool {
        file.name.as_ref().is_ok_and(|name| {
            let (directories, last) = name.split();
            let parent = self.existing.get(directories);
            parent.is_ok_and(|parent| {
                fanfare_node::disk::placement::has_size(parent, last, file.entry.size)
            })
        })
    }

    /// In a new directory where there is to be one; but two files of one name, and whatever else
    /// fails there, are a matter for placing them one by one.
    fn create(&mut self, number: usize, file: &mut StagedFile) -> io::Result<Arc<dyn FileHandle>> {
        let mode = file.entry.mode;
        let name = file.name.as_ref().ok();
        if let Some((name, graft)) = name
            .and_then(|name| Some((name, self.grafts.of(name, &mut self.existing, self.promised)?)))
        {
            let (directories, last) = self.grafts.inside(graft, name);
            let out = self.inside.get(&directories);
            if let Ok(out) = out.and_then(|parent| Staging::file(parent, &last, mode)) {
                file.at = At::Graft(graft);
                return Ok(out);
            }
        }
        Staging::file(self.inside.get(&[])?, &number.to_string(), mode)
    }
}

impl Source {
    /// Hashes, and writes where there is something to write to.
    fn copy(&self, out: Option<&dyn FileHandle>, window: &mut Window<'_>) -> io::Result<[u8; 32]> {
        let mut hasher = blake3::Hasher::new();
        let mut done = 0;
        while done < self.size {
            let bytes = window.get(self.offset + done, self.size - done)?;
            hasher.update(bytes);
            if let Some(out) = out {
                out.write_all_at(bytes, done)?;
            }
            done += bytes.len() as u64;
        }
        Ok(hasher.finalize().into())
    }
}
