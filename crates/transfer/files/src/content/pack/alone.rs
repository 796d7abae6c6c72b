//! A file whose name is too long for an announcement, in a pack of its own, whose index has room. It
//! may be large: it is read twice, and never kept in memory.

use fanfare_udp::os::file::{FileExt, MetadataExt};
use std::{fs::File, io, path::Path, sync::Arc};

use super::{
    format::{GROUP_BYTES, GROUPS_MAX, HASH, HEADER_BYTES, header},
    index::Writer,
    packed::{Finished, Member, Packed, Root},
    rebuild::group_hash,
};
use crate::content::{reach, source::Stamp};

/// Most bytes of a file for which a pack has hashes: 1 GiB.
const BYTES_MAX: u64 = GROUPS_MAX as u64 * GROUP_BYTES;
/// A file that changes while it is read is read again so many times.
const TRIES: usize = 3;

/// The pack. `None` where the file is too large for one, or changes faster than it is read.
pub(crate) fn alone(root: &Arc<Root>, path: &Path, name: &str) -> io::Result<Option<Finished>> {
    for _ in 0..TRIES {
        let file = reach::open(path)?;
        let meta = file.metadata()?;
        let stamp = Stamp::of(&meta);
        if stamp.size > BYTES_MAX {
            return Ok(None);
        }
        let (mut hasher, mut groups) = (blake3::Hasher::new(), Vec::new());
        let read = for_each_group(&file, stamp.size, &mut |group| {
            hasher.update(group);
            groups.extend_from_slice(&group_hash(group));
        })?;
        let mut index = Writer::default();
        index.push(name, stamp.size, meta.mode() & 0o777, stamp.mtime());
        let index = index.finish();
        let mut head = Vec::with_capacity(HEADER_BYTES + index.len() + groups.len());
        head.extend_from_slice(&header(index.len(), groups.len() / HASH));
        head.extend_from_slice(&index);
        head.extend_from_slice(&groups);
        let mut whole = blake3::Hasher::new();
        whole.update(&head);
        let again = for_each_group(&file, stamp.size, &mut |group| {
            whole.update(group);
        })?;
        if read && again && Stamp::of(&file.metadata()?) == stamp {
            let hash = *hasher.finalize().as_bytes();
            // At most 1 GiB.
            let end = stamp.size as u32;
            let member = Member { root: root.clone(), name: name.into(), stamp, end, hash };
            let (size, root) = (whole.count(), whole.finalize().into());
            return Ok(Some(Finished { pack: Packed::new(head, vec![member]), size, root }));
        }
    }
    Ok(None)
}

/// Reads so many bytes by groups. False where there are fewer.
fn for_each_group(file: &File, size: u64, take: &mut dyn FnMut(&[u8])) -> io::Result<bool> {
    let mut buffer = vec![0; GROUP_BYTES.min(size) as usize];
    let mut offset = 0;
    while offset < size {
        let group = GROUP_BYTES.min(size - offset) as usize;
        match file.read_exact_at(&mut buffer[..group], offset) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(false),
            other => other?,
        }
        take(&buffer[..group]);
        offset += group as u64;
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use fanfare_node::disk::scratch::Scratch;

    use super::*;
    use crate::content::{pack::samples, read_at::ReadAt};

    #[test]
    fn a_large_file_alone_is_the_pack_that_a_small_one_would_be() {
        let scratch = Scratch::new();
        let path = scratch.path().join("f");
        let name = "n".repeat(1200);
        let content: Vec<u8> = (0..3 * GROUP_BYTES + 77).map(|n| (n % 251) as u8).collect();
        std::fs::write(&path, &content).unwrap();
        let root = Arc::new(Root { path: path.clone(), name: name.clone() });
        let Finished { pack, size, root } = alone(&root, &path, &name).unwrap().unwrap();
        let (mut bytes, mut at) = (vec![0; size as usize], 0);
        while at < bytes.len() {
            at += pack.read_at(&mut bytes[at..], at as u64).unwrap();
        }
        assert_eq!(*blake3::hash(&bytes).as_bytes(), root);
        assert_eq!(pack.files(), 1);
        assert!(bytes.ends_with(&content));
        assert!(bytes.starts_with(&samples::bytes_of(&[(&name, &content[..])]).0[..8]));
    }

    #[test]
    fn a_file_for_which_no_pack_has_hashes_is_left_to_others() {
        let scratch = Scratch::new();
        let path = scratch.path().join("f");
        File::create(&path).unwrap().set_len(BYTES_MAX + 1).unwrap();
        let root = Arc::new(Root { path: path.clone(), name: "f".into() });
        assert!(alone(&root, &path, "f").unwrap().is_none());
    }
}
