//! How long ago messages were published. Publishers' clocks need not agree, so an age travels as a
//! duration: a node that sends a description late says how late (EXT_AGE), and a node that forwards
//! it adds how long it had it.

use alloc::vec::Vec;
use fanfare_proto::{AGE_TOLD_FROM, Duration, Time};
use fanfare_wire::ext::{ExtAge, Extensions};

/// Messages in one frame whose age is told: half of the extensions that a header has room for.
pub(crate) const AGED_MAX: usize = 128;

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

    /// Whether it was published after `begun` for sure: what is told may be too young by less than
    /// [`AGE_TOLD_FROM`].
    pub(crate) fn is_after(self, begun: Time) -> bool {
        self.heard > begun + self.then + AGE_TOLD_FROM
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
            && is_told(age.saturating_sub(bound))
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
    let steps = first.saturating_sub(last).as_nanos() / AGE_TOLD_FROM.as_nanos().max(1);
    let steps = usize::try_from(steps).unwrap_or(AGED_MAX) + usize::from(is_told(last));
    steps.min(AGED_MAX) * ExtAge::LEN
}

/// What a sum of so many terms says of the age of its `which`th.
pub(crate) fn told_of_sum(extensions: &Extensions<'_>, which: usize, terms: usize) -> Duration {
    (which..terms).map(|which| told(extensions, which)).max().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

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
        // It may be 38 s old, and no older.
        assert!(age.is_after(at(61)) && !age.is_after(at(62)));
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
        let area = extensions(&[s(0), s(7), s(8), s(600)]);
        assert_eq!(area.len(), 2 * ExtAge::LEN);
        let read = Extensions::parse(&area).unwrap();
        assert_eq!(
            [0, 1, 2, 3, 300].map(|which| told(&read, which)),
            [s(0), s(0), s(8), s(600), s(0)]
        );
    }
}
