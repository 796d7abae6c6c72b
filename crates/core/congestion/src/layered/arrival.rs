//! What reaches a receiver by layers, and who decides on how many of them it joins.

use fanfare_wire::units::time::{Duration, Time};

use super::{scheme::Layers, timing::QUIET};

/// A group of a session, by number. 0 is the session's own, for announcements; the layers follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Channel(pub u8);

impl Channel {
    /// The session's own group.
    pub const SESSION: Self = Self(0);
}

/// How the packets of a layer follow each other: what a controller needs of the sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SendPattern {
    /// Two and two, back to back (ERA, PLM).
    Pairs,
    /// Evenly (RLM).
    Even,
    /// Evenly, but doubled before each synchronisation point and silent after that (RLC).
    Bursts,
    /// Evenly, in time slots; a group's rate falls slot by slot, and no leave is needed (FLID-DL).
    Slots,
    /// As waves: a group's rate falls all the time, beside a base channel (WEBRC).
    Waves,
}

impl SendPattern {
    /// Slots in which a dynamic layer is silent before it starts over. In these, a receiver that
    /// still hears it can leave. 20 slots of half a second cover the leave latency of IGMP version
    /// 2.
    #[must_use]
    pub const fn quiet_slots(self) -> u8 {
        match self {
            Self::Slots => 20,
            Self::Waves => QUIET,
            _ => 0,
        }
    }
    /// Lowest layers that keep their channels when the slot turns.
    pub(super) const fn fixed_layers(self) -> u8 {
        match self {
            Self::Waves => 1,
            _ => 0,
        }
    }
    pub(super) const fn to_wire(self) -> u8 {
        match self {
            Self::Pairs => 0,
            Self::Even => 1,
            Self::Bursts => 2,
            Self::Slots => 3,
            Self::Waves => 4,
        }
    }
    pub(super) const fn from_wire(number: u8) -> Option<Self> {
        Some(match number {
            0 => Self::Pairs,
            1 => Self::Even,
            2 => Self::Bursts,
            3 => Self::Slots,
            4 => Self::Waves,
            _ => return None,
        })
    }
}

/// The header of a layer's packet. The thesis (table 5-1) has LID, PSN, SCT and FPF.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// The group it was sent to.
    pub channel: Channel,
    /// Its layer, from 0 (LID).
    pub layer: u8,
    /// Counts the packets of the channel, wraps (PSN).
    pub sequence: u32,
    /// The sender's clock (SCT).
    pub sent: Time,
    /// The first of a pair (FPF).
    pub first_of_pair: bool,
    /// The time slot of dynamic layers.
    pub slot: u32,
    /// Receivers with fewer layers may add one. 0: none may.
    pub signal: u8,
}

/// A packet as the receiver sees it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Arrival {
    /// Its header.
    pub header: Header,
    /// Bytes on the wire.
    pub bytes: usize,
    /// Packets of its channel missing before it.
    pub lost: u32,
    /// If it ends a packet pair: the rate that the pair measured, in bit/s (thesis, equation 5-2).
    pub pair: Option<f64>,
    /// Sender's clock to ours, in seconds; the clocks need not agree.
    pub transit: f64,
}

/// What a controller knows before the first packet.
#[derive(Debug, Clone)]
pub struct SessionParameters {
    /// The layers.
    pub layers: Layers,
    /// The adaptation interval (RAI).
    pub interval: Duration,
    /// Bytes of a packet on the wire.
    pub packet: u16,
}

/// A receiver-driven controller: told what arrived, asked how many layers it wants.
pub trait LayeredController: core::fmt::Debug + Send {
    /// A packet arrived.
    fn on_packet(&mut self, now: Time, arrival: &Arrival);
    /// The round trip was measured: the newest sample, and the transit of the packet that ended it.
    fn on_round_trip(&mut self, sample: Duration, transit: f64) {
        let _ = (sample, transit);
    }
    /// A time slot of dynamic layers began.
    fn on_slot(&mut self, now: Time, slot: u32) {
        let _ = (now, slot);
    }
    /// The time that [`Self::next_timeout`] named has come.
    fn on_timeout(&mut self, now: Time) {
        let _ = now;
    }
    /// When something happens by the clock.
    fn next_timeout(&self) -> Option<Time> {
        None
    }
    /// How many layers it wants.
    fn level(&self) -> usize;
    /// Whether it wants to know the round trip.
    fn wants_round_trip(&self) -> bool {
        false
    }
}
