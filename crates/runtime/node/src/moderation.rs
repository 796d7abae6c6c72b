//! Reading seldom what comes fast: some hundred microseconds' worth at once, instead of waking for
//! each datagram. What network cards do with interrupts, and for the same reason.
//!
//! While a thread waits for its socket, whoever delivers wakes it, on another processor by an
//! interrupt; while it only waits for time, nobody does. What came meanwhile the kernel has joined, and
//! one call takes it.

use std::time::Duration;

use fanfare_proto::Time;

/// How long at most. As much as a sender of ours lets go at once: nothing in the protocol is finer.
const PAUSE: Duration = Duration::from_micros(500);
/// With fewer bytes in a pause it saves nothing: four packets of Ethernet, 90 Mbit/s.
const WORTHWHILE: f64 = 6000.0;
/// Shorter ones are over before the thread sleeps.
const SHORTEST: Duration = Duration::from_micros(50);
/// Of the socket's buffer, how much may fill meanwhile. It counts its own headers, too, up to as many
/// bytes as the content's.
const SHARE: f64 = 1.0 / 8.0;

/// When to read next.
#[derive(Debug)]
pub(crate) struct Moderation {
    /// The socket's buffer, bytes.
    room: usize,
    last: Time,
    bytes_per_second: f64,
}

impl Moderation {
    pub(crate) fn new(room: usize, now: Time) -> Self {
        Self { room, last: now, bytes_per_second: 0.0 }
    }

    /// So much was read at once.
    pub(crate) fn on_read(&mut self, now: Time, bytes: usize) {
        let since = now.since(self.last).max(Duration::from_micros(1));
        self.last = now;
        self.bytes_per_second = bytes as f64 / since.as_secs_f64();
    }

    /// How long nobody need look at the sockets; `None` when they should wake the thread.
    pub(crate) fn pause(&self, now: Time) -> Option<Duration> {
        if self.bytes_per_second * PAUSE.as_secs_f64() < WORTHWHILE {
            return None;
        }
        let fills = Duration::from_secs_f64(self.room as f64 * SHARE / self.bytes_per_second);
        let pause = fills.min(PAUSE).saturating_sub(now.since(self.last));
        (pause >= SHORTEST).then_some(pause)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOM: usize = 8 << 20;

    fn at(micros: u64) -> Time {
        Time::from_nanos(micros * 1000)
    }

    #[test]
    fn what_comes_seldom_wakes_the_thread() {
        let mut moderation = Moderation::new(ROOM, at(0));
        assert_eq!(moderation.pause(at(0)), None);
        moderation.on_read(at(10_000), 1500);
        assert_eq!(moderation.pause(at(10_000)), None);
    }

    #[test]
    fn a_gigabit_is_read_every_half_millisecond_and_its_end_wakes_the_thread_again() {
        let mut moderation = Moderation::new(ROOM, at(0));
        moderation.on_read(at(10_000), 1500);
        moderation.on_read(at(10_012), 1500);
        assert_eq!(moderation.pause(at(10_012)), Some(PAUSE));
        moderation.on_read(at(10_512), 62_500);
        assert_eq!(moderation.pause(at(10_532)), Some(PAUSE - Duration::from_micros(20)));
        moderation.on_read(at(11_012), 0);
        assert_eq!(moderation.pause(at(11_012)), None);
    }

    #[test]
    fn a_small_buffer_is_read_before_an_eighth_of_it_is_full() {
        let mut moderation = Moderation::new(212_992, at(0));
        moderation.on_read(at(1000), 125_000);
        let pause = moderation.pause(at(1000)).unwrap();
        assert!(pause.as_secs_f64() * 125e6 <= 212_992.0 / 8.0 + 1.0, "{pause:?}");
        moderation.on_read(at(1100), 125_000);
        assert_eq!(moderation.pause(at(1100)), None, "ten times as fast: no time to sleep");
    }

    #[test]
    fn time_spent_on_what_was_read_counts() {
        let mut moderation = Moderation::new(ROOM, at(0));
        moderation.on_read(at(1000), 125_000);
        assert_eq!(moderation.pause(at(1600)), None);
    }
}
