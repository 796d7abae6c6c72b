//! Who is there, and who hears whom: any word of a node is a sign of life.

use crate::{event::Event, node_set::NodeSet, slice, stats::GroupStats};
use alloc::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    vec::Vec,
};
use fanfare_proto::{Duration, NodeId, ObjectKey, Time, Timetable};
use fanfare_wire::Sequence;

/// Nodes known at once.
const MEMBERS_MAX: usize = 4096;

/// Of the nodes that one says to hear, so many are remembered.
const HEARD_MAX: usize = 128;
/// The share of a node's messages that arrive is a mean over about so many of them.
const SHARE_OVER: f32 = 12.0;
/// A node of which less arrives is not counted on,
const SHARE_MIN: f32 = 0.35;
/// a publisher that hears nobody, when it is already, if less than this does: over so few messages the share of
/// one that is half heard often passes below the other, and all that it sends would be passed on for it.
const SHARE_LEFT: f32 = 0.2;
/// Messages in a row that may have been lost; more is another life, or a forgery.
const SKIPPED_MAX: i32 = 256;
/// Who missed something is not left to others for so long: until it has announced whom it hears now.
const MISSES_FOR: Duration = Duration::from_secs(32);
/// What comes within this time is one word.
const WORD: Duration = Duration::from_secs(1);
/// Who is silent for so many of its usual silences is not heard at present.
const SILENCES: u32 = 3;
/// But not before this: chance alone makes gaps.
const SILENCE_MIN: Duration = Duration::from_secs(10);
/// And not before so many words of each node known were heard: in a quiet group silences grow, and
/// some leave it to others to announce.
const WORDS: u64 = 2;

#[derive(Debug)]
struct Member {
    heard: Time,
    /// How many words of all will have been heard when it is missed.
    words: u64,
    /// Its last message's number as a sender, and the share of them that arrives here.
    sequence: Option<Sequence>,
    share: f32,
    /// Enough of them does.
    arrives: bool,
    /// Between two of its words, on average; `None` before the second.
    silence: Option<Duration>,
    /// Whether it said that it hears us; `None` before it spoke of that.
    hears_us: Option<bool>,
    /// Whom it says to hear.
    hears: NodeSet,
    /// It has said whom it hears.
    told: bool,
    /// It says to hear nobody.
    alone: bool,
    /// When it last lacked a short message that was here.
    missed: Option<Time>,
}

impl Member {
    fn new(now: Time, words: u64) -> Self {
        let (sequence, share, silence) = (None, 1.0, None);
        let (hears_us, hears, missed) = (None, NodeSet::default(), None);
        let arrives = true;
        let (told, alone) = (false, false);
        Self {
            heard: now,
            words,
            sequence,
            share,
            arrives,
            silence,
            hears_us,
            hears,
            told,
            alone,
            missed,
        }
    }
    /// One of its messages as a sender.
    fn on_sequence(&mut self, sequence: Sequence) {
        let ahead = self.sequence.map_or(1, |last| last.distance_to(sequence));
        // What comes late was counted as lost; numbers far away are of another life.
        if (1..=SKIPPED_MAX).contains(&ahead) {
            (0..ahead).for_each(|_| self.share -= self.share / SHARE_OVER);
            self.share += 1.0 / SHARE_OVER;
            let left = if self.alone { SHARE_LEFT } else { SHARE_MIN };
            self.arrives = self.share >= if self.arrives { left } else { SHARE_MIN };
        }
        if !(-SKIPPED_MAX..=0).contains(&ahead) {
            self.sequence = Some(sequence);
        }
    }
    /// Whether it is a word, `words` having been heard before.
    fn on_heard(&mut self, now: Time, words: u64) -> bool {
        let silence = now.since(self.heard);
        if silence >= WORD {
            // A mean over about four words: those who move are soon out of reach. In a quiet group
            // each silence is twice as long as the one before.
            let mean = self.silence.map_or(silence, |mean| (mean * 3 + silence) / 4);
            self.silence = Some(mean.max(silence));
        }
        (self.heard, self.words) = (now, words);
        silence >= WORD
    }
    /// Whether it lacked something of late that others should have brought.
    fn misses(&self, now: Time) -> bool {
        self.missed.is_some_and(|at| now.since(at) <= MISSES_FOR)
    }
    /// Whether it is within reach now, as far as one can know.
    fn is_near(&self, now: Time, life: Duration, words: u64) -> bool {
        let usual = self.silence.map_or(life, |silence| silence * SILENCES);
        let lately = now.since(self.heard) <= usual.max(SILENCE_MIN);
        self.arrives && (lately || words < self.words)
    }
}

