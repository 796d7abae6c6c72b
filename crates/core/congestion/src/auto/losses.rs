//! What follows losses: the rate is lowered to see whether they end, and given back when they do not. What
//! a full queue drops, or a policer, is not random. [`super::random_loss`] judges by numbers alone.

use super::{
    Auto,
    ceiling::{ArrivalSample, RateCeiling},
    growth,
    random_loss::{RandomLoss, Sent, Verdict},
    seen::Seen,
    view::View,
};
use fanfare_wire::NodeId;
use fanfare_wire::units::time::{Duration, Time};

/// Part of the rate that is tried while somebody drops what is above one: enough to see whether that ends it.
const LOWERED_BELOW: f64 = 0.9;
/// Where loss beyond what is random shows, and how far the rate is lowered to see whether it ends.
const LOWERED: f64 = 0.6;
/// And again where it has not ended: to a quarter. Of ten flows each is a tenth of the load, and each
/// would take for random what they all cause together, were none to slow down by more.
const LOWERED_AGAIN: f64 = 0.4;
/// The narrowest link passes so much more than was sent: the path is far from full.
const FAR: f64 = 2.0;
/// Time after which loss that was found to be random is tried again; each time twice as long.
const PROOF: Duration = Duration::from_secs(1);
const PROOF_RTTS: u32 = 20;
const PROOF_DOUBLINGS: u32 = 5;
/// A lower rate is tried for so many round trips at most: where it is very low, enough messages would
/// take a minute.
const TRIAL_RTTS: u32 = 8;
/// Least time of it on a long path: in 200 ms a slow link takes three.
const TRIAL: Duration = Duration::from_secs(1);
/// Time after a lower rate has ended loss in which nobody counts as alone.
const ENDED: Duration = Duration::from_secs(10);
/// A queue that is so much longer than it should be explains what is lost.
const OVERFULL: f64 = 2.0;
/// And it is long against the round trip where that is long: what is measured is more than noise.
const FULL_QUEUE: f64 = 0.25;

/// What is known of losses.
#[derive(Debug, Default)]
pub(super) struct Losses {
    pub(super) random: RandomLoss,
    /// When the rate was last lowered to see whether loss ends.
    lowered: Time,
    /// And from which rate it was lowered first, bytes a second.
    pub(super) from: f64,
    /// When that was found not to have ended it.
    acquitted: Option<Time>,
    /// Number of times in a row.
    proofs: u32,
    /// Rate that passed when a lower rate ended it.
    pub(super) ceiling: Option<RateCeiling>,
    /// Nobody else was on the link then, and there was no queue.
    alone: bool,
    queueless: bool,
    /// Time at which a lower rate ended what a queue may have dropped.
    ended: Option<Time>,
    /// Bytes a second that arrived when it was lowered.
    passed: f64,
    /// Until when what a report told of was sent into a full queue.
    overfull: Option<Time>,
}

impl Losses {
    pub(super) fn new(now: Time) -> Self {
        Self { lowered: now, ..Self::default() }
    }

    /// Somebody drops what is above some rate, as a lower rate has shown of late. That shows no queue, and on
    /// the link nobody else is seen.
    pub(super) fn is_policed(&self, now: Time) -> bool {
        self.ceiling(now).is_some() || self.ended.is_some_and(|then| now.since(then) < ENDED)
    }

    /// True if that is a policer, as far as one can know.
    fn is_sure(&self) -> bool {
        self.ceiling.is_some_and(|ceiling| ceiling.is_sure())
    }

    /// This receiver has gone: what drops on its way is no limit.
    pub(super) fn on_left(&mut self, node: NodeId) {
        self.ceiling = self.ceiling.filter(|ceiling| !ceiling.is_of(node));
    }

    /// Bytes a second above which somebody drops.
    pub(super) fn ceiling(&self, now: Time) -> Option<f64> {
        self.ceiling.and_then(|ceiling| ceiling.rate(now))
    }

    /// True if it was long ago that a lower rate did not end the loss. What a bucket has let pass may have hidden a
    /// policer from the first trials, and a road changes.
    fn is_expired(&self, now: Time, rtt: Duration) -> bool {
        let valid = PROOF.max(rtt * PROOF_RTTS) * 2_u32.pow(self.proofs.min(PROOF_DOUBLINGS));
        self.acquitted.is_some_and(|then| now.since(then) > valid)
    }

    /// What was sent until `until` was sent into a full queue, or so soon after it that a report of `span`
    /// covers both.
    fn was_overfull(&self, until: Time, span: Duration) -> bool {
        self.overfull.is_some_and(|full| until <= full + span)
    }
}

