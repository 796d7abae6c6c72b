//! Which loss is congestion: not the share that is lost whatever the rate.
//!
//! More loss than is known to be random is congestion until a lower rate has not lessened it.

use libm::sqrt;

/// Messages in whose course the share follows what is seen. The same up and down: if it fell faster
/// it would settle below the true one, and loss would go on surprising.
const MEMORY: f64 = 500.0;
/// No more than this is taken for random: who begins beside others in a full queue loses as much
/// whatever he does alone.
const SHARE_MAX: f64 = 0.12;
/// Most that is taken for random where nobody else is on the link and it has room: a radio may lose two of three
/// packets. More is no road but somebody who drops.
const SHARE_MAX_ALONE: f64 = 0.75;
/// Factor by which chance may exceed what a trial has proven.
const PROVEN: f64 = 1.2;
/// Factor by which less may arrive then: where half is lost, a fifth more is a great deal.
const PROVEN_ARRIVES: f64 = 1.1;
/// Share above which a short path is tried twice, the second time at what arrives. While loss rises, what arrives looks
/// like more.
const DOUBTFUL: f64 = 0.4;
/// The share may be that much greater than is known, times its root, before it looks like
/// congestion; and never less than half a percent.
const MARGIN: f64 = 0.15;
const MARGIN_MIN: f64 = 0.005;
/// So many more messages lost than share and margin explain are no chance: at 10 % loss that
/// happens by itself once in e^8 messages (sequential test of two shares).
const SURPRISE: f64 = 8.0;
/// Messages after which a lower rate's loss is known.
const PROBATION: f64 = 60.0;
/// What is left at the lower rate is beyond what was known when it is so many deviations of chance
/// above; then a much lower rate is tried for so many messages more before it is believed.
const LEFT: f64 = 2.0;
const PROBATION_AGAIN: f64 = 30.0;
/// And so many are enough where nobody else is on the link, and it has room: then no second, much lower
/// rate is tried either, as there is no load of others to end.
const PROBATION_ALONE: f64 = 30.0;
/// Loss at a lower rate has ended when it is less than half of what it was, by so many deviations of chance: of 30
/// messages, three tenths of which are lost at random, two or fewer are in one case of 200.
const ENDED: f64 = 0.5;
const ENDED_SURE: f64 = 2.5;
/// It has become less when it is this many deviations of chance below.
const LESSENED: f64 = 1.6;
/// It has not changed when this part of it is left. Between both more messages are waited for, up to so many times
/// as many.
const UNCHANGED: f64 = 0.75;
const UNSURE: f64 = 4.0;
/// Factor of what arrives above which it has changed, too. Who passes a quarter of what is sent passes half of it at
/// half the rate, though then still half is lost.
const MORE_ARRIVE: f64 = 1.25;
/// Lost messages that chance seldom makes none of.
const TELLING: f64 = 6.0;
/// Less than this part of it is none.
const RESIDUE: f64 = 0.1;
/// The rate is lowered so often to what arrives, where more is lost than a road loses: what a bucket has let pass
/// first makes what arrives look like more. What stays then is random.
const TIMES: u32 = 3;
/// Share that is lost, times what is not, below which its variance tells nothing.
const SPREAD_LEAST: f64 = 0.03;
/// Weight of a report in it, and the most that one says, of the most that is believed.
const SPREAD_WEIGHT: f64 = 0.05;
const SPREAD_MAX: f64 = 2.0;
/// Messages that are believed to be lost together at most.
const BURSTS_MAX: f64 = 6.0;
/// So many messages without loss are taken to precede the first ones: one of ten lost is not 10 %.
const PRIOR: f64 = 50.0;
/// Messages over which the present loss is averaged.
const RECENT: f64 = 30.0;
const MEAN: f64 = 100.0;

/// When what a report tells of was sent.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Sent {
    /// After the rate was lowered.
    pub(super) lowered: bool,
    /// Before it was.
    pub(super) before: bool,
    /// On a short path.
    pub(super) near: bool,
    /// Messages that the report covers, news or not.
    pub(super) covered: f64,
    /// Rate at which it was sent, bytes a second.
    pub(super) rate: f64,
    /// The rate has been low for too long already.
    pub(super) late: bool,
    /// While nobody else was on the link, and it had room.
    pub(super) alone: bool,
    /// True while somebody was known to drop what is above a rate: what is lost is no news of the road.
    pub(super) policed: bool,
    /// Long after the last trial.
    pub(super) expired: bool,
}

