//! What a short path has been seen to carry of late.

use fanfare_wire::NodeId;
use fanfare_wire::units::time::{Duration, Time};

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
