//! The first messages to a receiver that is near: they may go at once, before anything is known of the
//! path but its round trip. As long as nothing is heard of them the link may be a slow one.

use crate::time::{Duration, Time};

/// So many messages: twice RFC 6928's initial window, as the first report comes when half of them
/// have gone.
const MESSAGES: u32 = 20;
/// A report of fewer of them proves nothing: shapers let a few messages pass at once.
const ENOUGH: u32 = 10;
/// A receiver that is near answers sooner, though its process may wait for a processor.
const ANSWER: Duration = Duration::from_millis(100);

/// The flight, from its first message on.
#[derive(Debug, Default)]
pub(super) struct Flight {
    sent: u32,
    begun: Option<Time>,
    /// When enough of them had gone.
    enough: Option<Time>,
    /// When the last of them went.
    gone: Option<Time>,
    /// A report tells what became of enough of them.
    answered: bool,
}

impl Flight {
    /// A full message was sent.
    pub(super) fn on_sent(&mut self, now: Time) {
        self.begun.get_or_insert(now);
        self.sent = self.sent.saturating_add(1);
        if self.sent == ENOUGH {
            self.enough = Some(now);
        }
        if self.sent >= MESSAGES {
            self.gone.get_or_insert(now);
        }
    }

    /// A report is about what was sent until `until`.
    pub(super) fn on_report(&mut self, until: Time) {
        self.answered |= self.enough.is_some_and(|enough| until >= enough);
    }

    /// Whether a report tells what became of enough of them.
    pub(super) fn is_answered(&self) -> bool {
        self.answered
    }

    /// For how long nothing is heard, though all have gone, or as many as there are to send.
    pub(super) fn unanswered(&self, now: Time) -> Option<Duration> {
        let begun = self.begun.filter(|_| !self.answered)?;
        let since = now.since(self.gone.unwrap_or(begun));
        (self.gone.is_some() || since > ANSWER).then_some(since)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::at;

    #[test]
    fn a_flight_that_has_gone_waits_for_a_report_about_itself() {
        let mut flight = Flight::default();
        (0..=MESSAGES).for_each(|n| flight.on_sent(at(100 + u64::from(n))));
        flight.on_report(at(108));
        assert_eq!(flight.unanswered(at(219)), Some(Duration::from_millis(100)));
        flight.on_report(at(110));
        assert_eq!(flight.unanswered(at(219)), None);
    }

    #[test]
    fn fewer_messages_than_a_flight_wait_for_a_report_too() {
        let mut flight = Flight::default();
        assert_eq!(flight.unanswered(at(900)), None);
        flight.on_sent(at(1000));
        assert_eq!(flight.unanswered(at(1100)), None);
        assert_eq!(flight.unanswered(at(1110)), Some(Duration::from_millis(110)));
    }
}
