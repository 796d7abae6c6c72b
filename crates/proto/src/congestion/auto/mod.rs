//! `auto`: rate by what the slowest receiver's path does to messages, above all how long they queue.

pub(crate) mod law;
mod probes;
mod random_loss;

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
    receiver::span,
    time::{Duration, Time},
};
use alloc::vec::Vec;
use fanfare_wire::{
    NodeId, QuantizedRate,
    ext::{CcFlags, ExtPath},
};
use probes::Probes;
use random_loss::RandomLoss;

/// RFC 6928's initial window, in the first round trip.
const FIRST_MESSAGES: f64 = 10.0;
/// What a receiver that does not limit yet must be worse by, so that one of many that see the same
/// queue stays the limiting one.
const STAY: f64 = 1.03;
/// Round trips from the middle of what a report covers to its end.
const AHEAD: f64 = 0.5;
/// What leaves the rate as it is.
const WHOLE: f64 = 1e6;
/// A limiting receiver that leaves so many probes unanswered, for so many of its round trips, may
/// have lost everything: slower, until it speaks (RFC 4654 2.7 reacts after ten round trips).
const SILENT_PROBES: u32 = 10;
const SILENT_RTTS: u32 = 10;
const SILENT_SLOWER: f64 = 0.7;
/// No less than this in a round trip, as TCP: with less, what is reported is too old to be of use.
const LEAST_MESSAGES: f64 = 1.0;
/// Two messages go back to back after a probe when so many go between two probes.
const PAIR_MESSAGES: f64 = 6.0;
/// Growth per round trip after so many half round trips without a queue.
const GROWTH: [f64; 6] = [0.0, 0.02, 0.05, 0.1, 0.2, 0.3];
/// Growth begins there when the link has become wider.
const WIDER: u32 = 3;
/// At the start, until a queue is seen.
const GROWTH_START: f64 = 1.0;
/// The same where pairs of messages tell of more room than that.
const GROWTH_ROOM: f64 = 3.0;
/// Messages arrive less than that share of the allowed rate: the application limits.
const USED: f64 = 0.8;
/// The drain: at this share of the rate.
const DRAIN: f64 = 0.5;

/// Where loss beyond what is random shows, and how far the rate is lowered to see whether it ends.
const LOWERED: f64 = 0.6;
/// Arrivals that outpace what is sent by this come from a queue that runs empty: its end is not
/// known before it is reached.
const DRAINING: f64 = 1.02;
/// What loss alone takes from the rate in a round trip, beside that.
const KEPT_LESS: f64 = 0.2;
/// Round trips after a drain in which an empty queue says nothing.
const SETTLE: u32 = 2;

/// What the limiting receiver's path does.
#[derive(Debug, Clone, Copy)]
struct View {
    /// Bytes a second that left the bottleneck or were lost.
    passed: f64,
    pace: f64,
    /// Seconds.
    standing: f64,
    queue: f64,
    rtt: f64,
    lost: f64,
    marked: f64,
    base: u16,
    bottleneck: Option<f64>,
    tcp: Option<f64>,
}

impl View {
    fn of(path: &ExtPath, rtt: Duration) -> Self {
        let delivered = path.delivered.to_bytes_per_second();
        let known =
            |rate: QuantizedRate| (rate != QuantizedRate::ZERO).then(|| rate.to_bytes_per_second());
        Self {
            pace: path.to_pace(),
            passed: delivered / (1.0 - path.loss()).max(0.01),
            standing: f64::from(path.standing_micros) / 1e6,
            queue: f64::from(path.queue_micros) / 1e6,
            rtt: rtt.as_secs_f64().max(1e-6),
            lost: path.loss(),
            marked: path.marks(),
            base: path.base,
            bottleneck: known(path.bottleneck),
            tcp: known(path.tcp),
        }
    }
}

/// Letting the queue run empty, so that all who share it see the path's own delay.
#[derive(Debug, Clone, Copy)]
struct Drain {
    next: Option<Time>,
    from: Time,
    until: Time,
    on: bool,
    /// How many times as long as needed: more while it finds the path shorter than was thought.
    depth: u32,
    /// Least delay as reported last, and by how much it has fallen since the last drain.
    base: Option<u16>,
    fell: f64,
}

/// The controller.
#[derive(Debug)]
pub struct Auto {
    limits: Limits,
    size: f64,
    /// Bytes a second, without the drain.
    rate: f64,
    starting: bool,
    /// Round trips without a queue.
    idle: u32,
    grown: Time,
    candidates: Candidates,
    probes: Probes,
    random: RandomLoss,
    drain: Drain,
    grtt: Duration,
    last: Option<View>,
    mean: f64,
    narrowest: f64,
    limiting: Option<NodeId>,
    lowered: Time,
    reason: Reason,
}

