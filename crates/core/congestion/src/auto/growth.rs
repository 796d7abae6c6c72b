//! Growth while messages meet no queue: the longer, the faster.

use super::view::View;
use fanfare_wire::units::time::Time;

/// Growth per round trip after so many half round trips without a queue. Slow at first: a queue
/// that was just empty by chance comes back by itself.
const STEPS: [f64; 5] = [0.0, 0.04, 0.1, 0.2, 0.3];
/// Steps beyond these after which it is as fast as at the start: the link is much wider.
const LONG_AFTER: u32 = 10;
const LONG_STEP: f64 = 1.0;
/// It begins there when the narrowest link has become wider by this factor.
const WIDER_STEP: u32 = 2;
const WIDER: f64 = 1.25;
/// What was the narrowest is forgotten so fast then, per report, so that growth goes on meanwhile.
const FORGET: f64 = 1.03;
/// Messages a round trip that a slow flow grows by.
const MESSAGES: f64 = 0.3;

/// On a short path the rate is at most this above what arrived of late: reports are late there, and a
/// rate that is tried without bounds fills a queue before the first of them comes.
const BEYOND: f64 = 1.1;
/// And this when there was no queue for all of [`STEPS`] and as long again: the path is wider.
const FAR_BEYOND: f64 = 1.3;

/// A mean queue this short, of the time that the narrowest link takes for a message, says that nobody
/// else is on it: who shares it with others waits, on average, their share of half such a time.
const ALONE: f64 = 0.03;
/// As long as so many messages a round trip tell it: a few meet nobody by chance.
const ALONE_MESSAGES: f64 = 10.0;

/// With noise a queue this short says as much, where only loss or a delay is to be explained, and no rate
/// doubles for it: who waits for others waits for half a message's time and more.
pub(crate) const NOBODY: f64 = 0.1;
/// As long as so many messages a round trip tell it.
const NOBODY_MESSAGES: f64 = 4.0;
/// Part of the link whose use says as much, and leaves no doubt that there is more.
const LITTLE: f64 = 0.05;
/// And no more than this part of the link is used: no queue stands that is our own.
pub(crate) const ROOM: f64 = 0.9;

/// How long there was no queue.
#[derive(Debug, Default)]
pub(super) struct Growth {
    step: u32,
    stepped: Time,
    narrowest: Option<f64>,
}

impl Growth {
    /// Another path is looked at.
    pub(super) fn on_other_path(&mut self) {
        self.step = 0;
        self.narrowest = None;
    }

    /// How far above what arrived of late the rate may go.
    pub(super) fn beyond(&self) -> f64 {
        if self.step as usize > 2 * STEPS.len() { FAR_BEYOND } else { BEYOND }
    }

    /// Whether the narrowest link passes more than it did.
    pub(super) fn is_wider(&mut self, view: &View) -> bool {
        let Some(bottleneck) = view.bottleneck else { return false };
        let narrowest = self.narrowest.unwrap_or(bottleneck);
        let wider = bottleneck > narrowest * WIDER;
        self.narrowest = Some(if wider { narrowest * FORGET } else { bottleneck });
        if wider {
            self.step = self.step.max(WIDER_STEP);
        }
        wider
    }

    /// There is a queue.
    pub(super) fn on_queue(&mut self, now: Time) {
        self.step = 0;
        self.stepped = now;
    }

    /// There is none: the rate that follows `base` then, bytes a second, with messages of `size`.
    pub(super) fn on_empty(&mut self, now: Time, base: f64, size: f64, view: &View) -> f64 {
        if self.step == 0 || now.since(self.stepped) >= view.rtt() / 2 {
            self.stepped = now;
            self.step += 1;
        }
        let step = match STEPS.get(self.step as usize - 1) {
            Some(step) => *step,
            None if self.step < STEPS.len() as u32 + LONG_AFTER => STEPS[STEPS.len() - 1],
            None => LONG_STEP,
        };
        base + (base * step).max(MESSAGES * size / view.rtt)
    }
}

/// Whether nobody else is on the narrowest link: what is left of it is free at once. `rate` bytes a
/// second were sent, in messages of `size`.
pub(super) fn is_alone(view: &View, rate: f64, size: f64) -> bool {
    rate * view.rtt >= ALONE_MESSAGES * size && is_shorter(view, ALONE * size)
}

/// Whether nobody else is on the narrowest link, and it has room for more than the `rate` that was sent.
pub(super) fn has_room(view: &View, rate: f64, size: f64) -> bool {
    let below = |part| view.bottleneck.is_some_and(|link| rate < part * link);
    let enough = rate * view.rtt >= NOBODY_MESSAGES * size || below(LITTLE);
    view.marked == 0.0 && below(ROOM) && enough && is_shorter(view, NOBODY * size)
}

