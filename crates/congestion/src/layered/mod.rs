//! Layered multicast: a sender splits its rate into layers, each with a multicast group of its own.
//! Every receiver joins as many layers as its path can carry, so no receiver slows down another.
//!
//! The schemes are from the literature: ERA (Explicit Rate Adjustment, from the thesis that this
//! module follows) and the four schemes that the thesis compares it with. A receiver's controller
//! is told what arrives, and says how many layers it wants ([`LayeredController`]).
//! [`LayeredReceiver`] turns that into joins and leaves. The sender knows nothing of its receivers,
//! except that some requested their round-trip time.
//!
//! # Map, in reading order
//! - [`scheme`]: the rates of layers. [`announcement`]: the session announcement; [`description`]:
//!   the description of its object
//! - [`source`]: the sender: which packet of which layer goes when; [`symbols`]: which symbol it
//!   carries
//! - [`assembly`]: the symbols that a receiver has
//! - [`receiver`]: what arrives: loss (`sequence_gaps`), packet pairs (`packet_pairs`), round-trip
//!   time (`round_trip`), joins and leaves (`subscription`)
//! - [`rlm`], [`rlc`], [`flid_dl`], [`plm`], [`era`]: the controllers

pub mod announcement;
pub mod assembly;
pub mod description;
pub mod era;
pub mod flid_dl;
mod packet_pairs;
pub mod plm;
pub mod receiver;
pub mod rlc;
pub mod rlm;
mod round_trip;
pub mod scheme;
mod sequence_gaps;
pub mod source;
mod subscription;
pub mod symbols;

pub use announcement::{Announcement, Echo, GroupRange, Refusal};
pub use assembly::{ObjectAssembly, Placement};
pub use description::Description;
pub use fanfare_fec::fountain::{Shape, ShapeError};
pub use receiver::{LayeredReceiver, LayeredStats, Membership, RttRequest};
pub use scheme::{Layers, Scheme, SchemeError};
pub use source::{LayeredSource, Outgoing, SourceConfig};
pub use symbols::{Symbol, Symbols};

use alloc::boxed::Box;
use fanfare_units::{
    rng::Rng,
    time::{Duration, Time},
};

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
}

impl SendPattern {
    /// Slots in which a dynamic layer is silent before it starts over. In these, a receiver that
    /// still hears it can leave. 20 slots of half a second cover the leave latency of IGMP version
    /// 2.
    #[must_use]
    pub const fn quiet_slots(self) -> u8 {
        match self {
            Self::Slots => 20,
            _ => 0,
        }
    }
    const fn to_wire(self) -> u8 {
        match self {
            Self::Pairs => 0,
            Self::Even => 1,
            Self::Bursts => 2,
            Self::Slots => 3,
        }
    }
    const fn from_wire(number: u8) -> Option<Self> {
        Some(match number {
            0 => Self::Pairs,
            1 => Self::Even,
            2 => Self::Bursts,
            3 => Self::Slots,
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

/// Which controller a layered receiver uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LayeredControl {
    /// Ours.
    Era,
    /// The same for links with random loss: loss with a short queue is not congestion.
    EraTolerant,
    /// ERA as it was published.
    EraPublished,
    /// Packet-pair receiver-driven layered multicast.
    Plm,
    /// Fair layered increase and decrease with dynamic layering.
    FlidDl,
    /// Receiver-driven layered congestion control.
    Rlc,
    /// Receiver-driven layered multicast.
    Rlm,
}

impl LayeredControl {
    /// Its name in files and tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Era => "era",
            Self::EraTolerant => "era-tolerant",
            Self::EraPublished => "era-published",
            Self::Plm => "plm",
            Self::FlidDl => "flid-dl",
            Self::Rlc => "rlc",
            Self::Rlm => "rlm",
        }
    }
    /// What the sender must do for it.
    #[must_use]
    pub const fn send_pattern(self) -> SendPattern {
        match self {
            Self::Era | Self::EraTolerant | Self::EraPublished | Self::Plm => SendPattern::Pairs,
            Self::FlidDl => SendPattern::Slots,
            Self::Rlc => SendPattern::Bursts,
            Self::Rlm => SendPattern::Even,
        }
    }
    /// Its controller, with the base layer to begin with.
    #[must_use]
    pub fn start(
        self,
        now: Time,
        terms: SessionParameters,
        seed: u64,
    ) -> Box<dyn LayeredController> {
        match self {
            Self::Era => Box::new(era::Era::new(now, terms)),
            Self::EraTolerant => Box::new(era::Era::new(now, terms).tolerant()),
            Self::EraPublished => Box::new(era::Published::new(now, terms)),
            Self::Plm => Box::new(plm::Plm::new(now, terms)),
            Self::FlidDl => Box::new(flid_dl::FlidDl::new(terms)),
            Self::Rlc => Box::new(rlc::Rlc::new(now, terms)),
            Self::Rlm => Box::new(rlm::Rlm::new(now, terms, Rng::new(seed))),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use alloc::vec::Vec;
    use fanfare_units::rate::Bitrate;

    /// The first packet of a layer, sent at time zero.
    pub(crate) fn header(layer: u8) -> Header {
        let (channel, sent) = (Channel(layer + 1), Time::ZERO);
        Header { channel, layer, sequence: 0, sent, first_of_pair: false, slot: 0, signal: 0 }
    }
    /// ERA's defaults: 100 layers of 20 kbit/s, 512 bytes, an interval of a second.
    pub(crate) fn announcement() -> Announcement {
        Announcement {
            send_pattern: SendPattern::Pairs,
            interval: Duration::from_secs(1),
            every: 1,
            packet: 512,
            ask_share: announcement::EVERYBODY,
            object: 0,
            group: "239.255.43.0:6100".parse().unwrap(),
            scheme: Scheme::Equal { rate: Bitrate::kbps(20), count: 100 },
            echoes: Vec::new(),
        }
    }
    /// The same, as a controller is told.
    pub(crate) fn terms() -> SessionParameters {
        let Announcement { interval, packet, .. } = announcement();
        SessionParameters { layers: announcement().layers().unwrap(), interval, packet }
    }
    /// A packet that arrives `ms` after the start, 30 ms after it was sent.
    pub(crate) fn arrival(ms: u64) -> (Time, Arrival) {
        let now = Time::ZERO + Duration::from_millis(ms);
        let sent = Time::ZERO + Duration::from_millis(ms.saturating_sub(30));
        let header = Header { sent, ..header(0) };
        (now, Arrival { header, bytes: 512, lost: 0, pair: None, transit: 0.03 })
    }
}
