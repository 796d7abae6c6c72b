//! The rate of the narrowest link, from the dispersion of messages that were sent back to back.

use fanfare_wire::units::time::Time;

/// Samples of which the median counts: one cross-traffic packet between a pair falsifies one.
const SAMPLES: usize = 3;
/// Sent back to back: closer by this than they arrive.
const CLOSE: f64 = 0.125;
/// Least distance that two of them are said to arrive at, seconds, as stamps tell microseconds. A shaper that has saved
/// up for both, and a network card that hands over both together, leave none.
const LEAST_APART: f64 = 1e-6;
/// Messages that follow one another in less than this part of the time that the narrowest link is said to take for
/// one, when they are sent and when they arrive, did not go over such a link: the path became longer between two
/// messages, or a shaper has saved up what passes at once.
const FASTER: f64 = 0.25;
/// Number of them in a row that says so: batches of a busy machine bring two at a time.
const FASTER_TIMES: u32 = 3;

/// Recognises pairs by their stamps.
#[derive(Debug, Default)]
pub(super) struct Pairs {
    /// Messages so far, and the number, stamp and arrival of the last one that was stamped.
    messages: u64,
    last: Option<(u64, u64, Time)>,
    samples: [f64; SAMPLES],
    taken: usize,
    /// Messages in a row that were faster than the narrowest link is.
    faster: u32,
}

impl Pairs {
    /// A message arrived; what was lost before it separates it from the one before.
    pub(super) fn on_message(&mut self, lost: u64) {
        self.messages += 1 + lost;
    }

    /// Forgets the link, which may be another one now.
    pub(super) fn forget(&mut self) {
        *self = Self { messages: self.messages, ..Self::default() };
    }

    /// It has `bytes`, and was sent at `sent` microseconds. True when it is the second of a pair.
    pub(super) fn on_stamp(&mut self, now: Time, sent: u64, bytes: usize) -> bool {
        let taken = self.taken;
        if let Some((number, before, arrived)) = self.last
            && number + 1 == self.messages
        {
            let apart = now.since(arrived).as_secs_f64().max(LEAST_APART);
            let gone = sent.saturating_sub(before) as f64 / 1e6;
            if gone < apart * CLOSE {
                self.samples[self.taken % SAMPLES] = bytes as f64 / apart;
                self.taken += 1;
                self.faster = 0;
            } else if apart.max(gone) * self.rate() < bytes as f64 * FASTER {
                self.faster += 1;
            }
        }
        if self.faster >= FASTER_TIMES {
            self.forget();
        }
        self.last = Some((self.messages, sent, now));
        self.taken > taken
    }

    /// Bytes a second; 0 while unknown.
    pub(super) fn rate(&self) -> f64 {
        let known = self.taken.min(SAMPLES);
        let mut samples = self.samples;
        let samples = &mut samples[..known];
        samples.sort_by(f64::total_cmp);
        samples.get(known / 2).copied().unwrap_or(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fanfare_wire::units::time::Duration;

    #[test]
    fn pairs_tell_the_narrowest_links_rate_and_single_messages_nothing() {
        let mut pairs = Pairs::default();
        for n in 0..40u64 {
            let pair = n / 2;
            // Each pair leaves at once; the second arrives 10 ms after the first.
            let now = Time::ZERO + Duration::from_millis(100 * pair + 10 * (n % 2));
            pairs.on_message(u64::from(n == 7));
            pairs.on_stamp(now, 100_000 * pair, 1000);
            if n == 0 {
                assert_eq!(pairs.rate(), 0.0);
            }
        }
        assert!((pairs.rate() - 1e5).abs() < 1.0, "{}", pairs.rate());
    }

    #[test]
    fn a_link_that_messages_pass_four_times_as_fast_is_forgotten() {
        let mut pairs = Pairs::default();
        // The path becomes 100 ms longer between two messages, which follow each other by 10 ms.
        for n in 0..20u64 {
            let later = if n < 10 { 0 } else { 100 };
            pairs.on_message(0);
            pairs.on_stamp(Time::ZERO + Duration::from_millis(10 * n + later), 10_000 * n, 1000);
            let known = pairs.rate() > 0.0;
            assert_eq!(known, (10..13).contains(&n), "{n}");
        }
    }
}