/// What a word of a node means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Heard {
    /// It was not known.
    First,
    /// It was out of reach.
    Again,
    Still,
}

/// The nodes heard of late.
#[derive(Debug)]
pub(crate) struct Members {
    own: NodeId,
    life: Duration,
    members: BTreeMap<NodeId, Member>,
    /// When each was last heard.
    heard: Timetable<NodeId, Time>,
    /// Who says to hear a node: their lists the other way round.
    heard_by: BTreeMap<NodeId, NodeSet>,
    /// The last one named in an announcement: lists that do not fit go round.
    named: NodeId,
    /// How many were named in it.
    announced: usize,
    /// Words heard so far, of all.
    words: u64,
}

impl Members {
    /// Nodes of which nothing is heard for `life` have left.
    pub(crate) fn new(own: NodeId, life: Duration) -> Self {
        let (members, heard, heard_by) = Default::default();
        Self { own, life, members, heard, heard_by, named: NodeId::NONE, announced: 0, words: 0 }
    }

    /// It lacks a short message that is here.
    pub(crate) fn on_missed(&mut self, now: Time, node: NodeId) {
        if let Some(member) = self.members.get_mut(&node) {
            member.missed = Some(now);
        }
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
            let returns = !member.is_near(now, self.life, self.words);
            self.words += u64::from(member.on_heard(now, self.words + patience));
            self.heard.set(node, Some(now));
            return if returns { Heard::Again } else { Heard::Still };
        }
        if node == self.own || self.members.len() >= MEMBERS_MAX {
            stats.members_dropped += u64::from(node != self.own);
            return Heard::Still;
        }
        self.members.insert(node, Member::new(now, self.words + patience));
        self.heard.set(node, Some(now));
        events.push_back(Event::Joined { node });
        Heard::First
    }

    /// It sent a message as a sender, with this number.
    pub(crate) fn on_sequence(&mut self, node: NodeId, sequence: Sequence) {
        if let Some(member) = self.members.get_mut(&node) {
            member.on_sequence(sequence);
        }
    }

    /// Whether it announces that it hears nobody: what is asked of it is for others to answer.
    pub(crate) fn hears_nobody(&self, node: NodeId) -> bool {
        self.members.get(&node).is_some_and(|member| member.alone)
    }

    /// Whether it is heard, but not yet of it whom it hears.
    pub(crate) fn has_not_told(&self, node: NodeId) -> bool {
        self.members.get(&node).is_some_and(|member| !member.told)
    }

    /// It named the nodes that it hears; `all` of them, or some. Who is not among all is not heard.
    pub(crate) fn on_hears(
        &mut self,
        node: NodeId,
        (hears, all): (&[NodeId], bool),
        events: &mut VecDeque<Event>,
    ) {
        let Some(member) = self.members.get_mut(&node) else { return };
        let named = hears.contains(&self.own);
        (member.told, member.alone) = (true, all && hears.is_empty());
        let before = member.hears.clone();
        if all || member.hears.len() + hears.len() > HEARD_MAX {
            member.hears.clear();
        }
        member.hears.extend(hears.iter().copied().take(HEARD_MAX));
        let (gone, new) = (before.without(&member.hears), member.hears.without(&before));
        gone.for_each(|other| unlist(&mut self.heard_by, other, node));
        new.for_each(|other| self.heard_by.entry(other).or_default().insert(node));
        if (named || all) && member.hears_us != Some(named) {
            member.hears_us = Some(named);
            events.push_back(Event::HearsUs { node, hears: named });
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.members.len()
    }

    fn is_near(&self, now: Time, member: &Member) -> bool {
        member.is_near(now, self.life, self.words)
    }

    /// Nodes near us that say to hear us, but none of `senders`.
    pub(crate) fn beyond(&self, now: Time, senders: &[NodeId]) -> BTreeSet<NodeId> {
        let nobody = NodeSet::default();
        let list = |of: &NodeId| self.heard_by.get(of).unwrap_or(&nobody);
        // Mostly all hear the first: that is found in one walk along both lists.
        let first = senders.first().map_or(&nobody, list);
        let lacks = |node: &NodeId| {
            let served =
                senders.iter().any(|sender| sender == node || list(sender).contains(*node));
            !served && self.members.get(node).is_some_and(|member| self.is_near(now, member))
        };
        list(&self.own).without(first).filter(lacks).collect()
    }

    /// Whether what we say is passed on: a node near us that hears us hears others, too, that do not.
    pub(crate) fn is_passed_on(&self, now: Time) -> bool {
        let Some(reached) = self.heard_by.get(&self.own) else { return false };
        let mut served = reached.clone();
        served.insert(self.own);
        let near = self.members.iter().filter(|(node, _)| reached.contains(**node));
        let mut near = near.filter(|(_, member)| self.is_near(now, member));
        near.any(|(_, member)| member.hears.without(&served).next().is_some())
    }

    /// How many nodes near us that hear one of `senders`, too, would reach more that do not than we
    /// would; of those that would reach as many, some.
    pub(crate) fn rank(&self, now: Time, senders: &[NodeId], key: ObjectKey) -> u32 {
        let near = || self.members.iter().filter(|(_, member)| self.is_near(now, member));
        let mut served: NodeSet = senders.iter().copied().collect();
        let lists = senders.iter().filter_map(|sender| self.members.get(sender));
        lists.for_each(|member| served.extend(member.hears.iter()));
        let place = |node: NodeId| slice::offset(node, key, 0, usize::MAX);
        let own = near().filter(|(node, _)| !served.contains(**node)).count();
        let own = (own, place(self.own));
        // What would be no gain: who is served, and this node itself.
        served.insert(self.own);
        let before = |(node, member): &(&NodeId, &Member)| {
            let hears = senders.iter().any(|sender| member.hears.contains(*sender));
            let gain = || member.hears.without(&served).count();
            !senders.contains(node) && hears && (gain(), place(**node)) > own
        };
        near().filter(before).count() as u32
    }

    /// Whether one node says whom it hears, and the other is not among them.
    pub(crate) fn is_unheard(&self, by: NodeId, node: NodeId) -> bool {
        let lists = self.members.get(&by).map(|member| &member.hears);
        lists.is_some_and(|hears| !hears.is_empty() && !hears.contains(node))
    }

    /// Whether nodes that come before this one, and hear one of `senders` by way of each other, reach
    /// all of `beyond`, too. Who is heard by more comes before: everywhere the same, as far as lists
    /// are known.
    pub(crate) fn is_spare(
        &self,
        now: Time,
        senders: &[NodeId],
        beyond: &BTreeSet<NodeId>,
    ) -> bool {
        let own = (self.announced, self.own);
        let before = |(node, member): &(&NodeId, &Member)| {
            self.is_near(now, member) && (member.hears.len(), **node) > own
        };
        let mut others: Vec<(NodeId, &Member)> =
            self.members.iter().filter(before).map(|(node, member)| (*node, member)).collect();
        let mut reached: NodeSet = senders.iter().copied().collect();
        loop {
            let count = others.len();
            others.retain(|(node, member)| {
                let joins = reached.contains(*node) || !member.hears.is_disjoint(&reached);
                if joins {
                    reached.insert(*node);
                }
                !joins
            });
            if others.len() == count {
                break;
            }
        }
        let hears = |node: &NodeId| {
            let member = self.members.get(node);
            member.is_some_and(|m| !m.misses(now) && !m.hears.is_disjoint(&reached))
        };
        beyond.iter().all(hears)
    }

    /// Up to `max` of those near us to name next.
    pub(crate) fn name(&mut self, now: Time, max: usize) -> Vec<NodeId> {
        let after = self
            .members
            .range((core::ops::Bound::Excluded(self.named), core::ops::Bound::Unbounded));
        let before = self.members.range(..=self.named);
        let near = after.chain(before).filter(|(_, member)| self.is_near(now, member));
        let names: Vec<NodeId> = near.map(|(node, _)| *node).take(max).collect();
        self.named = names.last().copied().unwrap_or(NodeId::NONE);
        self.announced = names.len();
        names
    }

    /// All of them, and whether each says that it hears us.
    pub(crate) fn all(&self) -> impl Iterator<Item = (NodeId, Option<bool>)> {
        self.members.iter().map(|(node, member)| (*node, member.hears_us))
    }

    pub(crate) fn on_timeout(&mut self, now: Time, events: &mut VecDeque<Event>) {
        let silent = self.heard.iter().take_while(|(heard, _)| now.since(*heard) >= self.life);
        let mut gone: Vec<NodeId> = silent.map(|(_, node)| node).collect();
        gone.sort_unstable();
        for node in gone {
            let lists = self.members.remove(&node).into_iter();
            let lists = lists.flat_map(|member| member.hears.iter().collect::<Vec<_>>());
            lists.for_each(|other| unlist(&mut self.heard_by, other, node));
            self.heard.set(node, None);
            events.push_back(Event::Left { node });
        }
    }
    pub(crate) fn next_timeout(&self) -> Option<Time> {
        self.heard.first().map(|(heard, _)| heard + self.life)
    }
}

