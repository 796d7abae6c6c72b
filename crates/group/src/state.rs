//! What a node announces: of each publisher heard, which objects it holds whole, as the newest and
//! the gaps below it; which nodes it hears; and whom it asks to announce, too.
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
//!
//! An announcement that asks somebody to speak, or has gaps of which it wants nothing, is of a second
//! form (`EXACT`), which earlier versions pass over: behind the nodes heard come a number (8) and as
//! many node ids, who are to announce soon; and a gap's number is twice as many, and one more when
//! nothing in it is wanted.

use crate::varint::{array, put, take};
use alloc::vec::Vec;
use fanfare_proto::{NodeId, Rumour, RunSet};
use fanfare_wire::{FecId, GroupSize, InstanceId, ObjectTransportId, QuantizedRtt};

/// Nodes named as heard, at most; they take turns.
pub(crate) const HEARD_MAX: usize = 32;
/// Nodes asked to announce in one announcement, at most: a quarter of a frame.
const CALLED_MAX: usize = 80;
/// Set when the node asks for what it lacks: others need not mind the gaps of one that does not.
const ASKS: u8 = 0x80;
/// Objects spoken of in one entry: half of what transport ids can tell apart.
pub(crate) const REACH_MAX: u64 = 0x7fff;
/// Bytes of an entry besides its gaps, at most.
const ENTRY: usize = 4 + 2 + 1 + 1 + 1 + 2 + 3 + 3;

/// Objects that are not held, counted from the newest down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Gap {
    pub(crate) first: u64,
    pub(crate) end: u64,
    /// They are not asked for, either.
    pub(crate) unwanted: bool,
}

/// What is said of one publisher. Indices are counted from the newest down, which is 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Holding {
    pub(crate) rumour: Rumour,
    pub(crate) reach: u64,
    /// From the newest (0) down.
    pub(crate) gaps: Vec<Gap>,
}

impl Holding {
    /// Of the objects `floor..=newest`, those in `whole` are held; of the others, those in `settled`
    /// are not wanted.
    pub(crate) fn of(
        rumour: Rumour,
        (floor, newest): (u64, u64),
        whole: &RunSet,
        settled: &RunSet,
    ) -> Self {
        let floor = floor.max(newest.saturating_sub(REACH_MAX - 1));
        let mut gaps = Vec::new();
        let down = |first, end, unwanted| Gap {
            first: newest + 1 - end,
            end: newest + 1 - first,
            unwanted,
        };
        for (first, end) in whole.gaps(floor, newest + 1) {
            let mut at = first;
            for (lacking, until) in settled.gaps(first, end) {
                if at < lacking {
                    gaps.push(down(at, lacking, true));
                }
                gaps.push(down(lacking, until, false));
                at = until;
            }
            if at < end {
                gaps.push(down(at, end, true));
            }
        }
        gaps.reverse();
        Self { rumour, reach: newest + 1 - floor, gaps }
    }

    /// What is held, when `newest` is the index that the newest object has here.
    pub(crate) fn held(&self, newest: u64) -> RunSet {
        self.without(newest, |_| true)
    }

    /// What is not lacking: held, or not wanted.
    pub(crate) fn settled(&self, newest: u64) -> RunSet {
        self.without(newest, |gap| !gap.unwanted)
    }

    fn without(&self, newest: u64, leave_out: impl Fn(&Gap) -> bool) -> RunSet {
        let mut all = RunSet::default();
        let index = |down: u64| (newest + 1).saturating_sub(down);
        all.insert(index(self.reach), newest + 1);
        let gaps = self.gaps.iter().filter(|gap| leave_out(gap));
        gaps.for_each(|gap| all.remove(index(gap.end), index(gap.first)));
        all
    }

