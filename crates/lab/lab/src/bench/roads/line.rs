//! Line of a road: what is between sender and receivers, and how long a file on it lasts.

use std::{fmt, time::Duration};

use serde::Serialize;

use crate::bench::rate::short;

/// Line between sender and receivers.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RoadLine {
    /// A token bucket of the kernel (tbf) on the sender's cable. Packets wait before it.
    Bucket {
        /// Rate that it passes, bit/s.
        rate_bps: u64,
        /// Bytes that it passes at once.
        burst: u64,
    },
    /// A policer of the kernel (nft) where the sender's cable meets the bridge. Nothing waits.
    Policer {
        /// Rate that it passes, bit/s.
        rate_bps: u64,
    },
    /// A bridge as fast as this machine. Each receiver loses packets, each for itself.
    Lan {
        /// Packets that are lost, of 100.
        loss_percent: u32,
    },
    /// The laboratory's emulator: a line with a queue of one product, a path with delay behind it.
    Emulated {
        /// Rate that the line passes, bit/s.
        rate_bps: u64,
        /// There and back without queues, milliseconds.
        round_trip_ms: u32,
        /// Trouble beside delay.
        trouble: RoadTrouble,
    },
}

/// Trouble on an emulated road beside delay.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RoadTrouble {
    /// Nothing.
    Delay,
    /// A queue for each flow.
    Fair,
    /// Random early detection.
    Red,
    /// Controlled delay (RFC 8289).
    CoDel,
    /// So many packets of 100 are lost, each by itself, at each receiver by itself.
    Loss(u32),
    /// So many of 100 are lost, in bursts of four (Gilbert-Elliott).
    Bursts(u32),
    /// A twentieth comes twice.
    Doubled,
    /// A twentieth is held back by three delays.
    Reordered,
    /// The way back has a tenth of the rate, for all receivers together.
    Asymmetric,
    /// The line has its rate and a fifth of it in turn, for five seconds each.
    Changing,
    /// Receivers have round trips from 10 ms up to this one.
    Unlike,
}

/// Round trips that a file lasts at least: with less, a start would be measured.
const ROUND_TRIPS: u64 = 33;
/// Bytes that a policer passes at once.
pub(super) const POLICER_BURST: u64 = 64 << 10;
/// A LAN's files, without and with loss: some tenths of a second at least.
const LAN_SIZE: u64 = 200_000_000;
const LOSSY_SIZE: u64 = 20_000_000;
/// Share of a line's rate that is told: headers that `--rate` does not count are 3 %, repairs need the rest.
const TOLD_PERCENT: u64 = 96;
/// Rates told on a LAN, without and with loss: below and above what receivers on two processors take.
const LAN_TOLD: &[u64] = &[1_000_000_000, 3_000_000_000];
const LOSSY_TOLD: &[u64] = &[50_000_000, 200_000_000];
/// A line from here on is perhaps faster than the emulator on this machine, bit/s: half of it is told, too.
const FAST: u64 = 1_000_000_000;
/// Time for which a line that changes has the same rate, seconds.
pub(super) const STEADY: u64 = 5;
/// Such a line's slow rate is its rate over this.
pub(super) const SLOWER: u64 = 5;
/// Changes that a file sees at least: two each way.
const CHANGES: u64 = 4;

pub(super) const fn emulated(rate_bps: u64, round_trip_ms: u32, trouble: RoadTrouble) -> RoadLine {
    RoadLine::Emulated { rate_bps, round_trip_ms, trouble }
}

impl RoadLine {
    /// Rate that it passes, bit/s, its mean where it changes; `None`: as much as this machine can.
    pub(super) fn rate_bps(self) -> Option<u64> {
        match self {
            Self::Emulated { rate_bps, trouble: RoadTrouble::Changing, .. } => {
                Some(rate_bps.midpoint(rate_bps / SLOWER))
            }
            Self::Bucket { rate_bps, .. }
            | Self::Policer { rate_bps }
            | Self::Emulated { rate_bps, .. } => Some(rate_bps),
            Self::Lan { .. } => None,
        }
    }

    /// Bytes that it passes at once.
    pub(super) fn burst(self) -> u64 {
        match self {
            Self::Bucket { burst, .. } => burst,
            Self::Policer { .. } => POLICER_BURST,
            Self::Lan { .. } | Self::Emulated { .. } => 0,
        }
    }

    /// Time there and back without queues: nothing where nobody adds any.
    pub(super) fn round_trip(self) -> Duration {
        match self {
            Self::Emulated { round_trip_ms, .. } => Duration::from_millis(round_trip_ms.into()),
            _ => Duration::ZERO,
        }
    }

