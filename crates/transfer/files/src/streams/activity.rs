//! Whether a stream has data to send, without following every pause.

use std::time::Duration;

use fanfare_proto::Time;

/// So long without data, and its share is the others'. Between a request and its repair, and between
/// one object and the next, are some round trips.
const LINGER: Duration = Duration::from_millis(50);

/// Told each turn, says when something changes.
#[derive(Debug, Default)]
pub(super) struct Activity {
    active: bool,
    idle_since: Option<Time>,
}

impl Activity {
    /// Gives what has changed: it is active now, or no more.
    pub(super) fn on_turn(&mut self, now: Time, has_data: bool) -> Option<bool> {
        if has_data {
            self.idle_since = None;
            return (!std::mem::replace(&mut self.active, true)).then_some(true);
        }
        if !self.active || now.since(*self.idle_since.get_or_insert(now)) < LINGER {
            return None;
        }
        *self = Self::default();
        Some(false)
    }

    pub(super) fn is_active(&self) -> bool {
        self.active
    }

    /// When it is no longer active, if no data comes.
    pub(super) fn next_timeout(&self) -> Option<Time> {
        self.idle_since.map(|since| since + LINGER)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Time {
        Time::ZERO + Duration::from_millis(millis)
    }

    #[test]
    fn data_counts_at_once_and_a_pause_only_when_it_lasts() {
        let mut activity = Activity::default();
        assert_eq!((activity.on_turn(at(0), false), activity.next_timeout()), (None, None));
        assert_eq!(activity.on_turn(at(1), true), Some(true));
        assert_eq!(activity.on_turn(at(2), true), None);
        assert_eq!(activity.on_turn(at(3), false), None);
        assert_eq!(activity.next_timeout(), Some(at(53)));
        assert_eq!(activity.on_turn(at(40), true), None);
        assert_eq!(
            (activity.on_turn(at(41), false), activity.next_timeout()),
            (None, Some(at(91)))
        );
        assert!(activity.is_active());
        assert_eq!(activity.on_turn(at(91), false), Some(false));
        assert_eq!((activity.is_active(), activity.next_timeout()), (false, None));
    }
}
