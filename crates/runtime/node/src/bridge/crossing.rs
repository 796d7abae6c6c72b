//! What crosses a bridge, and what does not: each content once in a while, in one direction.

use std::collections::{BTreeMap, VecDeque};

use fanfare_proto::{Duration, Time};

use crate::queue_room::QueuePlace;

/// Contents remembered beside those that wait: 13,000 a second for the default window of 5 s, in 5 MiB.
const SEEN_MAX: usize = 65_536;

/// The two sides of a bridge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Group,
    Plain,
}

impl Side {
    fn other(self) -> Self {
        match self {
            Self::Group => Self::Plain,
            Self::Plain => Self::Group,
        }
    }
}

/// A content on its way to a side.
#[derive(Debug)]
pub(super) struct CrossingContent {
    pub(super) content: Vec<u8>,
    /// Its place in the room of its direction.
    pub(super) place: QueuePlace,
    /// Time at which it was heard.
    pub(super) heard: Time,
}

type Hash = [u8; 32];

#[derive(Debug)]
struct WaitingContent {
    due: Time,
    hash: Hash,
    what: CrossingContent,
}

/// Contents that wait to go to one side, in their order.
#[derive(Debug, Default)]
struct WaitingSide {
    contents: BTreeMap<u64, WaitingContent>,
    orders: BTreeMap<Hash, u64>,
}

/// The machine. How much may wait, the places say that come with it.
#[derive(Debug)]
pub(super) struct Crossing {
    window: Duration,
    standby: Duration,
    seen: BTreeMap<Hash, Time>,
    ages: VecDeque<(Time, Hash)>,
    to_group: WaitingSide,
    to_plain: WaitingSide,
    arrivals: u64,
    /// Not carried to a side, since they were heard before, or since another bridge has carried them.
    pub(super) duplicates_to_group: u64,
    pub(super) duplicates_to_plain: u64,
}

impl WaitingSide {
    fn take(&mut self, order: u64) -> Option<WaitingContent> {
        let waiting = self.contents.remove(&order)?;
        self.orders.remove(&waiting.hash);
        Some(waiting)
    }
}

impl Crossing {
    /// A content crosses once within `window`, and not before `standby`.
    pub(super) fn new(window: Duration, standby: Duration) -> Self {
        Self {
            window,
            standby,
            seen: BTreeMap::new(),
            ages: VecDeque::new(),
            to_group: WaitingSide::default(),
            to_plain: WaitingSide::default(),
            arrivals: 0,
            duplicates_to_group: 0,
            duplicates_to_plain: 0,
        }
    }

    fn to(&mut self, side: Side) -> &mut WaitingSide {
        match side {
            Side::Group => &mut self.to_group,
            Side::Plain => &mut self.to_plain,
        }
    }

    fn count_duplicate(&mut self, to: Side) {
        match to {
            Side::Group => self.duplicates_to_group += 1,
            Side::Plain => self.duplicates_to_plain += 1,
        }
    }

    /// Something was heard on one side.
    pub(super) fn on_heard(&mut self, now: Time, from: Side, what: CrossingContent) {
        self.forget(now);
        let hash: Hash = blake3::hash(&what.content).into();
        let to = from.other();
        let was_to_come = self.to(from).orders.get(&hash).copied();
        if let Some(order) = was_to_come {
            // Another bridge has carried it here.
            self.to(from).take(order);
            self.count_duplicate(from);
        }
        let waits = was_to_come.is_some() || self.to(to).orders.contains_key(&hash);
        if waits || self.seen.contains_key(&hash) {
            self.count_duplicate(to);
            return;
        }
        self.remember(now, hash);
        let (due, order) = (now + self.standby, self.arrivals);
        self.arrivals += 1;
        let side = self.to(to);
        side.orders.insert(hash, order);
        side.contents.insert(order, WaitingContent { due, hash, what });
    }

    fn remember(&mut self, now: Time, hash: Hash) {
        self.seen.insert(hash, now);
        self.ages.push_back((now, hash));
    }

    fn forget(&mut self, now: Time) {
        while let Some((at, hash)) = self.ages.front().copied() {
            if now.since(at) < self.window && self.ages.len() < SEEN_MAX {
                break;
            }
            self.ages.pop_front();
            // It may have been remembered again since.
            if self.seen.get(&hash) == Some(&at) {
                self.seen.remove(&hash);
            }
        }
    }

    /// Takes what crosses to a side now. From now on it is remembered for the window again: it may have waited
    /// for longer than that, and it is heard of now from whoever has it next.
    pub(super) fn poll(&mut self, now: Time, to: Side) -> Option<CrossingContent> {
        // All wait equally long, so the first is due first.
        let (order, first) = self.to(to).contents.first_key_value()?;
        if first.due > now {
            return None;
        }
        let order = *order;
        let waiting = self.to(to).take(order)?;
        self.forget(now);
        if self.seen.get(&waiting.hash) != Some(&now) {
            self.remember(now, waiting.hash);
        }
        Some(waiting.what)
    }

