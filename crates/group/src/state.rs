//! What a node announces: of each publisher heard, which objects it holds whole, as the newest and
//! the gaps below it; and which nodes it hears.
//!
//! ```text
//! asks (1) nodes heard (7), node id (32) …
//! | per publisher: node id (32) | instance (16) | grtt (8) | backoff (4) gsize (4) | fec id (8)
//! |                newest object (16) | reach (varint) | gaps (varint), per gap: above (varint), gap (varint)
//! ```
//!
//! `reach` is how many objects, from the newest down, are spoken of. Gaps come from the newest down:
//! how many objects are held above each, and how many it lacks. Numbers per publisher are dense, so
//! this says exactly what differs, in a few bytes.

use crate::varint::{array, put, take};
use alloc::vec::Vec;
use fanfare_proto::{NodeId, Rumour, RunSet};
use fanfare_wire::{FecId, GroupSize, InstanceId, ObjectTransportId, QuantizedRtt};

/// Nodes named as heard, at most; they take turns.
pub(crate) const HEARD_MAX: usize = 32;
/// Set when the node asks for what it lacks: others need not mind the gaps of one that does not.
const ASKS: u8 = 0x80;
/// Objects spoken of in one entry: half of what transport ids can tell apart.
pub(crate) const REACH_MAX: u64 = 0x7fff;
/// Bytes of an entry besides its gaps, at most.
const ENTRY: usize = 4 + 2 + 1 + 1 + 1 + 2 + 3 + 3;

/// What is said of one publisher. Indices are counted from the newest down, which is 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Holding {
    pub(crate) rumour: Rumour,
    pub(crate) reach: u64,
    /// Runs (first, end), from the newest (0) down, that are not held.
    pub(crate) gaps: Vec<(u64, u64)>,
}

impl Holding {
    /// Of the objects `floor..=newest`, those in `whole` are held.
    pub(crate) fn of(rumour: Rumour, (floor, newest): (u64, u64), whole: &RunSet) -> Self {
        let floor = floor.max(newest.saturating_sub(REACH_MAX - 1));
        let gaps = whole.gaps(floor, newest + 1);
        let mut gaps: Vec<(u64, u64)> =
            gaps.map(|(first, end)| (newest + 1 - end, newest + 1 - first)).collect();
        gaps.reverse();
        Self { rumour, reach: newest + 1 - floor, gaps }
    }

    /// What is held, when `newest` is the index that the newest object has here.
    pub(crate) fn held(&self, newest: u64) -> RunSet {
        let mut held = RunSet::default();
        let index = |down: u64| (newest + 1).saturating_sub(down);
        held.insert(index(self.reach), newest + 1);
        self.gaps.iter().for_each(|&(first, end)| held.remove(index(end), index(first)));
        held
    }

    /// Appends it, with as many gaps as fit into `room`; what lies below the last is left out.
    fn append(&self, room: usize, out: &mut Vec<u8>) {
        let Rumour { sender, instance, grtt, backoff, gsize, fec_id, newest } = self.rumour;
        out.extend_from_slice(&sender.0.to_be_bytes());
        out.extend_from_slice(&instance.0.to_be_bytes());
        out.extend_from_slice(&[grtt.0, backoff << 4 | gsize.0 & 0x0f, fec_id.to_byte()]);
        out.extend_from_slice(&newest.0.to_be_bytes());
        let (mut list, mut count, mut at) = (Vec::new(), 0, 0);
        let mut reach = self.reach;
        for &(first, end) in &self.gaps {
            let before = list.len();
            put(first - at, &mut list);
            put(end - first, &mut list);
            if ENTRY + list.len() > room {
                list.truncate(before);
                reach = first;
                break;
            }
            (count, at) = (count + 1, end);
        }
        put(reach, out);
        put(count, out);
        out.extend_from_slice(&list);
    }

    fn take(bytes: &mut &[u8]) -> Option<Self> {
        let sender = NodeId(u32::from_be_bytes(array(bytes)?));
        let instance = InstanceId(u16::from_be_bytes(array(bytes)?));
        let [grtt, nibbles, fec_id] = array(bytes)?;
        let newest = ObjectTransportId(u16::from_be_bytes(array(bytes)?));
        let (grtt, backoff) = (QuantizedRtt(grtt), nibbles >> 4);
        let (gsize, fec_id) = (GroupSize(nibbles & 0x0f), FecId::from_byte(fec_id).ok()?);
        let rumour = Rumour { sender, instance, grtt, backoff, gsize, fec_id, newest };
        let reach = take(bytes).filter(|reach| *reach <= REACH_MAX)?;
        let count = take(bytes)?;
        let (mut gaps, mut at) = (Vec::new(), 0_u64);
        for _ in 0..count {
            let first = at.checked_add(take(bytes)?)?;
            let end = first.checked_add(take(bytes)?)?;
            // Runs are in order, not empty, and within reach: so there are at most `reach` of them.
            if end <= first || end > reach {
                return None;
            }
            gaps.push((first, end));
            at = end;
        }
        Some(Self { rumour, reach, gaps })
    }
}

/// An announcement.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct State {
    pub(crate) asks: bool,
    pub(crate) hears: Vec<NodeId>,
    pub(crate) holdings: Vec<Holding>,
}

