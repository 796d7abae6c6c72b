//! The rate at which a sender's messages arrive (RFC 5740 5.5.2.2).

use crate::time::{Duration, Time};

/// Shortest window, and messages it must hold at least: below that a rate is chance.
const WINDOW_MIN: Duration = Duration::from_millis(100);
const MESSAGES_MIN: u32 = 4;

/// Bytes a second over the last complete window, and a smoothed message size.
#[derive(Debug)]
pub(crate) struct ReceiveRate {
    since: Option<Time>,
    bytes: u64,
    messages: u32,
    rate: f64,
    size: f64,
}

impl ReceiveRate {
    pub(crate) fn new() -> Self {
        Self { since: None, bytes: 0, messages: 0, rate: 0.0, size: 0.0 }
    }

    /// A message of `bytes`; the window is one `rtt`.
    pub(crate) fn on_message(&mut self, now: Time, bytes: usize, rtt: Duration) {
        // Weight 0.05, as NRL.
        let weight = if self.size > 0.0 { 0.05 } else { 1.0 };
        self.size += weight * (bytes as f64 - self.size);
        let Some(since) = self.since else {
            self.since = Some(now);
            return;
        };
        self.bytes += bytes as u64;
        self.messages += 1;
        let elapsed = now.since(since);
        if elapsed >= rtt.max(WINDOW_MIN) && self.messages >= MESSAGES_MIN {
            self.rate = self.bytes as f64 / elapsed.as_secs_f64();
            (self.since, self.bytes, self.messages) = (Some(now), 0, 0);
        }
    }

    /// Bytes a second.
    pub(crate) fn bytes_per_second(&self) -> f64 {
        self.rate
    }

    /// Mean bytes of a message.
    pub(crate) fn message_size(&self) -> f64 {
        self.size
    }

    /// Mean time between messages; none while the rate is unknown.
    pub(crate) fn interval(&self) -> Duration {
        if self.rate > 0.0 {
            Duration::from_secs_f64((self.size / self.rate).min(10.0))
        } else {
            Duration::ZERO
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_steady_stream_is_measured_exactly() {
        let mut rate = ReceiveRate::new();
        for n in 0..100 {
            let now = Time::ZERO + Duration::from_millis(10 * n);
            rate.on_message(now, 1000, Duration::from_millis(50));
        }
        assert!((rate.bytes_per_second() - 100_000.0).abs() < 1.0, "{}", rate.bytes_per_second());
        assert!((rate.interval().as_secs_f64() - 0.01).abs() < 1e-6);
    }
}
