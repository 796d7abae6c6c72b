//! Bytes of a frame, as far as they were copied, become a [`Sighting`]. Nothing is read past their end.
//!
//! - `frame`: what is given, and why it may tell nothing
//! - `link`: what is around an IP packet; `ip`: its headers; `transport`: what it carries

mod frame;
mod ip;
mod link;
mod transport;

use fanfare_messaging::monitor::observe::Sighting;

pub use frame::{Frame, Refused};
pub use link::LinkType;

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
    what: &(fanfare_messaging::monitor::observe::What, u32),
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
