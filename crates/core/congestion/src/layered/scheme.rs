//! How a session's rate is split into layers: equal, doubling, multiplicative, or as listed.
//!
//! Layers are cumulative: a receiver at level n has the first n layers, and their rates add up
//! (thesis, equation 5-1, which counts from 0; here a level is the number of layers).

use alloc::vec::Vec;
use fanfare_wire::units::rate::Bitrate;

/// Most layers of a session. The thesis has 100; a group each, and a router's table is finite.
pub const LAYERS_MAX: usize = 128;
/// Most of all layers together: beyond any line, and exact in every sum.
pub const TOTAL_MAX: Bitrate = Bitrate::bps(1_000_000_000_000);
/// A factor travels in thousandths.
const FACTOR_UNIT: f64 = 1000.0;

/// A rule that gives each layer its rate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scheme {
    /// All layers alike: ERA's default, 100 of 20 kbit/s.
    Equal {
        /// Of each layer.
        rate: Bitrate,
        /// How many.
        count: u8,
    },
    /// The sum of n layers is `base` times factor to the n - 1: 2 for RLM and RLC, 1.3 for FLID-DL
    /// and PLM.
    Multiplicative {
        /// Of the first layer.
        base: Bitrate,
        /// In thousandths, above 1000.
        factor: u16,
        /// How many.
        count: u8,
    },
    /// WEBRC's base channel and waves: at the beginning of a slot each has the rate of the one
    /// before, divided by `fall`.
    Waves {
        /// Of the base channel.
        base: Bitrate,
        /// What is left of a rate after a slot, in thousandths; below 1000.
        fall: u16,
        /// Base channel and active waves.
        count: u8,
    },
    /// As the source's coding has it.
    Listed(Vec<Bitrate>),
}

impl Scheme {
    /// Each layer doubles the sum.
    #[must_use]
    pub const fn doubling(base: Bitrate, count: u8) -> Self {
        Self::Multiplicative { base, factor: 2000, count }
    }

    /// The layers, when they are such as a session may have.
    ///
    /// # Errors
    /// Why not.
    pub fn layers(&self) -> Result<Layers, SchemeError> {
        let rates = match self {
            Self::Equal { rate, count } => alloc::vec![rate.as_bps() as f64; usize::from(*count)],
            Self::Multiplicative { factor, .. } if *factor <= FACTOR_UNIT as u16 => {
                return Err(SchemeError::Factor(*factor));
            }
            Self::Multiplicative { base, factor, count } => {
                let factor = f64::from(*factor) / FACTOR_UNIT;
                let sum = |n: u8| base.as_bps() as f64 * libm::pow(factor, f64::from(n));
                let layer = |n: u8| if n == 0 { sum(0) } else { sum(n) - sum(n - 1) };
                (0..*count).map(layer).collect()
            }
            Self::Waves { fall, .. } if !(1..FACTOR_UNIT as u16).contains(fall) => {
                return Err(SchemeError::Factor(*fall));
            }
            Self::Waves { base, fall, count } => {
                let fall = f64::from(*fall) / FACTOR_UNIT;
                let layer = |n: u8| base.as_bps() as f64 * libm::pow(fall, -f64::from(n));
                (0..*count).map(layer).collect()
            }
            Self::Listed(rates) => rates.iter().map(|rate| rate.as_bps() as f64).collect(),
        };
        Layers::new(&rates)
    }
}

/// Why layers are not such as a session may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SchemeError {
    /// None, or more than [`LAYERS_MAX`].
    Count(usize),
    /// A layer, by number, without a rate.
    Silent(usize),
    /// Together more than [`TOTAL_MAX`].
    Total,
    /// A factor, in thousandths, that does not grow; or waves that do not fall.
    Factor(u16),
}

/// Rates of layers, and their sums.
#[derive(Debug, Clone, PartialEq)]
pub struct Layers {
    /// `sums[n]`: bit/s of the first n layers.
    sums: Vec<f64>,
}

