//! What has arrived: once each, in order where that was asked for, and nothing that was replaced.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::{Class, Message, counts::CountTable, head::Head};

/// Numbers kept beyond the last one without a gap. Messages that were given up leave gaps.
const BEYOND_MAX: usize = 1 << 16;
/// Sequenced messages that wait for an earlier one, and their bytes.
const HELD_MAX: usize = 4096;
const HELD_BYTES_MAX: usize = 128 << 20;
/// Tags whose last replacement is remembered.
const TAGS_MAX: usize = 4096;

/// What is done with a message that came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Taken {
    /// It is, or was before, given to the application, or never will be: acknowledge it.
    Done,
    /// There is no room: do not acknowledge it.
    Full,
}

/// Numbers that were seen.
#[derive(Debug, Default)]
struct Seen {
    below: u64,
    beyond: BTreeSet<u64>,
}

impl Seen {
    fn has(&self, number: u64) -> bool {
        number <= self.below || self.beyond.contains(&number)
    }

    fn insert(&mut self, number: u64) -> bool {
        if self.has(number) {
            return false;
        }
        self.beyond.insert(number);
        while self.beyond.len() > BEYOND_MAX {
            self.below = self.beyond.pop_first().unwrap_or(self.below);
        }
        while self.beyond.first() == Some(&(self.below + 1)) {
            self.beyond.pop_first();
            self.below += 1;
        }
        true
    }
}

/// All that is known of what the other end has sent.
#[derive(Debug, Default)]
pub struct Inbox {
    seen: Seen,
    /// The last one of the sequenced reliable ones that was given on.
    sequence: u64,
    held: BTreeMap<u64, Option<Message>>,
    held_bytes: usize,
    /// The number of the last unreliable sequenced one.
    last: u64,
    replaced: BTreeMap<u64, u64>,
    ready: VecDeque<Message>,
    counts: CountTable,
}

impl Inbox {
    /// A message has come, whole.
    pub fn on_message(&mut self, head: Head, bytes: Vec<u8>) -> Taken {
        if self.seen.has(head.number) {
            self.count(head, |c| c.duplicate += 1);
            return Taken::Done;
        }
        let waits = head.class == Class::ReliableSequenced && head.sequence != self.sequence + 1;
        let full = self.held.len() >= HELD_MAX || self.held_bytes + bytes.len() > HELD_BYTES_MAX;
        if waits && full {
            return Taken::Full;
        }
        self.seen.insert(head.number);
        if head.replace && (self.replaced.len() < TAGS_MAX || self.replaced.contains_key(&head.tag))
        {
            let last = self.replaced.entry(head.tag).or_default();
            *last = head.number.max(*last);
        }
        let Head { class, tag, number, .. } = head;
        let message = Message { number, class, tag, bytes };
        match class {
            Class::ReliableSequenced => {
                let message = (!head.given_up).then_some(message);
                self.held_bytes += message.as_ref().map_or(0, |message| message.bytes.len());
                self.held.insert(head.sequence, message);
                self.give_in_order();
            }
            Class::UnreliableSequenced if number < self.last => self.count(head, |c| c.late += 1),
            Class::UnreliableSequenced => {
                self.last = number;
                self.give(message);
            }
            _ => self.give(message),
        }
        Taken::Done
    }

    /// Parts of an unreliable one did not come in time.
    pub fn on_incomplete(&mut self, class: Class, tag: u64) {
        self.counts.count(class, tag, |c| c.incomplete += 1);
    }

    /// Whether this one was seen before.
    #[must_use]
    pub fn has(&self, number: u64) -> bool {
        self.seen.has(number)
    }

    /// The next one for the application.
    pub fn poll(&mut self) -> Option<Message> {
        self.ready.pop_front()
    }

