//! `auto`: the rate by what the slowest receiver's path does to messages, above all how long they
//! queue. docs/explanation/congestion.md tells the whole.
//!
//! - `law`: how long messages should queue, and what follows when they do not.
//! - `view`: what a report says; `probes`: what had been sent then.
//! - `growth`: while there is no queue; `drain`: making one go, so that all see the path's own
//!   delay; `random_loss`: which loss is congestion.
//! - `model`: a path in packets, for tests.

mod drain;
mod growth;
pub(crate) mod law;
mod probes;
mod random_loss;
mod view;

#[cfg(test)]
mod model;
#[cfg(test)]
mod tests;

use super::{
    Feedback, Limits, Mode, Probing, RateController, Reason,
    candidates::{Candidate, Candidates},
};
use crate::{
    datagram::Ecn,
    rate::Bitrate,
    time::{Duration, Time},
};
use alloc::vec::Vec;
use drain::Drain;
use fanfare_wire::{NodeId, ext::CcFlags};
use growth::Growth;
use probes::{Past, Probes};
use random_loss::RandomLoss;
use view::View;

/// RFC 6928's initial window, in the first round trip.
const FIRST_MESSAGES: f64 = 10.0;
/// So many of them may go at the pace of a short round trip before anything is heard of them: the link
/// may be a slow one.
const FIRST_FLIGHT: u32 = 20;
/// On a short path loss together with a queue of this part of the noise tells how much the queue holds.
const ROOM_MIN: f64 = 0.25;
/// What of that room is wanted at most.
const ROOM_USED: f64 = 0.5;
/// No less than this in a round trip, as TCP: with less, what is reported is too old to be of use.
const LEAST_MESSAGES: f64 = 1.0;
/// Messages to the first probes: they tell the round trip.
const FIRST_INTERVAL: usize = 3;
/// So many messages between probes, as far as a round trip goes: probes are to cost little.
const INTERVAL: usize = 4;
/// Two messages go back to back after a probe when so many go between two probes.
const PAIR_MESSAGES: f64 = 4.0;
/// Round trips from the middle of what a report covers to its end.
const AHEAD: f64 = 0.5;
/// Messages that arrive at a pace slower by this than they were sent meet others that came, or a
/// slower link: growth alone does not fill a queue so fast, as pairs tell where it ends.
const SURGE: f64 = 0.25;
/// What is kept then of what passes, whatever others seem to leave: others who come with half of a
/// link take a third of it at first, and leave three quarters of what we had of it then.
const KEPT_IN_SURGE: f64 = 0.75;
/// Less than this share of the rate was used: the application limits, not the path.
const USED: f64 = 0.8;
/// Arrivals that outpace what is sent by this come from a queue that runs empty: its end is not
/// known before it is reached.
const DRAINING: f64 = 1.02;
/// Nor do they tell of more than this at once.
const PACE_MAX: f64 = 1.2;
/// A queue so short, of what is wanted, is none.
const EMPTY: f64 = 0.25;
/// The start ends at this queueing delay, of a round trip.
const START_QUEUE: f64 = 0.125;
/// And though a drain hides what the rate did, a queue of this, of a round trip, says enough: the
/// link became narrower.
const DRAINED_QUEUE: f64 = 0.25;
/// Where loss beyond what is random shows, and how far the rate is lowered to see whether it ends.
const LOWERED: f64 = 0.6;
/// And again where it has not ended: to a quarter. Of ten flows each is a tenth of the load, and each
/// would take for random what they all cause together, were none to slow down by more.
const LOWERED_AGAIN: f64 = 0.4;
/// What loss that is too much anyway takes from the rate in a round trip at most.
const LOST_MAX: f64 = 0.2;
/// What marks on all messages take from the rate in a round trip: half of RFC 8257's half, as the
/// law yields to the queue already.
const MARKED: f64 = 0.25;
/// Weight of a round trip in the mean queueing delay of late.
const MEAN: f64 = 0.1;
/// What counts in it, of the delay that is wanted: a queue that others or a slower link have left is
/// no unfair share, and must not be paid for long after it has gone.
const MEAN_MAX: f64 = 2.0;
/// Weight of a new message in the mean size of messages (NRL's value).
const SIZE_WEIGHT: f64 = 0.01;
/// What a receiver that does not limit yet must be worse by, so that one of many that see the same
/// queue stays the limiting one.
const STAY: f64 = 1.03;
/// What leaves the rate as it is, when receivers are compared; and the most that counts.
const WHOLE: f64 = 1e6;
const OUTLOOK_MAX: f64 = 10.0;
/// A receiver that does not measure its path may at most double the rate at once (as NRL's sender).
const FOLLOW_MAX: f64 = 2.0;
/// A limiting receiver that leaves so many probes unanswered, for so many of its round trips, may
/// have lost everything: slower, until it speaks (RFC 4654 2.7 reacts after ten round trips).
const SILENT_PROBES: u32 = 10;
const SILENT_RTTS: u32 = 10;
const SILENT_SLOWER: f64 = 0.7;

