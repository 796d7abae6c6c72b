//! Many small files as one object, so that neither the wire nor the receipts pay for each of them.
//!
//! ```text
//! "FNPK" | version, 8 bits | groups, 24 bits big-endian | index length, 32 bits big-endian
//! index: CBOR array of entries, see `index`
//! BLAKE3 hash of each group: of 64 KiB of what follows
//! bytes of all files, in the order of the index
//! ```
//! A pack is an object of kind DATA whose announcement has no name: to a reader of C strings it is
//! nameless, and plain NORM receivers keep files only, or keep it as it is.
//!
//! What is ahead of the files is the head; its length and hash are announced.
//!
//! - `index`: names, sizes, permissions and times, each beside the one before
//! - `packer`: small files gathered into packs; `packed`: a pack that is read from its files
//! - `unpack`: a verified pack becomes files on disk; `staging`: where they wait until
//!   synced; `parents`: the directories they go to; `graft`: new directories as a whole
//! - `head`: reading it; `rebuild`: what of a pack is on disk already
//! - `unpacker`: several packs on their way to disk, and the syncs they share; `leftover`: those
//!   that a killed receiver had under way

mod graft;
mod head;
mod index;
mod leftover;
mod packed;
mod packer;
mod parents;
mod rebuild;
mod staging;
mod unpack;
mod unpacker;

pub(crate) use leftover::recover;
pub(crate) use packed::{Packed, Root};
pub(crate) use packer::{Finished, Packer, Rest, Taken};
pub(crate) use parents::Parents;
pub(crate) use rebuild::{fill, wrong};
pub(crate) use unpacker::Unpacker;
#[cfg(test)]
pub(crate) use unpacker::inline::InlineUnpacker;

/// First bytes of every pack.
const MAGIC: [u8; 4] = *b"FNPK";
/// Format that this program writes and reads.
const VERSION: u8 = 3;
/// Bytes before the index.
const HEADER_BYTES: usize = 12;
/// Longest index that is believed, bytes.
const INDEX_BYTES_MAX: usize = 1 << 20;
/// Content under one hash: what is mended, or lacking, at a time. The hashes are 0.05 % of it.
const GROUP_BYTES: u64 = 64 << 10;
/// Most groups that are believed: 1 GiB of content.
const GROUPS_MAX: usize = 16_384;
/// Bytes of a hash.
const HASH: usize = 32;
/// Longest head that is believed, bytes.
const HEAD_MAX: u64 = (HEADER_BYTES + INDEX_BYTES_MAX + GROUPS_MAX * HASH) as u64;
/// Files from this size on are objects of their own: a header for each costs them nothing.
const SMALL_BYTES: u64 = 64 << 10;
/// Most entries that are believed.
const ENTRIES_MAX: usize = 65_536;

/// The bytes before the index.
fn header(index_bytes: usize, groups: usize) -> [u8; HEADER_BYTES] {
    let mut header = [0; HEADER_BYTES];
    header[..4].copy_from_slice(&MAGIC);
    // The packer closes a pack long before it has so many groups, or its index comes near 1 MiB.
    header[4..8].copy_from_slice(&(groups as u32).to_be_bytes());
    header[4] = VERSION;
    header[8..].copy_from_slice(&(index_bytes as u32).to_be_bytes());
    header
}

/// Length of the index, and groups; `None` when this is no pack of this version, or too long.
fn parse_header(header: &[u8; HEADER_BYTES]) -> Option<(usize, usize)> {
    let [m0, m1, m2, m3, VERSION, g0, g1, g2, length @ ..] = *header else { return None };
    let length = u32::from_be_bytes(length) as usize;
    let groups = u32::from_be_bytes([0, g0, g1, g2]) as usize;
    let believed = length <= INDEX_BYTES_MAX && groups <= GROUPS_MAX;
    ([m0, m1, m2, m3] == MAGIC && believed).then_some((length, groups))
}

#[cfg(test)]
fn seconds(seconds: i64) -> fanfare_disk::Mtime {
    fanfare_disk::Mtime { seconds, nanoseconds: 5 }
}

/// A pack of these files, and what is announced of its head; a name that ends with a slash is an
/// empty directory's.
#[cfg(test)]
pub(crate) fn bytes_of(files: &[(&str, &[u8])]) -> (Vec<u8>, crate::announcement::PackHead) {
    let mut index = index::Writer::default();
    files
        .iter()
        .for_each(|(name, content)| index.push(name, content.len() as u64, 0o640, seconds(77)));
    let index = index.finish();
    let content: Vec<u8> = files.iter().flat_map(|(_, content)| *content).copied().collect();
    let hashes: Vec<u8> =
        content.chunks(GROUP_BYTES as usize).flat_map(rebuild::group_hash).collect();
    let head = [&header(index.len(), hashes.len() / HASH)[..], &index, &hashes].concat();
    let (bytes, hash) = (head.len() as u64, *blake3::hash(&head).as_bytes());
    ([head, content].concat(), crate::announcement::PackHead { bytes, hash })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_comes_back_and_any_other_is_refused() {
        assert_eq!(parse_header(&header(77, 300)), Some((77, 300)));
        for at in 0..5 {
            let mut other = header(77, 300);
            other[at] ^= 1;
            assert_eq!(parse_header(&other), None, "byte {at}");
        }
        assert_eq!(parse_header(&header(INDEX_BYTES_MAX + 1, 0)), None);
        assert_eq!(parse_header(&header(1, GROUPS_MAX + 1)), None);
    }
}