impl Auto {
    /// Starts with ten segments in the first round trip.
    #[must_use]
    pub fn new(now: Time, limits: Limits) -> Self {
        let size = limits.segment as f64;
        let mut auto = Self {
            size,
            rate: FIRST_MESSAGES * size / limits.rtt.as_secs_f64().max(1e-3),
            starting: true,
            idle: 0,
            grown: now,
            candidates: Candidates::default(),
            probes: Probes::new(now),
            random: RandomLoss::default(),
            drain: Drain {
                next: None,
                from: now,
                until: now,
                on: false,
                depth: 1,
                base: None,
                fell: 0.0,
            },
            grtt: limits.rtt,
            last: None,
            mean: 0.0,
            narrowest: 0.0,
            limiting: None,
            lowered: now,
            reason: Reason::NoFeedback,
            limits,
        };
        auto.set(now, auto.rate);
        auto
    }

    fn set(&mut self, now: Time, rate: f64) {
        self.probes.on_rate(now, self.rate());
        let rtt = self.candidates.first().map_or(self.limits.rtt, |clr| clr.rtt);
        let rate = rate.max(LEAST_MESSAGES * self.size / rtt.as_secs_f64().max(1e-6));
        self.rate = self.limits.clamp(Bitrate::from_bytes_per_second(rate)).as_bytes_per_second();
    }

    fn wanted(&self, rate: f64, rtt: f64) -> f64 {
        law::wanted_delay(rate / self.size, rtt)
    }

    /// The limiting receiver reported.
    fn steer(&mut self, now: Time, node: NodeId, sequence: u16, view: View) {
        let rtt = Duration::from_secs_f64(view.rtt);
        let Some(past) = self.probes.find(sequence, rtt) else { return };
        let (sent, used) = (past.until, past.used);
        let interval = self.interval();
        let drained = self.drain.from < sent + interval && sent < self.drain.until + rtt + interval;
        let messages = (past.rate * view.rtt / self.size).max(4.0);
        let wanted = self.wanted(past.rate, view.rtt);
        let queued = view.standing > wanted;
        let kept = 1.0 - self.random.beyond().min(KEPT_LESS);
        let pace = if queued { view.pace.min(1.2) } else { view.pace.min(1.0) };
        let passed = past.rate * pace * kept;
        self.last = Some(View { passed, ..view });
        let base = if used < USED || drained { self.rate * kept } else { passed };
        let news = messages * (interval.as_secs_f64() / view.rtt).min(1.0);
        let lowered = sent > self.lowered + rtt * 2;
        let hard = self.random.on_report(news, view.lost, lowered);
        if hard {
            self.lowered = now;
        }
        if self.starting {
            return self.start(now, view, base, (hard, kept), used >= USED);
        }
        // A report tells the mean of a round trip: at its end the queue has gone on as it went.
        let ahead = (view.standing + (1.0 - view.pace) * view.rtt * AHEAD).max(0.0);
        let mut change = law::change(ahead, self.mean, wanted, view.rtt);
        if view.pace > DRAINING {
            change = change.min(1.0);
        }
        let mut rate = base * change;
        let wider = self.is_wider(&view);
        if wider {
            self.idle = self.idle.max(WIDER);
        }
        if view.queue < wanted / 4.0
            && used >= USED
            && !drained
            && view.marked == 0.0
            && view.pace < DRAINING
            && (wider || now > self.drain.until + rtt * SETTLE)
        {
            if self.idle == 0 || now.since(self.grown) >= rtt / 2 {
                self.grown = now;
                self.idle += 1;
            }
            let message = self.size / view.rtt;
            let at = (self.idle as usize).min(GROWTH.len()) - 1;
            rate = rate.max(base + (base * GROWTH[at]).max(0.3 * message));
            rate = rate.min(view.bottleneck.unwrap_or(rate).max(base));
        } else if !drained && view.queue >= wanted / 4.0 {
            self.idle = 0;
            self.grown = now;
        }
        if queued {
            self.reason = Reason::Queue(node, Duration::from_secs_f64(view.standing));
        } else {
            self.reason = Reason::Path(node);
        }
        if hard {
            rate *= LOWERED;
            self.reason = Reason::Loss(node, view.lost);
        }
        rate *= 1.0 - view.marked / 2.0;
        if drained || self.random.is_trying() {
            rate = rate.min(self.rate);
        }
        self.set(now, rate);
        self.plan_drain(now, &view, wanted);
        if !drained && !wider {
            self.join_drain(now, view.standing, wanted, rtt);
            let weight = (interval.as_secs_f64() / view.rtt).min(1.0) * 0.1;
            self.mean += weight * (view.standing - self.mean);
        }
    }

