//! Who must have answered before data flows.

use std::{net::SocketAddr, time::Duration};

use fanfare_proto::Time;

/// Longest time given to others once one receiver has answered.
const SETTLE_MAX: Duration = Duration::from_secs(1);

/// A receiver of ours may be heard first by its answer to a probe; what it has from before is in its
/// answer to the roll, which is called twice in this time.
const NAMELESS: Duration = Duration::from_secs(1);

/// Which receivers are expected.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Expect {
    /// Whoever answers; at least one.
    #[default]
    Anyone,
    /// So many.
    Count(usize),
    /// These, by name.
    Names(Vec<String>),
    /// One at each of these addresses.
    Hosts(Vec<SocketAddr>),
}

impl Expect {
    /// How many receivers must have everything at the end.
    pub(crate) fn count(&self) -> Option<usize> {
        match self {
            Self::Anyone => None,
            Self::Count(count) => Some(*count),
            Self::Names(names) => Some(names.len()),
            Self::Hosts(hosts) => Some(hosts.len()),
        }
    }
}

/// Times to wait at the start, where the first receiver is waited for apart from the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StartWait {
    /// Time to wait for the first receiver; `None`: without limit.
    pub first: Option<Duration>,
    /// Time from the first receiver on, for the others; `None`: without limit. Then it starts with those
    /// who are there.
    pub others: Option<Duration>,
    /// Least time from the first receiver on, even if all are there.
    pub least: Duration,
}

/// What the wait has come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Decision {
    Wait,
    Start,
    NobodyAnswered,
}

/// The wait for receivers.
#[derive(Debug)]
pub(super) struct Gathering {
    begun: Time,
    wait: StartWait,
    /// The first receiver counts from the beginning, and not from when it answers.
    is_one_wait: bool,
    /// Time at which the first one answered.
    first: Option<Time>,
    /// The least time from then on has passed.
    gathered: bool,
    /// Others may still answer until then; and at most until then.
    settles: Option<(Time, Time)>,
    settled: bool,
    /// Who has no name by then will not have one.
    nameless: Option<Time>,
    waited: bool,
    /// The user wants to wait no longer.
    asked: bool,
}

impl Gathering {
    /// One wait for all of them.
    pub(super) fn new(now: Time, wait: Duration) -> Self {
        let wait = StartWait { first: Some(wait), others: Some(wait), least: Duration::ZERO };
        Self { is_one_wait: true, ..Self::by(now, wait) }
    }

    /// The first receiver is waited for apart from the others.
    pub(super) fn by(now: Time, wait: StartWait) -> Self {
        Self {
            begun: now,
            wait,
            is_one_wait: false,
            first: None,
            gathered: wait.least.is_zero(),
            settles: None,
            settled: false,
            nameless: None,
            waited: false,
            asked: false,
        }
    }

    /// Waiting is over for whoever is there when it is decided next.
    pub(super) fn start_now(&mut self) {
        self.asked = true;
    }

    /// Time at which waiting is over, whoever is there by then.
    fn until(&self) -> Option<Time> {
        match self.first.filter(|_| !self.is_one_wait) {
            Some(first) => self.wait.others.map(|others| first + others),
            None => self.wait.first.map(|wait| self.begun + wait),
        }
    }

    /// A receiver answered. Whoever else has heard the call has answered by `all`, as far as is known
    /// now: one that is farther than those before gives the others more time.
    pub(super) fn on_answer(&mut self, now: Time, all: Time) {
        self.first.get_or_insert(now);
        let (settles, most) = self.settles.unwrap_or((all, now + SETTLE_MAX));
        self.settles = Some((settles.max(all).min(most), most));
        self.nameless.get_or_insert(now + NAMELESS);
    }

