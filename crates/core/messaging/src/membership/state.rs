//! The announcement of a node. For each publisher heard it says which complete objects the node
//! has: the newest, and the gaps below it. It also says which nodes it hears, and which nodes it
//! asks to announce themselves.
//!
//! ```text
//! flags (8): 01 it requests what it lacks; 02 it names all nodes that it hears; 04 it is short;
//!            08 it hears one source alone
//! | per node, by id: id less the one before (varint); 0 of an earlier instance of the publisher before
//! |   how (8): 01 it is heard; 02 it is to announce soon (node ffffffff: all not heard are); 04 it publishes;
//! |            08 its timing and code are those of the publisher before; 10 there are gaps;
//! |            e0 the share of its messages that arrives, in sevenths; who is heard and has none: all
//! |   if 04: instance (16) | grtt (8) | backoff (4) gsize (4) | fec id (8), unless 08
//! |          newest object (16) | reach (varint)
//! |          in a short one: newest object's low byte, and nothing else
//! |   if 10: gaps (varint), per gap: objects held above it (varint),
//! |          2 x objects not held + 1 if they are not wanted (varint)
//! | in a short one: check (32), of all publishers' ids, instances and newest objects
//! ```
//!
//! `reach` is how many objects the announcement covers, from the newest down. Gaps come from the
//! newest down. The numbers of a publisher are dense, so a few bytes say exactly what differs. If
//! there is no room for all, nodes and publishers take turns.
//!
//! A short announcement is for nodes that know the publishers and their newest objects, as most
//! nodes do most of the time. It covers the objects down to its last gap, and at least [`NEAR`]
//! objects. A node for which the check does not match learns only who hears whom.

use crate::{
    frames::slice,
    frames::varint::{array, put, take},
    membership::delivery_ratio::{DeliveryRatio, HeardNode},
};
use alloc::{collections::BTreeMap, vec::Vec};
use fanfare_proto::{NodeId, ObjectKey, RunSet, SenderSummary};
use fanfare_wire::{FecId, GroupSize, InstanceId, ObjectTransportId, QuantizedRtt};

/// Nodes named as heard, at most; they take turns.
pub(crate) const HEARD_MAX: usize = 32;
/// Nodes asked to announce in one announcement, at most: a quarter of a frame.
pub(crate) const CALLED_MAX: usize = 80;
/// Objects of each publisher that a short announcement speaks of at least: with a report every ten seconds more than go
/// by from one long one to the next.
const NEAR: u64 = 16;
/// Bytes of its check. Half as many would let one in 65,536 pass that speaks of other objects than is thought.
const CHECK: usize = 4;
/// Of an announcement.
const ASKS: u8 = 0x01;
const ALL: u8 = 0x02;
const SHORT: u8 = 0x04;
const ONE_SOURCE: u8 = 0x08;
/// Of a node in it.
const HEARD: u8 = 0x01;
const CALLED: u8 = 0x02;
const PUBLISHES: u8 = 0x04;
const AS_BEFORE: u8 = 0x08;
const GAPS: u8 = 0x10;
const SHARE_SHIFT: u8 = 5;
/// Bytes of a node's id and how it stands, at most.
const NODE: usize = 5 + 1;
/// Objects spoken of in one entry: half of what transport ids can tell apart.
pub(crate) const REACH_MAX: u64 = 0x7fff;
/// Bytes of what is said of a publisher besides its gaps, at most.
const ENTRY: usize = NODE + 2 + 1 + 1 + 1 + 2 + 3 + 3;

/// Objects that are not held, counted from the newest down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Gap {
    pub(crate) first: u64,
    pub(crate) end: u64,
    /// They are not requested, either.
    pub(crate) unwanted: bool,
}

/// The object that is so many down from the newest, counted from 1.
fn index(newest: u64, down: u64) -> u64 {
    (newest + 1).saturating_sub(down)
}

