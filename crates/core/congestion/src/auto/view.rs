//! What the limiting receiver's path does, in numbers to reckon with.

use super::law::NOISE;
use fanfare_wire::units::time::Duration;
use fanfare_wire::{QuantizedRate, ext::ExtPath};

/// On a short path loss together with a queue of this part of the noise tells how much the queue holds.
const QUEUES: f64 = 0.25;
/// Part of the time between two messages that is no queue either: on a slow link one waits for the other.
const QUEUES_MESSAGE: f64 = 0.5;

/// Of one report.
#[derive(Debug, Clone, Copy)]
pub(super) struct View {
    /// The pace of arrivals to that of sending.
    pub(super) pace: f64,
    /// Queueing delay that stands, and its mean, seconds.
    pub(super) standing: f64,
    pub(super) queue: f64,
    /// Round trip to reckon with, seconds.
    pub(super) rtt: f64,
    /// Shares of messages.
    pub(super) lost: f64,
    pub(super) marked: f64,
    /// Least delay of late, as it travels.
    pub(super) base: u16,
    /// What the narrowest link passes, bytes a second; unknown on a short path, where the distance of
    /// two messages tells of interrupts and batches instead.
    pub(super) bottleneck: Option<f64>,
    /// The same on any path, however rough, or nothing.
    pub(super) link: f64,
    /// What arrived of what was sent, bytes a second, on a short path.
    pub(super) delivered: Option<f64>,
    /// The same on any path: late on a long one.
    pub(super) arrived: f64,
    /// Seconds from one message to the next, at the present rate.
    pub(super) message: f64,
    /// Loss events by the messages (RFC 5348 5), and the round trip with its queue.
    pub(super) loss_events: f64,
    pub(super) trip: Duration,
}

impl View {
    /// What was reported, with the round trip to reckon with, on a short path or another.
    pub(super) fn of(path: &ExtPath, rtt: Duration, short: bool) -> Self {
        let bottleneck = path.bottleneck;
        Self {
            pace: path.to_pace(),
            standing: f64::from(path.standing_micros) / 1e6,
            queue: f64::from(path.queue_micros) / 1e6,
            rtt: rtt.as_secs_f64(),
            lost: path.loss(),
            marked: path.marks(),
            base: path.base,
            bottleneck: (bottleneck != QuantizedRate::ZERO && !short)
                .then(|| bottleneck.to_bytes_per_second()),
            link: bottleneck.to_bytes_per_second(),
            delivered: short.then(|| path.delivered.to_bytes_per_second()),
            arrived: path.delivered.to_bytes_per_second(),
            message: 0.0,
            loss_events: 0.0,
            trip: rtt,
        }
    }

    /// Whether messages queue for longer than the noise of a short path, on average.
    pub(super) fn queues(&self) -> bool {
        self.queue > (QUEUES * NOISE).max(QUEUES_MESSAGE * self.message)
    }

    /// The round trip as a time.
    pub(super) fn rtt(&self) -> Duration {
        Duration::from_secs_f64(self.rtt)
    }
}
