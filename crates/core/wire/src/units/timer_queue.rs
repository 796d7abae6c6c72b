//! When each of many wants to be woken: the first of them is known without asking all.

use alloc::collections::{BTreeMap, BTreeSet};

/// Times (or a time and a reason) by whom they are of.
#[derive(Debug, Clone)]
pub struct TimerQueue<K, T> {
    times: BTreeMap<K, T>,
    order: BTreeSet<(T, K)>,
}

impl<K, T> Default for TimerQueue<K, T> {
    fn default() -> Self {
        Self { times: BTreeMap::new(), order: BTreeSet::new() }
    }
}

impl<K: Copy + Ord, T: Copy + Ord> TimerQueue<K, T> {
    /// From now on `key` wants to be woken then, or not at all.
    pub fn set(&mut self, key: K, time: Option<T>) {
        let before = match time {
            Some(time) => self.times.insert(key, time),
            None => self.times.remove(&key),
        };
        if before == time {
            return;
        }
        if let Some(before) = before {
            self.order.remove(&(before, key));
        }
        if let Some(time) = time {
            self.order.insert((time, key));
        }
    }

    /// The next one.
    #[must_use]
    pub fn first(&self) -> Option<(T, K)> {
        self.order.first().copied()
    }

    /// All of them, the next one first.
    pub fn iter(&self) -> impl Iterator<Item = (T, K)> + '_ {
        self.order.iter().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    #[test]
    fn the_first_is_first_whatever_was_said_before() {
        let mut table = TimerQueue::default();
        for (key, time) in [(1, Some(5)), (2, Some(3)), (3, Some(4)), (2, Some(9)), (3, None)] {
            table.set(key, time);
        }
        assert_eq!((table.first(), table.iter().collect::<Vec<_>>()), {
            (Some((5, 1)), Vec::from([(5, 1), (9, 2)]))
        });
        table.set(2, Some(1));
        assert_eq!(table.first(), Some((1, 2)));
    }
}
