//! What is known of messages that are longer than this node takes, until they are given up: then it is told.

use std::collections::BTreeMap;

use fanfare_messaging::{Description, Topic};
use fanfare_proto::ObjectKey;

/// Messages that are on the way to being given up: three datagrams, mostly in a row.
const REFUSED_MAX: usize = 64;

/// A message that is longer than it may be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TooLong {
    /// Its topic, where that was heard.
    pub topic: Option<Topic>,
    /// Its bytes.
    pub size: u64,
    /// The most.
    pub max: u64,
}

/// Those heard of.
#[derive(Debug)]
pub(crate) struct Refusals {
    max: u64,
    known: BTreeMap<ObjectKey, TooLong>,
}

impl Refusals {
    /// Of what is longer than `max`.
    pub(crate) fn new(max: u64) -> Self {
        Self { max, known: BTreeMap::new() }
    }

    /// A datagram said that a message has so many bytes; its INFO, if it was that.
    pub(crate) fn on_too_long(&mut self, key: ObjectKey, size: u64, info: Option<&[u8]>) {
        let max = self.max;
        let refused = self.known.entry(key).or_insert(TooLong { topic: None, size, max });
        let topic = info.and_then(Description::decode).map(|message| message.topic);
        refused.topic = topic.or(refused.topic.take());
        while self.known.len() > REFUSED_MAX {
            // Its topic will not be told.
            self.known.pop_first();
        }
    }

    /// It is given up.
    pub(crate) fn take(&mut self, key: ObjectKey) -> Option<TooLong> {
        self.known.remove(&key)
    }
}

#[cfg(test)]
mod tests {
    use fanfare_messaging::Options;
    use fanfare_proto::{InstanceId, NodeId, ObjectTransportId};

    use super::*;

    fn key(object: u16) -> ObjectKey {
        let object = ObjectTransportId(object);
        ObjectKey { sender: NodeId(7), instance: InstanceId(1), object }
    }

    #[test]
    fn the_topic_is_known_from_whichever_datagram_had_it() {
        let topic = Topic::new("maps/north").unwrap();
        let (options, content) = (Options::default(), None);
        let info =
            Description { topic: topic.clone(), number: 0, options, batch: None, content }.encode();
        let mut refusals = Refusals::new(90);
        refusals.on_too_long(key(1), 95, None);
        refusals.on_too_long(key(1), 95, Some(&info));
        refusals.on_too_long(key(1), 95, None);
        let expected = TooLong { topic: Some(topic), size: 95, max: 90 };
        assert_eq!((refusals.take(key(1)), refusals.take(key(1))), (Some(expected), None));
    }

    #[test]
    fn whoever_announces_long_messages_without_end_fills_nothing() {
        let mut refusals = Refusals::new(90);
        (0..1000).for_each(|object| refusals.on_too_long(key(object), 95, None));
        assert_eq!(refusals.known.len(), REFUSED_MAX);
        assert!(refusals.take(key(999)).is_some());
    }
}
