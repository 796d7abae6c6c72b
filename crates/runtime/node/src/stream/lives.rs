//! How long the bytes of a stream are of use. Blocks that hold nothing of use any more are neither sent
//! nor repaired.

use std::{collections::VecDeque, time::Duration};

use fanfare_proto::Time;

/// Ends that are closer than this count as one, so that short messages take no memory each.
const STEP: Duration = Duration::from_millis(5);

/// Ends of use, in the order of the bytes.
#[derive(Debug, Default)]
pub(super) struct Lives {
    /// Until when, and bytes up to where; each later than the one before, as what is old goes in
    /// order only.
    ends: VecDeque<(Time, u64)>,
    /// Nothing before this byte is of use.
    dead: u64,
    /// That was said of so many.
    told: u64,
}

impl Lives {
    /// Bytes were written up to `written`, of use until then; `None`: for ever.
    pub(super) fn on_written(&mut self, until: Option<Time>, written: u64) {
        let until = until.unwrap_or(Time::FAR_FUTURE);
        match self.ends.back_mut() {
            Some((last, end)) if until <= *last + STEP => {
                // What is written behind something of longer use ends with it.
                *end = written;
            }
            _ => self.ends.push_back((until, written)),
        }
    }

    /// Bytes from the start of the stream that are of no use any more, of those that are `packed`;
    /// `None`: no more than before.
    pub(super) fn over(&mut self, now: Time, packed: u64) -> Option<u64> {
        while let Some((_, end)) = self.ends.front().filter(|(until, _)| *until <= now) {
            self.dead = *end;
            self.ends.pop_front();
        }
        let over = self.dead.min(packed);
        (over > self.told).then(|| {
            self.told = over;
            over
        })
    }

    /// When the next ones end.
    pub(super) fn next(&self) -> Option<Time> {
        self.ends.front().map(|(until, _)| *until).filter(|until| *until < Time::FAR_FUTURE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::ZERO + Duration::from_millis(ms)
    }

    #[test]
    fn what_is_old_goes_in_order_and_only_what_is_packed() {
        let mut lives = Lives::default();
        lives.on_written(Some(at(100)), 10);
        lives.on_written(Some(at(200)), 20);
        assert_eq!((lives.next(), lives.over(at(99), 20)), (Some(at(100)), None));
        assert_eq!((lives.over(at(100), 6), lives.over(at(101), 20)), (Some(6), Some(10)));
        assert_eq!((lives.over(at(150), 20), lives.next()), (None, Some(at(200))));
        assert_eq!((lives.over(at(200), 20), lives.next()), (Some(20), None));
    }

    #[test]
    fn a_message_of_long_use_keeps_what_is_behind_it_and_not_what_is_before_it() {
        let mut lives = Lives::default();
        lives.on_written(Some(at(100)), 10);
        lives.on_written(None, 20);
        lives.on_written(Some(at(110)), 30);
        assert_eq!((lives.over(at(5000), 30), lives.next()), (Some(10), None));
    }

    #[test]
    fn many_short_messages_take_the_memory_of_few() {
        let mut lives = Lives::default();
        (0..100_000).for_each(|n| lives.on_written(Some(at(100 + n / 100)), n));
        assert!(lives.ends.len() <= 1000 / 5 + 1, "{}", lives.ends.len());
        assert_eq!(lives.over(at(2000), u64::MAX), Some(99_999));
    }
}
