//! The members of the group, and who hears whom. Any message of a node is a sign of life.

use crate::{
    event::Event,
    membership::delivery_ratio::{self, DeliveryRatio, DeliveryRatios, HeardNode},
    membership::lost_members::LostMembers,
    membership::member::{Count, Member, SHARE_LEFT},
    membership::node_set::NodeSet,
    stats::GroupStats,
};
use alloc::{
    collections::{BTreeMap, VecDeque},
    vec::Vec,
};
use fanfare_proto::{Duration, NodeId, Time, TimerQueue};
use fanfare_wire::Sequence;

/// Nodes known at once.
pub(crate) const MEMBERS_MAX: usize = 4096;

/// Of the nodes that one says to hear, so many are remembered.
const HEARD_MAX: usize = 128;
/// Who names some of those that it hears, and no more than one in so many that are new, has named about all.
const NEW_FEW: usize = 4;
/// Who said good-bye has left when it has said nothing more for so long: its good-bye is repeated.
const GOODBYE: Duration = Duration::from_secs(10);
/// Silence after which a node has left that is said to have been the node that says so. It is called on three times,
/// a second from each other, and answers within a second.
const SUCCESSOR_ALONE: Duration = Duration::from_millis(3500);
/// Calls of which one will have come: where a tenth of all messages is lost, of a thousand times three one is lost whole.
const CALLED_ENOUGH: u8 = 3;
/// Who is silent is not missed before so many words of each node known were heard: in a quiet group silences grow, and
/// some leave it to others to announce.
const WORDS: u64 = 2;

/// What a word of a node means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Heard {
    /// It was not known.
    First,
    /// It was out of reach.
    Again,
    Still,
}

/// The nodes heard lately.
#[derive(Debug)]
pub(crate) struct Members {
    own: NodeId,
    incarnation: Duration,
    members: BTreeMap<NodeId, Member>,
    /// When each has left, if it says nothing until then.
    ends: TimerQueue<NodeId, Time>,
    /// Group nodes that went without good-bye.
    lost: LostMembers,
    /// Who says to hear a node: their lists the other way round.
    heard_by: BTreeMap<NodeId, DeliveryRatios>,
    /// The last one named in an announcement: lists that do not fit go round.
    named: NodeId,
    /// Words heard so far, of all.
    words: u64,
}

impl Members {
    /// Nodes of which nothing is heard for `incarnation` have left.
    pub(crate) fn new(own: NodeId, incarnation: Duration) -> Self {
        let (members, ends, lost, heard_by) = Default::default();
        Self { own, incarnation, members, ends, lost, heard_by, named: NodeId::NONE, words: 0 }
    }

    /// Something was heard of `node`.
    pub(crate) fn on_heard(
        &mut self,
        now: Time,
        node: NodeId,
        events: &mut VecDeque<Event>,
        stats: &mut GroupStats,
    ) -> Heard {
        let patience = WORDS * self.members.len() as u64;
        if let Some(member) = self.members.get_mut(&node) {
            let returns = !member.is_near(now, self.incarnation, self.words);
            self.words += u64::from(member.on_heard(now, self.words + patience));
            self.ends.set(node, Some(now + self.incarnation));
            return if returns { Heard::Again } else { Heard::Still };
        }
        if node == self.own || self.members.len() >= MEMBERS_MAX {
            stats.members_dropped += u64::from(node != self.own);
            return Heard::Still;
        }
        self.lost.on_back(node);
        self.members.insert(node, Member::new(now, self.words + patience));
        self.ends.set(node, Some(now + self.incarnation));
        events.push_back(Event::Joined { node });
        Heard::First
    }

    /// It said good-bye: if it says nothing more it has left soon.
    pub(crate) fn on_goodbye(&mut self, now: Time, node: NodeId) {
        if let Some(member) = self.members.get_mut(&node).filter(|member| member.in_group) {
            member.leaves = true;
            self.ends.set(node, Some(now + GOODBYE.min(self.incarnation)));
        }
    }

