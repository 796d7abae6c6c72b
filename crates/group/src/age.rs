//! How long ago messages were published. Publishers' clocks need not agree, so an age travels as a duration:
//! who sends a description late says how late (EXT_AGE), and who passes it on adds how long it was here.

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
    fn an_age_grows_while_it_is_held_and_is_reckoned_back_to_a_beginning() {
        let age = Age { heard: at(100), then: s(30) };
        assert_eq!(age.at(at(160)), s(90));
        assert_eq!(
            [at(50), at(80), at(100), at(110)].map(|begun| age.before(begun)),
            [s(0), s(10), s(30), s(40)]
        );
    }

    #[test]
    fn only_what_is_old_is_told_of_and_costs_something() {
        let area = extensions(&[s(0), s(7), s(8), s(600)]);
        assert_eq!(area.len(), 2 * ExtAge::LEN);
        let read = Extensions::parse(&area).unwrap();
        assert_eq!(
            [0, 1, 2, 3, 300].map(|which| told(&read, which)),
            [s(0), s(0), s(8), s(600), s(0)]
        );
    }
}
