//! Reno's congestion avoidance (RFC 5681 3.1).

/// RFC 5681, equation 4.
const DECREASE: f64 = 0.5;

/// What to add to the window for `acked` segments: one in a whole window of them.
pub(super) fn increase(window: f64, acked: f64) -> f64 {
    acked / window
}

/// The window after a loss. It counts the window where RFC 5681 counts what is in flight; for a
/// sender that fills its window they are the same.
pub(super) fn decrease(window: f64) -> f64 {
    window * DECREASE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_full_of_acks_adds_one_segment_and_a_loss_takes_half() {
        let window = (0..20).fold(20.0, |window: f64, _| window + increase(window, 1.0));
        assert!((20.9..=21.0).contains(&window), "{window}");
        assert!((decrease(20.0) - 10.0).abs() < 1e-9);
    }
}
