//! The first messages, and the start: the rate doubles until the path is full.

use super::{Auto, flight::Flight, growth, law, seen::Seen, view::View};
use crate::Reason;
use fanfare_wire::units::time::{Duration, Time};

/// RFC 6928's initial window, in the first round trip.
const FIRST_MESSAGES: f64 = 10.0;
/// The start ends at this queueing delay, of a round trip.
const START_QUEUE: f64 = 0.125;
/// A path is full where so much is lost, and no more arrives than this part of what was sent.
const FULL_LOST: f64 = 0.05;
const FULL: f64 = 0.9;
/// Part of the first flight that may be lost where it went slower only because nothing was heard of it: it goes on as
/// fast.
const RESUMED_LOST: f64 = 0.15;

/// Part that arrives at least: where less does, a report tells of a few messages.
const LEAST_ARRIVES: f64 = 0.1;

impl Auto {
    /// Bytes a second of the first messages on a path of this round trip.
    pub(super) fn first_rate(&self, rtt: Duration) -> f64 {
        FIRST_MESSAGES * self.size / rtt.as_secs_f64().max(1e-3)
    }

    /// Nothing is known of the path yet but its round trip: who is near is sent the first messages in
    /// that time.
    pub(super) fn begin_near(&mut self, now: Time, rtt: Duration) {
        let near = law::reckoned(rtt, rtt, Duration::ZERO);
        let begins = self.starting && self.flight.is_none() && law::is_short(rtt);
        if begins && self.hearing.may_grow(now, near, self.grtt) {
            self.hearing.on_grown(now);
            let rate = self.first_rate(near).max(self.rate);
            self.flight = Some(Flight::near(rate));
            self.set(now, rate);
        }
    }

    /// The farthest receiver that has answered the roll has this round trip. The first messages go in
    /// that time, or sooner if the round trip is longer than was assumed.
    pub(super) fn begin_far(&mut self, now: Time, rtt: Duration) {
        if self.starting && self.flight.is_none() && !law::is_short(rtt) {
            let rate = self.first_rate(rtt).max(self.rate);
            let interval = self.limits.rtt / FIRST_MESSAGES as u32;
            self.flight = Some(Flight::far(rtt, interval, rate));
            self.set(now, rate);
            self.probes.begin(now);
        }
    }

    /// As long as nothing is heard of the first flight the link may be a slow one: it has not much more
    /// than the flight in its queue, if few messages go in each doubling of the time since then.
    pub(super) fn wait_for_flight(&mut self, now: Time) {
        let Some(flight) = &self.flight else { return };
        if let Some(since) = flight.unanswered(now) {
            let since = since.max(self.limits.rtt).as_secs_f64();
            self.set_any(now, flight.more() * self.limits.segment as f64 / since);
        }
    }

    /// The limiting receiver answers a probe, and has too little to say anything of its path.
    pub(super) fn begin_again(&mut self, now: Time, sequence: u16, rtt: Duration) {
        let past = self.probes.find(sequence, self.reckoned(rtt));
        let (true, Some(flight), Some(past)) = (self.starting, &mut self.flight, past) else {
            return;
        };
        flight.on_little(past.until);
        if let Some(rate) = flight.to_go() {
            self.set(now, rate.max(self.rate));
        }
    }

