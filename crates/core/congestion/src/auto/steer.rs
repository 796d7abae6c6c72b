//! What follows a report of the limiting receiver.

use super::{
    Auto, drain, growth, law,
    random_loss::Verdict,
    rivals::{self, QueueReport},
    seen::Seen,
    view::View,
};
use crate::{RateController, Reason};
use fanfare_wire::NodeId;
use fanfare_wire::units::time::{Duration, Time};

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
/// And though a drain hides what the rate did, a queue of this, of a round trip, says enough: the
/// link became narrower.
const DRAINED_QUEUE: f64 = 0.25;
/// What loss that is too much anyway takes from the rate in a round trip at most.
const LOST_MAX: f64 = 0.2;
/// Share beyond what is known to be random that a link loses which drops what is too much for it.
const DROPPING: f64 = 0.2;
/// What marks on all messages take from the rate in a round trip: half of RFC 8257's half, as the
/// law yields to the queue already.
const MARKED: f64 = 0.25;
/// Weight of a round trip in the mean queueing delay of late.
const MEAN: f64 = 0.1;
/// What counts in it, of the delay that is wanted: a queue that others or a slower link have left is
/// no unfair share, and must not be paid for long after it has gone.
const MEAN_MAX: f64 = 2.0;
/// Where there is no queue it goes back at once by this part of the way to what arrived of late: what
/// made it fall has gone.
const BACK: f64 = 0.5;
/// On a short path messages that are so far apart that eight of them take this long, in seconds, and less than this
/// part of what they ask of the queue waits there: so much more goes after each report.
const SPARSE: f64 = 0.25;
const STARVED_QUEUE: f64 = 0.5;
const STARVED_GROWTH: f64 = 1.25;
/// As long as this part of the rate was used.
const SPARSE_USED: f64 = 0.5;

impl Auto {
    /// The limiting receiver reported.
    pub(super) fn steer(&mut self, now: Time, node: NodeId, sequence: u16, view: View) {
        let Some(seen) = self.see(now, sequence, view) else { return };
        if let Some(delivered) = view.delivered {
            // What is lost at random went over the link, too.
            let carried = delivered / (1.0 - self.random_of(&view));
            self.capacity.on_delivered(now, carried, seen.used, view.rtt());
            if view.standing > seen.wanted {
                self.capacity.on_queue(carried, self.news(&view));
            }
        }
        let verdict = self.count_loss(now, node, &seen);
        let surprised = verdict == Verdict::Lower;
        if self.starting {
            return self.start(now, &seen, surprised);
        }
        let alone = seen.used
            && view.marked == 0.0
            && !self.losses.is_policed(now)
            && self.losses.random.is_known()
            && growth::is_alone(&view, seen.past.rate, self.size);
        let wider = self.growth.is_wider(&view) || alone;
        let mut rate = self.follow_queue(&seen);
        if alone {
            rate = rate.max(growth::when_alone(seen.base, &view));
        }
        if self.is_empty(now, &seen, wider) {
            let grown = self.growth.on_empty(now, seen.base, self.size, &view);
            rate = rate.max(grown);
            if view.delivered.is_some() {
                // What went here a moment ago is free again, or a part of it.
                rate = rate.max(seen.base + BACK * (self.capacity.rate() - seen.base));
            }
            if self.pairs() {
                rate = growth::capped(rate, seen.base, &view);
            }
        } else if !seen.drained && view.queue >= EMPTY * seen.wanted {
            self.growth.on_queue(now);
        }
        if surprised {
            rate = self.lowered(now, rate);
        }
        if self.is_given_back(now, &seen) {
            rate = rate.max(growth::capped(self.losses.from, seen.base, &view));
        }
        rate = self.within_capacity(rate, &seen);
        if self.is_starved(&seen) {
            rate = rate.max(STARVED_GROWTH * self.rate.min(seen.past.rate));
        }
        rate = rate.max(self.kept_beside_rivals(now, &seen));
        if let Some(ceiling) = self.losses.ceiling(now) {
            // What was lowered to see it goes up to it.
            let shown = matches!(verdict, Verdict::Ended { .. });
            rate = if shown { ceiling } else { rate.min(ceiling) };
        }
        if !seen.used {
            // Nor does it grow there past what the narrowest link passes.
            rate = rate.min(self.rate.max(view.bottleneck.unwrap_or(0.0)));
        }
        rate = rate.min(self.most_by_link(&view));
        rate *= 1.0 - MARKED * view.marked;
        if seen.drained && !wider || self.losses.random.is_trying() {
            rate = rate.min(self.rate);
        }
        self.reason = match self.capacity.overrun() {
            Some(node) => Reason::Overrun(node),
            None => reason(node, &seen, surprised),
        };
        self.set(now, rate);
        self.look_after_drain(now, &seen, wider);
    }

    /// Rate that is kept beside others who fill the queue, bytes a second.
    fn kept_beside_rivals(&mut self, now: Time, seen: &Seen) -> f64 {
        let view = &seen.view;
        // What a slow receiver drops, and what is not used, tells of nobody.
        if !seen.used || self.capacity.overrun().is_some() {
            return 0.0;
        }
        let share = seen.past.rate.max(view.link / rivals::FLOWS);
        let report = QueueReport {
            drained: seen.drained,
            standing: view.standing,
            wanted: self.wanted(share, view.rtt),
            loss_events: view.loss_events,
            random: self.losses.random.share(),
            base: view.base,
            near: self.is_near(),
            link: view.link,
            rtt: view.trip,
            size: self.size,
            passed: self.passed.min(self.rate),
        };
        self.rivals.on_report(now, &report)
    }

