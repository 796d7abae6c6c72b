//! The last byte of EXT_FTI under encoding id 5, which NRL's code and RFC 5510 read differently.
//!
//! NRL puts the number of parity symbols there. RFC 5510 5.2.2 puts the number of all symbols of a
//! block there (max_n). In this crate [`Fti::num_parity`] is always the number of parity symbols;
//! only this file knows the other form. The code matrix decides which form is sent: both ends are
//! configured alike.

use fanfare_fec::Matrix;
use fanfare_wire::{FecId, ext::Fti};

fn counts_all(fec_id: FecId, matrix: Matrix) -> bool {
    fec_id == FecId::ReedSolomon8 && matrix == Matrix::Rfc5510
}

/// As it travels.
pub fn to_wire(fec_id: FecId, matrix: Matrix, fti: Fti) -> Fti {
    let all = fti.num_parity.saturating_add(fti.max_block_len);
    Fti { num_parity: if counts_all(fec_id, matrix) { all } else { fti.num_parity }, ..fti }
}

/// As it is meant; `None` when a block would have fewer symbols than source symbols.
pub fn from_wire(fec_id: FecId, matrix: Matrix, fti: Fti) -> Option<Fti> {
    if !counts_all(fec_id, matrix) {
        return Some(fti);
    }
    let num_parity = fti.num_parity.checked_sub(fti.max_block_len)?;
    Some(Fti { num_parity, ..fti })
}

#[cfg(test)]
mod tests {
    use super::*;
    use fanfare_wire::FieldSize;

    const FTI: Fti = Fti {
        object_size: 400_000,
        field: FieldSize::M8,
        segment_size: 1000,
        max_block_len: 16,
        num_parity: 4,
    };

    #[test]
    fn in_strict_mode_encoding_id_5_counts_all_symbols_of_a_block() {
        let strict = |id| to_wire(id, Matrix::Rfc5510, FTI);
        assert_eq!(strict(FecId::ReedSolomon8).num_parity, 20);
        assert_eq!(strict(FecId::SmallBlockSystematic), FTI);
        assert_eq!(to_wire(FecId::ReedSolomon8, Matrix::Nrl, FTI), FTI);
        let back = from_wire(FecId::ReedSolomon8, Matrix::Rfc5510, strict(FecId::ReedSolomon8));
        assert_eq!(back, Some(FTI));
    }

    #[test]
    fn fewer_symbols_than_source_symbols_are_refused() {
        assert_eq!(from_wire(FecId::ReedSolomon8, Matrix::Rfc5510, FTI), None);
    }
}
