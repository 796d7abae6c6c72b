//! Packs of a few bytes, for tests.

use super::{
    format::{GROUP_BYTES, HASH, header},
    index, rebuild,
};
use crate::content::announcement::PackHead;

/// The time of all files in them.
const MTIME: fanfare_node::disk::Mtime = fanfare_node::disk::Mtime { seconds: 77, nanoseconds: 5 };

/// A pack of these files, and what is announced of its head; a name that ends with a slash is an
/// empty directory's.
#[must_use]
pub fn bytes_of(files: &[(&str, &[u8])]) -> (Vec<u8>, PackHead) {
    let mut index = index::Writer::default();
    files.iter().for_each(|(name, content)| index.push(name, content.len() as u64, 0o640, MTIME));
    let index = index.finish();
    let content: Vec<u8> = files.iter().flat_map(|(_, content)| *content).copied().collect();
    let hashes: Vec<u8> =
        content.chunks(GROUP_BYTES as usize).flat_map(rebuild::group_hash).collect();
    let head = [&header(index.len(), hashes.len() / HASH)[..], &index, &hashes].concat();
    let (bytes, hash) = (head.len() as u64, *blake3::hash(&head).as_bytes());
    ([head, content].concat(), PackHead { bytes, hash })
}
