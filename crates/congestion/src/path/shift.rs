//! A path that became longer: another route, or a satellite's handover. It looks like a queue, but to
//! send less does not shorten it.

use fanfare_units::time::{Duration, Time};

/// So many round trips in a row tell. The law takes 4 % of the rate in one of them where 50 ms became 60,
/// so that the sender is then some 30 % slower. A queue of its own would have gone long before.
const ROUNDS: usize = 8;
/// And no fewer messages in one: the least delay of a few is chance.
const MESSAGES_MIN: u64 = 8;
/// The least delays of these round trips differ by no more than this part of what seems to be queued.
/// A queue that others fill moves by more, as they try for more (CUBIC, BBR) or yield (`auto`).
const STILL: f64 = 0.05;
/// Or by no more than this, seconds: timers and batches.
const STILL_MIN: f64 = 0.3e-3;
/// Meanwhile the sender has slowed down to this part of its rate.
const SLOWED: f64 = 0.8;
/// A queue of so many times what the flow wants is none that flows of one kind rest at.
const OVER: f64 = 4.0;

/// A round trip.
#[derive(Debug, Clone, Copy, Default)]
struct Round {
    /// Least delay, seconds, by clocks that differ by anything.
    least: f64,
    /// Messages a second, with those that were lost.
    rate: f64,
}

/// Looks for it.
#[derive(Debug, Default)]
pub(super) struct Shift {
    begun: Time,
    messages: u64,
    least: Option<f64>,
    /// Newest first.
    rounds: [Round; ROUNDS],
    known: usize,
}

impl Shift {
    /// So many messages were sent.
    pub(super) fn on_messages(&mut self, messages: u64) {
        self.messages += messages;
    }

    /// A message took `delay` seconds, of which `base` is no queue, in round trips of `rtt`. What is no
    /// queue from now on, where the path became longer; `wanted` tells the queue that a rate wants.
    pub(super) fn on_delay(
        &mut self,
        now: Time,
        (delay, base): (f64, f64),
        rtt: Duration,
        wanted: impl Fn(f64) -> f64,
    ) -> Option<f64> {
        let least = self.least.map_or(delay, |least| least.min(delay));
        self.least = Some(least);
        let lasted = now.since(self.begun);
        if lasted < rtt || self.messages < MESSAGES_MIN {
            return None;
        }
        let rate = self.messages as f64 / lasted.as_secs_f64();
        (self.begun, self.messages, self.least) = (now, 0, None);
        self.rounds.rotate_right(1);
        self.rounds[0] = Round { least, rate };
        self.known = (self.known + 1).min(ROUNDS);
        if self.known < ROUNDS {
            return None;
        }
        let all = self.rounds.iter();
        let low = all.clone().fold(f64::INFINITY, |low, round| low.min(round.least));
        let high = all.clone().fold(f64::NEG_INFINITY, |high, round| high.max(round.least));
        let fastest = all.fold(0.0, |fastest: f64, round| fastest.max(round.rate));
        let queue = low - base;
        let still = high - low <= (STILL * queue).max(STILL_MIN);
        let long = queue > OVER * wanted(rate).max(STILL_MIN);
        let shifted = still && long && rate <= SLOWED * fastest;
        if shifted {
            self.known = 0;
        }
        shifted.then_some(low)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Duration = Duration::from_millis(60);

    /// Base delay 25 ms, and `delay(n)` ms in round trip `n`, with so many messages in it; when it was
    /// taken for a longer path, and for which.
    fn seen(rounds: u64, of: impl Fn(u64) -> (f64, u64)) -> Option<(u64, f64)> {
        let mut shift = Shift::default();
        for round in 0..rounds {
            let (delay, messages) = of(round);
            for message in 0..messages {
                let now =
                    Time::ZERO + RTT * round as u32 + RTT.mul_f64(message as f64 / messages as f64);
                shift.on_messages(1);
                let delays = (delay / 1e3, 0.025);
                if let Some(base) = shift.on_delay(now, delays, RTT, |_| 0.6e-3) {
                    return Some((round, base));
                }
            }
        }
        None
    }

    #[test]
    fn a_delay_that_stands_still_while_the_sender_slows_down_is_a_longer_path() {
        let found = seen(40, |round| match round {
            0..10 => (25.0, 200),
            _ => (35.0, 200 - 8 * (round - 10).min(20)),
        });
        let (round, base) = found.unwrap();
        assert!((17..22).contains(&round) && (base - 0.035).abs() < 1e-9, "{found:?}");
    }

    #[test]
    fn a_delay_that_stands_still_at_a_steady_rate_may_be_a_queue() {
        assert_eq!(seen(60, |round| (if round < 10 { 25.0 } else { 35.0 }, 200)), None);
    }

    #[test]
    fn a_queue_that_others_fill_moves() {
        let slower = |round: u64| 200 - 4 * round.min(40);
        assert_eq!(seen(60, |round| (45.0 + (round % 12) as f64, slower(round))), None);
        assert_eq!(seen(60, |round| (45.0 + round as f64 / 2.0, slower(round))), None);
    }

    #[test]
    fn a_queue_such_as_flows_rest_at_is_no_longer_path() {
        assert_eq!(seen(60, |round| (27.0, 200 - 4 * round.min(40))), None);
    }
}
