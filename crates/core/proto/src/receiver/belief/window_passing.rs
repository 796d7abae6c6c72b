//! Whether the sender has gone so far beyond objects under way that they are over.

use crate::receiver::position::ObjectIndex;

/// Objects of so many messages are remembered: the next one is near some of them.
const RECENT: usize = 8;
/// Number of messages that it must be near, of those. One that was changed on the way leads to no others.
const NEAR: usize = 4;
/// Number of messages, where it is not near, that must say that the sender has gone beyond what would be dropped, with
/// none of that or of earlier objects in between. A message that was changed on the way is not followed by others.
const MESSAGES: u8 = 4;

/// Decides whether a message may end objects by saying that the sender has gone far beyond them.
#[derive(Debug, Default)]
pub(in crate::receiver) struct WindowPassing {
    /// Objects of the messages that were believed last.
    recent: [u64; RECENT],
    next: usize,
    /// The first object that would be kept, by the last message that was not believed.
    floor: u64,
    count: u8,
}

impl WindowPassing {
    /// `newest` has been heard of.
    pub(in crate::receiver) fn at(newest: ObjectIndex) -> Self {
        Self { recent: [newest.0; RECENT], ..Self::default() }
    }

    /// A message was believed to be of `object`.
    pub(in crate::receiver) fn on_object(&mut self, object: ObjectIndex) {
        self.recent[self.next] = object.0;
        self.next = (self.next + 1) % RECENT;
        if object.0 < self.floor {
            (self.floor, self.count) = (0, 0);
        }
    }

    /// A message of `object` says that all before `floor` is over. Whether that is to be believed.
    pub(in crate::receiver) fn believes(
        &mut self,
        object: ObjectIndex,
        floor: ObjectIndex,
        steps: u64,
    ) -> bool {
        // A sender of objects of one message has come on by one with each of them.
        let steps = steps.saturating_add(NEAR as u64 - 1);
        let is_near = |recent: &&u64| object.0 <= recent.saturating_add(steps);
        if self.recent.iter().filter(is_near).count() >= NEAR {
            return true;
        }
        self.floor = floor.0;
        self.count = self.count.saturating_add(1);
        self.count >= MESSAGES
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    #[test]
    fn what_is_near_a_recent_message_is_believed_and_what_is_not_takes_some_messages() {
        let mut passing = WindowPassing::at(ObjectIndex(100));
        assert!(passing.believes(ObjectIndex(135), ObjectIndex(50), 32));
        for _ in 0..10 {
            let far: Vec<bool> =
                (0..3).map(|_| passing.believes(ObjectIndex(136), ObjectIndex(50), 32)).collect();
            assert_eq!(far, [false; 3]);
            passing.on_object(ObjectIndex(49));
        }
        let far = (0..5).map(|_| passing.believes(ObjectIndex(140), ObjectIndex(50), 32));
        assert_eq!(far.collect::<Vec<_>>(), [false, false, false, true, true]);
    }

    #[test]
    fn some_messages_that_were_changed_lead_no_further_beyond_what_is_under_way() {
        let mut passing = WindowPassing::at(ObjectIndex(1));
        for n in 0..1000 {
            // each of them keeps all that is here, and so is taken
            (0..3).for_each(|_| passing.on_object(ObjectIndex(240 + n % 16)));
            assert!(!passing.believes(ObjectIndex(257), ObjectIndex(2), 32), "{n}");
            (0..5).for_each(|_| passing.on_object(ObjectIndex(1)));
        }
    }

    #[test]
    fn a_sender_of_objects_of_one_message_each_is_followed_however_small_the_window_is() {
        let mut passing = WindowPassing::at(ObjectIndex(1));
        for n in 2..1000 {
            assert!(passing.believes(ObjectIndex(n), ObjectIndex(n.saturating_sub(3)), 4), "{n}");
            passing.on_object(ObjectIndex(n));
        }
    }
}