/// What is said of one publisher. Indices are counted from the newest down, which is 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Holding {
    pub(crate) summary: SenderSummary,
    pub(crate) reach: u64,
    /// From the newest (0) down.
    pub(crate) gaps: Vec<Gap>,
}

impl Holding {
    /// Of the objects `floor..=newest`, those in `whole` are held; of the others, those in `settled`
    /// are not wanted.
    pub(crate) fn of(
        summary: SenderSummary,
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
        Self { summary, reach: newest + 1 - floor, gaps }
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
        let (reach, end) = self.spoken_of(newest);
        all.insert(reach, end);
        let gaps = self.gaps.iter().filter(|gap| leave_out(gap));
        gaps.for_each(|gap| all.remove(index(newest, gap.end), index(newest, gap.first)));
        all
    }

    /// The objects spoken of (first, end).
    pub(crate) fn spoken_of(&self, newest: u64) -> (u64, u64) {
        (index(newest, self.reach), newest + 1)
    }

    /// What it lacks, the newest first: of what is held elsewhere it says nothing, or that it requests it.
    pub(crate) fn lacking(&self, newest: u64) -> impl Iterator<Item = (u64, u64)> + '_ {
        let gaps = self.gaps.iter().filter(|gap| !gap.unwanted);
        let gaps = gaps.map(move |gap| (index(newest, gap.end), index(newest, gap.first)));
        core::iter::once((newest + 1, u64::MAX)).chain(gaps)
    }

    /// As much of it as fits into `room` bytes: what lies below the last gap that does is left out.
    fn cut(&self, room: usize) -> (Self, usize) {
        let (mut list, mut at) = (Vec::new(), 0);
        let mut cut = Self { gaps: Vec::new(), ..self.clone() };
        for gap in &self.gaps {
            let before = list.len();
            put_gap(gap, at, &mut list);
            if ENTRY + list.len() > room {
                list.truncate(before);
                cut.reach = gap.first;
                break;
            }
            cut.gaps.push(*gap);
            at = gap.end;
        }
        (cut, ENTRY + list.len())
    }

    /// Whether what is said of how it speaks is the same.
    fn is_alike(&self, other: &SenderSummary) -> bool {
        let SenderSummary { grtt, backoff, gsize, fec_id, .. } = self.summary;
        (grtt, backoff, gsize, fec_id) == (other.grtt, other.backoff, other.gsize, other.fec_id)
    }

    /// The same as a short announcement says it: of the newest objects, and of none that nothing is said of here.
    fn near(mut self) -> Self {
        let told = self.gaps.last().map_or(0, |gap| gap.end);
        if self.reach < NEAR {
            match self.gaps.last_mut().filter(|gap| gap.unwanted && gap.end == self.reach) {
                Some(gap) => gap.end = NEAR,
                None => self.gaps.push(Gap { first: self.reach, end: NEAR, unwanted: true }),
            }
        }
        self.reach = told.max(NEAR);
        self
    }

    fn append(&self, as_before: bool, out: &mut Vec<u8>) {
        let SenderSummary { instance, grtt, backoff, gsize, fec_id, newest, .. } = self.summary;
        out.extend_from_slice(&instance.0.to_be_bytes());
        if !as_before {
            out.extend_from_slice(&[grtt.0, backoff << 4 | gsize.0 & 0x0f, fec_id.to_byte()]);
        }
        out.extend_from_slice(&newest.0.to_be_bytes());
        put(self.reach, out);
        self.append_gaps(out);
    }

    fn append_gaps(&self, out: &mut Vec<u8>) {
        if !self.gaps.is_empty() {
            put(self.gaps.len() as u64, out);
        }
        self.gaps.iter().fold(0, |at, gap| {
            put_gap(gap, at, out);
            gap.end
        });
    }

    /// Of a node that publishes; `how` it does, and what was said of the publisher before.
    fn take(
        (sender, how): (NodeId, u8),
        before: Option<&SenderSummary>,
        bytes: &mut &[u8],
    ) -> Option<Self> {
        let instance = InstanceId(u16::from_be_bytes(array(bytes)?));
        let (grtt, backoff, gsize, fec_id) = if how & AS_BEFORE != 0 {
            let SenderSummary { grtt, backoff, gsize, fec_id, .. } = *before?;
            (grtt, backoff, gsize, fec_id)
        } else {
            let [grtt, nibbles, fec_id] = array(bytes)?;
            let gsize = GroupSize(nibbles & 0x0f);
            (QuantizedRtt(grtt), nibbles >> 4, gsize, FecId::from_byte(fec_id).ok()?)
        };
        let newest = ObjectTransportId(u16::from_be_bytes(array(bytes)?));
        let summary = SenderSummary { sender, instance, grtt, backoff, gsize, fec_id, newest };
        let reach = take(bytes).filter(|reach| *reach <= REACH_MAX)?;
        let gaps = take_gaps(how, reach, bytes)?;
        Some(Self { summary, reach, gaps })
    }

    /// Of a short announcement, where `known` is what is known of the publisher here. Without that nobody can use it.
    fn take_near(how: u8, known: Option<SenderSummary>, bytes: &mut &[u8]) -> Option<Option<Self>> {
        let [low] = array(bytes)?;
        let gaps = take_gaps(how, REACH_MAX, bytes)?;
        let reach = gaps.last().map_or(0, |gap| gap.end).max(NEAR);
        Some(known.map(|mut summary| {
            let ahead = low.wrapping_sub(summary.newest.0 as u8).cast_signed();
            summary.newest = ObjectTransportId(summary.newest.0.wrapping_add_signed(ahead.into()));
            Self { summary, reach, gaps }
        }))
    }
}

