//! Acknowledgements of everything that do not show that their receiver has heard the transfer.
//!
//! Any host can send one, also in the name of a receiver that is still at work. So the first ones are
//! dropped, and the receiver is asked once more. Who never shows it is no longer waited for.

use std::{collections::BTreeMap, time::Duration};

use fanfare_proto::{NodeId, Time};

/// A receiver is asked again so often: a true answer comes within the first few, where a forger does
/// not answer each question faster.
const ATTEMPTS: u32 = 8;
/// And for so long, so that a burst of forged answers does not settle it: a true answer takes one round
/// trip, which is longer than this only on satellite links, where questions are as far apart.
const PATIENCE: Duration = Duration::from_secs(1);
/// Receivers counted; those beyond are not waited for.
const MAX: usize = 4096;

/// What was dropped, by receiver.
#[derive(Debug, Default)]
pub(super) struct Unproved {
    seen: BTreeMap<NodeId, (Time, u32)>,
}

impl Unproved {
    /// An acknowledgement without a proof. True: ask once more; false: give up waiting.
    pub(super) fn ask_again(&mut self, now: Time, node: NodeId) -> bool {
        if self.seen.len() >= MAX && !self.seen.contains_key(&node) {
            return false;
        }
        let (since, count) = self.seen.entry(node).or_insert((now, 0));
        *count += 1;
        *count <= ATTEMPTS || now.since(*since) < PATIENCE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_never_proves_it_is_asked_some_times_and_for_some_time() {
        let mut unproved = Unproved::default();
        let node = NodeId(7);
        assert!((0..100).all(|_| unproved.ask_again(Time::ZERO, node)), "a burst");
        assert!(!unproved.ask_again(Time::ZERO + PATIENCE, node));
        let mut slow = Unproved::default();
        let at = |n: u32| Time::ZERO + PATIENCE * n;
        assert!((0..ATTEMPTS).all(|n| slow.ask_again(at(n), node)));
        assert!(!slow.ask_again(at(ATTEMPTS), node));
    }
}