    /// Doubles each round trip until a queue, marks, much loss or the narrowest link's rate.
    pub(super) fn start(&mut self, now: Time, seen: &Seen, surprised: bool) {
        let view = &seen.view;
        self.reason = Reason::Start;
        let trying = self.losses.random.is_trying();
        let queued = view.standing > seen.wanted.max(START_QUEUE * view.rtt);
        if let Some(ceiling) = self.losses.ceiling(now) {
            self.end_start(now, view);
            self.set(now, ceiling);
        } else if self.is_given_back(now, seen) {
            self.set(now, growth::capped(self.losses.from, seen.base, view).max(self.rate));
        } else if queued || view.marked > 0.0 || seen.kept < 1.0 && !trying {
            self.end_start(now, view);
            let change = law::change(view.standing, seen.wanted, seen.wanted, view.rtt);
            let most = if trying { self.rate } else { f64::INFINITY };
            // While messages queue, what arrives is what the path gives, though a slow flight used little of its rate.
            let given = if queued { self.twice_arriving(view) } else { f64::INFINITY };
            self.set(now, (seen.base * change).min(most).min(given));
        } else if let Some(delivered) = full(seen) {
            self.learn_room(view);
            self.end_start(now, view);
            self.set(now, delivered);
        } else if surprised {
            // The report may tell of messages of a slow flight, though more has arrived since.
            let arrives = view.delivered.map_or(0.0, |delivered| delivered.min(self.rate));
            self.set(now, self.lowered(now, seen.base.max(arrives)));
        } else if let Some(flight) = self.flight.as_ref().filter(|flight| !flight.is_answered()) {
            // Nothing is known of the path yet.
            if let Some(rate) = flight.to_go() {
                self.set(now, rate.max(self.rate));
            }
        } else if let Some(rate) = self.resumed(view) {
            self.set(now, rate.min(self.after_flight(view)).max(self.rate));
        } else if seen.used && !trying {
            let base = seen.base.min(self.after_flight(view) / growth::START);
            let (rate, reached) = growth::at_start(base, view);
            // What is lost did not pass: on a short path, where a report tells of thousands of messages, no more
            // than twice what did is sent, whatever the reason.
            let lost = (view.lost - self.losses.random.share()).max(0.0);
            let most = self.passing(view);
            let rate = if self.is_near() { (rate * (1.0 - lost)).min(most) } else { rate };
            if reached {
                self.end_start(now, view);
            } else if !self.hearing.may_grow(now, view.rtt(), self.grtt) {
                return;
            }
            self.hearing.on_grown(now);
            self.set(now, rate.max(self.rate));
        }
    }

    /// Twice what arrives, bytes a second, where a report tells of that.
    fn twice_arriving(&self, view: &View) -> f64 {
        if view.arrived > 0.0 { growth::START * view.arrived.max(self.size) } else { f64::INFINITY }
    }

    /// The most after a first flight, bytes a second. Where it was answered late all of it may have arrived, and have
    /// taken all that time; where pairs tell of the narrowest link, it may have been what a shaper passes at once.
    fn after_flight(&self, view: &View) -> f64 {
        let late = self.flight.as_ref().is_some_and(Flight::was_late);
        let most = if late { self.twice_arriving(view) } else { f64::INFINITY };
        most.min(self.most_by_link(view))
    }

    /// Bytes a second after a report of much loss on a short path: twice what came of the rest.
    fn passing(&self, view: &View) -> f64 {
        let much = view.lost > RESUMED_LOST;
        let delivered = view.delivered.filter(|_| much).unwrap_or(f64::INFINITY);
        growth::START * delivered / (1.0 - view.lost).max(LEAST_ARRIVES)
    }

    /// The rate of the first flight, when a report has just told that nearly all of it has come.
    fn resumed(&mut self, view: &View) -> Option<f64> {
        let rate = self.flight.as_mut()?.on_resumed()?;
        (view.lost <= RESUMED_LOST).then_some(rate)
    }

    pub(super) fn end_start(&mut self, now: Time, view: &View) {
        self.starting = false;
        self.drain.on_started(now, view.rtt());
    }
}

/// What a short path carries, if it carries no more: messages are lost and queue, though for less time
/// than a whole round trip, and fewer arrive than were sent. The buffer is small.
fn full(seen: &Seen) -> Option<f64> {
    let view = &seen.view;
    let queues = view.queues() && view.lost > FULL_LOST;
    view.delivered.filter(|delivered| queues && *delivered < FULL * seen.past.rate)
}
