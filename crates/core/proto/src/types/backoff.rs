//! RandomBackoff (RFC 5401 3.2.1): a random wait before one of many receivers sends feedback.
//!
//! The distribution is a truncated exponential. Only a few receivers send early, and their feedback
//! suppresses that of the others. `ln` and `exp` come from `libm`, so that a seed gives the same
//! result on every machine.

use crate::types::{rng::Rng, time::Duration};

/// A random time in 0..=`max`, suited to `group_size` contenders.
pub fn random_backoff(max: Duration, group_size: u32, rng: &mut Rng) -> Duration {
    if max.is_zero() {
        return Duration::ZERO;
    }
    let max_s = max.as_secs_f64();
    // lambda = ln(group size) + 1: the optimum of the analysis that RFC 5401 refers to.
    let lambda = libm::log(f64::from(group_size.max(1))) + 1.0;
    let floor = lambda / (max_s * (libm::exp(lambda) - 1.0));
    let x = rng.unit() * (lambda / max_s) + floor;
    let t = (max_s / lambda) * libm::log(x * (libm::exp(lambda) - 1.0) * (max_s / lambda));
    Duration::from_secs_f64(t.clamp(0.0, max_s))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn backoff_stays_within_its_bound_and_most_values_are_late() {
        let mut rng = Rng::new(1);
        let max = Duration::from_secs(4);
        let times: alloc::vec::Vec<f64> =
            (0..10_000).map(|_| random_backoff(max, 1000, &mut rng).as_secs_f64()).collect();
        assert!(times.iter().all(|t| (0.0..=4.0).contains(t)));
        let mean = times.iter().sum::<f64>() / 1e4;
        assert!(
            mean > 3.0,
            "most of 1000 wait near the end, so that the first silences them: {mean}"
        );
    }

    #[test]
    fn a_zero_bound_means_now() {
        assert_eq!(random_backoff(Duration::ZERO, 1000, &mut Rng::new(1)), Duration::ZERO);
    }
}
