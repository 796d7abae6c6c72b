//! What comes by many ways is put in order again: then a gap is a loss, as on one way.
//!
//! How long a gap is waited for follows from how late messages were, against others of higher number.

use std::collections::{BTreeMap, VecDeque};

use fanfare_wire::units::time::{Duration, Time};

/// Before anything has been late: some milliseconds of a receiver's uplink, ten times.
const LATE_FIRST: Duration = Duration::from_millis(50);
/// Beyond what was seen last, a quarter and this: threads have turns.
const SPARE: Duration = Duration::from_millis(5);
/// A gap is not waited for longer: it is a loss then, and asked for.
const LATE_MAX: Duration = Duration::from_secs(1);
/// What was late in this time and the one before counts.
const TURN: Duration = Duration::from_secs(2);
/// Bytes that are held at most: 2.5 s of 200 Mbit/s.
const HELD_MAX: usize = 64 << 20;
/// Numbers further back than this are another life of the sender.
const BACK_MAX: u64 = 20_000;
/// Marks by which lateness is measured: one for each run that had the highest number so far.
const MARKS_MAX: usize = 4096;

/// A run of messages with numbers that follow each other, and what else is known of it.
#[derive(Debug, PartialEq, Eq)]
pub struct Held<M> {
    /// Its bytes.
    pub run: Vec<u8>,
    /// Bytes of each message but the last.
    pub stride: usize,
    /// What else.
    pub meta: M,
    /// When it came, for who measures delays. In a circle this is when it would have come directly, plus the
    /// queue that stands on all ways.
    pub arrived: Time,
    /// When it would have come directly, through no queue, if that is known.
    pub(crate) due: Option<Time>,
    count: u64,
    at: Time,
}

/// When a run came, and what else is known of it.
#[derive(Debug, Clone, Copy)]
pub struct Arrival<M> {
    /// When the system took it.
    pub arrived: Time,
    /// When it would have come directly, through no queue, if that is known.
    pub due: Option<Time>,
    /// What else.
    pub meta: M,
}

/// Puts the messages of one sender in order.
#[derive(Debug)]
pub struct Order<M> {
    /// What comes next; `None` at the beginning.
    next: Option<u64>,
    /// The highest number so far.
    newest: u64,
    held: BTreeMap<u64, Held<M>>,
    bytes: usize,
    ready: VecDeque<Held<M>>,
    /// Numbers that were the highest so far, and when they came.
    marks: VecDeque<(u64, Time)>,
    late: [Duration; 2],
    turn: Time,
}

impl<M> Default for Order<M> {
    fn default() -> Self {
        Self {
            next: None,
            newest: 0,
            held: BTreeMap::new(),
            bytes: 0,
            ready: VecDeque::new(),
            marks: VecDeque::new(),
            late: [LATE_FIRST; 2],
            turn: Time::ZERO,
        }
    }
}

impl<M> Order<M> {
    /// A run came, whose first message has this number.
    pub fn insert(
        &mut self,
        now: Time,
        first: u16,
        (run, stride): (&[u8], usize),
        arrival: Arrival<M>,
    ) {
        let count = run.len().div_ceil(stride.max(1)) as u64;
        let number = self.unwrap(first);
        let Arrival { arrived, due, meta } = arrival;
        let held = Held { run: run.to_vec(), stride, meta, arrived, due, count, at: now };
        self.measure(now, number, count);
        let next = *self.next.get_or_insert(number);
        if number + BACK_MAX < next {
            self.begin_again(number);
        } else if number < next {
            self.ready.push_back(held);
            return;
        }
        if !self.held.contains_key(&number) {
            self.bytes += held.run.len();
            self.held.insert(number, held);
        }
    }

    /// The run that comes next, if it is time for it: not earlier than so much after it was due.
    pub fn poll(&mut self, now: Time, late: Duration) -> Option<Held<M>> {
        if let Some(late) = self.ready.pop_front() {
            return Some(late);
        }
        let (number, _) = self.held.first_key_value()?;
        let (number, next) = (*number, self.next.unwrap_or(*number));
        let given_up = || self.gap_ends().is_some_and(|end| now >= end);
        let early = self.due(late).is_some_and(|due| now < due);
        if (early || number > next) && self.bytes <= HELD_MAX && (early || !given_up()) {
            return None;
        }
        let held = self.held.remove(&number)?;
        self.bytes -= held.run.len();
        self.next = Some(next.max(number + held.count));
        Some(held)
    }

