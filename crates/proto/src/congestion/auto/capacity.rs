//! What a short path has been seen to carry of late.

use crate::time::{Duration, Time};

/// What was carried is remembered for one to two spans: so long, or so many round trips.
const SPAN: Duration = Duration::from_millis(500);
const SPAN_RTTS: u32 = 10;
/// For so long after an overrun no more is believed: a buffer runs over once in this time at most, and
/// what it loses then is little beside what a second carries.
const READABLE: Duration = Duration::from_secs(1);

/// The greatest rate of arrivals, bytes a second.
#[derive(Debug, Default)]
pub(super) struct Capacity {
    /// In this span, and in the one before.
    greatest: [f64; 2],
    begun: Time,
    /// No more than this, until then: a receiver could not read what the network carried.
    readable: Option<(f64, Time)>,
}

impl Capacity {
    /// So many bytes a second arrived; `used`: all that was allowed was sent, so that more could have.
    pub(super) fn on_delivered(&mut self, now: Time, rate: f64, used: bool, rtt: Duration) {
        if used && now.since(self.begun) >= SPAN.max(rtt * SPAN_RTTS) {
            self.greatest = [0.0, self.greatest[0]];
            self.begun = now;
        }
        self.readable = self.readable.filter(|(_, until)| now < *until);
        let rate = self.readable.map_or(rate, |(readable, _)| rate.min(readable));
        self.greatest[0] = self.greatest[0].max(rate);
    }

    /// A receiver's buffer ran over; `rate` is what it should be able to read.
    pub(super) fn on_overrun(&mut self, now: Time, rate: f64) {
        self.greatest = self.greatest.map(|greatest| greatest.min(rate));
        self.readable = Some((rate, now + READABLE));
    }

    /// The greatest rate that is remembered.
    pub(super) fn rate(&self) -> f64 {
        self.greatest[0].max(self.greatest[1])
    }
}
