//! How long ago messages were published. Publishers' clocks need not agree, so an age travels as a
//! duration: a node that sends a description late says how late (EXT_AGE), and a node that forwards
//! it adds how long it had it.

use alloc::vec::Vec;
use fanfare_proto::{AGE_TOLD_FROM, Duration, Time};
use fanfare_wire::ext::{ExtAge, Extensions};

/// Messages in one frame whose age is told: half of the extensions that a header has room for.
pub(crate) const AGED_MAX: usize = 128;
/// A term of a sum is told to be younger than it is by less than this. In steps of a second, the ages of terms from some
/// minutes would take the room of several terms.
const SUM_STEP: Duration = Duration::from_secs(8);
/// Others count ages by their own clocks, which run too fast by at most one part in so many.
const CLOCK_ERROR: u32 = 1000;

/// When a message was published, as far as it is known here: not later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Age {
    /// When it was first heard of here.
    pub(crate) heard: Time,
    /// How old it was then.
    pub(crate) then: Duration,
}

impl Age {
    /// How old it is now.
    pub(crate) fn at(self, now: Time) -> Duration {
        now.since(self.heard) + self.then
    }

    /// How long before `begun` it was published; nothing when it was later.
    pub(crate) fn before(self, begun: Time) -> Duration {
        match self.heard <= begun {
            true => self.at(begun),
            false => self.then.saturating_sub(self.heard.since(begun)),
        }
    }

    /// True if it was published before `begun` for sure. What was published after that never is: a message may pass for
    /// younger than it is, by less than [`AGE_TOLD_FROM`] mostly, and not for older.
    pub(crate) fn is_before(self, begun: Time) -> bool {
        self.heard <= begun + (self.then - self.then / CLOCK_ERROR)
    }
}

/// What a datagram says of the age of its `which`th message; nothing said is new.
pub(crate) fn told(extensions: &Extensions<'_>, which: usize) -> Duration {
    let age = u8::try_from(which).ok().and_then(|which| extensions.age(which));
    age.map_or(Duration::ZERO, |age| Duration::from_secs(age.seconds()))
}

/// Whether it is told of a message of this age.
pub(crate) fn is_told(age: Duration) -> bool {
    age >= AGE_TOLD_FROM
}

/// What tells these ages, of the messages of a frame in order.
pub(crate) fn extensions(ages: &[Duration]) -> Vec<u8> {
    let mut area = Vec::new();
    let old = (0_u8..).zip(ages).filter(|(_, age)| is_told(**age));
    old.for_each(|(which, age)| ExtAge::of_seconds(which, age.as_secs()).append(&mut area));
    area
}

/// What tells these ages of the terms of a sum. A publisher's messages are numbered as they are published, so
/// the age of one is told of all before it: only where others are so much older that it would be told of
/// them by itself, there is another.
pub(crate) fn extensions_of_sum(ages: &[Duration]) -> Vec<u8> {
    let (mut told, mut bound) = (Vec::new(), Duration::ZERO);
    for (which, age) in ages.iter().enumerate().rev() {
        if let Ok(which) = u8::try_from(which)
            && age.saturating_sub(bound) >= SUM_STEP
        {
            told.push(ExtAge::of_seconds(which, age.as_secs()));
            bound = *age;
        }
    }
    let mut area = Vec::new();
    told.iter().rev().for_each(|age| age.append(&mut area));
    area
}

/// Bytes that takes at most, of terms of which the first is so old, and the last.
pub(crate) fn room_of_sum(first: Duration, last: Duration) -> usize {
    let steps = first.saturating_sub(last).as_nanos() / SUM_STEP.as_nanos().max(1);
    let steps = usize::try_from(steps).unwrap_or(AGED_MAX) + usize::from(last >= SUM_STEP);
    steps.min(AGED_MAX) * ExtAge::LEN
}

