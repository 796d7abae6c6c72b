//! Detects senders that have fallen silent (RFC 5740 5.3).

use crate::{
    time::{Duration, Time},
    timer::Timer,
};

/// RFC 5740 5.3: T_inactivity is at least this.
const INACTIVITY_MIN: Duration = Duration::from_secs(1);

/// What a timeout means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Silence {
    /// Ask once more for what is missing.
    Again,
    /// It has been silent for good.
    Inactive,
}

/// Counts a sender's silence.
#[derive(Debug)]
pub(crate) struct Inactivity {
    robust: u32,
    since: Time,
    timeouts: u32,
}

impl Inactivity {
    pub(crate) fn new(now: Time, robust: u32) -> Self {
        Self { robust: robust.max(1), since: now, timeouts: 0 }
    }
    /// The sender was heard.
    pub(crate) fn on_message(&mut self, now: Time) {
        self.since = now;
        self.timeouts = 0;
    }
    /// It has said that it leaves: its silence is no news.
    pub(crate) fn end(&mut self) {
        self.timeouts = self.robust.saturating_add(1);
    }
    /// What its silence until `now` means, once for each period.
    pub(crate) fn on_timeout(&mut self, now: Time, grtt: Duration) -> Option<Silence> {
        if self.next_timeout(grtt)?.0 > now {
            return None;
        }
        self.since = now;
        self.timeouts += 1;
        Some(if self.timeouts > self.robust { Silence::Inactive } else { Silence::Again })
    }
    /// Never more than once a second, and not at all once the sender is inactive.
    pub(crate) fn next_timeout(&self, grtt: Duration) -> Option<(Time, Timer)> {
        let period = (grtt * 2 * self.robust).max(INACTIVITY_MIN);
        (self.timeouts <= self.robust).then(|| (self.since + period, Timer::Inactivity))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GRTT: Duration = Duration::from_millis(1);

    #[test]
    fn a_silent_sender_is_asked_robust_factor_times_and_then_reported_once() {
        let mut inactivity = Inactivity::new(Time::ZERO, 3);
        let mut said = alloc::vec::Vec::new();
        while let Some((at, _)) = inactivity.next_timeout(GRTT) {
            said.extend(inactivity.on_timeout(at, GRTT));
        }
        assert_eq!(said, [Silence::Again, Silence::Again, Silence::Again, Silence::Inactive]);
    }

    #[test]
    fn it_wakes_no_more_than_once_a_second() {
        let inactivity = Inactivity::new(Time::ZERO, 20);
        let at = inactivity.next_timeout(GRTT).unwrap().0;
        assert_eq!(at, Time::ZERO + Duration::from_secs(1));
    }

    #[test]
    fn any_message_resets_the_count() {
        let mut inactivity = Inactivity::new(Time::ZERO, 1);
        let second = Time::ZERO + Duration::from_secs(1);
        assert_eq!(inactivity.on_timeout(second, GRTT), Some(Silence::Again));
        inactivity.on_message(second);
        assert_eq!(inactivity.on_timeout(second + Duration::from_millis(999), GRTT), None);
        let next = second + Duration::from_secs(1);
        assert_eq!(inactivity.on_timeout(next, GRTT), Some(Silence::Again));
    }
}
