//! What crosses between a group and NATS, and what does not.
//!
//! 1. What a bridge has brought from one side does not go back there.
//! 2. What bridges of other groups, or of another NATS, have brought crosses once in a while: a ring of
//!    bridges ends here.
//! 3. All else crosses, the same bytes too: each is a message of its own.
//!
//! The bridge to plain UDP has a machine of its own (`crate::bridge`): datagrams have no ids, so that there
//! a content crosses once, whichever side it was heard on.
//!
//! Who stands by leaves each message to others for a while, and drops it when one of them has carried it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::proto::{Duration, Time};

/// Marks remembered: 13,000 a second for the default window of 5 s, in about 8 MiB.
const MARKS_MAX: usize = 65_536;
/// Where a message goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum To {
    Group,
    Nats,
}

/// By what other bridges' copies of a message are known: its id, or its topic and content.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Mark {
    Id(String),
    Content(u64),
}

/// How often a message of one mark may cross.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Often {
    /// Each time it comes.
    Always,
    /// Once within the window.
    Once,
}

#[derive(Debug)]
struct Waiting<T> {
    due: Time,
    mark: Mark,
    item: T,
}

/// Contents that wait to go to one side, in their order.
#[derive(Debug)]
struct WaitingSide<T> {
    items: BTreeMap<u64, Waiting<T>>,
    marks: BTreeMap<Mark, BTreeSet<u64>>,
    /// Not carried, since another bridge has, or since it came from there.
    duplicates: u64,
}

impl<T> WaitingSide<T> {
    fn new() -> Self {
        Self { items: BTreeMap::new(), marks: BTreeMap::new(), duplicates: 0 }
    }

    fn put(&mut self, order: u64, waiting: Waiting<T>) {
        self.marks.entry(waiting.mark.clone()).or_default().insert(order);
        self.items.insert(order, waiting);
    }

    fn take(&mut self, order: u64) -> Option<T> {
        let waiting = self.items.remove(&order)?;
        if let Some(orders) = self.marks.get_mut(&waiting.mark) {
            orders.remove(&order);
            if orders.is_empty() {
                self.marks.remove(&waiting.mark);
            }
        }
        Some(waiting.item)
    }

    /// The first that bears this mark.
    fn first_of(&self, mark: &Mark) -> Option<u64> {
        self.marks.get(mark)?.first().copied()
    }
}

/// What is remembered of a mark on its way to one side.
#[derive(Debug, Default)]
struct Seen {
    /// It was heard.
    heard: bool,
    /// So many that were heard were not told of by a copy yet.
    alone: u32,
    /// So many copies of other bridges have come before what they are copies of.
    ahead: u32,
}

/// The machine. How much may wait, its owner says.
#[derive(Debug)]
pub(crate) struct Crossing<T> {
    window: Duration,
    standby: Duration,
    seen: BTreeMap<(To, Mark), Seen>,
    ages: VecDeque<(Time, (To, Mark))>,
    to_group: WaitingSide<T>,
    to_nats: WaitingSide<T>,
    arrivals: u64,
}

impl<T> Crossing<T> {
    /// Marks are remembered for `window`; nothing crosses before `standby`.
    pub(crate) fn new(window: Duration, standby: Duration) -> Self {
        let (seen, ages) = (BTreeMap::new(), VecDeque::new());
        let (to_group, to_nats) = (WaitingSide::new(), WaitingSide::new());
        Self { window, standby, seen, ages, to_group, to_nats, arrivals: 0 }
    }

    fn side(&self, to: To) -> &WaitingSide<T> {
        match to {
            To::Group => &self.to_group,
            To::Nats => &self.to_nats,
        }
    }

    fn side_mut(&mut self, to: To) -> &mut WaitingSide<T> {
        match to {
            To::Group => &mut self.to_group,
            To::Nats => &mut self.to_nats,
        }
    }