    /// Size of a file that lasts so many seconds, and as many round trips as a start may not hide.
    pub(super) fn size(self, seconds: u64) -> u64 {
        let of_trips = |rate: u64, trip_ms: u32| rate / 8 * u64::from(trip_ms) * ROUND_TRIPS / 1000;
        let rate = self.rate_bps().unwrap_or_default();
        match self {
            Self::Lan { loss_percent: 0 } => LAN_SIZE,
            Self::Lan { .. } => LOSSY_SIZE,
            Self::Emulated { round_trip_ms, trouble, .. } => {
                let steady = if trouble == RoadTrouble::Changing { STEADY * CHANGES } else { 0 };
                (rate / 8 * seconds.max(steady)).max(of_trips(rate, round_trip_ms))
            }
            Self::Bucket { .. } | Self::Policer { .. } => self.burst() + rate / 8 * seconds,
        }
    }

    /// Rates that are told, bit/s: the best of them counts.
    pub(super) fn told(self) -> Vec<u64> {
        let of = |rate: u64| rate / 100 * TOLD_PERCENT;
        match self {
            Self::Lan { loss_percent: 0 } => LAN_TOLD.to_vec(),
            Self::Lan { .. } => LOSSY_TOLD.to_vec(),
            Self::Emulated { rate_bps, trouble: RoadTrouble::Changing, .. } => {
                [Some(rate_bps / SLOWER), self.rate_bps()].into_iter().flatten().map(of).collect()
            }
            Self::Emulated { rate_bps, .. } if rate_bps >= FAST => {
                vec![of(rate_bps / 2), of(rate_bps)]
            }
            line => line.rate_bps().map(of).into_iter().collect(),
        }
    }
}

impl fmt::Display for RoadLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bucket { rate_bps, burst } => {
                write!(f, "tbf-{}-{}", short(*rate_bps), short(*burst))
            }
            Self::Policer { rate_bps } => write!(f, "police-{}", short(*rate_bps)),
            Self::Lan { loss_percent: 0 } => f.write_str("lan"),
            Self::Lan { loss_percent } => write!(f, "lan-loss{loss_percent}"),
            Self::Emulated { rate_bps, round_trip_ms, trouble } => {
                write!(f, "{trouble}-{}-{round_trip_ms}ms", short(*rate_bps))
            }
        }
    }
}

impl fmt::Display for RoadTrouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Delay => f.write_str("delay"),
            Self::Fair => f.write_str("fair"),
            Self::Red => f.write_str("red"),
            Self::CoDel => f.write_str("codel"),
            Self::Loss(percent) => write!(f, "loss{percent}"),
            Self::Bursts(percent) => write!(f, "bursts{percent}"),
            Self::Doubled => f.write_str("doubled"),
            Self::Reordered => f.write_str("reordered"),
            Self::Asymmetric => f.write_str("asymmetric"),
            Self::Changing => f.write_str("changing"),
            Self::Unlike => f.write_str("unlike"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_changes_passes_its_mean_and_its_file_sees_four_changes() {
        for (rate, trip) in [(10_000_000, 50), (1_000_000, 250), (100_000_000, 50)] {
            let line = emulated(rate, trip, RoadTrouble::Changing);
            let mean = rate / 10 * 6;
            assert_eq!((line.rate_bps(), line.size(5)), (Some(mean), mean / 8 * 20));
            assert_eq!(line.told(), [rate / 5 / 100 * 96, mean / 100 * 96]);
        }
    }

    #[test]
    fn half_of_a_line_is_told_where_this_machine_may_be_slower() {
        let told = |rate: u64| emulated(rate, 50, RoadTrouble::Loss(1)).told();
        assert_eq!(told(1_000_000_000), [480_000_000, 960_000_000]);
        assert_eq!(told(100_000_000), [96_000_000]);
        assert_eq!(RoadLine::Bucket { rate_bps: FAST, burst: 64_000 }.told(), [960_000_000]);
    }

    #[test]
    fn only_the_emulator_adds_a_round_trip() {
        assert_eq!(emulated(1, 600, RoadTrouble::Fair).round_trip(), Duration::from_millis(600));
        assert_eq!(RoadLine::Lan { loss_percent: 20 }.round_trip(), Duration::ZERO);
        assert_eq!(RoadLine::Policer { rate_bps: 1 }.round_trip(), Duration::ZERO);
    }
}
