//! `auto`: the rate by what the slowest receiver's path does to messages, above all how long they
//! queue. docs/explanation/congestion.md tells the whole.
//!
//! - `law`: how long messages should queue, and what follows when they do not.
//! - `controller`: what the session tells it; `start`: the first messages; `steer`: what follows a
//!   report.
//! - `view`: what a report says; `seen`: what that means; `probes`: what had been sent then.
//! - `growth`: while there is no queue; `drain`: making one go, so that all see the path's own
//!   delay; `losses`: what follows loss; `random_loss`: which of it is congestion.
//! - `hearing`: whether all who are there have had time to answer.
//! - `rivals`: others who keep the queue full.
//! - `ceiling`: the rate above which somebody drops.
//! - `silence`: the rate when nothing new arrives; `outstanding`: how much may be on the way.
//! - `probe_budget`: how often probes may go.
//! - `nearness`, `flight`, `capacity`: of short paths, whose noise is longer than their delays.
//! - `model`: a path in packets, for tests.

mod capacity;
mod ceiling;
mod controller;
mod drain;
mod flight;
pub(crate) mod growth;
mod hearing;
pub(crate) mod law;
mod losses;
pub mod nearness;
mod outstanding;
mod probe_budget;
mod probes;
mod random_loss;
mod rivals;
mod seen;
mod silence;
mod start;
mod steer;
mod view;

#[cfg(test)]
mod model;
#[cfg(test)]
mod tests;

use super::{
    Feedback, Limits, RateController, Reason,
    candidates::{Candidate, Candidates},
};
use capacity::Capacity;
use drain::Drain;
use fanfare_wire::units::{
    rate::Bitrate,
    time::{Duration, Time},
};
use fanfare_wire::{NodeId, ext::ExtPath};
use flight::Flight;
use growth::Growth;
use hearing::AnswerHearing;
use losses::Losses;
use outstanding::{BoundInputs, OutstandingBytes};
use probe_budget::ProbeBudget;
use probes::Probes;
use rivals::QueueRivals;
use silence::{NewsReport, NewsSilence};
use view::View;

/// What is wanted of the room that a short path's buffer is known to have, at most.
const ROOM_USED: f64 = 0.5;
/// No less than this in a round trip, as TCP: with less, what is reported is too old to be of use.
const LEAST_MESSAGES: f64 = 1.0;
/// Part that is left of that where somebody may drop what is more, and messages a second then at least.
const LEAST_PART: f64 = 0.25;
const LEAST_DROPPED: f64 = 4.0;
/// Messages to the first probes: they tell the round trip.
const FIRST_INTERVAL: usize = 3;
/// A queue is no longer than so many times what the round trip has grown: the probe that was answered
/// waited in it, perhaps at another moment of the report's span.
const QUEUE_OF_GROWTH: f64 = 2.0;
/// So many messages between probes, as far as a round trip goes: probes are to cost little.
const INTERVAL: usize = 4;
/// What a receiver that does not limit yet must be worse by, so that one of many that see the same
/// queue stays the limiting one.
const STAY: f64 = 1.03;
/// What leaves the rate as it is, when receivers are compared; and the most that counts.
const WHOLE: f64 = 1e6;
const OUTLOOK_MAX: f64 = 10.0;
/// A receiver that does not measure its path may at most double the rate at once (as NRL's sender), and
/// at most halve it: anyone can say any rate.
const FOLLOW_MAX: f64 = 2.0;

/// The controller.
#[derive(Debug)]
pub struct Auto {
    limits: Limits,
    /// Mean bytes of a message.
    size: f64,
    /// Bytes a second, but for a drain.
    rate: f64,
    starting: bool,
    flight: Option<Flight>,
    hearing: AnswerHearing,
    /// How long messages queued when too many were lost on a short path, seconds: the queue holds no
    /// more than that.
    room: f64,
    capacity: Capacity,
    budget: ProbeBudget,
    outstanding: OutstandingBytes,
    silence: NewsSilence,
    /// Time at which something was heard or sent last.
    now: Time,
    candidates: Candidates,
    limiting: Option<NodeId>,
    /// The last one of those that limited and measure their path.
    measuring: Option<NodeId>,
    /// The least round trip of late of the one that limits.
    nearest: Duration,
    probes: Probes,
    growth: Growth,
    drain: Drain,
    losses: Losses,
    rivals: QueueRivals,
    /// When it was last lowered for a receiver's overrun.
    overrun: Time,
    /// Queueing delay as seen last, and its mean of late, seconds.
    standing: f64,
    mean: f64,
    /// Bytes a second that passed when the path was seen last.
    passed: f64,
    grtt: Duration,
    /// When the limiting receiver reported last, and how long after the report before.
    reported: Time,
    elapsed: Duration,
    reason: Reason,
    /// Probe of the report that was followed last.
    followed: Option<u16>,
}