/// True if messages wait for less than one of them takes: what is lost then was in no queue.
pub(super) fn is_queueless(view: &View, size: f64) -> bool {
    view.marked == 0.0 && is_shorter(view, size)
}

/// Whether less waits than the narrowest link takes for so many bytes.
fn is_shorter(view: &View, bytes: f64) -> bool {
    view.bottleneck.is_some_and(|link| view.queue < bytes / link)
}

/// The rate that follows `base` when nobody else is there: as at the start, no more than fits.
pub(super) fn when_alone(base: f64, view: &View) -> f64 {
    (base * START).min(view.bottleneck.unwrap_or(base))
}

/// No more than the narrowest link passes, unless that much passed already.
pub(super) fn capped(rate: f64, base: f64, view: &View) -> f64 {
    rate.min(view.bottleneck.unwrap_or(rate).max(base))
}

/// Growth of the rate in a round trip at the start, until a queue is seen.
pub(super) const START: f64 = 2.0;
/// The same where pairs of messages tell of more room than that.
const START_WITH_ROOM: f64 = 4.0;
/// Pairs that seem to tell of more than this, bytes a second, arrived at once: a shaper had saved up for both, so that
/// the room may be small. 10 Gbit/s are 1.25 GB/s.
const AT_ONCE: f64 = 1.35e9;

/// The rate that follows `base` at the start, and whether the narrowest link's is reached.
pub(super) fn at_start(base: f64, view: &View) -> (f64, bool) {
    let Some(bottleneck) = view.bottleneck else { return (base * START, false) };
    let told = bottleneck > base * START && bottleneck < AT_ONCE;
    let factor = if told { START_WITH_ROOM } else { START };
    let rate = base * factor;
    if rate > bottleneck { (bottleneck.max(base), true) } else { (rate, false) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fanfare_wire::units::time::{Duration, at};

    fn view(bottleneck: Option<f64>) -> View {
        View {
            pace: 1.0,
            standing: 0.0,
            queue: 0.0,
            rtt: 0.1,
            lost: 0.0,
            marked: 0.0,
            base: 0,
            bottleneck,
            link: 0.0,
            delivered: None,
            arrived: 0.0,
            message: 0.0,
            loss_events: 0.0,
            trip: Duration::ZERO,
        }
    }

    #[test]
    fn the_longer_there_is_no_queue_the_faster_it_grows() {
        let mut growth = Growth::default();
        let mut grown = |millis| growth.on_empty(at(millis), 1e6, 1000.0, &view(None)) / 1e6;
        assert!(grown(0) < 1.01);
        assert_eq!([grown(50), grown(100)], [1.04, 1.1]);
        assert_eq!(grown(120), 1.1, "once in half a round trip");
        assert_eq!([grown(150), grown(200), grown(250)], [1.2, 1.3, 1.3]);
        growth.on_queue(at(310));
        assert!(growth.on_empty(at(320), 1e6, 1000.0, &view(None)) < 1.01e6);
    }

    #[test]
    fn a_wider_link_hastens_it_and_the_narrowest_link_bounds_it() {
        let mut growth = Growth::default();
        assert!(!growth.is_wider(&view(Some(1e6))));
        assert!(growth.is_wider(&view(Some(2e6))));
        assert!(growth.on_empty(at(100), 1e6, 1000.0, &view(None)) >= 1.1e6);
        assert_eq!(capped(1.3e6, 1e6, &view(Some(1.2e6))), 1.2e6);
        assert_eq!(capped(1.3e6, 1e6, &view(Some(0.9e6))), 1e6);
    }

    #[test]
    fn where_nobody_waits_the_rest_of_the_link_is_taken_at_once() {
        // A message of 1000 bytes takes a millisecond.
        let waits = |queue: f64| View { queue, ..view(Some(1e6)) };
        assert!(is_alone(&waits(20e-6), 5e5, 1000.0));
        assert!(!is_alone(&waits(250e-6), 5e5, 1000.0), "others take half of the link");
        assert!(!is_alone(&waits(20e-6), 5e4, 1000.0), "five messages are no proof");
        assert!(!is_alone(&view(None), 5e5, 1000.0));
        assert_eq!([4e5, 8e5].map(|base| when_alone(base, &waits(0.0))), [8e5, 1e6]);
    }

    #[test]
    fn at_the_start_it_doubles_and_takes_what_pairs_tell() {
        assert_eq!(at_start(1e5, &view(None)), (2e5, false));
        assert_eq!(at_start(1e5, &view(Some(1e6))), (4e5, false));
        assert_eq!(at_start(1e5, &view(Some(1.4e9))), (2e5, false), "they arrived at once");
        assert_eq!(at_start(8e5, &view(Some(1e6))), (1e6, true));
    }
}