    /// Another node says that it was this one before, and calls on it: if it says nothing more it has left soon. Whether that
    /// is waited for from now on. Who was heard since the other came is there beside it; who has never announced itself
    /// need not answer.
    pub(crate) fn on_successor(&mut self, now: Time, node: NodeId, by: NodeId) -> bool {
        let Some(came) = self.members.get(&by).map(|by| by.since) else { return false };
        let concerned =
            |member: &&mut Member| !member.leaves && member.told.is_some() && member.heard < came;
        let Some(member) = self.members.get_mut(&node).filter(concerned) else { return false };
        member.leaves = true;
        self.ends.set(node, Some(now + SUCCESSOR_ALONE.min(self.incarnation)));
        true
    }

    /// For how long the group node has been missing that went last, of those that may come back.
    pub(crate) fn absence(&self, now: Time) -> Option<Duration> {
        self.lost.absence(now)
    }

    /// It sent a message with this number.
    pub(crate) fn on_sequence(&mut self, node: NodeId, numbered: (Count, Sequence)) {
        if let Some(member) = self.members.get_mut(&node) {
            member.on_sequence(numbered);
        }
    }

    /// Whether it is one of them.
    pub(crate) fn knows(&self, node: NodeId) -> bool {
        self.members.contains_key(&node)
    }

    /// Whether it announces that it hears nobody: what is asked of it is for others to answer.
    pub(crate) fn hears_nobody(&self, node: NodeId) -> bool {
        self.members.get(&node).is_some_and(|member| member.alone)
    }

    /// Whether it is heard, but not yet of it whom it hears.
    pub(crate) fn has_not_told(&self, node: NodeId) -> bool {
        self.members.get(&node).is_some_and(|member| member.told.is_none())
    }

    /// It sent a frame, or the description of a message.
    pub(crate) fn on_group_message(&mut self, node: NodeId) {
        if let Some(member) = self.members.get_mut(&node) {
            member.in_group = true;
        }
    }

    /// Whether there are others, and all are group nodes: frames of any form are read by all.
    pub(crate) fn are_in_group(&self) -> bool {
        !self.members.is_empty() && self.members.values().all(|member| member.in_group)
    }

    /// Whether it has announced itself: it reads what group nodes say.
    pub(crate) fn has_told(&self, node: NodeId) -> bool {
        self.members.get(&node).is_some_and(|member| member.told.is_some())
    }

    /// These are called on to announce themselves, or all are.
    pub(crate) fn on_called(&mut self, named: &[NodeId], all: bool) {
        for (node, member) in &mut self.members {
            if all || named.contains(node) {
                member.called = member.called.saturating_add(1);
            }
        }
    }

    /// It said something in a long announcement, by content or not. Who was called on does so by content;
    /// after some calls, of which one will have come, whoever does not is of a version before.
    pub(crate) fn on_long(&mut self, node: NodeId, names_contents: bool) {
        let Some(member) = self.members.get_mut(&node) else { return };
        if names_contents {
            member.names_contents = Some(true);
        } else if member.names_contents.is_none() && member.called >= CALLED_ENOUGH {
            member.names_contents = Some(false);
        }
    }

    /// True if it does not say by content what it holds, as versions before do not.
    pub(crate) fn names_numbers_alone(&self, node: NodeId) -> bool {
        self.members.get(&node).is_some_and(|member| member.names_contents == Some(false))
    }

    /// It says whether it takes datagrams of one address alone.
    pub(crate) fn on_one_source(&mut self, node: NodeId, one_source: bool) {
        if let Some(member) = self.members.get_mut(&node) {
            member.one_source = one_source;
        }
    }

    /// True if it is known to listen to somebody else, and not to us.
    pub(crate) fn listens_elsewhere(&self, node: NodeId) -> bool {
        self.members.get(&node).is_some_and(Member::listens_elsewhere)
    }

