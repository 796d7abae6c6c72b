//! When to announce: soon after a change, rarely when nothing changes, and not at all when enough
//! others have announced the same (Trickle, RFC 6206).

use fanfare_proto::{Duration, Time, rng::Rng};

/// RFC 6206's redundancy constant: so many consistent announcements heard in an interval make our
/// own superfluous.
const REDUNDANCY: u32 = 3;
/// But never more than so many intervals in a row: it is a sign of life, too.
const SILENT_MAX: u32 = 2;

/// Changes without end would have the shortest interval for ever: so many in a row have it, and one
/// more in each of so many of the longest intervals.
const PROMPT_MAX: u32 = 4;
const PROMPT_EVERY: u32 = 2;
/// The others have this part of the longest interval.
const STEADY: u32 = 8;
/// While nodes are missing, intervals are at most this part of the time since they went, however slow the network is: who
/// was cut off for ten minutes is met again within about ten seconds of the heal, and who never comes back costs little.
const ABSENCE_PART: u32 = 64;
/// Where the network bears it, those that are there speak, together, each of these parts of that time: each 0.3 s after ten
/// minutes. What a node costs that never comes back grows as the logarithm of time.
const TOGETHER_PART: u32 = 2048;
/// But not more often; nor does one alone than each half of the shortest interval.
const TOGETHER_MIN: Duration = Duration::from_millis(250);

/// While a publisher is fast, it is told this soon and this often at most: a tenth of a second's messages
/// wait for word then, and no more.
const FLOOD_SOON: Duration = Duration::from_millis(10);
const FLOOD_EACH: Duration = Duration::from_millis(25);
/// Greetings are answered this often at most.
const GREETED_EACH: Duration = Duration::from_millis(100);

/// Nodes are missing that may come back.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Absence {
    /// For how long, at least.
    pub(crate) away: Duration,
    /// How many announce themselves here.
    pub(crate) here: u32,
    /// How long the network is to be spared after an announcement.
    pub(crate) spared: Duration,
}

/// One Trickle timer.
#[derive(Debug)]
pub(crate) struct Trickle {
    min: Duration,
    max: Duration,
    interval: Duration,
    /// In the second half of the interval: when to speak; `None` when that is over.
    due: Option<Time>,
    end: Time,
    consistent: u32,
    silent: u32,
    /// Somebody requested an announcement: it goes then, whatever others say.
    called: Option<Time>,
    /// When it last went for that.
    answered: Option<Time>,
    /// Changes that may be told at once, and since when they were counted.
    prompt: u32,
    counted: Time,
}

impl Trickle {
    pub(crate) fn new(now: Time, min: Duration, max: Duration, rng: &mut Rng) -> Self {
        let min = min.max(Duration::from_millis(1));
        let interval = min;
        let mut trickle = Self {
            min,
            max: max.max(min),
            interval,
            due: None,
            end: now,
            consistent: 0,
            silent: 0,
            called: None,
            answered: None,
            prompt: PROMPT_MAX,
            counted: now,
        };
        trickle.begin(now, rng);
        trickle
    }

    fn begin(&mut self, now: Time, rng: &mut Rng) {
        let half = self.interval / 2;
        let within = rng.below(half.as_nanos() as u64 + 1);
        self.due = Some(now + half + Duration::from_nanos(within));
        self.end = now + self.interval;
        self.consistent = 0;
    }

    /// Something differs: the shortest interval begins, unless it is under way, or too many did.
    pub(crate) fn on_change(&mut self, now: Time, rng: &mut Rng) {
        if self.interval <= self.min {
            return;
        }
        self.count_prompt(now);
        if self.prompt == 0 {
            return self.on_return(now, rng);
        }
        self.prompt -= 1;
        self.interval = self.min;
        self.begin(now, rng);
    }

    /// Somebody is within reach again: others are to know before long.
    pub(crate) fn on_return(&mut self, now: Time, rng: &mut Rng) {
        if self.interval > self.steady() {
            self.interval = self.steady();
            self.begin(now, rng);
        }
    }

    fn steady(&self) -> Duration {
        (self.max / STEADY).max(self.min)
    }

    /// The longest interval.
    fn longest(&self, absence: Option<Absence>) -> Duration {
        let Some(Absence { away, here, spared }) = absence else { return self.max };
        let alone = (away / ABSENCE_PART).max(self.steady());
        let together = spared.max(away / TOGETHER_PART).max(TOGETHER_MIN).saturating_mul(here);
        alone.min(together.max(self.min / 2)).min(self.max)
    }

