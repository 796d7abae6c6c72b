//! All roads of `fanfare bench roads`, and to how many receivers each goes.

use super::line::{RoadLine, RoadTrouble, emulated};

const RATES: [u64; 5] = [56_000, 256_000, 1_000_000, 10_000_000, 100_000_000];
const BURSTS: [u64; 4] = [3_000, 16_000, 64_000, 256_000];
const POLICED: [u64; 3] = [1_000_000, 10_000_000, 100_000_000];
const LOSSES: [u32; 7] = [0, 1, 10, 20, 25, 30, 40];
const KILO: u64 = 1_000;
const MEGA: u64 = 1_000 * KILO;
const GIGA: u64 = 1_000 * MEGA;

const EMULATED: [RoadLine; 34] = [
    emulated(56 * KILO, 250, RoadTrouble::Delay),
    emulated(56 * KILO, 600, RoadTrouble::Delay),
    emulated(256 * KILO, 50, RoadTrouble::Delay),
    emulated(MEGA, 50, RoadTrouble::Delay),
    emulated(MEGA, 600, RoadTrouble::Delay),
    emulated(10 * MEGA, 250, RoadTrouble::Delay),
    emulated(10 * MEGA, 600, RoadTrouble::Delay),
    emulated(100 * MEGA, 50, RoadTrouble::Delay),
    emulated(GIGA, 50, RoadTrouble::Delay),
    emulated(GIGA, 250, RoadTrouble::Delay),
    emulated(GIGA, 50, RoadTrouble::Loss(1)),
    emulated(GIGA, 250, RoadTrouble::Loss(1)),
    emulated(GIGA, 150, RoadTrouble::Unlike),
    emulated(10 * MEGA, 150, RoadTrouble::Unlike),
    emulated(10 * MEGA, 50, RoadTrouble::Fair),
    emulated(10 * MEGA, 50, RoadTrouble::Red),
    emulated(10 * MEGA, 50, RoadTrouble::CoDel),
    emulated(10 * MEGA, 50, RoadTrouble::Loss(1)),
    emulated(10 * MEGA, 50, RoadTrouble::Loss(10)),
    emulated(10 * MEGA, 50, RoadTrouble::Loss(20)),
    emulated(10 * MEGA, 50, RoadTrouble::Loss(25)),
    emulated(10 * MEGA, 50, RoadTrouble::Loss(30)),
    emulated(10 * MEGA, 50, RoadTrouble::Loss(40)),
    emulated(10 * MEGA, 50, RoadTrouble::Bursts(5)),
    emulated(10 * MEGA, 50, RoadTrouble::Bursts(10)),
    emulated(10 * MEGA, 50, RoadTrouble::Bursts(20)),
    emulated(10 * MEGA, 50, RoadTrouble::Bursts(40)),
    emulated(10 * MEGA, 50, RoadTrouble::Doubled),
    // Three delays of 3 ms: 9 ms.
    emulated(10 * MEGA, 6, RoadTrouble::Reordered),
    emulated(256 * KILO, 50, RoadTrouble::Asymmetric),
    emulated(10 * MEGA, 50, RoadTrouble::Asymmetric),
    emulated(MEGA, 250, RoadTrouble::Changing),
    emulated(10 * MEGA, 50, RoadTrouble::Changing),
    emulated(100 * MEGA, 50, RoadTrouble::Changing),
];

/// Numbers of receivers where none is asked for.
const RECEIVERS: [usize; 3] = [1, 3, 10];
/// A gigabit to more than three is more than the emulator carries on a few processors.
const FAST_RECEIVERS: [usize; 2] = [1, 3];
/// Unlike receivers need some that differ.
const UNLIKE_RECEIVERS: [usize; 1] = [10];
/// A crowd, and roads of each kind that go to one, too.
const CROWD: usize = 60;
const CROWDED: [RoadLine; 7] = [
    RoadLine::Bucket { rate_bps: MEGA, burst: 64_000 },
    RoadLine::Bucket { rate_bps: 10 * MEGA, burst: 64_000 },
    RoadLine::Policer { rate_bps: 10 * MEGA },
    RoadLine::Lan { loss_percent: 0 },
    RoadLine::Lan { loss_percent: 20 },
    emulated(10 * MEGA, 50, RoadTrouble::Loss(10)),
    emulated(10 * MEGA, 50, RoadTrouble::Asymmetric),
];

/// Roads of the short check: a collapse was seen on each of them once.
pub(super) const SHORT: [RoadLine; 5] = [
    RoadLine::Bucket { rate_bps: 56 * KILO, burst: 16_000 },
    RoadLine::Bucket { rate_bps: MEGA, burst: 64_000 },
    RoadLine::Bucket { rate_bps: 10 * MEGA, burst: 64_000 },
    RoadLine::Policer { rate_bps: 10 * MEGA },
    RoadLine::Lan { loss_percent: 20 },
];

/// All lines, the kernel's first.
pub(super) fn lines() -> Vec<RoadLine> {
    let buckets = RATES.iter().flat_map(|&rate_bps| {
        BURSTS.iter().map(move |&burst| RoadLine::Bucket { rate_bps, burst })
    });
    let policers = POLICED.iter().map(|&rate_bps| RoadLine::Policer { rate_bps });
    let lans = LOSSES.iter().map(|&loss_percent| RoadLine::Lan { loss_percent });
    buckets.chain(policers).chain(lans).chain(EMULATED).collect()
}

/// Numbers of receivers of a line where none is asked for.
pub(super) fn receivers(line: RoadLine) -> Vec<usize> {
    let RoadLine::Emulated { rate_bps, trouble, .. } = line else {
        return with_crowd(line, &RECEIVERS);
    };
    match trouble {
        RoadTrouble::Unlike => UNLIKE_RECEIVERS.to_vec(),
        _ if rate_bps >= GIGA => FAST_RECEIVERS.to_vec(),
        _ => with_crowd(line, &RECEIVERS),
    }
}

fn with_crowd(line: RoadLine, few: &[usize]) -> Vec<usize> {
    let crowd = CROWDED.contains(&line).then_some(CROWD);
    few.iter().copied().chain(crowd).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_grid_has_each_bucket_policer_and_loss_and_each_line_once() {
        let names: Vec<String> = lines().iter().map(RoadLine::to_string).collect();
        let count = RATES.len() * BURSTS.len() + POLICED.len() + LOSSES.len() + EMULATED.len();
        assert_eq!((names.len(), names.iter().collect::<BTreeSet<_>>().len()), (count, count));
        for name in
            ["tbf-56k-3k", "tbf-100M-256k", "police-1M", "lan", "lan-loss25", "delay-1G-250ms"]
        {
            assert!(names.contains(&name.to_owned()), "{name} of {names:?}");
        }
    }

    #[test]
    fn a_gigabit_goes_to_few_unlike_receivers_are_ten_and_some_roads_have_a_crowd() {
        let to = |name: &str| {
            receivers(lines().into_iter().find(|line| line.to_string() == name).unwrap())
        };
        assert_eq!(to("tbf-56k-3k"), [1, 3, 10]);
        assert_eq!(to("lan-loss20"), [1, 3, 10, 60]);
        assert_eq!(to("loss1-1G-50ms"), [1, 3]);
        assert_eq!(to("unlike-1G-150ms"), [10]);
        for line in CROWDED {
            assert!(lines().contains(&line), "{line}");
        }
    }
}
