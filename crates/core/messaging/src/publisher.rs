//! What a node publishes: numbers for each topic, and tags by which waiting messages can be
//! withdrawn.

use crate::{
    age::Age,
    description::{Description, Mark, Options},
    topic::Topic,
};
use alloc::{
    collections::{BTreeMap, BTreeSet},
    vec::Vec,
};
use core::fmt;
use fanfare_proto::{EnqueueError, ObjectKey, Time};

/// Topics that one publisher can have numbers for.
const TOPICS_MAX: usize = 65_536;
/// Messages whose marks are remembered.
const TAGGED_MAX: usize = 65_536;

/// Why a message was not taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PublishError {
    /// More topics than can be numbered.
    TooManyTopics,
    /// The session does not take the object.
    Session(EnqueueError),
}

impl fmt::Display for PublishError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooManyTopics => write!(
                f,
                "message (topic): this node has published to {TOPICS_MAX} topics. Use fewer"
            ),
            Self::Session(error) => {
                write!(f, "message (size): {error}. Wait until earlier messages have gone")
            }
        }
    }
}

impl core::error::Error for PublishError {}

/// A message that can still be repaired.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Own {
    pub(crate) message: Description,
    /// Its bytes.
    pub(crate) size: u64,
    pub(crate) age: Age,
}

/// What is remembered of what was published.
#[derive(Debug, Default)]
pub(crate) struct Publisher {
    numbers: BTreeMap<Topic, u64>,
    tagged: BTreeMap<Mark, Vec<ObjectKey>>,
    tagged_count: usize,
    tags_dropped: u64,
    /// Messages of earlier lives that are kept here, and their marks.
    earlier: BTreeMap<ObjectKey, Mark>,
    /// What can still be repaired.
    own: BTreeMap<ObjectKey, Own>,
    /// When of these expire that do.
    ends: BTreeSet<(Time, ObjectKey)>,
}

impl Own {
    /// When it is of no use any more.
    fn end(&self) -> Option<Time> {
        let expiry = self.message.options.expiry?;
        Some(self.age.heard + expiry.saturating_sub(self.age.then))
    }
}

impl Publisher {
    /// The description of the next message on a topic, or of the next so many.
    pub(crate) fn describe(
        &self,
        topic: &Topic,
        options: Options,
        (content, batch): (Option<&[u8]>, Option<u32>),
    ) -> Result<Description, PublishError> {
        let number = self.numbers.get(topic).copied();
        if number.is_none() && self.numbers.len() >= TOPICS_MAX {
            return Err(PublishError::TooManyTopics);
        }
        let (number, content) = (number.unwrap_or(0), content.map(<[u8]>::to_vec));
        Ok(Description { topic: topic.clone(), number, options, batch, content })
    }

    /// It has been taken. Gives the earlier messages whose place it takes.
    pub(crate) fn on_published(
        &mut self,
        message: &Description,
        (key, size): (ObjectKey, u64),
        age: Age,
    ) -> Vec<ObjectKey> {
        let own = Own { message: message.clone(), size, age };
        self.ends.extend(own.end().map(|end| (end, key)));
        self.own.insert(key, own);
        *self.numbers.entry(message.topic.clone()).or_default() = message.next_number();
        if message.options.tag.is_none() {
            return Vec::new();
        }
        let mark = message.mark();
        let replaced = match message.options.replaces {
            true => self.tagged.remove(&mark).unwrap_or_default(),
            false => Vec::new(),
        };
        self.tagged_count -= replaced.len();
        if self.tagged_count < TAGGED_MAX {
            self.tagged.entry(mark).or_default().push(key);
            self.tagged_count += 1;
        } else {
            self.tags_dropped += 1;
        }
        replaced
    }

    /// A message of an earlier life is kept here.
    pub(crate) fn on_earlier(&mut self, key: ObjectKey, message: &Description) {
        if message.options.tag.is_none() {
            return;
        }
        match self.earlier.len() < TAGGED_MAX {
            true => _ = self.earlier.insert(key, message.mark()),
            false => self.tags_dropped += 1,
        }
    }

    /// It is kept no longer.
    pub(crate) fn on_earlier_gone(&mut self, key: ObjectKey) {
        self.earlier.remove(&key);
    }

    /// Messages of earlier lives whose place this one takes; they are forgotten.
    pub(crate) fn replace_earlier(&mut self, message: &Description) -> Vec<ObjectKey> {
        match message.options.replaces && message.options.tag.is_some() {
            true => self.forget_earlier(|mark| *mark == message.mark()),
            false => Vec::new(),
        }
    }

    /// Messages of earlier lives with this tag, on any topic; they are forgotten.
    pub(crate) fn withdraw_earlier(&mut self, tag: u64) -> Vec<ObjectKey> {
        self.forget_earlier(|(of, ..)| *of == Some(tag))
    }

