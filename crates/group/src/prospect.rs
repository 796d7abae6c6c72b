//! What it brings to pass a short message on: to whom it would go who, by all that nodes say of whom
//! they hear, has not got it.
//!
//! Nodes say of how much of each other's messages arrives: where nodes move it is long ago, and the mean of a
//! while; but a mean is what can be known. So each node near has the message with a chance, and would
//! get it from here with another.

use crate::{members::Members, share::Shares, slice};
use alloc::vec::Vec;
use fanfare_proto::{NodeId, ObjectKey, Time};

/// Passing on is worth as much as a single node that gets it, with a chance of six in ten, and others less.
/// Chances count as their squares: one who surely lacks it is worth more than two who may.
const WORTH: f32 = 0.3;
/// Who has it with this chance may be the one who passes it on.
const HAS: f32 = 0.5;

/// Of nodes near, by id: how likely each lacks the message.
struct Lacking(Vec<(NodeId, f32)>);

impl Lacking {
    fn of(&self, node: NodeId) -> f32 {
        let place = self.0.binary_search_by_key(&node, |(node, _)| *node);
        place.map_or(0.0, |place| self.0[place].1)
    }
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
        let own = self.heard_by(self.own()).unwrap_or(&nobody);
        let near = self.nodes().filter(|node| !senders.contains(node));
        let mut lacking = Lacking(near.map(|node| (node, 1.0)).collect());
        for sender in senders {
            lacking.heard(self.heard_by(*sender).unwrap_or(&nobody), 1.0);
        }
        let own = &self.reached(now, own);
        let worth = lacking.worth(own);
        let beyond = lacking.0.iter().any(|(node, _)| self.is_beyond(*node, senders));
        if worth < WORTH || !beyond {
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
