//! Packs whose files a killed receiver had written and not yet named.
//!
//! Beside them stands what they are the pack of. The next receiver makes a part of them again,
//! which is examined like any other: nothing is trusted, and little comes over the network twice.

use std::{io, sync::Arc};

use fanfare_node::disk::{
    directory::Directory,
    name::SafeName,
    parents::Parents,
    placement, {DirectoryHandle, FileHandle, OwnFile},
};
use minicbor::{Decode, Encode};

use super::{
    graft::Grafts,
    head::Head,
    part_name::pack_part_name,
    rebuild::{copy, open_in_place},
    staging::{self, Staging},
};

/// The note's name. Files there are called by numbers.
const NOTE: &str = "pack";
/// Longest note that is read, bytes: the longest head, and names of directories.
const NOTE_MAX: u64 = super::format::HEAD_MAX + (1 << 20);

/// Which pack the files beside it are from.
#[derive(Debug, Encode, Decode)]
#[cbor(map)]
pub(super) struct Note {
    /// BLAKE3 hash of the pack.
    #[cbor(n(0), with = "minicbor::bytes")]
    root: [u8; 32],
    /// Its bytes.
    #[n(1)]
    size: u64,
    /// What it begins with.
    #[cbor(n(2), with = "minicbor::bytes")]
    head: Vec<u8>,
    /// Where the directories belong that were made beside it, by number.
    #[n(3)]
    grafts: Vec<Vec<String>>,
}

impl Note {
    /// Of the pack `part`, of `size` bytes with this hash and a head of so many bytes.
    pub(super) fn new(
        part: &dyn FileHandle,
        (root, size): ([u8; 32], u64),
        head_bytes: u64,
        grafts: &Grafts,
    ) -> io::Result<Self> {
        let mut head = vec![0; head_bytes as usize];
        part.read_exact_at(&mut head, 0)?;
        Ok(Self { root, size, head, grafts: grafts.paths().to_vec() })
    }

    /// Writes it beside the files. It need not survive the power: neither do they.
    pub(super) fn write(&self, staging: &Staging) -> io::Result<()> {
        let mut bytes = Vec::new();
        // Writing into memory cannot fail.
        let _ = minicbor::encode(self, &mut bytes);
        let file = Staging::file(staging.directory().handle(), NOTE, 0o600)?;
        Ok(file.write_all_at(&bytes, 0)?)
    }

    fn read(staging: &dyn DirectoryHandle) -> Option<Self> {
        let size = staging.file_size(NOTE).filter(|size| *size <= NOTE_MAX)?;
        let mut bytes = vec![0; size as usize];
        let file = placement::open_sized(staging, NOTE, size)?;
        file.read_exact_at(&mut bytes, 0).ok()?;
        minicbor::decode(&bytes).ok()
    }
}

/// Makes parts of what crashes have left, unless another receiver is at work in it, and removes it.
pub fn recover(directory: &Directory) {
    for (name, left) in staging::left_over(directory) {
        let left = Directory::over(left);
        if let Some(note) = Note::read(left.handle()) {
            // What cannot be had comes over the network again.
            let _ = rebuild(directory, &left, &note);
        }
        staging::remove(directory, &name, left.handle());
    }
}

fn rebuild(directory: &Directory, left: &Directory, note: &Note) -> io::Result<()> {
    let Some(part) = begin(directory, note)? else { return Ok(()) };
    part.handle().write_all_at(&note.head, 0)?;
    let Ok(head) = Head::read(part.handle(), note.size) else {
        return directory.handle().unlink(&pack_part_name(&note.root)).map_err(Into::into);
    };
    let grafts = Grafts::again(note.grafts.clone());
    let (mut inside, mut placed) = (Parents::existing(left), Parents::existing(directory));
    let mut offset = head.bytes;
    for (number, entry) in head.entries.iter().enumerate() {
        let file = open_left(&mut inside, &grafts, (number, &entry.name), entry.size)
            .or_else(|| open_in_place(&mut placed, &entry.name, entry.size));
        if let Some(file) = file {
            copy(&*file, entry.size, part.handle(), offset)?;
        }
        offset += entry.size;
    }
    // Its length at last: a kill on the way leaves it for the next attempt.
    Ok(part.handle().set_len(note.size)?)
}

/// The part to write to. `None` when it has its whole length, or somebody receives into it.
fn begin(directory: &Directory, note: &Note) -> io::Result<Option<Arc<OwnFile>>> {
    let name = pack_part_name(&note.root);
    if let Ok(part) = directory.open_own(&name)
        && (part.handle().lock().is_err() || part.handle().metadata()?.len == note.size)
    {
        return Ok(None);
    }
    let part = directory.create_own(&name)?;
    let _ = part.handle().lock();
    Ok(Some(part))
}

