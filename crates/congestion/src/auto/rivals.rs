//! Others who keep the queue full, whatever we leave them: TCP flows by CUBIC or Reno behind a long drop-tail queue.
//! A flow that yields to a queue yields to them until it has nothing.
//!
//! A drain tells. It empties a queue that is ours, and that of others who yield, as they drain with us. When two in a
//! row have left messages waiting, somebody else fills the queue. Then the rate falls no further than TCP's equation
//! says for the losses that are seen (RFC 5348 3.1, as RFC 5740 has it), and grows to that as TCP does. The first
//! drain that empties the queue ends it.

use crate::controller::equation_rate;
use fanfare_units::time::{Duration, Time};

/// Drains in a row that left a queue. One may have met somebody who had just begun.
const VAIN: u32 = 2;
/// Flows that may share a link so that each keeps the queue that it wants: of more, and of others, a drain leaves more.
pub(super) const FLOWS: f64 = 16.0;
/// Messages by which the rate of a round trip grows in one (RFC 5681 3.1: a segment).
const GROWTH: f64 = 1.0;

/// What a report says of a queue.
#[derive(Debug, Clone, Copy)]
pub(super) struct QueueReport {
    /// What it tells of was sent in a drain.
    pub(super) drained: bool,
    /// Least queueing delay, and the one that is wanted where the link is shared by few, seconds.
    pub(super) standing: f64,
    pub(super) wanted: f64,
    /// Loss events by the messages (RFC 5348 5).
    pub(super) loss_events: f64,
    /// Round trip, the queue included.
    pub(super) rtt: Duration,
    /// Mean bytes of a message.
    pub(super) size: f64,
    /// Bytes a second that passed.
    pub(super) passed: f64,
}

/// Whether there are such, and what rate is kept beside them.
#[derive(Debug, Default)]
pub(super) struct QueueRivals {
    /// Least queueing delay of the drain that reports tell of.
    least: Option<f64>,
    vain: u32,
    /// Bytes a second, since when.
    kept: Option<(f64, Time)>,
}

impl QueueRivals {
    /// Bytes a second to which the rate may fall for a queue; 0 while there are no rivals.
    pub(super) fn on_report(&mut self, now: Time, report: &QueueReport) -> f64 {
        if report.drained {
            self.least = Some(self.least.unwrap_or(f64::INFINITY).min(report.standing));
        } else if let Some(least) = self.least.take() {
            self.vain = if least > report.wanted { self.vain + 1 } else { 0 };
        }
        if self.vain < VAIN || report.loss_events <= 0.0 {
            self.kept = None;
            return 0.0;
        }
        let (kept, since) = self.kept.unwrap_or((report.passed, now));
        let rtt = report.rtt.as_secs_f64().max(1e-3);
        let trips = now.since(since).as_secs_f64() / rtt;
        let grown = kept + GROWTH * trips * report.size / rtt;
        let kept = grown.min(equation_rate(report.size, report.rtt, report.loss_events));
        self.kept = Some((kept, now));
        kept
    }

    /// Another path is looked at.
    pub(super) fn on_other_path(&mut self) {
        *self = Self::default();
    }

    /// Whether somebody keeps the queue full.
    pub(super) fn are_there(&self) -> bool {
        self.kept.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fanfare_units::time::at;

    fn report(drained: bool, standing: f64) -> QueueReport {
        let rtt = Duration::from_millis(100);
        QueueReport {
            drained,
            standing,
            wanted: 0.01,
            loss_events: 1e-3,
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
    fn two_drains_in_vain_tell_of_rivals_and_one_that_empties_the_queue_that_they_have_gone() {
        let mut rivals = QueueRivals::default();
        assert_eq!(drain(&mut rivals, 1000, 0.04), 0.0);
        assert_eq!(drain(&mut rivals, 3000, 0.04), 28e3);
        assert!(rivals.are_there());
        assert_eq!(drain(&mut rivals, 5000, 0.012), 0.0);
        assert!(!rivals.are_there());
        assert_eq!(drain(&mut rivals, 7000, 0.04), 0.0);
    }

    #[test]
    fn beside_them_it_grows_by_a_message_in_a_round_trip_up_to_what_the_equation_says() {
        let mut rivals = QueueRivals::default();
        (0..2).for_each(|n| _ = drain(&mut rivals, n * 1000, 0.04));
        let grown = rivals.on_report(at(2100), &report(false, 0.05));
        // Ten round trips more, each of a message.
        assert!((grown - 28e3 - 10.0 * 14e3).abs() < 1.0, "{grown}");
        let most = rivals.on_report(at(900_000), &report(false, 0.05));
        assert_eq!(most, equation_rate(1400.0, Duration::from_millis(100), 1e-3));
    }

    #[test]
    fn where_nothing_is_lost_nobody_fills_the_queue() {
        let mut rivals = QueueRivals::default();
        for n in 0..9 {
            rivals.on_report(at(n * 1000), &report(true, 0.04));
            let calm = QueueReport { loss_events: 0.0, ..report(false, 0.05) };
            assert_eq!(rivals.on_report(at(n * 1000 + 500), &calm), 0.0);
        }
    }
}
