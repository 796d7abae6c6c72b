//! Symbols that follow each other in a block.

use crate::{sender::piece::Purpose, storage::ObjectKey};

/// Source symbols of a pass that follow each other in a block.
#[derive(Debug, Clone, Copy)]
pub(in crate::sender) struct SymbolBatch {
    pub(in crate::sender) ordinal: u64,
    pub(in crate::sender) key: ObjectKey,
    pub(in crate::sender) block: u32,
    pub(in crate::sender) symbol: u16,
    /// Where the first of them lies in the object.
    pub(in crate::sender) offset: u64,
    pub(in crate::sender) purpose: Purpose,
}
