//! Receivers that repair for each other: what they say of a remote sender's objects, and what they
//! accept from a peer in the sender's place. NORM does not have this; `fanfare-group` uses it.
//!
//! What a peer says counts less than what the sender says. It does not change the sender's address,
//! clock or loss statistics here, it ends nothing, and the sender's own messages override it.

use crate::types::time::Duration;
use alloc::vec::Vec;
use fanfare_fec::coefficient;
use fanfare_wire::{
    FecId, GroupSize, InstanceId, NodeId, ObjectTransportId, QuantizedRtt, ext::ExtAge,
};

/// A sender and its instance id. A node that restarts without what it published has a new one. Its
/// peers go on repairing what they have of the earlier ones.
pub type Incarnation = (NodeId, InstanceId);

/// What a peer reports of a sender. A receiver that never heard the sender can then request its
/// objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SenderSummary {
    /// The sender.
    pub sender: NodeId,
    /// Which instance of that sender.
    pub instance: InstanceId,
    /// The GRTT that it advertised last.
    pub grtt: QuantizedRtt,
    /// The backoff factor that it advertised last.
    pub backoff: u8,
    /// The group size that it advertised last.
    pub gsize: GroupSize,
    /// The erasure code of its objects.
    pub fec_id: FecId,
    /// Its newest object.
    pub newest: ObjectTransportId,
}

impl SenderSummary {
    /// The sender and its instance.
    #[must_use]
    pub fn incarnation(&self) -> Incarnation {
        (self.sender, self.instance)
    }
}

/// Which symbols of a block are here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeldBlock {
    /// The number of source symbols of the block.
    pub len: u16,
    /// The number of parity symbols that it can have.
    pub parity: u16,
    /// Source symbols that are here, in order; all of them when the block is whole.
    pub sources: Vec<u16>,
    /// Parity symbols that are here while the block is not whole, counted from 0.
    pub kept: Vec<u16>,
}

impl HeldBlock {
    /// Whether the block is complete. Then parity can be computed.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.sources.len() == usize::from(self.len)
    }

    /// Missing source symbols in percent of the block; 0 only when it is complete.
    #[must_use]
    pub fn lacking(&self) -> u8 {
        let lacking = usize::from(self.len).saturating_sub(self.sources.len());
        (lacking * 100).div_ceil(usize::from(self.len).max(1)) as u8
    }
}

/// Sums are used for blocks with at most so many symbols, including parity. With one bit for each
/// symbol, a repair of 1400 bytes still fits into one Ethernet frame. Longer blocks would also make
/// the elimination slow, because its steps grow with the cube of the missing symbols.
pub const SUM_SYMBOLS_MAX: u16 = 96;

/// The symbols in a sum, and the seed of their factors ([`fanfare_fec::coefficient`]).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Combination {
    /// The seed of the factors.
    pub seed: u8,
    /// The symbols in the sum. Numbers after the source symbols are parity.
    pub symbols: Vec<u16>,
}

impl Combination {
    /// Each symbol with its factor.
    #[must_use]
    pub fn factors(&self) -> Vec<(usize, u8)> {
        let factor = |&symbol: &u16| (usize::from(symbol), coefficient(self.seed, symbol));
        self.symbols.iter().map(factor).collect()
    }
}

/// Ages below this are not sent: such a message counts as new. Ages travel in whole seconds, so that no message passes
/// for younger by more than this.
pub const AGE_TOLD_FROM: Duration = Duration::from_secs(1);

/// The extension for an age; `None` if the message counts as new.
#[must_use]
pub fn age_extension(age: Duration) -> Option<[u8; ExtAge::LEN]> {
    (age >= AGE_TOLD_FROM).then(|| ExtAge::of_seconds(0, age.as_secs()).to_bytes())
}

/// Which part of an object to retransmit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retransmission<'a> {
    /// NORM_INFO.
    Info {
        /// Its content.
        content: &'a [u8],
        /// How long ago the object was published, as far as that is known. It is sent from
        /// [`AGE_TOLD_FROM`] on.
        age: Duration,
    },
    /// A symbol. Numbers after the source symbols are parity.
    Symbol {
        /// Of this block.
        block: u32,
        /// This one.
        symbol: u16,
        /// Whether the object has NORM_INFO.
        has_info: bool,
    },
    /// A source symbol that was solved from coded packets. It need not be in storage.
    Deduced {
        /// Of this block.
        block: u32,
        /// This one.
        symbol: u16,
        /// Whether the object has NORM_INFO.
        has_info: bool,
        /// The symbol, padded with zeros.
        bytes: &'a [u8],
    },
    /// A sum of all symbols that are here of an incomplete block ([`HeldBlock`] lists them), in the
    /// form of the block's first parity symbol. Only over GF(2^8).
    Sum {
        /// Of this block.
        block: u32,
        /// Tells the factors.
        seed: u8,
        /// Whether the object has NORM_INFO.
        has_info: bool,
    },
}
