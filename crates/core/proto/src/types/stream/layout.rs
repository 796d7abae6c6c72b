//! Blocks of a stream. Their numbers wrap on the wire; here they go on.

use fanfare_wire::{FecId, FieldSize};

/// Bytes of a block number on the wire, as the number of numbers (RFC 5510 4.1, 5.1; RFC 5445 5.2).
pub fn block_space(fec_id: FecId, field: FieldSize) -> u64 {
    match (fec_id, field) {
        (FecId::SmallBlockSystematic, _) => 1 << 32,
        (FecId::ReedSolomonM, FieldSize::M16) => 1 << 16,
        (FecId::ReedSolomonM | FecId::ReedSolomon8, _) => 1 << 24,
    }
}

/// The block that `wire` stands for: of all with that number the one nearest to `near` (serial
/// arithmetic, RFC 5740 4.2.1).
pub fn nearest(near: u32, wire: u32, space: u64) -> u32 {
    let ahead = u64::from(wire).wrapping_sub(u64::from(near)) & (space - 1);
    let near = u64::from(near);
    let block = match ahead {
        ahead if ahead < space / 2 => near + ahead,
        // What lies before the first block is the first one's number a turn later.
        ahead => (near + ahead).checked_sub(space).unwrap_or(near + ahead),
    };
    u32::try_from(block).unwrap_or(u32::MAX)
}

/// Blocks that a promised buffer of so many bytes has (NRL: at least two).
pub fn window(buffer: u64, segment: u16, block_len: u16) -> u64 {
    (buffer / (u64::from(segment) * u64::from(block_len)).max(1)).max(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn block_numbers_go_on_where_they_wrap() {
        let space = 1 << 16;
        assert_eq!(nearest(0, 3, space), 3);
        assert_eq!(nearest(0xffff, 2, space), 0x1_0002);
        assert_eq!(nearest(0x1_0002, 0xffff, space), 0xffff);
        assert_eq!(nearest(0x5_8000, 0x8000, space), 0x5_8000);
        assert_eq!(nearest(1, 0xffff, space), 0xffff, "nothing lies before the first block");
        assert_eq!(nearest(7, 3, 1 << 32), 3);
    }

    #[test]
    fn a_window_has_at_least_two_blocks() {
        assert_eq!((window(1600, 100, 4), window(0, 100, 4), window(1999, 100, 4)), (4, 2, 4));
    }
}
