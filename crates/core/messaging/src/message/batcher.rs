//! Which messages travel together: those of one topic and with the same options that are published
//! while their publisher is busy.
//!
//! - A message that comes while nothing is waiting goes at once: it waits for nobody.
//! - What comes together goes together, and what comes while the publisher is busy waits for up to
//!   [`LINGER`]. It is busy from when it has sent more batches a second than [`BATCHES_PER_SECOND`],
//!   until so many messages a second no longer come.
//! - Order is kept: a message of another topic, or with other options, ends the batch before it.
//! - Messages that are withdrawn or replaced one by one, or come from another group, go alone.

use crate::message::{
    batch::{Batch, append},
    description::Options,
    topic::Topic,
};
use alloc::{collections::VecDeque, vec::Vec};
use fanfare_proto::{Duration, Time};

/// Longest time that a message waits for others: the answers to a loss on a local network take as
/// long.
pub const LINGER: Duration = Duration::from_millis(1);
/// So many objects a second, each with a description and a datagram of its own, cost a member about a
/// tenth of a processor.
pub const BATCHES_PER_SECOND: u64 = 4_000;
/// So many may go in a row before it counts as busy.
const BURST: u64 = 32;
/// Messages beyond this size have objects of their own: what a batch saves is little of them.
pub const MESSAGE_MAX: usize = 8 << 10;
/// Most bytes of a batch: it fits into memory where it is kept, and into one block of symbols.
pub const BATCH_MAX: usize = 48 << 10;

/// The batch that is open, and those that are complete.
#[derive(Debug)]
pub struct Batcher {
    open: Option<Batch>,
    ready: VecDeque<Batch>,
    bytes_max: usize,
    /// Batches that may still go at once, in parts of a second's share, and as of when.
    credit: u64,
    counted: Time,
    is_busy: bool,
    /// When the last one went.
    went: Time,
}

/// Credit that a batch costs, in nanoseconds.
const COST: u64 = 1_000_000_000 / BATCHES_PER_SECOND;

impl Batcher {
    /// Nothing has been published yet.
    #[must_use]
    pub fn new(now: Time) -> Self {
        Self {
            open: None,
            ready: VecDeque::new(),
            bytes_max: BATCH_MAX,
            credit: BURST * COST,
            counted: now,
            is_busy: false,
            went: now,
        }
    }

    /// Most bytes of a batch from now on, up to [`BATCH_MAX`]: on a slow link, what goes within a
    /// short time.
    pub fn set_bytes_max(&mut self, bytes: usize) {
        self.bytes_max = bytes.min(BATCH_MAX);
    }

    /// Whether such a message may go with others.
    #[must_use]
    pub fn takes(options: &Options, size: usize) -> bool {
        let single = options.tag.is_some() || options.replaces || options.origin.is_some();
        !single && size <= MESSAGE_MAX
    }

    /// A message is published. One that [`Self::takes`] refuses goes alone all the same.
    pub fn add(&mut self, topic: &Topic, options: &Options, message: &[u8]) {
        let room = self.bytes_max;
        let fits = |open: &Batch| {
            open.content.len() + message.len() < room
                && open.options == *options
                && open.topic == *topic
                && Self::takes(options, message.len())
        };
        match self.open.as_mut().filter(|open| fits(open)) {
            Some(open) => {
                append(message, &mut open.content);
                open.messages += 1;
            }
            None => {
                self.flush();
                let mut content = Vec::with_capacity(message.len() + 2);
                append(message, &mut content);
                let (topic, options) = (topic.clone(), *options);
                self.open = Some(Batch { topic, options, content, messages: 1 });
            }
        }
    }

    /// What is open waits no longer.
    pub fn flush(&mut self) {
        self.ready.extend(self.open.take());
    }

    /// Bytes that wait.
    #[must_use]
    pub fn waiting(&self) -> usize {
        let ready = self.ready.iter().chain(&self.open);
        ready.map(|batch| batch.content.len()).sum()
    }

    /// Whether more messages would wait at `now`.
    #[must_use]
    pub fn lingers(&self, now: Time) -> bool {
        self.is_busy && now < self.went + LINGER
    }

    /// Until when more messages would wait; `None`: they would go at once.
    #[must_use]
    pub fn lingers_until(&self) -> Option<Time> {
        self.is_busy.then(|| self.went + LINGER)
    }

    /// The next batch that is to go.
    pub fn poll(&mut self, now: Time) -> Option<Batch> {
        let share = BURST * COST;
        self.credit = (self.credit + now.since(self.counted).as_nanos() as u64).min(share);
        self.counted = now;
        if let Some(full) = self.ready.pop_front() {
            self.went = now;
            self.credit = self.credit.saturating_sub(COST);
            self.is_busy |= self.credit < COST;
            return Some(full);
        }
        if self.lingers(now) {
            return None;
        }
        let Some(open) = self.open.take() else {
            // Nothing has come for as long as the last one would have waited.
            self.is_busy = false;
            return None;
        };
        let apart = COST.saturating_mul(u64::from(open.messages));
        if self.is_busy && now.since(self.went).as_nanos() as u64 >= apart {
            // They would have gone one by one.
            (self.is_busy, self.credit) = (false, share);
        }
        self.went = now;
        self.credit = self.credit.saturating_sub(COST);
        self.is_busy |= self.credit < COST;
        Some(open)
    }

