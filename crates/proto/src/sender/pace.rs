//! When the next message may go: a bucket of time.

use crate::{
    rate::Bitrate,
    time::{Duration, Time},
};

/// The pacer. A driver that is late may catch up by at most `burst`.
#[derive(Debug)]
pub(super) struct Pace {
    /// The last message counts as begun then.
    begun: Time,
    /// Its length, and that of those that went with it.
    bytes: usize,
    /// So many more go at once with the last one; their time is waited out after them.
    joined: u8,
    burst: Duration,
}

impl Pace {
    pub(super) fn new(now: Time, burst: Duration) -> Self {
        Self { begun: now, bytes: 0, joined: 0, burst }
    }

    /// When the next message may go at `rate`; far in the future at rate zero.
    pub(super) fn next(&self, rate: Bitrate) -> Time {
        if self.joined > 0 && rate > Bitrate::bps(0) {
            return self.begun;
        }
        self.begun + rate.time_for(self.bytes)
    }

    /// A message of `bytes` goes out now.
    pub(super) fn on_sent(&mut self, now: Time, bytes: usize, rate: Bitrate) {
        if self.joined > 0 {
            self.joined -= 1;
            self.bytes += bytes;
            return;
        }
        let burst = u64::try_from(self.burst.as_nanos()).unwrap_or(u64::MAX);
        let earliest = Time::from_nanos(now.as_nanos().saturating_sub(burst));
        self.begun = self.next(rate).max(earliest);
        self.bytes = bytes;
    }

    /// The next `messages` go back to back with the last one.
    pub(super) fn join(&mut self, messages: u8) {
        self.joined = messages;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATE: Bitrate = Bitrate::kbps(8);

    fn at(millis: u64) -> Time {
        Time::ZERO + Duration::from_millis(millis)
    }

    #[test]
    fn a_message_takes_the_time_its_bytes_need() {
        let mut pace = Pace::new(at(0), Duration::ZERO);
        assert_eq!(pace.next(RATE), at(0));
        pace.on_sent(at(0), 100, RATE);
        assert_eq!(pace.next(RATE), at(100));
    }

    #[test]
    fn a_late_driver_catches_up_by_no_more_than_the_burst() {
        let mut pace = Pace::new(at(0), Duration::from_millis(300));
        let sent = (0..10).take_while(|_| {
            let may = pace.next(RATE) <= at(10_000);
            if may {
                pace.on_sent(at(10_000), 100, RATE);
            }
            may
        });
        assert_eq!(sent.count(), 4);
    }

    #[test]
    fn joined_messages_go_at_once_and_their_time_is_waited_out_after_them() {
        let mut pace = Pace::new(at(0), Duration::ZERO);
        pace.on_sent(at(0), 100, RATE);
        pace.join(2);
        for _ in 0..2 {
            assert_eq!(pace.next(RATE), at(0));
            pace.on_sent(at(0), 100, RATE);
        }
        assert_eq!(pace.next(RATE), at(300));
    }

    #[test]
    fn a_paused_sender_resumes_when_it_is_given_a_rate() {
        let mut pace = Pace::new(at(0), Duration::ZERO);
        pace.on_sent(at(0), 100, RATE);
        assert_eq!(pace.next(Bitrate::bps(0)), Time::FAR_FUTURE);
        assert_eq!(pace.next(Bitrate::kbps(4)), at(200));
    }
}