    /// It named the nodes that it hears; `all` of them, or some. Who is not among all is not heard.
    pub(crate) fn on_hears(
        &mut self,
        node: NodeId,
        (hearings, all): (&[HeardNode], bool),
        events: &mut VecDeque<Event>,
    ) {
        let Some(member) = self.members.get_mut(&node) else { return };
        let of = |counts| hearings.iter().filter(move |hearing| hearing.counts == counts);
        let named = of(true).any(|hearing| hearing.node == self.own);
        (member.told, member.alone) = (Some(member.heard), all && of(true).next().is_none());
        let before = member.names.clone();
        let new = hearings.iter().filter(|hearing| !before.contains(hearing.node)).count();
        let many = before.len() + new > HEARD_MAX;
        member.hears_more = !all && (many || new > hearings.len() / NEW_FEW);
        if all || many {
            member.hears.clear();
            member.names.clear();
        }
        for hearing in of(true).chain(of(false)).take(HEARD_MAX) {
            member.names.insert(hearing.node);
            match hearing.counts {
                true => member.hears.insert(hearing.node),
                false => member.hears.remove(hearing.node),
            }
            self.heard_by.entry(hearing.node).or_default().set(node, hearing.share);
        }
        before.without(&member.names).for_each(|other| unlist(&mut self.heard_by, other, node));
        if (named || all) && member.hears_us != Some(named) {
            member.hears_us = Some(named);
            events.push_back(Event::HearsUs { node, hears: named });
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.members.len()
    }

    fn is_near(&self, now: Time, member: &Member) -> bool {
        member.is_near(now, self.incarnation, self.words)
    }

    pub(crate) fn own(&self) -> NodeId {
        self.own
    }

    /// Who says to hear a node, and how well.
    pub(crate) fn heard_by(&self, node: NodeId) -> Option<&DeliveryRatios> {
        self.heard_by.get(&node)
    }

    /// True if it takes datagrams of one address alone: what others pass on is nothing to it.
    pub(crate) fn hears_one_source(&self, node: NodeId) -> bool {
        self.members.get(&node).is_some_and(|member| member.one_source)
    }

    /// Whether it counts on us, and on none of these. On who hears nobody it need not: it may not know that
    /// yet, and what it has told stands until it speaks again.
    pub(crate) fn is_beyond(&self, node: NodeId, senders: &[NodeId]) -> bool {
        let half_hears = |member: &Member, sender| {
            let alone = self.members.get(&sender).filter(|member| member.alone);
            let share = self.heard_by(sender).map_or(DeliveryRatio::NONE, |by| by.of(node));
            let early =
                |sender: &Member| sender.known.is_none_or(|known| member.told < Some(known));
            alone.is_some_and(|sender| share >= DeliveryRatio::new(SHARE_LEFT) || early(sender))
        };
        self.members.get(&node).is_some_and(|member| {
            let hears = |sender| {
                member.hears.contains(sender)
                    || half_hears(member, sender)
                    || self.is_new_to(member, sender)
            };
            let known = !member.hears_more && !member.one_source && !senders.contains(&node);
            known && hears(self.own) && !senders.iter().any(|sender| hears(*sender))
        })
    }

    /// Whether it has not said whom it hears since that node came.
    fn is_new_to(&self, member: &Member, node: NodeId) -> bool {
        let since = self.members.get(&node).map(|sender| sender.since);
        since.is_some_and(|since| member.told < Some(since))
    }

    /// Those to whom it is new, which may hear it as this node does.
    pub(crate) fn new_to(&self, sender: NodeId) -> impl Iterator<Item = NodeId> + '_ {
        let new = move |(node, member): &(&NodeId, &Member)| {
            **node != sender && self.is_new_to(member, sender)
        };
        self.members.iter().filter(new).map(|(node, _)| *node)
    }

