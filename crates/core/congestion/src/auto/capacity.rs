//! What a short path has been seen to carry of late.

use fanfare_wire::NodeId;
use fanfare_wire::units::time::{Duration, Time};

/// What was carried is remembered for one to two spans: so long, or so many round trips.
const SPAN: Duration = Duration::from_millis(500);
const SPAN_RTTS: u32 = 10;
/// For so long after an overrun no more is believed: a buffer runs over once in this time at most, and
/// what it loses then is little beside what a second carries.
const READABLE: Duration = Duration::from_secs(1);
/// Part of what was carried beyond what arrives that a round trip of waiting messages makes forgotten: a process that
/// waits for its processor takes 3 ms, which is little of a round trip of 10 ms; after eight of them a tenth is left.
const FORGOTTEN: f64 = 0.25;

/// The greatest rate of arrivals, bytes a second.
#[derive(Debug, Default)]
pub(super) struct Capacity {
    /// In this span, and in the one before.
    greatest: [f64; 2],
    begun: Time,
    /// No more than this, until then: this receiver could not read what the network carried.
    readable: Option<(f64, Time, NodeId)>,
}

impl Capacity {
    /// So many bytes a second arrived; `used`: all that was allowed was sent, so that more could have.
    pub(super) fn on_delivered(&mut self, now: Time, rate: f64, used: bool, rtt: Duration) {
        if used && now.since(self.begun) >= SPAN.max(rtt * SPAN_RTTS) {
            self.greatest = [0.0, self.greatest[0]];
            self.begun = now;
        }
        self.readable = self.readable.filter(|(_, until, _)| now < *until);
        let rate = self.readable.map_or(rate, |(readable, ..)| rate.min(readable));
        self.greatest[0] = self.greatest[0].max(rate);
    }

    /// Messages wait, and so many bytes a second arrive. As long as they do, others have what was carried before: a
    /// flow that remembers more than the others would have it again each time the queue is empty, and remember that.
    /// `news`: part of a round trip since the last report.
    pub(super) fn on_queue(&mut self, rate: f64, news: f64) {
        for greatest in &mut self.greatest {
            *greatest -= FORGOTTEN * news * (*greatest - rate).max(0.0);
        }
    }

    /// The buffer of `node` ran over; `rate` is what it should be able to read.
    pub(super) fn on_overrun(&mut self, now: Time, node: NodeId, rate: f64) {
        self.greatest = self.greatest.map(|greatest| greatest.min(rate));
        self.readable = Some((rate, now + READABLE, node));
    }

    /// Whose buffer ran over of late.
    pub(super) fn overrun(&self) -> Option<NodeId> {
        self.readable.map(|(_, _, node)| node)
    }

    /// What may be tried: so many times what is remembered, but no more than a receiver can read.
    pub(super) fn most(&self, times: f64) -> f64 {
        self.readable.map_or(self.rate() * times, |(readable, ..)| readable)
    }

    /// The greatest rate that is remembered.
    pub(super) fn rate(&self) -> f64 {
        self.greatest[0].max(self.greatest[1])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fanfare_wire::units::time::at;

    const RTT: Duration = Duration::from_millis(10);

    #[test]
    fn what_arrived_is_remembered_for_a_moment_while_all_is_used() {
        let mut capacity = Capacity::default();
        let mut on = |millis, rate, used| {
            capacity.on_delivered(at(millis), rate, used, RTT);
            capacity.rate()
        };
        assert_eq!([on(1000, 9e6, true), on(1400, 2e6, true), on(1600, 2e6, true)], [9e6; 3]);
        assert_eq!(on(2100, 2e6, true), 2e6);
        assert_eq!(
            [on(9000, 1e6, false), on(9900, 1e6, false)],
            [2e6; 2],
            "nothing was to be sent"
        );
    }

    #[test]
    fn messages_that_wait_for_ten_round_trips_make_forgotten_what_was_carried_before() {
        let mut capacity = Capacity::default();
        capacity.on_delivered(at(1000), 6e6, true, RTT);
        capacity.on_queue(1e6, 0.3);
        assert!(capacity.rate() > 5.6e6, "a process had to wait");
        (0..20).for_each(|_| capacity.on_queue(1e6, 0.5));
        assert!((1e6..1.4e6).contains(&capacity.rate()), "{}", capacity.rate());
        capacity.on_queue(9e6, 1.0);
        assert!(capacity.rate() < 1.4e6, "a burst is not remembered");
    }

    #[test]
    fn after_an_overrun_no_more_is_tried_for_a_second() {
        let mut capacity = Capacity::default();
        capacity.on_delivered(at(1000), 10e6, true, RTT);
        assert_eq!(capacity.most(1.1), 11e6);
        capacity.on_overrun(at(1010), NodeId(7), 8e6);
        capacity.on_delivered(at(1500), 8e6, true, RTT);
        assert_eq!((capacity.most(1.1), capacity.overrun()), (8e6, Some(NodeId(7))));
        capacity.on_delivered(at(2100), 8e6, true, RTT);
        assert_eq!(capacity.most(1.5), 12e6);
    }
}
