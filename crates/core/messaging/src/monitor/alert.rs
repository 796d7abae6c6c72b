//! Rules over measured numbers, as seed 002 has them (6.1.5), and two of ours.

use alloc::collections::BTreeMap;

use fanfare_wire::units::{Duration, Time};

/// Numbers that are followed by one rule; more are not.
const SUBJECTS_MAX: usize = 4096;

/// When a rule fires.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Trigger {
    /// It differs from the reference by so much.
    By(f64),
    /// By so many percent of the reference.
    Percent(f64),
    /// It is this.
    Equals(f64),
    /// It is above this for so long.
    Above(f64, Duration),
    /// It is below this for so long.
    Below(f64, Duration),
}

/// With what a number is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Reference {
    /// With the first one.
    First,
    /// With the one that fired last.
    #[default]
    LastAlert,
}

/// A rule.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rule {
    /// When it fires.
    pub trigger: Trigger,
    /// With what numbers are compared.
    pub reference: Reference,
    /// It fires no sooner than so long after it has fired.
    pub hold: Duration,
}

/// What a number has done.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Outcome {
    /// The rule fires; with what the number was compared.
    Fired(f64),
    /// What it fired for is over.
    Cleared,
}

#[derive(Debug, Clone, Copy)]
struct Followed {
    reference: f64,
    /// Since when it is beyond its bound.
    beyond: Option<Time>,
    fired: Option<Time>,
    active: bool,
}

/// A rule, and the numbers that it follows.
#[derive(Debug, Clone)]
pub struct Watcher<K> {
    rule: Rule,
    followed: BTreeMap<K, Followed>,
}

impl<K: Ord> Watcher<K> {
    /// Follows numbers by this rule.
    #[must_use]
    pub fn new(rule: Rule) -> Self {
        Self { rule, followed: BTreeMap::new() }
    }

    /// A number; what is none never fires.
    pub fn on_value(&mut self, now: Time, key: K, value: f64) -> Option<Outcome> {
        if !value.is_finite() {
            return None;
        }
        if self.followed.len() >= SUBJECTS_MAX && !self.followed.contains_key(&key) {
            return None;
        }
        let fresh = Followed { reference: value, beyond: None, fired: None, active: false };
        let one = self.followed.entry(key).or_insert(fresh);
        let (beyond, wait) = match self.rule.trigger {
            Trigger::By(by) => ((value - one.reference).abs() >= by, Duration::ZERO),
            // A share of nothing is nothing that could be compared.
            Trigger::Percent(percent) => {
                let off = (value - one.reference).abs() * 100.0;
                let bound = percent * one.reference.abs();
                (one.reference != 0.0 && percent > 0.0 && off >= bound, Duration::ZERO)
            }
            Trigger::Equals(to) => ((value - to).abs() < f64::EPSILON, Duration::ZERO),
            Trigger::Above(bound, wait) => (value > bound, wait),
            Trigger::Below(bound, wait) => (value < bound, wait),
        };
        if !beyond {
            one.beyond = None;
            let cleared = core::mem::take(&mut one.active);
            return cleared.then_some(Outcome::Cleared);
        }
        let since = *one.beyond.get_or_insert(now);
        let held = one.fired.is_some_and(|at| now.since(at) < self.rule.hold);
        // A number that has jumped is compared anew; one beyond a bound fires once until it is back.
        let moves = matches!(self.rule.trigger, Trigger::By(_) | Trigger::Percent(_));
        let again = moves && self.rule.reference == Reference::LastAlert;
        if held || now.since(since) < wait || (one.active && !again) {
            return None;
        }
        let compared = one.reference;
        (one.fired, one.active) = (Some(now), true);
        if self.rule.reference == Reference::LastAlert {
            one.reference = value;
        }
        Some(Outcome::Fired(compared))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fired(
        trigger: Trigger,
        reference: Reference,
        hold: u64,
        values: &[f64],
    ) -> std::string::String {
        let hold = Duration::from_secs(hold);
        let mut watcher = Watcher::new(Rule { trigger, reference, hold });
        let outcome = |(second, value): (usize, &f64)| {
            let now = Time::ZERO.plus(Duration::from_secs(second as u64));
            match watcher.on_value(now, (), *value) {
                Some(Outcome::Fired(_)) => '!',
                Some(Outcome::Cleared) => 'c',
                None => '.',
            }
        };
        values.iter().enumerate().map(outcome).collect()
    }

    #[test]
    fn truth_table() {
        let nan = f64::NAN;
        let (first, last) = (Reference::First, Reference::LastAlert);
        let three = Duration::from_secs(3);
        let cases = [
            (Trigger::By(50.0), last, 0, &[10.0, 40.0, 60.0, 60.0, 5.0][..], "..!c!"),
            (Trigger::By(50.0), first, 0, &[10.0, 60.0, 60.0, 20.0, 60.0], ".!.c!"),
            (Trigger::Percent(20.0), last, 0, &[100.0, 119.0, 120.0, 145.0], "..!!"),
            (Trigger::Percent(20.0), last, 0, &[0.0, 5.0, 500.0], "..."),
            (Trigger::Percent(20.0), last, 9, &[100.0, 200.0, 400.0, 800.0], ".!.."),
            (Trigger::Percent(0.0), last, 0, &[1.0, 2.0], ".."),
            (Trigger::Equals(0.0), last, 0, &[1.0, 0.0, 0.0, 1.0], ".!.c"),
            (Trigger::Above(5.0, three), last, 0, &[6.0, 6.0, 6.0, 6.0, 6.0, 1.0], "...!.c"),
            (Trigger::Below(5.0, three), last, 0, &[1.0, 1.0, 9.0, 1.0, 1.0, 1.0, 1.0], "......!"),
            (Trigger::By(1.0), last, 0, &[nan, nan, f64::INFINITY], "..."),
        ];
        for (trigger, reference, hold, values, expected) in cases {
            assert_eq!(fired(trigger, reference, hold, values), expected, "{trigger:?} {values:?}");
        }
    }
}
