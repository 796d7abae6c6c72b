//! NORM-CC: the rate of a TCP flow on the path to the slowest receiver (RFC 5740 5.5.2, RFC 4654).
//!
//! Receivers report a loss event fraction. Before the first loss they report twice the rate at
//! which messages arrive. The sender computes TCP's rate from it, with the round-trip time that it
//! measures. The slowest receiver limits the rate.

use super::{
    Feedback, Limits, Mode, Probing, RateController, Reason,
    candidates::{Candidate, Candidates},
};
use crate::Ecn;
use alloc::vec::Vec;
use fanfare_wire::units::{
    rate::Bitrate,
    time::{Duration, Time},
};
use fanfare_wire::{NodeId, ext::CcFlags};

/// TCP's first window (RFC 6928): this many segments in the first round trip. NRL begins with one
/// a second and needs four seconds to a useful rate.
const FIRST_WINDOW: f64 = 10.0;
/// Probes that may go unanswered before the first answer: the first guess of the round trip may be
/// short.
const FIRST_PROBES: u32 = 4;
/// Sending at less than this share of the rate, the sender has nothing to send: what arrives says
/// nothing of the path then (RFC 5348 4.3).
const DATA_LIMITED: f64 = 0.7;
/// One report raises the rate by no more than this (NRL's value).
const RAISE_MAX: f64 = 2.0;
/// Bounds of the damper on short-term swings (NRL's values).
const DAMPER: (f64, f64) = (0.5, 2.0);
/// Weight of the old values in the mean square root of the round trip (RFC 5348 4.5).
const KEEP_ROOT: f64 = 0.9;
/// Weight of a new message in the mean size of messages (NRL's value).
const SIZE_WEIGHT: f64 = 0.01;
/// A limiting receiver silent for so many round trips may have lost everything: slower, until it
/// speaks (RFC 4654 2.7 reacts after ten).
const SILENT_RTTS: u32 = 10;

/// The sender's half of TFMCC.
#[derive(Debug)]
pub struct Norm {
    limits: Limits,
    mode: Mode,
    mark: Option<Ecn>,
    rate: Bitrate,
    /// No receiver that limits has seen loss.
    starting: bool,
    candidates: Candidates,
    /// Mean bytes of a message with a full segment.
    size: f64,
    /// Mean square root of the limiting receiver's round trip, seconds.
    root: Option<f64>,
    /// The report last used: one probe is answered once.
    answered: Option<(NodeId, u16)>,
    grtt: Duration,
    /// Probes without any receiver that limits.
    unanswered: u32,
    usage: Usage,
    /// Half of the rate when the last probe went out: no report makes it less before the next.
    least: Bitrate,
}

/// How much of the rate is used.
#[derive(Debug)]
struct Usage {
    since: Time,
    bytes: u64,
    /// Too little to send, in the interval of probes before this one and in that before it: answers
    /// that come now speak of both.
    limited: [bool; 2],
}

impl Usage {
    fn on_probe(&mut self, now: Time, rate: Bitrate) {
        let possible = rate.bytes_in(now.since(self.since)) as f64;
        self.limited = [(self.bytes as f64) < DATA_LIMITED * possible, self.limited[0]];
        (self.since, self.bytes) = (now, 0);
    }

    fn is_limited(&self) -> bool {
        self.limited != [false; 2]
    }
}

impl Norm {
    /// Starts as TFRC does, with a guess of the round trip.
    #[must_use]
    pub fn new(now: Time, limits: Limits, mode: Mode) -> Self {
        let start = FIRST_WINDOW * limits.segment as f64 / limits.rtt.as_secs_f64().max(1e-3);
        Self {
            rate: limits.clamp(Bitrate::from_bytes_per_second(start)),
            size: limits.segment as f64,
            grtt: limits.rtt,
            limits,
            mode,
            mark: None,
            starting: true,
            candidates: Candidates::default(),
            root: None,
            answered: None,
            unanswered: 0,
            usage: Usage { since: now, bytes: 0, limited: [false; 2] },
            least: limits.min,
        }
        .bounded()
    }

