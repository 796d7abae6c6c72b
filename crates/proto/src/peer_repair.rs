//! Receivers that repair for each other: what this node holds of a remote sender's objects, and
//! what it accepts from a peer in the sender's place. NORM does not have this; `fanfare-group` uses
//! it.
//!
//! What a peer says counts less than what the sender says. It does not change the sender's address,
//! clock or loss statistics here, it ends nothing, and the sender's own messages override it.

use crate::{
    context::{Context, context},
    handle::ReceiverHandle,
    receiver::RemoteSenders,
    storage::{ObjectKey, Storage},
    time::{Duration, Time},
};
use alloc::vec::Vec;
use fanfare_fec::coefficient;
use fanfare_wire::{
    Data, FecId, FieldSize, GroupSize, InstanceId, Message, NodeId, ObjectTransportId,
    QuantizedRtt, ext::ExtAge,
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
    pub(crate) fn factors(&self) -> Vec<(usize, u8)> {
        let factor = |&symbol: &u16| (usize::from(symbol), coefficient(self.seed, symbol));
        self.symbols.iter().map(factor).collect()
    }
}

/// Ages below this are not sent: such a message counts as new.
pub const AGE_TOLD_FROM: Duration = Duration::from_secs(8);

/// The extension for an age; `None` if the message counts as new.
pub(crate) fn age_extension(age: Duration) -> Option<[u8; ExtAge::LEN]> {
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

impl ReceiverHandle<'_> {
    /// Accepts a NORM_INFO or NORM_DATA of a remote sender that a peer retransmitted. Returns true
    /// if it was new. An impossible message is refused and counted.
    pub fn accept(&mut self, now: Time, message: &Message<'_>, storage: &mut dyn Storage) -> bool {
        self.tell(now, storage, |r, ctx| r.on_retransmission(ctx, message))
    }

    /// Accepts a sum of symbols of a remote sender's block: a NORM_DATA of that block, whose symbol
    /// number is ignored. Returns true if it was new. An impossible sum is refused and counted.
    pub fn accept_combination(
        &mut self,
        now: Time,
        (data, sum): (&Data<'_>, &Combination),
        storage: &mut dyn Storage,
    ) -> bool {
        self.tell(now, storage, |r, ctx| r.on_combination(ctx, data, sum))
    }

    /// Accepts the NORM_INFO of an empty object from a peer: the object that `summary` has as the
    /// newest. Returns true if it was new. An impossible one is refused and counted.
    pub fn accept_info(
        &mut self,
        now: Time,
        summary: &SenderSummary,
        info: &[u8],
        storage: &mut dyn Storage,
    ) -> bool {
        self.tell(now, storage, |r, ctx| r.on_whole_info(ctx, summary, info))
    }

    /// A peer reports how far a sender has sent. What is missing here is then requested. Returns
    /// false if the report is not believed (another instance is known, or the number is too far
    /// away).
    pub fn hear_of(
        &mut self,
        now: Time,
        summary: &SenderSummary,
        storage: &mut dyn Storage,
    ) -> bool {
        self.tell(now, storage, |r, ctx| r.hear_of(ctx, summary))
    }

    /// Forwards a peer's report; false if this session does not receive.
    fn tell(
        &mut self,
        now: Time,
        storage: &mut dyn Storage,
        say: impl FnOnce(&mut RemoteSenders, &mut Context<'_>) -> bool,
    ) -> bool {
        self.session.advance(now);
        let session = &mut *self.session;
        let mut ctx = context!(session, storage);
        session.receiver.as_mut().is_some_and(|r| say(r, &mut ctx))
    }

    /// Requests everything that is missing of this sender's objects, although the sender is silent.
    /// Returns false if nothing is missing.
    pub fn ask(&mut self, now: Time, incarnation: Incarnation) -> bool {
        self.session.advance(now);
        let session = &mut *self.session;
        let (now, rng) = (session.now, &mut session.rng);
        session.receiver.as_mut().is_some_and(|r| r.ask(now, rng, incarnation))
    }

    /// Whether to request missing source symbols of this sender explicitly instead of as parity.
    /// Peers without the whole block can answer that, too.
    pub fn request_explicitly(&mut self, incarnation: Incarnation, explicitly: bool) {
        if let Some(receiver) = &mut self.session.receiver {
            receiver.request_explicitly(incarnation, explicitly);
        }
    }

    /// Whether a NACK to this sender lists everything that is missing, including what others have
    /// requested. Peers that answer with sums need to count what each receiver lacks. The NACK is
    /// still suppressed if others have requested all of it. Its requests may be eight times as long
    /// as a segment; the caller makes sure that the message fits.
    pub fn ask_in_full(&mut self, incarnation: Incarnation, in_full: bool) {
        if let Some(receiver) = &mut self.session.receiver {
            receiver.ask_in_full(incarnation, in_full);
        }
    }

    /// Makes this receiver silent (it receives, but sends nothing), or ends that.
    pub fn set_silent(&mut self, silent: bool) {
        if let Some(receiver) = &mut self.session.receiver {
            receiver.set_silent(silent);
        }
    }

    /// The instance of a sender that was heard last. Before it was heard itself, the first that
    /// peers reported.
    #[must_use]
    pub fn incarnation(&self, sender: NodeId) -> Option<Incarnation> {
        self.session.receiver.as_ref().and_then(|r| r.incarnation(sender))
    }

    /// Peers report this instance of a sender. It is believed only if the sender itself was never
    /// heard.
    pub fn hear_of_incarnation(&mut self, incarnation: Incarnation) {
        if let Some(receiver) = &mut self.session.receiver {
            receiver.hear_of_incarnation(incarnation);
        }
    }

    /// What to report to peers about an instance of a sender in view. `None` before anything of its
    /// objects was heard.
    #[must_use]
    pub fn summary(&self, incarnation: Incarnation) -> Option<SenderSummary> {
        self.session.receiver.as_ref().and_then(|r| r.summary(incarnation))
    }

    /// The number of blocks of an object, once its structure is known.
    #[must_use]
    pub fn blocks(&self, key: ObjectKey) -> Option<u32> {
        self.session.receiver.as_ref().and_then(|r| r.blocks(key))
    }

    /// The field of its code. Requests cannot be parsed without it.
    #[must_use]
    pub fn field(&self, key: ObjectKey) -> Option<FieldSize> {
        self.session.receiver.as_ref().and_then(|r| r.field(key))
    }

    /// Which symbols of a block are here.
    #[must_use]
    pub fn held(&self, key: ObjectKey, block: u32) -> Option<HeldBlock> {
        self.session.receiver.as_ref().and_then(|r| r.held(key, block))
    }

    /// Appends the message in which `key`'s sender would send this (with sequence number zero).
    /// Returns false if it is not here, or cannot be read.
    pub fn retransmit(
        &mut self,
        key: ObjectKey,
        retransmission: Retransmission<'_>,
        storage: &mut dyn Storage,
        out: &mut Vec<u8>,
    ) -> bool {
        let receiver = self.session.receiver.as_mut();
        receiver.is_some_and(|r| r.retransmit(key, retransmission, storage, out))
    }
}
