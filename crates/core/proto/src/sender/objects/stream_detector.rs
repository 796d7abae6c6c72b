//! Detects whether objects follow each other in a stream. If so, an empty queue is not the end of
//! the transfer.
//!
//! A sender that publishes message after message has only a few of them waiting. If a repair is
//! lost, it can be requested again while the next message is sent, and no time is lost. Extra
//! parity would only take rate from the messages that follow.

use crate::time::{Duration, Time};

/// NACK cycles in which another must follow. Two: one of them may go by with repairs alone.
const CYCLES: u32 = 2;

/// When objects were enqueued behind others.
#[derive(Debug, Default)]
pub(in crate::sender) struct StreamDetector {
    /// When a first pass ended last.
    passed: Option<Time>,
    /// When an object was enqueued last, not long after one had been sent.
    followed: Option<Time>,
}

impl StreamDetector {
    /// The first pass of an object has ended.
    pub(in crate::sender) fn on_passed(&mut self, now: Time) {
        self.passed = Some(now);
    }

    /// An object was enqueued. Those that come together before any has been sent are one transfer, not
    /// a sequel.
    pub(in crate::sender) fn on_enqueued(&mut self, now: Time, cycle: Duration) {
        if self.passed.is_some_and(|at| now.since(at) < cycle * CYCLES) {
            self.followed = Some(now);
        }
    }

    /// Whether another object is to be expected.
    pub(in crate::sender) fn is_ongoing(&self, now: Time, cycle: Duration) -> bool {
        self.followed.is_some_and(|at| now.since(at) < cycle * CYCLES)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::at;

    const CYCLE: Duration = Duration::from_millis(100);

    #[test]
    fn objects_enqueued_together_before_any_is_sent_are_no_stream() {
        let mut stream = StreamDetector::default();
        (0..3).for_each(|n| stream.on_enqueued(at(n), CYCLE));
        stream.on_passed(at(50));
        assert!(!stream.is_ongoing(at(50), CYCLE));
    }

    #[test]
    fn an_object_enqueued_soon_after_another_was_sent_makes_a_stream_for_two_cycles() {
        let mut stream = StreamDetector::default();
        stream.on_passed(at(50));
        stream.on_enqueued(at(60), CYCLE);
        assert!(stream.is_ongoing(at(259), CYCLE) && !stream.is_ongoing(at(260), CYCLE));
        stream.on_passed(at(300));
        stream.on_enqueued(at(600), CYCLE);
        assert!(!stream.is_ongoing(at(600), CYCLE), "it was long after");
    }
}
