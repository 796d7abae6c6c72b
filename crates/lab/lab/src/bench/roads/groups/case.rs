//! Cases: what is published, to how many, and over what.

use std::fmt;

use serde::Serialize;

use crate::bench::rate::short;

/// One case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum GroupCase {
    /// One publisher, whose cable has a token bucket.
    Alone {
        /// Rate that the bucket passes, bit/s; `None`: there is none.
        rate_bps: Option<u64>,
        /// True if it has three long messages in place of many short ones.
        large: bool,
        /// Subscribers.
        subscribers: usize,
    },
    /// Several publishers at once to one subscriber, whose port has a token bucket.
    Shared {
        /// Rate that the bucket passes, bit/s.
        rate_bps: u64,
        /// Publishers.
        publishers: usize,
    },
}

/// Bytes of a short message, with its end of line.
const SHORT: u64 = 100;
/// Long messages, and the bytes of one.
const LARGE_COUNT: u64 = 3;
const LARGE: u64 = 1_000_000;
/// Long messages take so long at most, seconds: shorter ones on a slow line.
const LARGE_SECONDS: u64 = 30;
/// Short ones take so long, behind what the bucket passes at once.
const SECONDS: u64 = 5;
/// Short ones where there is no bucket.
const LAN_MESSAGES: u64 = 300_000;
/// Bytes that the bucket passes at once: on lines below half a megabit, and on others.
const SLOW_BURST: u64 = 16_000;
const BURST: u64 = 64_000;
const SLOW: u64 = 500_000;
/// The told rate, of the line's: short messages have more headers than `--rate` counts.
const TOLD_PERCENT: u64 = 90;
/// Told where there is no bucket: no limit.
const LAN_TOLD: u64 = 10_000_000_000;

const RATES: [Option<u64>; 4] = [Some(56_000), Some(1_000_000), Some(10_000_000), None];
const SHARED: u64 = 10_000_000;
const PUBLISHERS: [usize; 2] = [3, 10];

impl GroupCase {
    /// All cases, to so many subscribers each.
    #[must_use]
    pub fn all(subscribers: &[usize]) -> Vec<Self> {
        let alone = subscribers.iter().flat_map(|&subscribers| {
            [false, true].into_iter().flat_map(move |large| {
                RATES.map(|rate_bps| Self::Alone { rate_bps, large, subscribers })
            })
        });
        let shared = PUBLISHERS.map(|publishers| Self::Shared { rate_bps: SHARED, publishers });
        alone.chain(shared).collect()
    }

    /// The cases of these names, with a star for any rest. All of them for no name.
    ///
    /// # Errors
    /// Which name is unknown, and which there are.
    pub fn chosen(names: &[String], subscribers: &[usize]) -> Result<Vec<Self>, String> {
        let all = Self::all(subscribers);
        if names.is_empty() {
            return Ok(all);
        }
        let mut chosen = Vec::new();
        for name in names.iter().map(|name| name.trim()) {
            let fits = |case: &&Self| match name.strip_suffix('*') {
                Some(start) => case.to_string().starts_with(start),
                None => case.to_string() == name,
            };
            let before = chosen.len();
            chosen.extend(all.iter().filter(fits));
            if chosen.len() == before {
                let names: Vec<String> = Self::all(&[1]).iter().map(Self::to_string).collect();
                return Err(format!(
                    "road ({name}): no such case of groups. Use one of {}",
                    names.join(", ")
                ));
            }
        }
        Ok(chosen)
    }

    /// Rate that the bucket passes, bit/s.
    pub(super) fn rate_bps(self) -> Option<u64> {
        match self {
            Self::Alone { rate_bps, .. } => rate_bps,
            Self::Shared { rate_bps, .. } => Some(rate_bps),
        }
    }

    /// Bytes that the bucket passes at once.
    pub(super) fn burst(self) -> u64 {
        if self.rate_bps().is_some_and(|rate| rate < SLOW) { SLOW_BURST } else { BURST }
    }

    /// The rate that each publisher is told, bit/s.
    pub(super) fn told(self) -> u64 {
        let publishers = match self {
            Self::Alone { .. } => 1,
            Self::Shared { publishers, .. } => publishers as u64,
        };
        self.rate_bps().map_or(LAN_TOLD, |rate| rate / 100 * TOLD_PERCENT / publishers)
    }

    /// Number of messages that a publisher has; one that shares a port has no end of them.
    pub(super) fn messages(self) -> u64 {
        match self {
            Self::Alone { large: true, .. } => LARGE_COUNT,
            Self::Alone { rate_bps: Some(rate), .. } => (self.burst() + rate / 8 * SECONDS) / SHORT,
            Self::Alone { rate_bps: None, .. } => LAN_MESSAGES,
            Self::Shared { .. } => u64::MAX,
        }
    }

    /// Bytes of a message, with its end of line.
    pub(super) fn size(self) -> u64 {
        match self {
            Self::Alone { large: true, rate_bps: Some(rate), .. } => {
                LARGE.min(rate / 8 * LARGE_SECONDS / LARGE_COUNT)
            }
            Self::Alone { large: true, rate_bps: None, .. } => LARGE,
            Self::Alone { .. } | Self::Shared { .. } => SHORT,
        }
    }

    /// Time that its messages take on the line, without headers, seconds.
    pub(super) fn on_the_wire(self) -> f64 {
        let bits = (self.messages().saturating_mul(self.size()) * 8) as f64;
        bits / self.rate_bps().unwrap_or(BURST * 1000) as f64
    }
}

impl fmt::Display for GroupCase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Alone { rate_bps, large, .. } => {
                let what = if *large { "large" } else { "lines" };
                let rate = rate_bps.map_or_else(|| "lan".to_owned(), short);
                f.pad(&format!("{what}-{rate}"))
            }
            Self::Shared { rate_bps, publishers } => {
                f.pad(&format!("share-{}-{publishers}", short(*rate_bps)))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(name: &str) -> GroupCase {
        GroupCase::chosen(&[name.to_owned()], &[3]).unwrap()[0]
    }

    #[test]
    fn each_case_has_a_name_and_is_found_by_it() {
        let all = GroupCase::all(&[3]);
        assert_eq!(all.len(), 10);
        for one in all {
            assert_eq!(case(&one.to_string()), one);
        }
        let unknown = GroupCase::chosen(&["lines-2M".to_owned()], &[3]).unwrap_err();
        assert!(unknown.contains("lines-1M") && unknown.contains("share-10M-10"), "{unknown}");
    }

    #[test]
    fn long_messages_are_shorter_where_they_would_take_minutes() {
        assert_eq!((case("large-56k").size(), case("large-1M").size()), (70_000, 1_000_000));
        assert_eq!((case("lines-56k").messages(), case("lines-1M").messages()), (510, 6_890));
    }

    #[test]
    fn publishers_that_share_a_port_are_told_a_share_of_it() {
        assert_eq!((case("share-10M-10").told(), case("lines-1M").told()), (900_000, 900_000));
    }
}
