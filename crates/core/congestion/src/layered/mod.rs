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
//! - `arrival`: a packet as a receiver has it, and who decides by it; `rtt_request`: a question;
//!   `timing`: how a sender divides time
//! - [`source`]: the sender: which packet of which layer goes when; [`symbols`]: which symbol it
//!   carries
//! - [`assembly`]: the symbols that a receiver has
//! - [`receiver`]: what arrives: loss (`sequence_gaps`), packet pairs (`packet_pairs`), round-trip
//!   time (`round_trip`), joins and leaves (`subscription`)
//! - [`rlm`], [`rlc`], [`flid_dl`], [`plm`], [`webrc`], [`era`]: the controllers

pub mod announcement;
mod arrival;
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
mod rtt_request;
pub mod scheme;
mod sequence_gaps;
pub mod source;
mod subscription;
pub mod symbols;
mod timing;
pub mod webrc;

pub use announcement::{Announcement, Echo, GroupRange, Refusal};
pub use arrival::{Arrival, Channel, Header, LayeredController, SendPattern, SessionParameters};
pub use assembly::{ObjectAssembly, Placement};
pub use description::Description;
pub use fanfare_fec::fountain::{Shape, ShapeError};
pub use receiver::{LayeredReceiver, LayeredStats};
pub use rtt_request::RttRequest;
pub use scheme::{Layers, Scheme, SchemeError};
pub use source::{LayeredSource, Outgoing, SourceConfig};
pub use subscription::Membership;
pub use symbols::{Symbol, Symbols};

use alloc::boxed::Box;
use fanfare_wire::units::{rng::Rng, time::Time};

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
    /// Wave and equation based rate control (RFC 3738).
    Webrc,
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
            Self::Webrc => "webrc",
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
            Self::Webrc => SendPattern::Waves,
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
            Self::Webrc => Box::new(webrc::Webrc::new(now, &terms)),
            Self::Rlc => Box::new(rlc::Rlc::new(now, terms)),
            Self::Rlm => Box::new(rlm::Rlm::new(now, terms, Rng::new(seed))),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use alloc::vec::Vec;
    use fanfare_wire::units::rate::Bitrate;
    use fanfare_wire::units::time::Duration;

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