    /// Time at which something may go to a side.
    pub(super) fn next_timeout(&self, to: Side) -> Option<Time> {
        let side = match to {
            Side::Group => &self.to_group,
            Side::Plain => &self.to_plain,
        };
        side.contents.values().next().map(|first| first.due)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue_room::{QueueLimit, QueueRoom};

    fn at(ms: u64) -> Time {
        Time::ZERO + Duration::from_millis(ms)
    }
    fn crossing(standby: u64) -> Crossing {
        Crossing::new(Duration::from_secs(5), Duration::from_millis(standby))
    }
    fn hear(crossing: &mut Crossing, ms: u64, from: Side, text: &str) {
        let content = text.as_bytes().to_vec();
        let place = QueueRoom::new(QueueLimit::default()).enter(content.len()).unwrap();
        crossing.on_heard(at(ms), from, CrossingContent { content, place, heard: at(ms) });
    }
    fn crosses(crossing: &mut Crossing, ms: u64) -> Vec<(Side, String)> {
        let mut all = Vec::new();
        for side in [Side::Group, Side::Plain] {
            let next = std::iter::from_fn(|| crossing.poll(at(ms), side));
            let text = |what: CrossingContent| String::from_utf8(what.content).unwrap();
            all.extend(next.map(|what| (side, text(what))));
        }
        all
    }
    fn duplicates(crossing: &Crossing) -> (u64, u64) {
        (crossing.duplicates_to_group, crossing.duplicates_to_plain)
    }

    #[test]
    fn a_content_crosses_once_within_the_window_and_never_comes_back() {
        let mut bridge = crossing(0);
        hear(&mut bridge, 0, Side::Plain, "a");
        hear(&mut bridge, 1, Side::Plain, "a");
        assert_eq!(crosses(&mut bridge, 1), [(Side::Group, "a".to_owned())]);
        hear(&mut bridge, 2, Side::Group, "a");
        assert_eq!(crosses(&mut bridge, 2), []);
        assert_eq!(duplicates(&bridge), (1, 1));
        // The window begins when it crosses.
        hear(&mut bridge, 5_000, Side::Group, "a");
        assert_eq!(crosses(&mut bridge, 5_000), []);
        hear(&mut bridge, 5_001, Side::Group, "a");
        assert_eq!(crosses(&mut bridge, 5_001), [(Side::Plain, "a".to_owned())]);
    }

    #[test]
    fn who_stands_by_carries_only_what_no_other_bridge_has_carried() {
        let mut bridge = crossing(300);
        hear(&mut bridge, 0, Side::Plain, "carried");
        hear(&mut bridge, 10, Side::Group, "left");
        hear(&mut bridge, 20, Side::Group, "carried");
        assert_eq!(bridge.next_timeout(Side::Plain), Some(at(310)));
        assert_eq!(crosses(&mut bridge, 309), []);
        assert_eq!(crosses(&mut bridge, 310), [(Side::Plain, "left".to_owned())]);
    }

    #[test]
    fn what_another_bridge_brought_first_counts_as_a_duplicate_each_way_it_was_heard() {
        let mut bridge = crossing(300);
        hear(&mut bridge, 0, Side::Plain, "a");
        hear(&mut bridge, 10, Side::Group, "a");
        assert_eq!((crosses(&mut bridge, 400), duplicates(&bridge)), (vec![], (1, 1)));
    }

    #[test]
    fn what_has_waited_for_longer_than_the_window_does_not_come_back_either() {
        let mut bridge = crossing(0);
        hear(&mut bridge, 0, Side::Plain, "a");
        hear(&mut bridge, 7_000, Side::Plain, "a");
        assert_eq!(duplicates(&bridge), (1, 0), "it waits");
        assert_eq!(crosses(&mut bridge, 8_000).len(), 1);
        hear(&mut bridge, 9_000, Side::Group, "a");
        assert_eq!((crosses(&mut bridge, 9_000), duplicates(&bridge)), (vec![], (1, 1)));
    }

    #[test]
    fn what_is_remembered_is_bounded_and_what_waits_is_known_beside() {
        let mut bridge = crossing(0);
        (0..SEEN_MAX + 5).for_each(|n| hear(&mut bridge, 0, Side::Plain, &n.to_string()));
        assert!(bridge.seen.len() <= SEEN_MAX && bridge.ages.len() <= SEEN_MAX);
        hear(&mut bridge, 0, Side::Plain, "0");
        assert_eq!(duplicates(&bridge), (1, 0), "it was forgotten, and waits");
        assert_eq!(crosses(&mut bridge, 0).len(), SEEN_MAX + 5);
        assert!(bridge.seen.len() <= SEEN_MAX && bridge.ages.len() <= SEEN_MAX);
    }
}
