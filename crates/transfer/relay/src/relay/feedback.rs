//! Towards a sender: what its receivers request and acknowledge. What is kept is sent from here, and only
//! the rest goes on.

use std::time::Duration;

use fanfare_wire::{Nack, NodeId};

use super::Relay;
use crate::{
    config::Outgoing,
    demand::Demand,
    ledger::Repair,
    side::{From, Side, To},
    source::Source,
};

/// The least time in which nothing is sent or asked for twice.
const HOLD: Duration = Duration::from_millis(100);

impl Relay {
    /// The side that a member is on, if this relay serves it for this sender.
    fn member_side(&self, from: From, sender: NodeId) -> Option<Side> {
        let source = self.sources.get(&sender.0)?;
        let side = match self.peer(from.address) {
            Some(peer) if !from.multicast => Side::Peer(peer),
            _ => Side::Group(from.group),
        };
        (side != source.side && !source.is_served(side)).then_some(side)
    }

    pub(super) fn on_nack(&mut self, now: Duration, from: From, nack: &Nack<'_>) {
        let sender = nack.feedback.server_id;
        let Some(side) = self.member_side(from, sender) else { return };
        let Some(source) = self.sources.get(&sender.0) else { return };
        if source.instance != nack.feedback.instance_id.0 {
            return;
        }
        let instance = source.instance;
        let hold = HOLD.max(source.grtt * 2);
        self.counts.requests.0 += 1;
        let kept = (&mut self.cache, &mut self.ledger);
        let mut demand = Demand::new(kept, (sender.0, instance), side, (now, hold));
        let residue = demand.on_nack(nack);
        for key in std::mem::take(&mut demand.infos) {
            let info = self.cache.get(key).and_then(|object| object.info.clone());
            if let Some(info) = info {
                self.repair(sender.0, side, info);
            }
        }
        if !residue.is_empty() {
            self.counts.requests.1 += 1;
            let mut bytes = Vec::new();
            nack.encode(nack.extensions.cc().as_ref(), &residue, &mut bytes);
            self.answer(sender, nack.feedback.source_id, bytes);
        }
    }

    /// A message of the sender's that is sent again.
    fn repair(&mut self, sender: u32, side: Side, mut bytes: Vec<u8>) {
        let Some(source) = self.sources.get_mut(&sender) else { return };
        let number = source.insert(side);
        bytes[2..4].copy_from_slice(&number.to_be_bytes());
        // Who says so, and the timing, as the sender says it now.
        bytes[4..12].copy_from_slice(&source.header[4..12]);
        self.counts.repaired += 1;
        self.send(side, bytes);
    }

    pub(super) fn on_feedback(
        &mut self,
        now: Duration,
        from: From,
        sender: NodeId,
        member: NodeId,
        bytes: &[u8],
    ) {
        if self.member_side(from, sender).is_none() {
            return;
        }
        if !self.outbox.may_answer(now) {
            self.counts.dropped += 1;
            return;
        }
        self.counts.feedback += 1;
        self.answer(sender, member, bytes.to_vec());
    }

    /// Towards a sender: to its group where that is how it is heard, else to its address.
    fn answer(&mut self, sender: NodeId, member: NodeId, bytes: Vec<u8>) {
        let Some(source) = self.sources.get(&sender.0) else { return };
        let to = match source.from {
            From { multicast: true, group, .. } => To::Group(group),
            From { group, .. } => To::Address(group, source.address()),
        };
        self.push(Outgoing { to, bytes, member: Some(member.0) });
    }

    pub(super) fn send_repair(&mut self, repair: Repair) {
        let sender = repair.key.0;
        let serves = |source: &&Source| !source.is_served(repair.side);
        let source = self.sources.get(&sender).filter(serves);
        let Some(fields) = source.map(|source| source.fields) else { return };
        let Some(bytes) = self.cache.again(&repair, fields) else { return };
        self.ledger.on_sent(bytes.len());
        self.repair(sender, repair.side, bytes);
    }
}