    /// Nodes, by id, and how likely each would be silent for so long, were it within reach; 0 when it is not
    /// known whom it hears.
    pub(crate) fn stills(&self, now: Time) -> impl Iterator<Item = (NodeId, f32)> + '_ {
        self.members.iter().map(move |(node, member)| match member.hears_more {
            true => (*node, 0.0),
            false => (*node, member.still(now, self.incarnation)),
        })
    }

    /// How lately a node was heard: see [`delivery_ratio::recency`].
    pub(crate) fn recency(&self, now: Time, node: NodeId) -> f32 {
        let member = self.members.get(&node);
        member
            .map_or(0.0, |m| delivery_ratio::recency(now.since(m.heard), m.usual(self.incarnation)))
    }

    /// How likely what it sends is not heard here, though it is there.
    pub(crate) fn sends_unheard(&self, now: Time, node: NodeId) -> f32 {
        let there = |member: &&Member| member.speaks(now, self.incarnation, self.words);
        let member = self.members.get(&node).filter(there);
        member.map_or(0.0, |member| 1.0 - member.share(now, self.incarnation))
    }

    /// Whether what we say is forwarded: a node near us that hears us hears others, too, that do not.
    pub(crate) fn is_passed_on(&self, now: Time) -> bool {
        let hears_us = |member: &Member| member.hears.contains(self.own);
        let near = self.members.iter().filter(|(_, member)| hears_us(member));
        let mut served: NodeSet = near.clone().map(|(node, _)| *node).collect();
        served.insert(self.own);
        let elsewhere = self.members.iter().filter(|(_, member)| member.one_source);
        elsewhere.for_each(|(node, _)| served.insert(*node));
        let mut near = near.filter(|(_, member)| self.is_near(now, member));
        near.any(|(_, member)| member.hears.without(&served).next().is_some())
    }

    /// Whether one node says whom it hears, and the other is not among them, though it was here by then.
    pub(crate) fn is_unheard(&self, by: NodeId, node: NodeId) -> bool {
        self.members.get(&by).is_some_and(|by| {
            !by.hears.is_empty() && !by.hears.contains(node) && !self.is_new_to(by, node)
        })
    }

    /// Up to `max` of those near us to name next, and those of whom little arrives.
    pub(crate) fn name(&mut self, now: Time, max: usize) -> Vec<HeardNode> {
        let after = self
            .members
            .range((core::ops::Bound::Excluded(self.named), core::ops::Bound::Unbounded));
        let before = self.members.range(..=self.named);
        let near = after.chain(before).filter(|(_, member)| self.is_near(now, member));
        let names: Vec<NodeId> = near.map(|(node, _)| *node).take(max).collect();
        self.named = names.last().copied().unwrap_or(NodeId::NONE);
        let counted = |node| (node, true);
        let little = self.members.iter().filter(|(_, member)| !self.is_near(now, member));
        let all = names.into_iter().map(counted).chain(little.map(|(node, _)| (*node, false)));
        let hearing = |(node, counts)| {
            let share = self.members[&node].share(now, self.incarnation);
            // Who is counted on has some, whatever its silence says.
            let least = if counts { DeliveryRatio::LEAST } else { DeliveryRatio::NONE };
            HeardNode { node, share: DeliveryRatio::new(share).max(least), counts }
        };
        all.map(hearing).filter(|h| h.counts || h.share > DeliveryRatio::NONE).collect()
    }

    /// Who hears whom, in sevenths: this node by its own count, others by their announcements.
    pub(crate) fn hearing(&self, now: Time) -> Vec<(NodeId, NodeId, u8)> {
        let others = self.heard_by.iter();
        let others =
            others.flat_map(|(whom, by)| by.iter().map(|(who, share)| (who, *whom, share.bits())));
        self.own_hearing(now).map(|(whom, share)| (self.own, whom, share)).chain(others).collect()
    }

    /// Whom this node hears, and how well.
    pub(crate) fn own_hearing(&self, now: Time) -> impl Iterator<Item = (NodeId, u8)> + '_ {
        let share = move |member: &Member| member.share(now, self.incarnation);
        let bits = move |member: &Member| DeliveryRatio::new(share(member)).bits();
        self.members.iter().map(move |(node, member)| (*node, bits(member)))
    }

    /// Whether it has said something that only group nodes say.
    pub(crate) fn is_in_group(&self, node: NodeId) -> bool {
        self.members.get(&node).is_some_and(|member| member.in_group)
    }

    /// All of them, and whether each says that it hears us.
    pub(crate) fn all(&self) -> impl Iterator<Item = (NodeId, Option<bool>)> {
        self.members.iter().map(|(node, member)| (*node, member.hears_us))
    }

    /// Gives who has left.
    pub(crate) fn on_timeout(&mut self, now: Time, events: &mut VecDeque<Event>) -> Vec<NodeId> {
        let silent = self.ends.iter().take_while(|(end, _)| *end <= now);
        let mut gone: Vec<NodeId> = silent.map(|(_, node)| node).collect();
        gone.sort_unstable();
        for &node in &gone {
            self.ends.set(node, None);
            events.push_back(Event::Left { node });
            let Some(member) = self.members.remove(&node) else { continue };
            member.names.iter().for_each(|other| unlist(&mut self.heard_by, other, node));
            if member.in_group && !member.leaves {
                self.lost.on_gone(node, member.heard);
            }
        }
        gone
    }
    pub(crate) fn next_timeout(&self) -> Option<Time> {
        self.ends.first().map(|(end, _)| end)
    }
}