    /// When the gap before what is held is waited for no more, or what comes next is due.
    #[must_use]
    pub fn next_timeout(&self, late: Duration) -> Option<Time> {
        if !self.ready.is_empty() {
            return Some(Time::ZERO);
        }
        let (number, _) = self.held.first_key_value()?;
        let gap = if Some(*number) > self.next { self.gap_ends() } else { Some(Time::ZERO) };
        gap.max(self.due(late))
    }

    /// When the first that is held may come out.
    fn due(&self, late: Duration) -> Option<Time> {
        Some(self.held.first_key_value()?.1.due? + late)
    }

    /// How long a gap is waited for now.
    #[must_use]
    pub fn patience(&self) -> Duration {
        let [now, before] = self.late;
        (now.max(before) * 5 / 4 + SPARE).min(LATE_MAX)
    }

    fn gap_ends(&self) -> Option<Time> {
        let earliest = self.held.values().map(|held| held.at).min()?;
        Some(earliest + self.patience())
    }

    /// A number of 16 bits as one that never wraps.
    fn unwrap(&self, first: u16) -> u64 {
        if self.next.is_none() {
            return u64::from(first) + (1 << 32);
        }
        let step = first.wrapping_sub(self.newest as u16) as i16;
        self.newest.wrapping_add_signed(i64::from(step))
    }

    /// How late it is: since something of higher number came.
    fn measure(&mut self, now: Time, number: u64, count: u64) {
        if now.since(self.turn) >= TURN {
            self.late = [Duration::ZERO, self.late[0]];
            self.turn = now;
        }
        if number >= self.newest {
            self.newest = number + count - 1;
            self.marks.push_back((number, now));
            if self.marks.len() > MARKS_MAX {
                self.marks.pop_front();
            }
            return;
        }
        let passed = self.marks.partition_point(|(mark, _)| *mark <= number);
        if let Some((_, since)) = self.marks.get(passed) {
            self.late[0] = self.late[0].max(now.since(*since)).min(LATE_MAX);
        }
    }

    fn begin_again(&mut self, number: u64) {
        self.ready.extend(std::mem::take(&mut self.held).into_values());
        (self.bytes, self.next, self.newest) = (0, Some(number), number);
        self.marks.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fanfare_wire::units::time::at;

    fn insert(order: &mut Order<()>, millis: u64, first: u16, count: usize) {
        let arrival = Arrival { arrived: at(millis), due: None, meta: () };
        order.insert(at(millis), first, (&vec![first as u8; count * 10], 10), arrival);
    }

    fn polled(order: &mut Order<()>, millis: u64) -> Vec<u8> {
        std::iter::from_fn(|| order.poll(at(millis), Duration::ZERO))
            .map(|held| held.run[0])
            .collect()
    }

    #[test]
    fn runs_come_out_by_their_numbers_also_where_these_wrap() {
        let mut order = Order::default();
        insert(&mut order, 0, 65_530, 4);
        insert(&mut order, 1, 2, 3);
        insert(&mut order, 2, 0, 2);
        assert_eq!(polled(&mut order, 2), [250]);
        insert(&mut order, 3, 65_534, 2);
        assert_eq!(polled(&mut order, 3), [254, 0, 2]);
    }

    #[test]
    fn a_gap_is_waited_for_as_long_as_others_were_late_and_then_it_is_a_loss() {
        let mut order = Order::default();
        insert(&mut order, 5000, 0, 1);
        insert(&mut order, 5000, 2, 1);
        assert_eq!(polled(&mut order, 5000), [0]);
        let end = order.next_timeout(Duration::ZERO).unwrap();
        assert_eq!(end, at(5000) + LATE_FIRST * 5 / 4 + SPARE);
        assert_eq!(polled(&mut order, 5010), [] as [u8; 0]);
        assert_eq!(polled(&mut order, 5068), [2]);
        // It comes all the same: later ones are waited for longer.
        insert(&mut order, 5200, 1, 1);
        assert_eq!(polled(&mut order, 5200), [1]);
        assert_eq!(order.patience(), Duration::from_millis(200) * 5 / 4 + SPARE);
    }

    #[test]
    fn what_comes_twice_is_held_once() {
        let mut order = Order::default();
        insert(&mut order, 0, 0, 1);
        insert(&mut order, 0, 2, 1);
        insert(&mut order, 0, 2, 1);
        insert(&mut order, 0, 1, 1);
        assert_eq!(polled(&mut order, 0), [0, 1, 2]);
    }

    #[test]
    fn a_sender_that_begins_anew_is_heard_at_once() {
        let mut order = Order::default();
        insert(&mut order, 0, 40_000, 1);
        assert_eq!(polled(&mut order, 0), [64]);
        insert(&mut order, 1, 9_000, 1);
        insert(&mut order, 1, 9_001, 1);
        assert_eq!(polled(&mut order, 1), [40, 41]);
    }
}
