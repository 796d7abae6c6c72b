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

/// A sender, in one of its lives. A node that begins anew without what it had published has a new one; others go on giving
/// what they have of those before.
pub type Incarnation = (NodeId, InstanceId);

/// What is said of a sender, so that a receiver that never heard it can ask for its objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SenderSummary {
    /// Whose objects.
    pub sender: NodeId,
    /// Which life of that sender.
    pub instance: InstanceId,
    /// GRTT as it advertised it last.
    pub grtt: QuantizedRtt,
    /// Backoff factor, likewise.
    pub backoff: u8,
    /// Group size, likewise.
    pub gsize: GroupSize,
    /// How it codes.
    pub fec_id: FecId,
    /// Its newest object.
    pub newest: ObjectTransportId,
}

impl SenderSummary {
    /// Of which sender, in which life.
    #[must_use]
    pub fn incarnation(&self) -> Incarnation {
        (self.sender, self.instance)
    }
}

/// How much of a block is here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeldBlock {
    /// Source symbols of the block.
    pub len: u16,
    /// Parity symbols that it can have.
    pub parity: u16,
    /// Source symbols that are here, in order; all of them when the block is whole.
    pub sources: Vec<u16>,
    /// Parity symbols that are here while the block is not whole, counted from 0.
    pub kept: Vec<u16>,
}

impl HeldBlock {
    /// Whether nothing of it is missing: parity can be computed.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.sources.len() == usize::from(self.len)
    }

    /// Source symbols that are not here, in percent of the block; 0 only when it is whole.
    #[must_use]
    pub fn lacking(&self) -> u8 {
        let lacking = usize::from(self.len).saturating_sub(self.sources.len());
        (lacking * 100).div_ceil(usize::from(self.len).max(1)) as u8
    }
}

/// Symbols of a block, parity among them, that sums can be of: with a bit for each a repair of 1400 bytes
/// still fits into one Ethernet frame. Longer blocks would also make the elimination slow: its steps
/// are the cube of what is missing.
pub const SUM_SYMBOLS_MAX: u16 = 96;

/// Which symbols of a block a sum is of, and with which factors ([`fanfare_fec::coefficient`]).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Combination {
    /// Tells the factors.
    pub seed: u8,
    /// Symbols in it; those behind the source symbols are parity.
    pub symbols: Vec<u16>,
}

impl Combination {
    pub(crate) fn factors(&self) -> Vec<(usize, u8)> {
        let factor = |&symbol: &u16| (usize::from(symbol), coefficient(self.seed, symbol));
        self.symbols.iter().map(factor).collect()
    }
}

/// From this age on it is told: what is passed on sooner counts as new, and costs nothing for it.
pub const AGE_TOLD_FROM: Duration = Duration::from_secs(8);

/// What says so; `None` of what counts as new.
pub(crate) fn age_extension(age: Duration) -> Option<[u8; ExtAge::LEN]> {
    (age >= AGE_TOLD_FROM).then(|| ExtAge::of_seconds(0, age.as_secs()).to_bytes())
}