fn take_gaps(how: u8, reach: u64, bytes: &mut &[u8]) -> Option<Vec<Gap>> {
    let count = if how & GAPS != 0 { take(bytes)? } else { 0 };
    let (mut gaps, mut at) = (Vec::new(), 0_u64);
    for _ in 0..count {
        let first = at.checked_add(take(bytes)?)?;
        let length = take(bytes)?;
        let end = first.checked_add(length / 2)?;
        // Runs are in order, not empty, and within reach: so there are at most `reach` of them.
        if end <= first || end > reach {
            return None;
        }
        gaps.push(Gap { first, end, unwanted: length % 2 == 1 });
        at = end;
    }
    Some(gaps)
}

/// Of what a short announcement leaves out.
fn check<'a>(holdings: impl IntoIterator<Item = &'a Holding>) -> [u8; CHECK] {
    let (mut check, nobody) = (0, NodeId(0));
    for SenderSummary { sender, instance, newest: object, .. } in
        holdings.into_iter().map(|h| h.summary)
    {
        check = slice::digest(nobody, ObjectKey { sender, instance, object }, check);
    }
    check.to_be_bytes()
}

/// A gap, behind one that ended at `at`.
fn put_gap(gap: &Gap, at: u64, out: &mut Vec<u8>) {
    put(gap.first - at, out);
    put(2 * (gap.end - gap.first) + u64::from(gap.unwanted), out);
}

/// An announcement.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct State {
    pub(crate) asks: bool,
    pub(crate) hears: Vec<HeardNode>,
    /// Those counted on in `hears` are all that it hears.
    pub(crate) hears_all: bool,
    /// Flag: of datagrams it takes those of one address alone.
    pub(crate) one_source: bool,
    /// These are to announce soon what they hold.
    pub(crate) called: Vec<NodeId>,
    pub(crate) holdings: Vec<Holding>,
    /// Nothing is said of what is long past.
    pub(crate) short: bool,
    /// What it says of holdings is of no use here, since the check does not fit,
    pub(crate) unread: bool,
    /// or since it speaks of a publisher that is not known here. Only of one that was read.
    pub(crate) unknown: bool,
}

