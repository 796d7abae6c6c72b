//! Whose turn it is: of several relays in one island one passes a sender on, the others stand by.
//!
//! Receivers pin a sender to the address that it speaks from. Two relays that speak at once look like a
//! sender and an impostor. So who comes later leaves it to who is there, and where both begin at once the
//! one with the lower number goes on.

use std::{net::IpAddr, time::Duration};

use crate::source::LEASE;

/// A relay that hears a new sender says so at once. One that has not said so for as long does not hear it.
const SLOW_HELLO: Duration = Duration::from_millis(500);

/// Who passes one sender on to one side.
#[derive(Debug, Default)]
pub(crate) struct Turn {
    /// This relay has done so, and nobody else since.
    own: bool,
    other: Option<Other>,
}

/// Somebody else does.
#[derive(Debug)]
struct Other {
    address: IpAddr,
    /// When it was heard doing so, or was expected to begin.
    heard: Duration,
    /// It has been heard doing so.
    spoke: bool,
    /// Since when there was something to pass on, and nothing was heard of it.
    missed: Option<Duration>,
}

impl Turn {
    /// This relay has heard of the sender just now, and the relay at this address is there already: it
    /// goes first.
    pub(crate) fn leave_to(&mut self, now: Duration, address: IpAddr) {
        if !self.own && self.other.is_none() {
            self.other = Some(Other { address, heard: now, spoke: false, missed: None });
        }
    }

    /// Somebody else was heard who passes the sender on, or is the sender. `first`: it goes on even where this
    /// relay speaks, too. True when this relay stands by from now on.
    pub(crate) fn on_other(&mut self, now: Duration, address: IpAddr, first: bool) -> bool {
        if self.own && !first {
            return false;
        }
        let begins = !self.other.as_ref().is_some_and(|other| other.spoke);
        self.own = false;
        self.other = Some(Other { address, heard: now, spoke: true, missed: None });
        begins
    }

    /// The relay at this address has said by whom it is sent what. It was expected to begin, and hears nothing
    /// of the sender.
    pub(crate) fn on_unheard(&mut self, now: Duration, address: IpAddr) {
        let is_it = |other: &Other| !other.spoke && other.address == address;
        if self.other.as_ref().is_some_and(|o| is_it(o) && now >= o.heard + SLOW_HELLO) {
            self.other = None;
        }
    }

    /// The relay at this address is gone: nothing is heard of it.
    pub(crate) fn on_silent(&mut self, now: Duration, is_there: impl Fn(IpAddr) -> bool) {
        let is_gone =
            |o: &Other| now >= o.heard + LEASE && o.missed.is_some() && !is_there(o.address);
        if self.other.as_ref().is_some_and(is_gone) {
            self.other = None;
        }
    }

    /// There is something to pass on. True when this relay does.
    pub(crate) fn takes(&mut self, now: Duration) -> bool {
        if let Some(other) = &mut self.other {
            let since = *other.missed.get_or_insert(now);
            if now < since + LEASE {
                return false;
            }
            self.other = None;
        }
        self.own = true;
        true
    }

    /// Whether it is this relay's.
    pub(crate) fn is_own(&self) -> bool {
        self.own
    }

    /// Whether this relay stands by.
    pub(crate) fn stands_by(&self) -> bool {
        self.other.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOW: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 1));

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn who_is_alone_speaks_at_once_and_leaves_it_only_to_who_goes_first() {
        let mut turn = Turn::default();
        assert!(turn.takes(ms(0)));
        assert!(!turn.on_other(ms(1), LOW, false) && turn.takes(ms(2)));
        assert!(turn.on_other(ms(3), LOW, true) && turn.stands_by());
        assert!(!turn.on_other(ms(4), LOW, true), "it is told once");
    }

    #[test]
    fn who_comes_later_does_not_speak_even_with_the_lower_number() {
        let mut turn = Turn::default();
        turn.leave_to(ms(0), LOW);
        assert!(!turn.takes(ms(1)));
        assert!(turn.on_other(ms(2), LOW, false) && !turn.takes(ms(3)));
    }

    #[test]
    fn who_stands_by_takes_over_when_something_has_waited_for_three_seconds() {
        let mut turn = Turn::default();
        turn.takes(ms(0));
        turn.on_other(ms(0), LOW, true);
        for at in (0..60_000).step_by(1000) {
            assert!(!turn.takes(ms(at)));
            turn.on_other(ms(at + 1), LOW, true);
        }
        // A sender that is silent for long does not make both speak when it goes on.
        assert!(!turn.takes(ms(90_000)) && !turn.takes(ms(92_999)));
        assert!(turn.takes(ms(93_000)) && !turn.stands_by());
        assert!(turn.on_other(ms(93_001), LOW, true), "it is back");
    }

    #[test]
    fn who_was_expected_and_does_not_hear_the_sender_is_waited_for_no_longer() {
        let mut turn = Turn::default();
        turn.leave_to(ms(0), LOW);
        turn.on_unheard(ms(499), LOW);
        assert!(!turn.takes(ms(499)), "its hello may have crossed with the sender's first message");
        turn.on_unheard(ms(500), LOW);
        assert!(turn.takes(ms(500)));
    }

    #[test]
    fn requests_are_served_when_the_other_relay_is_gone_although_the_sender_is_silent() {
        let mut turn = Turn::default();
        turn.on_other(ms(0), LOW, true);
        assert!(!turn.takes(ms(10)));
        turn.on_silent(ms(2_999), |_| false);
        turn.on_silent(ms(4_000), |_| true);
        assert!(turn.stands_by());
        turn.on_silent(ms(4_000), |_| false);
        assert!(!turn.stands_by());
    }
}