/// `by` no longer says to hear `node`.
fn unlist(heard_by: &mut BTreeMap<NodeId, NodeSet>, node: NodeId, by: NodeId) {
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
    use fanfare_proto::{InstanceId, ObjectTransportId};

    fn key() -> ObjectKey {
        let (instance, object) = (InstanceId(1), ObjectTransportId(0));
        ObjectKey { sender: NodeId(2), instance, object }
    }
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

    #[test]
    fn a_node_joins_when_heard_and_leaves_when_silent() {
        let mut world = World::new();
        [0, 5].into_iter().for_each(|s| world.hear(s, 2));
        world.hear(0, 1);
        assert_eq!(world.events(), [Event::Joined { node: NodeId(2) }]);
        world.0.on_timeout(at(14), &mut world.1);
        assert_eq!((world.events(), world.0.next_timeout()), (Vec::new(), Some(at(15))));
        world.0.on_timeout(at(15), &mut world.1);
        assert_eq!(world.events(), [Event::Left { node: NodeId(2) }]);
        assert_eq!(world.0.next_timeout(), None);
    }

    #[test]
    fn who_no_longer_names_us_no_longer_hears_us() {
        let mut world = World::new();
        world.hear(0, 2);
        world.events();
        let say = |world: &mut World, names: &[u32], all| {
            let names: Vec<NodeId> = names.iter().map(|n| NodeId(*n)).collect();
            world.0.on_hears(NodeId(2), (&names, all), &mut world.1);
            world.events()
        };
        let hears = |hears| Event::HearsUs { node: NodeId(2), hears };
        assert_eq!(say(&mut world, &[3, 1], true), [hears(true)]);
        assert_eq!(say(&mut world, &[3], false), [], "it did not name all");
        assert_eq!(say(&mut world, &[3], true), [hears(false)]);
    }

    #[test]
    fn a_node_of_which_little_arrives_is_not_named_until_more_does() {
        let mut world = World::new();
        world.hear(0, 2);
        let mut send = |numbers: core::ops::Range<u16>, step: usize| {
            numbers.step_by(step).for_each(|n| world.0.on_sequence(NodeId(2), Sequence(n)));
            world.0.name(at(0), 9).len()
        };
        assert_eq!(send(0..100, 1), 1);
        assert_eq!(send(100..400, 5), 0);
        assert_eq!(send(400..500, 1), 1);
        // A new life begins its numbers anew.
        assert_eq!(send(30_000..30_001, 1), 1);
    }

    #[test]
    fn of_who_says_to_hear_nobody_half_is_enough_however_it_falls() {
        let mut world = World::new();
        world.hear(0, 2);
        for says in 0..2 {
            assert_eq!(world.0.hears_nobody(NodeId(2)), says >= 1);
            world.0.on_hears(NodeId(2), (&[], true), &mut world.1);
        }
        let mut send = |numbers: core::ops::Range<u16>, step: usize| {
            numbers.step_by(step).for_each(|n| world.0.on_sequence(NodeId(2), Sequence(n)));
            world.0.name(at(0), 9).len()
        };
        assert_eq!(send(0..100, 2), 1);
        // Six lost in a row.
        assert_eq!((send(107..108, 1), send(108..120, 2)), (1, 1));
        assert_eq!(send(120..400, 8), 0);
        world.0.on_hears(NodeId(2), (&[NodeId(3)], true), &mut world.1);
        assert!(!world.0.hears_nobody(NodeId(2)));
    }

    #[test]
    fn who_is_silent_for_longer_than_usual_is_not_named_but_has_not_left() {
        let mut world = World(
            Members::new(NodeId(1), Duration::from_secs(192)),
            VecDeque::new(),
            GroupStats::default(),
        );
        (0..5).for_each(|n| world.hear(10 * n, 2));
        world.hear(40, 3);
        assert_eq!(world.0.name(at(71), 9).len(), 2, "nobody spoke since");
        (60..67).for_each(|s| world.hear(s, 3));
        assert_eq!((world.0.name(at(70), 9).len(), world.0.name(at(71), 9).len()), (2, 1));
        assert_eq!(world.0.len(), 2);
        let stats = &mut world.2;
        assert_eq!(world.0.on_heard(at(90), NodeId(2), &mut world.1, stats), Heard::Again);
    }

    /// 1 is this node; each line: a node and whom it hears.
    fn neighbourhood(lists: &[(u32, &[u32])]) -> World {
        let mut world = World::new();
        for (node, hears) in lists {
            world.hear(0, *node);
            let hears: Vec<NodeId> = hears.iter().map(|n| NodeId(*n)).collect();
            world.0.on_hears(NodeId(*node), (&hears, true), &mut world.1);
        }
        world.0.name(at(0), 99);
        world
    }
    fn ids(nodes: &BTreeSet<NodeId>) -> Vec<u32> {
        nodes.iter().map(|node| node.0).collect()
    }

    #[test]
    fn beyond_a_senders_reach_is_who_hears_us_and_not_it() {
        // 2 sends; 3 hears both, 4 only us, 5 neither.
        let world = neighbourhood(&[(2, &[1, 3]), (3, &[1, 2]), (4, &[1]), (5, &[])]);
        assert_eq!(ids(&world.0.beyond(at(0), &[NodeId(2)])), [4]);
        assert_eq!(ids(&world.0.beyond(at(0), &[NodeId(2), NodeId(1)])), []);
        assert!(world.0.is_unheard(NodeId(2), NodeId(4)), "2 says whom it hears");
        assert!(!world.0.is_unheard(NodeId(5), NodeId(4)), "5 does not");
    }

    #[test]
    fn what_we_say_is_passed_on_where_a_neighbour_has_others_that_do_not_hear_us() {
        let passed_on = |lists| neighbourhood(lists).0.is_passed_on(at(0));
        assert!(!passed_on(&[(2, &[1, 3]), (3, &[1, 2])]), "all hear all");
        assert!(passed_on(&[(2, &[1, 3]), (3, &[2])]), "3 does not hear us, but 2");
        assert!(passed_on(&[(2, &[1, 9])]), "9 is not known here");
        assert!(!passed_on(&[(2, &[9])]), "2 does not hear us either");
        let world = neighbourhood(&[(2, &[1, 9])]);
        assert!(!world.0.is_passed_on(at(100)), "2 is gone");
    }

    #[test]
    fn who_is_heard_by_fewer_is_spare_while_others_reach_the_same_and_nobody_misses_it() {
        // 2 sends; 3, with more neighbours than we have, reaches 4 as we do.
        let near: &[(u32, &[u32])] =
            &[(2, &[1, 3]), (3, &[1, 2, 4, 6, 7]), (4, &[1, 3]), (6, &[3])];
        let mut world = neighbourhood(near);
        let (senders, key) = ([NodeId(2)], key());
        let beyond = world.0.beyond(at(0), &senders);
        assert_eq!(ids(&beyond), [4]);
        assert!(world.0.is_spare(at(0), &senders, &beyond));
        assert_eq!(world.0.rank(at(0), &senders, key), 1, "3 is before us");
        world.0.on_missed(at(0), NodeId(4));
        assert!(!world.0.is_spare(at(1), &senders, &beyond));
    }

    #[test]
    fn names_that_do_not_fit_take_turns() {
        let mut world = World::new();
        (2..7).for_each(|node| world.hear(0, node));
        let turns: Vec<Vec<u32>> =
            (0..3).map(|_| world.0.name(at(0), 2).iter().map(|n| n.0).collect()).collect();
        assert_eq!(turns, [[2, 3], [4, 5], [6, 2]]);
    }
}