/// What is said of one node.
#[derive(Debug, Default)]
struct Line {
    how: u8,
    /// Of each of its instances, the one that it is in first. A short announcement speaks of that alone.
    holdings: Vec<Holding>,
}

impl State {
    /// Appends as much as fits into `room` bytes; gives the number of publishers spoken of. What does not fit as a
    /// whole is not short.
    pub(crate) fn append(&self, room: usize, out: &mut Vec<u8>) -> usize {
        let mut lines: BTreeMap<NodeId, Line> = BTreeMap::new();
        let counted = || self.hears.iter().filter(|hearing| hearing.counts);
        let heard = counted().take(HEARD_MAX);
        heard.for_each(|hearing| lines.entry(hearing.node).or_default().how |= HEARD);
        let called = self.called.iter().take(CALLED_MAX);
        called.for_each(|node| lines.entry(*node).or_default().how |= CALLED);
        let check_room = if self.short { CHECK } else { 0 };
        let (mut left, mut spoken) = (room.saturating_sub(1 + check_room + NODE * lines.len()), 0);
        let mut short = self.short;
        for whole in &self.holdings {
            if left < ENTRY {
                short = false;
                break;
            }
            let (holding, bytes) = whole.cut(left);
            short &= holding.reach == whole.reach;
            left -= bytes;
            spoken += 1;
            let node = holding.summary.sender;
            lines.entry(node).or_default().holdings.push(holding);
        }
        for HeardNode { node, share, .. } in &self.hears {
            // Who is heard little is named where something else is said of it: it costs nothing there.
            if let Some(line) = lines.get_mut(node) {
                line.how |= share.bits() << SHARE_SHIFT;
            }
        }
        let all = self.hears_all && counted().count() <= HEARD_MAX;
        let flag = |set, bit| if set { bit } else { 0 };
        let one_source = flag(self.one_source, ONE_SOURCE);
        out.push(flag(self.asks, ASKS) | flag(all, ALL) | flag(short, SHORT) | one_source);
        let told = self.holdings.iter().take(spoken);
        let mut sorted: Vec<&Holding> = told.collect();
        sorted.sort_by_key(|holding| holding.summary.sender);
        let check = short.then(|| check(sorted));
        let (mut last, mut before): (u32, Option<SenderSummary>) = (0, None);
        for (node, Line { mut how, holdings }) in lines {
            if holdings.is_empty() {
                put(u64::from(node.0 - last), out);
                out.push(how);
                last = node.0;
            }
            for holding in holdings {
                put(u64::from(node.0 - last), out);
                last = node.0;
                let holding = if short { holding.near() } else { holding };
                let as_before = before.is_some_and(|before| holding.is_alike(&before)) && !short;
                let gaps = flag(!holding.gaps.is_empty(), GAPS);
                out.push(how | PUBLISHES | flag(as_before, AS_BEFORE) | gaps);
                if short {
                    out.push(holding.summary.newest.0 as u8);
                    holding.append_gaps(out);
                } else {
                    holding.append(as_before, out);
                }
                (how, before) = (0, Some(holding.summary));
            }
        }
        out.extend(check.into_iter().flatten());
        spoken
    }

    /// True if the announcement that was written is short.
    pub(crate) fn is_short(bytes: &[u8]) -> bool {
        bytes.first().is_some_and(|flags| flags & SHORT != 0)
    }