impl Auto {
    /// Whether there is more loss than is known to be random.
    pub(super) fn count_loss(&mut self, now: Time, node: NodeId, seen: &Seen) -> Verdict {
        // The queue is too long, and known to be: what it drops is no news, nor is what it dropped in
        // the round trip of a later report.
        let until = seen.past.until;
        if self.is_overfull(&seen.view, seen.wanted) || self.rivals.are_there() {
            self.losses.overfull = Some(until);
            self.losses.random.abandon();
        }
        let rtt = seen.view.rtt();
        if self.losses.was_overfull(until, rtt + self.interval()) {
            return Verdict::Known;
        }
        let news = self.news(&seen.view);
        let sent = seen.past.rate * seen.past.used.min(1.0);
        let covered = (sent * seen.view.rtt / self.size).max(4.0);
        let messages = covered * news;
        let first = !self.losses.random.is_trying();
        // So few messages go at a lower rate that they would meet nobody by chance: others would show by a queue.
        let calm = seen.view.standing <= seen.wanted && seen.view.marked == 0.0;
        let alone = self.has_room(now, seen) || !first && self.losses.alone && calm;
        // A report of a round trip may tell of a part of the one before.
        let lowered = until > self.losses.lowered + rtt * 2;
        let before = until <= self.losses.lowered;
        let near = self.is_near();
        let least = if near { Duration::ZERO } else { TRIAL };
        let late = now > self.losses.lowered + least.max(rtt * TRIAL_RTTS);
        let policed = self.losses.ceiling(now).is_some();
        // Where little was to be sent, what arrived says nothing of what would pass.
        let passing = if seen.used { sent } else { seen.past.rate.max(self.rate) };
        let expired = self.losses.is_expired(now, rtt);
        let rate = seen.past.rate;
        let sent = Sent { lowered, before, near, covered, rate, late, alone, policed, expired };
        let verdict = if self.starting && first && self.is_far_from_full(seen) {
            self.losses.random.on_start(messages, seen.view.lost)
        } else {
            self.losses.random.on_report(messages, seen.view.lost, sent)
        };
        // Of a trial all is counted, and otherwise what is seen of late.
        let kept = 1.0 - self.losses.random.before();
        let arriving = seen.view.delivered.unwrap_or(0.0).max(passing * kept);
        match verdict {
            Verdict::Lower => {
                self.losses.from = if first { self.rate } else { self.losses.from };
                self.losses.lowered = now;
                self.losses.alone = alone;
                self.losses.queueless = self.is_queueless(&seen.view);
                self.losses.passed = arriving;
                self.learn_room(&seen.view);
            }
            Verdict::Random => {
                self.losses.acquitted = Some(now);
                self.losses.proofs += 1;
                self.losses.ended = None;
                // So it was chance that had ended it before.
                if let Some(ceiling) = self.losses.ceiling.take() {
                    self.losses.from = self.losses.from.max(ceiling.from);
                }
            }
            Verdict::Ended { over } => {
                self.losses.proofs = 0;
                let passed = self.losses.passed;
                let passed = if over > 0.0 { passed.min(passing * (1.0 - over)) } else { passed };
                if self.losses.queueless {
                    let sight = ArrivalSample { passed, from: self.losses.from, node, rtt };
                    self.losses.ceiling = Some(RateCeiling::new(now, sight, self.losses.ceiling));
                } else {
                    self.losses.ended = Some(now);
                }
                self.growth.on_queue(now);
            }
            Verdict::Known => {}
        }
        verdict
    }

    /// Nobody else is on the link, and more of it is free than is used.
    fn has_room(&self, now: Time, seen: &Seen) -> bool {
        // On a short path a queue would be seen, and nothing else tells of others.
        let empty = self.is_near() && self.is_queueless(&seen.view);
        !self.losses.is_policed(now)
            && (empty || growth::has_room(&seen.view, seen.past.rate, self.size))
    }

    /// True if what is lost was in no queue.
    fn is_queueless(&self, view: &View) -> bool {
        match self.is_near() {
            true => view.marked == 0.0 && !view.queues(),
            false => growth::is_queueless(view, self.size),
        }
    }

    /// The rate was lowered for loss, and that did not end it: it is given back. Reports of what was sent
    /// before that do not lower it again where it can disturb nobody.
    pub(super) fn is_given_back(&self, now: Time, seen: &Seen) -> bool {
        let Some(then) = self.losses.acquitted.filter(|_| !self.losses.random.is_trying()) else {
            return false;
        };
        if then == now {
            return seen.view.standing <= seen.wanted;
        }
        seen.past.until <= then + seen.view.rtt() && self.has_room(now, seen)
    }

    /// A queue so long explains what is lost: it is full.
    pub(super) fn is_overfull(&self, view: &View, wanted: f64) -> bool {
        let long = if self.is_near() { 0.0 } else { FULL_QUEUE * view.rtt };
        view.standing > (OVERFULL * wanted).max(long)
    }

    /// At the start of a long path: no queue, and the narrowest link would pass twice as much. A loss is
    /// no sign of congestion then, and to lower the rate in order to see would take seconds.
    fn is_far_from_full(&self, seen: &Seen) -> bool {
        let view = &seen.view;
        let room = view.bottleneck.is_some_and(|bottleneck| bottleneck > FAR * seen.past.rate);
        !self.is_near() && room && view.standing <= seen.wanted && view.marked == 0.0
    }

    /// Lowers a rate to see whether loss ends: to no more than arrived.
    pub(super) fn lowered(&self, now: Time, rate: f64) -> f64 {
        let again = self.losses.random.is_trying_again();
        let kept = match self.losses.ceiling(now) {
            Some(_) if self.losses.is_sure() => LOWERED_BELOW,
            _ if again => LOWERED_AGAIN,
            _ => LOWERED,
        };
        // Reports of a rate that grew meanwhile tell less of it than of the rate before.
        let seen_at = self.losses.random.seen_at();
        let rate = if seen_at > 0.0 && !again { rate.min(seen_at) } else { rate };
        let lowered = kept * rate;
        if self.losses.queueless { lowered.min(self.losses.passed) } else { lowered }
    }

    /// Too much was lost while messages queued: the queue may hold no more. On a short path the noise is
    /// allowed for with a time that a small buffer does not have.
    pub(super) fn learn_room(&mut self, view: &View) {
        if view.delivered.is_some() && view.queues() {
            self.room = self.room.min(view.queue);
        }
    }
}