    /// So few messages go on a short path that each waits for less than its share of the queue, and reports are rare:
    /// by the bounds of a fast flow it would take minutes to have its part. All of such a rate is hardly ever used.
    fn is_starved(&self, seen: &Seen) -> bool {
        let view = &seen.view;
        let sparse = self.is_near() && view.rtt > SPARSE;
        let calm =
            view.lost == 0.0 && view.marked == 0.0 && view.queue < STARVED_QUEUE * seen.wanted;
        sparse && calm && !seen.drained && seen.past.used >= SPARSE_USED
    }

    /// On a short path the rate stays near what arrived of late: reports are late there.
    fn within_capacity(&self, rate: f64, seen: &Seen) -> f64 {
        let Some(delivered) = seen.view.delivered else { return rate };
        let most = self.capacity.most(self.growth.beyond());
        // A rate that was not used is not known to fit.
        let most = if seen.used { most } else { most.min(self.rate) };
        let queues = seen.view.standing > seen.wanted;
        rate.min(most).max(if queues { delivered * law::LEAST } else { 0.0 })
    }

    /// What a report means, when it is known what it is about.
    fn see(&mut self, now: Time, sequence: u16, view: View) -> Option<Seen> {
        let rtt = view.rtt();
        (self.elapsed, self.reported) = (now.since(self.reported), now);
        let past = self.probes.find(sequence, rtt)?;
        if let Some(flight) = &mut self.flight {
            flight.on_report(now, past.until);
        }
        if self.silence.concerns(past.until, rtt) {
            return None;
        }
        let wanted = self.wanted(past.rate, view.rtt);
        let pace_max = if view.standing > wanted { PACE_MAX } else { 1.0 };
        let kept = 1.0 - self.losses.random.beyond().min(LOST_MAX);
        self.standing = view.standing;
        let drained = self.drain.concerns(past.until, self.interval(), rtt);
        let used = past.used >= USED;
        self.drain.on_used(used);
        // The pace of a few messages that follow one another tells nothing of a rate that is not used.
        // It may have been lowered since then: what was seen then lowers it once, not at each report.
        let allowed = if drained { self.rate } else { self.rate.max(past.rate) };
        self.passed = if used { past.rate * view.pace.min(pace_max) } else { allowed } * kept;
        if used && view.delivered.is_none() && self.is_overfull(&view, wanted) {
            // What a full queue drops does not pass, though what passes is as late as before.
            self.passed *= 1.0 - (view.lost - self.losses.random.share()).max(0.0);
        }
        if let Some(link) = view.bottleneck.filter(|_| used && self.is_dropping(&view)) {
            // Of what is dropped a link says how much passes, whatever was sent into it.
            self.passed = self.passed.min(link.max(view.arrived) / (1.0 - self.random_of(&view)));
        }
        if let Some(delivered) = view.delivered.filter(|_| used && view.standing > wanted) {
            // While messages queue, what arrives is what the link gives.
            let arrives = delivered / (1.0 - self.random_of(&view));
            self.passed = self.passed.min(arrives);
        }
        let base = if used && drained { self.rate * kept } else { self.passed };
        Some(Seen { view, past, wanted, drained, used, base, kept })
    }

    /// True if so much is lost that it is no chance.
    fn is_dropping(&self, view: &View) -> bool {
        view.lost > self.losses.random.share() + DROPPING
    }

    /// Twice what the narrowest link passes as pairs tell it, or what arrives, bytes a second: whatever is believed of
    /// loss, no more goes over it.
    pub(super) fn most_by_link(&self, view: &View) -> f64 {
        let arrives = view.arrived / (1.0 - self.random_of(view));
        view.bottleneck.map_or(f64::INFINITY, |link| growth::START * link.max(arrives))
    }

    /// The share that a report says is lost, as far as that is known to be random.
    fn random_of(&self, view: &View) -> f64 {
        view.lost.min(self.losses.random.share())
    }

    /// Which part of the round trip that a report covers is news. On a short path there are many more
    /// reports than probes where much is lost.
    pub(super) fn news(&self, view: &View) -> f64 {
        let interval = self.interval();
        let since = if self.is_near() { interval.min(self.elapsed) } else { interval };
        (since.as_secs_f64() / view.rtt).min(1.0)
    }

    /// The rate by the law; around a drain no more than can have passed.
    fn follow_queue(&self, seen: &Seen) -> f64 {
        let view = &seen.view;
        let ahead = if seen.used { Self::ahead(view) } else { view.standing };
        if seen.drained && ahead <= DRAINED_QUEUE * view.rtt {
            return self.rate.min(self.passed / drain::KEEP);
        }
        let change = law::change(ahead, self.mean, seen.wanted, view.rtt);
        if seen.drained {
            let rate = self.passed * change.min(1.0);
            return self.rate.min(rate).min(self.left(seen, self.passed));
        }
        let change = if view.pace > DRAINING { change.min(1.0) } else { change };
        let most = if seen.used { f64::INFINITY } else { self.rate * change.max(1.0) };
        (seen.base * change).min(most).min(self.left(seen, seen.base))
    }

    /// What others who have just come leave of the link. More is sent into it than it takes: by the
    /// pace the whole of that is known, and what of it is ours. More than that would go on filling
    /// the queue, as they have not seen us and need not yield. Where the link became narrower
    /// instead this says too little, so that most of what passes is kept. Where little is sent, a few
    /// messages that follow one another say nothing.
    fn left(&self, seen: &Seen, passed: f64) -> f64 {
        let view = &seen.view;
        if !seen.used || 1.0 - view.pace <= SURGE {
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
        let news = self.news(view);
        let standing = view.standing.min(MEAN_MAX * seen.wanted);
        self.mean += MEAN * news * (standing - self.mean);
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