impl State {
    /// Appends as much as fits into `room` bytes; gives the number of publishers spoken of.
    pub(crate) fn append(&self, room: usize, out: &mut Vec<u8>) -> usize {
        let start = out.len();
        let heard = self.hears.len().min(HEARD_MAX);
        out.push(heard as u8 | if self.asks { ASKS } else { 0 });
        self.hears[..heard].iter().for_each(|node| out.extend_from_slice(&node.0.to_be_bytes()));
        for (number, holding) in self.holdings.iter().enumerate() {
            let left = room.saturating_sub(out.len() - start);
            if left < ENTRY {
                return number;
            }
            holding.append(left, out);
        }
        self.holdings.len()
    }

    /// Reads one; `None` when it contradicts itself.
    pub(crate) fn parse(mut bytes: &[u8]) -> Option<Self> {
        let [heard] = array(&mut bytes)?;
        let mut state = Self { asks: heard & ASKS != 0, ..Self::default() };
        for _ in 0..heard & !ASKS {
            state.hears.push(NodeId(u32::from_be_bytes(array(&mut bytes)?)));
        }
        while !bytes.is_empty() {
            state.holdings.push(Holding::take(&mut bytes)?);
        }
        Some(state)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use alloc::vec;
    use proptest::prelude::*;

    pub(crate) fn rumour(newest: u16) -> Rumour {
        Rumour {
            sender: NodeId(0x0a00_0001),
            instance: InstanceId(0x1234),
            grtt: QuantizedRtt(0xa6),
            backoff: 4,
            gsize: GroupSize(2),
            fec_id: FecId::ReedSolomon8,
            newest: ObjectTransportId(newest),
        }
    }

    fn runs(list: &[(u64, u64)]) -> RunSet {
        let mut set = RunSet::default();
        list.iter().for_each(|&(first, end)| set.insert(first, end));
        set
    }

    #[test]
    fn golden_bytes_of_one_publisher_with_two_gaps() {
        let holding = Holding::of(rumour(300), (10, 300), &runs(&[(10, 20), (22, 300)]));
        assert_eq!((holding.reach, &holding.gaps[..]), (291, &[(0, 1), (279, 281)][..]));
        let state = State { asks: true, hears: vec![NodeId(7)], holdings: vec![holding] };
        let mut bytes = Vec::new();
        assert_eq!(state.append(1400, &mut bytes), 1);
        let golden = [
            0x81, 0, 0, 0, 7, 0x0a, 0, 0, 1, 0x12, 0x34, 0xa6, 0x42, 5, 1, 0x2c, 0xa3, 2, 2, 0, 1,
            0x96, 2, 2,
        ];
        assert_eq!(bytes, golden);
        assert_eq!(State::parse(&bytes), Some(state));
    }

    #[test]
    fn what_is_held_is_told_exactly() {
        let whole = runs(&[(100, 150), (160, 161), (170, 201)]);
        let holding = Holding::of(rumour(200), (100, 200), &whole);
        let held = holding.held(200);
        assert_eq!(held.iter().collect::<Vec<_>>(), whole.iter().collect::<Vec<_>>());
    }

    #[test]
    fn where_gaps_do_not_fit_less_is_spoken_of_but_nothing_wrong() {
        let odd: Vec<(u64, u64)> = (0..500).map(|n| (2 * n + 1, 2 * n + 2)).collect();
        let holding = Holding::of(rumour(999), (0, 999), &runs(&odd));
        let mut bytes = Vec::new();
        State { asks: false, hears: vec![], holdings: vec![holding] }.append(100, &mut bytes);
        assert!(bytes.len() <= 100);
        let read = State::parse(&bytes).unwrap().holdings.remove(0);
        assert!(read.reach > 50 && read.reach < 1000);
        let held = read.held(999);
        assert!((0..1000).all(|n| !held.contains(n) || n % 2 == 1));
        assert!((1000 - read.reach..1000).all(|n| held.contains(n) == (n % 2 == 1)));
    }

    #[test]
    fn publishers_that_find_no_room_are_left_for_the_next_announcement() {
        let holding = Holding::of(rumour(1), (0, 1), &runs(&[(0, 2)]));
        let state = State { asks: false, hears: vec![], holdings: vec![holding; 10] };
        assert_eq!(state.append(60, &mut Vec::new()), 4);
    }

    #[test]
    fn gaps_out_of_reach_or_out_of_order_are_refused() {
        let mut bytes = Vec::new();
        let holding = Holding::of(rumour(300), (10, 300), &runs(&[(10, 20), (22, 300)]));
        State { asks: false, hears: vec![], holdings: vec![holding] }.append(1400, &mut bytes);
        let mut far = bytes.clone();
        *far.last_mut().unwrap() = 100;
        assert_eq!(State::parse(&far), None);
        let mut empty = bytes.clone();
        *empty.last_mut().unwrap() = 0;
        assert_eq!(State::parse(&empty), None);
        // One byte is a state that speaks of no publisher.
        let cut = (1..bytes.len()).filter(|length| *length != 1);
        assert!(cut.map(|length| State::parse(&bytes[..length])).all(|state| state.is_none()));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_panic(bytes: Vec<u8>) {
            if let Some(state) = State::parse(&bytes) {
                let mut out = Vec::new();
                state.append(100_000, &mut out);
            }
        }
    }
}
