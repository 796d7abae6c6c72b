//! The expected gain of forwarding a short message: how many nodes would get it that probably do
//! not have it, by what nodes announce about whom they hear.
//!
//! Nodes announce how many of each other's messages arrive. Where nodes move, that is old and a
//! mean; but it is what can be known. So each neighbour has the message with some probability, and
//! would get it from here with another.

use crate::{
    frames::slice,
    membership::delivery_ratio::{self, DeliveryRatio, DeliveryRatios},
    membership::members::Members,
};
use alloc::vec::Vec;
use fanfare_proto::{NodeId, ObjectKey, Time};

/// A chance counts as its square: one who surely lacks it is worth more than two who may. A single node that would get it
/// with a chance of seven in ten is worth a packet, and so is one that always did and is silent for longer than usual. Of 24
/// vehicles on the move (`company`) 99.3 % have it in time. Up to 0.6 that costs about the same, and less is in time; below it,
/// since requests and answers are short, more.
const WORTH: f32 = 0.48;
/// Who has it with this chance may be the one who passes it on.
const HAS: f32 = 0.3;

/// Another node.
#[derive(Clone)]
struct Neighbour {
    node: NodeId,
    /// How likely it is that it lacks the message.
    lacks: f32,
    /// How likely it would be silent for so long, were it within reach; 0 when it is not known whom it hears.
    still: f32,
    /// How lately it was heard here.
    recency: f32,
}

impl Neighbour {
    /// What it is worth to it when a message goes to it with a chance.
    fn worth(&self, chance: f32) -> f32 {
        (chance * self.lacks) * (chance * self.lacks)
    }
}

/// The others, by id.
#[derive(Clone)]
struct Neighbours(Vec<Neighbour>);

impl Neighbours {
    fn at(&self, node: NodeId) -> Option<usize> {
        self.0.binary_search_by_key(&node, |other| other.node).ok()
    }
    /// Somebody sends it with a chance, whom these hear.
    fn heard(&mut self, by: &DeliveryRatios, sends: f32) {
        for (node, share) in by.iter() {
            if let Some(at) = self.at(node) {
                self.0[at].lacks *= 1.0 - sends * share.get();
            }
        }
    }
    /// It hears who sends it, as far as one can know.
    fn hears(&mut self, node: NodeId) {
        if let Some(at) = self.at(node) {
            self.0[at].lacks = 0.0;
        }
    }
    /// What it is worth to `node` when somebody sends it of whom so much arrives there.
    fn worth_to(&self, node: NodeId, share: DeliveryRatio) -> f32 {
        let Some(other) = self.at(node).map(|at| &self.0[at]) else { return 0.0 };
        other.worth(delivery_ratio::there(share.get(), other.still))
    }
    /// The same when this node sends it, which knows how lately it heard the other.
    fn worth_from_here(&self, node: NodeId, share: DeliveryRatio) -> f32 {
        let Some(other) = self.at(node).map(|at| &self.0[at]) else { return 0.0 };
        other.worth(delivery_ratio::arrives(
            delivery_ratio::there(share.get(), other.still),
            other.recency,
        ))
    }
    /// To all whom this node reaches.
    fn own_worth(&self, by: &DeliveryRatios) -> f32 {
        by.iter().map(|(node, share)| self.worth_from_here(node, share)).sum()
    }
    /// To all whom it reaches; to who sends it, it is worth nothing.
    fn worth(&self, by: &DeliveryRatios) -> f32 {
        by.iter().map(|(node, share)| self.worth_to(node, share)).sum()
    }
}