/// Messages, and how many of them were lost.
#[derive(Debug, Clone, Copy, Default)]
struct LossTally {
    messages: f64,
    lost: f64,
}

impl LossTally {
    fn add(&mut self, messages: f64, lost: f64) {
        self.messages += messages;
        self.lost += messages * lost;
    }

    fn share(&self) -> f64 {
        self.lost / self.messages.max(1.0)
    }
}

/// What a report's loss means.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Verdict {
    /// No more than is known, or it is not known yet.
    Known,
    /// There is too much for chance: lower the rate to see whether that ends it.
    Lower,
    /// The lower rate has not ended it: it is random.
    Random,
    /// The lower rate has ended it: something drops what is more, without a queue.
    Ended {
        /// The part of the lower rate that is still too much.
        over: f64,
    },
}

/// The share lost at random, and a test of what goes beyond.
#[derive(Debug, Default)]
pub(super) struct RandomLoss {
    share: f64,
    /// The greatest share that a lower rate has not lessened.
    proven: f64,
    recent: f64,
    /// The same over more messages: so much is lost by now, and chance changes it little.
    mean: f64,
    excess: f64,
    /// Variance of what reports say is lost, as a multiple of what it is where each message is lost by itself.
    spread: f64,
    /// Messages seen since there is an excess: a mean that chance at its end does not change much.
    risen: LossTally,
    /// Rate at which they were sent, bytes a second: their mean.
    risen_rate: f64,
    trial: Option<LossTrial>,
    begun: LossTally,
}

/// What is seen at a lower rate.
#[derive(Debug, Clone, Copy)]
struct LossTrial {
    seen: LossTally,
    /// The share that was lost before.
    before: f64,
    /// Share that later reports tell of the time before: loss may have gone on rising.
    earlier: f64,
    /// Number of times that the rate was lowered.
    times: u32,
    /// Messages that are lost together: so many tell as much as one.
    bursts: f64,
}

impl LossTrial {
    fn new(before: f64, bursts: f64) -> Self {
        Self { seen: LossTally::default(), before, earlier: before, times: 1, bursts }
    }

    /// The rate is lowered once more, as loss has stayed.
    fn again(self, before: f64) -> Self {
        Self { times: self.times + 1, ..Self::new(before, self.bursts) }
    }

    /// A report tells of `messages` that went before the rate was lowered.
    fn add_earlier(&mut self, messages: f64, lost: f64) {
        self.earlier += (lost - self.earlier) * (messages / RECENT).min(1.0);
        self.before = self.before.max(self.earlier);
    }

    /// True if about as much is lost as before, in sum or of what arrives.
    fn is_unchanged(&self) -> bool {
        let left = self.seen.share();
        left >= UNCHANGED * self.before && 1.0 - left <= MORE_ARRIVE * (1.0 - self.before)
    }

    /// True if there is too little loss for chance, were it the same at any rate.
    fn has_ended(&self) -> bool {
        let expected = self.before * self.seen.messages;
        let missing = expected - self.seen.lost;
        let sure = ENDED_SURE * sqrt(expected * (1.0 - self.before) * self.bursts);
        self.seen.share() < ENDED * self.before && missing >= sure
    }

    /// True if it has become less, though not gone: the lower rate may still be more than passes.
    fn has_lessened(&self) -> bool {
        let expected = self.before * self.seen.messages;
        let likely = LESSENED * sqrt(expected * (1.0 - self.before) * self.bursts);
        !self.is_unchanged() && expected - self.seen.lost >= likely
    }

    /// True if it is so much more than before that something else was seen then: a bucket was not empty yet.
    fn was_underestimated(&self) -> bool {
        let expected = self.before * self.seen.messages;
        self.seen.lost > expected / ENDED + ENDED_SURE * sqrt(expected * self.bursts)
    }

    /// True if so much was to be lost that what was left tells something.
    fn is_telling(&self) -> bool {
        self.before * self.seen.messages >= TELLING
    }