    /// From now on to the next probe no less than half of the present rate.
    fn bounded(mut self) -> Self {
        self.bound();
        self
    }

    fn bound(&mut self) {
        self.least = Bitrate::bps(self.rate.as_bps() / 2);
    }

    /// Marks its messages as ECN-capable.
    #[must_use]
    pub(crate) fn marked(self, mark: Ecn) -> Self {
        Self { mark: Some(mark), ..self }
    }

    /// What the receiver's path bears.
    fn judge(&self, now: Time, feedback: &Feedback) -> Candidate {
        let starting = feedback.flags.has(CcFlags::START) || feedback.loss <= 0.0;
        let rtt = feedback.rtt.unwrap_or(self.grtt);
        let equation = super::equation_rate(self.size, rtt, feedback.loss);
        let rate = match starting {
            true if self.usage.is_limited() => feedback.rate.max(self.rate),
            true => feedback.rate,
            false if feedback.flags.has(CcFlags::LIMIT) && !self.usage.is_limited() => {
                Bitrate::from_bytes_per_second(equation).min(feedback.rate)
            }
            false => Bitrate::from_bytes_per_second(equation),
        };
        let (node, loss) = (feedback.node, feedback.loss);
        Candidate {
            node,
            rate,
            rtt,
            loss,
            starting,
            heard: now,
            sequence: feedback.cc_sequence,
            confirmed: false,
            probes: 0,
        }
    }

    fn follow(&mut self, clr: Candidate, sample: Option<Duration>) {
        if clr.starting && self.starting {
            // Twice what arrives, which is at most twice what was sent.
            self.rate = self.limits.clamp(clr.rate.max(self.rate));
            return;
        }
        self.starting = false;
        if clr.rate < self.rate {
            self.rate = self.limits.clamp(clr.rate.max(self.least));
            return;
        }
        if self.usage.is_limited() {
            return;
        }
        let most = self.rate.as_bytes_per_second() * RAISE_MAX;
        let rate = clr.rate.as_bytes_per_second().min(most) * self.damper(sample);
        self.rate = self.limits.clamp(Bitrate::from_bytes_per_second(rate));
    }

    /// When the round trip is longer than usual a queue grows: slower at once, before loss says so
    /// (RFC 5348 4.5).
    fn damper(&mut self, sample: Option<Duration>) -> f64 {
        let Some(sample) = sample else { return 1.0 };
        let root = libm::sqrt(sample.as_secs_f64().max(1e-6));
        let mean = self.root.unwrap_or(root);
        self.root = Some(KEEP_ROOT * mean + (1.0 - KEEP_ROOT) * root);
        (mean / root).clamp(DAMPER.0, DAMPER.1)
    }

    fn halve(&mut self) {
        self.rate = self.limits.clamp(Bitrate::bps(self.rate.as_bps() / 2));
    }
}

impl RateController for Norm {
    fn on_feedback(&mut self, now: Time, feedback: &Feedback) {
        let limiting = self.candidates.on_report(self.judge(now, feedback));
        let answer = (feedback.node, feedback.cc_sequence);
        if !limiting || self.answered == Some(answer) {
            return;
        }
        self.answered = Some(answer);
        self.candidates.reconsider();
        if let Some(clr) = self.candidates.first().copied() {
            self.follow(clr, feedback.sample.filter(|_| clr.node == feedback.node));
        }
    }

    fn on_probe(&mut self, now: Time, probing: &Probing) {
        self.grtt = probing.grtt;
        self.bound();
        self.usage.on_probe(now, self.rate);
        self.candidates.on_probe(now, probing.grtt);
        let silent = match self.candidates.first() {
            None => {
                self.unanswered += 1;
                self.unanswered > FIRST_PROBES
            }
            Some(clr) => {
                self.unanswered = FIRST_PROBES;
                now.since(clr.heard) > self.grtt.max(clr.rtt) * SILENT_RTTS
                    && clr.probes > SILENT_RTTS
            }
        };
        if silent && probing.sending {
            self.halve();
        }
    }

