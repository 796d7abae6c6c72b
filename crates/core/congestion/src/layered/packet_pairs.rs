//! Packet pairs: two packets are sent back to back. They arrive as far apart as the narrowest link
//! needs for one of them, or, with fair queueing, as the flow's share of that link needs (Keshav
//! 1991; Paxson 1999).

use super::{Channel, Header};
use fanfare_wire::units::time::Time;

/// Closer together than this the clock was read twice in one burst: no line is measured by that.
const GAP_MIN: f64 = 1e-7;

/// The first packet of a pair that may be under way.
#[derive(Debug, Default)]
pub(super) struct Pairs {
    first: Option<(Channel, u32, Time)>,
}

impl Pairs {
    /// Bit/s, when this packet is the second of a pair whose first came just before it.
    pub(super) fn on_packet(&mut self, now: Time, header: &Header, bytes: usize) -> Option<f64> {
        if header.first_of_pair {
            self.first = Some((header.channel, header.sequence, now));
            return None;
        }
        let (channel, sequence, at) = self.first.take()?;
        let follows = channel == header.channel && sequence.wrapping_add(1) == header.sequence;
        let gap = now.since(at).as_secs_f64();
        (follows && gap > GAP_MIN).then(|| 8.0 * bytes as f64 / gap)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::header;
    use super::*;
    use fanfare_wire::units::time::Duration;

    fn at(us: u64) -> Time {
        Time::ZERO + Duration::from_micros(us)
    }
    fn packet(sequence: u32, first_of_pair: bool) -> Header {
        Header { sequence, first_of_pair, ..header(0) }
    }

    #[test]
    fn a_pair_tells_the_narrowest_line() {
        let mut pairs = Pairs::default();
        assert_eq!(pairs.on_packet(at(0), &packet(0, true), 512), None);
        // 512 bytes in 10.24 ms: the thesis' 400 kbit/s.
        let rate = pairs.on_packet(at(10_240), &packet(1, false), 512);
        assert!(rate.is_some_and(|rate| (rate - 4e5).abs() < 1e-3), "{rate:?}");
    }

    #[test]
    fn half_a_pair_tells_nothing() {
        let mut pairs = Pairs::default();
        pairs.on_packet(at(0), &packet(0, true), 512);
        assert_eq!(pairs.on_packet(at(50), &packet(3, false), 512), None);
        assert_eq!(pairs.on_packet(at(90), &packet(4, false), 512), None);
        pairs.on_packet(at(95), &packet(6, true), 512);
        let elsewhere = Header { channel: Channel(9), ..packet(7, false) };
        assert_eq!(pairs.on_packet(at(99), &elsewhere, 512), None);
    }
}
