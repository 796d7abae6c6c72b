//! What is to be sent, in which order, and until when. It knows nothing of connections.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use fanfare_proto::Time;

use super::{
    Class, Options, SIZE_MAX, SendError,
    counts::CountTable,
    head::{Head, PARTS_MAX},
};

/// Messages that may be on their way at once (QUIC allows as many streams).
pub const OPEN_MAX: usize = 4096;
/// Bytes and messages that may wait.
const BYTES_MAX: usize = 64 << 20;
const WAITING_MAX: usize = 1 << 16;
/// Bytes of a part of an unreliable message: what the least path MTU of QUIC holds, with its head.
pub const PART_SIZE: usize = 1100;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Waiting,
    Open,
    /// It went before the other end had accepted this one, and is done with when it has.
    Early,
}

#[derive(Debug)]
struct Entry {
    head: Head,
    options: Options,
    expires: Option<Time>,
    bytes: Arc<[u8]>,
    state: State,
    was_sent: bool,
    /// It may still go with a first packet.
    early: bool,
}

/// A message that may go now.
#[derive(Debug, Clone)]
pub struct Job {
    /// What goes ahead.
    pub head: Head,
    /// Its priority.
    pub priority: u8,
    /// What is sent.
    pub bytes: Arc<[u8]>,
}

/// All messages that are not done with.
#[derive(Debug, Default)]
pub struct Outbox {
    entries: BTreeMap<u64, Entry>,
    /// Waiting ones, the first to go first: those of high priority, then in the order of their numbers.
    waiting: BTreeSet<(u8, u64)>,
    expiring: BTreeSet<(Time, u64)>,
    /// Sequenced ones that were given up: the other end must not wait for them.
    given_up: Vec<Head>,
    bytes: usize,
    open: usize,
    /// Which connection they go over.
    turn: u64,
    /// The other end has not said yet that it accepts this one.
    unanswered: bool,
    numbers: u64,
    /// Those up to this number were for another instance of the other end.
    over: u64,
    sequence: u64,
    counts: CountTable,
}

impl Outbox {
    /// Takes a message; its number.
    ///
    /// # Errors
    /// When it is too long, or too much waits.
    pub fn push(
        &mut self,
        now: Time,
        class: Class,
        bytes: &[u8],
        options: Options,
    ) -> Result<u64, SendError> {
        let max = if class.is_reliable() { SIZE_MAX } else { PARTS_MAX * PART_SIZE };
        if bytes.len() > max {
            return Err(SendError::TooLong(max));
        }
        if options.replace {
            self.cancel(options.tag);
        }
        if self.bytes + bytes.len() > BYTES_MAX || self.entries.len() >= WAITING_MAX {
            return Err(SendError::Full);
        }
        self.numbers += 1;
        let sequenced = class == Class::ReliableSequenced;
        self.sequence += u64::from(sequenced);
        let head = Head {
            class,
            replace: options.replace,
            given_up: false,
            number: self.numbers,
            sequence: if sequenced { self.sequence } else { 0 },
            tag: options.tag,
        };
        let expires = options.deadline.map(|after| now + after);
        self.expiring.extend(expires.map(|at| (at, head.number)));
        self.waiting.insert((u8::MAX - options.priority, head.number));
        self.bytes += bytes.len();
        self.count(head, |c| {
            (c.queued, c.bytes_queued) = (c.queued + 1, c.bytes_queued + bytes.len() as u64)
        });
        let (state, was_sent, early) = (State::Waiting, false, options.early);
        let entry = Entry { head, options, expires, bytes: bytes.into(), state, was_sent, early };
        self.entries.insert(head.number, entry);
        Ok(self.numbers)
    }

    /// The next one to go. An unreliable one is done with then, if the other end has accepted this one.
    pub fn poll(&mut self) -> Option<Job> {
        if !self.unanswered
            && let Some(head) = self.given_up.pop()
        {
            return Some(Job { head, priority: u8::MAX, bytes: Arc::new([]) });
        }
        if self.open >= OPEN_MAX {
            return None;
        }
        let (_, number) = self.waiting.pop_first()?;
        let entry = self.entries.get_mut(&number)?;
        let again = std::mem::replace(&mut entry.was_sent, true);
        let (head, priority, bytes) = (entry.head, entry.options.priority, entry.bytes.clone());
        if head.class.is_reliable() {
            entry.state = State::Open;
            self.open += 1;
        } else if self.unanswered {
            entry.state = State::Early;
        } else {
            self.remove(number);
        }
        self.count(head, |c| if again { c.again += 1 } else { c.sent += 1 });
        Some(Job { head, priority, bytes })
    }