    /// How many the application has not fetched.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.ready.len()
    }

    /// Statistics.
    #[must_use]
    pub const fn counts(&self) -> &CountTable {
        &self.counts
    }

    /// The other end has been started anew, and counts from one again.
    pub fn on_restart(&mut self) {
        let (ready, counts) = (std::mem::take(&mut self.ready), std::mem::take(&mut self.counts));
        *self = Self { ready, counts, ..Self::default() };
    }

    fn give_in_order(&mut self) {
        while let Some(message) = self.held.remove(&(self.sequence + 1)) {
            self.sequence += 1;
            if let Some(message) = message {
                self.held_bytes -= message.bytes.len();
                self.give(message);
            }
        }
    }

    fn give(&mut self, message: Message) {
        let (class, tag) = (message.class, message.tag);
        if self.replaced.get(&tag).is_some_and(|last| message.number < *last) {
            return self.counts.count(class, tag, |c| c.late += 1);
        }
        let bytes = message.bytes.len() as u64;
        self.counts.count(class, tag, |c| {
            c.received += 1;
            c.bytes_received += bytes;
        });
        self.ready.push_back(message);
    }

    fn count(&mut self, head: Head, count: impl Fn(&mut super::counts::Counts)) {
        self.counts.count(head.class, head.tag, count);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(class: Class, number: u64, sequence: u64) -> Head {
        Head { class, replace: false, given_up: false, number, sequence, tag: 0 }
    }

    fn numbers(inbox: &mut Inbox) -> Vec<u64> {
        std::iter::from_fn(|| inbox.poll()).map(|message| message.number).collect()
    }

    #[test]
    fn sequenced_messages_wait_for_earlier_ones_but_not_for_those_given_up() {
        let (mut inbox, class) = (Inbox::default(), Class::ReliableSequenced);
        inbox.on_message(head(class, 3, 3), vec![]);
        inbox.on_message(head(Class::ReliableUnsequenced, 9, 0), vec![]);
        assert_eq!(numbers(&mut inbox), [9]);
        inbox.on_message(Head { given_up: true, ..head(class, 2, 2) }, vec![]);
        assert_eq!(numbers(&mut inbox), []);
        inbox.on_message(head(class, 1, 1), vec![]);
        assert_eq!(numbers(&mut inbox), [1, 3]);
    }

    #[test]
    fn a_message_that_comes_twice_is_given_once_and_acknowledged_twice() {
        let mut inbox = Inbox::default();
        let one = head(Class::ReliableUnsequenced, 5, 0);
        assert_eq!(inbox.on_message(one, vec![1]), Taken::Done);
        assert_eq!(inbox.on_message(one, vec![1]), Taken::Done);
        assert_eq!(numbers(&mut inbox), [5]);
        assert_eq!(inbox.counts().class(Class::ReliableUnsequenced).duplicate, 1);
    }

    #[test]
    fn unreliable_sequenced_messages_never_come_after_a_later_one() {
        let mut inbox = Inbox::default();
        for number in [2, 1, 4, 3] {
            inbox.on_message(head(Class::UnreliableSequenced, number, 0), vec![]);
        }
        assert_eq!(numbers(&mut inbox), [2, 4]);
        assert_eq!(inbox.counts().class(Class::UnreliableSequenced).late, 2);
    }

    #[test]
    fn a_message_that_was_replaced_is_dropped_even_when_it_comes_late() {
        let mut inbox = Inbox::default();
        let of_tag = |number| Head { tag: 7, ..head(Class::ReliableUnsequenced, number, 0) };
        inbox.on_message(Head { replace: true, ..of_tag(2) }, vec![]);
        assert_eq!(inbox.on_message(of_tag(1), vec![]), Taken::Done);
        inbox.on_message(of_tag(3), vec![]);
        assert_eq!(numbers(&mut inbox), [2, 3]);
    }

    #[test]
    fn memory_is_bounded_whatever_the_other_end_sends() {
        let mut inbox = Inbox::default();
        for n in 0..HELD_MAX as u64 {
            assert_eq!(
                inbox.on_message(head(Class::ReliableSequenced, n + 2, n + 2), vec![]),
                Taken::Done
            );
        }
        let more = HELD_MAX as u64 + 2;
        assert_eq!(
            inbox.on_message(head(Class::ReliableSequenced, more, more), vec![]),
            Taken::Full
        );
        for n in 0..3 * BEYOND_MAX as u64 {
            inbox.on_message(head(Class::ReliableUnsequenced, 1_000_000 + 2 * n, 0), vec![]);
            inbox.poll();
        }
        assert!(inbox.seen.beyond.len() <= BEYOND_MAX);
    }
}