    fn start(&mut self, now: Time, view: View, base: f64, (hard, kept): (bool, f64), used: bool) {
        let rtt = Duration::from_secs_f64(view.rtt);
        let wanted = self.wanted(base, view.rtt).max(view.rtt / 8.0);
        if view.standing > wanted || view.marked > 0.0 || kept < 1.0 {
            self.starting = false;
            self.drain.next = Some(now + rtt * 4);
            self.set(
                now,
                base * law::change(
                    view.standing,
                    self.wanted(base, view.rtt),
                    self.wanted(base, view.rtt),
                    view.rtt,
                ),
            );
            return;
        }
        if hard {
            return self.set(now, base * LOWERED);
        }
        if used && !self.random.is_trying() {
            let room = view.bottleneck.is_some_and(|b| b > base * (1.0 + GROWTH_START));
            let growth = if room { GROWTH_ROOM } else { GROWTH_START };
            let mut rate = base * (1.0 + growth);
            if let Some(bottleneck) = view.bottleneck
                && rate > bottleneck
            {
                rate = bottleneck.max(base);
                self.starting = false;
                self.drain.next = Some(now + rtt * 4);
            }
            self.set(now, rate.max(self.rate));
        }
        self.reason = Reason::Start;
    }

    fn plan_drain(&mut self, now: Time, view: &View, wanted: f64) {
        let rtt = Duration::from_secs_f64(view.rtt);
        let before = self.drain.base.replace(view.base).unwrap_or(view.base);
        self.drain.fell +=
            (f64::from(before.wrapping_sub(view.base) as i16) * ExtPath::BASE_UNIT).max(0.0);
        if self.drain.on {
            return;
        }
        let usual = self.drain.until + span(rtt);
        let mut next = self.drain.next.unwrap_or(usual);
        if self.drain.fell > wanted / 4.0 {
            self.drain.fell = 0.0;
            self.drain.depth = (self.drain.depth * 2).min(4);
            next = next.min((self.drain.until + rtt * 3).max(now));
        } else if now > self.drain.until + rtt * 3 && next >= usual {
            self.drain.depth = 1;
        }
        self.drain.next = Some(next);
    }

    /// The narrowest link passes more than it did.
    fn is_wider(&mut self, view: &View) -> bool {
        let Some(bottleneck) = view.bottleneck else { return false };
        let wider = self.narrowest > 0.0 && bottleneck > self.narrowest * 1.25;
        self.narrowest = match wider {
            true => self.narrowest * 1.03,
            false => bottleneck,
        };
        wider
    }

    fn drain_for(&self) -> Duration {
        let Some(view) = self.last else { return Duration::ZERO };
        Duration::from_secs_f64(
            (view.standing / (1.0 - DRAIN) + view.rtt / 2.0 * f64::from(self.drain.depth))
                .min(2.0 * view.rtt),
        )
    }

    /// The queue has fallen without our doing: others let it drain.
    fn join_drain(&mut self, now: Time, standing: f64, wanted: f64, rtt: Duration) {
        let fell = standing < self.mean / 2.0 && self.mean > wanted / 2.0;
        if fell && now.since(self.drain.until) > span(rtt) / 4 * 3 && !self.drain.on {
            self.drain.next = Some(now);
        }
    }

    fn interval(&self) -> Duration {
        let Some(clr) = self.candidates.first() else {
            let rate = Bitrate::from_bytes_per_second(self.rate);
            return rate.time_for(3 * self.limits.segment);
        };
        let rtt = clr.rtt.min(self.grtt);
        let packets = Bitrate::from_bytes_per_second(self.rate).time_for(4 * self.limits.segment);
        (rtt / 2).max(packets.min(rtt))
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
            rate: Bitrate::bps((outlook.min(10.0) * WHOLE) as u64),
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
        let most = self.rate * (1.0 + GROWTH_START);
        self.set(now, feedback.rate.as_bytes_per_second().min(most));
    }

    /// Another receiver limits now: what was learned of the last one's path is not about its.
    fn on_limiting(&mut self, node: NodeId) {
        if self.limiting.replace(node) != Some(node) {
            self.drain.base = None;
            self.idle = 0;
            self.narrowest = 0.0;
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

    fn on_sent(&mut self, _now: Time, bytes: usize) {
        self.probes.on_sent(bytes);
        self.size += 0.01 * (bytes as f64 - self.size);
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
        if self.drain.on && now >= self.drain.until {
            self.drain.on = false;
            let rtt = self.candidates.first().map_or(self.grtt, |clr| clr.rtt);
            self.drain.next = Some(now + span(rtt));
        } else if self.drain.next.is_some_and(|next| next <= now) {
            let until = now + self.drain_for();
            if let Some(view) = self.last {
                self.rate = self.rate.min(view.passed.max(self.rate / 2.0));
            }
            self.drain = Drain { next: None, from: now, until, on: true, fell: 0.0, ..self.drain };
        }
    }

    fn next_timeout(&self) -> Option<Time> {
        if self.drain.on { Some(self.drain.until) } else { self.drain.next }
    }

    fn rate(&self) -> Bitrate {
        let factor = if self.drain.on { DRAIN } else { 1.0 };
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
