//! A pack from what is on disk already: its head says which files it is made of, and by the hashes
//! of its groups what of them is right.
//!
//! So a receiver that has most of a tree asks for the head, two hundredths of the pack, and then for
//! the groups of 64 KiB that hold something new.

use std::{io, sync::Arc};

use fanfare_node::disk::{
    FileHandle, directory::Directory, name::SafeName, parents::Parents, placement,
};

use super::{
    format::{GROUP_BYTES, HASH, HEAD_MAX},
    head::{Head, HeadError},
};
use crate::content::{announcement::PackHead, receipt::Reason};

/// Runs of bytes (offset, length).
type Runs = Vec<(u64, u64)>;

/// What of `part`, the pack of `size` bytes with this head, is wrong. Nothing but the head where
/// that is: without it nothing can be told.
pub fn wrong(part: &dyn FileHandle, size: u64, announced: &PackHead) -> Result<Runs, Reason> {
    match read_head(part, size, announced)? {
        Some(head) => head_groups(part, size, &head).map_err(|e| Reason::of_disk(&e)),
        None => Ok(vec![(0, announced.bytes.min(size))]),
    }
}

/// The same after the files that are in their place have been copied into `part`.
pub fn fill(
    directory: &Directory,
    part: &dyn FileHandle,
    size: u64,
    announced: &PackHead,
) -> Result<Runs, Reason> {
    let Some(head) = read_head(part, size, announced)? else {
        return Ok(vec![(0, announced.bytes.min(size))]);
    };
    let mut parents = Parents::existing(directory);
    let mut offset = head.bytes;
    for entry in &head.entries {
        // What cannot be read is asked for.
        if let Some(file) = open_in_place(&mut parents, &entry.name, entry.size) {
            copy(&*file, entry.size, part, offset).map_err(|e| Reason::of_disk(&e))?;
        }
        offset += entry.size;
    }
    head_groups(part, size, &head).map_err(|e| Reason::of_disk(&e))
}

/// `None` when it is not the one announced: it has not come yet, or is wrong.
fn read_head(
    part: &dyn FileHandle,
    size: u64,
    announced: &PackHead,
) -> Result<Option<Head>, Reason> {
    if announced.bytes > HEAD_MAX.min(size) {
        return Err(Reason::Refused);
    }
    let mut bytes = vec![0; announced.bytes as usize];
    match part.read_exact_at(&mut bytes, 0) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        other => other.map_err(|e| Reason::of_disk(&e))?,
    }
    if *blake3::hash(&bytes).as_bytes() != announced.hash {
        return Ok(None);
    }
    let head = Head::read(part, size).map_err(|error| match error {
        HeadError::Malformed => Reason::Refused,
        HeadError::Io(error) => Reason::of_disk(&error),
    })?;
    if head.bytes == announced.bytes { Ok(Some(head)) } else { Err(Reason::Refused) }
}

/// The file of this name, if it has this size and is not empty.
pub(super) fn open_in_place(
    parents: &mut Parents<'_>,
    name: &str,
    size: u64,
) -> Option<Arc<dyn FileHandle>> {
    let name = SafeName::of_text(name).ok().filter(|_| size > 0)?;
    let (directories, last) = name.split();
    placement::open_sized(parents.get(directories).ok()?, last, size)
}

/// Copies `size` bytes of a file into `part`, from `offset` on, as far as they can be read.
pub(super) fn copy(
    file: &dyn FileHandle,
    size: u64,
    part: &dyn FileHandle,
    offset: u64,
) -> io::Result<()> {
    let mut buffer = vec![0; GROUP_BYTES.min(size) as usize];
    let mut at = 0;
    while at < size {
        let now = GROUP_BYTES.min(size - at) as usize;
        if file.read_exact_at(&mut buffer[..now], at).is_err() {
            return Ok(());
        }
        part.write_all_at(&buffer[..now], offset + at)?;
        at += now as u64;
    }
    Ok(())
}

/// Runs of groups whose hashes are not those in the head.
fn head_groups(part: &dyn FileHandle, size: u64, head: &Head) -> io::Result<Runs> {
    let mut runs = Runs::new();
    let mut buffer = Vec::new();
    for (number, hash) in head.groups.iter().enumerate() {
        let start = head.bytes + number as u64 * GROUP_BYTES;
        let len = GROUP_BYTES.min(size - start);
        buffer.resize(len as usize, 0);
        let read = part.read_exact_at(&mut buffer, start);
        let short = read.as_ref().is_err_and(|e| e.kind() == io::ErrorKind::UnexpectedEof);
        if !short {
            read?;
        }
        if !short && group_hash(&buffer) == *hash {
            continue;
        }
        match runs.last_mut() {
            Some((at, run)) if *at + *run == start => *run += len,
            _ => runs.push((start, len)),
        }
    }
    Ok(runs)
}

