//! Passing on short messages to whom their publisher does not reach.

use super::{GroupNode, outgoing::timing_of};
use crate::{demand::Part, frame::Kind, members::Members, relay::Neighbours};
use alloc::{collections::BTreeSet, vec::Vec};
use fanfare_proto::{NodeId, ObjectKey, Storage, Time};
use fanfare_wire::Message;

/// Who is near now, as far as it concerns a message.
struct Near<'a> {
    members: &'a Members,
    now: Time,
    key: ObjectKey,
}

impl Neighbours for Near<'_> {
    fn beyond(&self, senders: &[NodeId]) -> BTreeSet<NodeId> {
        self.members.beyond(self.now, senders)
    }
    fn rank(&self, senders: &[NodeId]) -> u32 {
        self.members.rank(self.now, senders, self.key)
    }
    fn is_spare(&self, senders: &[NodeId], beyond: &BTreeSet<NodeId>) -> bool {
        self.members.is_spare(self.now, senders, beyond)
    }
}

impl GroupNode {
    /// The message that a NORM_INFO of another node is, if it is whole here and all of it is in there.
    fn described(&self, message: &Message<'_>) -> Option<ObjectKey> {
        let Message::Info(info) = message else { return None };
        let (sender, instance) = (info.sender.source_id, info.sender.instance_id);
        let key = ObjectKey { sender, instance, object: info.object_transport_id };
        self.cache.get(key).filter(|cached| cached.whole && cached.size == 0).map(|_| key)
    }
    pub(super) fn has_described(&self, message: &Message<'_>) -> bool {
        self.described(message).is_some()
    }

    /// `from` sent it: those who do not hear that node, but this one, may have it from here.
    pub(super) fn pass_on_from(&mut self, from: NodeId, message: &Message<'_>, had: bool) {
        let relays = self.config.relays && self.config.repairs && !self.config.silent;
        let Some(key) = self.described(message).filter(|_| relays) else { return };
        let timing = timing_of(self.session.receiver().rumour(key.sender), self.members.len());
        let Self { relay, members, rng, now, .. } = self;
        let near = Near { members, now: *now, key };
        if had {
            return relay.on_again(*now, (key, from), &near, (timing, rng));
        }
        let mut senders = Vec::from([key.sender]);
        senders.extend(Some(from).filter(|from| *from != key.sender));
        relay.on_new(*now, (key, senders), &near, (timing, rng));
    }

    pub(super) fn poll_relay(&mut self, buf: &mut Vec<u8>, storage: &mut dyn Storage) -> bool {
        while self.repairer.may_send(self.now)
            && let Some(key) = self.relay.poll(self.now)
        {
            let wanted = (key, Part::Info);
            if self.write_repair(Kind::Relay, wanted, 0, (buf, storage)) {
                self.stats.relays_sent += 1;
                self.stats.relay_bytes_sent += buf.len() as u64;
                let timing =
                    timing_of(self.session.receiver().rumour(key.sender), self.members.len());
                let chance = &mut self.rng;
                self.repairer.on_relayed(self.now, wanted, buf.len(), (timing, chance));
                return true;
            }
            buf.clear();
        }
        false
    }
}
