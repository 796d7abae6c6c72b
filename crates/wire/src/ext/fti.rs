//! EXT_FTI: FEC object transmission information (RFC 5740 4.2.1; RFC 5510, 5445).

use crate::FieldSize;

/// What a receiver must know to cut an object into blocks and decode it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fti {
    /// Bytes of the object, below 2^48.
    pub object_size: u64,
    /// Field size; always `M8` but for encoding id 2.
    pub field: FieldSize,
    /// Bytes of a full segment.
    pub segment_size: u16,
    /// Most source symbols in a block.
    pub max_block_len: u16,
    /// Parity symbols a block can have. (RFC 5510 has the sum of both in id 5; NRL sends this.)
    pub num_parity: u16,
}
