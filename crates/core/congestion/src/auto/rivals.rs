//! Others who keep the queue full, whatever we leave them: TCP flows behind a long drop-tail queue.
//! A flow that yields to a queue yields to them until it has nothing.
//!
//! A drain tells. It empties a queue that is ours, and that of others who yield, as they drain with
//! us. When several have left messages waiting, somebody else fills the queue. Then the rate falls no
//! further than TCP's equation says for the losses that are seen (RFC 5348 3.1, as RFC 5740 has it),
//! and grows to that by a message in each round trip. Drains that empty the queue end it.

use crate::controller::equation_rate;
use fanfare_wire::ext::ExtPath;
use fanfare_wire::units::time::{Duration, Time};

/// Drains that left a queue which drops: fewer may have met somebody who had just begun.
const VAIN_DROPPED: u32 = 4;
/// The same where nothing is dropped, or no more than is lost at random. Ten of ours with four
/// messages in a round trip each leave a queue now and then.
const VAIN_UNLOST: u32 = VAIN_MAX;
/// Those that are enough once rivals were seen, as long as the queue drops.
const VAIN_STAYS: u32 = 2;
/// Weight of a drain that emptied the queue: TCP that has just yielded leaves a short one empty for a
/// moment. No more than `VAIN_MAX` are kept in mind.
const EMPTIED: u32 = 2;
const VAIN_MAX: u32 = 5;
/// Loss events by the share that is known to be random, up to which they are taken for that. Ten of
/// ours over 1 Mbit/s and 484 ms with 0.1 % loss took one of them for somebody else otherwise.
const RANDOM: f64 = 2.0;
/// Flows that may share a link so that each keeps the queue that it wants: of more, and of others, a
/// drain leaves more.
pub(super) const FLOWS: f64 = 16.0;
/// Messages by which the rate of a round trip grows in one (RFC 5681 3.1: a segment). With two, five
/// beside five CUBIC lost more and got a tenth less.
const GROWTH: f64 = 1.0;
/// Part of the link that is kept at most: beside one other that is all of ours. BBR fills a long queue
/// without losing anything, and the equation knows no bound then.
const MOST: f64 = 0.5;
/// Time in which the path's least delay is remembered, once or twice as long. Receivers forget it after
/// some drains, and take a queue that others never let run empty for the path itself. In a minute
/// clocks drift by 6 ms at most (100 millionths), less than one message of slow flows.
const MEMORY: Duration = Duration::from_secs(30);

/// Report of the limiting receiver, as far as it is about the queue.
#[derive(Debug, Clone, Copy)]
pub(super) struct QueueReport {
    /// True if it tells of messages that were sent in a drain.
    pub(super) drained: bool,
    /// Least queueing delay, and the one that is wanted where the link is shared by few, seconds.
    pub(super) standing: f64,
    pub(super) wanted: f64,
    /// Loss events by the messages (RFC 5348 5).
    pub(super) loss_events: f64,
    /// Share of the messages that is known to be lost at random.
    pub(super) random: f64,
    /// The path's least delay as the receiver knows it, in its own units.
    pub(super) base: u16,
    /// The path is too short for that to tell anything.
    pub(super) near: bool,
    /// Rate of the narrowest link as pairs tell it, bytes a second.
    pub(super) link: f64,
    /// Round trip, the queue included.
    pub(super) rtt: Duration,
    /// Mean bytes of a message.
    pub(super) size: f64,
    /// Bytes a second that passed.
    pub(super) passed: f64,
}

/// The least delay of a path in the last minute or so.
#[derive(Debug, Default)]
struct LeastDelay {
    /// Of this span, and of the one before.
    least: Option<u16>,
    before: Option<u16>,
    begun: Time,
}

impl LeastDelay {
    /// Seconds by which the delay that a receiver takes for the least is longer than that.
    fn on_base(&mut self, now: Time, base: u16) -> f64 {
        let since = now.since(self.begun);
        if self.least.is_some() && since >= MEMORY {
            self.before = self.least.take().filter(|_| since < MEMORY * 2);
        }
        if self.least.is_none() {
            self.begun = now;
        }
        let lower =
            |one: u16, other: u16| if ExtPath::fallen(one, other) > 0.0 { other } else { one };
        self.least = Some(self.least.map_or(base, |least| lower(least, base)));
        let least = self.before.into_iter().chain(self.least).reduce(lower).unwrap_or(base);
        ExtPath::fallen(base, least).max(0.0)
    }
}

/// Rivals as drains tell of them, and the rate that is kept beside them.
#[derive(Debug, Default)]
pub(super) struct QueueRivals {
    /// Least queueing delay of the drain that reports tell of.
    least: Option<f64>,
    path: LeastDelay,
    vain: u32,
    /// Bytes a second, since when.
    kept: Option<(f64, Time)>,
}

