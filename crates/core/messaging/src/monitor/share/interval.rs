//! How often a node may speak: all that the nodes of a channel say together stays below a share of it, as
//! RTCP's reports do (RFC 3550, 6.2). The interval grows with the number of nodes.

use fanfare_wire::units::{Bitrate, Duration, Rng};

/// Between two notes of one of few nodes, while something changes and when nothing does. Seed 002 has one
/// and ten seconds.
const CHANGING: Duration = Duration::from_secs(1);
const STABLE: Duration = Duration::from_secs(5);
/// Nodes up to which the interval does not grow.
const FEW: f64 = 4.0;
/// Longest: a forged crowd must not silence a node.
const LONGEST: Duration = Duration::from_secs(300);

/// What a node may use of its channel.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Budget {
    /// What the channel carries.
    pub(crate) capacity: Bitrate,
    /// The share for all notes of all nodes.
    pub(crate) share: f64,
}

impl Budget {
    /// The mean interval of each of `nodes`, whose notes have `bytes` on the air.
    pub(crate) fn interval(&self, nodes: usize, bytes: f64, changing: bool) -> Duration {
        let nodes = nodes.max(1) as f64;
        let least = if changing { CHANGING } else { STABLE };
        let grown = least.as_secs_f64() * libm::sqrt((nodes / FEW).max(1.0));
        let allowed = self.share * self.capacity.as_bps() as f64;
        let shared = nodes * bytes * 8.0 / allowed.max(1.0);
        Duration::from_secs_f64(grown.max(shared).min(LONGEST.as_secs_f64()))
    }
}

/// A mean interval as it is waited for: from half of it to one and a half, so that nodes do not speak
/// together.
pub(crate) fn jittered(mean: Duration, rng: &mut Rng) -> Duration {
    mean.mul_f64(0.5 + rng.unit())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const RADIO: Budget = Budget { capacity: Bitrate::bps(218_750), share: 0.02 };

    #[test]
    fn twenty_four_vehicles_on_a_radio_are_held_by_the_share_and_then_by_their_number() {
        let seconds = |changing| RADIO.interval(24, 80.0, changing).as_secs_f64();
        assert!((seconds(true) - 3.51).abs() < 0.01, "{}", seconds(true));
        assert!((seconds(false) - 12.25).abs() < 0.01, "{}", seconds(false));
    }

    proptest! {
        #[test]
        fn all_together_never_use_more_than_their_share(
            nodes in 1..200_usize, bytes in 40.0..300.0_f64, changing in any::<bool>()
        ) {
            let each = bytes * 8.0 / RADIO.interval(nodes, bytes, changing).as_secs_f64();
            let all = each * nodes as f64;
            prop_assert!(all <= 0.02 * 218_750.0 * 1.001, "{}", all);
        }
    }
}
