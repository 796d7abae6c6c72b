//! The rate of a TCP flow, in packets a second (RFC 3738 3.2.2.3), and its inverse.

/// Loss is looked for between these: a packet in a hundred million, and all.
const LEAST: f64 = 1e-8;
const MOST: f64 = 1.0;
/// Halvings of the logarithm of that range: more exact than the measurements are.
const STEPS: u32 = 60;

/// REQN: packets a second at a loss probability and a round trip in seconds.
pub(super) fn rate(loss: f64, round_trip: f64) -> f64 {
    let loss = loss.clamp(LEAST, MOST);
    let penalty = 0.816 + 7.35 * loss * (1.0 + 32.0 * loss * loss);
    1.0 / (round_trip * libm::sqrt(loss) * penalty)
}

/// The loss probability at which the equation gives this rate.
pub(super) fn loss_at(rate_wanted: f64, round_trip: f64) -> f64 {
    let (mut low, mut high) = (libm::log(LEAST), libm::log(MOST));
    for _ in 0..STEPS {
        let middle = (low + high) / 2.0;
        // More loss, less rate.
        if rate(libm::exp(middle), round_trip) > rate_wanted {
            low = middle;
        } else {
            high = middle;
        }
    }
    libm::exp((low + high) / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_target_is_the_equations_from_a_thousandth_to_three_tenths_of_loss() {
        // 100 ms; worked out by hand: 1 / (0.1 sqrt(p) (0.816 + 7.35 p (1 + 32 p^2))).
        for (loss, packets) in
            [(0.001, 384.0744), (0.01, 112.3930), (0.1, 17.70394), (0.2, 5.365361), (0.3, 1.948206)]
        {
            let got = rate(loss, 0.1);
            assert!((got / packets - 1.0).abs() < 1e-4, "{loss}: {got}");
            // Twice the round trip, half the rate.
            assert!((rate(loss, 0.2) * 2.0 / got - 1.0).abs() < 1e-12);
        }
    }

    #[test]
    fn the_inverse_gives_the_loss_back() {
        for loss in [1e-6, 1e-3, 0.02, 0.3, 0.9] {
            assert!((loss_at(rate(loss, 0.07), 0.07) / loss - 1.0).abs() < 1e-6, "{loss}");
        }
        assert!(loss_at(1e12, 0.07) <= 2.0 * LEAST);
    }
}