impl Layers {
    fn new(rates: &[f64]) -> Result<Self, SchemeError> {
        if rates.is_empty() || rates.len() > LAYERS_MAX {
            return Err(SchemeError::Count(rates.len()));
        }
        if let Some(silent) = rates.iter().position(|rate| *rate < 1.0) {
            return Err(SchemeError::Silent(silent));
        }
        let mut sums = alloc::vec![0.0];
        for rate in rates {
            sums.push(sums[sums.len() - 1] + rate);
        }
        let total = sums[rates.len()];
        if total > TOTAL_MAX.as_bps() as f64 {
            return Err(SchemeError::Total);
        }
        Ok(Self { sums })
    }

    /// How many.
    #[must_use]
    pub fn count(&self) -> usize {
        self.sums.len() - 1
    }
    /// Bit/s of one layer, from 0; none beyond the last.
    #[must_use]
    pub fn rate(&self, layer: usize) -> f64 {
        self.sum(layer + 1) - self.sum(layer)
    }
    /// Bit/s of the first `level` layers.
    #[must_use]
    pub fn sum(&self, level: usize) -> f64 {
        self.sums[level.min(self.count())]
    }
    /// The most layers whose sum is at most `rate`. A millionth is forgiven: a time between two
    /// packets is known to a nanosecond.
    #[must_use]
    pub fn level_at(&self, rate: f64) -> usize {
        self.sums.partition_point(|sum| *sum <= rate * (1.0 + 1e-6)).max(1) - 1
    }
    /// The most layers whose sum is below `rate`.
    #[must_use]
    pub fn level_below(&self, rate: f64) -> usize {
        self.sums.partition_point(|sum| *sum < rate * (1.0 - 1e-6)).max(1) - 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_layers_add_up_and_a_level_fits_below_a_rate() {
        let layers = Scheme::Equal { rate: Bitrate::kbps(20), count: 100 }.layers().unwrap();
        assert_eq!((layers.count(), layers.sum(20), layers.rate(7)), (100, 4e5, 2e4));
        assert_eq!([layers.level_at(4e5), layers.level_below(4e5)], [20, 19]);
        assert_eq!(
            [layers.level_at(1e9), layers.level_at(0.0), layers.level_at(-1.0)],
            [100, 0, 0]
        );
    }

    #[test]
    fn multiplicative_layers_sum_as_the_thesis_lists_them() {
        // 12 kbit/s times 1.3: 13 layers are 279.58 kbit/s, 14 are 363.45, 16 are 614 (4.8.4, 4.8.7).
        let scheme = Scheme::Multiplicative { base: Bitrate::kbps(12), factor: 1300, count: 26 };
        let layers = scheme.layers().unwrap();
        for (level, kbps) in [(1, 12.0), (13, 279.58), (14, 363.45), (16, 614.23)] {
            assert!(
                (layers.sum(level) / 1e3 - kbps).abs() < 0.01,
                "{level}: {}",
                layers.sum(level)
            );
        }
        // Table A-1: packets of 512 bytes in 50 s with 23 layers.
        assert!((layers.sum(23) * 50.0 / 4096.0 - 47_048.42).abs() < 0.01);
    }

    #[test]
    fn doubling_layers_double_the_sum() {
        let layers = Scheme::doubling(Bitrate::kbps(32), 6).layers().unwrap();
        assert_eq!([layers.sum(1), layers.sum(2), layers.sum(6)], [32e3, 64e3, 1024e3]);
    }

    #[test]
    fn absurd_schemes_are_refused() {
        let equal = |rate, count| Scheme::Equal { rate: Bitrate::bps(rate), count }.layers();
        assert_eq!(equal(20_000, 0), Err(SchemeError::Count(0)));
        assert_eq!(equal(20_000, 200), Err(SchemeError::Count(200)));
        assert_eq!(equal(0, 3), Err(SchemeError::Silent(0)));
        assert_eq!(equal(u64::MAX / 4, 3), Err(SchemeError::Total));
        let flat = Scheme::Multiplicative { base: Bitrate::kbps(1), factor: 1000, count: 3 };
        assert_eq!(flat.layers(), Err(SchemeError::Factor(1000)));
        for fall in [0, 1000] {
            let level = Scheme::Waves { base: Bitrate::kbps(1), fall, count: 3 };
            assert_eq!(level.layers(), Err(SchemeError::Factor(fall)));
        }
    }
}
