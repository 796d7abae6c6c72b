//! By which way a sender is heard: by the group, or by datagrams to this receiver alone, where
//! multicast does not reach it. Feedback goes back by the same way.

use crate::time::{Duration, Time};

/// The group is believed to be heard for so long after a message came by it: two probes of a slow
/// sender, and so many GRTT.
const GROUP_HEARD: Duration = Duration::from_secs(2);
const GROUP_HEARD_GRTTS: u32 = 4;

/// How one sender is heard.
#[derive(Debug, Default)]
pub(super) struct Way {
    by_group: Option<Time>,
    direct: bool,
}

impl Way {
    /// A message came, by the group or `direct`. True when feedback takes another way from now on. The
    /// group is preferred where both serve: others hear what is said there.
    pub(super) fn on_message(&mut self, now: Time, direct: bool, grtt: Duration) -> bool {
        if !direct {
            self.by_group = Some(now);
        }
        let heard = GROUP_HEARD.max(grtt * GROUP_HEARD_GRTTS);
        let is_direct = direct && self.by_group.is_none_or(|at| now.since(at) > heard);
        let changes = match (self.direct, is_direct) {
            (false, true) => true,
            (true, false) => !direct,
            _ => false,
        };
        self.direct ^= changes;
        changes
    }

    /// It is heard by datagrams to this receiver alone.
    pub(super) fn is_direct(&self) -> bool {
        self.direct
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Time {
        Time::ZERO + Duration::from_secs(seconds)
    }

    #[test]
    fn a_sender_heard_by_unicast_alone_is_answered_so_until_the_group_is_heard() {
        let mut way = Way::default();
        assert!(way.on_message(at(0), true, Duration::ZERO) && way.is_direct());
        assert!(!way.on_message(at(1), true, Duration::ZERO));
        assert!(way.on_message(at(2), false, Duration::ZERO) && !way.is_direct());
        assert!(!way.on_message(at(3), true, Duration::ZERO) && !way.is_direct());
    }

    #[test]
    fn when_the_group_falls_silent_feedback_goes_by_unicast_again() {
        let mut way = Way::default();
        way.on_message(at(0), false, Duration::ZERO);
        assert!(!way.on_message(at(2), true, Duration::ZERO));
        assert!(way.on_message(at(3), true, Duration::ZERO) && way.is_direct());
        let far = Duration::from_secs(1);
        let mut way = Way::default();
        way.on_message(at(0), false, far);
        assert!(!way.on_message(at(4), true, far) && way.on_message(at(5), true, far));
    }
}
