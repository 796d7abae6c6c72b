//! The rate at which a sender's messages arrive (RFC 5740 5.5.2.2).

use fanfare_wire::units::time::{Duration, Time};

/// Shortest window, and time for so many messages before a rate is believed to have fallen: below
/// that it is chance.
const WINDOW_MIN: Duration = Duration::from_millis(100);
const MESSAGES_MIN: usize = 4;

/// A message so near to the mean, bytes, is the mean from then on: more of them change nothing.
const ALIKE: f64 = 1e-6;

/// Bytes a second, and a smoothed message size.
#[derive(Debug)]
pub struct ReceiveRate {
    since: Option<Time>,
    bytes: u64,
    rate: f64,
    /// Of the last complete window.
    before: f64,
    size: f64,
    /// The sender has flushed, and sent nothing of an object since.
    idle: bool,
}

impl Default for ReceiveRate {
    fn default() -> Self {
        Self::new()
    }
}

impl ReceiveRate {
    /// No message has come yet.
    #[must_use]
    pub fn new() -> Self {
        Self { since: None, bytes: 0, rate: 0.0, before: 0.0, size: 0.0, idle: false }
    }

    /// A message of `bytes`; the window is one `rtt`. At a sender's start each message counts at once
    /// for its part of a window, as with NRL's receivers: the rate that may be doubled is the present one.
    pub fn on_message(&mut self, now: Time, bytes: usize, rtt: Duration, starting: bool) {
        // Weight 0.05, as NRL.
        let weight = if self.size > 0.0 && !self.is_like(bytes) { 0.05 } else { 1.0 };
        self.size += weight * (bytes as f64 - self.size);
        self.idle = false;
        let Some(since) = self.since else {
            self.since = Some(now);
            return;
        };
        self.bytes += bytes as u64;
        let elapsed = now.since(since).as_secs_f64();
        let window = rtt.max(WINDOW_MIN).as_secs_f64();
        let rate = self.bytes as f64 / elapsed.max(1e-9);
        if elapsed >= window && (rate >= self.rate || elapsed >= self.time_for(MESSAGES_MIN)) {
            (self.rate, self.before) = (rate, rate);
            (self.since, self.bytes) = (Some(now), 0);
        } else if starting && elapsed < window {
            let part = elapsed / window;
            self.rate = self.rate.max(self.before + part * (rate - self.before));
        }
    }

    fn is_like(&self, bytes: usize) -> bool {
        (self.size - bytes as f64).abs() < ALIKE
    }

    /// So many messages of `bytes` arrived together: each counts as in [`Self::on_message`].
    pub fn on_batch(
        &mut self,
        now: Time,
        (bytes, count): (usize, u16),
        rtt: Duration,
        starting: bool,
    ) {
        let within = |since| now.since(since) < rtt.max(WINDOW_MIN);
        if !self.is_like(bytes) || !self.since.is_some_and(within) {
            return (0..count).for_each(|_| self.on_message(now, bytes, rtt, starting));
        }
        // Of messages within a window that come at once the last tells all.
        let before = bytes as u64 * u64::from(count.saturating_sub(1));
        self.bytes += before;
        self.on_message(now, bytes, rtt, starting);
    }

    /// The sender flushes: it has nothing to send. What comes until it has says nothing about the path,
    /// and what is known of that holds. NRL's sender would follow the few bytes down to one message a
    /// second, and repair at that rate.
    pub fn on_flush(&mut self) {
        (self.since, self.bytes, self.idle) = (None, 0, true);
    }

    /// Whether the sender has nothing to send.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.idle
    }

    fn time_for(&self, messages: usize) -> f64 {
        if self.rate > 0.0 { messages as f64 * self.size / self.rate } else { 0.0 }
    }

    /// Bytes a second.
    pub fn bytes_per_second(&self) -> f64 {
        self.rate
    }

    /// Mean bytes of a message.
    pub fn message_size(&self) -> f64 {
        self.size
    }

    /// Mean time between messages; none while the rate is unknown.
    pub fn interval(&self) -> Duration {
        Duration::from_secs_f64(self.time_for(1).min(10.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fanfare_wire::units::time::at;

    const RTT: Duration = Duration::from_millis(200);

    /// A thousand bytes each 10 ms for a second: 100,000 bytes a second.
    fn steady(starting: bool) -> ReceiveRate {
        let mut rate = ReceiveRate::new();
        (0..=100).for_each(|n| rate.on_message(at(10 * n), 1000, RTT, starting));
        rate
    }

    #[test]
    fn a_steady_stream_is_measured_exactly() {
        let rate = steady(false);
        assert!((rate.bytes_per_second() - 100_000.0).abs() < 1.0, "{}", rate.bytes_per_second());
        assert!((rate.interval().as_secs_f64() - 0.01).abs() < 1e-6);
    }

    #[test]
    fn at_the_start_a_rate_that_grows_shows_before_a_window_is_over() {
        let grown = |starting| {
            let mut rate = steady(starting);
            // Twice as fast for half a window.
            (1..=20).for_each(|n| rate.on_message(at(1000 + 5 * n), 1000, RTT, starting));
            rate.bytes_per_second()
        };
        assert!((grown(true) - 150_000.0).abs() < 1.0, "{}", grown(true));
        assert!((grown(false) - 100_000.0).abs() < 1.0, "{}", grown(false));
    }

    #[test]
    fn the_rate_does_not_fall_before_four_messages_could_have_arrived() {
        let mut rate = ReceiveRate::new();
        // One message a second, then none for one and a half.
        for ms in [0, 1000, 2000, 3000, 4500] {
            rate.on_message(at(ms), 1000, RTT, false);
        }
        assert!((rate.bytes_per_second() - 1000.0).abs() < 1.0, "{}", rate.bytes_per_second());
        for ms in [5500, 6500, 7500] {
            rate.on_message(at(ms), 1000, RTT, false);
        }
        assert!(rate.bytes_per_second() < 950.0, "{}", rate.bytes_per_second());
    }

    #[test]
    fn a_sender_that_has_nothing_to_send_is_not_slower_for_that() {
        let mut rate = steady(false);
        rate.on_flush();
        assert!(rate.is_idle());
        // A symbol is repaired after a second: since when, is not known.
        rate.on_message(at(2000), 1000, RTT, false);
        assert!(!rate.is_idle());
        assert!((rate.bytes_per_second() - 100_000.0).abs() < 1.0, "{}", rate.bytes_per_second());
    }
}