    /// Commands are short and few: the equation is about the messages that fill the line.
    fn on_sent(&mut self, _now: Time, bytes: usize) {
        self.usage.bytes += bytes as u64;
        if bytes >= self.limits.segment {
            self.size += SIZE_WEIGHT * (bytes as f64 - self.size);
        }
    }

    fn on_left(&mut self, _now: Time, node: NodeId) {
        self.candidates.remove(node);
    }

    fn on_rate_set(&mut self, _now: Time, rate: Bitrate) {
        self.limits.max = rate;
        self.rate = self.limits.clamp(self.rate);
    }

    fn on_rate_put(&mut self, _now: Time, rate: Bitrate) {
        self.rate = self.limits.clamp(rate);
        self.bound();
    }

    fn on_segment_size(&mut self, bytes: usize) {
        self.limits.segment = bytes;
    }

    fn rate(&self) -> Bitrate {
        self.rate
    }

    fn outlook(&self, now: Time, feedback: &Feedback) -> Option<f64> {
        // Before it has received anything a receiver reports next to nothing.
        let says = feedback.loss > 0.0 || feedback.rate > self.limits.min;
        let rate = self.judge(now, feedback).rate.as_bps() as f64;
        says.then(|| rate / self.rate.as_bps().max(1) as f64)
    }

    fn reason(&self) -> Reason {
        match self.candidates.first() {
            _ if self.rate >= self.limits.max => Reason::Set,
            None => Reason::NoFeedback,
            Some(_) if self.starting => Reason::Start,
            Some(clr) if self.mode == Mode::Ecn => Reason::Marks(clr.node, clr.loss),
            Some(clr) if clr.loss > 0.0 => Reason::Loss(clr.node, clr.loss),
            Some(clr) => Reason::Path(clr.node),
        }
    }

    fn mode(&self) -> Option<Mode> {
        Some(self.mode)
    }

    /// Once per round trip of the receiver that limits (RFC 5740 5.5.2), but not more often than
    /// messages go.
    fn probe_interval(&self, grtt: Duration) -> Option<Duration> {
        let rtt = self.candidates.first().map_or(grtt, |clr| clr.rtt.min(grtt));
        Some(rtt.max(self.rate.time_for(self.limits.segment)))
    }

    fn limiting(&self) -> Vec<(NodeId, CcFlags)> {
        self.candidates.named()
    }

