//! By what a message is known wherever it comes: to what it was given a name by, on either side.
//!
//! In NATS a message of a group has two headers: its id (`Nats-Msg-Id`, by which a stream takes it once),
//! and the name of the group (`Fanfare-Site`). In the group a message of NATS has a tag: 24 bits say
//! of which NATS, 39 are of its topic and content, so that it shows that the tag is a bridge's.

use crate::{
    messaging::{ContentHash, Description, Topic},
    proto::ObjectKey,
};

/// By which a stream of JetStream takes a message once.
pub(crate) const ID: &str = "Nats-Msg-Id";
/// The group that a message came from.
pub(crate) const SITE: &str = "Fanfare-Site";
/// Bits of a tag that are of topic and content: a tag of an application's is mistaken for a bridge's
/// once in 5 x 10^11. 63 bits in all: a byte less on the wire than 64.
const CONTENT_BITS: u32 = 39;
const SYSTEM_MASK: u64 = (1 << 24) - 1;
const CONTENT_MASK: u64 = (1 << CONTENT_BITS) - 1;

/// The id of a group's message: who published it in which life, and its count on which topic.
pub(crate) fn id(key: ObjectKey, description: &Description) -> String {
    // Of whoever published it first, if a gateway brought it: other bridges may have it from there.
    let identity = description.identity(key);
    let topic = first_bits(identity.topic.as_str().as_bytes());
    let (publisher, instance) = (identity.node.0, identity.instance.0);
    format!("fanfare-{publisher:08x}-{instance:04x}-{topic:016x}-{}", identity.number)
}

/// What a tag says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Brought {
    /// It is of the group.
    No,
    /// A bridge brought it from this NATS.
    FromHere,
    /// A bridge brought it from another.
    FromElsewhere,
}

/// The name of a NATS in tags.
#[derive(Debug, Clone, Copy)]
pub(crate) struct System(u64);

impl System {
    pub(crate) fn new(name: &str) -> Self {
        Self(first_bits(name.as_bytes()) & SYSTEM_MASK)
    }

    /// The tag of what comes from it.
    pub(crate) fn tag(self, content: u64) -> u64 {
        self.0 << CONTENT_BITS | content & CONTENT_MASK
    }

    /// What the tag of a message in the group says.
    pub(crate) fn brought(self, tag: Option<u64>, content: u64) -> Brought {
        match tag {
            Some(tag) if tag == self.tag(content) => Brought::FromHere,
            Some(tag) if tag >> 63 == 0 && tag & CONTENT_MASK == content & CONTENT_MASK => {
                Brought::FromElsewhere
            }
            _ => Brought::No,
        }
    }
}

/// Of a topic and the hash of a content.
pub(crate) fn content(topic: &Topic, hash: &ContentHash) -> u64 {
    let mut hasher = blake3::Hasher::new_derive_key("fanfare bridge to NATS, topic and content");
    hasher.update(hash).update(topic.as_str().as_bytes());
    bits(&hasher.finalize())
}

fn first_bits(bytes: &[u8]) -> u64 {
    bits(&blake3::hash(bytes))
}

fn bits(hash: &blake3::Hash) -> u64 {
    hash.as_bytes()[..8].iter().fold(0, |bits, byte| bits << 8 | u64::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        messaging::Options,
        proto::{InstanceId, NodeId, ObjectTransportId},
    };

    #[test]
    fn a_tag_tells_which_nats_a_message_came_from_and_no_other_tag_does() {
        let (here, there) = (System::new("hq"), System::new("elsewhere"));
        let topic = Topic::new("a/b").unwrap();
        let content = content(&topic, &[7; 16]);
        let tag = Some(here.tag(content));
        assert_eq!(here.brought(tag, content), Brought::FromHere);
        assert_eq!(there.brought(tag, content), Brought::FromElsewhere);
        let other = self::content(&Topic::new("a/c").unwrap(), &[7; 16]);
        for tag in [None, Some(7), Some(u64::MAX), tag.map(|tag| tag ^ 1), Some(here.tag(other))] {
            assert_eq!(here.brought(tag, content), Brought::No, "{tag:?}");
        }
    }

    #[test]
    fn an_id_differs_by_publisher_life_topic_and_number() {
        let key = |sender, instance| ObjectKey {
            sender: NodeId(sender),
            instance: InstanceId(instance),
            object: ObjectTransportId(3),
        };
        let said = |topic: &str, number| Description {
            topic: Topic::new(topic).unwrap(),
            number,
            options: Options::default(),
            batch: None,
            content: None,
        };
        let ids = [
            id(key(1, 1), &said("a", 0)),
            id(key(2, 1), &said("a", 0)),
            id(key(1, 2), &said("a", 0)),
            id(key(1, 1), &said("b", 0)),
            id(key(1, 1), &said("a", 1)),
        ];
        let different: std::collections::BTreeSet<_> = ids.iter().collect();
        assert_eq!(different.len(), ids.len());
        // Another object with the same description is the same message, sent again.
        let again = ObjectKey { object: ObjectTransportId(9), ..key(1, 1) };
        assert_eq!(id(again, &said("a", 0)), ids[0]);
    }
}