    /// When to call [`Self::poll`] next: the past is at once.
    #[must_use]
    pub fn next_timeout(&self) -> Option<Time> {
        match (self.ready.is_empty(), self.open.is_some()) {
            (true, false) => self.lingers_until(),
            (true, true) => Some(self.lingers_until().unwrap_or(self.counted)),
            (false, _) => Some(self.counted),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::batch::messages;
    use alloc::vec;
    use proptest::prelude::*;

    fn at(us: u64) -> Time {
        Time::ZERO + Duration::from_micros(us)
    }
    fn topic(name: &str) -> Topic {
        Topic::new(name).unwrap()
    }
    /// Messages at this interval for a second: how many went in how many batches, and the longest wait
    /// of any in microseconds.
    fn run(interval: u64) -> (u64, u64, u64) {
        let (mut batcher, topic, options) = (Batcher::new(at(0)), topic("a"), Options::default());
        let (mut count, mut batches, mut longest) = (0, 0, 0);
        let mut take = |batcher: &mut Batcher, now: u64| {
            while let Some(batch) = batcher.poll(at(now)) {
                batches += 1;
                for message in messages(&batch.content) {
                    let stamp = u64::from_be_bytes(message[..8].try_into().unwrap());
                    (count, longest) = (count + 1, longest.max(now - stamp));
                }
            }
        };
        for now in (0..1_000_000_u64).step_by(interval as usize) {
            while let Some(due) = batcher.next_timeout().filter(|due| *due < at(now)) {
                take(&mut batcher, due.as_nanos() / 1_000);
            }
            let message = [&now.to_be_bytes()[..], &[7; 92]].concat();
            batcher.add(&topic, &options, &message);
            take(&mut batcher, now);
        }
        while let Some(due) = batcher.next_timeout() {
            take(&mut batcher, due.as_nanos() / 1_000);
        }
        (count, batches, longest)
    }

    #[test]
    fn at_two_thousand_a_second_each_message_goes_at_once() {
        assert_eq!(run(500), (2_000, 2_000, 0));
    }

    #[test]
    fn at_two_hundred_thousand_a_second_they_share_batches_and_wait_for_a_millisecond_at_most() {
        let (count, batches, longest) = run(5);
        assert_eq!(count, 200_000);
        assert!(batches < 1_100 && longest <= 1_000, "{batches} {longest}");
    }

    #[test]
    fn after_a_burst_a_message_waits_for_nobody_again() {
        let (mut batcher, topic, options) = (Batcher::new(at(0)), topic("a"), Options::default());
        for now in 0..100 {
            batcher.add(&topic, &options, b"burst");
            let _ = batcher.poll(at(now));
        }
        assert!(batcher.lingers(at(100)));
        let rest = batcher.poll(at(1_100));
        assert!(rest.is_some_and(|batch| batch.messages > 1));
        assert_eq!(batcher.poll(at(2_200)), None);
        batcher.add(&topic, &options, b"alone");
        assert!(batcher.poll(at(2_300)).is_some_and(|batch| batch.messages == 1));
    }

    #[test]
    fn another_topic_or_other_options_end_a_batch_and_what_may_be_withdrawn_goes_alone() {
        let (mut batcher, plain) = (Batcher::new(at(0)), Options::default());
        let tagged = Options { tag: Some(7), ..plain };
        let urgent = Options { priority: 9, ..plain };
        for (name, options) in [("a", plain), ("a", plain), ("b", plain), ("b", urgent)] {
            batcher.add(&topic(name), &options, b"x");
        }
        (0..2).for_each(|_| batcher.add(&topic("b"), &tagged, b"x"));
        let counts = core::iter::from_fn(|| batcher.poll(at(0))).map(|batch| batch.messages);
        assert_eq!(counts.collect::<Vec<_>>(), [2, 1, 1, 1, 1]);
    }

    proptest! {
        #[test]
        fn what_comes_out_is_what_went_in_in_the_same_order(
            said in proptest::collection::vec((0..3_u8, 0..200_usize, 0..400_u64), 1..300),
            bytes_max in 100..2_000_usize,
        ) {
            let mut batcher = Batcher::new(at(0));
            batcher.set_bytes_max(bytes_max);
            let (mut now, mut out) = (0, Vec::new());
            let mut take = |batch: Batch| {
                assert!(batch.messages == 1 || batch.content.len() <= bytes_max + 2);
                for message in messages(&batch.content) {
                    out.push((batch.topic.clone(), message.to_vec()));
                }
            };
            let names = ["a", "b", "c"].map(topic);
            let mut wanted = Vec::new();
            for (number, (name, size, pause)) in said.into_iter().enumerate() {
                now += pause;
                let name = &names[usize::from(name.saturating_sub(1))];
                let message = [&number.to_be_bytes()[..], &vec![1; size]].concat();
                batcher.add(name, &Options::default(), &message);
                wanted.push((name.clone(), message));
                core::iter::from_fn(|| batcher.poll(at(now))).for_each(&mut take);
            }
            batcher.flush();
            core::iter::from_fn(|| batcher.poll(at(now))).for_each(&mut take);
            prop_assert_eq!(out, wanted);
        }
    }
}