    fn ecn(&self) -> Option<Ecn> {
        self.mark
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEGMENT: usize = 1000;

    fn norm() -> Norm {
        let limits = Limits {
            min: Bitrate::kbps(8),
            max: Bitrate::mbps(100),
            segment: SEGMENT,
            rtt: Duration::from_millis(100),
            open: false,
        };
        Norm::new(Time::ZERO, limits, Mode::Norm)
    }

    fn feedback(node: u32, sequence: u16, loss: f64, kbps: u64, flags: u8) -> Feedback {
        let rtt = Some(Duration::from_millis(100));
        Feedback {
            node: NodeId(node),
            cc_sequence: sequence,
            sample: rtt,
            rtt,
            nearest: rtt,
            loss,
            rate: Bitrate::kbps(kbps),
            flags: CcFlags(flags),
            path: None,
        }
    }

    fn hear(norm: &mut Norm, feedback: Feedback) {
        norm.on_feedback(Time::ZERO, &feedback);
    }

    #[test]
    fn it_begins_with_a_few_segments_a_round_trip() {
        assert_eq!(norm().rate(), Bitrate::kbps(800));
    }

    #[test]
    fn before_any_loss_the_reported_rate_is_taken() {
        let mut norm = norm();
        hear(&mut norm, feedback(1, 1, 0.0, 2_000, CcFlags::START));
        assert_eq!((norm.rate(), norm.reason()), (Bitrate::mbps(2), Reason::Start));
    }

    #[test]
    fn after_loss_the_rate_is_tcps() {
        let mut norm = norm();
        hear(&mut norm, feedback(1, 1, 0.0, 20_000, CcFlags::START));
        hear(&mut norm, feedback(1, 2, 0.01, 20_000, 0));
        let tcp = super::super::equation_rate(1000.0, Duration::from_millis(100), 0.01);
        assert_eq!(norm.rate(), Bitrate::from_bytes_per_second(tcp));
        assert_eq!(norm.reason(), Reason::Loss(NodeId(1), 0.01));
    }

    #[test]
    fn the_slowest_receiver_limits_and_a_faster_one_does_not() {
        let mut norm = norm();
        hear(&mut norm, feedback(1, 1, 0.01, 0, 0));
        let slow = norm.rate();
        hear(&mut norm, feedback(2, 1, 0.0001, 0, 0));
        assert_eq!(norm.rate(), slow);
        hear(&mut norm, feedback(3, 1, 0.04, 0, 0));
        assert_eq!(norm.rate(), slow, "one report takes no one's place");
        hear(&mut norm, feedback(3, 2, 0.04, 0, 0));
        assert!(norm.rate() < slow);
        assert_eq!(norm.limiting()[0].0, NodeId(3));
    }

    #[test]
    fn one_report_at_most_doubles_the_rate_and_a_repeated_one_does_nothing() {
        let mut norm = norm();
        hear(&mut norm, feedback(1, 1, 0.1, 0, 0));
        let slow = norm.rate().as_bps();
        hear(&mut norm, feedback(1, 2, 0.0001, 0, 0));
        hear(&mut norm, feedback(1, 2, 0.0001, 0, 0));
        assert!(norm.rate().as_bps().abs_diff(2 * slow) <= 16, "{} {slow}", norm.rate());
    }

    #[test]
    fn reports_lower_the_rate_by_no_more_than_half_between_two_probes() {
        let mut norm = norm();
        hear(&mut norm, feedback(1, 1, 0.0, 20_000, CcFlags::START));
        let probing = Probing { grtt: Duration::from_millis(100), cc_sequence: 2, sending: true };
        let mut rates = Vec::new();
        for n in 2..5 {
            norm.on_probe(Time::ZERO, &probing);
            for _ in 0..100 {
                hear(&mut norm, feedback(1, n, 0.9, 1, 0));
            }
            rates.push(norm.rate());
        }
        assert_eq!(rates, [10_000, 5_000, 2_500].map(Bitrate::kbps));
    }

    #[test]
    fn with_nobody_to_limit_it_slows_down_while_it_sends() {
        let mut norm = norm();
        let start = norm.rate().as_bps();
        let probing = Probing { grtt: Duration::ZERO, cc_sequence: 1, sending: false };
        norm.on_probe(Time::ZERO, &probing);
        assert_eq!(norm.rate().as_bps(), start);
        for _ in 0..=FIRST_PROBES {
            norm.on_probe(Time::ZERO, &Probing { sending: true, ..probing });
        }
        assert_eq!(norm.rate().as_bps(), start / 4, "twice after four probes, one without data");
    }

    #[test]
    fn with_nothing_to_send_what_arrives_does_not_lower_the_rate() {
        let mut norm = norm();
        hear(&mut norm, feedback(1, 1, 0.0, 20_000, CcFlags::START));
        let probing = Probing { grtt: Duration::from_millis(100), cc_sequence: 2, sending: false };
        norm.on_probe(Time::ZERO + Duration::from_millis(100), &probing);
        hear(&mut norm, feedback(1, 2, 0.0, 10, CcFlags::START));
        assert_eq!(norm.rate(), Bitrate::mbps(20));
        hear(&mut norm, feedback(1, 3, 0.0001, 10, CcFlags::LIMIT));
        assert!(norm.rate() > Bitrate::mbps(9), "{}", norm.rate());
    }
}
