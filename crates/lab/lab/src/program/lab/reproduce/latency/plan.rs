//! The network of one run, and when its latency changes.

use std::{fmt::Write as _, time::Duration};

use fanfare_proto::rng::Rng;

use super::super::stage::Pace;

/// What it is called among experiments.
pub(in super::super) const NAME: &str = "s002-latency";

/// The line, bit/s, as in the paper; and its loads of TCP, with headers.
pub(super) const RATE: u32 = 256_000;
pub(super) const LOADS: [u32; 3] = [25_600, 128_000, 204_800];
/// Steps of a run, and how far apart they are. The paper says neither.
pub(super) const STEPS: usize = 12;
const APART: Duration = Duration::from_secs(10);
/// The first step. From `SETTLED` on is counted.
const FIRST: Duration = Duration::from_secs(14);
pub(super) const SETTLED: f64 = 6.0;
/// Latencies are multiples of this, ms, and so their steps; up to a second, as in the paper.
const STEP_MS: u64 = 50;
const MULTIPLES: u64 = 20;
/// A full segment, and its acknowledgement, with headers and time stamps.
const SEGMENT: u32 = 1500;
const HEADERS: u32 = 52;
/// A ping as the program sends it, with headers.
const PING: u32 = 84;

/// One run.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Plan {
    /// bit/s.
    pub(super) load: u32,
    pub(super) seed: u32,
    /// From when the round trip has which latency, seconds.
    pub(super) steps: Vec<(f64, f64)>,
}

impl Plan {
    /// Latencies are drawn by the seed, alike for all loads.
    pub(super) fn new(load: u32, count: usize, seed: u32) -> Self {
        let mut rng = Rng::new(u64::from(seed) + 1);
        let mut steps: Vec<(f64, f64)> = Vec::new();
        while steps.len() <= count {
            let latency = ((rng.next_u64() % MULTIPLES + 1) * STEP_MS) as f64 / 1e3;
            let at = match steps.len() {
                0 => 0.0,
                n => (FIRST + APART * (n as u32 - 1)).as_secs_f64(),
            };
            if steps.last().is_none_or(|(_, last)| *last != latency) {
                steps.push((at, latency));
            }
        }
        Self { load, seed, steps }
    }

    /// When the run ends, seconds.
    pub(super) fn end(&self) -> f64 {
        self.steps.last().map_or(0.0, |(at, _)| *at) + APART.as_secs_f64()
    }

    /// Three hosts on one line, which all that they send shares. Half of the latency is each way's.
    pub(super) fn scenario(&self) -> String {
        let mut text = "[scenario]\nname = \"latency\"\nduration = \"3600s\"\n".to_owned();
        for host in ["toc", "lav1", "lav2"] {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "[[node]]\nname = \"{host}\"\nhost = true");
        }
        let half = |latency: f64| (latency * 500.0).round();
        let first = self.steps.first().map_or(0.0, |(_, latency)| half(*latency));
        let _ = writeln!(
            text,
            "[[node]]\nname = \"line\"\n\
             [[link]]\nfrom = \"toc\"\nto = \"line\"\nboth = true\nrate = \"{RATE}bps\"\n\
             delay = \"{first}ms\"\n\
             [[link]]\nfrom = \"line\"\nto = \"lav1\"\nboth = true\ndelay = \"0ms\"\n\
             [[link]]\nfrom = \"line\"\nto = \"lav2\"\nboth = true\ndelay = \"0ms\""
        );
        for (at, latency) in self.steps.iter().skip(1) {
            let half = half(*latency);
            let _ = writeln!(
                text,
                "[[change]]\nat = \"{at}s\"\nlink = {{ from = \"toc\", to = \"line\", both = true, \
                 delay = \"{half}ms\" }}"
            );
        }
        text
    }

    /// Full segments, so far apart that they are the load.
    pub(super) fn pace(&self) -> Pace {
        let every = Duration::from_secs_f64(f64::from(SEGMENT * 8) / f64::from(self.load));
        Pace { bytes: (SEGMENT - HEADERS) as usize, every }
    }
}

/// What a load is called, kbit/s.
pub(super) fn name(load: u32) -> String {
    format!("{}", f64::from(load) / 1e3)
}

/// How long a ping and its answer are on the line themselves; and a segment and its acknowledgement. Seconds.
pub(super) fn on_the_line() -> [f64; 2] {
    [PING + PING, SEGMENT + HEADERS].map(|bytes| f64::from(bytes * 8) / f64::from(RATE))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::reproduce::stage;

    #[test]
    fn latencies_are_in_the_papers_bounds_and_alike_for_all_loads() {
        let plan = Plan::new(LOADS[0], STEPS, 3);
        assert_eq!(plan.steps.len(), STEPS + 1);
        assert!(plan.steps.iter().all(|(_, latency)| (0.05..=1.0).contains(latency)));
        assert!(plan.steps.windows(2).all(|two| (two[0].1 - two[1].1).abs() > 0.049));
        assert_eq!(plan.steps, Plan::new(LOADS[2], STEPS, 3).steps);
        assert_ne!(plan.steps, Plan::new(LOADS[0], STEPS, 4).steps);
    }

    #[test]
    fn the_scenario_is_one_and_the_pace_is_the_load() {
        let plan = Plan::new(LOADS[1], 2, 0);
        assert!(stage::scenario(&plan.scenario()).is_ok());
        assert_eq!(plan.pace().every, Duration::from_micros(93_750));
        assert!((on_the_line()[1] - 0.0485).abs() < 1e-9);
    }
}
