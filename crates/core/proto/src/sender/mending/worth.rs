//! How much parity is worth its time.

use alloc::vec::Vec;

/// How many parity symbols to send with a block of `len` symbols to receivers that each lose `loss`
/// of what is sent: one more as long as the round that it saves, times the chance that it is the one
/// that saves it, is worth more than its own time, times the chance that all have enough without it.
/// `worth`: the time of a round over that of a symbol.
pub(in crate::sender) fn parity_worth(len: u16, losses: &[f64], worth: f64, most: u16) -> u16 {
    // Chance that just `k` symbols are lost before `len` have arrived, and that fewer are.
    let start = |loss: &f64| (*loss, libm::pow(1.0 - loss, f64::from(len)), 0.0);
    let mut state: Vec<(f64, f64, f64)> = losses.iter().map(start).collect();
    let mut before = 0.0;
    for k in 0..most {
        let mut now = 1.0;
        for (loss, just, fewer) in &mut state {
            *fewer += *just;
            *just *= (f64::from(len) + f64::from(k)) / (f64::from(k) + 1.0) * *loss;
            now *= *fewer;
        }
        // `now`: all have enough with `k`; `before`: with one less.
        if (now - before) * worth < before {
            return k.saturating_sub(1);
        }
        before = now;
    }
    most
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_loss_no_parity_is_sent_in_advance() {
        assert_eq!(parity_worth(128, &[0.0, 0.0], 1000.0, 127), 0);
        assert_eq!(parity_worth(128, &[], 1000.0, 127), 0);
    }

    #[test]
    fn the_longer_a_round_takes_and_the_more_receivers_lose_the_more_is_sent() {
        // 128 symbols, 5 % lost: 6.7 on the average.
        let worth = |losses: &[f64], worth| parity_worth(128, losses, worth, 127);
        assert_eq!([2.0, 20.0, 1000.0].map(|rounds| worth(&[0.05], rounds)), [5, 10, 16]);
        assert_eq!(worth(&[0.05; 3], 1000.0), 17);
        assert_eq!(worth(&[0.001], 1000.0), 2);
        assert_eq!(parity_worth(128, &[0.5], 1000.0, 20), 20, "no more than there is");
    }
}