    /// Not carried to a side, since another bridge has, or since it came from there.
    pub(crate) fn duplicates(&self, to: To) -> u64 {
        self.side(to).duplicates
    }

    /// One of these was told elsewhere.
    pub(crate) fn count_duplicate(&mut self, to: To) {
        self.side_mut(to).duplicates += 1;
    }

    /// Something was heard that is to go `to` the other side. Gives back what does not cross: another bridge
    /// has carried it.
    pub(crate) fn on_heard(
        &mut self,
        now: Time,
        to: To,
        mark: Mark,
        often: Often,
        item: T,
    ) -> Result<(), T> {
        self.forget(now);
        let seen = self.remember(now, (to, mark.clone()));
        let again = seen.heard && often == Often::Once;
        seen.heard = true;
        if seen.ahead > 0 || again {
            seen.ahead = seen.ahead.saturating_sub(1);
            self.count_duplicate(to);
            return Err(item);
        }
        seen.alone = seen.alone.saturating_add(1);
        let (due, order) = (now + self.standby, self.arrivals);
        self.arrivals += 1;
        self.side_mut(to).put(order, Waiting { due, mark, item });
        Ok(())
    }

    /// Another bridge's copy was heard on side `to`. Gives what was to go there.
    pub(crate) fn on_carried(&mut self, now: Time, to: To, mark: Mark) -> Option<T> {
        self.forget(now);
        let place = self.side(to).first_of(&mark);
        let seen = self.remember(now, (to, mark));
        match (seen.alone, place) {
            (0, None) => seen.ahead = seen.ahead.saturating_add(1),
            // Also of one that was carried here, too.
            _ => seen.alone = seen.alone.saturating_sub(1),
        }
        let item = place.and_then(|place| self.side_mut(to).take(place))?;
        self.count_duplicate(to);
        Some(item)
    }

    fn remember(&mut self, now: Time, key: (To, Mark)) -> &mut Seen {
        if !self.seen.contains_key(&key) {
            self.ages.push_back((now, key.clone()));
        }
        self.seen.entry(key).or_default()
    }

    fn forget(&mut self, now: Time) {
        while let Some((at, key)) = self.ages.front() {
            if now.since(*at) < self.window && self.ages.len() < MARKS_MAX {
                break;
            }
            self.seen.remove(key);
            self.ages.pop_front();
        }
    }

    /// Takes what crosses to a side now.
    pub(crate) fn poll(&mut self, now: Time, to: To) -> Option<T> {
        // All wait equally long, so the first is due first.
        let (order, first) = self.side(to).items.first_key_value()?;
        if first.due > now {
            return None;
        }
        let order = *order;
        self.side_mut(to).take(order)
    }