/// The controller.
#[derive(Debug)]
pub struct Auto {
    limits: Limits,
    /// Mean bytes of a message.
    size: f64,
    /// Bytes a second, but for a drain.
    rate: f64,
    starting: bool,
    /// Full messages that may go yet at the pace of a short round trip, once that is known.
    flight: Option<u32>,
    /// How long messages queued when too many were lost on a short path, seconds: the queue holds no
    /// more than that.
    room: f64,
    candidates: Candidates,
    limiting: Option<NodeId>,
    probes: Probes,
    growth: Growth,
    drain: Drain,
    random: RandomLoss,
    /// When the rate was last lowered to see whether loss ends.
    lowered: Time,
    /// Queueing delay as seen last, and its mean of late, seconds.
    standing: f64,
    mean: f64,
    /// Bytes a second that passed when the path was seen last.
    passed: f64,
    grtt: Duration,
    reason: Reason,
}

/// A report, and what it means.
struct Seen {
    view: View,
    past: Past,
    /// The queueing delay that should be, seconds.
    wanted: f64,
    /// A drain was under way: nothing is learned of the rate.
    drained: bool,
    /// All of the rate was used.
    used: bool,
    /// The rate from which to go on, bytes a second.
    base: f64,
    /// What loss that is too much anyway leaves of it.
    kept: f64,
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
            room: f64::INFINITY,
            candidates: Candidates::default(),
            limiting: None,
            probes: Probes::new(now),
            growth: Growth::default(),
            drain: Drain::new(now),
            random: RandomLoss::default(),
            lowered: now,
            standing: 0.0,
            mean: 0.0,
            passed: 0.0,
            grtt: limits.rtt,
            reason: Reason::NoFeedback,
            limits,
        };
        auto.set(now, auto.first_rate(limits.rtt));
        auto
    }

    /// Bytes a second of the first messages on a path of this round trip.
    fn first_rate(&self, rtt: Duration) -> f64 {
        FIRST_MESSAGES * self.size / rtt.as_secs_f64().max(1e-3)
    }

    /// Nothing is known of the path yet but its round trip: who is near is sent the first messages in
    /// that time.
    fn begin_near(&mut self, now: Time, rtt: Duration) {
        let near = law::reckoned(rtt);
        if self.starting && self.flight.is_none() && law::is_short(near.as_secs_f64()) {
            self.flight = Some(FIRST_FLIGHT);
            self.set(now, self.first_rate(near).max(self.rate));
        }
    }

    fn set(&mut self, now: Time, rate: f64) {
        self.probes.on_rate(now, self.rate());
        let rtt = self.candidates.first().map_or(self.limits.rtt, |clr| law::reckoned(clr.rtt));
        let rate = rate.max(LEAST_MESSAGES * self.size / rtt.as_secs_f64().max(1e-6));
        self.rate = self.limits.clamp(Bitrate::from_bytes_per_second(rate)).as_bytes_per_second();
    }

    fn wanted(&self, rate: f64, rtt: f64) -> f64 {
        let wanted = law::wanted_delay(rate / self.size, rtt);
        let least = wanted - law::allowance(rtt);
        wanted.min((self.room * ROOM_USED).max(least))
    }

    /// Too much was lost while messages queued: the queue may hold no more. On a short path the noise is
    /// allowed for with a time that a small buffer does not have.
    fn learn_room(&mut self, view: &View) {
        if law::is_short(view.rtt) && view.queue > ROOM_MIN * law::NOISE {
            self.room = self.room.min(view.queue);
        }
    }

    /// The limiting receiver reported.
    fn steer(&mut self, now: Time, node: NodeId, sequence: u16, view: View) {
        let Some(seen) = self.see(sequence, view) else { return };
        let surprised = self.count_loss(now, &seen);
        if self.starting {
            return self.start(now, &seen, surprised);
        }
        let alone =
            seen.used && view.marked == 0.0 && growth::is_alone(&view, seen.past.rate, self.size);
        let wider = self.growth.is_wider(&view) || alone;
        let mut rate = self.follow_queue(&seen);
        if alone {
            rate = rate.max(growth::when_alone(seen.base, &view));
        }
        if self.is_empty(now, &seen, wider) {
            let grown = self.growth.on_empty(now, seen.base, self.size, &view);
            rate = rate.max(grown);
            if self.pairs() {
                rate = growth::capped(rate, seen.base, &view);
            }
        } else if !seen.drained && view.queue >= EMPTY * seen.wanted {
            self.growth.on_queue(now);
        }
        if surprised {
            rate *= self.lowered_to();
        }
        rate *= 1.0 - MARKED * view.marked;
        if seen.drained && !wider || self.random.is_trying() {
            rate = rate.min(self.rate);
        }
        self.reason = reason(node, &seen, surprised);
        self.set(now, rate);
        self.look_after_drain(now, &seen, wider);
    }

    /// What a report means, when it is known what it is about.
    fn see(&mut self, sequence: u16, view: View) -> Option<Seen> {
        let rtt = view.rtt();
        let past = self.probes.find(sequence, rtt)?;
        let wanted = self.wanted(past.rate, view.rtt);
        let pace_max = if view.standing > wanted { PACE_MAX } else { 1.0 };
        let kept = 1.0 - self.random.beyond().min(LOST_MAX);
        (self.standing, self.passed) = (view.standing, past.rate * view.pace.min(pace_max) * kept);
        let drained = self.drain.concerns(past.until, self.interval(), rtt);
        let used = past.used >= USED;
        let base = if used && !drained { self.passed } else { self.rate * kept };
        Some(Seen { view, past, wanted, drained, used, base, kept })
    }

    /// True when there is more loss than is known to be random.
    fn count_loss(&mut self, now: Time, seen: &Seen) -> bool {
        let news = (self.interval().as_secs_f64() / seen.view.rtt).min(1.0);
        let messages = (seen.past.rate * seen.view.rtt / self.size).max(4.0) * news;
        let lowered = seen.past.until > self.lowered + seen.view.rtt() * 2;
        let surprised = self.random.on_report(messages, seen.view.lost, lowered);
        if surprised {
            self.lowered = now;
            self.learn_room(&seen.view);
        }
        surprised
    }

    /// What is kept of the rate to see whether loss ends.
    fn lowered_to(&self) -> f64 {
        if self.random.is_trying_again() { LOWERED_AGAIN } else { LOWERED }
    }

    /// Doubles each round trip until a queue, marks, much loss or the narrowest link's rate.
    fn start(&mut self, now: Time, seen: &Seen, surprised: bool) {
        let view = &seen.view;
        self.reason = Reason::Start;
        let queued = view.standing > seen.wanted.max(START_QUEUE * view.rtt);
        if queued || view.marked > 0.0 || seen.kept < 1.0 {
            self.end_start(now, view);
            let change = law::change(view.standing, seen.wanted, seen.wanted, view.rtt);
            self.set(now, seen.base * change);
        } else if surprised {
            self.set(now, seen.base * self.lowered_to());
        } else if seen.used && !self.random.is_trying() {
            let (rate, reached) = growth::at_start(seen.base, view);
            if reached {
                self.end_start(now, view);
            }
            self.set(now, rate.max(self.rate));
        }
    }

    fn end_start(&mut self, now: Time, view: &View) {
        self.starting = false;
        self.drain.on_started(now, view.rtt());
    }

    /// The rate by the law; around a drain no more than can have passed.
    fn follow_queue(&self, seen: &Seen) -> f64 {
        let view = &seen.view;
        let ahead = Self::ahead(view);
        if seen.drained && ahead <= DRAINED_QUEUE * view.rtt {
            return self.rate.min(self.passed / drain::KEEP);
        }
        let change = law::change(ahead, self.mean, seen.wanted, view.rtt);
        if seen.drained {
            let rate = self.passed * change.min(1.0);
            return self.rate.min(rate).min(self.left(seen, self.passed));
        }
        let change = if view.pace > DRAINING { change.min(1.0) } else { change };
        (seen.base * change).min(self.left(seen, seen.base))
    }

    /// What others who have just come leave of the link. More is sent into it than it takes: by the
    /// pace the whole of that is known, and what of it is ours. More than that would go on filling
    /// the queue, as they have not seen us and need not yield. Where the link became narrower
    /// instead this says too little, so that most of what passes is kept.
    fn left(&self, seen: &Seen, passed: f64) -> f64 {
        let view = &seen.view;
        if 1.0 - view.pace <= SURGE {
            return f64::INFINITY;
        }
        let link = view.bottleneck.unwrap_or(seen.past.rate);
        (seen.past.rate - link * (1.0 / view.pace - 1.0)).max(KEPT_IN_SURGE * passed)
    }

    /// The queueing delay to go by. A report tells the mean of a round trip: at its end the queue has
    /// gone on as it went.
    fn ahead(view: &View) -> f64 {
        (view.standing + (1.0 - view.pace) * AHEAD * view.rtt).max(0.0)
    }

    /// There is no queue, and that is not because we let it drain.
    fn is_empty(&self, now: Time, seen: &Seen, wider: bool) -> bool {
        let view = &seen.view;
        let calm = view.pace < DRAINING && view.marked == 0.0;
        let settled = wider || self.drain.is_settled(now, view.rtt());
        let open = wider || !seen.drained;
        view.queue < EMPTY * seen.wanted && seen.used && open && calm && settled
    }

    fn look_after_drain(&mut self, now: Time, seen: &Seen, wider: bool) {
        let view = &seen.view;
        self.drain.on_view(now, view, seen.wanted);
        if seen.drained || wider {
            return;
        }
        if view.standing < self.mean / 2.0 && self.mean > seen.wanted / 2.0 {
            self.drain.join(now, view.rtt());
        }
        let news = (self.interval().as_secs_f64() / view.rtt).min(1.0);
        let standing = view.standing.min(MEAN_MAX * seen.wanted);
        self.mean += MEAN * news * (standing - self.mean);
    }

    /// Twice in a round trip, as long as some messages go between.
    fn interval(&self) -> Duration {
        let rate = Bitrate::from_bytes_per_second(self.rate);
        let Some(clr) = self.candidates.first() else {
            return rate.time_for(FIRST_INTERVAL * self.limits.segment);
        };
        let rtt = law::reckoned(clr.rtt.min(self.grtt));
        (rtt / 2).max(rate.time_for(INTERVAL * self.limits.segment).min(rtt))
    }

    /// How much a receiver limits: what it would make of the rate, which changes meanwhile, in
    /// parts of [`WHOLE`].
    fn judge(&self, now: Time, feedback: &Feedback) -> Candidate {
        let rtt = feedback.rtt.unwrap_or(self.grtt);
        let outlook = match feedback.path {
            Some(path) => {
                let view = View::of(&path, rtt);
                let wanted = self.wanted(self.rate, view.rtt);
                view.pace.min(1.0) * law::change(view.standing, wanted, wanted, view.rtt)
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
            probes: 0,
        }
    }

    /// A receiver that measures as RFC 5740 says, and no more.
    fn follow(&mut self, now: Time, node: NodeId, feedback: &Feedback) {
        // Before it has received anything it reports next to nothing.
        if feedback.rate <= self.limits.min {
            return;
        }
        self.starting = false;
        self.reason = match feedback.loss > 0.0 {
            true => Reason::Loss(node, feedback.loss),
            false => Reason::Path(node),
        };
        let most = self.rate * FOLLOW_MAX;
        self.set(now, feedback.rate.as_bytes_per_second().min(most));
    }

    /// Another receiver limits now: what was learned of the last one's path is not about its.
    fn on_limiting(&mut self, node: NodeId) {
        if self.limiting.replace(node) != Some(node) {
            self.room = f64::INFINITY;
            self.drain.on_other_path();
            self.growth.on_other_path();
        }
    }
}

