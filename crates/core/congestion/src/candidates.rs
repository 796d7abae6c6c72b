//! The receivers that may limit the rate: the current limiting receiver (CLR) and potential
//! limiting receivers (PLR). RFC 5740 5.5.2, RFC 4654 2.4.

use alloc::vec::Vec;
use fanfare_wire::units::{
    rate::Bitrate,
    time::{Duration, Time},
};
use fanfare_wire::{NodeId, ext::CcFlags};

/// The limiting receiver and those that may follow it: as many as a probe tells about (NRL's list).
const CANDIDATES_MAX: usize = 5;
/// Rates so close are decided by the longer round trip: the same loss hits it harder (NRL's value).
const CLOSE: f64 = 1.1;
/// A receiver not heard for so many of its round trips, probes and seconds counts no more (NRL's
/// values; RFC 5740's four round trips would drop it for a handful of lost messages).
const SILENT_RTTS: u32 = 20;
const SILENT_PROBES: u32 = 20;
const SILENT_MIN: Duration = Duration::from_secs(1);

/// One of so many probes was answered: what answers is near enough to the present.
const ANSWERED_OF_LATE: u32 = 3;

/// What one receiver would stand.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Candidate {
    pub(crate) node: NodeId,
    pub(crate) rate: Bitrate,
    pub(crate) rtt: Duration,
    pub(crate) loss: f64,
    /// It has seen no loss yet.
    pub(crate) starting: bool,
    pub(crate) heard: Time,
    /// `cc_sequence` of the probe that it answered.
    pub(crate) sequence: u16,
    /// One report of it is enough to make it the limiting receiver; of others it takes two, of two probes.
    pub(crate) confirmed: bool,
    /// Probes sent since it was heard.
    pub(crate) probes: u32,
}

impl Candidate {
    fn is_silent(&self, now: Time, grtt: Duration) -> bool {
        let age = now.since(self.heard);
        self.probes > SILENT_PROBES && age > SILENT_MIN.max(grtt.max(self.rtt) * SILENT_RTTS)
    }

    /// Whether it limits more than `other` does.
    fn limits_more(&self, other: &Self) -> bool {
        let close = (other.rate.as_bps() as f64 * CLOSE) as u64;
        self.rate < other.rate || (self.rate.as_bps() < close && self.rtt > other.rtt)
    }
}

/// The limiting receiver first.
#[derive(Debug, Default)]
pub(crate) struct Candidates {
    list: Vec<Candidate>,
}

impl Candidates {
    /// A receiver reported. True when it is, or becomes, the limiting one. Where there is one already, that
    /// may take its second report, of another probe: a single forged report takes no one's place then.
    pub(crate) fn on_report(&mut self, report: Candidate) -> bool {
        let clr = self.list.first().map(|clr| clr.node);
        let before = self.list.iter().find(|candidate| candidate.node == report.node);
        let again = |before: &Candidate| before.confirmed || before.sequence != report.sequence;
        let confirmed = report.confirmed || before.is_some_and(again);
        let mut report = Candidate { confirmed, ..report };
        // Who answers the same probe again has heard nothing since.
        if let Some(before) = before.filter(|before| before.sequence == report.sequence) {
            (report.heard, report.probes) = (before.heard, before.probes);
        }
        self.list.retain(|candidate| candidate.node != report.node);
        let at = match self.list.first() {
            _ if clr == Some(report.node) => 0,
            Some(first) if !report.limits_more(first) => self
                .list
                .iter()
                .skip(1)
                .position(|other| report.limits_more(other))
                .map_or(self.list.len(), |n| n + 1),
            Some(_) if !report.confirmed => 1,
            _ => 0,
        };
        self.list.insert(at, report);
        self.list.truncate(CANDIDATES_MAX);
        at == 0
    }

    /// The limiting receiver's rate has risen past another's.
    pub(crate) fn reconsider(&mut self) {
        let Some(clr) = self.list.first().copied() else { return };
        let slower = self.list.iter().enumerate().skip(1);
        let slower = slower.filter(|(_, c)| c.confirmed && c.rate < clr.rate);
        if let Some((at, _)) = slower.min_by_key(|(_, c)| c.rate) {
            self.list[..=at].rotate_right(1);
        }
    }

    /// A probe goes out.
    pub(crate) fn on_probe(&mut self, now: Time, grtt: Duration) {
        for candidate in &mut self.list {
            candidate.probes += 1;
        }
        self.list.retain(|candidate| !candidate.is_silent(now, grtt));
    }

    /// A receiver does not count any more.
    pub(crate) fn remove(&mut self, node: NodeId) {
        self.list.retain(|candidate| candidate.node != node);
    }