/// `by` no longer says to hear `node`.
fn unlist(heard_by: &mut BTreeMap<NodeId, DeliveryRatios>, node: NodeId, by: NodeId) {
    if let Some(list) = heard_by.get_mut(&node) {
        list.remove(by);
        if list.is_empty() {
            heard_by.remove(&node);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    fn at(s: u64) -> Time {
        Time::ZERO + Duration::from_secs(s)
    }

    struct World(Members, VecDeque<Event>, GroupStats);

    impl World {
        fn new() -> Self {
            let members = Members::new(NodeId(1), Duration::from_secs(10));
            Self(members, VecDeque::new(), GroupStats::default())
        }
        fn hear(&mut self, s: u64, node: u32) {
            self.0.on_heard(at(s), NodeId(node), &mut self.1, &mut self.2);
        }
        fn events(&mut self) -> Vec<Event> {
            self.1.drain(..).collect()
        }
    }

    /// How many are counted on.
    fn counted(members: &mut Members, s: u64) -> usize {
        members.name(at(s), 9).iter().filter(|hearing| hearing.counts).count()
    }

    #[test]
    fn a_node_joins_when_heard_and_leaves_when_silent() {
        let mut world = World::new();
        [0, 5].into_iter().for_each(|s| world.hear(s, 2));
        world.hear(0, 1);
        assert_eq!(world.events(), [Event::Joined { node: NodeId(2) }]);
        assert_eq!(world.0.on_timeout(at(14), &mut world.1), []);
        assert_eq!((world.events(), world.0.next_timeout()), (Vec::new(), Some(at(15))));
        assert_eq!(world.0.on_timeout(at(15), &mut world.1), [NodeId(2)]);
        assert_eq!(world.events(), [Event::Left { node: NodeId(2) }]);
        assert_eq!(world.0.next_timeout(), None);
    }

    #[test]
    fn a_node_that_leaves_without_good_bye_is_missed_until_it_is_back() {
        let mut world = World::new();
        (2..5).for_each(|node| world.hear(u64::from(node), node));
        [2, 3].into_iter().for_each(|node| world.0.on_group_message(NodeId(node)));
        world.0.on_goodbye(at(4), NodeId(3));
        world.0.on_timeout(at(100), &mut world.1);
        assert_eq!(world.0.absence(at(100)), Some(Duration::from_secs(98)), "4 is a plain node");
        world.hear(110, 2);
        assert_eq!(world.0.absence(at(110)), None);
    }

    #[test]
    fn a_node_that_was_silent_since_another_came_may_hear_it() {
        let mut world = neighbourhood(&[(2, &[1]), (3, &[1])]);
        world.hear(5, 4);
        assert!(
            !world.0.is_unheard(NodeId(2), NodeId(4))
                && !world.0.is_beyond(NodeId(2), &[NodeId(4)])
        );
        assert_eq!(world.0.new_to(NodeId(4)).collect::<Vec<_>>(), [NodeId(2), NodeId(3)]);
        world.hear(6, 2);
        world.0.on_hears(NodeId(2), (&[HeardNode::all_of(NodeId(1))], true), &mut world.1);
        assert!(
            world.0.is_unheard(NodeId(2), NodeId(4)) && world.0.is_beyond(NodeId(2), &[NodeId(4)])
        );
        assert_eq!(world.0.new_to(NodeId(4)).collect::<Vec<_>>(), [NodeId(3)]);
    }

    #[test]
    fn a_node_that_no_longer_names_us_no_longer_hears_us() {
        let mut world = World::new();
        world.hear(0, 2);
        world.events();
        let say = |world: &mut World, names: &[u32], all| {
            let names: Vec<HeardNode> =
                names.iter().map(|n| HeardNode::all_of(NodeId(*n))).collect();
            world.0.on_hears(NodeId(2), (&names, all), &mut world.1);
            world.events()
        };
        let hears = |hears| Event::HearsUs { node: NodeId(2), hears };
        assert_eq!(say(&mut world, &[3, 1], true), [hears(true)]);
        assert_eq!(say(&mut world, &[3], false), [], "it did not name all");
        assert_eq!(say(&mut world, &[3], true), [hears(false)]);
    }

    #[test]
    fn a_node_that_is_no_longer_relied_on_does_not_count_as_heard() {
        let mut world = World::new();
        world.hear(0, 2);
        for (counts, unheard) in [(true, false), (false, true)] {
            let three = HeardNode { counts, ..HeardNode::all_of(NodeId(3)) };
            world.0.on_hears(
                NodeId(2),
                (&[three, HeardNode::all_of(NodeId(4))], false),
                &mut world.1,
            );
            assert_eq!(world.0.is_unheard(NodeId(2), NodeId(3)), unheard);
        }
    }

    #[test]
    fn a_node_that_is_relied_on_is_reported_as_heard_even_when_silent() {
        let mut world = World::new();
        (0..4).for_each(|n| world.hear(2 * n, 2));
        (0..100)
            .step_by(2)
            .for_each(|n| world.0.on_sequence(NodeId(2), (Count::Sender, Sequence(n))));
        let told = [6, 16].map(|s| world.0.name(at(s), 9)[0]);
        assert_eq!(
            told.map(|hearing| (hearing.counts, hearing.share.bits())),
            [(true, 4), (true, 1)]
        );
    }

    #[test]
    fn a_barely_heard_node_is_not_named_until_more_arrives() {
        let mut world = World::new();
        world.hear(0, 2);
        let mut send = |numbers: core::ops::Range<u16>, step: usize| {
            numbers
                .step_by(step)
                .for_each(|n| world.0.on_sequence(NodeId(2), (Count::Sender, Sequence(n))));
            counted(&mut world.0, 0)
        };
        assert_eq!(send(0..100, 1), 1);
        assert_eq!(send(100..400, 5), 0);
        assert_eq!(send(400..500, 1), 1);
        // A new instance begins its numbers again.
        assert_eq!(send(30_000..30_001, 1), 1);
    }

    #[test]
    fn half_of_the_announcements_is_enough_to_hear_a_node_that_hears_nobody() {
        let mut world = World::new();
        world.hear(0, 2);
        for says in 0..2 {
            assert_eq!(world.0.hears_nobody(NodeId(2)), says >= 1);
            world.0.on_hears(NodeId(2), (&[], true), &mut world.1);
        }
        let mut send = |numbers: core::ops::Range<u16>, step: usize| {
            numbers
                .step_by(step)
                .for_each(|n| world.0.on_sequence(NodeId(2), (Count::Sender, Sequence(n))));
            counted(&mut world.0, 0)
        };
        assert_eq!(send(0..100, 2), 1);
        // Six lost in a row.
        assert_eq!((send(107..108, 1), send(108..120, 2)), (1, 1));
        assert_eq!(send(120..400, 8), 0);
        world.0.on_hears(NodeId(2), (&[HeardNode::all_of(NodeId(3))], true), &mut world.1);
        assert!(!world.0.hears_nobody(NodeId(2)));
    }

    #[test]
    fn a_node_silent_for_longer_than_usual_is_not_named_but_has_not_left() {
        let mut world = World(
            Members::new(NodeId(1), Duration::from_secs(192)),
            VecDeque::new(),
            GroupStats::default(),
        );
        (0..5).for_each(|n| world.hear(10 * n, 2));
        world.hear(40, 3);
        assert_eq!(counted(&mut world.0, 71), 2, "nobody spoke since");
        (60..67).for_each(|s| world.hear(s, 3));
        assert_eq!((counted(&mut world.0, 70), counted(&mut world.0, 71)), (2, 1));
        assert_eq!(world.0.len(), 2);
        let stats = &mut world.2;
        assert_eq!(world.0.on_heard(at(90), NodeId(2), &mut world.1, stats), Heard::Again);
    }

    /// 1 is this node; each line: a node and whom it hears.
    fn neighbourhood(lists: &[(u32, &[u32])]) -> World {
        let mut world = World::new();
        for (node, hears) in lists {
            world.hear(0, *node);
            let hears: Vec<HeardNode> =
                hears.iter().map(|n| HeardNode::all_of(NodeId(*n))).collect();
            world.0.on_hears(NodeId(*node), (&hears, true), &mut world.1);
        }
        world.0.name(at(0), 99);
        world
    }

    #[test]
    fn a_node_that_hears_us_but_not_the_sender_is_out_of_its_reach() {
        // 2 sends; 3 hears both, 4 only us, 5 neither.
        let world = neighbourhood(&[(2, &[1, 3]), (3, &[1, 2]), (4, &[1]), (5, &[])]);
        let beyond = |node| world.0.is_beyond(NodeId(node), &[NodeId(2)]);
        assert_eq!([3, 4, 5].map(beyond), [false, true, false]);
        assert!(world.0.is_unheard(NodeId(2), NodeId(4)), "2 says whom it hears");
        assert!(!world.0.is_unheard(NodeId(5), NodeId(4)), "5 does not");
    }

    #[test]
    fn only_an_informed_announcement_puts_a_node_out_of_reach_of_a_deaf_sender() {
        let mut world = World::new();
        [2, 3].into_iter().for_each(|node| world.hear(0, node));
        world.0.on_hears(NodeId(2), (&[], true), &mut world.1);
        let mut beyond = |heard: core::ops::Range<u16>, at: u64, bits| {
            for n in heard {
                world.hear(at, 2);
                world.0.on_sequence(NodeId(2), (Count::Sender, Sequence(n)));
            }
            world.hear(at + 1, 3);
            let little =
                HeardNode { node: NodeId(2), share: DeliveryRatio::from_bits(bits), counts: false };
            let hears = [HeardNode::all_of(NodeId(1)), little];
            world.0.on_hears(
                NodeId(3),
                (&hears[..if bits > 0 { 2 } else { 1 }], true),
                &mut world.1,
            );
            world.0.is_beyond(NodeId(3), &[NodeId(2)])
        };
        assert!(!beyond(0..7, 1, 0), "2 has said little yet");
        assert!(beyond(7..8, 2, 0));
        assert!(!beyond(8..9, 3, 2), "it hears some");
        world.0.on_hears(NodeId(2), (&[HeardNode::all_of(NodeId(1))], true), &mut world.1);
        assert!(world.0.is_beyond(NodeId(3), &[NodeId(2)]), "of who hears, some is too little");
    }

    #[test]
    fn our_messages_are_forwarded_if_a_neighbour_reaches_nodes_that_do_not_hear_us() {
        let passed_on = |lists| neighbourhood(lists).0.is_passed_on(at(0));
        assert!(!passed_on(&[(2, &[1, 3]), (3, &[1, 2])]), "all hear all");
        assert!(passed_on(&[(2, &[1, 3]), (3, &[2])]), "3 does not hear us, but 2");
        assert!(passed_on(&[(2, &[1, 9])]), "9 is not known here");
        assert!(!passed_on(&[(2, &[9])]), "2 does not hear us either");
        let world = neighbourhood(&[(2, &[1, 9])]);
        assert!(!world.0.is_passed_on(at(100)), "2 is gone");
    }

    #[test]
    fn names_that_do_not_fit_take_turns() {
        let mut world = World::new();
        (2..7).for_each(|node| world.hear(0, node));
        let turns: Vec<Vec<u32>> =
            (0..3).map(|_| world.0.name(at(0), 2).iter().map(|n| n.node.0).collect()).collect();
        assert_eq!(turns, [[2, 3], [4, 5], [6, 2]]);
    }
}
