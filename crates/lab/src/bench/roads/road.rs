//! One road of `fanfare bench roads`: what is between sender and receivers, and the file.

use std::fmt;

use serde::Serialize;

use crate::bench::rate::short;

/// A network and the file that goes over it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct RoadCase {
    /// Line between sender and receivers.
    pub line: RoadLine,
    /// Receivers.
    pub receivers: usize,
    /// Bytes of the file.
    pub size: u64,
}

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
    /// A twentieth is lost, in bursts of four.
    Bursts,
    /// A twentieth comes twice.
    Doubled,
    /// A twentieth is held back by three delays.
    Reordered,
}

/// The time that a file takes on its line behind what a bucket passes at once, seconds: with less, a start
/// would be measured.
const SECONDS: u64 = 5;
/// Round trips that a file lasts at least, for the same reason.
const ROUND_TRIPS: u64 = 33;
/// Bytes that a policer passes at once.
pub(super) const POLICER_BURST: u64 = 64 << 10;
/// Time that packets may wait before a bucket, milliseconds.
pub(super) const WAIT_MS: u64 = 200;
/// A LAN's files, without and with loss: some tenths of a second at least.
const LAN_SIZE: u64 = 200_000_000;
const LOSSY_SIZE: u64 = 20_000_000;
/// Share of a line's rate that is told: headers that `--rate` does not count are 3 %, repairs need the rest.
const TOLD_PERCENT: u64 = 96;
/// Rates told on a LAN, without and with loss: below and above what receivers on two processors take.
const LAN_TOLD: &[u64] = &[1_000_000_000, 3_000_000_000];
const LOSSY_TOLD: &[u64] = &[50_000_000, 200_000_000];

const RATES: [u64; 5] = [56_000, 256_000, 1_000_000, 10_000_000, 100_000_000];
const BURSTS: [u64; 4] = [3_000, 16_000, 64_000, 256_000];
const POLICED: [u64; 3] = [1_000_000, 10_000_000, 100_000_000];
const LOSSES: [u32; 6] = [0, 1, 10, 20, 30, 40];
const EMULATED: [RoadLine; 8] = [
    emulated(56_000, 250, RoadTrouble::Delay),
    emulated(1_000_000, 50, RoadTrouble::Delay),
    emulated(10_000_000, 250, RoadTrouble::Delay),
    emulated(10_000_000, 50, RoadTrouble::Fair),
    emulated(10_000_000, 50, RoadTrouble::Red),
    emulated(10_000_000, 50, RoadTrouble::Bursts),
    emulated(10_000_000, 50, RoadTrouble::Doubled),
    // Three delays of 3 ms: 9 ms.
    emulated(10_000_000, 6, RoadTrouble::Reordered),
];
/// Roads of the short check: a collapse was seen on each of them once.
const SHORT: [RoadLine; 5] = [
    RoadLine::Bucket { rate_bps: 56_000, burst: 16_000 },
    RoadLine::Bucket { rate_bps: 1_000_000, burst: 64_000 },
    RoadLine::Bucket { rate_bps: 10_000_000, burst: 64_000 },
    RoadLine::Policer { rate_bps: 10_000_000 },
    RoadLine::Lan { loss_percent: 20 },
];
/// A short file lasts so long.
const SHORT_SECONDS: u64 = 3;

const fn emulated(rate_bps: u64, round_trip_ms: u32, trouble: RoadTrouble) -> RoadLine {
    RoadLine::Emulated { rate_bps, round_trip_ms, trouble }
}

impl RoadLine {
    fn all() -> Vec<Self> {
        let buckets = RATES.iter().flat_map(|&rate_bps| {
            BURSTS.iter().map(move |&burst| Self::Bucket { rate_bps, burst })
        });
        let policers = POLICED.iter().map(|&rate_bps| Self::Policer { rate_bps });
        let lans = LOSSES.iter().map(|&loss_percent| Self::Lan { loss_percent });
        buckets.chain(policers).chain(lans).chain(EMULATED).collect()
    }

    /// Rate that it passes, bit/s; `None`: as much as this machine can.
    fn rate_bps(self) -> Option<u64> {
        match self {
            Self::Bucket { rate_bps, .. }
            | Self::Policer { rate_bps }
            | Self::Emulated { rate_bps, .. } => Some(rate_bps),
            Self::Lan { .. } => None,
        }
    }

    /// Bytes that it passes at once.
    fn burst(self) -> u64 {
        match self {
            Self::Bucket { burst, .. } => burst,
            Self::Policer { .. } => POLICER_BURST,
            Self::Lan { .. } | Self::Emulated { .. } => 0,
        }
    }

