//! What crosses a bridge, and what does not: each content once in a while, in one direction.

use std::collections::{BTreeMap, VecDeque};

use fanfare_proto::{Duration, Time};

/// Contents remembered: 13,000 a second for the default window of 5 s, in 5 MiB.
const SEEN_MAX: usize = 65_536;
/// Contents that wait while another bridge may carry them; at UDP's longest they are 64 MiB.
const WAITING_MAX: usize = 1024;

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

/// What has become of what was heard.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Crossed {
    /// Datagrams that became messages.
    pub to_group: u64,
    /// Messages that became datagrams.
    pub to_plain: u64,
    /// Contents that were heard before, within the window.
    pub duplicates: u64,
    /// What was too long, or too much at once.
    pub dropped: u64,
}

#[derive(Debug)]
struct Waiting {
    due: Time,
    to: Side,
    hash: [u8; 32],
    content: Vec<u8>,
}

/// The machine.
#[derive(Debug)]
pub(super) struct Crossing {
    window: Duration,
    standby: Duration,
    seen: BTreeMap<[u8; 32], Time>,
    ages: VecDeque<(Time, [u8; 32])>,
    waiting: VecDeque<Waiting>,
    pub(super) crossed: Crossed,
}

impl Crossing {
    /// A content crosses once within `window`, and not before `standby`.
    pub(super) fn new(window: Duration, standby: Duration) -> Self {
        let (seen, ages, waiting) = (BTreeMap::new(), VecDeque::new(), VecDeque::new());
        Self { window, standby, seen, ages, waiting, crossed: Crossed::default() }
    }

    /// Something was heard on one side.
    pub(super) fn on_heard(&mut self, now: Time, from: Side, content: Vec<u8>) {
        self.forget(now);
        let hash: [u8; 32] = blake3::hash(&content).into();
        if self.seen.contains_key(&hash) {
            self.crossed.duplicates += 1;
            // Another bridge has carried it here.
            self.waiting.retain(|waiting| waiting.hash != hash || waiting.to != from);
            return;
        }
        if self.waiting.len() >= WAITING_MAX {
            self.crossed.dropped += 1;
            return;
        }
        self.seen.insert(hash, now);
        self.ages.push_back((now, hash));
        let (due, to) = (now + self.standby, from.other());
        self.waiting.push_back(Waiting { due, to, hash, content });
    }

    fn forget(&mut self, now: Time) {
        while let Some((at, hash)) = self.ages.front().copied() {
            if now.since(at) < self.window && self.ages.len() < SEEN_MAX {
                break;
            }
            self.ages.pop_front();
            self.seen.remove(&hash);
        }
    }

    /// What crosses now, and to which side.
    pub(super) fn poll(&mut self, now: Time) -> Option<(Side, Vec<u8>)> {
        // All wait equally long, so the first is due first.
        if self.waiting.front().is_none_or(|first| first.due > now) {
            return None;
        }
        self.waiting.pop_front().map(|waiting| (waiting.to, waiting.content))
    }

    pub(super) fn next_timeout(&self) -> Option<Time> {
        self.waiting.front().map(|first| first.due)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::ZERO + Duration::from_millis(ms)
    }
    fn crossing(standby: u64) -> Crossing {
        Crossing::new(Duration::from_secs(5), Duration::from_millis(standby))
    }
    fn hear(crossing: &mut Crossing, ms: u64, from: Side, text: &str) {
        crossing.on_heard(at(ms), from, text.as_bytes().to_vec());
    }
    fn crosses(crossing: &mut Crossing, ms: u64) -> Vec<(Side, String)> {
        let next = std::iter::from_fn(|| crossing.poll(at(ms)));
        next.map(|(side, content)| (side, String::from_utf8(content).unwrap())).collect()
    }

    #[test]
    fn a_content_crosses_once_within_the_window_and_never_comes_back() {
        let mut bridge = crossing(0);
        hear(&mut bridge, 0, Side::Plain, "a");
        hear(&mut bridge, 1, Side::Plain, "a");
        assert_eq!(crosses(&mut bridge, 1), [(Side::Group, "a".to_owned())]);
        hear(&mut bridge, 2, Side::Group, "a");
        assert_eq!(crosses(&mut bridge, 2), []);
        assert_eq!(bridge.crossed.duplicates, 2);
        hear(&mut bridge, 5_000, Side::Group, "a");
        assert_eq!(crosses(&mut bridge, 5_000), [(Side::Plain, "a".to_owned())]);
    }

    #[test]
    fn who_stands_by_carries_only_what_no_other_bridge_has_carried() {
        let mut bridge = crossing(300);
        hear(&mut bridge, 0, Side::Plain, "carried");
        hear(&mut bridge, 10, Side::Group, "left");
        hear(&mut bridge, 20, Side::Group, "carried");
        assert_eq!(bridge.next_timeout(), Some(at(310)));
        assert_eq!(crosses(&mut bridge, 309), []);
        assert_eq!(crosses(&mut bridge, 310), [(Side::Plain, "left".to_owned())]);
    }

    #[test]
    fn what_is_too_much_at_once_is_dropped_and_counted() {
        let mut bridge = crossing(300);
        (0..WAITING_MAX + 2).for_each(|n| hear(&mut bridge, 0, Side::Plain, &n.to_string()));
        assert_eq!(bridge.crossed.dropped, 2);
        assert_eq!(crosses(&mut bridge, 300).len(), WAITING_MAX);
        assert!(bridge.seen.len() == WAITING_MAX && bridge.ages.len() == WAITING_MAX);
    }
}
