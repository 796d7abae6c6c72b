//! Bytes of a frame, as far as they were copied, become a [`Sighting`]. Nothing is read past their end.
//!
//! - `link`: what is around an IP packet; `ip`: its headers; `transport`: what it carries

mod ip;
mod link;
mod transport;

use fanfare_monitor::observe::Sighting;
use fanfare_units::Time;

pub use link::LinkType;

/// What the system or a file says of a packet, beside its bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame<'b> {
    /// When it was seen.
    pub at: Time,
    /// What was copied of it.
    pub bytes: &'b [u8],
    /// How long it was.
    pub length: u32,
    /// Bytes of each packet that it was joined of; 0: it is one.
    pub segment: u16,
}

/// Why a frame tells nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Refused {
    /// It ends within a header.
    Cut,
    /// It carries no IP.
    NotIp,
    /// More tags of VLANs than are followed.
    Tags,
    /// A header of IP has a length or a version that cannot be.
    BadIp,
    /// Too many headers of IPv6 follow each other.
    Headers,
}

impl Refused {
    /// For programs.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cut => "cut",
            Self::NotIp => "not-ip",
            Self::Tags => "tags",
            Self::BadIp => "bad-ip",
            Self::Headers => "headers",
        }
    }
}

/// Reads a frame.
pub fn dissect(link: LinkType, ports: &[u16], frame: Frame<'_>) -> Result<Sighting, Refused> {
    let inner = link::open(link, frame.bytes)?;
    let packet = ip::open(inner.packet)?;
    let what = transport::read(&packet, ports);
    let headers = (frame.bytes.len() - inner.packet.len()) as u32 + packet.headers();
    let length = frame.length.max(frame.bytes.len() as u32);
    let joined = joined(&packet, &what, headers, length, frame.segment);
    Ok(Sighting {
        at: frame.at,
        bytes: length.saturating_add((joined - 1).saturating_mul(headers + what.1)),
        packets: joined,
        macs: inner.macs,
        ends: packet.ends,
        ttl: packet.ttl,
        what: what.0,
    })
}

/// Of how many packets a frame was joined; each had its own headers on the line.
fn joined(
    packet: &ip::Packet<'_>,
    what: &(fanfare_monitor::observe::What, u32),
    headers: u32,
    length: u32,
    segment: u16,
) -> u32 {
    if segment == 0 || packet.is_fragment {
        return 1;
    }
    let content = length.saturating_sub(headers + what.1);
    content.div_ceil(u32::from(segment)).max(1)
}

#[cfg(test)]
#[path = "dissect_tests.rs"]
mod tests;