    fn count_prompt(&mut self, now: Time) {
        let each = self.max * PROMPT_EVERY;
        while self.prompt < PROMPT_MAX && now.since(self.counted) >= each {
            (self.prompt, self.counted) = (self.prompt + 1, self.counted + each);
        }
        if self.prompt == PROMPT_MAX {
            self.counted = now;
        }
    }
    /// It is the last occasion.
    pub(crate) fn hurry(&mut self, now: Time) {
        (self.due, self.consistent) = (Some(now), 0);
    }
    /// Somebody wants to hear it, soon, but not more often than each half of the shortest interval. Being asked again before
    /// it is said changes nothing.
    pub(crate) fn on_call(&mut self, now: Time, rng: &mut Rng) {
        if self.called.is_none() {
            let half = self.min / 2;
            let within = rng.below(half.as_nanos() as u64 + 1);
            let soon = now + Duration::from_nanos(within);
            self.called = Some(self.answered.map_or(soon, |at| soon.max(at + half)));
        }
    }
    /// Somebody who publishes fast wants to hear it.
    pub(crate) fn on_flood(&mut self, now: Time, rng: &mut Rng) {
        let at = now + Duration::from_nanos(rng.below(FLOOD_SOON.as_nanos() as u64 + 1));
        let at = self.answered.map_or(at, |answered| at.max(answered + FLOOD_EACH));
        self.called = Some(self.called.map_or(at, |called| called.min(at)));
    }
    /// It goes within `soon` from now, whatever was planned; not so soon after the last one that was
    /// asked for.
    pub(crate) fn on_greeting(&mut self, now: Time, soon: Duration, rng: &mut Rng) {
        let at = now + Duration::from_nanos(rng.below(soon.as_nanos() as u64 + 1));
        let at = self.answered.map_or(at, |answered| at.max(answered + GREETED_EACH));
        self.called = Some(self.called.map_or(at, |called| called.min(at)));
    }
    /// It goes then at the latest.
    pub(crate) fn plan(&mut self, at: Time) {
        self.called = Some(self.called.map_or(at, |called| called.min(at)));
    }
    /// Somebody said what we would have said.
    pub(crate) fn on_consistent(&mut self) {
        self.consistent += 1;
    }
    /// Whether to speak now; `insists`: also when others have said the same. Goes on to the next
    /// interval when this one is over; `absence` tells whether nodes are missing.
    pub(crate) fn poll(
        &mut self,
        now: Time,
        insists: impl FnOnce() -> bool,
        absence: impl FnOnce() -> Option<Absence>,
        rng: &mut Rng,
    ) -> bool {
        let due = self.due.is_some_and(|due| due <= now);
        let mut speak = false;
        if due {
            self.due = None;
            let redundant = self.consistent >= REDUNDANCY && self.silent < SILENT_MAX;
            speak = !redundant || insists();
            self.silent = if speak { 0 } else { self.silent + 1 };
        }
        if self.called.is_some_and(|at| at <= now) {
            (self.called, self.silent, speak) = (None, 0, true);
            self.answered = Some(now);
        }
        if self.end <= now {
            self.interval = (self.interval * 2).min(self.longest(absence()));
            self.begin(now, rng);
        }
        speak
    }
    pub(crate) fn next_timeout(&self) -> Time {
        let next = self.due.map_or(self.end, |due| due.min(self.end));
        self.called.map_or(next, |at| at.min(next))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    fn run(trickle: &mut Trickle, rng: &mut Rng, until: u64, heard: u32) -> Vec<u64> {
        let mut spoken = Vec::new();
        let mut now = trickle.next_timeout();
        while now < Time::ZERO + Duration::from_secs(until) {
            (0..heard).for_each(|_| trickle.on_consistent());
            if trickle.poll(now, || false, || None, rng) {
                spoken.push(now.as_nanos() / 1_000_000_000);
            }
            assert!(trickle.next_timeout() > now);
            now = trickle.next_timeout();
        }
        spoken
    }

    fn timer() -> (Trickle, Rng) {
        let mut rng = Rng::new(1);
        let trickle =
            Trickle::new(Time::ZERO, Duration::from_secs(1), Duration::from_secs(32), &mut rng);
        (trickle, rng)
    }

    #[test]
    fn when_nothing_changes_the_interval_doubles_each_time() {
        let (mut trickle, mut rng) = timer();
        let spoken = run(&mut trickle, &mut rng, 300, 0);
        assert!((11..=15).contains(&spoken.len()), "{spoken:?}");
    }

    #[test]
    fn it_announces_more_often_the_more_recently_nodes_were_lost() {
        let spoken = |away: u64, (here, spared): (u32, u64)| {
            let (mut trickle, mut rng) = timer();
            let (away, spared) = (Duration::from_secs(away), Duration::from_secs(spared));
            let (mut spoken, end) = (0, Time::ZERO + Duration::from_secs(320));
            while let Some(now) = Some(trickle.next_timeout()).filter(|now| *now < end) {
                let absence = || Some(Absence { away, here, spared });
                spoken += u32::from(trickle.poll(now, || false, absence, &mut rng));
            }
            spoken
        };
        // Intervals of 4 s (32 / 8), of 10 and of 32, after the first few.
        let counts = [10, 640, 64_000].map(|away| spoken(away, (3, 60)));
        assert!((75..=85).contains(&counts[0]), "{counts:?}");
        assert!((30..=38).contains(&counts[1]), "{counts:?}");
        assert!((11..=15).contains(&counts[2]), "{counts:?}");
        // Where the network bears it four speak each 0.25 s, then each 0.3125 s, 60 each 10 s, as one would; after 20 hours
        // four take 32 s again.
        let counts =
            [(10, 4), (640, 4), (640, 60), (72_000, 4)].map(|(away, here)| spoken(away, (here, 0)));
        assert!((310..=325).contains(&counts[0]), "{counts:?}");
        assert!((240..=260).contains(&counts[1]), "{counts:?}");
        assert!((30..=38).contains(&counts[2]), "{counts:?}");
        assert!((11..=15).contains(&counts[3]), "{counts:?}");
    }

    #[test]
    fn repeated_calls_cause_one_announcement_in_half_the_shortest_interval() {
        let (mut trickle, mut rng) = timer();
        run(&mut trickle, &mut rng, 100, 0);
        let (mut spoken, begun) = (0, Time::ZERO + Duration::from_secs(100));
        for ms in 0..10_000 {
            let now = begun + Duration::from_millis(ms);
            trickle.on_call(now, &mut rng);
            spoken += u32::from(trickle.poll(now, || false, || None, &mut rng));
        }
        assert!((15..=21).contains(&spoken), "{spoken}");
    }

    #[test]
    fn who_publishes_fast_is_told_within_milliseconds_and_not_all_the_time() {
        let (mut trickle, mut rng) = timer();
        run(&mut trickle, &mut rng, 100, 0);
        let (mut spoken, begun) = (0, Time::ZERO + Duration::from_secs(100));
        for ms in 0..1_000 {
            let now = begun + Duration::from_millis(ms);
            trickle.on_flood(now, &mut rng);
            spoken += u32::from(trickle.poll(now, || false, || None, &mut rng));
        }
        assert!((30..=41).contains(&spoken), "{spoken}");
    }

    #[test]
    fn a_change_brings_the_shortest_interval_back_once() {
        let (mut trickle, mut rng) = timer();
        run(&mut trickle, &mut rng, 100, 0);
        let now = Time::ZERO + Duration::from_secs(100);
        trickle.on_change(now, &mut rng);
        let due = trickle.next_timeout();
        assert!(due <= now + Duration::from_secs(1));
        trickle.on_change(now, &mut rng);
        assert_eq!(trickle.next_timeout(), due, "many changes are one");
    }

    #[test]
    fn endless_changes_do_not_keep_the_shortest_interval() {
        let (mut trickle, mut rng) = timer();
        let (mut spoken, mut now) = (0, Time::ZERO);
        while now < Time::ZERO + Duration::from_secs(640) {
            spoken += u32::from(trickle.poll(now, || false, || None, &mut rng));
            trickle.on_change(now, &mut rng);
            now = trickle.next_timeout();
        }
        // Four changes have five intervals of 1 to 16 s or fewer each, and ten more in 640 s; the rest
        // of the time an interval has 32 / 8 s.
        assert!((150..200).contains(&spoken), "{spoken}");
    }

    #[test]
    fn a_node_that_hears_enough_equal_announcements_is_silent_for_a_limited_time() {
        let (mut trickle, mut rng) = timer();
        let alone = run(&mut trickle, &mut rng, 600, 0).len();
        let (mut trickle, mut rng) = timer();
        let among_many = run(&mut trickle, &mut rng, 600, 5).len();
        assert!(among_many > 0 && among_many * 2 < alone, "{among_many} of {alone}");
    }

    #[test]
    fn a_called_node_announces_once_soon_whatever_others_announce() {
        let (mut trickle, mut rng) = timer();
        run(&mut trickle, &mut rng, 100, 0);
        let now = Time::ZERO + Duration::from_secs(100);
        (0..5).for_each(|_| trickle.on_call(now, &mut rng));
        (0..9).for_each(|_| trickle.on_consistent());
        let soon = trickle.next_timeout();
        assert!(soon <= now + Duration::from_millis(500));
        assert!(
            trickle.poll(soon, || false, || None, &mut rng)
                && !trickle.poll(soon, || false, || None, &mut rng)
        );
    }
}
