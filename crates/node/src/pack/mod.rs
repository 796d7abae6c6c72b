//! Many small files as one object, so that neither the wire nor the receipts pay for each of them.
//!
//! ```text
//! "FNPK" | version, 8 bits | reserved, 24 bits of zero | index length, 32 bits big-endian
//! index: CBOR array of entries, see `index`
//! bytes of all files, in the order of the index
//! ```
//! A pack is an object of kind DATA whose announcement has no name: to a reader of C strings it is
//! nameless, and plain NORM receivers keep files only, or keep it as it is.
//!
//! - `index`: names, sizes, permissions and times, each beside the one before
//! - `packer`: small files gathered into packs; `packed`: a pack that is read from its files
//! - `unpack`: a verified pack becomes files on disk; `staging`: where they wait until
//!   synced; `parents`: the directories they go to; `graft`: new directories as a whole
//! - `unpacker`: several packs on their way to disk, and the syncs they share

mod graft;
mod index;
mod packed;
mod packer;
mod parents;
mod staging;
mod unpack;
mod unpacker;

pub(crate) use packed::{Packed, Root};
pub(crate) use packer::{Finished, Packer, Rest, Taken};
pub(crate) use unpacker::Unpacker;

/// First bytes of every pack.
const MAGIC: [u8; 4] = *b"FNPK";
/// Format that this program writes and reads.
const VERSION: u8 = 1;
/// Bytes before the index.
const HEADER_BYTES: usize = 12;
/// Longest index that is believed, bytes.
const INDEX_BYTES_MAX: usize = 1 << 20;
/// Most entries that are believed.
const ENTRIES_MAX: usize = 65_536;

/// The bytes before the index.
fn header(index_bytes: usize) -> [u8; HEADER_BYTES] {
    let mut header = [0; HEADER_BYTES];
    header[..4].copy_from_slice(&MAGIC);
    header[4] = VERSION;
    // The packer closes a pack long before its index comes near 1 MiB.
    header[8..].copy_from_slice(&(index_bytes as u32).to_be_bytes());
    header
}

/// Length of the index; `None` when this is no pack of this version, or the index too long.
fn parse_header(header: &[u8; HEADER_BYTES]) -> Option<usize> {
    let [m0, m1, m2, m3, VERSION, 0, 0, 0, length @ ..] = *header else { return None };
    let length = u32::from_be_bytes(length) as usize;
    ([m0, m1, m2, m3] == MAGIC && length <= INDEX_BYTES_MAX).then_some(length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_comes_back_and_any_other_is_refused() {
        assert_eq!(parse_header(&header(77)), Some(77));
        for at in 0..8 {
            let mut other = header(77);
            other[at] ^= 1;
            assert_eq!(parse_header(&other), None, "byte {at}");
        }
        assert_eq!(parse_header(&header(INDEX_BYTES_MAX + 1)), None);
    }
}
