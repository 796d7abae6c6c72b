//! A TCP segment as plain data.

use fanfare_proto::Time;

/// SACK ranges that fit beside the timestamp option (RFC 2018 3).
pub const MAX_SACK_RANGES: usize = 3;

/// Bytes that have arrived out of order: from `start` up to, not including, `end`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SackRange {
    /// First byte.
    pub start: u64,
    /// The byte after the last.
    pub end: u64,
}

/// Up to three SACK ranges, the one that changed last in front.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sack {
    ranges: [SackRange; MAX_SACK_RANGES],
    count: usize,
}

impl Sack {
    /// The ranges.
    #[must_use]
    pub fn ranges(&self) -> &[SackRange] {
        &self.ranges[..self.count]
    }
    /// Bytes of the option with its padding (RFC 2018 3): none when there is nothing to say.
    fn wire_bytes(&self) -> u32 {
        if self.count == 0 { 0 } else { 4 + 8 * self.count as u32 }
    }
}

impl FromIterator<SackRange> for Sack {
    /// Takes the first three.
    fn from_iter<I: IntoIterator<Item = SackRange>>(ranges: I) -> Self {
        let mut sack = Self::default();
        for range in ranges.into_iter().take(MAX_SACK_RANGES) {
            sack.ranges[sack.count] = range;
            sack.count += 1;
        }
        sack
    }
}

/// A segment. Sequence numbers are 64-bit offsets into the stream: they do not wrap, and there is
/// no SYN or FIN to count. A network may set `congestion_experienced` on one that is `ecn_capable`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment {
    /// Offset of the first payload byte.
    pub sequence: u64,
    /// Payload bytes; 0 for a pure ACK.
    pub length: u32,
    /// The byte that the other end is waiting for.
    pub ack: u64,
    /// What it has beyond.
    pub sack: Sack,
    /// When this segment was sent (RFC 7323, TSval).
    pub timestamp: Time,
    /// `timestamp` of the segment that is answered (TSecr); `None` when nothing is.
    pub timestamp_echo: Option<Time>,
    /// ECT(0) in the IP header.
    pub ecn_capable: bool,
    /// CE in the IP header: set by a queue in place of a drop.
    pub congestion_experienced: bool,
    /// ECE: the receiver has seen a mark.
    pub ecn_echo: bool,
    /// CWR: the sender has answered it.
    pub window_reduced: bool,
    /// Headers without SACK ranges, from [`Config::header_bytes`](super::Config).
    pub header_bytes: u32,
}

impl Segment {
    /// The byte after the last.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.sequence + u64::from(self.length)
    }
    /// Bytes of the IP packet.
    #[must_use]
    pub fn wire_bytes(&self) -> usize {
        (self.header_bytes + self.sack.wire_bytes() + self.length) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sack_option_holds_three_ranges_in_28_bytes_and_none_in_0() {
        let range = |start| SackRange { start, end: start + 1 };
        let sack: Sack = (0..5).map(range).collect();
        assert_eq!(sack.ranges(), [range(0), range(1), range(2)]);
        assert_eq!(sack.wire_bytes(), 28);
        assert_eq!(Sack::default().wire_bytes(), 0);
    }
}
