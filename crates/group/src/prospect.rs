//! What it brings to pass a short message on: to whom it would go who, by all that nodes say of whom
//! they hear, has not got it.
//!
//! Nodes say of how much of each other's messages arrives: where nodes move it is long ago, and the mean of a
//! while; but a mean is what can be known. So each node near has the message with a chance, and would
//! get it from here with another.

use crate::{members::Members, share::Shares, slice};
use alloc::vec::Vec;
use fanfare_proto::{NodeId, ObjectKey, Time};

/// A chance counts as its square: one who surely lacks it is worth more than two who may. A single node that
/// would get it with a chance of four in ten is worth a packet: with less, more of 24 vehicles on the move (`company`) have
/// it in time, and more packets bring nothing; with more, what is saved goes for requests.
const WORTH: f32 = 0.18;
/// Who has it with this chance may be the one who passes it on.
const HAS: f32 = 0.5;

/// Of nodes near, by id: how likely each lacks the message.
struct Lacking(Vec<(NodeId, f32)>);

impl Lacking {
    /// Somebody sends it with a chance, whom these hear.
    fn heard(&mut self, by: &Shares, sends: f32) {
        let mut by = by.iter().peekable();
        for (node, lacks) in &mut self.0 {
            while by.next_if(|(other, _)| other < node).is_some() {}
            if let Some((_, share)) = by.next_if(|(other, _)| other == node) {
                *lacks *= 1.0 - sends * share.get();
            }
        }
    }
    /// What it is worth when somebody sends it whom these hear; to that one itself it is worth nothing.
    fn worth(&self, by: &Shares) -> f32 {
        let mut by = by.iter().peekable();
        let chances = self.0.iter().map(|(node, lacks)| {
            while by.next_if(|(other, _)| other < node).is_some() {}
            let share = by.next_if(|(other, _)| other == node);
            share.map_or(0.0, |(_, share)| share.get() * lacks)
        });
        chances.map(|chance| chance * chance).sum()
    }
}

impl Members {
    /// How many come before this node to pass on a message that these were heard to send; `None`: it need not.
    pub(crate) fn prospect(&self, now: Time, senders: &[NodeId], key: ObjectKey) -> Option<u32> {
        let nobody = Shares::default();
        let own = self.heard_by(self.own())?;
        // Mostly there is none: that is found before all is reckoned.
        if !own.iter().any(|(node, _)| self.is_beyond(node, senders)) {
            return None;
        }
        let others = self.listed().filter(|node| !senders.contains(node));
        let mut lacking = Lacking(others.map(|node| (node, 1.0)).collect());
        for sender in senders {
            lacking.heard(self.heard_by(*sender).unwrap_or(&nobody), 1.0);
        }
        let own = &self.reached(now, own);
        let worth = lacking.worth(own);
        if worth < WORTH {
            return None;
        }
        let place = |node: NodeId| slice::offset(node, key, 0, usize::MAX);
        let own_place = place(self.own());
        // Who has it, and would serve more: one after the other, where they hear each other; who is not
        // heard here does so without this node's knowing.
        let mut before = 0;
        let mut left = Lacking(lacking.0.clone());
        for (node, lacks) in &lacking.0 {
            let list = self.heard_by(*node).unwrap_or(&nobody);
            let theirs = if *lacks < 1.0 { lacking.worth(list) } else { 0.0 };
            if theirs < WORTH || (theirs, place(*node)) < (worth, own_place) {
                continue;
            }
            before += u32::from(1.0 - lacks >= HAS);
            left.heard(list, (1.0 - lacks) * (1.0 - self.share_of(now, *node)));
        }
        (left.worth(own) >= WORTH).then_some(before)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        share::{Hearing, Share},
        stats::GroupStats,
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
                let (node, share) = (NodeId(*node), Share::from_bits(*bits));
                Hearing { node, share, counts: *bits > 2 }
            };
            let hears: Vec<Hearing> = hears.iter().map(hearing).collect();
            members.on_hears(NodeId(*node), (&hears, true), &mut events);
        }
        members
    }
    fn prospect(lists: &[(u32, &[(u32, u8)])]) -> Option<u32> {
        members(lists).prospect(Time::ZERO, &[NodeId(2)], KEY)
    }

    #[test]
    fn who_reaches_one_that_does_not_hear_the_sender_is_first() {
        assert_eq!(prospect(&[(2, &[(1, 7)]), (3, &[(1, 7)])]), Some(0));
        assert_eq!(prospect(&[(2, &[(1, 7)]), (3, &[(1, 7), (2, 7)])]), None, "it hears both");
        assert_eq!(prospect(&[(2, &[(1, 7)]), (3, &[(1, 2)])]), None, "it hardly hears us");
    }

    #[test]
    fn where_all_hear_each_other_losses_are_left_to_requests() {
        let half: &[(u32, u8)] = &[(1, 4), (2, 4), (3, 4), (4, 4), (5, 4)];
        assert_eq!(prospect(&[(2, half), (3, half), (4, half), (5, half)]), None);
    }

    #[test]
    fn who_has_not_named_all_that_it_hears_is_left_to_requests() {
        let mut members = members(&[(2, &[(1, 7)]), (3, &[])]);
        let mut events = VecDeque::new();
        let mut names = |first: u32, all| {
            let some: Vec<Hearing> =
                (first..first + 30).chain([1]).map(|n| Hearing::all_of(NodeId(n))).collect();
            members.on_hears(NodeId(3), (&some, all), &mut events);
            members.prospect(Time::ZERO, &[NodeId(2)], KEY)
        };
        assert_eq!([names(100, false), names(130, false)], [None, None]);
        assert_eq!([names(100, false), names(130, false)], [Some(0), Some(0)], "it begins anew");
        let more: Vec<_> = (2..5).map(|turn| names(100 + 30 * turn, false)).collect();
        assert_eq!((more, names(190, true)), ([None, None, None].to_vec(), Some(0)));
    }

    #[test]
    fn who_reaches_more_comes_before() {
        let lists: &[(u32, &[(u32, u8)])] = &[
            (2, &[(1, 7), (3, 7)]),
            (3, &[(1, 7), (2, 7)]),
            (4, &[(1, 7), (3, 7)]),
            (5, &[(3, 7)]),
        ];
        assert_eq!(prospect(lists), Some(1));
    }

    #[test]
    fn who_comes_before_and_is_not_heard_here_is_taken_to_send_it() {
        // 3 reaches 4 and 5, and nobody tells this node when it does.
        let lists: &[(u32, &[(u32, u8)])] =
            &[(2, &[(1, 7), (3, 7)]), (3, &[(2, 7)]), (4, &[(1, 7), (3, 7)]), (5, &[(3, 7)])];
        let mut members = members(lists);
        assert_eq!(members.prospect(Time::ZERO, &[NodeId(2)], KEY), Some(1), "3 is heard");
        let lost = |n: u16| fanfare_wire::Sequence(n * 50);
        (0..20).for_each(|n| members.on_sequence(NodeId(3), lost(n)));
        assert_eq!(members.prospect(Time::ZERO, &[NodeId(2)], KEY), None);
    }

    #[test]
    fn who_has_long_been_silent_is_not_reckoned_with() {
        let members = members(&[(2, &[(1, 7)]), (3, &[(1, 7)])]);
        let at = Time::ZERO + Duration::from_secs(900);
        assert_eq!(members.prospect(at, &[NodeId(2)], KEY), None);
    }
}
