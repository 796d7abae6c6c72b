//! Pacing: when the next message may go. A token bucket, counted in time.
//!
//! In any time `T` the sender sends no more than the rate gives for `T` plus one burst and one
//! message; while it makes up for lost time it may send half as much again. Below about 90 Mbit/s
//! the driver waits for each message. Above, it is woken when a super-packet is due, at most
//! `QUANTUM` after the first of its messages. So below 1 Gbit/s it sleeps in between, and each
//! wake-up costs one call.

use fanfare_wire::units::{
    rate::Bitrate,
    time::{Duration, Time},
};

/// What a late driver has lost beyond the burst is made up by waiting so much less, one part of so
/// many: no queue sees more than the line left unused before. A virtual machine whose host is busy took
/// 30 % of the time between wake-ups 0.5 ms apart; an eighth could not make up for that.
const CATCH_UP_PART: u32 = 3;
/// The most that is made up: longer than a busy machine lets a thread wait, as a rule.
const DEBT_MAX: Duration = Duration::from_millis(50);
/// And in bytes: a receiver that takes the rate, and no more, keeps them in a socket's buffer (4 MiB are
/// requested by default).
const DEBT_BYTES: usize = 4 << 20;

/// What is due within so much time goes out together. A sleep of less ends late as often as not, by 50
/// us and more; the queue that it makes is half of the burst that a driver may catch up with.
const QUANTUM: Duration = Duration::from_micros(500);
/// No more than one call of the kernel takes.
const QUANTUM_BYTES: usize = 64_000;
/// Fewer messages are not worth waiting for each other: each goes when it is due.
const QUANTUM_MESSAGES: u32 = 4;

/// The pacer. A driver that is late catches up by at most `burst` at once, and then slowly.
#[derive(Debug)]
pub struct Pacer {
    /// The last message counts as begun then.
    begun: Time,
    /// Its length, and that of those that went with it.
    bytes: usize,
    /// So many more go at once with the last one; their time is waited out after them.
    joined: u8,
    /// The last message began by its own time, and not together with one before.
    began: bool,
    burst: Duration,
    /// Something waits that may be said from then on, as far as is known: the line is idle until it is.
    awaited: Option<Time>,
    /// Time lost by a late driver.
    debt: Duration,
}

impl Pacer {
    /// Sends bursts of at most `burst`, from `now` on.
    #[must_use]
    pub fn new(now: Time, burst: Duration) -> Self {
        let (awaited, debt) = (None, Duration::ZERO);
        Self { begun: now, bytes: 0, joined: 0, began: true, burst, awaited, debt }
    }

    /// When the next message may go at `rate`; far in the future at rate zero.
    pub fn next(&self, rate: Bitrate) -> Time {
        if self.joined > 0 && rate > Bitrate::bps(0) {
            return self.begun;
        }
        let time = rate.time_for(self.bytes);
        self.begun + (time - self.made_up(time))
    }

    /// When to look again: as much is due then as goes out together.
    pub fn wake(&self, rate: Bitrate) -> Time {
        let next = self.next(rate);
        let quantum = QUANTUM.min(self.burst / 2).min(rate.time_for(QUANTUM_BYTES));
        let message = rate.time_for(self.bytes);
        let worth = self.joined == 0
            && self.bytes > 0
            && message.saturating_mul(QUANTUM_MESSAGES) <= quantum;
        if worth { next + (quantum - message) } else { next }
    }

    /// What of the time of a message is saved to make up for lost time.
    fn made_up(&self, time: Duration) -> Duration {
        if self.debt.is_zero() { self.debt } else { self.debt.min(time / CATCH_UP_PART) }
    }

    /// It is not time yet; `pending`: there is something to say.
    pub fn on_early(&mut self, pending: bool, rate: Bitrate) {
        self.awaited = pending.then(|| self.next(rate));
    }

    /// It is time, and there is nothing to say.
    pub fn on_nothing(&mut self) {
        self.awaited = None;
    }

    /// A message of `bytes` goes out now.
    pub fn on_sent(&mut self, now: Time, bytes: usize, rate: Bitrate) {
        if self.joined > 0 {
            self.joined -= 1;
            self.began = false;
            self.bytes += bytes;
            return;
        }
        self.begin(now, bytes, self.next(rate), rate);
    }

    /// The same of one more message, if it may go now.
    pub fn take(&mut self, now: Time, bytes: usize, rate: Bitrate) -> bool {
        let due = self.next(rate);
        if due <= now && self.joined > 0 {
            self.on_sent(now, bytes, rate);
        } else if due <= now {
            self.begin(now, bytes, due, rate);
        }
        due <= now
    }