    /// How much has been seen, of what is enough.
    fn progress(&self, alone: bool) -> f64 {
        let enough = match (self.times > 1, alone) {
            (true, _) => PROBATION_AGAIN,
            (false, true) => PROBATION_ALONE,
            (false, false) => PROBATION,
        };
        self.seen.messages / enough / self.bursts
    }
}

impl RandomLoss {
    /// Of `messages` a share was lost.
    pub(super) fn on_report(&mut self, messages: f64, lost: f64, sent: Sent) -> Verdict {
        if self.trial.is_none() {
            self.note_spread(lost, sent.covered);
        }
        self.recent += (lost - self.recent) * (messages / RECENT).min(1.0);
        self.mean += (lost - self.mean) * (messages / MEAN).min(1.0);
        if let Some(trial) = &mut self.trial {
            if sent.lowered {
                trial.seen.add(messages, lost);
                return self.judge(sent);
            }
            if sent.before {
                trial.add_earlier(messages, lost);
            }
            return Verdict::Known;
        }
        let change = (lost - self.share) * (messages / MEMORY).min(1.0);
        self.share += if sent.policed { change.min(0.0) } else { change };
        self.share = self.share.min(self.most());
        self.proven = self.proven.min(self.share / ENDED);
        let margin = MARGIN_MIN.max(MARGIN * sqrt(self.share));
        self.excess = (self.excess + messages * (lost - self.share - margin)).max(0.0);
        self.risen.add(messages, lost);
        let weight = messages / self.risen.messages.max(messages).max(f64::MIN_POSITIVE);
        self.risen_rate += (sent.rate - self.risen_rate) * weight;
        if self.excess == 0.0 {
            self.risen = LossTally::default();
        }
        // What was proven long ago may not be so any more.
        let expired = sent.expired && !sent.policed && self.share > SHARE_MAX;
        if self.excess <= SURPRISE * self.bursts() && !expired {
            return Verdict::Known;
        }
        self.excess = 0.0;
        self.trial = Some(LossTrial::new(self.risen.share().max(self.mean), self.bursts()));
        self.risen = LossTally::default();
        Verdict::Lower
    }

    /// A queue was full: that explains what was lost, and no lower rate need show it.
    pub(super) fn abandon(&mut self) {
        self.trial = None;
    }

    /// A share of as many messages as a report covers was lost.
    fn note_spread(&mut self, lost: f64, covered: f64) {
        let alone = self.mean * (1.0 - self.mean);
        if alone > SPREAD_LEAST && covered > 0.0 {
            let apart = (lost - self.mean) * (lost - self.mean) * covered / alone;
            self.spread += SPREAD_WEIGHT * (apart.min(SPREAD_MAX * BURSTS_MAX) - self.spread);
        }
    }

    /// Messages that are lost together, as far as reports tell.
    fn bursts(&self) -> f64 {
        self.spread.clamp(1.0, BURSTS_MAX)
    }

    /// A share of `messages` was lost while the path was far from full: that is random, as far as a road loses so
    /// much.
    pub(super) fn on_start(&mut self, messages: f64, lost: f64) -> Verdict {
        self.begun.add(messages, lost);
        self.mean += (lost - self.mean) * (messages / MEAN).min(1.0);
        let expected = SHARE_MAX.max(self.share + MARGIN * sqrt(self.share));
        if self.begun.lost > expected * self.begun.messages + SURPRISE * self.bursts() {
            self.trial = Some(LossTrial::new(self.begun.share().max(self.mean), self.bursts()));
            self.begun = LossTally::default();
            return Verdict::Lower;
        }
        let share = self.begun.lost / (self.begun.messages + PRIOR);
        // What a trial has proven to be random stays so.
        self.share = self.share.max(share.min(SHARE_MAX));
        Verdict::Known
    }