impl RateController for Auto {
    fn on_feedback(&mut self, now: Time, feedback: &Feedback) {
        let limiting = self.candidates.on_report(self.judge(now, feedback));
        if !limiting {
            return;
        }
        self.candidates.reconsider();
        let Some(clr) = self.candidates.first().copied() else { return };
        if clr.node != feedback.node {
            return;
        }
        self.on_limiting(clr.node);
        if let Some(rtt) = feedback.rtt {
            self.begin_near(now, rtt);
        }
        match feedback.path {
            Some(path) => {
                self.steer(now, clr.node, feedback.cc_sequence, View::of(&path, clr.rtt));
            }
            None => self.follow(now, clr.node, feedback),
        }
    }

    fn on_probe(&mut self, now: Time, probing: &Probing) {
        self.probes.on_rate(now, self.rate());
        self.probes.on_probe(now, probing.cc_sequence);
        self.grtt = probing.grtt;
        self.candidates.on_probe(now, probing.grtt);
        let silent = self.candidates.first().is_some_and(|clr| {
            clr.probes > SILENT_PROBES && now.since(clr.heard) > clr.rtt * SILENT_RTTS
        });
        if silent && probing.sending {
            self.reason = Reason::NoFeedback;
            self.set(now, self.rate * SILENT_SLOWER);
        }
    }