    /// Whether something may go with a first packet.
    #[must_use]
    pub fn has_early(&self) -> bool {
        let entry = |(_, number): &(u8, u64)| self.entries.get(number);
        self.waiting.iter().filter_map(entry).any(|entry| entry.early)
    }

    /// The next one to go with a first packet. It goes over the connection, too.
    pub fn poll_early(&mut self) -> Option<Job> {
        let early = |number: u64| self.entries.get(&number).is_some_and(|entry| entry.early);
        let (_, number) = *self.waiting.iter().find(|(_, number)| early(*number))?;
        let entry = self.entries.get_mut(&number)?;
        entry.early = false;
        let (head, priority) = (entry.head, entry.options.priority);
        Some(Job { head, priority, bytes: entry.bytes.clone() })
    }

    /// The other end has it. That counts once it is known who the other end is.
    pub fn on_acknowledged(&mut self, number: u64) {
        if self.unanswered {
            if let Some(entry) = self.entries.get_mut(&number).filter(|e| e.state == State::Open) {
                entry.state = State::Early;
                self.open = self.open.saturating_sub(1);
            }
        } else if let Some(head) = self.remove(number) {
            self.count(head, |c| c.acknowledged += 1);
        }
    }

    /// The other end has no room for this one yet: once more.
    pub fn on_refused(&mut self, number: u64) {
        if let Some(entry) = self.entries.get_mut(&number).filter(|e| e.state == State::Open) {
            entry.state = State::Waiting;
            self.open = self.open.saturating_sub(1);
            self.waiting.insert((u8::MAX - entry.options.priority, number));
        }
    }

    /// It could not be said that this one was given up: once more.
    pub fn on_unsaid(&mut self, head: Head) {
        if head.number > self.over {
            self.given_up.push(head);
        }
    }

    /// There is a connection, and messages go over it before the other end says that it accepts this one.
    /// Whether it has any of them is not known until then.
    pub fn on_begun(&mut self) -> u64 {
        let turn = self.on_connection_lost();
        self.unanswered = true;
        turn
    }

    /// The other end has accepted this one: what went over this connection has come to it.
    pub fn on_accepted(&mut self) {
        self.unanswered = false;
        let done = |entry: &&Entry| entry.state == State::Early;
        let done: Vec<Head> = self.entries.values().filter(done).map(|entry| entry.head).collect();
        for head in done {
            match head.class.is_reliable() {
                true => self.on_acknowledged(head.number),
                false => drop(self.remove(head.number)),
            }
        }
    }

    /// Whether messages go over this connection, and no other has taken its place.
    #[must_use]
    pub const fn is_turn(&self, turn: u64) -> bool {
        self.turn == turn
    }

    /// The connection is gone: what was on its way waits again. The turn of the next connection.
    pub fn on_connection_lost(&mut self) -> u64 {
        (self.turn, self.unanswered) = (self.turn + 1, false);
        for (number, entry) in &mut self.entries {
            (entry.state, entry.early) = (State::Waiting, entry.options.early);
            self.waiting.insert((u8::MAX - entry.options.priority, *number));
        }
        self.open = 0;
        self.turn
    }

    /// The other end has been started anew: nothing of before is of use to it.
    pub fn on_restart(&mut self) {
        let numbers: Vec<u64> = self.entries.keys().copied().collect();
        for number in numbers {
            if let Some(head) = self.remove(number) {
                self.count(head, |c| c.cancelled += 1);
            }
        }
        self.given_up.clear();
        (self.open, self.sequence, self.over) = (0, 0, self.numbers);
    }

