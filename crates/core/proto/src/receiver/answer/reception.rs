//! Counts a sender's messages, and the messages that this machine dropped, and reports both to
//! senders that request them.

use crate::{
    time::{Duration, Time},
    timer::Timer,
};

/// Shortest interval of counts: a share over less says little.
const INTERVAL_MIN: Duration = Duration::from_secs(1);

/// Fewest messages between two counts: the sender makes nothing of a share of fewer, and on a slow
/// line counts would be as many as requests.
const ARRIVED_MIN: u32 = 32;
/// An overrun is told sooner: meanwhile the next comes.
const OVERRUN_INTERVAL: Duration = Duration::from_millis(50);

/// Counts the messages of one sender.
#[derive(Debug, Default)]
pub(crate) struct Reception {
    arrived: u32,
    /// What was told last.
    told: u32,
    /// Of all senders together: the system does not tell whose they were. Since this one was heard.
    overruns: u32,
    /// What the system had dropped before.
    before: u32,
    /// The sender calls the roll: it is one of ours.
    wanted: bool,
    due: Option<Time>,
    sent: Option<Time>,
}

impl Reception {
    /// Of a sender that is heard after the system has dropped so many.
    pub(crate) fn new(before: u32) -> Self {
        Self { before, ..Self::default() }
    }

    pub(crate) fn on_messages(&mut self, count: u16) {
        self.arrived = self.arrived.wrapping_add(u32::from(count));
    }

    pub(crate) fn on_roll_call(&mut self) {
        self.wanted = true;
    }

    /// The system has dropped so many in all.
    pub(crate) fn on_overruns(&mut self, now: Time, overruns: u32) {
        // It wraps.
        let overruns = overruns.wrapping_sub(self.before);
        if self.overruns == overruns {
            return;
        }
        self.overruns = overruns;
        if self.wanted {
            let next = self.sent.map_or(now, |sent| now.max(sent + OVERRUN_INTERVAL));
            self.due = Some(self.due.map_or(next, |due| due.min(next)));
        }
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
    pub(crate) fn poll(&mut self, now: Time) -> Option<[u8; 8]> {
        if self.due? > now {
            return None;
        }
        (self.due, self.sent, self.told) = (None, Some(now), self.arrived);
        let mut content = [0; 8];
        content[..4].copy_from_slice(&self.arrived.to_be_bytes());
        content[4..].copy_from_slice(&self.overruns.to_be_bytes());
        Some(content)
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
        let counts = |reception: &mut Reception, messages: u16| -> alloc::vec::Vec<u64> {
            let told = (0..2500).step_by(100).filter(|millis| {
                let now = Time::ZERO + Duration::from_millis(*millis);
                reception.on_messages(messages);
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

    #[test]
    fn overruns_before_a_sender_was_heard_are_not_reported_to_it() {
        let mut reception = Reception::new(u32::MAX);
        reception.on_roll_call();
        reception.on_overruns(Time::ZERO, u32::MAX);
        assert_eq!(reception.poll(Time::ZERO), None);
        reception.on_overruns(Time::ZERO, 1);
        assert_eq!(reception.poll(Time::ZERO).map(|content| content[7]), Some(2));
    }

    #[test]
    fn an_overrun_is_reported_at_once_and_at_most_twenty_times_a_second() {
        let mut reception = Reception::default();
        reception.on_roll_call();
        let told = |reception: &mut Reception| -> alloc::vec::Vec<(u64, u8)> {
            let told = (0..100_u64).filter_map(|millis| {
                let now = Time::ZERO + Duration::from_millis(millis);
                reception.on_overruns(now, 1 + (millis / 10) as u32);
                reception.poll(now).map(|content| (millis, content[7]))
            });
            told.collect()
        };
        assert_eq!(told(&mut reception), [(0, 1), (50, 6)]);
        reception.on_overruns(Time::ZERO + Duration::from_secs(1), 10);
        assert_eq!(reception.next_timeout().map(|(at, _)| at.as_nanos() / 1_000_000), Some(100));
    }
}