impl Auto {
    /// Starts with ten segments in the first round trip.
    #[must_use]
    pub fn new(now: Time, limits: Limits) -> Self {
        let size = limits.segment as f64;
        let mut auto = Self {
            size,
            rate: 0.0,
            starting: true,
            flight: None,
            hearing: AnswerHearing::new(limits.open),
            room: f64::INFINITY,
            capacity: Capacity::default(),
            budget: ProbeBudget::new(now),
            outstanding: OutstandingBytes::default(),
            silence: NewsSilence::default(),
            now,
            candidates: Candidates::default(),
            limiting: None,
            measuring: None,
            nearest: limits.rtt,
            probes: Probes::new(now),
            growth: Growth::default(),
            drain: Drain::new(now),
            losses: Losses::new(now),
            rivals: QueueRivals::default(),
            overrun: Time::ZERO,
            standing: 0.0,
            mean: 0.0,
            passed: 0.0,
            grtt: limits.rtt,
            reported: now,
            elapsed: Duration::ZERO,
            reason: Reason::NoFeedback,
            followed: None,
            limits,
        };
        auto.set(now, auto.first_rate(limits.rtt));
        auto
    }

    /// On a long path no less than a message in a round trip, or a part of that where somebody may drop what is more.
    fn set(&mut self, now: Time, rate: f64) {
        let rtt = self.candidates.first().map_or(self.limits.rtt, |clr| clr.rtt);
        let least = LEAST_MESSAGES * self.size / rtt.as_secs_f64().max(1e-6);
        let dropped = self.losses.random.is_trying() || self.losses.is_policed(now);
        let least = if dropped {
            least.min((least * LEAST_PART).max(LEAST_DROPPED * self.size))
        } else {
            least
        };
        let rate = if self.is_near() { rate } else { rate.max(least) };
        self.set_any(now, rate);
    }

    fn set_any(&mut self, now: Time, rate: f64) {
        self.probes.on_rate(now, self.rate());
        self.rate = self.limits.clamp(Bitrate::from_bytes_per_second(rate)).as_bytes_per_second();
    }

    /// Bytes a second that may be sent, where too much is on the way.
    fn within_outstanding(&self) -> Option<f64> {
        self.outstanding.most(self.now, self.bound()?)
    }

    /// The bound on what is on the way, once somebody is known to limit.
    fn bound(&self) -> Option<BoundInputs> {
        let rtt = self.candidates.first()?.rtt;
        // A report is a round trip old, and the next is as far off.
        let answer = self.nearest * 2 + outstanding::LATE;
        let passed = if self.passed > 0.0 { self.passed } else { self.rate };
        Some(BoundInputs {
            size: self.limits.segment as f64,
            first: self.first_rate(self.limits.rtt) * answer.as_secs_f64(),
            span: rtt + self.interval(),
            passed: (!self.starting).then_some(passed),
            pairs: !self.is_near(),
        })
    }

    fn wanted(&self, rate: f64, rtt: f64) -> f64 {
        let wanted = law::wanted_delay(rate / self.size, rtt);
        let least = wanted - law::allowance(rtt);
        wanted.min((self.room * ROOM_USED).max(least))
    }

    /// Time from one probe to the next, within what probes may take.
    fn interval(&self) -> Duration {
        let clr = self.candidates.first();
        let asked = self.probes.last();
        let unanswered = clr.zip(asked).map_or(0, |(clr, asked)| {
            u32::from(asked.wrapping_sub(clr.sequence)).min(u32::from(u16::MAX / 2))
        });
        let others = self.candidates.others_answer();
        let rtt = clr.map_or(self.grtt, |clr| clr.rtt);
        self.budget.interval(self.now, self.wanted_interval(), unanswered, rtt, others)
    }

    /// Interval of two probes in a round trip, as long as some messages go between.
    fn wanted_interval(&self) -> Duration {
        let rate = Bitrate::from_bytes_per_second(self.rate);
        let Some(clr) = self.candidates.first() else {
            return rate.time_for(FIRST_INTERVAL * self.limits.segment);
        };
        let rtt = self.reckoned(clr.rtt.min(self.grtt));
        (rtt / 2).max(rate.time_for(INTERVAL * self.limits.segment).min(rtt))
    }

    /// The round trip to reckon with at the present rate.
    fn reckoned(&self, rtt: Duration) -> Duration {
        let seconds = if self.starting {
            0.0
        } else {
            self.size / self.rate.max(self.capacity.rate()).max(1.0)
        };
        law::reckoned(rtt, self.nearest, Duration::from_secs_f64(seconds.min(1.0)))
    }