    /// Withdraws all of this tag that are not acknowledged; which of them are on their way.
    pub fn cancel(&mut self, tag: u64) {
        let of_tag = |entry: &&Entry| entry.options.tag == tag;
        let numbers: Vec<u64> =
            self.entries.values().filter(of_tag).map(|entry| entry.head.number).collect();
        for number in numbers {
            if let Some(head) = self.give_up(number) {
                self.count(head, |c| c.cancelled += 1);
            }
        }
    }

    /// Gives up those whose time is over.
    pub fn expire(&mut self, now: Time) {
        while let Some(&(at, number)) = self.expiring.first().filter(|(at, _)| *at <= now) {
            self.expiring.remove(&(at, number));
            if let Some(head) = self.give_up(number) {
                self.count(head, |c| c.expired += 1);
            }
        }
    }

    /// When the time of the next one is over.
    #[must_use]
    pub fn next_timeout(&self) -> Option<Time> {
        self.expiring.first().map(|(at, _)| *at)
    }

    /// Whether this one is still wanted at the other end.
    #[must_use]
    pub fn is_wanted(&self, number: u64) -> bool {
        self.entries.contains_key(&number)
    }

    /// Messages that are not acknowledged.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// There is nothing left to do.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty() && self.given_up.is_empty()
    }

    /// Statistics.
    #[must_use]
    pub const fn counts(&self) -> &CountTable {
        &self.counts
    }

    fn give_up(&mut self, number: u64) -> Option<Head> {
        let head = self.remove(number)?;
        if head.class == Class::ReliableSequenced {
            self.given_up.push(Head { given_up: true, ..head });
        }
        Some(head)
    }

    fn remove(&mut self, number: u64) -> Option<Head> {
        let entry = self.entries.remove(&number)?;
        self.bytes -= entry.bytes.len();
        self.waiting.remove(&(u8::MAX - entry.options.priority, number));
        if let Some(at) = entry.expires {
            self.expiring.remove(&(at, number));
        }
        if entry.state == State::Open {
            self.open = self.open.saturating_sub(1);
        }
        Some(entry.head)
    }

    fn count(&mut self, head: Head, count: impl Fn(&mut super::counts::Counts)) {
        self.counts.count(head.class, head.tag, count);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const NOW: Time = Time::ZERO;

    fn push(outbox: &mut Outbox, class: Class, text: &str, options: Options) -> u64 {
        outbox.push(NOW, class, text.as_bytes(), options).unwrap()
    }

    fn texts(outbox: &mut Outbox) -> Vec<String> {
        let next = std::iter::from_fn(|| outbox.poll());
        next.map(|job| String::from_utf8(job.bytes.to_vec()).unwrap()).collect()
    }

    #[test]
    fn higher_priorities_go_first_and_equal_ones_in_order() {
        let mut outbox = Outbox::default();
        for (text, priority) in [("a", 0), ("b", 3), ("c", 0), ("d", 3)] {
            let options = Options { priority, ..Options::default() };
            push(&mut outbox, Class::ReliableUnsequenced, text, options);
        }
        assert_eq!(texts(&mut outbox), ["b", "d", "a", "c"]);
    }

    #[test]
    fn a_new_message_replaces_those_of_its_tag_that_are_not_acknowledged() {
        let mut outbox = Outbox::default();
        let options = Options { tag: 7, replace: true, ..Options::default() };
        let first = push(&mut outbox, Class::ReliableUnsequenced, "old", options);
        assert_eq!(texts(&mut outbox), ["old"]);
        push(&mut outbox, Class::ReliableUnsequenced, "new", options);
        assert!(!outbox.is_wanted(first));
        assert_eq!(texts(&mut outbox), ["new"]);
        assert_eq!(outbox.counts().tags()[&7].cancelled, 1);
    }

    #[test]
    fn a_sequenced_message_that_expires_is_told_so_that_nobody_waits_for_it() {
        let mut outbox = Outbox::default();
        let deadline = Some(Duration::from_secs(1));
        let options = Options { deadline, ..Options::default() };
        push(&mut outbox, Class::ReliableSequenced, "a", options);
        assert_eq!(outbox.next_timeout(), Some(NOW + Duration::from_secs(1)));
        outbox.expire(NOW + Duration::from_millis(999));
        assert_eq!(outbox.len(), 1);
        outbox.expire(NOW + Duration::from_secs(1));
        let job = outbox.poll().unwrap();
        assert!(job.head.given_up && job.head.sequence == 1);
        assert!(outbox.is_empty() && outbox.next_timeout().is_none());
        assert_eq!(outbox.counts().class(Class::ReliableSequenced).expired, 1);
    }

    #[test]
    fn what_was_on_its_way_goes_again_over_a_new_connection_until_acknowledged() {
        let mut outbox = Outbox::default();
        let number = push(&mut outbox, Class::ReliableUnsequenced, "a", Options::default());
        push(&mut outbox, Class::UnreliableUnsequenced, "b", Options::default());
        assert_eq!(texts(&mut outbox), ["a", "b"]);
        outbox.on_connection_lost();
        assert_eq!(texts(&mut outbox), ["a"]);
        outbox.on_acknowledged(number);
        outbox.on_connection_lost();
        assert!(outbox.poll().is_none() && outbox.is_empty());
        let counts = outbox.counts().class(Class::ReliableUnsequenced);
        assert_eq!((counts.sent, counts.again, counts.acknowledged), (1, 1, 1));
    }

    #[test]
    fn what_goes_before_the_other_end_has_accepted_counts_when_it_has() {
        let mut outbox = Outbox::default();
        let number = push(&mut outbox, Class::ReliableSequenced, "a", Options::default());
        push(&mut outbox, Class::UnreliableUnsequenced, "b", Options::default());
        let open = push(&mut outbox, Class::ReliableUnsequenced, "c", Options::default());
        let turn = outbox.on_begun();
        assert_eq!(texts(&mut outbox), ["a", "b", "c"]);
        outbox.on_acknowledged(number);
        assert_eq!(
            (outbox.len(), outbox.counts().class(Class::ReliableSequenced).acknowledged),
            (3, 0)
        );
        outbox.on_accepted();
        assert!(outbox.is_turn(turn) && outbox.is_wanted(open));
        assert_eq!(
            (outbox.len(), outbox.counts().class(Class::ReliableSequenced).acknowledged),
            (1, 1)
        );
        outbox.on_acknowledged(open);
        assert!(outbox.is_empty());
    }

    #[test]
    fn what_went_to_an_end_that_does_not_accept_this_one_waits_again_whatever_it_has_said() {
        let mut outbox = Outbox::default();
        let number = push(&mut outbox, Class::ReliableSequenced, "a", Options::default());
        push(&mut outbox, Class::UnreliableUnsequenced, "b", Options::default());
        let turn = outbox.on_begun();
        assert_eq!(texts(&mut outbox), ["a", "b"]);
        outbox.on_acknowledged(number);
        outbox.on_connection_lost();
        assert!(!outbox.is_turn(turn));
        assert_eq!(texts(&mut outbox), ["a", "b"]);
        assert_eq!(outbox.counts().class(Class::ReliableSequenced).acknowledged, 0);
    }

    #[test]
    fn nobody_is_told_of_messages_that_were_given_up_for_an_instance_that_is_gone() {
        let mut outbox = Outbox::default();
        push(&mut outbox, Class::ReliableSequenced, "a", Options { tag: 1, ..Options::default() });
        outbox.cancel(1);
        outbox.on_begun();
        assert!(outbox.poll().is_none() && !outbox.is_empty(), "it waits for the answer");
        outbox.on_accepted();
        let head = outbox.poll().unwrap().head;
        outbox.on_restart();
        outbox.on_unsaid(head);
        assert!(outbox.poll().is_none() && outbox.is_empty());
    }

    #[test]
    fn what_is_too_long_or_too_much_is_refused() {
        let mut outbox = Outbox::default();
        let long = vec![0; PARTS_MAX * PART_SIZE + 1];
        let refused = outbox.push(NOW, Class::UnreliableSequenced, &long, Options::default());
        assert_eq!(refused, Err(SendError::TooLong(PARTS_MAX * PART_SIZE)));
        let large = vec![0; SIZE_MAX];
        for _ in 0..BYTES_MAX / SIZE_MAX {
            outbox.push(NOW, Class::ReliableSequenced, &large, Options::default()).unwrap();
        }
        let refused = outbox.push(NOW, Class::ReliableSequenced, &[0], Options::default());
        assert_eq!(refused, Err(SendError::Full));
    }
}