impl QueueRivals {
    /// Bytes a second to which the rate may fall for a queue; 0 while there are no rivals.
    pub(super) fn on_report(&mut self, now: Time, report: &QueueReport) -> f64 {
        let hidden = if report.near { 0.0 } else { self.path.on_base(now, report.base) };
        if report.drained {
            let standing = report.standing + hidden;
            self.least = Some(self.least.unwrap_or(f64::INFINITY).min(standing));
        } else if let Some(least) = self.least.take() {
            self.vain = match least > report.wanted {
                true => (self.vain + 1).min(VAIN_MAX),
                false => self.vain.saturating_sub(EMPTIED),
            };
        }
        let dropped = report.loss_events > RANDOM * report.random;
        let enough = match (dropped, self.kept.is_some()) {
            (true, true) => VAIN_STAYS,
            (true, false) => VAIN_DROPPED,
            (false, _) => VAIN_UNLOST,
        };
        if self.vain < enough {
            self.kept = None;
            return 0.0;
        }
        let (kept, since) = self.kept.unwrap_or((report.passed, now));
        let rtt = report.rtt.as_secs_f64().max(1e-3);
        let trips = now.since(since).as_secs_f64() / rtt;
        let grown = kept + GROWTH * trips * report.size / rtt;
        let most = match report.loss_events > 0.0 {
            true => equation_rate(report.size, report.rtt, report.loss_events),
            false => f64::INFINITY,
        };
        let most = most.min(MOST * report.link);
        let kept = grown.min(most);
        self.kept = Some((kept, now));
        kept
    }

    /// Another path is looked at.
    pub(super) fn on_other_path(&mut self) {
        *self = Self::default();
    }

    /// True if somebody keeps the queue full.
    pub(super) fn are_there(&self) -> bool {
        self.kept.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fanfare_wire::units::time::at;

    fn report(drained: bool, standing: f64) -> QueueReport {
        let rtt = Duration::from_millis(100);
        QueueReport {
            drained,
            standing,
            wanted: 0.01,
            loss_events: 1e-3,
            random: 0.0,
            base: 0,
            near: false,
            link: 1e6,
            rtt,
            size: 1400.0,
            passed: 28e3,
        }
    }

    /// A drain that leaves so much of the queue.
    fn drain(rivals: &mut QueueRivals, from: u64, left: f64) -> f64 {
        rivals.on_report(at(from), &report(true, 0.05));
        rivals.on_report(at(from + 50), &report(true, left));
        rivals.on_report(at(from + 100), &report(false, 0.05))
    }

    #[test]
    fn four_drains_in_vain_tell_of_rivals_and_those_that_empty_the_queue_that_they_have_gone() {
        let mut rivals = QueueRivals::default();
        (0..3).for_each(|n| assert_eq!(drain(&mut rivals, 1000 * n, 0.04), 0.0));
        assert_eq!(drain(&mut rivals, 3000, 0.04), 28e3);
        assert!(rivals.are_there());
        // One that empties it may be chance.
        assert!(drain(&mut rivals, 5000, 0.008) > 0.0);
        assert_eq!(drain(&mut rivals, 7000, 0.008), 0.0);
        assert!(!rivals.are_there());
    }

    #[test]
    fn a_queue_that_the_receiver_takes_for_the_path_itself_is_one_for_a_minute() {
        let mut rivals = QueueRivals::default();
        // 20 ms in units of 16 us, as the receiver forgets what was before.
        let later = |drained| QueueReport { base: 1250, ..report(drained, 0.001) };
        rivals.on_report(at(0), &report(false, 0.001));
        for n in 1..5 {
            rivals.on_report(at(1000 * n), &later(true));
            rivals.on_report(at(1000 * n + 100), &later(false));
        }
        assert!(rivals.are_there());
        for n in 70..75 {
            rivals.on_report(at(1000 * n), &later(true));
            rivals.on_report(at(1000 * n + 100), &later(false));
        }
        assert!(!rivals.are_there(), "it is the path, then");
    }

    #[test]
    fn beside_them_it_grows_by_a_message_in_a_round_trip_up_to_what_the_equation_says() {
        let mut rivals = QueueRivals::default();
        (0..4).for_each(|n| _ = drain(&mut rivals, n * 1000, 0.04));
        let grown = rivals.on_report(at(4100), &report(false, 0.05));
        // Ten round trips more, each of a message.
        assert!((grown - 28e3 - 10.0 * 14e3).abs() < 1.0, "{grown}");
        let most = rivals.on_report(at(900_000), &report(false, 0.05));
        assert_eq!(most, equation_rate(1400.0, Duration::from_millis(100), 1e-3).min(5e5));
    }

    #[test]
    fn where_nothing_or_no_more_than_by_chance_is_lost_five_drains_tell_of_them() {
        for (loss_events, random) in [(0.0, 0.0), (1e-3, 1e-3)] {
            let mut rivals = QueueRivals::default();
            let calm = QueueReport { loss_events, random, ..report(false, 0.05) };
            let drained = QueueReport { drained: true, ..calm };
            for n in 0..5 {
                assert_eq!(rivals.on_report(at(1000 * n), &calm), 0.0, "{n}");
                rivals.on_report(at(1000 * n + 50), &drained);
            }
            assert!(rivals.on_report(at(5000), &calm) > 0.0);
            if loss_events == 0.0 {
                let half_of_the_link = rivals.on_report(at(900_000), &calm);
                assert_eq!(half_of_the_link, 5e5);
            }
        }
    }
}
