//! Receivers that say again and again that something could not be had, or that they have not begun, and
//! do nothing more.
//!
//! Such a receiver answers each call, so that it is not given up, and never acknowledges. Mostly what it
//! lacks and what it holds are all there is, which settles it. It is not so where it has begun late,
//! or was told in the sender's name that objects are gone: it counts fewer than there are. And where
//! its policy takes nothing of this sender, it says nothing of that.

use std::{collections::BTreeMap, time::Duration};

use crate::content::receipt::{State, Status};
use fanfare_proto::{NodeId, Time};

/// It has said the same for so long, with everything sent: an answer to each of fifteen roll calls. What
/// it asks for again it calls receiving.
const PATIENCE: Duration = Duration::from_secs(30);
/// The same of who has not begun: on a slow line repairs for others may come first.
const PATIENCE_READY: Duration = Duration::from_secs(60);
/// And so often: on a slow radio calls are far apart, and answers may be lost or old.
const TIMES: u32 = 8;

/// What one said last, and since when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Said {
    state: State,
    held: u64,
    failures: usize,
    received: Option<u64>,
}

/// The same, said again and again.
#[derive(Debug, Clone, Copy)]
struct Same {
    said: Said,
    since: Time,
    times: u32,
}

/// Those that have failed.
#[derive(Debug, Default)]
pub(super) struct Resigned {
    failed: BTreeMap<NodeId, Same>,
}

impl Resigned {
    /// A status, with everything sent once. True when nothing more is to be waited for.
    pub(super) fn on_status(&mut self, now: Time, node: NodeId, status: &Status) -> bool {
        let patience = match status.state {
            State::Failed => PATIENCE,
            State::Ready => PATIENCE_READY,
            State::Receiving | State::Verifying | State::Done | State::Leaving => {
                self.failed.remove(&node);
                return false;
            }
        };
        let (state, held, failures) = (status.state, status.held, status.failures.len());
        let said = Said { state, held, failures, received: status.received };
        let new = Same { said, since: now, times: 0 };
        let same = self.failed.entry(node).or_insert(new);
        if same.said != said {
            *same = new;
        }
        same.times += 1;
        same.times >= TIMES && now.since(same.since) >= patience
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NODE: NodeId = NodeId(7);

    fn at(seconds: u64) -> Time {
        Time::ZERO + Duration::from_secs(seconds)
    }

    fn status(state: State, held: u64) -> Status {
        let mut status = Status::ready("a", 0);
        (status.state, status.held) = (state, held);
        status
    }

    #[test]
    fn who_says_for_half_a_minute_that_something_cannot_be_had_is_not_waited_for() {
        let mut resigned = Resigned::default();
        let first = (0..100).find(|n| resigned.on_status(at(*n), NODE, &status(State::Failed, 1)));
        assert_eq!(first, Some(30));
        let first = (0..100).find(|n| resigned.on_status(at(*n), NODE, &status(State::Ready, 0)));
        assert_eq!(first, Some(60), "who has not begun");
    }

    #[test]
    fn who_still_receives_or_comes_to_hold_more_is_waited_for() {
        let mut resigned = Resigned::default();
        for n in 0..100 {
            assert!(!resigned.on_status(at(n), NODE, &status(State::Failed, n / 20)));
        }
        let mut resigned = Resigned::default();
        for n in 0..100 {
            let state = if n % 20 == 0 { State::Receiving } else { State::Failed };
            assert!(!resigned.on_status(at(n), NODE, &status(state, 1)));
        }
    }

    #[test]
    fn where_calls_are_far_apart_it_takes_some_answers_and_not_only_time() {
        let mut resigned = Resigned::default();
        let said = |n: &u64| resigned.on_status(at(n * 25), NODE, &status(State::Ready, 0));
        assert_eq!((0..100).find(said), Some(7));
    }
}
