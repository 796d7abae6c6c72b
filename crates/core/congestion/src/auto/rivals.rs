//! Others who keep the queue full, whatever we leave them: TCP flows behind a long drop-tail queue.
//! A flow that yields to a queue yields to them until it has nothing.
//!
//! A drain tells. It empties a queue that is ours, and that of others who yield, as they drain with us. When two have
//! left messages waiting, somebody else fills the queue. Then the rate falls no further than TCP's equation
//! says for the losses that are seen (RFC 5348 3.1, as RFC 5740 has it), and grows to that
//! by a message in each round trip. Drains that empty the queue end it.

use crate::controller::equation_rate;
use fanfare_wire::units::time::{Duration, Time};

/// Drains that left a queue. One may have met somebody who had just begun.
const VAIN: u32 = 2;
/// The same where nothing is lost: ten of ours with four messages in a round trip each leave a queue now and then.
const VAIN_UNLOST: u32 = VAIN_MAX;
/// One that emptied it counts as much as two of these: TCP that has just yielded leaves a short queue empty for a moment.
/// So many are kept in mind.
const EMPTIED: u32 = 2;
const VAIN_MAX: u32 = 4;
/// Flows that may share a link so that each keeps the queue that it wants: of more, and of others, a drain leaves more.
pub(super) const FLOWS: f64 = 16.0;
/// Messages by which the rate of a round trip grows in one (RFC 5681 3.1: a segment). With two, five beside five
/// CUBIC lost more and got a tenth less.
const GROWTH: f64 = 1.0;
/// Part of the link that is kept where nothing is lost: BBR fills a long queue without losing anything.
const UNLOST: f64 = 0.5;

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
    /// What the narrowest link passes as pairs tell it, bytes a second.
    pub(super) link: f64,
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
            self.vain = match least > report.wanted {
                true => (self.vain + 1).min(VAIN_MAX),
                false => self.vain.saturating_sub(EMPTIED),
            };
        }
        let enough = if report.loss_events > 0.0 { VAIN } else { VAIN_UNLOST };
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
            false => UNLOST * report.link,
        };
        let kept = grown.min(most);
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
    use fanfare_wire::units::time::at;

    fn report(drained: bool, standing: f64) -> QueueReport {
        let rtt = Duration::from_millis(100);
        QueueReport {
            drained,
            standing,
            wanted: 0.01,
            loss_events: 1e-3,
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
    fn two_drains_in_vain_tell_of_rivals_and_those_that_empty_the_queue_that_they_have_gone() {
        let mut rivals = QueueRivals::default();
        assert_eq!(drain(&mut rivals, 1000, 0.04), 0.0);
        assert_eq!(drain(&mut rivals, 3000, 0.04), 28e3);
        assert!(rivals.are_there());
        assert_eq!(drain(&mut rivals, 5000, 0.008), 0.0);
        assert!(!rivals.are_there());
        // After many in vain one that empties it may be chance.
        (0..9).for_each(|n| _ = drain(&mut rivals, 7000 + 2000 * n, 0.04));
        assert!(drain(&mut rivals, 30_000, 0.008) > 0.0);
        assert_eq!(drain(&mut rivals, 32_000, 0.008), 0.0);
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
    fn where_nothing_is_lost_four_drains_tell_of_them_and_half_of_the_link_is_kept() {
        let mut rivals = QueueRivals::default();
        let calm = QueueReport { loss_events: 0.0, ..report(false, 0.05) };
        (0..2).for_each(|n| _ = drain(&mut rivals, n * 1000, 0.04));
        assert_eq!(rivals.on_report(at(2000), &calm), 0.0, "two drains are not enough there");
        (2..4).for_each(|n| _ = drain(&mut rivals, n * 1000, 0.04));
        assert_eq!(rivals.on_report(at(900_000), &calm), 5e5);
    }
}
