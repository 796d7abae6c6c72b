//! NORM-CCL: a single loss within a round trip counts as radio loss, two count as congestion (the
//! paper of 2014; NRL's `tolerateLoss`).
//!
//! It is for paths without ECN. A queue that overflows drops several messages of one sender, a bad
//! radio link usually drops one. The sender is that of NORM-CC. The receiver has the rule below.

use fanfare_wire::units::time::{Duration, Time};

/// Waits for the second loss.
#[derive(Debug, Default)]
pub(crate) struct Confirmation {
    /// An isolated loss was met then.
    suspected: Option<Time>,
}

impl Confirmation {
    /// Whether a message that came after `lost` others, `marked` or not, tells of congestion.
    pub(crate) fn is_event(&mut self, now: Time, lost: u64, marked: bool, rtt: Duration) -> bool {
        if lost == 0 && !marked {
            return false;
        }
        let confirmed = self.suspected.is_some_and(|since| now.since(since) < rtt);
        if lost == 1 && !marked && !confirmed {
            self.suspected = Some(now);
            return false;
        }
        self.suspected = None;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fanfare_wire::units::time::at;

    const RTT: Duration = Duration::from_millis(100);

    #[test]
    fn a_single_loss_is_no_congestion_and_a_second_within_a_round_trip_is() {
        let mut confirmation = Confirmation::default();
        assert!(!confirmation.is_event(at(0), 1, false, RTT));
        assert!(!confirmation.is_event(at(200), 1, false, RTT));
        assert!(confirmation.is_event(at(250), 1, false, RTT));
        assert!(!confirmation.is_event(at(260), 1, false, RTT), "the next one begins anew");
    }

    #[test]
    fn a_burst_and_a_mark_are_congestion_at_once() {
        let mut confirmation = Confirmation::default();
        assert!(confirmation.is_event(at(0), 2, false, RTT));
        assert!(confirmation.is_event(at(10), 0, true, RTT));
        assert!(!confirmation.is_event(at(20), 0, false, RTT));
    }
}
