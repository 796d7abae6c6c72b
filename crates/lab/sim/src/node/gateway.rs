//! Publishes on a host what its gateway forwards.

use fanfare_messaging::ForwardedMessage;
use fanfare_proto::{Duration, ObjectKey, ObjectKind, Time};

use super::{
    Node, OfferedObject,
    publishing::{AHEAD, SHORT},
};
use crate::protocol_node::ProtocolNode;

impl Node {
    /// How long ago the group node first heard of a message.
    pub(crate) fn age(&self, key: ObjectKey) -> Duration {
        let group = self.protocol.as_ref().and_then(ProtocolNode::group_ref);
        group.map_or(Duration::ZERO, |group| group.age(key))
    }

    /// Whether a gateway may have it publish more: what waits does so at the gateway, where the more
    /// urgent goes first.
    pub(crate) fn has_room(&self) -> bool {
        self.unsent < AHEAD
    }

    /// Publishes what a gateway brings from another group.
    pub(crate) fn carry(&mut self, now: Time, crossing: &ForwardedMessage<()>) {
        let Some(group) = self.protocol.as_mut().and_then(ProtocolNode::group) else { return };
        let local = self.clock.shows(now);
        let ForwardedMessage { topic, options, size, .. } = crossing;
        let taken = match *size <= SHORT {
            true => {
                let content = vec![0; *size as usize];
                let taken = group.publish(local, topic, &content, *options);
                taken.map(|taken| (taken.key, if taken.inline { 0 } else { *size }))
            }
            false => {
                let key = group.publish_stored(local, topic, *size, *options);
                key.map(|key| (key, *size))
            }
        };
        let Ok((key, size)) = taken else { return };
        self.unsent += 1;
        let kind = ObjectKind::Data;
        self.offers.push(OfferedObject { key, kind, size, info: None, cancelled: false });
    }
}