    fn begin(&mut self, now: Time, bytes: usize, due: Time, rate: Bitrate) {
        let earliest = now.before(self.burst);
        if !self.debt.is_zero() {
            self.debt -= self.made_up(rate.time_for(self.bytes));
        }
        self.begun = due.max(earliest);
        if let Some(awaited) = self.awaited.take() {
            // A rate that has risen meanwhile makes nobody late; waiting for a quantum does.
            let lost = self.begun.since(due.max(awaited));
            let most = DEBT_MAX.min(rate.time_for(DEBT_BYTES));
            self.debt = (self.debt + lost).min(most);
        }
        (self.bytes, self.began) = (bytes, true);
        // Who is told of no end has more to say: a call of the kernel may last longer than the burst.
        self.awaited = Some(self.begun + rate.time_for(bytes));
    }

    /// The next `messages` go back to back with the last one. Not where that one has gone with another
    /// already: messages that each join the one before would never wait, and the first that joins
    /// none would wait for all of them.
    pub fn join(&mut self, messages: u8) {
        if self.began {
            self.joined = messages;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fanfare_wire::units::time::at;

    const RATE: Bitrate = Bitrate::kbps(8);

    #[test]
    fn a_message_takes_the_time_its_bytes_need() {
        let mut pacer = Pacer::new(at(0), Duration::ZERO);
        assert_eq!(pacer.next(RATE), at(0));
        pacer.on_sent(at(0), 100, RATE);
        assert_eq!(pacer.next(RATE), at(100));
    }

    #[test]
    fn messages_that_would_each_join_the_next_keep_to_the_rate() {
        let mut pacer = Pacer::new(at(0), Duration::ZERO);
        let (mut now, mut sent) = (at(0), 0);
        while now < at(10_000) {
            now = now.max(pacer.next(RATE)) + Duration::from_millis(1);
            pacer.on_sent(now, 50, RATE);
            pacer.join(1);
            sent += 50;
        }
        assert!((9_800..=10_200).contains(&sent), "{sent} bytes in ten seconds of 1,000 each");
        assert!(pacer.next(RATE) <= now + Duration::from_millis(100), "nothing is owed");
    }

    #[test]
    fn a_late_driver_catches_up_by_no_more_than_the_burst() {
        let mut pacer = Pacer::new(at(0), Duration::from_millis(300));
        let sent = (0..10).take_while(|_| {
            let may = pacer.next(RATE) <= at(10_000);
            if may {
                pacer.on_sent(at(10_000), 100, RATE);
            }
            may
        });
        assert_eq!(sent.count(), 4);
    }

    #[test]
    fn time_lost_by_a_late_driver_is_made_up_slowly_and_idle_time_is_not() {
        for (pending, made_up) in [(true, 40), (false, 0)] {
            let mut pacer = Pacer::new(at(0), Duration::from_millis(10));
            pacer.on_sent(at(0), 100, RATE);
            pacer.on_early(pending, RATE);
            let mut now = at(150);
            for _ in 0..20 {
                pacer.on_sent(now, 100, RATE);
                let next = pacer.next(RATE);
                assert!(next.since(now) >= Duration::from_millis(56), "never a burst");
                now = next;
            }
            assert_eq!(now, at(150 - 10 + 20 * 100 - made_up));
        }
    }

    #[test]
    fn time_lost_in_sending_is_made_up_unless_there_was_nothing_to_send() {
        for (ended, made_up) in [(false, 40), (true, 0)] {
            let mut pacer = Pacer::new(at(0), Duration::from_millis(10));
            pacer.on_sent(at(0), 100, RATE);
            if ended {
                pacer.on_nothing();
            }
            let mut now = at(150);
            for _ in 0..20 {
                pacer.on_sent(now, 100, RATE);
                pacer.on_early(true, RATE);
                now = pacer.next(RATE);
            }
            assert_eq!(now, at(150 - 10 + 20 * 100 - made_up));
        }
    }

    #[test]
    fn a_driver_always_late_beyond_the_burst_still_sends_at_the_rate() {
        let rate = Bitrate::mbps(1000);
        let mut pacer = Pacer::new(at(0), Duration::from_millis(1));
        let (mut now, mut sent) = (at(0), 0);
        while now < at(1000) {
            while pacer.next(rate) <= now {
                pacer.on_sent(now, 1420, rate);
                sent += 1420;
            }
            pacer.on_early(true, rate);
            now = pacer.wake(rate) + Duration::from_micros(700);
        }
        assert!((124_000_000..126_000_000).contains(&sent), "{sent}");
    }

    #[test]
    fn the_catch_up_burst_fits_into_a_receivers_buffer() {
        let rate = Bitrate::mbps(10_000);
        let mut pacer = Pacer::new(at(0), Duration::from_millis(1));
        pacer.on_sent(at(0), 1420, rate);
        pacer.on_sent(at(40), 1420, rate);
        let mut now = at(40);
        let mut sent = 0;
        while now < at(50) {
            pacer.on_early(true, rate);
            now = pacer.next(rate);
            pacer.on_sent(now, 1420, rate);
            sent += 1420;
        }
        let told = rate.bytes_in(Duration::from_millis(11));
        assert!((4_000_000..=4_300_000).contains(&(sent - told)), "{sent} of {told}");
    }

    #[test]
    fn joined_messages_go_at_once_and_their_time_is_waited_out_after_them() {
        let mut pacer = Pacer::new(at(0), Duration::ZERO);
        pacer.on_sent(at(0), 100, RATE);
        pacer.join(2);
        for _ in 0..2 {
            assert_eq!(pacer.next(RATE), at(0));
            pacer.on_sent(at(0), 100, RATE);
        }
        assert_eq!(pacer.next(RATE), at(300));
    }

    #[test]
    fn at_a_high_rate_a_driver_is_woken_for_a_super_packet_and_no_time_is_lost_by_it() {
        let rate = Bitrate::mbps(1000);
        let mut pacer = Pacer::new(at(0), Duration::from_millis(1));
        let (mut now, mut sent, mut wakes) = (at(0), 0, 0);
        while now < at(100) {
            wakes += 1;
            while pacer.next(rate) <= now {
                pacer.on_sent(now, 1420, rate);
                sent += 1420;
            }
            pacer.on_early(true, rate);
            now = pacer.wake(rate);
        }
        assert!((199..=203).contains(&wakes), "{wakes}");
        assert!((12_400_000..=12_570_000).contains(&sent), "{sent}");
    }

    #[test]
    fn no_rate_and_no_late_driver_exceeds_the_bound() {
        let burst = Duration::from_millis(1);
        for (rate, seed) in [(1_000, 1), (64_000, 2), (10_000_000, 3), (10_000_000_000, 4)] {
            let (rate, mut rng) = (Bitrate::bps(rate), fanfare_wire::units::rng::Rng::new(seed));
            let mut pacer = Pacer::new(at(0), burst);
            let mut now = at(0);
            let mut sent: alloc::vec::Vec<(Time, u64)> = alloc::vec::Vec::new();
            for _ in 0..400 {
                let mut bytes = 0;
                while pacer.next(rate) <= now {
                    pacer.on_sent(now, 1420, rate);
                    bytes += 1420;
                }
                sent.push((now, bytes));
                // Some calls of the kernel last until more is due.
                if rng.unit() < 0.5 {
                    pacer.on_early(true, rate);
                }
                let late = Duration::from_micros((rng.unit() * 3000.0) as u64);
                now = pacer.wake(rate).max(now) + late;
            }
            for from in 0..sent.len() {
                let mut total = 0;
                for (until, bytes) in &sent[from..] {
                    total += bytes;
                    let time = until.since(sent[from].0) + burst;
                    let bound = rate.bytes_in(time) * 3 / 2 + 2 * 1420;
                    assert!(total <= bound, "{rate}: {total} in {time:?}, bound {bound}");
                }
            }
        }
    }

    #[test]
    fn at_a_low_rate_each_message_is_waited_for() {
        for rate in [Bitrate::kbps(1), Bitrate::mbps(50)] {
            let mut pacer = Pacer::new(at(0), Duration::from_millis(1));
            pacer.on_sent(at(0), 1420, rate);
            assert_eq!(pacer.wake(rate), pacer.next(rate));
        }
    }

    #[test]
    fn a_paused_sender_resumes_when_it_is_given_a_rate() {
        let mut pacer = Pacer::new(at(0), Duration::ZERO);
        pacer.on_sent(at(0), 100, RATE);
        assert_eq!(pacer.next(Bitrate::bps(0)), Time::FAR_FUTURE);
        assert_eq!(pacer.next(Bitrate::kbps(4)), at(200));
    }
}