    /// What is lost at the lower rate too is random, once enough was seen, or it is late. Where that is
    /// more than was known the rate is lowered again first.
    fn judge(&mut self, sent: Sent) -> Verdict {
        let Some(trial) = self.trial else { return Verdict::Known };
        let (progress, left) = (trial.progress(sent.alone), trial.seen.share());
        if !sent.late && progress < 1.0 {
            return Verdict::Known;
        }
        if trial.has_ended() {
            // Where a noticeable part is left the lower rate is still more than passes.
            return self.end(if left > RESIDUE * trial.before { left } else { 0.0 });
        }
        if !sent.late && progress < UNSURE && !trial.is_unchanged() {
            return Verdict::Known;
        }
        if sent.policed && !trial.is_telling() {
            // Too few would have been lost at random to say anything: what is known of a policer stays.
            if sent.late {
                self.trial = None;
            }
            return Verdict::Known;
        }
        let lessened = trial.has_lessened();
        if lessened && left < ENDED * trial.before {
            return self.end(left);
        }
        let first = sent.near && trial.times == 1;
        let doubtful = left > if first { DOUBTFUL } else { SHARE_MAX_ALONE };
        let unclear = lessened || trial.was_underestimated() || doubtful;
        if unclear && trial.times < TIMES {
            self.trial = Some(trial.again(left));
            return Verdict::Lower;
        }
        if lessened {
            return self.end(left);
        }
        let surprising =
            left > self.share + chance(LEFT, self.share, trial.seen.messages / trial.bursts);
        if trial.times == 1 && !sent.alone && surprising {
            self.trial = Some(trial.again(trial.before));
            return Verdict::Lower;
        }
        self.trial = None;
        if sent.alone {
            self.proven = self.proven.max(left);
        }
        self.share = self.share.max(left).min(self.most());
        Verdict::Random
    }

    /// A lower rate has ended what was lost, but for this: no more is random.
    fn end(&mut self, over: f64) -> Verdict {
        self.trial = None;
        self.share = self.share.min(over);
        self.proven = self.proven.min(over);
        Verdict::Ended { over }
    }

    /// The share that was lost in a trial's cause, or of late.
    pub(super) fn before(&self) -> f64 {
        self.trial.map_or(self.recent, |trial| trial.before)
    }

    /// Rate at which the loss was seen that a trial is about, bytes a second. It may have gone on growing since.
    pub(super) fn seen_at(&self) -> f64 {
        self.risen_rate
    }

    /// The share that is known to be random.
    pub(super) fn share(&self) -> f64 {
        self.share
    }

    /// True if the rate was lowered a second time.
    pub(super) fn is_trying_again(&self) -> bool {
        self.trial.is_some_and(|trial| trial.times > 1)
    }

    /// True if a lower rate is being tried.
    pub(super) fn is_trying(&self) -> bool {
        self.trial.is_some()
    }

    /// The most that is taken for random while others may be there, or as much as is known to be.
    fn most(&self) -> f64 {
        let arrives = 1.0 - self.proven;
        let most = (self.proven * PROVEN).min(1.0 - arrives / PROVEN_ARRIVES);
        most.clamp(SHARE_MAX, SHARE_MAX_ALONE)
    }

    /// True if no more is lost of late than is known to be random, by two deviations of chance.
    pub(super) fn is_known(&self) -> bool {
        self.recent <= self.share + chance(2.0, self.share, RECENT / self.bursts())
    }

    /// How much of the present loss is too much whether random or not: two deviations above.
    pub(super) fn beyond(&self) -> f64 {
        let most = self.most();
        (self.recent - most - chance(2.0, most, RECENT / self.bursts())).max(0.0)
    }
}

/// How much more than a share `messages` lose by chance, within so many deviations.
fn chance(deviations: f64, share: f64, messages: f64) -> f64 {
    deviations * sqrt(share * (1.0 - share) / messages) + 1.0 / messages
}

#[cfg(test)]
mod tests {
    use super::*;
    use fanfare_wire::units::rng::Rng;

    const LATER: Sent = Sent {
        lowered: true,
        before: false,
        near: false,
        covered: 0.0,
        rate: 0.0,
        late: false,
        alone: false,
        policed: false,
        expired: false,
    };

    /// Reports of ten messages each, of which `loss` is lost by chance; how often it surprised.
    fn surprises(random: &mut RandomLoss, reports: u32, loss: f64, rng: &mut Rng) -> u32 {
        (0..reports).fold(0, |count, _| {
            let lost = (0..10).filter(|_| rng.random_bool(loss)).count() as f64 / 10.0;
            let verdict = random.on_report(10.0, lost, LATER);
            count + u32::from(verdict == Verdict::Lower)
        })
    }