/// What of an object to pass on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retransmission<'a> {
    /// NORM_INFO.
    Info {
        /// What it says.
        content: &'a [u8],
        /// How long ago the object was handed over, as far as that is known: said from
        /// [`AGE_TOLD_FROM`] on.
        age: Duration,
    },
    /// A symbol; those behind the source symbols are parity.
    Symbol {
        /// Of this block.
        block: u32,
        /// This one.
        symbol: u16,
        /// Whether the object has NORM_INFO.
        has_info: bool,
    },
    /// A source symbol that followed from others' words: it need not be here.
    Deduced {
        /// Of this block.
        block: u32,
        /// This one.
        symbol: u16,
        /// Whether the object has NORM_INFO.
        has_info: bool,
        /// It, and zeros behind it.
        bytes: &'a [u8],
    },
    /// A sum of all symbols that are here of a block that is not whole ([`HeldBlock`] names them), in
    /// the form of the block's first parity symbol. Over GF(2^8) alone.
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
    /// A NORM_INFO or NORM_DATA of a remote sender, passed on by somebody else. True when it brought
    /// something new; what it cannot be is refused and counted.
    pub fn accept(&mut self, now: Time, message: &Message<'_>, storage: &mut dyn Storage) -> bool {
        self.tell(now, storage, |r, ctx| r.on_retransmission(ctx, message))
    }

    /// A sum of symbols of a remote sender's block: a NORM_DATA of that block, whose symbol's number
    /// says nothing. True when it brought something new; what it cannot be is refused and counted.
    pub fn accept_combination(
        &mut self,
        now: Time,
        (data, sum): (&Data<'_>, &Combination),
        storage: &mut dyn Storage,
    ) -> bool {
        self.tell(now, storage, |r, ctx| r.on_combination(ctx, data, sum))
    }

    /// The NORM_INFO of a whole object of no bytes, told by somebody else: the object `summary` names
    /// as the newest. True when it was new; what it cannot be is refused and counted.
    pub fn accept_info(
        &mut self,
        now: Time,
        summary: &SenderSummary,
        info: &[u8],
        storage: &mut dyn Storage,
    ) -> bool {
        self.tell(now, storage, |r, ctx| r.on_whole_info(ctx, summary, info))
    }

    /// Somebody says that a sender has sent so much: what of it is missing here is asked for. False
    /// when it is not believed (another life is known, or its number is far from what is).
    pub fn hear_of(
        &mut self,
        now: Time,
        summary: &SenderSummary,
        storage: &mut dyn Storage,
    ) -> bool {
        self.tell(now, storage, |r, ctx| r.hear_of(ctx, summary))
    }

    /// Something that others say; false when nothing is received here at all.
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

    /// Asks for all that is missing of this sender's objects, although it says nothing that would be
    /// an occasion. False when nothing is missing.
    pub fn ask(&mut self, now: Time, incarnation: Incarnation) -> bool {
        self.session.advance(now);
        let session = &mut *self.session;
        let (now, rng) = (session.now, &mut session.rng);
        session.receiver.as_mut().is_some_and(|r| r.ask(now, rng, incarnation))
    }

    /// Whether to ask this sender's group for missing source symbols by their names rather than for
    /// parity: those who hold no whole block can answer that, too.
    pub fn request_explicitly(&mut self, incarnation: Incarnation, explicitly: bool) {
        if let Some(receiver) = &mut self.session.receiver {
            receiver.request_explicitly(incarnation, explicitly);
        }
    }

    /// Whether a NACK to this sender tells all that is missing, also what others have asked for already: who
    /// answers with sums counts what each lacks. It is still suppressed when others have asked for all. Its requests
    /// may be eight times as long as a segment: who has it sent sees to it that what goes fits.
    pub fn ask_in_full(&mut self, incarnation: Incarnation, in_full: bool) {
        if let Some(receiver) = &mut self.session.receiver {
            receiver.ask_in_full(incarnation, in_full);
        }
    }

    /// Says nothing from now on (takes what comes, asks for nothing), or speaks again.
    pub fn set_silent(&mut self, silent: bool) {
        if let Some(receiver) = &mut self.session.receiver {
            receiver.set_silent(silent);
        }
    }

    /// The life in which a sender was heard last; before it was heard itself, the first that others spoke of.
    #[must_use]
    pub fn incarnation(&self, sender: NodeId) -> Option<Incarnation> {
        self.session.receiver.as_ref().and_then(|r| r.incarnation(sender))
    }

    /// Others say that a sender is in this life: that is believed of who was never heard itself.
    pub fn hear_of_incarnation(&mut self, incarnation: Incarnation) {
        if let Some(receiver) = &mut self.session.receiver {
            receiver.hear_of_incarnation(incarnation);
        }
    }

    /// What one would tell others of a life of a sender in view. `None` before anything of an object of it was
    /// heard.
    #[must_use]
    pub fn summary(&self, incarnation: Incarnation) -> Option<SenderSummary> {
        self.session.receiver.as_ref().and_then(|r| r.summary(incarnation))
    }

    /// Blocks of an object whose structure is known.
    #[must_use]
    pub fn blocks(&self, key: ObjectKey) -> Option<u32> {
        self.session.receiver.as_ref().and_then(|r| r.blocks(key))
    }

    /// Over which field it is coded: requests cannot be read without it.
    #[must_use]
    pub fn field(&self, key: ObjectKey) -> Option<FieldSize> {
        self.session.receiver.as_ref().and_then(|r| r.field(key))
    }

    /// What of a block is here.
    #[must_use]
    pub fn held(&self, key: ObjectKey, block: u32) -> Option<HeldBlock> {
        self.session.receiver.as_ref().and_then(|r| r.held(key, block))
    }

    /// Appends the message in which `key`'s sender would send this (with sequence number zero).
    /// False when it is not here, or the storage does not give it back.
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