    /// `names`: of all receivers that are there, where they have one.
    pub(super) fn decide<'a>(
        &mut self,
        now: Time,
        expect: &Expect,
        names: impl Iterator<Item = Option<&'a str>> + Clone,
    ) -> Decision {
        let anyone = names.clone().next().is_some();
        if !anyone && self.first.is_some() {
            // Whoever was there has left again.
            let begun = self.begun;
            *self = Self { is_one_wait: self.is_one_wait, ..Self::by(begun, self.wait) };
        }
        if std::mem::take(&mut self.asked) && anyone {
            return Decision::Start;
        }
        self.gathered |= self.first.is_some_and(|first| first + self.wait.least <= now);
        self.settled |= self.settles.is_some_and(|(settles, _)| settles <= now);
        self.waited |= self.nameless.is_some_and(|nameless| nameless <= now);
        let named = names.clone().all(|name| name.is_some());
        let all_here = match expect {
            Expect::Anyone => self.settled && (named || self.waited),
            // Receivers of ours are first heard by their answer to a probe, like plain ones: the
            // answer to the roll, which tells them apart, is given time to follow.
            Expect::Count(_) | Expect::Hosts(_) => {
                let count = expect.count().unwrap_or(0);
                names.clone().flatten().count() >= count || (self.waited && names.count() >= count)
            }
            Expect::Names(wanted) => {
                wanted.iter().all(|name| names.clone().any(|n| n == Some(name.as_str())))
            }
        };
        let is_over = self.until().is_some_and(|until| now >= until);
        match (all_here && self.gathered, is_over) {
            (true, _) => Decision::Start,
            (false, true) if anyone => Decision::Start,
            (false, true) => Decision::NobodyAnswered,
            (false, false) => Decision::Wait,
        }
    }

    /// When [`Self::decide`] may decide otherwise without anybody answering.
    pub(super) fn next_timeout(&self) -> Option<Time> {
        let settles = self.settles.map(|(at, _)| at).filter(|_| !self.settled);
        let nameless = self.nameless.filter(|_| !self.waited);
        let least = self.first.map(|first| first + self.wait.least).filter(|_| !self.gathered);
        [settles, nameless, least, self.until()].into_iter().flatten().min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::ZERO + Duration::from_millis(ms)
    }

    fn decide(ms: u64, expect: &Expect, names: &[Option<&str>], answered: bool) -> Decision {
        let mut gathering = Gathering::new(Time::ZERO, Duration::from_secs(10));
        if answered {
            gathering.on_answer(at(100), at(250));
        }
        gathering.decide(at(ms), expect, names.iter().copied())
    }

    #[test]
    fn without_an_expectation_the_first_answer_and_a_short_wait_start_it() {
        assert_eq!(decide(200, &Expect::Anyone, &[Some("a")], true), Decision::Wait);
        assert_eq!(decide(250, &Expect::Anyone, &[Some("a")], true), Decision::Start);
    }

    #[test]
    fn one_that_is_farther_gives_the_others_more_time_but_no_more_than_a_second_after_the_first() {
        let settles = |all: &[(u64, u64)]| {
            let mut gathering = Gathering::new(Time::ZERO, Duration::from_secs(10));
            all.iter().for_each(|(now, all)| gathering.on_answer(at(*now), at(*all)));
            gathering.next_timeout().unwrap()
        };
        assert_eq!(settles(&[(5, 30), (9, 30)]), at(30));
        assert_eq!(settles(&[(5, 30), (9, 400)]), at(400));
        assert_eq!(settles(&[(5, 30), (9, 400), (500, 3000)]), at(1005));
    }

    #[test]
    fn waiting_for_a_number_of_receivers_costs_no_wake_ups_between_answers() {
        let mut gathering = Gathering::new(Time::ZERO, Duration::from_secs(10));
        gathering.on_answer(at(100), at(250));
        assert_eq!(gathering.next_timeout().unwrap(), at(250));
        gathering.decide(at(250), &Expect::Count(2), [Some("a")].into_iter());
        assert_eq!(gathering.next_timeout().unwrap(), at(1_100));
        gathering.decide(at(1_100), &Expect::Count(2), [Some("a")].into_iter());
        assert_eq!(gathering.next_timeout().unwrap(), at(10_000));
    }

    #[test]
    fn with_nobody_there_it_ends_when_the_time_is_up() {
        assert_eq!(decide(9_999, &Expect::Anyone, &[], false), Decision::Wait);
        assert_eq!(decide(10_000, &Expect::Anyone, &[], false), Decision::NobodyAnswered);
        assert_eq!(decide(10_000, &Expect::Count(2), &[], false), Decision::NobodyAnswered);
    }

    #[test]
    fn expected_receivers_are_waited_for_by_number_or_name_until_the_time_is_up() {
        let names = Expect::Names(vec!["a".into(), "b".into()]);
        assert_eq!(decide(5_000, &names, &[Some("a"), None], true), Decision::Wait);
        assert_eq!(decide(300, &names, &[Some("b"), Some("a")], true), Decision::Start);
        assert_eq!(decide(10_000, &names, &[Some("a")], true), Decision::Start);
        assert_eq!(decide(120, &Expect::Count(2), &[Some("a"), Some("b")], true), Decision::Start);
    }

    #[test]
    fn who_has_no_name_yet_is_given_time_to_say_it() {
        assert_eq!(decide(120, &Expect::Count(2), &[Some("a"), None], true), Decision::Wait);
        assert_eq!(decide(300, &Expect::Count(2), &[Some("a"), None], true), Decision::Wait);
        assert_eq!(decide(1_100, &Expect::Count(2), &[Some("a"), None], true), Decision::Start);
        assert_eq!(decide(300, &Expect::Anyone, &[None], true), Decision::Wait);
        assert_eq!(decide(1_100, &Expect::Anyone, &[None], true), Decision::Start);
    }

    /// Decides each 100 ms about who is there; receivers come and leave at these times.
    fn start_of(wait: StartWait, expect: &Expect, stays: &[(u64, u64)]) -> (Decision, u64) {
        let mut gathering = Gathering::by(Time::ZERO, wait);
        for ms in (0..400_000).step_by(100) {
            for (came, _) in stays.iter().filter(|(came, _)| *came == ms) {
                gathering.on_answer(at(ms), at(came + 50));
            }
            let there = stays.iter().filter(|(came, left)| (*came..*left).contains(&ms));
            let decision = gathering.decide(at(ms), expect, there.map(|_| Some("a")));
            if decision != Decision::Wait {
                return (decision, ms);
            }
        }
        (Decision::Wait, 400_000)
    }

    /// Longer than any test.
    const STAYS: u64 = u64::MAX;

    #[test]
    fn the_first_receiver_is_waited_for_without_limit_and_the_others_from_then_on() {
        let others = Some(Duration::from_secs(10));
        let wait = StartWait { others, ..StartWait::default() };
        let two = Expect::Count(2);
        assert_eq!(start_of(wait, &two, &[]), (Decision::Wait, 400_000));
        assert_eq!(start_of(wait, &two, &[(300_000, STAYS)]), (Decision::Start, 310_000));
        let both = [(60_000, STAYS), (69_000, STAYS)];
        assert_eq!(start_of(wait, &two, &both), (Decision::Start, 69_000));
        let without_limit = StartWait::default();
        assert_eq!(start_of(without_limit, &two, &[(0, STAYS)]), (Decision::Wait, 400_000));
    }

    #[test]
    fn who_wants_to_wait_no_longer_starts_with_those_who_are_there() {
        let forever = StartWait::default();
        for expect in [Expect::Count(3), Expect::Names(vec!["b".into()]), Expect::Anyone] {
            let mut gathering = Gathering::by(Time::ZERO, forever);
            // Nobody is there: it would be no transfer.
            gathering.start_now();
            assert_eq!(gathering.decide(at(10), &expect, std::iter::empty()), Decision::Wait);
            gathering.on_answer(at(20), at(70));
            let names = || [Some("a")].into_iter();
            assert_eq!(gathering.decide(at(21), &expect, names()), Decision::Wait);
            gathering.start_now();
            assert_eq!(gathering.decide(at(22), &expect, names()), Decision::Start);
        }
    }

    #[test]
    fn whoever_left_before_the_start_was_not_the_first() {
        let others = Some(Duration::from_secs(10));
        let wait = StartWait { others, ..StartWait::default() };
        let stays = [(1_000, 4_000), (50_000, STAYS)];
        assert_eq!(start_of(wait, &Expect::Count(2), &stays), (Decision::Start, 60_000));
        assert_eq!(start_of(wait, &Expect::Count(2), &stays[..1]), (Decision::Wait, 400_000));
        let first = Some(Duration::from_secs(20));
        let wait = StartWait { first, ..wait };
        let nobody = (Decision::NobodyAnswered, 20_000);
        assert_eq!(start_of(wait, &Expect::Count(2), &stays[..1]), nobody);
        assert_eq!(start_of(wait, &Expect::Count(2), &[]), nobody);
    }

    #[test]
    fn the_least_time_counts_from_the_first_receiver_and_gathers_who_comes_in_it() {
        let least = Duration::from_secs(6);
        let wait = StartWait { others: Some(Duration::from_secs(30)), least, ..Default::default() };
        let stays = [(8_000, STAYS), (11_000, STAYS)];
        assert_eq!(start_of(wait, &Expect::Anyone, &stays), (Decision::Start, 14_000));
        assert_eq!(start_of(wait, &Expect::Count(2), &stays), (Decision::Start, 14_000));
        assert_eq!(start_of(wait, &Expect::Count(3), &stays), (Decision::Start, 38_000));
    }
}
