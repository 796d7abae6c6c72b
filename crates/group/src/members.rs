//! Who is there, and who hears whom: any word of a node is a sign of life.

use crate::{event::Event, stats::GroupStats};
use alloc::{
    collections::{BTreeMap, VecDeque},
    vec::Vec,
};
use fanfare_proto::{Duration, NodeId, Time};

/// Nodes known at once.
const MEMBERS_MAX: usize = 4096;

#[derive(Debug)]
struct Member {
    heard: Time,
    /// Whether it said that it hears us; `None` before it spoke of that.
    hears_us: Option<bool>,
}

/// The nodes heard of late.
#[derive(Debug)]
pub(crate) struct Members {
    own: NodeId,
    life: Duration,
    members: BTreeMap<NodeId, Member>,
    /// The last one named in an announcement: lists that do not fit go round.
    named: NodeId,
}

impl Members {
    /// Nodes of which nothing is heard for `life` have left.
    pub(crate) fn new(own: NodeId, life: Duration) -> Self {
        Self { own, life, members: BTreeMap::new(), named: NodeId::NONE }
    }

    /// Something was heard of `node`. True when it was not known.
    pub(crate) fn on_heard(
        &mut self,
        now: Time,
        node: NodeId,
        events: &mut VecDeque<Event>,
        stats: &mut GroupStats,
    ) -> bool {
        if let Some(member) = self.members.get_mut(&node) {
            member.heard = now;
            return false;
        }
        if node == self.own || self.members.len() >= MEMBERS_MAX {
            stats.members_dropped += u64::from(node != self.own);
            return false;
        }
        self.members.insert(node, Member { heard: now, hears_us: None });
        events.push_back(Event::Joined { node });
        true
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
        if (named || all) && member.hears_us != Some(named) {
            member.hears_us = Some(named);
            events.push_back(Event::HearsUs { node, hears: named });
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.members.len()
    }

    /// Up to `max` of them to name next.
    pub(crate) fn name(&mut self, max: usize) -> Vec<NodeId> {
        let after = self
            .members
            .range((core::ops::Bound::Excluded(self.named), core::ops::Bound::Unbounded));
        let before = self.members.range(..=self.named);
        let names: Vec<NodeId> = after.chain(before).map(|(node, _)| *node).take(max).collect();
        self.named = names.last().copied().unwrap_or(NodeId::NONE);
        names
    }

    /// All of them, and whether each says that it hears us.
    pub(crate) fn all(&self) -> impl Iterator<Item = (NodeId, Option<bool>)> {
        self.members.iter().map(|(node, member)| (*node, member.hears_us))
    }

    pub(crate) fn on_timeout(&mut self, now: Time, events: &mut VecDeque<Event>) {
        let life = self.life;
        self.members.retain(|node, member| {
            let stays = now.since(member.heard) < life;
            if !stays {
                events.push_back(Event::Left { node: *node });
            }
            stays
        });
    }
    pub(crate) fn next_timeout(&self) -> Option<Time> {
        self.members.values().map(|member| member.heard).min().map(|heard| heard + self.life)
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
    fn names_that_do_not_fit_take_turns() {
        let mut world = World::new();
        (2..7).for_each(|node| world.hear(0, node));
        let turns: Vec<Vec<u32>> =
            (0..3).map(|_| world.0.name(2).iter().map(|n| n.0).collect()).collect();
        assert_eq!(turns, [[2, 3], [4, 5], [6, 2]]);
    }
}
