//! Bits per second.

use crate::units::time::Duration;

/// A rate in bits per second of UDP payload. (NORM's wire forms count bytes per second.)
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Bitrate(u64);

impl Bitrate {
    /// Bits per second.
    #[must_use]
    pub const fn bps(bits: u64) -> Self {
        Self(bits)
    }
    /// Thousand bits per second.
    #[must_use]
    pub const fn kbps(kilobits: u64) -> Self {
        Self(kilobits * 1000)
    }
    /// Million bits per second.
    #[must_use]
    pub const fn mbps(megabits: u64) -> Self {
        Self(megabits * 1_000_000)
    }
    /// From bytes per second; negative and absurd values become 0 and the maximum.
    #[must_use]
    pub fn from_bytes_per_second(rate: f64) -> Self {
        Self((rate * 8.0) as u64)
    }
    /// Bits per second.
    #[must_use]
    pub const fn as_bps(self) -> u64 {
        self.0
    }
    /// Bytes per second.
    #[must_use]
    pub fn as_bytes_per_second(self) -> f64 {
        self.0 as f64 / 8.0
    }
    /// How long `bytes` take; for ever at rate zero.
    #[must_use]
    pub fn time_for(self, bytes: usize) -> Duration {
        if self.0 == 0 {
            return Duration::MAX;
        }
        // Mostly it fits a machine's word, in which dividing costs a tenth.
        if let Some(bit_nanos) = (bytes as u64).checked_mul(8 * 1_000_000_000) {
            return Duration::from_nanos(bit_nanos / self.0);
        }
        let nanos = bytes as u128 * 8 * 1_000_000_000 / u128::from(self.0);
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }
    /// Bytes that fit into `time`.
    #[must_use]
    pub fn bytes_in(self, time: Duration) -> u64 {
        let bytes = u128::from(self.0) * time.as_nanos() / 8 / 1_000_000_000;
        u64::try_from(bytes).unwrap_or(u64::MAX)
    }
}

impl core::fmt::Display for Bitrate {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self.0 {
            0..1_000 => write!(f, "{} bit/s", self.0),
            1_000..1_000_000 => write!(f, "{:.1} kbit/s", self.0 as f64 / 1e3),
            1_000_000..1_000_000_000 => write!(f, "{:.1} Mbit/s", self.0 as f64 / 1e6),
            _ => write!(f, "{:.2} Gbit/s", self.0 as f64 / 1e9),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kilobyte_takes_a_second_at_eight_kilobits() {
        assert_eq!(Bitrate::kbps(8).time_for(1000), Duration::from_secs(1));
        assert_eq!(Bitrate::kbps(8).bytes_in(Duration::from_secs(1)), 1000);
    }

    #[test]
    fn what_does_not_fit_a_word_is_reckoned_alike() {
        let rate = Bitrate::bps(8_000_000_000);
        let (within, beyond) = (1_usize << 31, 1_usize << 32);
        assert_eq!(rate.time_for(within) * 2, rate.time_for(beyond));
        assert_eq!(Bitrate::bps(1).time_for(usize::MAX), Duration::from_nanos(u64::MAX));
    }

    #[test]
    fn nothing_is_ever_sent_at_rate_zero() {
        assert_eq!(Bitrate::bps(0).time_for(1), Duration::MAX);
    }
}
