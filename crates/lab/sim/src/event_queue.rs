//! The queue of future events: a heap ordered by time, then by the order of entry.

use core::cmp::Ordering;
use fanfare_proto::Time;
use std::collections::BinaryHeap;

/// Things to come. Two entries of one time come out as they went in, so that a run is a function
/// of its inputs alone.
#[derive(Debug)]
pub struct EventQueue<T> {
    heap: BinaryHeap<Entry<T>>,
    entered: u64,
}

#[derive(Debug)]
struct Entry<T> {
    at: Time,
    number: u64,
    what: T,
}

impl<T> EventQueue<T> {
    /// Nothing to come.
    #[must_use]
    pub fn new() -> Self {
        Self { heap: BinaryHeap::new(), entered: 0 }
    }
    /// Enters `what` at time `at`.
    pub fn push(&mut self, at: Time, what: T) {
        self.heap.push(Entry { at, number: self.entered, what });
        self.entered += 1;
    }
    /// Takes the earliest entry out.
    pub fn pop(&mut self) -> Option<(Time, T)> {
        self.heap.pop().map(|entry| (entry.at, entry.what))
    }
    /// Time of the earliest entry.
    #[must_use]
    pub fn next_time(&self) -> Option<Time> {
        self.heap.peek().map(|entry| entry.at)
    }
}

impl<T> Default for EventQueue<T> {
    fn default() -> Self {
        Self::new()
    }
}

// The standard heap gives its greatest element first: later is smaller.
impl<T> Ord for Entry<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        (other.at, other.number).cmp(&(self.at, self.number))
    }
}
impl<T> PartialOrd for Entry<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl<T> PartialEq for Entry<T> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}
impl<T> Eq for Entry<T> {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn earlier_comes_first_and_equals_keep_their_order() {
        let mut events = EventQueue::new();
        for (at, what) in [(5, 'c'), (1, 'a'), (5, 'd'), (2, 'b'), (5, 'e')] {
            events.push(Time::from_nanos(at), what);
        }
        let order: String = core::iter::from_fn(|| events.pop()).map(|(_, what)| what).collect();
        assert_eq!(order, "abcde");
    }
}