/// What a sum of so many terms says of the age of its `which`th.
pub(crate) fn told_of_sum(extensions: &Extensions<'_>, which: usize, terms: usize) -> Duration {
    (which..terms).map(|which| told(extensions, which)).max().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::{collection::vec, prelude::*};

    fn at(s: u64) -> Time {
        Time::ZERO + Duration::from_secs(s)
    }
    fn s(s: u64) -> Duration {
        Duration::from_secs(s)
    }

    #[test]
    fn an_age_grows_while_it_is_kept_and_gives_a_time_of_publication() {
        let age = Age { heard: at(100), then: s(30) };
        assert_eq!(age.at(at(160)), s(90));
        assert_eq!(
            [at(50), at(80), at(100), at(110)].map(|begun| age.before(begun)),
            [s(0), s(10), s(30), s(40)]
        );
    }

    #[test]
    fn what_may_have_been_published_after_a_subscription_is_not_before_it() {
        let told = |seconds| Age { heard: at(100), then: s(seconds) };
        // One that nothing is told of may be new.
        assert!(told(0).is_before(at(100)) && !told(0).is_before(at(99)));
        // 30 s by a clock that may run too fast: no more than 30 ms less.
        let ms = |ms: u64| at(70) + Duration::from_millis(ms);
        assert!(told(30).is_before(ms(30)) && !told(30).is_before(ms(29)));
    }

    proptest! {
        #[test]
        fn a_message_from_after_a_subscription_is_never_before_it_over_nodes_that_round_and_drift(
            after_us in 1_u64..10_000_000,
            kept in vec((0_u64..700_000_000, 999_500_u64..=1_000_500), 1..5),
        ) {
            let begun = at(1_000);
            let (mut then, mut heard) = (Duration::ZERO, begun + Duration::from_micros(after_us));
            for (us, pace) in kept {
                heard = heard + Duration::from_micros(us);
                let area = extensions(&[then + Duration::from_micros(us * pace / 1_000_000)]);
                then = told(&Extensions::parse(&area).unwrap(), 0);
            }
            let age = Age { heard, then };
            prop_assert!(!age.is_before(begun));
        }

        #[test]
        fn a_message_from_some_more_than_a_second_before_a_subscription_is_before_it(
            before_us in 1_100_000_u64..10_000_000,
            until_heard_us in 0_u64..60_000_000,
        ) {
            let (begun, until_heard) = (at(1_000), Duration::from_micros(until_heard_us));
            let area = extensions(&[Duration::from_micros(before_us) + until_heard]);
            let then = told(&Extensions::parse(&area).unwrap(), 0);
            let age = Age { heard: begun + until_heard, then };
            prop_assert!(age.is_before(begun));
        }
    }

    #[test]
    fn the_ages_of_a_sums_terms_are_less_than_8_s_too_young_and_never_too_old() {
        let ages = [s(600), s(599), s(580), s(30), s(29), s(24), s(9), s(2)];
        let area = extensions_of_sum(&ages);
        assert_eq!(area.len(), 4 * ExtAge::LEN);
        assert!(area.len() <= room_of_sum(ages[0], ages[7]));
        let read = Extensions::parse(&area).unwrap();
        let told = |which| told_of_sum(&read, which, ages.len());
        assert_eq!([0, 1, 2, 3].map(told), [s(599), s(599), s(580), s(24)]);
        for (which, age) in ages.iter().enumerate() {
            assert!(told(which) <= *age && *age < told(which) + s(8), "{which}");
        }
        assert_eq!(extensions_of_sum(&[s(7), s(1)]), []);
    }

    #[test]
    fn only_old_messages_carry_an_age() {
        let young = Duration::from_millis(999);
        let area = extensions(&[s(0), young, s(1), s(600)]);
        assert_eq!(area.len(), 2 * ExtAge::LEN);
        let read = Extensions::parse(&area).unwrap();
        assert_eq!(
            [0, 1, 2, 3, 300].map(|which| told(&read, which)),
            [s(0), s(0), s(1), s(600), s(0)]
        );
    }
}