    fn forget_earlier(&mut self, of: impl Fn(&Mark) -> bool) -> Vec<ObjectKey> {
        self.earlier.extract_if(.., |_, mark| of(mark)).map(|(key, _)| key).collect()
    }

    /// Messages whose tag was not remembered.
    pub(crate) fn tags_dropped(&self) -> u64 {
        self.tags_dropped
    }

    /// One of them.
    pub(crate) fn get(&self, key: ObjectKey) -> Option<&Own> {
        self.own.get(&key)
    }

    /// An earlier run had come so far.
    pub(crate) fn resume(&mut self, numbers: impl Iterator<Item = (Topic, u64)>) {
        for (topic, next) in numbers {
            if self.numbers.len() < TOPICS_MAX {
                let number = self.numbers.entry(topic).or_default();
                *number = next.max(*number);
            }
        }
    }

    /// Its messages that can still be repaired.
    pub(crate) fn own(&self) -> impl Iterator<Item = (&ObjectKey, &Own)> {
        self.own.iter()
    }

    /// Messages with this tag, on any topic; they are forgotten.
    pub(crate) fn withdraw(&mut self, tag: u64) -> Vec<ObjectKey> {
        let marks: Vec<_> = self.tagged.keys().filter(|(t, ..)| *t == Some(tag)).cloned().collect();
        let keys = marks.iter().filter_map(|mark| self.tagged.remove(mark)).flatten();
        let keys: Vec<ObjectKey> = keys.collect();
        self.tagged_count -= keys.len();
        keys
    }

    /// Those that have expired by now: they are to be withdrawn.
    pub(crate) fn expire(&mut self, now: Time) -> Vec<ObjectKey> {
        let over = self.ends.iter().take_while(|(end, _)| *end <= now).count();
        (0..over).filter_map(|_| Some(self.ends.pop_first()?.1)).collect()
    }

    /// When the next one expires.
    pub(crate) fn next_timeout(&self) -> Option<Time> {
        self.ends.first().map(|(end, _)| *end)
    }

    /// It can no longer be withdrawn.
    pub(crate) fn on_purged(&mut self, key: ObjectKey) {
        if let Some(end) = self.own.remove(&key).as_ref().and_then(Own::end) {
            self.ends.remove(&(end, key));
        }
        let mut count = 0;
        self.tagged.retain(|_, keys| {
            let before = keys.len();
            keys.retain(|other| *other != key);
            count += before - keys.len();
            !keys.is_empty()
        });
        self.tagged_count -= count;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fanfare_proto::{Duration, InstanceId, NodeId, ObjectTransportId};

    const NOW: Age = Age { heard: Time::ZERO, then: Duration::ZERO };

    fn key(object: u16) -> ObjectKey {
        let object = ObjectTransportId(object);
        ObjectKey { sender: NodeId(1), instance: InstanceId(1), object }
    }
    fn publish(
        publisher: &mut Publisher,
        topic: &str,
        options: Options,
        object: u16,
    ) -> (u64, Vec<ObjectKey>) {
        let topic = Topic::new(topic).unwrap();
        let message = publisher.describe(&topic, options, (None, None)).unwrap();
        (message.number, publisher.on_published(&message, (key(object), 0), NOW))
    }

    #[test]
    fn each_topic_is_numbered_by_itself() {
        let mut publisher = Publisher::default();
        let mut number = |topic| publish(&mut publisher, topic, Options::default(), 0).0;
        assert_eq!(["a", "a", "b", "a"].map(&mut number), [0, 1, 0, 2]);
    }

    #[test]
    fn a_message_takes_the_place_of_earlier_ones_of_its_tag_and_topic_only() {
        let mut publisher = Publisher::default();
        let tagged = Options { tag: Some(7), ..Options::default() };
        let replacing = Options { replaces: true, ..tagged };
        publish(&mut publisher, "a", tagged, 0);
        publish(&mut publisher, "a", tagged, 1);
        publish(&mut publisher, "b", tagged, 2);
        assert_eq!(publish(&mut publisher, "a", replacing, 3).1, [key(0), key(1)]);
        assert_eq!(publish(&mut publisher, "a", replacing, 4).1, [key(3)]);
        assert_eq!(publisher.withdraw(7), [key(4), key(2)]);
        assert_eq!((publisher.withdraw(7), publisher.tagged_count), (Vec::new(), 0));
    }

    #[test]
    fn what_has_left_the_session_is_forgotten() {
        let mut publisher = Publisher::default();
        let tagged = Options { tag: Some(7), ..Options::default() };
        publish(&mut publisher, "a", tagged, 0);
        publisher.on_purged(key(0));
        assert_eq!((publisher.withdraw(7), publisher.tagged_count), (Vec::new(), 0));
    }
}
