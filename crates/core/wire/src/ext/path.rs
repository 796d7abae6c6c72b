//! EXT_PATH, ours: what a receiver measures of its path, beside EXT_CC. Travels in NACK and ACK when
//! the sender asked for it (EXT_MODE 4). NRL's senders skip it.
//!
//! ```text
//! +---------------+---------------+-------------------------------+
//! |   het = 66    |    hel = 6    |       delivered rate          |
//! +---------------+---------------+-------------------------------+
//! |                 queueing delay, microseconds                  |
//! +---------------------------------------------------------------+
//! |             least queueing delay, microseconds                |
//! +-------------------------------+-------------------------------+
//! |     lost, of 65535            |       marked, of 65535        |
//! +-------------------------------+-------------------------------+
//! |   bottleneck rate, 0 unknown  |           reserved            |
//! +-------------------------------+-------------------------------+
//! |    pace, 4096 as it was sent  |   least delay, 16 us mod 2^16 |
//! +-------------------------------+-------------------------------+
//! ```

use crate::QuantizedRate;
use alloc::vec::Vec;

/// A share in sixteen bits.
const WHOLE: f64 = 65_535.0;
/// The pace of a queue that neither grows nor shrinks.
const SAME: f64 = 4096.0;

/// What one receiver measured over about the last round trip.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExtPath {
    /// Bytes a second that arrived.
    pub delivered: QuantizedRate,
    /// One-way delay above the least ever seen, mean, microseconds.
    pub queue_micros: u32,
    /// The same, least: what stands in the queue all the time.
    pub standing_micros: u32,
    /// Messages lost, of 65535.
    pub lost: u16,
    /// Messages marked by a router (congestion experienced), of 65535 that arrived.
    pub marked: u16,
    /// Bytes a second that the narrowest link passes, as trains of messages tell;
    /// [`QuantizedRate::ZERO`] when not known.
    pub bottleneck: QuantizedRate,
    /// The pace of arrivals to that of sending, of 4096: less while a queue grows.
    pub pace: u16,
    /// The least delay lately, in units of [`Self::BASE_UNIT`]: clocks differ, so that only its
    /// changes tell, modulo 2^16.
    pub base: u16,
}

impl ExtPath {
    /// Header extension type.
    pub const HET: u8 = 66;
    /// Bytes on the wire.
    pub const LEN: usize = 24;

    /// Seconds in a unit of the least delay.
    pub const BASE_UNIT: f64 = 16e-6;

    /// A share as it travels.
    #[must_use]
    pub fn share(part: f64) -> u16 {
        (part.clamp(0.0, 1.0) * WHOLE + 0.5) as u16
    }
    /// A pace as it travels.
    #[must_use]
    pub fn quantized_pace(pace: f64) -> u16 {
        (pace * SAME + 0.5) as u16
    }
    /// A least delay as it travels.
    #[must_use]
    pub fn quantized_base(seconds: f64) -> u16 {
        (seconds / Self::BASE_UNIT) as i64 as u16
    }
    /// By how many seconds the least delay has fallen from what it was `before`; negative when it
    /// has risen.
    #[must_use]
    pub fn fallen(before: u16, now: u16) -> f64 {
        f64::from(before.wrapping_sub(now) as i16) * Self::BASE_UNIT
    }
    /// The pace of arrivals to that of sending.
    #[must_use]
    pub fn to_pace(&self) -> f64 {
        f64::from(self.pace) / SAME
    }
    /// Share of messages lost, 0 to 1.
    #[must_use]
    pub fn loss(&self) -> f64 {
        f64::from(self.lost) / WHOLE
    }
    /// Share of messages marked, 0 to 1.
    #[must_use]
    pub fn marks(&self) -> f64 {
        f64::from(self.marked) / WHOLE
    }

    /// From the bytes behind type and length.
    pub(super) fn read(content: &[u8]) -> Option<Self> {
        let content: &[u8; 22] = content.try_into().ok()?;
        let short = |at: usize| u16::from_be_bytes([content[at], content[at + 1]]);
        let long = |at: usize| u32::from(short(at)) << 16 | u32::from(short(at + 2));
        Some(Self {
            delivered: QuantizedRate(short(0)),
            queue_micros: long(2),
            standing_micros: long(6),
            lost: short(10),
            marked: short(12),
            bottleneck: QuantizedRate(short(14)),
            pace: short(18),
            base: short(20),
        })
    }

    /// Appends the extension.
    pub fn append(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&[Self::HET, (Self::LEN / 4) as u8]);
        out.extend_from_slice(&self.delivered.0.to_be_bytes());
        out.extend_from_slice(&self.queue_micros.to_be_bytes());
        out.extend_from_slice(&self.standing_micros.to_be_bytes());
        out.extend_from_slice(&self.lost.to_be_bytes());
        out.extend_from_slice(&self.marked.to_be_bytes());
        out.extend_from_slice(&self.bottleneck.0.to_be_bytes());
        out.extend_from_slice(&[0; 2]);
        out.extend_from_slice(&self.pace.to_be_bytes());
        out.extend_from_slice(&self.base.to_be_bytes());
    }
}