/// A file that was written and not named.
fn open_left(
    inside: &mut Parents<'_>,
    grafts: &Grafts,
    (number, name): (usize, &str),
    size: u64,
) -> Option<Arc<dyn FileHandle>> {
    if size == 0 {
        return None;
    }
    let name = SafeName::of_text(name).ok();
    let grafted = name.and_then(|name| Some(grafts.inside(grafts.begun(&name)?, &name)));
    let in_graft = grafted.and_then(|(directories, last)| {
        placement::open_sized(inside.get(&directories).ok()?, &last, size)
    });
    in_graft.or_else(|| placement::open_sized(inside.get(&[]).ok()?, &number.to_string(), size))
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, path::Path};

    use fanfare_node::disk::{placement::Conflict, scratch::Scratch};
    use fanfare_proto::{InstanceId, NodeId, ObjectKey, ObjectTransportId};

    use super::*;
    use crate::content::pack::unpack::{Staged, stage};

    const KEY: ObjectKey =
        ObjectKey { sender: NodeId(1), instance: InstanceId(1), object: ObjectTransportId(9) };
    const FILES: [(&str, &[u8]); 4] =
        [("new/a", b"one"), ("new/deep/b", b"two"), ("old/c", b"three"), ("old/empty", b"")];

    /// What a receiver leaves that is killed when it has written all files of a pack, and done
    /// `then`; with it the bytes of the pack, and the name of its part.
    fn killed(then: impl FnOnce(&Path, Staged)) -> (Scratch, Vec<u8>, String) {
        let alive = Scratch::new();
        std::fs::create_dir(alive.path().join("old")).unwrap();
        let directory = Arc::new(Directory::open(alive.path(), false).unwrap());
        let (bytes, _) = crate::content::pack::samples::bytes_of(&FILES);
        let (root, size) = (*blake3::hash(&bytes).as_bytes(), bytes.len() as u64);
        let part = directory.create_own(".fanfare-t.part").unwrap();
        part.handle().write_all_at(&bytes, 0).unwrap();
        directory.remove(".fanfare-t.part");
        let staged = stage(&directory, KEY, part.handle(), size, &mut BTreeSet::new()).unwrap();
        staged.note(part.handle(), (root, size)).unwrap();
        then(alive.path(), staged);
        // A copy, which nobody has locked.
        let dead = Scratch::new();
        copy(alive.path(), dead.path());
        recover(&Directory::open(dead.path(), false).unwrap());
        (dead, bytes, pack_part_name(&root))
    }

    fn copy(from: &Path, to: &Path) {
        for entry in std::fs::read_dir(from).unwrap().map(Result::unwrap) {
            let to = to.join(entry.file_name());
            if entry.file_type().unwrap().is_dir() {
                std::fs::create_dir(&to).unwrap();
                copy(&entry.path(), &to);
            } else {
                std::fs::copy(entry.path(), to).unwrap();
            }
        }
    }

    fn own(scratch: &Scratch) -> Vec<String> {
        let entries = std::fs::read_dir(scratch.path()).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.filter(|name| name.starts_with('.')).collect()
    }

    #[test]
    fn a_pack_whose_files_were_written_is_a_part_again_after_a_kill() {
        let (left, bytes, part) = killed(|_, staged| std::mem::forget(staged));
        assert_eq!(std::fs::read(left.path().join(&part)).unwrap(), bytes);
        assert_eq!(own(&left), [part], "and nothing else is left");
    }

    #[test]
    fn files_that_had_their_names_already_are_of_the_part_too() {
        let (left, bytes, part) = killed(|path, staged| {
            let mut own = std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path());
            let own = own.find(|path| path.extension().is_some()).unwrap();
            std::fs::rename(own.join("2"), path.join("old/c")).unwrap();
            std::fs::rename(own.join("d0"), path.join("new")).unwrap();
            std::mem::forget(staged);
        });
        assert_eq!(std::fs::read(left.path().join(part)).unwrap(), bytes);
    }

    #[test]
    fn a_pack_in_its_place_that_is_not_on_record_is_a_part_too() {
        let (left, bytes, part) =
            killed(|_, staged| std::mem::forget(staged.place(Conflict::KeepBoth).1));
        assert_eq!(std::fs::read(left.path().join(part)).unwrap(), bytes);
    }

    #[test]
    fn a_pack_in_its_place_leaves_nothing() {
        let (left, ..) = killed(|_, staged| drop(staged.place(Conflict::KeepBoth)));
        assert_eq!(own(&left), [""; 0]);
    }

    #[test]
    fn a_note_that_is_no_note_is_removed_with_what_is_beside_it() {
        for note in [&b""[..], b"\xff", &[0; 100]] {
            let scratch = Scratch::new();
            let left = scratch.path().join(".fanfare-1-2-3.pack");
            std::fs::create_dir(&left).unwrap();
            std::fs::write(left.join(NOTE), note).unwrap();
            recover(&Directory::open(scratch.path(), false).unwrap());
            assert!(!left.exists());
        }
    }
}