    fn on_sent(&mut self, now: Time, bytes: usize) {
        self.probes.on_sent(bytes);
        if let Some(flight) = self.flight.filter(|_| bytes >= self.limits.segment) {
            self.flight = Some(flight.saturating_sub(1));
            // As long as nothing is heard it goes on as if nothing were known.
            if flight == 1 && self.passed == 0.0 {
                self.set(now, self.first_rate(self.limits.rtt));
            }
        }
        self.size += SIZE_WEIGHT * (bytes as f64 - self.size);
    }

    fn on_left(&mut self, _now: Time, node: NodeId) {
        self.candidates.remove(node);
    }

    fn on_rate_set(&mut self, now: Time, rate: Bitrate) {
        self.limits.max = rate;
        self.set(now, self.rate);
    }

    fn on_timeout(&mut self, now: Time) {
        self.probes.on_rate(now, self.rate());
        let rtt = law::reckoned(self.candidates.first().map_or(self.grtt, |clr| clr.rtt));
        if self.drain.on_timeout(now, self.standing, rtt) {
            // What was tried beyond what passes is not gone back to.
            self.rate = self.rate.min(self.passed.max(self.rate / 2.0));
        }
    }

    fn next_timeout(&self) -> Option<Time> {
        self.drain.next_timeout()
    }

    fn rate(&self) -> Bitrate {
        let factor = if self.drain.is_on() { drain::KEEP } else { 1.0 };
        Bitrate::from_bytes_per_second(self.rate * factor)
    }

    fn reason(&self) -> Reason {
        self.reason
    }

    fn mode(&self) -> Option<Mode> {
        Some(Mode::Path)
    }

    fn probe_interval(&self, _grtt: Duration) -> Option<Duration> {
        Some(self.interval())
    }

    fn pairs(&self) -> bool {
        let interval = self.interval().as_secs_f64();
        self.starting || self.rate * interval >= PAIR_MESSAGES * self.size
    }

    fn limiting(&self) -> Vec<(NodeId, CcFlags)> {
        self.candidates.named()
    }

    fn ecn(&self) -> Option<Ecn> {
        Some(Ecn::Ect0)
    }
}

fn reason(node: NodeId, seen: &Seen, surprised: bool) -> Reason {
    let view = &seen.view;
    if surprised {
        Reason::Loss(node, view.lost)
    } else if view.marked > 0.0 {
        Reason::Marks(node, view.marked)
    } else if view.standing > seen.wanted {
        Reason::Queue(node, Duration::from_secs_f64(view.standing))
    } else {
        Reason::Path(node)
    }
}
