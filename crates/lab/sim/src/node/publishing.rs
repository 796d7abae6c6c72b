//! What a node publishes in its group, and when.

use fanfare_messaging::{Batch, GroupNode, PublishError, Topic, batch};
use fanfare_proto::{ObjectKey, ObjectKind, Time};

use super::{Node, OfferedObject};
use crate::{plan::Publication, protocol_node::ProtocolNode};

/// One message published.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublishedMessage {
    /// Its object.
    pub key: ObjectKey,
    /// When.
    pub at: Time,
    /// About what.
    pub topic: Topic,
    /// Its publisher's count of messages on that topic, what a gateway brings there among them.
    pub number: u64,
    /// Bytes.
    pub size: u64,
}

/// Messages of a publication that wait in the session while one is being sent.
pub(super) const AHEAD: u64 = 2;
/// Messages up to this size are handed over with their bytes: they may fit into their description.
pub(super) const SHORT: u64 = 8192;

/// A publication under way.
#[derive(Debug)]
pub(super) struct Publishing {
    what: Publication,
    published: u64,
}

impl Node {
    /// Publishes messages from now on.
    pub(crate) fn publish(&mut self, what: Publication) {
        self.publishing.push_back(Publishing { what, published: 0 });
    }

    /// Publishes while the session has less than a few messages to send.
    pub(super) fn publish_next(&mut self, now: Time) {
        let Some(group) = self.protocol.as_mut().and_then(ProtocolNode::group) else { return };
        while let Some(publishing) = self.publishing.front_mut() {
            let what = &publishing.what;
            if publishing.published >= what.count || now.since(Time::ZERO) >= what.until {
                self.publishing.pop_front();
                continue;
            }
            // One alone comes when it comes.
            if what.count > 1 && self.offers.len() as u64 >= self.sent + AHEAD {
                return;
            }
            let local = self.clock.shows(now);
            let taken = match what.size <= SHORT {
                _ if what.together > 1 => publish_together(group, local, what),
                // What is in a description is not compared; the rest is computed from the key.
                true => {
                    let content = vec![0; what.size as usize];
                    let taken = group.publish(local, &what.topic, &content, what.options);
                    taken.map(|taken| (taken.key, if taken.inline { 0 } else { what.size }))
                }
                false => {
                    let key = group.publish_stored(local, &what.topic, what.size, what.options);
                    key.map(|key| (key, what.size))
                }
            };
            let Ok((key, size)) = taken else { return };
            let message = group.own(key);
            let number = message.map_or(0, |message| message.number);
            let kind = ObjectKind::Data;
            self.offers.push(OfferedObject { key, kind, size, info: None, cancelled: false });
            publishing.published += 1;
            let bytes = what.size * u64::from(what.together);
            self.published = (self.published.0 + 1, self.published.1 + bytes);
            let (topic, size) = (what.topic.clone(), bytes);
            self.publications.push(PublishedMessage { key, at: now, topic, number, size });
        }
    }
}

/// Messages of zeros that travel as one: their object, and the bytes that it has besides its description.
fn publish_together(
    group: &mut GroupNode,
    now: Time,
    what: &Publication,
) -> Result<(ObjectKey, u64), PublishError> {
    let (mut content, message) = (Vec::new(), vec![0; what.size as usize]);
    (0..what.together).for_each(|_| batch::append(&message, &mut content));
    let Publication { topic, options, together, .. } = what.clone();
    let size = content.len() as u64;
    let batch = Batch { topic, options, content, messages: together };
    let taken = group.publish_batch(now, &batch, options)?;
    Ok((taken.key, if taken.inline { 0 } else { size }))
}
