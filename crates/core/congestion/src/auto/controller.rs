//! What the session tells the controller, and asks of it.

use super::{Auto, WHOLE, drain};
use crate::{Ecn, Feedback, Mode, Probing, RateController, Reason};
use alloc::vec::Vec;
use fanfare_wire::units::{
    rate::Bitrate,
    time::{Duration, Time},
};
use fanfare_wire::{NodeId, ext::CcFlags};

/// Weight of a new message in the mean size of messages (NRL's value).
const SIZE_WEIGHT: f64 = 0.01;
/// Longest interval between two messages (RFC 8085 3.1.3).
const LEAST_INTERVAL: Duration = Duration::from_secs(1);
/// Two messages go back to back after a probe when so many go between two probes.
const PAIR_MESSAGES: f64 = 4.0;
/// Probes that a limiting receiver may leave unanswered, for so many of its round trips. Then it has gone, as long as
/// others answer (RFC 4654 2.7 reacts after ten round trips).
const SILENT_PROBES: u32 = 10;
const SILENT_RTTS: u32 = 10;
/// While others answer the probes the network is not the reason for a silence: the receiver has gone.
/// It is waited for as long as a busy machine may keep it from its processor, and the next one limits.
const GONE: Duration = Duration::from_millis(300);
/// What a receiver's overrun leaves of what was read.
const KEPT_AT_OVERRUN: f64 = 0.8;
/// An overrun shows at once, and what is sent less is felt when the buffer has drained: 4 MiB at
/// 300 Mbit/s.
const OVERRUN_FELT: Duration = Duration::from_millis(100);

impl RateController for Auto {
    fn on_feedback(&mut self, now: Time, feedback: &Feedback) {
        self.now = now;
        self.note_news(now, feedback);
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
        if let Some(since) = self.probes.sent_since(feedback.cc_sequence) {
            let lost = feedback.path.map_or(feedback.loss, |path| path.loss());
            let pace = feedback.path.map_or(1.0, |path| path.to_pace().min(1.0));
            self.outstanding.on_report(since, (1.0 - lost) * pace);
        }
        if let Some(rtt) = feedback.rtt {
            self.nearest = feedback.nearest.unwrap_or(rtt);
            self.begin_near(now, rtt);
        }
        match feedback.path {
            Some(path) => {
                self.measuring = Some(clr.node);
                let view = self.view(&path, feedback, clr.rtt);
                self.steer(now, clr.node, feedback.cc_sequence, view);
            }
            None => {
                self.begin_again(now, feedback.cc_sequence, clr.rtt);
                // Who measures its path, but has seen it for a moment only, will tell soon.
                if self.measuring != Some(clr.node) {
                    self.follow(now, clr.node, feedback);
                }
            }
        }
    }

    fn on_farthest(&mut self, now: Time, rtt: Duration) {
        self.budget.begin();
        self.hearing.on_everyone();
        self.begin_far(now, rtt);
    }

    fn on_probe(&mut self, now: Time, probing: &Probing) {
        self.now = now;
        self.budget.on_probe(now);
        self.probes.on_rate(now, self.rate());
        self.probes.on_probe(now, probing.cc_sequence);
        self.outstanding.on_probe(now);
        if self.candidates.first().is_some() {
            self.silence.on_probe(now, self.outstanding.sent());
        }
        if let Some(flight) = &mut self.flight {
            flight.on_probe(now);
        }
        self.grtt = probing.grtt;
        self.candidates.on_probe(now, probing.grtt);
        self.wait_for_flight(now);
        let silent = self.candidates.first().is_some_and(|clr| {
            clr.probes > SILENT_PROBES && now.since(clr.heard) > clr.rtt * SILENT_RTTS
        });
        if silent && self.candidates.others_answer() {
            self.candidates.pass_over(now, GONE);
        } else if self.silence.share(now) < 1.0 {
            self.reason = Reason::NoFeedback;
        }
    }

    fn on_sent(&mut self, now: Time, bytes: usize) {
        self.now = now;
        self.budget.on_sent(now, bytes);
        self.probes.on_sent(bytes);
        self.outstanding.on_sent(now, bytes);
        let full = bytes >= self.limits.segment;
        if full && let Some(flight) = &mut self.flight {
            flight.on_sent(now);
            self.wait_for_flight(now);
        }
        self.size += SIZE_WEIGHT * (bytes as f64 - self.size);
    }

    fn on_overrun(&mut self, now: Time, node: NodeId) -> bool {
        if !self.is_near() {
            return false;
        }
        if now.since(self.overrun) >= OVERRUN_FELT || self.overrun == Time::ZERO {
            self.overrun = now;
            let taken = if self.passed > 0.0 { self.rate.min(self.passed) } else { self.rate };
            self.starting = false;
            self.capacity.on_overrun(now, node, taken * KEPT_AT_OVERRUN);
            self.reason = Reason::Overrun(node);
            self.set(now, taken * KEPT_AT_OVERRUN);
        }
        true
    }

    fn on_left(&mut self, _now: Time, node: NodeId) {
        self.candidates.remove(node);
        self.losses.on_left(node);
        if self.candidates.first().is_none() {
            self.silence.forget();
        }
    }

    fn on_rate_set(&mut self, now: Time, rate: Bitrate) {
        self.limits.max = rate;
        self.set(now, self.rate);
    }

    fn on_rate_put(&mut self, now: Time, rate: Bitrate) {
        self.set_any(now, rate.as_bytes_per_second());
    }

    fn on_segment_size(&mut self, bytes: usize) {
        self.limits.segment = bytes;
    }

    fn on_timeout(&mut self, now: Time) {
        self.probes.on_rate(now, self.rate());
        let rtt = self.reckoned(self.candidates.first().map_or(self.grtt, |clr| clr.rtt));
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
        let most = self.within_outstanding().unwrap_or(f64::INFINITY);
        let share = self.silence.share(self.now);
        // Somebody may be back.
        let least = self.rate.min(self.limits.segment as f64 / LEAST_INTERVAL.as_secs_f64());
        let rate = (self.rate * factor * share).min(most).max(least);
        self.limits.clamp(Bitrate::from_bytes_per_second(rate))
    }

    fn outlook(&self, now: Time, feedback: &Feedback) -> Option<f64> {
        // Before it has received anything a receiver reports next to nothing.
        let says = feedback.path.is_some() || feedback.rate > self.limits.min;
        says.then(|| self.judge(now, feedback).rate.as_bps() as f64 / WHOLE)
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

    fn wants_probe(&self) -> bool {
        self.bound().is_some_and(|bound| self.outstanding.wants_probe(self.now, bound))
    }

    fn pairs(&self) -> bool {
        let interval = self.interval().as_secs_f64();
        // Where more is lost than is known to be random, only pairs can show that there is room: then at any rate.
        let many = self.rate * interval >= PAIR_MESSAGES * self.size;
        self.starting || many || !self.losses.random.is_known()
    }

    fn limiting(&self) -> Vec<(NodeId, CcFlags)> {
        self.candidates.named()
    }

    fn ecn(&self) -> Option<Ecn> {
        Some(Ecn::Ect0)
    }
}
