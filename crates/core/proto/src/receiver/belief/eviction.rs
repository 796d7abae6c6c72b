//! The sender says in its roll calls that it goes on without this receiver.
//!
//! Anybody can say so in its name. So this receiver asks for nothing any more only when it was said
//! for a second, and the next roll call without its name takes that back. It gives up when it was said
//! for long and never taken back, or when the sender leaves. A sender never takes a receiver back: who
//! has heard both has heard a forger, and believes the next such calls as late as it gives up.

use crate::{
    receiver::pinned_identity::CONFIRM_MIN,
    time::{Duration, Time},
};

/// It gives up after so long. A sender calls the roll every two seconds, and every eight when all
/// are known (`RARER` of its roll call): one true call lies in between.
const GIVES_UP: Duration = Duration::from_secs(10);

/// What was said so far.
#[derive(Debug, Default)]
pub(crate) struct Eviction {
    since: Option<Time>,
    asks_nothing: bool,
    told: bool,
    /// It was said, and taken back.
    doubted: bool,
}

impl Eviction {
    /// A roll call. True when it is to be told to the driver now.
    pub(crate) fn on_roll_call(&mut self, now: Time, said: bool, grtt: Duration) -> bool {
        if !said {
            self.take_back();
            return false;
        }
        let stood = now.since(*self.since.get_or_insert(now));
        let patience = if self.doubted { GIVES_UP } else { grtt.max(CONFIRM_MIN) };
        self.asks_nothing |= stood >= patience;
        stood >= GIVES_UP && !core::mem::replace(&mut self.told, true)
    }

    /// The sender asks this receiver to acknowledge, or names it in a probe: it has not gone on without
    /// it. Neither is done of who was given up.
    pub(crate) fn on_addressed(&mut self) {
        self.take_back();
    }

    fn take_back(&mut self) {
        let doubted = self.doubted || self.since.is_some();
        *self = Self { doubted, ..Self::default() };
    }

    /// The sender has left. True when it is to be told to the driver now.
    pub(crate) fn on_end(&mut self) -> bool {
        self.since.is_some() && !core::mem::replace(&mut self.told, true)
    }

    /// Whether asking would only silence others.
    pub(crate) fn asks_nothing(&self) -> bool {
        self.asks_nothing
    }

    /// Whether it has given up.
    pub(crate) fn is_silent(&self) -> bool {
        self.told
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::at;

    const GRTT: Duration = Duration::from_millis(10);

    #[test]
    fn a_receiver_asks_no_more_after_a_second_and_gives_up_after_ten() {
        let mut eviction = Eviction::default();
        assert!(!eviction.on_roll_call(at(0), true, GRTT));
        assert!(!eviction.on_roll_call(at(999), true, GRTT) && !eviction.asks_nothing());
        assert!(!eviction.on_roll_call(at(1000), true, GRTT) && eviction.asks_nothing());
        assert!(!eviction.on_roll_call(at(9_999), true, GRTT) && !eviction.is_silent());
        assert!(eviction.on_roll_call(at(10_000), true, GRTT) && eviction.is_silent());
        assert!(!eviction.on_roll_call(at(10_500), true, GRTT), "once");
    }

    #[test]
    fn a_call_that_does_not_name_it_takes_everything_back() {
        let mut eviction = Eviction::default();
        for ms in (0..60_000).step_by(100) {
            let forged = ms % 8_000 != 7_900;
            assert!(!eviction.on_roll_call(at(ms), forged, GRTT), "{ms}");
        }
        assert!(!eviction.on_roll_call(at(60_000), false, GRTT) && !eviction.asks_nothing());
    }

    #[test]
    fn who_has_heard_a_sender_take_it_back_goes_on_asking_while_it_is_said_again() {
        let mut eviction = Eviction::default();
        eviction.on_roll_call(at(0), true, GRTT);
        eviction.on_roll_call(at(2_000), true, GRTT);
        assert!(eviction.asks_nothing(), "the first time");
        eviction.on_roll_call(at(2_500), false, GRTT);
        for ms in (2_600..60_000).step_by(100) {
            eviction.on_roll_call(at(ms), ms % 8_000 != 0, GRTT);
            assert!(!eviction.asks_nothing(), "{ms}");
        }
    }

    #[test]
    fn a_sender_that_asks_for_an_acknowledgement_has_not_gone_on_without_us() {
        let mut eviction = Eviction::default();
        eviction.on_roll_call(at(0), true, GRTT);
        eviction.on_roll_call(at(1_050), true, GRTT);
        assert!(eviction.asks_nothing());
        eviction.on_addressed();
        assert!(!eviction.asks_nothing() && !eviction.on_end());
    }

    #[test]
    fn a_sender_that_leaves_has_meant_it() {
        let mut eviction = Eviction::default();
        assert!(!eviction.on_end());
        eviction.on_roll_call(at(0), true, GRTT);
        assert!(eviction.on_end() && !eviction.on_end(), "a single call was the last");
    }
}