    /// Reads one; `None` when it contradicts itself. `known` is what is known of a publisher here.
    pub(crate) fn parse(
        mut bytes: &[u8],
        known: &mut dyn FnMut(NodeId) -> Option<SenderSummary>,
    ) -> Option<Self> {
        let [flags] = array(&mut bytes)?;
        let (asks, hears_all, short) = (flags & ASKS != 0, flags & ALL != 0, flags & SHORT != 0);
        let one_source = flags & ONE_SOURCE != 0;
        let mut state = Self { asks, hears_all, short, one_source, ..Self::default() };
        let told = if short { bytes.split_off(bytes.len().checked_sub(CHECK)?..)? } else { &[] };
        let mut last: Option<u32> = None;
        while !bytes.is_empty() {
            let step = u32::try_from(take(&mut bytes)?).ok()?;
            let again = last.is_some() && step == 0;
            let id = last.unwrap_or(0).checked_add(step)?;
            last = Some(id);
            let [how] = array(&mut bytes)?;
            if how & PUBLISHES == 0 && how & (AS_BEFORE | GAPS) != 0 {
                return None;
            }
            // Of a node that was spoken of only another instance is.
            if again && (short || how & !(AS_BEFORE | GAPS) != PUBLISHES) {
                return None;
            }
            let (counts, told) = (how & HEARD != 0, DeliveryRatio::from_bits(how >> SHARE_SHIFT));
            let share =
                if counts && told == DeliveryRatio::NONE { DeliveryRatio::ALL } else { told };
            if share > DeliveryRatio::NONE {
                state.hears.push(HeardNode { node: NodeId(id), share, counts });
            }
            state.called.extend(Some(NodeId(id)).filter(|_| how & CALLED != 0));
            if how & PUBLISHES != 0 && short {
                let holding = Holding::take_near(how, known(NodeId(id)), &mut bytes)?;
                state.unknown |= holding.is_none();
                state.holdings.extend(holding);
            } else if how & PUBLISHES != 0 {
                let before = state.holdings.last().map(|holding| &holding.summary);
                let holding = Holding::take((NodeId(id), how), before, &mut bytes)?;
                let before = state.holdings.iter().rev().map(|told| told.summary);
                let incarnations: Vec<InstanceId> = before
                    .take_while(|told| told.sender == NodeId(id))
                    .map(|told| told.instance)
                    .collect();
                if again == incarnations.is_empty()
                    || incarnations.contains(&holding.summary.instance)
                {
                    return None;
                }
                state.holdings.push(holding);
            }
        }
        state.unread = state.unknown || short && check(&state.holdings) != told;
        if state.unread {
            state.holdings.clear();
        }
        (flags & !(ASKS | ALL | SHORT | ONE_SOURCE) == 0).then_some(state)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use alloc::vec;
    use proptest::prelude::*;

    pub(crate) fn summary(newest: u16) -> SenderSummary {
        SenderSummary {
            sender: NodeId(0x0a00_0001),
            instance: InstanceId(0x1234),
            grtt: QuantizedRtt(0xa6),
            backoff: 4,
            gsize: GroupSize(2),
            fec_id: FecId::ReedSolomon8,
            newest: ObjectTransportId(newest),
        }
    }

    /// Where nothing is known.
    fn parse(bytes: &[u8]) -> Option<State> {
        State::parse(bytes, &mut |_| None)
    }

    fn none() -> RunSet {
        RunSet::default()
    }

    fn lacking(first: u64, end: u64) -> Gap {
        Gap { first, end, unwanted: false }
    }

    fn speaking_of(holdings: Vec<Holding>, asks: bool) -> State {
        State { asks, hears_all: true, holdings, ..State::default() }
    }

    fn runs(list: &[(u64, u64)]) -> RunSet {
        let mut set = RunSet::default();
        list.iter().for_each(|&(first, end)| set.insert(first, end));
        set
    }

    #[test]
    fn golden_bytes_of_one_publisher_with_two_gaps() {
        let holding = Holding::of(summary(300), (10, 300), &runs(&[(10, 20), (22, 300)]), &none());
        assert_eq!(
            (holding.reach, &holding.gaps[..]),
            (291, &[lacking(0, 1), lacking(279, 281)][..])
        );
        let state =
            State { hears: vec![HeardNode::all_of(NodeId(7))], ..speaking_of(vec![holding], true) };
        let mut bytes = Vec::new();
        assert_eq!(state.append(1400, &mut bytes), 1);
        let golden = [
            0x03, 7, 0xe1, 0xfa, 0xff, 0xff, 0x4f, 0x14, 0x12, 0x34, 0xa6, 0x42, 5, 1, 0x2c, 0xa3,
            2, 2, 0, 2, 0x96, 2, 4,
        ];
        assert_eq!(bytes, golden);
        assert_eq!(parse(&bytes), Some(state));
    }

    #[test]
    fn golden_bytes_of_an_announcement_that_calls_a_node_and_does_not_want_all() {
        let settled = runs(&[(10, 25), (40, 301)]);
        let holding = Holding::of(summary(300), (10, 300), &runs(&[(10, 20), (50, 300)]), &settled);
        let unwanted = |first, end| Gap { first, end, unwanted: true };
        let gaps = [unwanted(0, 1), unwanted(251, 261), lacking(261, 276), unwanted(276, 281)];
        assert_eq!(holding.gaps, gaps);
        let state = State { called: vec![NodeId(9)], ..speaking_of(vec![holding], true) };
        let mut bytes = Vec::new();
        state.append(1400, &mut bytes);
        let golden = [
            0x03, 9, 0x02, 0xf8, 0xff, 0xff, 0x4f, 0x14, 0x12, 0x34, 0xa6, 0x42, 5, 1, 0x2c, 0xa3,
            2, 4, 0, 3, 0xfa, 1, 21, 0, 30, 0, 11,
        ];
        assert_eq!(bytes, golden);
        let read = parse(&bytes).unwrap();
        assert_eq!(read, state);
        let told = |set: RunSet| set.iter().collect::<Vec<_>>();
        assert_eq!(told(read.holdings[0].held(300)), [(10, 20), (50, 300)]);
        assert_eq!(told(read.holdings[0].settled(300)), [(10, 25), (40, 301)]);
    }

    fn short(holdings: Vec<Holding>) -> Vec<u8> {
        let (mut bytes, state) = (Vec::new(), State { short: true, ..speaking_of(holdings, true) });
        state.append(1400, &mut bytes);
        bytes
    }

    #[test]
    fn golden_bytes_of_a_short_one_leave_out_what_is_known() {
        let held = runs(&[(10, 20), (22, 299), (300, 301)]);
        let holding = |floor| Holding::of(summary(300), (floor, 300), &held, &none());
        let bytes = short(vec![holding(280)]);
        let golden = [7, 0x81, 0x80, 0x80, 0x50, 0x14, 44, 1, 1, 2];
        assert_eq!(bytes[..bytes.len() - CHECK], golden);
        for here in [300, 298, 301, 300 - 127, 300 + 128] {
            let read = State::parse(&bytes, &mut |_| Some(summary(here))).unwrap();
            let [told] = &read.holdings[..] else { panic!("it is read: {here}") };
            assert_eq!((told.summary.newest.0, told.reach, read.unread), (300, NEAR, false));
            assert_eq!(told.gaps, [lacking(1, 2)]);
        }
        let read = State::parse(&short(vec![holding(10)]), &mut |_| Some(summary(300))).unwrap();
        assert_eq!((read.holdings[0].reach, read.holdings[0].gaps.len()), (281, 2));
    }

    #[test]
    fn a_short_one_says_of_few_objects_that_there_are_no_others_to_ask_for() {
        let few = Holding::of(summary(3), (0, 3), &runs(&[(0, 2)]), &none());
        let read = State::parse(&short(vec![few]), &mut |_| Some(summary(3))).unwrap();
        let holding = &read.holdings[0];
        let list = |set: RunSet| set.iter().collect::<Vec<_>>();
        assert_eq!((holding.reach, list(holding.held(3))), (NEAR, vec![(0, 2)]));
        let none_lacks = Holding::of(summary(3), (0, 3), &runs(&[(0, 4)]), &none());
        let read = State::parse(&short(vec![none_lacks]), &mut |_| Some(summary(3))).unwrap();
        assert_eq!(read.holdings[0].lacking(3).collect::<Vec<_>>(), [(4, u64::MAX)]);
    }

    #[test]
    fn a_short_announcement_says_only_who_hears_whom_to_nodes_with_another_instance_or_far_behind()
    {
        let heard = State {
            hears: vec![HeardNode::all_of(NodeId(7))],
            short: true,
            ..speaking_of(
                vec![Holding::of(summary(300), (280, 300), &runs(&[(280, 301)]), &none())],
                true,
            )
        };
        let mut bytes = Vec::new();
        heard.append(1400, &mut bytes);
        let other = SenderSummary { instance: InstanceId(0x4321), ..summary(300) };
        for known in [Some(other), Some(summary(300 - 128)), Some(summary(300 + 129)), None] {
            let read = State::parse(&bytes, &mut |_| known).unwrap();
            assert_eq!((read.unread, read.unknown), (true, known.is_none()));
            assert_eq!((read.hears, read.holdings), (heard.hears.clone(), vec![]));
        }
    }

    #[test]
    fn several_instances_of_a_publisher_are_announced_once_each_and_not_in_short_ones() {
        let of = |instance| {
            let summary = SenderSummary { instance: InstanceId(instance), ..summary(300) };
            Holding::of(summary, (280, 300), &runs(&[(280, 301)]), &none())
        };
        let other = SenderSummary { sender: NodeId(7), ..summary(300) };
        let other = Holding::of(other, (280, 300), &runs(&[(280, 290)]), &none());
        // The instance that it is in comes first, whatever its number.
        let state = State {
            hears: vec![HeardNode::all_of(NodeId(0x0a00_0001))],
            ..speaking_of(vec![other, of(3), of(1)], true)
        };
        let mut bytes = Vec::new();
        assert_eq!(state.append(1400, &mut bytes), 3);
        assert_eq!(parse(&bytes), Some(state));
        let mut twice = Vec::new();
        speaking_of(vec![of(3), of(1), of(3)], true).append(1400, &mut twice);
        assert_eq!(parse(&twice), None);
        let mut short = Vec::new();
        State { short: true, ..speaking_of(vec![of(3), of(1)], true) }.append(1400, &mut short);
        assert_eq!(State::parse(&short, &mut |_| Some(summary(300))), None);
    }

    #[test]
    fn what_does_not_fit_as_a_whole_is_not_short() {
        let state = State { short: true, ..speaking_of(publishers(100), false) };
        let mut bytes = Vec::new();
        let spoken = state.append(200, &mut bytes);
        assert_eq!((bytes[0] & SHORT, spoken < 100, bytes.len() <= 200), (0, true, true));
    }

    #[test]
    fn what_is_held_is_told_exactly() {
        let whole = runs(&[(100, 150), (160, 161), (170, 201)]);
        let holding = Holding::of(summary(200), (100, 200), &whole, &none());
        let held = holding.held(200);
        assert_eq!(held.iter().collect::<Vec<_>>(), whole.iter().collect::<Vec<_>>());
    }

    #[test]
    fn when_gaps_do_not_fit_the_announcement_covers_less_but_stays_correct() {
        let odd: Vec<(u64, u64)> = (0..500).map(|n| (2 * n + 1, 2 * n + 2)).collect();
        let holding = Holding::of(summary(999), (0, 999), &runs(&odd), &none());
        let mut bytes = Vec::new();
        speaking_of(vec![holding], false).append(100, &mut bytes);
        assert!(bytes.len() <= 100);
        let read = parse(&bytes).unwrap().holdings.remove(0);
        assert!(read.reach > 50 && read.reach < 1000);
        let held = read.held(999);
        assert!((0..1000).all(|n| !held.contains(n) || n % 2 == 1));
        assert!((1000 - read.reach..1000).all(|n| held.contains(n) == (n % 2 == 1)));
    }

    fn publishers(count: u32) -> Vec<Holding> {
        let of = |n| {
            let summary = SenderSummary { sender: NodeId(100 + n), ..summary(n as u16) };
            Holding::of(summary, (0, 1), &runs(&[(0, 2)]), &none())
        };
        (0..count).map(of).collect()
    }

    #[test]
    fn golden_bytes_of_publishers_with_equal_parameters_are_eight_each() {
        let share = DeliveryRatio::from_bits(3);
        let hears = vec![HeardNode { node: NodeId(101), share, counts: true }];
        let state = State { hears, ..speaking_of(publishers(3), false) };
        let mut bytes = Vec::new();
        state.append(1400, &mut bytes);
        let golden = [
            &[0x02, 100, 0x04, 0x12, 0x34, 0xa6, 0x42, 5, 0, 0, 2][..],
            &[1, 0x6d, 0x12, 0x34, 0, 1, 2],
            &[1, 0x0c, 0x12, 0x34, 0, 2, 2],
        ];
        assert_eq!(bytes, golden.concat());
        assert_eq!(parse(&bytes), Some(state));
    }

    #[test]
    fn publishers_that_do_not_fit_are_in_the_next_announcement() {
        let state = speaking_of(publishers(10), false);
        let mut bytes = Vec::new();
        assert_eq!(state.append(4 * ENTRY + 1, &mut bytes), 4);
        assert!(bytes.len() <= 4 * ENTRY + 1);
        assert_eq!(parse(&bytes).unwrap().holdings, publishers(4));
    }

    #[test]
    fn an_announcement_that_omits_nodes_does_not_claim_to_be_complete() {
        let named = |count| {
            let hears = (1..=count).map(|n| HeardNode::all_of(NodeId(n))).collect();
            let mut bytes = Vec::new();
            State { hears, ..speaking_of(Vec::new(), true) }.append(1400, &mut bytes);
            let read = parse(&bytes).unwrap();
            (read.hears.iter().filter(|hearing| hearing.counts).count(), read.hears_all)
        };
        assert_eq!((named(32), named(33)), ((32, true), (32, false)));
    }

    #[test]
    fn a_barely_heard_node_is_named_if_that_is_free_and_no_share_means_all() {
        let share = DeliveryRatio::from_bits(1);
        let little = |node| HeardNode { node: NodeId(node), share, counts: false };
        let hears = vec![little(7), little(100)];
        let mut bytes = Vec::new();
        State { hears, ..speaking_of(publishers(1), true) }.append(1400, &mut bytes);
        assert_eq!(parse(&bytes).unwrap().hears, [little(100)]);
        // As earlier versions say it.
        let read = parse(&[0x03, 7, 0x01]).unwrap();
        assert_eq!(read.hears, [HeardNode::all_of(NodeId(7))]);
    }

    #[test]
    fn gaps_out_of_reach_or_out_of_order_and_nodes_named_twice_are_refused() {
        let mut bytes = Vec::new();
        let holding = Holding::of(summary(300), (10, 300), &runs(&[(10, 20), (22, 300)]), &none());
        speaking_of(vec![holding], false).append(1400, &mut bytes);
        for length in [200, 0, 1] {
            let mut bad = bytes.clone();
            *bad.last_mut().unwrap() = length;
            assert_eq!(parse(&bad), None, "{length}");
        }
        // One byte is a state that speaks of nobody.
        assert!((2..bytes.len()).all(|length| parse(&bytes[..length]).is_none()));
        for bad in [&[0, 7, 1, 0, 1][..], &[0, 7, 0x08], &[0, 7, 0x10], &[0x04, 7, 1]] {
            assert_eq!(parse(bad), None, "{bad:?}");
        }
        // Nobody spoke before the first.
        assert_eq!(parse(&[0, 7, 0x0c, 0, 1, 0, 2, 2]), None);
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_panic_and_what_is_read_is_written_the_same_way(
            bytes: Vec<u8>
        ) {
            if let Some(state) = parse(&bytes) {
                let mut out = Vec::new();
                state.append(usize::MAX, &mut out);
                let again = parse(&out).unwrap();
                prop_assert_eq!(again.holdings, state.holdings);
            }
        }
    }
}
