//! A path that became longer: another route, or a satellite's handover. It looks like a queue, but to
//! send less does not shorten it.

use crate::auto::growth::{NOBODY, ROOM};
use fanfare_wire::units::time::{Duration, Time};

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

/// Where messages are all as late as each other, to [`NOBODY`] of the time that the narrowest link takes
/// for one, and less than [`ROOM`] of it is used, no queue stands: others' messages are not in front of
/// them, and their own do not wait. Then so many round trips tell.
const ALONE_ROUNDS: usize = 2;

/// A message came.
#[derive(Debug, Clone, Copy)]
pub(super) struct Heard {
    /// How long it took, seconds, by clocks that differ by anything.
    pub(super) delay: f64,
    /// How much of it is no queue.
    pub(super) base: f64,
    /// It is the second of a pair, and waited for the first.
    pub(super) second: bool,
    /// What the narrowest link takes for a message, seconds. Not above 0: unknown.
    pub(super) takes: f64,
}

/// A round trip.
#[derive(Debug, Clone, Copy, Default)]
struct Round {
    /// Least delay, seconds, by clocks that differ by anything.
    least: f64,
    /// Messages a second, with those that were lost.
    rate: f64,
    /// Nobody else used the link, and it had room.
    alone: bool,
}

/// Looks for it.
#[derive(Debug, Default)]
pub(super) struct Shift {
    begun: Time,
    messages: u64,
    least: Option<f64>,
    /// Sum of the delays above the first one of the round trip, which it is, and how many they are.
    sum: (f64, f64, u64),
    /// Newest first.
    rounds: [Round; ROUNDS],
    known: usize,
}

impl Shift {
    /// So many messages were sent.
    pub(super) fn on_messages(&mut self, messages: u64) {
        self.messages += messages;
    }

    /// A message came, in round trips of `rtt`. What is no queue from now on, where the path became
    /// longer; `wanted` tells the queue that a rate wants.
    pub(super) fn on_delay(
        &mut self,
        now: Time,
        heard: Heard,
        rtt: Duration,
        wanted: impl Fn(f64) -> f64,
    ) -> Option<f64> {
        let Heard { delay, base, .. } = heard;
        let least = self.least.map_or(delay, |least| least.min(delay));
        self.least = Some(least);
        if !heard.second {
            let (first, sum, count) = self.sum;
            let first = if count == 0 { delay } else { first };
            self.sum = (first, sum + delay - first, count + 1);
        }
        let lasted = now.since(self.begun);
        if lasted < rtt || self.messages < MESSAGES_MIN {
            return None;
        }
        let round = self.round(lasted, least, heard.takes);
        (self.begun, self.messages, self.least, self.sum) = (now, 0, None, (0.0, 0.0, 0));
        self.rounds.rotate_right(1);
        self.rounds[0] = round;
        self.known = (self.known + 1).min(ROUNDS);
        let usual = wanted(round.rate).max(STILL_MIN);
        // Who has slowed down much wants a longer queue now, but had none of that length of his own.
        let fastest = self.fastest();
        let wanted = wanted(fastest).max(STILL_MIN);
        let longer = self.alone(base + usual, heard.takes).or_else(|| self.slowed(base, wanted));
        if longer.is_some() {
            self.known = 0;
        }
        longer
    }

    fn round(&self, lasted: Duration, least: f64, takes: f64) -> Round {
        let rate = self.messages as f64 / lasted.as_secs_f64();
        let (first, sum, count) = self.sum;
        let above = first + sum / count.max(1) as f64 - least;
        let still = takes > 0.0 && above <= NOBODY * takes;
        let alone = still && count >= MESSAGES_MIN / 2 && rate * takes <= ROOM;
        Round { least, rate, alone }
    }

    /// All of late were late by as much, with nobody else there and room on the link: a delay of more
    /// than `usual` is the path's.
    fn alone(&self, usual: f64, takes: f64) -> Option<f64> {
        let rounds = self.rounds.get(..ALONE_ROUNDS.min(self.known))?;
        let (low, high) = bounds(rounds);
        let still = rounds.len() == ALONE_ROUNDS && high - low <= NOBODY * takes;
        (still && low > usual && rounds.iter().all(|round| round.alone)).then_some(low)
    }

    /// Messages a second in the fastest of the round trips.
    fn fastest(&self) -> f64 {
        self.rounds.iter().take(self.known).fold(0.0, |fastest: f64, round| fastest.max(round.rate))
    }

    /// The delay stood still while the sender became slower.
    fn slowed(&self, base: f64, wanted: f64) -> Option<f64> {
        if self.known < ROUNDS {
            return None;
        }
        let (low, high) = bounds(&self.rounds);
        let queue = low - base;
        let still = high - low <= (STILL * queue).max(STILL_MIN);
        let slower = self.rounds[0].rate <= SLOWED * self.fastest();
        (still && queue > OVER * wanted && slower).then_some(low)
    }
}

/// The least and the greatest of the least delays of these round trips.
fn bounds(rounds: &[Round]) -> (f64, f64) {
    let none = (f64::INFINITY, f64::NEG_INFINITY);
    rounds.iter().fold(none, |(low, high), round| (low.min(round.least), high.max(round.least)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Duration = Duration::from_millis(60);

    /// Messages each 100 ms over a link that takes 40 ms for one, in round trips of a second, with
    /// `delay(n)` ms and a base delay of 250; when they were taken for messages on a longer path.
    fn alone(takes: f64, delay: impl Fn(u64) -> f64) -> Option<(u64, f64)> {
        let mut shift = Shift::default();
        (0..200).find_map(|message| {
            shift.on_messages(1);
            let delay = delay(message) / 1e3;
            let heard = Heard { delay, base: 0.25, second: false, takes };
            let now = Time::ZERO + Duration::from_millis(100 * message);
            let found = shift.on_delay(now, heard, Duration::from_secs(1), |_| 0.05);
            found.map(|base| (message, base))
        })
    }

    #[test]
    fn a_delay_without_others_and_with_room_is_a_longer_path_after_two_round_trips() {
        let late = |message| if message < 50 { 250.0 } else { 500.0 + (message % 3) as f64 };
        let (message, base) = alone(0.04, late).unwrap();
        assert!((70..85).contains(&message) && (base - 0.5).abs() < 1e-9, "{message} {base}");
    }

    #[test]
    fn where_others_wait_or_the_link_is_full_a_delay_may_be_a_queue() {
        // Messages of others are in front of these.
        let others = |message| 500.0 + (message * 7 % 40) as f64;
        assert_eq!(alone(0.04, others), None);
        // The link takes as long for a message as there is from one to the next.
        assert_eq!(alone(0.1, |_| 500.0), None);
        assert_eq!(alone(0.04, |_| 290.0), None, "it is what is wanted");
        assert_eq!(alone(0.0, |_| 500.0), None, "the link's rate is not known");
    }

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
                let heard = Heard { delay: delay / 1e3, base: 0.025, second: false, takes: 0.0 };
                if let Some(base) = shift.on_delay(now, heard, RTT, |_| 0.6e-3) {
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