/// The hash of a group's content.
pub(super) fn group_hash(content: &[u8]) -> [u8; HASH] {
    *blake3::hash(content).as_bytes()
}

#[cfg(test)]
mod tests {
    use std::{fs::File, sync::Arc};

    use fanfare_node::disk::scratch::Scratch;

    use super::*;
    use crate::content::{pack::Packer, pack::Rest, pack::Root, read_at::ReadAt};

    /// A pack of 300 files of 1000 bytes below `t`, its bytes and what is announced of its head.
    fn pack(scratch: &Scratch) -> (Vec<u8>, PackHead) {
        let root = Arc::new(Root { path: scratch.path().join("t"), name: "t".into() });
        std::fs::create_dir_all(&root.path).unwrap();
        let mut packer = Packer::default();
        for n in 0..300_u32 {
            let path = root.path.join(format!("{n:03}"));
            std::fs::write(&path, n.to_be_bytes().repeat(250)).unwrap();
            packer.take(&root, &path, &format!("t/{n:03}")).unwrap();
        }
        let Rest::Pack(Some(finished)) = packer.finish() else { panic!("no pack") };
        let mut bytes = vec![0; finished.size as usize];
        let mut at = 0;
        while at < bytes.len() {
            at += finished.pack.read_at(&mut bytes[at..], at as u64).unwrap();
        }
        (bytes, finished.pack.head())
    }

    fn part(scratch: &Scratch, bytes: &[u8]) -> File {
        let path = scratch.path().join("part");
        std::fs::write(&path, bytes).unwrap();
        File::options().read(true).write(true).open(path).unwrap()
    }

    #[test]
    fn wrong_groups_are_named_and_a_wrong_head_hides_the_rest() {
        let scratch = Scratch::new();
        let (mut bytes, head) = pack(&scratch);
        let size = bytes.len() as u64;
        assert_eq!(wrong(&part(&scratch, &bytes), size, &head), Ok(vec![]));
        let at = (head.bytes + 2 * GROUP_BYTES) as usize;
        bytes[at] ^= 1;
        let runs = vec![(at as u64, GROUP_BYTES)];
        assert_eq!(wrong(&part(&scratch, &bytes), size, &head), Ok(runs));
        bytes[40] ^= 1;
        assert_eq!(wrong(&part(&scratch, &bytes), size, &head), Ok(vec![(0, head.bytes)]));
        let endless = PackHead { bytes: size + 1, ..head };
        assert_eq!(wrong(&part(&scratch, &bytes), size, &endless), Err(Reason::Refused));
    }

    #[test]
    fn of_a_tree_that_is_there_only_the_head_and_changed_groups_are_lacking() {
        let (out, target) = (Scratch::new(), Scratch::new());
        let (bytes, head) = pack(&out);
        let size = bytes.len() as u64;
        let directory = Directory::open(target.path(), false).unwrap();
        let empty = part(&out, b"");
        assert_eq!(fill(&directory, &empty, size, &head), Ok(vec![(0, head.bytes)]));
        std::fs::create_dir(target.path().join("t")).unwrap();
        for n in 0..300 {
            let name = format!("t/{n:03}");
            std::fs::copy(out.path().join(&name), target.path().join(&name)).unwrap();
        }
        let only_head = part(&out, &bytes[..head.bytes as usize]);
        assert_eq!(fill(&directory, &only_head, size, &head), Ok(vec![]));
        assert!(std::fs::read(out.path().join("part")).unwrap() == bytes);
        // One byte of one file, one file gone, one a link to what would be right.
        std::fs::write(target.path().join("t/000"), vec![1; 1000]).unwrap();
        std::fs::remove_file(target.path().join("t/299")).unwrap();
        std::fs::remove_file(target.path().join("t/150")).unwrap();
        std::os::unix::fs::symlink(out.path().join("t/150"), target.path().join("t/150")).unwrap();
        let only_head = part(&out, &bytes[..head.bytes as usize]);
        let group = |n: u64| head.bytes + n * GROUP_BYTES;
        let runs =
            vec![(group(0), GROUP_BYTES), (group(2), GROUP_BYTES), (group(4), size - group(4))];
        assert_eq!(fill(&directory, &only_head, size, &head), Ok(runs));
    }
}