    /// Appends it, with as many gaps as fit into `room`; what lies below the last is left out.
    fn append(&self, exact: bool, room: usize, out: &mut Vec<u8>) {
        let Rumour { sender, instance, grtt, backoff, gsize, fec_id, newest } = self.rumour;
        out.extend_from_slice(&sender.0.to_be_bytes());
        out.extend_from_slice(&instance.0.to_be_bytes());
        out.extend_from_slice(&[grtt.0, backoff << 4 | gsize.0 & 0x0f, fec_id.to_byte()]);
        out.extend_from_slice(&newest.0.to_be_bytes());
        let (mut list, mut count, mut at) = (Vec::new(), 0, 0);
        let mut reach = self.reach;
        for &Gap { first, end, unwanted } in &self.gaps {
            let (before, length) = (list.len(), end - first);
            put(first - at, &mut list);
            put(if exact { 2 * length + u64::from(unwanted) } else { length }, &mut list);
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

    fn take(exact: bool, bytes: &mut &[u8]) -> Option<Self> {
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
            let length = take(bytes)?;
            let (length, unwanted) =
                if exact { (length / 2, length % 2 == 1) } else { (length, false) };
            let end = first.checked_add(length)?;
            // Runs are in order, not empty, and within reach: so there are at most `reach` of them.
            if end <= first || end > reach {
                return None;
            }
            gaps.push(Gap { first, end, unwanted });
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
    /// These are to announce soon what they hold.
    pub(crate) called: Vec<NodeId>,
    pub(crate) holdings: Vec<Holding>,
}

impl State {
    /// Whether it takes the form that earlier versions do not read.
    pub(crate) fn is_exact(&self) -> bool {
        let unwanted = |holding: &Holding| holding.gaps.iter().any(|gap| gap.unwanted);
        !self.called.is_empty() || self.holdings.iter().any(unwanted)
    }

    /// Appends as much as fits into `room` bytes; gives the number of publishers spoken of.
    pub(crate) fn append(&self, room: usize, out: &mut Vec<u8>) -> usize {
        let (start, exact) = (out.len(), self.is_exact());
        let heard = self.hears.len().min(HEARD_MAX);
        out.push(heard as u8 | if self.asks { ASKS } else { 0 });
        self.hears[..heard].iter().for_each(|node| out.extend_from_slice(&node.0.to_be_bytes()));
        if exact {
            let called = self.called.len().min(CALLED_MAX);
            out.push(called as u8);
            self.called[..called]
                .iter()
                .for_each(|node| out.extend_from_slice(&node.0.to_be_bytes()));
        }
        for (number, holding) in self.holdings.iter().enumerate() {
            let left = room.saturating_sub(out.len() - start);
            if left < ENTRY {
                return number;
            }
            holding.append(exact, left, out);
        }
        self.holdings.len()
    }

    /// Reads one, `exact` or not; `None` when it contradicts itself.
    pub(crate) fn parse(exact: bool, mut bytes: &[u8]) -> Option<Self> {
        let [heard] = array(&mut bytes)?;
        let mut state = Self { asks: heard & ASKS != 0, ..Self::default() };
        for _ in 0..heard & !ASKS {
            state.hears.push(NodeId(u32::from_be_bytes(array(&mut bytes)?)));
        }
        let [called] = if exact { array(&mut bytes)? } else { [0] };
        for _ in 0..called {
            state.called.push(NodeId(u32::from_be_bytes(array(&mut bytes)?)));
        }
        while !bytes.is_empty() {
            state.holdings.push(Holding::take(exact, &mut bytes)?);
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

    fn none() -> RunSet {
        RunSet::default()
    }

    fn lacking(first: u64, end: u64) -> Gap {
        Gap { first, end, unwanted: false }
    }

    fn speaking_of(holdings: Vec<Holding>, asks: bool) -> State {
        State { asks, holdings, ..State::default() }
    }

    fn runs(list: &[(u64, u64)]) -> RunSet {
        let mut set = RunSet::default();
        list.iter().for_each(|&(first, end)| set.insert(first, end));
        set
    }

    #[test]
    fn golden_bytes_of_one_publisher_with_two_gaps() {
        let holding = Holding::of(rumour(300), (10, 300), &runs(&[(10, 20), (22, 300)]), &none());
        assert_eq!(
            (holding.reach, &holding.gaps[..]),
            (291, &[lacking(0, 1), lacking(279, 281)][..])
        );
        let state = State { hears: vec![NodeId(7)], ..speaking_of(vec![holding], true) };
        let mut bytes = Vec::new();
        assert_eq!(state.append(1400, &mut bytes), 1);
        let golden = [
            0x81, 0, 0, 0, 7, 0x0a, 0, 0, 1, 0x12, 0x34, 0xa6, 0x42, 5, 1, 0x2c, 0xa3, 2, 2, 0, 1,
            0x96, 2, 2,
        ];
        assert_eq!(bytes, golden);
        assert_eq!(State::parse(false, &bytes), Some(state));
    }

    #[test]
    fn golden_bytes_of_an_announcement_that_calls_a_node_and_does_not_want_all() {
        let settled = runs(&[(10, 25), (40, 301)]);
        let holding = Holding::of(rumour(300), (10, 300), &runs(&[(10, 20), (50, 300)]), &settled);
        let unwanted = |first, end| Gap { first, end, unwanted: true };
        let gaps = [unwanted(0, 1), unwanted(251, 261), lacking(261, 276), unwanted(276, 281)];
        assert_eq!(holding.gaps, gaps);
        let state = State { called: vec![NodeId(9)], ..speaking_of(vec![holding], true) };
        assert!(state.is_exact());
        let mut bytes = Vec::new();
        state.append(1400, &mut bytes);
        let golden = [
            0x80, 1, 0, 0, 0, 9, 0x0a, 0, 0, 1, 0x12, 0x34, 0xa6, 0x42, 5, 1, 0x2c, 0xa3, 2, 4, 0,
            3, 0xfa, 1, 21, 0, 30, 0, 11,
        ];
        assert_eq!(bytes, golden);
        let read = State::parse(true, &bytes).unwrap();
        assert_eq!(read, state);
        let told = |set: RunSet| set.iter().collect::<Vec<_>>();
        assert_eq!(told(read.holdings[0].held(300)), [(10, 20), (50, 300)]);
        assert_eq!(told(read.holdings[0].settled(300)), [(10, 25), (40, 301)]);
    }

    #[test]
    fn what_is_held_is_told_exactly() {
        let whole = runs(&[(100, 150), (160, 161), (170, 201)]);
        let holding = Holding::of(rumour(200), (100, 200), &whole, &none());
        let held = holding.held(200);
        assert_eq!(held.iter().collect::<Vec<_>>(), whole.iter().collect::<Vec<_>>());
    }

    #[test]
    fn where_gaps_do_not_fit_less_is_spoken_of_but_nothing_wrong() {
        let odd: Vec<(u64, u64)> = (0..500).map(|n| (2 * n + 1, 2 * n + 2)).collect();
        let holding = Holding::of(rumour(999), (0, 999), &runs(&odd), &none());
        let mut bytes = Vec::new();
        speaking_of(vec![holding], false).append(100, &mut bytes);
        assert!(bytes.len() <= 100);
        let read = State::parse(false, &bytes).unwrap().holdings.remove(0);
        assert!(read.reach > 50 && read.reach < 1000);
        let held = read.held(999);
        assert!((0..1000).all(|n| !held.contains(n) || n % 2 == 1));
        assert!((1000 - read.reach..1000).all(|n| held.contains(n) == (n % 2 == 1)));
    }

    #[test]
    fn publishers_that_find_no_room_are_left_for_the_next_announcement() {
        let holding = Holding::of(rumour(1), (0, 1), &runs(&[(0, 2)]), &none());
        let state = speaking_of(vec![holding; 10], false);
        assert_eq!(state.append(60, &mut Vec::new()), 4);
    }

    #[test]
    fn gaps_out_of_reach_or_out_of_order_are_refused() {
        let mut bytes = Vec::new();
        let holding = Holding::of(rumour(300), (10, 300), &runs(&[(10, 20), (22, 300)]), &none());
        speaking_of(vec![holding], false).append(1400, &mut bytes);
        let mut far = bytes.clone();
        *far.last_mut().unwrap() = 100;
        assert_eq!(State::parse(false, &far), None);
        let mut empty = bytes.clone();
        *empty.last_mut().unwrap() = 0;
        assert_eq!(State::parse(false, &empty), None);
        // One byte is a state that speaks of no publisher.
        let cut = (1..bytes.len()).filter(|length| *length != 1);
        assert!(
            cut.map(|length| State::parse(false, &bytes[..length])).all(|state| state.is_none())
        );
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_panic(exact: bool, bytes: Vec<u8>) {
            if let Some(state) = State::parse(exact, &bytes) {
                let mut out = Vec::new();
                state.append(100_000, &mut out);
            }
        }
    }
}