    /// Whether the limiting receiver's path is short.
    fn is_near(&self) -> bool {
        law::is_short(self.nearest)
    }

    /// What a report says of its path. A queue counts as far as the round trip of the same moment, by
    /// the sender's own clock, bears it out: a receiver's clock may jump, or tell nonsense.
    fn view(&self, path: &ExtPath, feedback: &Feedback, rtt: Duration) -> View {
        let mut view = View::of(path, self.reckoned(rtt), self.is_near());
        view.message = self.size / self.rate.max(1.0);
        view.loss_events = feedback.loss;
        view.trip = rtt;
        if let (Some(sample), Some(nearest)) = (feedback.sample, feedback.nearest) {
            let grown = QUEUE_OF_GROWTH * sample.saturating_sub(nearest).as_secs_f64();
            // Others' queues may hide how near a far receiver is.
            let least = if self.is_near() { 0.0 } else { self.wanted(self.rate, view.rtt) };
            let most = grown.max(least);
            (view.standing, view.queue) = (view.standing.min(most), view.queue.min(most));
        }
        view
    }

    /// How much a receiver limits: what it would make of the rate, which changes meanwhile, in
    /// parts of [`WHOLE`].
    fn judge(&self, now: Time, feedback: &Feedback) -> Candidate {
        let rtt = feedback.rtt.unwrap_or(self.grtt);
        let outlook = match feedback.path {
            Some(path) => {
                let view = self.view(&path, feedback, rtt);
                let wanted = self.wanted(self.rate, view.rtt);
                let change = law::change(view.standing, wanted, wanted, view.rtt);
                let lost = view.lost - self.losses.random.share();
                view.pace.min(1.0) * change * law::kept_of_lost(lost)
            }
            None => feedback.rate.as_bytes_per_second() / self.rate.max(1.0),
        };
        let limits = self.candidates.first().is_some_and(|clr| clr.node == feedback.node);
        let outlook = if limits { outlook } else { outlook * STAY };
        Candidate {
            node: feedback.node,
            rate: Bitrate::bps((outlook.min(OUTLOOK_MAX) * WHOLE) as u64),
            rtt,
            loss: feedback.loss,
            starting: false,
            heard: now,
            sequence: feedback.cc_sequence,
            // A path may be so full that one report is all that comes through for long.
            confirmed: true,
            probes: 0,
        }
    }

    /// A receiver that measures as RFC 5740 says, and no more.
    fn follow(&mut self, now: Time, node: NodeId, feedback: &Feedback) {
        // Before it has received anything it reports next to nothing. A probe is answered once.
        if feedback.rate <= self.limits.min || self.followed == Some(feedback.cc_sequence) {
            return;
        }
        self.followed = Some(feedback.cc_sequence);
        self.starting = false;
        self.reason = match feedback.loss > 0.0 {
            true => Reason::Loss(node, feedback.loss),
            false => Reason::Path(node),
        };
        let (least, most) = (self.rate / FOLLOW_MAX, self.rate * FOLLOW_MAX);
        self.set(now, feedback.rate.as_bytes_per_second().clamp(least, most));
    }

    /// Somebody tells of what has arrived, whether it limits or not.
    fn note_news(&mut self, now: Time, feedback: &Feedback) {
        let Some(since) = self.probes.sent_since(feedback.cc_sequence) else { return };
        let until = self.outstanding.sent().saturating_sub(since);
        let lost = feedback.path.map_or(feedback.loss, |path| path.loss());
        let span = feedback.rtt.unwrap_or(self.grtt) + self.interval();
        if let Some(share) = self.silence.on_report(now, NewsReport { until, lost, span }) {
            self.begin_anew(now, share);
        }
    }

    /// A report tells of something new, after a silence in which `share` of the rate was left. Whatever was believed of
    /// the path is forgotten, and it is tried as at the start.
    fn begin_anew(&mut self, now: Time, share: f64) {
        // As many messages as at the start: a sender of one message a second is asked for little, as all waits for it.
        self.rate = (self.rate * share).max(self.first_rate(self.limits.rtt).min(self.rate));
        self.starting = true;
        self.flight = None;
        self.room = f64::INFINITY;
        self.capacity = Capacity::default();
        self.growth.on_other_path();
        self.losses = Losses::new(now);
        self.rivals.on_other_path();
        self.outstanding.begin_anew();
        self.set(now, self.rate);
    }

    /// Another receiver limits now: what was learned of the last one's path is not about its.
    fn on_limiting(&mut self, node: NodeId) {
        if self.limiting.replace(node) != Some(node) {
            self.room = f64::INFINITY;
            self.drain.on_other_path();
            self.rivals.on_other_path();
            self.growth.on_other_path();
        }
    }
}