impl Members {
    /// How many come before this node to forward a message that these were heard to send; `None`: it need not.
    pub(crate) fn coverage(&self, now: Time, senders: &[NodeId], key: ObjectKey) -> Option<u32> {
        let nobody = DeliveryRatios::default();
        let own = self.heard_by(self.own())?;
        // Mostly there is none: that is found before all is reckoned.
        if !own.iter().any(|(node, _)| self.is_beyond(node, senders)) {
            return None;
        }
        let mut others = Neighbours(
            self.stills(now)
                .filter(|(node, _)| !senders.contains(node) && !self.hears_one_source(*node))
                .map(|(node, still)| Neighbour {
                    node,
                    lacks: 1.0,
                    still,
                    recency: self.recency(now, node),
                })
                .collect(),
        );
        for sender in senders {
            others.heard(self.heard_by(*sender).unwrap_or(&nobody), 1.0);
            self.new_to(*sender).for_each(|node| others.hears(node));
        }
        let worth = others.own_worth(own);
        if worth < WORTH {
            return None;
        }
        let place = |node: NodeId| slice::place(node, key);
        let own_place = place(self.own());
        // Who has it, and would serve more: one after the other, where they hear each other; who is not
        // heard here does so without this node's knowing.
        let (mut before, mut left) = (0, others.clone());
        for Neighbour { node, lacks, .. } in others.0.iter().filter(|other| other.lacks < 1.0) {
            let list = self.heard_by(*node).unwrap_or(&nobody);
            // Neither of both counts what the other would get.
            let theirs = others.worth(list);
            let ours = worth - others.worth_from_here(*node, own.of(*node));
            if theirs < WORTH || (theirs, place(*node)) < (ours, own_place) {
                continue;
            }
            before += u32::from(1.0 - lacks >= HAS);
            left.heard(list, (1.0 - lacks) * self.sends_unheard(now, *node));
        }
        (left.own_worth(own) >= WORTH).then_some(before)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        membership::delivery_ratio::HeardNode, membership::member::Count, stats::GroupStats,
    };
    use alloc::collections::VecDeque;
    use fanfare_proto::{Duration, InstanceId, ObjectTransportId};

    const OWN: NodeId = NodeId(1);
    const KEY: ObjectKey =
        ObjectKey { sender: NodeId(2), instance: InstanceId(1), object: ObjectTransportId(0) };

    /// Each line: a node, and whom it hears with how many sevenths.
    fn members(lists: &[(u32, &[(u32, u8)])]) -> Members {
        let mut members = Members::new(OWN, Duration::from_secs(100));
        let (mut events, mut stats) = (VecDeque::new(), GroupStats::default());
        for (node, hears) in lists {
            members.on_heard(Time::ZERO, NodeId(*node), &mut events, &mut stats);
            let hearing = |(node, bits): &(u32, u8)| {
                let (node, share) = (NodeId(*node), DeliveryRatio::from_bits(*bits));
                HeardNode { node, share, counts: *bits > 2 }
            };
            let hears: Vec<HeardNode> = hears.iter().map(hearing).collect();
            members.on_hears(NodeId(*node), (&hears, true), &mut events);
        }
        members
    }
    fn coverage(lists: &[(u32, &[(u32, u8)])]) -> Option<u32> {
        members(lists).coverage(Time::ZERO, &[NodeId(2)], KEY)
    }

    #[test]
    fn the_node_that_reaches_an_uncovered_node_is_first() {
        assert_eq!(coverage(&[(2, &[(1, 7)]), (3, &[(1, 7)])]), Some(0));
        assert_eq!(coverage(&[(2, &[(1, 7)]), (3, &[(1, 7), (2, 7)])]), None, "it hears both");
        assert_eq!(coverage(&[(2, &[(1, 7)]), (3, &[(1, 2)])]), None, "it hardly hears us");
    }

    #[test]
    fn messages_of_a_new_node_are_not_forwarded_until_others_could_announce_hearing_it() {
        let mut members = members(&[(3, &[(1, 7), (4, 7)]), (4, &[(1, 7), (3, 7)])]);
        let (mut events, mut stats) = (VecDeque::new(), GroupStats::default());
        let at = |s| Time::ZERO + Duration::from_secs(s);
        members.on_heard(at(5), NodeId(2), &mut events, &mut stats);
        assert_eq!(members.coverage(at(5), &[NodeId(2)], KEY), None);
        members.on_heard(at(6), NodeId(3), &mut events, &mut stats);
        members.on_hears(NodeId(3), (&[HeardNode::all_of(OWN)], true), &mut events);
        assert!(members.coverage(at(6), &[NodeId(2)], KEY).is_some());
    }

    #[test]
    fn losses_are_left_to_requests_when_all_nodes_hear_each_other() {
        let half: &[(u32, u8)] = &[(1, 4), (2, 4), (3, 4), (4, 4), (5, 4)];
        assert_eq!(coverage(&[(2, half), (3, half), (4, half), (5, half)]), None);
    }