    /// A file of so many seconds, and of as many round trips as a start may not hide.
    fn size(self, seconds: u64) -> u64 {
        let of_trips = |rate: u64, trip_ms: u32| rate / 8 * u64::from(trip_ms) * ROUND_TRIPS / 1000;
        match self {
            Self::Lan { loss_percent: 0 } => LAN_SIZE,
            Self::Lan { .. } => LOSSY_SIZE,
            Self::Emulated { rate_bps, round_trip_ms, .. } => {
                (rate_bps / 8 * seconds).max(of_trips(rate_bps, round_trip_ms))
            }
            Self::Bucket { rate_bps, .. } | Self::Policer { rate_bps } => {
                self.burst() + rate_bps / 8 * seconds
            }
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
        f.write_str(match self {
            Self::Delay => "delay",
            Self::Fair => "fair",
            Self::Red => "red",
            Self::Bursts => "bursts",
            Self::Doubled => "doubled",
            Self::Reordered => "reordered",
        })
    }
}

impl RoadCase {
    /// The roads of these names to each of these numbers of receivers; a star at the end stands for any
    /// rest. All of them for no name.
    ///
    /// # Errors
    /// Which name is unknown, and which there are.
    pub fn chosen(names: &[String], receivers: &[usize]) -> Result<Vec<Self>, String> {
        let all = RoadLine::all();
        let mut lines = Vec::new();
        for name in names.iter().map(|name| name.trim()) {
            let fits = |line: &&RoadLine| match name.strip_suffix('*') {
                Some(start) => line.to_string().starts_with(start),
                None => line.to_string() == name,
            };
            let before = lines.len();
            lines.extend(all.iter().filter(fits));
            if lines.len() == before {
                let names: Vec<String> = all.iter().map(RoadLine::to_string).collect();
                return Err(format!(
                    "road ({name}): no such road. Use one of {}",
                    names.join(", ")
                ));
            }
        }
        let lines = if names.is_empty() { all } else { lines };
        let to_all = |line: RoadLine| {
            receivers.iter().map(move |&receivers| Self {
                line,
                receivers,
                size: line.size(SECONDS),
            })
        };
        Ok(lines.into_iter().flat_map(to_all).collect())
    }

    /// The roads of the short check, to three receivers.
    #[must_use]
    pub fn short() -> Vec<Self> {
        let road = |line: RoadLine| Self { line, receivers: 3, size: line.size(SHORT_SECONDS) };
        SHORT.into_iter().map(road).collect()
    }

    /// Its name, in options and tables.
    #[must_use]
    pub fn name(&self) -> String {
        self.line.to_string()
    }

    /// The rates that are told, bit/s: the best of them counts.
    #[must_use]
    pub fn told(&self) -> Vec<u64> {
        match self.line {
            RoadLine::Lan { loss_percent: 0 } => LAN_TOLD.to_vec(),
            RoadLine::Lan { .. } => LOSSY_TOLD.to_vec(),
            line => line.rate_bps().map(|rate| rate / 100 * TOLD_PERCENT).into_iter().collect(),
        }
    }

    /// Time that the file takes, with nothing lost, seconds: on its line, or at the slowest rate that is told.
    pub(super) fn on_the_wire(&self) -> f64 {
        let rate = self.line.rate_bps().or(self.told().first().copied()).unwrap_or(1);
        let behind_burst = self.size.saturating_sub(self.line.burst());
        (behind_burst * 8) as f64 / rate as f64
    }

    /// Rate that its line passes, or the highest rate that is told, bit/s.
    pub(super) fn fastest(&self) -> u64 {
        self.line.rate_bps().or(self.told().last().copied()).unwrap_or(1)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn chosen(names: &[&str], receivers: &[usize]) -> Result<Vec<RoadCase>, String> {
        RoadCase::chosen(
            &names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>(),
            receivers,
        )
    }

    #[test]
    fn the_grid_has_each_bucket_policer_and_loss_to_each_number_of_receivers() {
        let all = chosen(&[], &[1, 3, 10]).unwrap();
        let count = RATES.len() * BURSTS.len() + POLICED.len() + LOSSES.len() + EMULATED.len();
        assert_eq!(all.len(), 3 * count);
        let names: BTreeSet<String> = all.iter().map(RoadCase::name).collect();
        assert_eq!(names.len(), count);
        for name in ["tbf-56k-3k", "tbf-100M-256k", "police-1M", "lan", "lan-loss40"] {
            assert!(names.contains(name), "{name} of {names:?}");
        }
    }

    #[test]
    fn roads_are_chosen_by_name_and_a_star_stands_for_any_rest() {
        let names: Vec<String> =
            chosen(&["police-*", "lan"], &[3]).unwrap().iter().map(RoadCase::name).collect();
        assert_eq!(names, ["police-1M", "police-10M", "police-100M", "lan"]);
        let unknown = chosen(&["lan", "tbf-57k"], &[3]).unwrap_err();
        assert!(unknown.contains("(tbf-57k)") && unknown.contains("tbf-56k-16k"), "{unknown}");
    }

    #[test]
    fn a_file_lasts_five_seconds_behind_what_a_bucket_passes_at_once() {
        let road = chosen(&["tbf-56k-16k"], &[1]).unwrap()[0];
        assert_eq!((road.size, road.told()), (16_000 + 35_000, vec![53_760]));
        assert!((road.on_the_wire() - 5.0).abs() < 0.01);
        let far = chosen(&["delay-10M-250ms"], &[1]).unwrap()[0];
        assert!((far.on_the_wire() - 8.25).abs() < 0.01, "{far:?}");
    }

    #[test]
    fn the_short_check_has_five_roads_that_take_less_than_a_minute_and_a_half() {
        let roads = RoadCase::short();
        let seconds: f64 = roads.iter().map(RoadCase::on_the_wire).sum();
        // By two senders, and three seconds for the beginning and the end of each.
        assert!(roads.len() == 5 && 2.0 * seconds + 30.0 < 90.0, "{seconds}");
    }
}