    /// Time at which something may go to a side.
    pub(crate) fn next_timeout(&self, to: To) -> Option<Time> {
        self.side(to).items.values().next().map(|first| first.due)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::ZERO + Duration::from_millis(ms)
    }
    fn crossing(standby: u64) -> Crossing<&'static str> {
        Crossing::new(Duration::from_secs(5), Duration::from_millis(standby))
    }
    fn crosses(crossing: &mut Crossing<&'static str>, ms: u64) -> Vec<(To, &'static str)> {
        let mut all = Vec::new();
        for to in [To::Group, To::Nats] {
            all.extend(std::iter::from_fn(|| crossing.poll(at(ms), to)).map(|item| (to, item)));
        }
        all
    }
    fn id(text: &str) -> Mark {
        Mark::Id(text.to_owned())
    }

    #[test]
    fn the_same_bytes_cross_each_time_but_a_message_of_another_bridge_once() {
        let mut bridge = crossing(0);
        for ms in [0, 1] {
            let heard = bridge.on_heard(at(ms), To::Group, Mark::Content(7), Often::Always, "x");
            assert_eq!(heard, Ok(()));
        }
        assert_eq!(crosses(&mut bridge, 1), [(To::Group, "x"), (To::Group, "x")]);
        assert_eq!(bridge.on_heard(at(2), To::Group, id("a"), Often::Once, "a"), Ok(()));
        let again = bridge.on_heard(at(3), To::Group, id("a"), Often::Once, "a");
        assert_eq!((again, bridge.duplicates(To::Group)), (Err("a"), 1));
        // The other way it is another message.
        assert_eq!(bridge.on_heard(at(3), To::Nats, id("a"), Often::Once, "a"), Ok(()));
        assert_eq!(bridge.on_heard(at(5_002), To::Group, id("a"), Often::Once, "a"), Ok(()));
    }

    #[test]
    fn who_stands_by_carries_only_what_no_other_bridge_has_carried() {
        let mut bridge = crossing(300);
        bridge.on_heard(at(0), To::Nats, id("a"), Often::Once, "carried").unwrap();
        bridge.on_heard(at(10), To::Nats, id("b"), Often::Once, "left").unwrap();
        assert_eq!(bridge.on_carried(at(20), To::Nats, id("a")), Some("carried"));
        assert_eq!(bridge.next_timeout(To::Nats), Some(at(310)));
        assert_eq!(crosses(&mut bridge, 309), []);
        assert_eq!(crosses(&mut bridge, 310), [(To::Nats, "left")]);
    }

    #[test]
    fn each_copy_of_another_bridge_stands_for_one_message_also_when_it_comes_first() {
        let mut bridge = crossing(300);
        let mark = Mark::Content(7);
        assert_eq!(bridge.on_carried(at(0), To::Group, mark.clone()), None);
        let mut hear = |ms, text| {
            let heard = bridge.on_heard(at(ms), To::Group, mark.clone(), Often::Always, text);
            (heard, bridge.on_carried(at(ms), To::Group, mark.clone()))
        };
        // The second copy is of the second message, and so on.
        assert_eq!(hear(1, "first"), (Err("first"), None));
        assert_eq!(hear(2, "second"), (Err("second"), None));
        let third = bridge.on_heard(at(3), To::Group, mark.clone(), Often::Always, "third");
        assert_eq!(third, Err("third"));
        assert_eq!(bridge.on_heard(at(4), To::Group, mark, Often::Always, "fourth"), Ok(()));
        assert_eq!(crosses(&mut bridge, 304), [(To::Group, "fourth")]);
    }

    #[test]
    fn a_copy_that_comes_after_its_message_was_carried_here_takes_no_other_with_it() {
        let mut bridge = crossing(0);
        let mark = Mark::Content(7);
        bridge.on_heard(at(0), To::Group, mark.clone(), Often::Always, "first").unwrap();
        assert_eq!(crosses(&mut bridge, 0), [(To::Group, "first")]);
        assert_eq!(bridge.on_carried(at(1), To::Group, mark.clone()), None);
        assert_eq!(bridge.on_heard(at(2), To::Group, mark, Often::Always, "second"), Ok(()));
    }

    #[test]
    fn what_is_remembered_is_bounded_and_what_waits_is_counted_nowhere_else() {
        let mut bridge = crossing(300);
        for n in 0..MARKS_MAX as u64 + 5 {
            bridge.on_carried(at(1), To::Group, Mark::Content(n));
        }
        assert!(bridge.seen.len() <= MARKS_MAX && bridge.ages.len() == bridge.seen.len());
        assert_eq!(bridge.duplicates(To::Group), 0, "copies of what was not to go there");
        for n in 0..10 {
            bridge.on_heard(at(2), To::Nats, Mark::Content(n % 2), Often::Always, "x").unwrap();
        }
        for n in 0..10 {
            bridge.on_carried(at(3), To::Nats, Mark::Content(n % 2)).unwrap();
        }
        assert_eq!((bridge.duplicates(To::Nats), crosses(&mut bridge, 400)), (10, vec![]));
        assert!(bridge.to_nats.marks.is_empty());
    }
}
