//! The bytes before the index of a pack, and how much of a pack is believed.

/// First bytes of every pack.
pub(super) const MAGIC: [u8; 4] = *b"FNPK";
/// Format that this program writes and reads.
pub(super) const VERSION: u8 = 3;
/// Bytes before the index.
pub(super) const HEADER_BYTES: usize = 12;
/// Longest index that is believed, bytes.
pub(super) const INDEX_BYTES_MAX: usize = 1 << 20;
/// Content under one hash: what is mended, or lacking, at a time. The hashes are 0.05 % of it.
pub(super) const GROUP_BYTES: u64 = 64 << 10;
/// Most groups that are believed: 1 GiB of content.
pub(super) const GROUPS_MAX: usize = 16_384;
/// Bytes of a hash.
pub(super) const HASH: usize = 32;
/// Longest head that is believed, bytes.
pub(super) const HEAD_MAX: u64 = (HEADER_BYTES + INDEX_BYTES_MAX + GROUPS_MAX * HASH) as u64;
/// Files from this size on are objects of their own: a header for each costs them nothing.
pub(super) const SMALL_BYTES: u64 = 64 << 10;
/// Most entries that are believed.
pub(super) const ENTRIES_MAX: usize = 65_536;

/// A longer name has no room in the announcement of a file beside what else that says, with segments of
/// 1400 bytes: such a file travels in a pack even alone.
const NAME_LONG: usize = 1000;

/// Whether a file of this name has to travel in a pack.
pub(crate) fn is_long(name: &str) -> bool {
    name.len() > NAME_LONG
}

/// The bytes before the index.
pub(super) fn header(index_bytes: usize, groups: usize) -> [u8; HEADER_BYTES] {
    let mut header = [0; HEADER_BYTES];
    header[..4].copy_from_slice(&MAGIC);
    // The packer closes a pack long before it has so many groups, or its index comes near 1 MiB.
    header[4..8].copy_from_slice(&(groups as u32).to_be_bytes());
    header[4] = VERSION;
    header[8..].copy_from_slice(&(index_bytes as u32).to_be_bytes());
    header
}

/// Length of the index, and groups; `None` when this is no pack of this version, or too long.
pub(super) fn parse_header(header: &[u8; HEADER_BYTES]) -> Option<(usize, usize)> {
    let [m0, m1, m2, m3, VERSION, g0, g1, g2, length @ ..] = *header else { return None };
    let length = u32::from_be_bytes(length) as usize;
    let groups = u32::from_be_bytes([0, g0, g1, g2]) as usize;
    let believed = length <= INDEX_BYTES_MAX && groups <= GROUPS_MAX;
    ([m0, m1, m2, m3] == MAGIC && believed).then_some((length, groups))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_an_announcement_has_room_for_is_not_long() {
        assert!(!is_long(&"n".repeat(1000)) && is_long(&"n".repeat(1001)));
    }

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
