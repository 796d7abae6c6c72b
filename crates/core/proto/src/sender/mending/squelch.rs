//! CMD(SQUELCH): tells receivers what can no longer be repaired (RFC 5740 5.4.3).

use crate::time::{Duration, Time};
use alloc::vec::Vec;
use fanfare_wire::ObjectTransportId;

/// Invalid requests remembered between two messages.
const GONE_MAX: usize = 512;

/// The squelching machine.
#[derive(Debug, Default)]
pub(in crate::sender) struct Squelch {
    gone: Vec<ObjectTransportId>,
    /// Not before then; `None` before the first.
    next: Option<Time>,
}

impl Squelch {
    /// Receivers requested these, which are gone; or they are gone while receivers count on them.
    pub(in crate::sender) fn on_gone(&mut self, ids: &[ObjectTransportId]) {
        for id in ids {
            if self.gone.len() < GONE_MAX && !self.gone.contains(id) {
                self.gone.push(*id);
            }
        }
    }

    /// When a message is due.
    pub(in crate::sender) fn due_at(&self) -> Option<Time> {
        (!self.gone.is_empty()).then_some(self.next.unwrap_or(Time::ZERO))
    }

    /// A message goes out: the ids it answers. The next not within 2 * GRTT.
    pub(in crate::sender) fn on_sent(
        &mut self,
        now: Time,
        grtt: Duration,
    ) -> Vec<ObjectTransportId> {
        self.next = Some(now + grtt * 2);
        core::mem::take(&mut self.gone)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn squelches_are_at_least_two_grtt_apart() {
        let grtt = Duration::from_millis(10);
        let mut squelch = Squelch::default();
        assert_eq!(squelch.due_at(), None);
        squelch.on_gone(&[ObjectTransportId(1), ObjectTransportId(1)]);
        let now = Time::ZERO + grtt;
        assert_eq!(squelch.due_at(), Some(Time::ZERO));
        assert_eq!(squelch.on_sent(now, grtt), [ObjectTransportId(1)]);
        assert_eq!(squelch.due_at(), None);
        squelch.on_gone(&[ObjectTransportId(1)]);
        assert_eq!(squelch.due_at(), Some(now + grtt * 2));
    }
}
