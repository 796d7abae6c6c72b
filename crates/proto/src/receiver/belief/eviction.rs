//! The sender says in its roll calls that it goes on without this receiver.
//!
//! Anybody can say so in its name. So this receiver only falls silent at first, which the next roll
//! call without its name takes back. It gives up when it was said for long and never taken back, or
//! when the sender leaves.

use crate::time::{Duration, Time};

/// It gives up after so long. A sender calls the roll every two seconds, and every eight when all
/// are known (`RARER` of its roll call): one true call lies in between.
const GIVES_UP: Duration = Duration::from_secs(10);

/// What was said so far.
#[derive(Debug, Default)]
pub(crate) struct Eviction {
    since: Option<Time>,
    silent: bool,
    told: bool,
}

impl Eviction {
    /// A roll call. True when it is to be told to the driver now.
    pub(crate) fn on_roll_call(&mut self, now: Time, said: bool, grtt: Duration) -> bool {
        if !said {
            *self = Self::default();
            return false;
        }
        let since = *self.since.get_or_insert(now);
        self.silent |= now.since(since) >= grtt && now > since;
        now.since(since) >= GIVES_UP && !core::mem::replace(&mut self.told, true)
    }

    /// The sender asks this receiver to acknowledge: it has not gone on without it. Who was given up is not
    /// asked any more.
    pub(crate) fn on_asked(&mut self) {
        *self = Self::default();
    }

    /// The sender has left. True when it is to be told to the driver now.
    pub(crate) fn on_end(&mut self) -> bool {
        self.since.is_some() && !core::mem::replace(&mut self.told, true)
    }

    /// Whether asking would only silence others.
    pub(crate) fn is_silent(&self) -> bool {
        self.silent
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::at;

    const GRTT: Duration = Duration::from_millis(10);

    #[test]
    fn a_receiver_falls_silent_at_the_second_call_and_gives_up_after_ten_seconds() {
        let mut eviction = Eviction::default();
        assert!(!eviction.on_roll_call(at(0), true, GRTT) && !eviction.is_silent());
        assert!(!eviction.on_roll_call(at(50), true, GRTT) && eviction.is_silent());
        assert!(!eviction.on_roll_call(at(9_999), true, GRTT));
        assert!(eviction.on_roll_call(at(10_000), true, GRTT));
        assert!(!eviction.on_roll_call(at(10_500), true, GRTT), "once");
    }

    #[test]
    fn a_call_that_does_not_name_it_takes_everything_back() {
        let mut eviction = Eviction::default();
        for ms in (0..60_000).step_by(100) {
            let forged = ms % 8_000 != 7_900;
            assert!(!eviction.on_roll_call(at(ms), forged, GRTT), "{ms}");
        }
        assert!(!eviction.on_roll_call(at(60_000), false, GRTT) && !eviction.is_silent());
    }

    #[test]
    fn a_sender_that_asks_for_an_acknowledgement_has_not_gone_on_without_us() {
        let mut eviction = Eviction::default();
        eviction.on_roll_call(at(0), true, GRTT);
        eviction.on_roll_call(at(50), true, GRTT);
        assert!(eviction.is_silent());
        eviction.on_asked();
        assert!(!eviction.is_silent() && !eviction.on_end());
    }

    #[test]
    fn a_sender_that_leaves_has_meant_it() {
        let mut eviction = Eviction::default();
        assert!(!eviction.on_end());
        eviction.on_roll_call(at(0), true, GRTT);
        assert!(eviction.on_end() && !eviction.on_end(), "a single call was the last");
    }
}
