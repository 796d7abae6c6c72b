//! Counting a sender's messages, for a sender of ours that wants to know how much arrives.

use crate::{
    time::{Duration, Time},
    timer::Timer,
};

/// Shortest interval of counts: a share over less says little.
const INTERVAL_MIN: Duration = Duration::from_secs(1);

/// Fewest messages between two counts: the sender makes nothing of a share of fewer, and on a slow
/// line counts would be as many as requests.
const ARRIVED_MIN: u32 = 32;

/// Counts the messages of one sender.
#[derive(Debug, Default)]
pub(crate) struct Reception {
    arrived: u32,
    /// What was told last.
    told: u32,
    /// The sender calls the roll: it is one of ours.
    wanted: bool,
    due: Option<Time>,
    sent: Option<Time>,
}

impl Reception {
    pub(crate) fn on_message(&mut self) {
        self.arrived = self.arrived.wrapping_add(1);
    }

    pub(crate) fn on_roll_call(&mut self) {
        self.wanted = true;
    }

    /// Something is missing here, and the sender has been told: now it wants to know how much.
    pub(crate) fn on_nack_sent(&mut self, now: Time) {
        let few = self.arrived.wrapping_sub(self.told) < ARRIVED_MIN;
        let soon = self.sent.is_some_and(|sent| few || now.since(sent) < INTERVAL_MIN);
        if self.wanted && !soon {
            self.due = Some(now);
        }
    }

    /// The count to send now.
    pub(crate) fn poll(&mut self, now: Time) -> Option<[u8; 4]> {
        if self.due? > now {
            return None;
        }
        (self.due, self.sent, self.told) = (None, Some(now), self.arrived);
        Some(self.arrived.to_be_bytes())
    }

    pub(crate) fn next_timeout(&self) -> Option<(Time, Timer)> {
        self.due.map(|at| (at, Timer::CcFeedback))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_follows_a_nack_once_a_second_and_only_to_a_sender_of_ours() {
        let mut reception = Reception::default();
        let counts = |reception: &mut Reception, messages: u32| -> alloc::vec::Vec<u64> {
            let told = (0..2500).step_by(100).filter(|millis| {
                let now = Time::ZERO + Duration::from_millis(*millis);
                (0..messages).for_each(|_| reception.on_message());
                reception.on_nack_sent(now);
                reception.poll(now).is_some()
            });
            told.collect()
        };
        assert!(counts(&mut reception, 4).is_empty());
        reception.on_roll_call();
        assert_eq!(counts(&mut reception, 4), [0, 1000, 2000]);
        let mut slow = Reception::default();
        slow.on_roll_call();
        assert_eq!(counts(&mut slow, 2), [0, 1600], "of few messages a share says nothing");
        assert_eq!(reception.next_timeout(), None);
    }
}