    #[test]
    fn loss_that_stays_at_a_lower_rate_is_random_and_surprises_no_more() {
        let (mut random, mut rng) = (RandomLoss::default(), Rng::new(1));
        while !random.is_trying() {
            surprises(&mut random, 1, 0.1, &mut rng);
        }
        let later = surprises(&mut random, 2000, 0.1, &mut rng);
        assert!(later <= 2 && (0.05..0.15).contains(&random.share), "{later} {random:?}");
    }

    #[test]
    fn new_loss_is_believed_when_two_lower_rates_have_not_ended_it() {
        let (mut random, mut rng) = (RandomLoss::default(), Rng::new(1));
        while !random.is_trying() {
            surprises(&mut random, 1, 0.1, &mut rng);
        }
        assert!(!random.is_trying_again());
        assert_eq!(surprises(&mut random, 6, 0.1, &mut rng), 1);
        assert!(random.is_trying_again());
        let reports = (1..).take_while(|_| {
            surprises(&mut random, 1, 0.1, &mut rng);
            random.is_trying()
        });
        assert!(reports.count() < 30 && random.share > 0.05, "{random:?}");
    }

    #[test]
    fn without_others_one_short_trial_at_a_lower_rate_is_enough() {
        let (mut random, alone) = (RandomLoss::default(), Sent { alone: true, ..LATER });
        while random.on_report(10.0, 0.1, alone) != Verdict::Lower {}
        let verdicts = [0; 3].map(|_| random.on_report(10.0, 0.1, alone));
        assert_eq!(verdicts, [Verdict::Known, Verdict::Known, Verdict::Random]);
        assert!((random.share - 0.1).abs() < 1e-9, "{random:?}");
    }

    #[test]
    fn loss_that_a_lower_rate_lessens_is_somebody_who_drops() {
        let mut random = RandomLoss::default();
        while random.on_report(10.0, 0.4, LATER) != Verdict::Lower {}
        let alone = Sent { alone: true, ..LATER };
        let verdicts = [0; 3].map(|_| random.on_report(10.0, 0.0, alone));
        assert_eq!(verdicts[2], Verdict::Ended { over: 0.0 });
        assert!(random.share <= SHARE_MAX, "{random:?}");
    }

    #[test]
    fn a_third_of_all_is_believed_to_be_random_only_without_others() {
        let share = |alone| {
            let (mut random, sent) = (RandomLoss::default(), Sent { alone, ..LATER });
            for _ in 0..50 {
                random.on_report(10.0, 0.3, sent);
            }
            (random.share, random.beyond())
        };
        let (others, alone) = (share(false), share(true));
        assert!((others.0 - SHARE_MAX).abs() < 1e-9 && others.1 > 0.0, "{others:?}");
        assert!((alone.0 - 0.3).abs() < 1e-9 && alone.1 == 0.0, "{alone:?}");
    }

    #[test]
    fn a_lower_rate_that_sends_too_little_to_tell_is_not_kept_for_ever() {
        let mut random = RandomLoss::default();
        while random.on_report(10.0, 0.3, LATER) != Verdict::Lower {}
        assert_eq!(random.on_report(2.0, 0.0, LATER), Verdict::Known);
        assert_eq!(random.on_report(2.0, 0.5, Sent { late: true, ..LATER }), Verdict::Random);
        assert!(!random.is_trying() && random.share <= SHARE_MAX, "{random:?}");
    }

    #[test]
    fn loss_that_ends_at_a_lower_rate_surprises_again() {
        let (mut random, mut rng) = (RandomLoss::default(), Rng::new(1));
        surprises(&mut random, 9, 0.2, &mut rng);
        surprises(&mut random, 100, 0.0, &mut rng);
        assert!(random.share < 0.03, "{random:?}");
        assert_eq!(surprises(&mut random, 9, 0.2, &mut rng), 1);
    }

    #[test]
    fn half_of_all_lost_is_too_much_whatever_it_is() {
        let (mut random, mut rng) = (RandomLoss::default(), Rng::new(1));
        surprises(&mut random, 50, 0.1, &mut rng);
        assert_eq!(random.beyond(), 0.0);
        surprises(&mut random, 50, 0.5, &mut rng);
        assert!(random.beyond() > 0.0, "{random:?}");
    }
}