    #[test]
    fn a_node_with_an_incomplete_announcement_is_left_to_requests() {
        let mut members = members(&[(2, &[(1, 7)]), (3, &[])]);
        let mut events = VecDeque::new();
        let mut names = |first: u32, all| {
            let some: Vec<HeardNode> =
                (first..first + 30).chain([1]).map(|n| HeardNode::all_of(NodeId(n))).collect();
            members.on_hears(NodeId(3), (&some, all), &mut events);
            members.coverage(Time::ZERO, &[NodeId(2)], KEY)
        };
        assert_eq!([names(100, false), names(130, false)], [None, None]);
        assert_eq!([names(100, false), names(130, false)], [Some(0), Some(0)], "it begins anew");
        let more: Vec<_> = (2..5).map(|turn| names(100 + 30 * turn, false)).collect();
        assert_eq!((more, names(190, true)), ([None, None, None].to_vec(), Some(0)));
    }

    #[test]
    fn the_node_that_reaches_more_is_first() {
        let lists: &[(u32, &[(u32, u8)])] = &[
            (2, &[(1, 7), (3, 7)]),
            (3, &[(1, 7), (2, 7)]),
            (4, &[(1, 7), (3, 7)]),
            (5, &[(3, 7)]),
        ];
        assert_eq!(coverage(lists), Some(1));
    }

    #[test]
    fn a_higher_ranked_node_that_is_not_heard_is_assumed_to_send() {
        // 3 reaches 4 and 5, and nobody tells this node when it does.
        let lists: &[(u32, &[(u32, u8)])] =
            &[(2, &[(1, 7), (3, 7)]), (3, &[(2, 7)]), (4, &[(1, 7), (3, 7)]), (5, &[(3, 7)])];
        let mut members = members(lists);
        assert_eq!(members.coverage(Time::ZERO, &[NodeId(2)], KEY), Some(1), "3 is heard");
        let lost = |n: u16| fanfare_wire::Sequence(n * 50);
        (0..20).for_each(|n| members.on_sequence(NodeId(3), (Count::Sender, lost(n))));
        assert_eq!(members.coverage(Time::ZERO, &[NodeId(2)], KEY), None);
    }

    #[test]
    fn a_node_that_left_is_neither_served_nor_waited_for() {
        let lists: &[(u32, &[(u32, u8)])] =
            &[(2, &[(1, 7), (3, 7)]), (3, &[(2, 7)]), (4, &[(1, 7), (3, 7)]), (5, &[(3, 7)])];
        let mut members = members(lists);
        let (mut events, mut stats) = (VecDeque::new(), GroupStats::default());
        let mut speak = |s: u64, nodes: &[u32]| {
            let at = Time::ZERO + Duration::from_secs(s);
            nodes.iter().for_each(|node| {
                members.on_heard(at, NodeId(*node), &mut events, &mut stats);
            });
            members.coverage(at, &[NodeId(2)], KEY)
        };
        (1..20).for_each(|n| assert_eq!(speak(2 * n, &[2, 3, 4, 5]), Some(1)));
        let without_3: Vec<_> = (20..60).map(|n| speak(2 * n, &[2, 4, 5])).collect();
        assert_eq!(without_3.last(), Some(&Some(1)), "it may have it, and is not heard");
        let without_4: Vec<_> = (60..100).map(|n| speak(2 * n, &[2, 5])).collect();
        assert_eq!(without_4.last(), Some(&None));
    }

    #[test]
    fn two_nodes_that_do_not_hear_each_other_agree_on_their_order() {
        // 1 and 3 hear 2, and 4 hears both.
        let near: &[(u32, u8)] = &[(1, 7), (3, 7)];
        let here = members(&[(2, near), (3, &[(2, 7)]), (4, near)]);
        let mut there = Members::new(NodeId(3), Duration::from_secs(100));
        let (mut events, mut stats) = (VecDeque::new(), GroupStats::default());
        for (node, hears) in [(1, &[2_u32][..]), (2, &[1, 3]), (4, &[1, 3])] {
            there.on_heard(Time::ZERO, NodeId(node), &mut events, &mut stats);
            let hears: Vec<HeardNode> =
                hears.iter().map(|n| HeardNode::all_of(NodeId(*n))).collect();
            there.on_hears(NodeId(node), (&hears, true), &mut events);
        }
        let before = |members: &Members| members.coverage(Time::ZERO, &[NodeId(2)], KEY);
        assert_eq!(u32::from(before(&here) == Some(0)) + u32::from(before(&there) == Some(0)), 1);
    }
}
