//! CMD(EOT): good-bye, a few times (RFC 5740 4.2.3.2).

use crate::time::{Duration, Time};

/// Repetitions: nobody confirms it, and a receiver believes it only when it is heard twice, a GRTT
/// apart.
const COUNT: u32 = 5;

/// The leaving machine.
#[derive(Debug, Default)]
pub(super) struct Eot {
    asked: bool,
    sent: u32,
    next: Time,
}

impl Eot {
    /// The driver wants to leave.
    pub(super) fn ask(&mut self) {
        self.asked = true;
    }

    pub(super) fn is_asked(&self) -> bool {
        self.asked
    }

    /// The first has been sent: nothing else is from now on.
    pub(super) fn has_begun(&self) -> bool {
        self.sent > 0
    }

    /// Not asked for, or all sent.
    pub(super) fn is_done(&self) -> bool {
        !self.asked || self.sent >= COUNT
    }

    /// When the next is due, once all else is done.
    pub(super) fn due_at(&self) -> Option<Time> {
        (!self.is_done()).then_some(self.next)
    }

    pub(super) fn on_sent(&mut self, now: Time, grtt: Duration) {
        self.sent += 1;
        // A quarter more than a GRTT: with no slack, jitter brings two of them too close together.
        self.next = now + grtt + grtt / 4;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn good_bye_is_said_five_times_more_than_a_grtt_apart() {
        let grtt = Duration::from_millis(10);
        let mut eot = Eot::default();
        assert!(eot.due_at().is_none() && eot.is_done());
        eot.ask();
        let mut times = alloc::vec::Vec::new();
        while let Some(at) = eot.due_at() {
            eot.on_sent(at, grtt);
            times.push(at);
        }
        assert_eq!(times.len(), 5);
        assert!(times.windows(2).all(|pair| pair[1].since(pair[0]) > grtt));
        assert!(eot.has_begun() && eot.is_done());
    }
}
