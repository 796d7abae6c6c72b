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
    until: Time,
    /// Others may still answer until then; and at most until then.
    settles: Option<(Time, Time)>,
    settled: bool,
    /// Who has no name by then will not have one.
    nameless: Option<Time>,
    waited: bool,
}

impl Gathering {
    pub(super) fn new(now: Time, wait: Duration) -> Self {
        Self { until: now + wait, settles: None, settled: false, nameless: None, waited: false }
    }

    /// A receiver answered. Whoever else has heard the call has answered by `all`, as far as is known
    /// now: one that is farther than those before gives the others more time.
    pub(super) fn on_answer(&mut self, now: Time, all: Time) {
        let (settles, most) = self.settles.unwrap_or((all, now + SETTLE_MAX));
        self.settles = Some((settles.max(all).min(most), most));
        self.nameless.get_or_insert(now + NAMELESS);
    }

    /// `names`: of all receivers heard so far, where they have one.
    pub(super) fn decide<'a>(
        &mut self,
        now: Time,
        expect: &Expect,
        names: impl Iterator<Item = Option<&'a str>> + Clone,
    ) -> Decision {
        let anyone = names.clone().next().is_some();
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
        match (all_here, now >= self.until) {
            (true, _) => Decision::Start,
            (false, true) if anyone => Decision::Start,
            (false, true) => Decision::NobodyAnswered,
            (false, false) => Decision::Wait,
        }
    }

    /// When [`Self::decide`] may decide otherwise without anybody answering.
    pub(super) fn next_timeout(&self) -> Time {
        let settles = self.settles.map(|(at, _)| at).filter(|_| !self.settled);
        let nameless = self.nameless.filter(|_| !self.waited);
        [settles, nameless].into_iter().flatten().fold(self.until, Time::min)
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
            gathering.next_timeout()
        };
        assert_eq!(settles(&[(5, 30), (9, 30)]), at(30));
        assert_eq!(settles(&[(5, 30), (9, 400)]), at(400));
        assert_eq!(settles(&[(5, 30), (9, 400), (500, 3000)]), at(1005));
    }

    #[test]
    fn waiting_for_a_number_of_receivers_costs_no_wake_ups_between_answers() {
        let mut gathering = Gathering::new(Time::ZERO, Duration::from_secs(10));
        gathering.on_answer(at(100), at(250));
        assert_eq!(gathering.next_timeout(), at(250));
        gathering.decide(at(250), &Expect::Count(2), [Some("a")].into_iter());
        assert_eq!(gathering.next_timeout(), at(1_100));
        gathering.decide(at(1_100), &Expect::Count(2), [Some("a")].into_iter());
        assert_eq!(gathering.next_timeout(), at(10_000));
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
}