    /// Whether another receiver than the limiting one has answered a probe of late.
    pub(crate) fn others_answer(&self) -> bool {
        self.list.iter().skip(1).any(|other| other.probes <= ANSWERED_OF_LATE)
    }

    /// The limiting receiver has gone, if it has not been heard for this long.
    pub(crate) fn pass_over(&mut self, now: Time, silence: Duration) {
        if self.list.first().is_some_and(|clr| now.since(clr.heard) > silence) {
            self.list.remove(0);
        }
    }

    /// The limiting receiver.
    pub(crate) fn first(&self) -> Option<&Candidate> {
        self.list.first()
    }

    /// All, as a probe names them.
    pub(crate) fn named(&self) -> Vec<(NodeId, CcFlags)> {
        let flags = |n| if n == 0 { CcFlags::CLR } else { CcFlags::PLR };
        let candidates = self.list.iter().enumerate();
        candidates.map(|(n, candidate)| (candidate.node, CcFlags(flags(n)))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidate(node: u32, kbps: u64) -> Candidate {
        Candidate {
            node: NodeId(node),
            rate: Bitrate::kbps(kbps),
            rtt: Duration::from_millis(100),
            loss: 0.01,
            starting: false,
            heard: Time::ZERO,
            sequence: 0,
            confirmed: false,
            probes: 0,
        }
    }

    /// The same of another probe.
    fn again(candidate: Candidate) -> Candidate {
        Candidate { sequence: candidate.sequence + 1, ..candidate }
    }

    fn nodes(candidates: &Candidates) -> Vec<u32> {
        candidates.named().iter().map(|(node, _)| node.0).collect()
    }

    #[test]
    fn the_slowest_limits_and_the_others_follow_in_order() {
        let mut candidates = Candidates::default();
        assert!(candidates.on_report(candidate(1, 500)));
        assert!(!candidates.on_report(candidate(2, 900)));
        assert!(!candidates.on_report(candidate(3, 700)));
        assert!(!candidates.on_report(candidate(4, 300)));
        assert!(candidates.on_report(again(candidate(4, 300))));
        assert_eq!(nodes(&candidates), [4, 1, 3, 2]);
        assert!(candidates.named()[0].1.has(CcFlags::CLR));
        assert!(candidates.named()[1].1.has(CcFlags::PLR));
    }

    #[test]
    fn the_limiting_receiver_stays_until_another_is_slower() {
        let mut candidates = Candidates::default();
        candidates.on_report(candidate(1, 300));
        candidates.on_report(candidate(2, 400));
        candidates.on_report(again(candidate(2, 400)));
        assert!(candidates.on_report(candidate(1, 900)));
        candidates.reconsider();
        assert_eq!(nodes(&candidates), [2, 1]);
    }

    #[test]
    fn of_two_similar_receivers_the_farther_one_limits() {
        let mut candidates = Candidates::default();
        candidates.on_report(candidate(1, 300));
        let far = Candidate { rtt: Duration::from_millis(200), ..candidate(2, 320) };
        candidates.on_report(far);
        assert!(candidates.on_report(again(far)));
    }

    #[test]
    fn reports_of_one_probe_make_nobody_the_limiting_receiver() {
        let mut candidates = Candidates::default();
        candidates.on_report(candidate(1, 500));
        for _ in 0..100 {
            assert!(!candidates.on_report(candidate(66, 1)));
            candidates.on_report(candidate(1, 500));
            candidates.reconsider();
        }
        assert_eq!(nodes(&candidates)[0], 1);
        assert!(candidates.on_report(again(candidate(66, 1))));
    }

    #[test]
    fn one_that_is_silent_while_others_answer_is_passed_over_soon() {
        let mut candidates = Candidates::default();
        let silence = Duration::from_millis(300);
        candidates.on_report(candidate(1, 300));
        assert!(!candidates.others_answer());
        candidates.on_report(candidate(2, 400));
        let after = |millis| Time::ZERO + Duration::from_millis(millis);
        candidates.on_probe(after(10), Duration::ZERO);
        assert!(candidates.others_answer());
        candidates.pass_over(after(300), silence);
        assert_eq!(nodes(&candidates), [1, 2]);
        candidates.pass_over(after(301), silence);
        assert_eq!(nodes(&candidates), [2]);
    }

    #[test]
    fn one_that_answers_no_probe_for_long_is_dropped() {
        let mut candidates = Candidates::default();
        candidates.on_report(candidate(1, 300));
        for n in 1..=20 {
            candidates.on_probe(Time::ZERO + Duration::from_millis(110 * n), Duration::ZERO);
        }
        assert!(candidates.first().is_some(), "twenty probes may be lost");
        candidates.on_probe(Time::ZERO + Duration::from_millis(2310), Duration::ZERO);
        assert!(candidates.first().is_none());
    }
}
