//! An object that the sender has never sent: another host has said something of it in its name.
//!
//! Such an object would be waited for without end. A flush names the last object that was sent, and
//! goes out when there is nothing else to send. So when flushes keep to an earlier object for some
//! time, and the sender sends nothing else meanwhile, what lies behind that object is let go of. It
//! counts as never heard of: if the sender sends it all the same, it begins anew.

use crate::{
    receiver::position::ObjectIndex,
    time::{Duration, Time},
};

/// Flushes must keep to it for so long: a sender that waits for an acknowledgement of an earlier object
/// has sent something of the later one, or repaired something, within this time.
const PATIENCE: Duration = Duration::from_secs(30);
/// And there must be so many of them: on a slow radio they are far apart, and repairs between them are
/// lost. As many as answers of a receiver that has resigned.
const FLUSHES: u32 = 8;

/// What flushes have named last, since when, and how often.
#[derive(Debug, Clone, Copy)]
struct Named {
    last: ObjectIndex,
    since: Time,
    flushes: u32,
}

/// Counts flushes that deny later objects.
#[derive(Debug, Default)]
pub(crate) struct Unsent {
    named: Option<Named>,
}

impl Unsent {
    /// The sender names `last` as the last object, where a later one was heard of. True when the later
    /// one is not its own.
    pub(crate) fn on_flush(&mut self, now: Time, last: ObjectIndex) -> bool {
        let new = Named { last, since: now, flushes: 0 };
        let named = self.named.get_or_insert(new);
        if named.last != last {
            *named = new;
        }
        named.flushes = named.flushes.saturating_add(1);
        let denied = named.flushes >= FLUSHES && now.since(named.since) >= PATIENCE;
        if denied {
            self.named = None;
        }
        denied
    }

    /// The sender sends content, or names the latest object.
    pub(crate) fn contradict(&mut self) {
        self.named = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::at;

    const LAST: ObjectIndex = ObjectIndex(2);

    #[test]
    fn what_flushes_deny_for_half_a_minute_is_let_go_of() {
        let mut unsent = Unsent::default();
        let denied = (0..100).find(|n| unsent.on_flush(at(n * 1000), LAST));
        assert_eq!(denied, Some(30));
        let mut unsent = Unsent::default();
        let denied = (0..100).find(|n| unsent.on_flush(at(n * 60_000), LAST));
        assert_eq!(denied, Some(7), "on a slow radio it takes some of them");
    }

    #[test]
    fn a_sender_that_sends_something_now_and_then_denies_nothing() {
        let mut unsent = Unsent::default();
        for n in 0..10_000 {
            assert!(!unsent.on_flush(at(n * 1000), LAST), "{n}");
            if n % 25 == 0 {
                unsent.contradict();
            }
        }
        let other = |n| if n % 20 == 0 { ObjectIndex(1) } else { LAST };
        let mut unsent = Unsent::default();
        assert!((0..10_000).all(|n| !unsent.on_flush(at(n * 1000), other(n))), "it names another");
    }
}
