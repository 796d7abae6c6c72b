//! The description of a message, in the NORM_INFO of its object.
//!
//! ```text
//! "FG" | version 2 (8) | flags (8) | number (varint)
//! | priority (8) if 01 | expiry ms (varint) if 02 | tag (varint) if 04 | hash (16 bytes) if 10
//! | origin if 40: node (32) | instance (16) | number (varint) | hops (8)
//! | topic length (8) | topic | messages (varint) if 80 | content if 20
//! ```
//!
//! A message that fits beside its description travels in it. Its object is then empty, and one
//! datagram carries all of it. The INFO of an object that is no message (such as a file's name)
//! begins otherwise.
//!
//! With flag 80 several messages travel as one ([`crate::message::batch`]): the content has each of them with
//! its length, and their numbers begin with the one here. Nodes of earlier versions do not know this
//! flag: they repair such messages for others but deliver them to nobody.

use crate::message::{
    batch,
    frames::varint::{array, put, split, take},
    origin::{Identity, Origin},
    topic::Topic,
};
use alloc::vec::Vec;
use fanfare_proto::{Duration, InstanceId, NodeId, ObjectKey};

const MAGIC: [u8; 2] = *b"FG";
const VERSION: u8 = 2;
/// What each description of this version begins with.
pub const PREFIX: [u8; 3] = [MAGIC[0], MAGIC[1], VERSION];
/// Flags.
const PRIORITY: u8 = 0x01;
const EXPIRY: u8 = 0x02;
const TAG: u8 = 0x04;
const REPLACES: u8 = 0x08;
const HASH: u8 = 0x10;
const INLINE: u8 = 0x20;
const ORIGIN: u8 = 0x40;
const BATCH: u8 = 0x80;

/// The middle of 0 to 10, as in DisService: what most messages have costs no byte.
pub const PRIORITY_DEFAULT: u8 = 5;
/// Highest priority.
pub const PRIORITY_MAX: u8 = 10;

/// Of a content: 128 bits, since nobody finds another with the same as one that is there. Whoever could make two with the
/// same in the first place (2^64 of work) publishes them itself.
pub type ContentHash = [u8; 16];

/// What a publisher says with a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// 0 to [`PRIORITY_MAX`]; higher goes first and is kept longer.
    pub priority: u8,
    /// How long it is valid, from when it is first heard of; `None`: as long as it is kept.
    pub expiry: Option<Duration>,
    /// A tag of the publisher, by which it can withdraw messages that still wait.
    pub tag: Option<u64>,
    /// It replaces the publisher's earlier messages with the same topic and tag.
    pub replaces: bool,
    /// Hash of the content. The application chooses the kind and verifies it.
    pub hash: Option<ContentHash>,
    /// Where it was published first, if a gateway forwarded it; `None`: by its sender.
    pub origin: Option<Origin>,
}

impl Default for Options {
    fn default() -> Self {
        let priority = PRIORITY_DEFAULT;
        Self { priority, expiry: None, tag: None, replaces: false, hash: None, origin: None }
    }
}

/// By what messages of a sender replace each other: tag, topic, and who published it where a gateway
/// carries messages of several.
pub type Mark = (Option<u64>, Topic, Option<(NodeId, InstanceId)>);

/// The description of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Description {
    /// Its topic.
    pub topic: Topic,
    /// The publisher's count of its messages on that topic, from 0.
    pub number: u64,
    /// What else the publisher says of it.
    pub options: Options,
    /// How many messages of its topic it is, numbered from `number` on, when several travel as one
    /// ([`crate::message::batch`]).
    pub batch: Option<u32>,
    /// The message itself, when it travels here.
    pub content: Option<Vec<u8>>,
}

impl Description {
    /// How many messages it is.
    #[must_use]
    pub fn messages(&self) -> u32 {
        self.batch.unwrap_or(1)
    }

    /// The number of the next message on its topic.
    #[must_use]
    pub fn next_number(&self) -> u64 {
        self.number.saturating_add(u64::from(self.messages()))
    }

    /// What it says of one of its messages, from 0, alone.
    #[must_use]
    pub fn member(&self, member: u32) -> Self {
        let after = |number: u64| number.saturating_add(u64::from(member));
        let mut options = self.options;
        if self.batch.is_some() {
            options.hash = None;
        }
        options.origin =
            options.origin.map(|origin| Origin { number: after(origin.number), ..origin });
        let (topic, number) = (self.topic.clone(), after(self.number));
        Self { topic, number, options, batch: None, content: None }
    }

    /// By what the message in the object `key` is known in all groups that it comes to.
    #[must_use]
    pub fn identity(&self, key: ObjectKey) -> Identity {
        let own = (key.sender, key.instance, self.number);
        let (node, instance, number) =
            self.options.origin.map_or(own, |origin| (origin.node, origin.instance, origin.number));
        Identity { node, instance, topic: self.topic.clone(), number }
    }

    /// What a message with the same takes the place of, of one sender: topic, tag, and whose it is.
    pub fn mark(&self) -> Mark {
        let origin = self.options.origin.map(|origin| (origin.node, origin.instance));
        (self.options.tag, self.topic.clone(), origin)
    }

    /// The bytes for NORM_INFO.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let Options { priority, expiry, tag, replaces, hash, origin } = self.options;
        let flag = |set, bit| if set { bit } else { 0 };
        let flags = flag(priority != PRIORITY_DEFAULT, PRIORITY)
            | flag(expiry.is_some(), EXPIRY)
            | flag(tag.is_some(), TAG)
            | flag(replaces, REPLACES)
            | flag(hash.is_some(), HASH)
            | flag(origin.is_some(), ORIGIN)
            | flag(self.batch.is_some(), BATCH)
            | flag(self.content.is_some(), INLINE);
        let mut out = MAGIC.to_vec();
        out.extend_from_slice(&[VERSION, flags]);
        put(self.number, &mut out);
        if priority != PRIORITY_DEFAULT {
            out.push(priority.min(PRIORITY_MAX));
        }
        if let Some(expiry) = expiry {
            put(u64::try_from(expiry.as_millis()).unwrap_or(u64::MAX), &mut out);
        }
        if let Some(tag) = tag {
            put(tag, &mut out);
        }
        out.extend_from_slice(hash.as_ref().map_or(&[][..], |hash| &hash[..]));
        if let Some(Origin { node, instance, number, hops }) = origin {
            out.extend_from_slice(&node.0.to_be_bytes());
            out.extend_from_slice(&instance.0.to_be_bytes());
            put(number, &mut out);
            out.push(hops);
        }
        let topic = self.topic.as_str().as_bytes();
        out.push(topic.len() as u8);
        out.extend_from_slice(topic);
        if let Some(messages) = self.batch {
            put(u64::from(messages), &mut out);
        }
        out.extend_from_slice(self.content.as_deref().unwrap_or_default());
        out
    }

    /// Reads a NORM_INFO; `None` when it describes no message that this version knows.
    #[must_use]
    pub fn decode(info: &[u8]) -> Option<Self> {
        let mut rest = info.strip_prefix(&PREFIX)?;
        let (number, options, (inline, several)) = take_head(&mut rest)?;
        let [length] = array(&mut rest)?;
        let topic = core::str::from_utf8(split(&mut rest, usize::from(length))?).ok()?;
        let topic = Topic::new(topic).ok()?;
        let batch = if several { Some(u32::try_from(take(&mut rest)?).ok()?) } else { None };
        let content = inline.then(|| rest.to_vec());
        let whole = match (&content, batch) {
            (Some(content), Some(messages)) => batch::holds(content, messages),
            (Some(_), None) => true,
            (None, _) => rest.is_empty() && batch != Some(0),
        };
        whole.then_some(Self { topic, number, options, batch, content })
    }
}

/// Where the topic stands in a NORM_INFO, or would: its length first.
pub fn topic_at(info: &[u8]) -> Option<usize> {
    let mut rest = info.strip_prefix(&PREFIX)?;
    take_head(&mut rest)?;
    Some(info.len() - rest.len())
}

/// What stands before the topic: number, options, whether the content travels here, and whether it is
/// several messages.
fn take_head(rest: &mut &[u8]) -> Option<(u64, Options, (bool, bool))> {
    let [flags] = array(rest)?;
    let has = |bit| flags & bit != 0;
    let number = take(rest)?;
    let priority = if has(PRIORITY) { array::<1>(rest)?[0] } else { PRIORITY_DEFAULT };
    let expiry = if has(EXPIRY) { Some(take(rest)?) } else { None };
    let tag = if has(TAG) { Some(take(rest)?) } else { None };
    let hash = if has(HASH) { Some(array(rest)?) } else { None };
    let origin = if has(ORIGIN) { Some(take_origin(rest)?) } else { None };
    let expiry = expiry.map(Duration::from_millis);
    let options = Options { priority, expiry, tag, replaces: has(REPLACES), hash, origin };
    (priority <= PRIORITY_MAX).then_some((number, options, (has(INLINE), has(BATCH))))
}

fn take_origin(rest: &mut &[u8]) -> Option<Origin> {
    let node = NodeId(u32::from_be_bytes(array(rest)?));
    let instance = InstanceId(u16::from_be_bytes(array(rest)?));
    let number = take(rest)?;
    let [hops] = array(rest)?;
    Some(Origin { node, instance, number, hops })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn plain(topic: &str, number: u64) -> Description {
        let topic = Topic::new(topic).unwrap();
        Description { topic, number, options: Options::default(), batch: None, content: None }
    }

    #[test]
    fn golden_bytes_of_a_message_that_says_little() {
        let bytes = b"FG\x02\x00\xac\x02\x03a/b";
        assert_eq!(plain("a/b", 300).encode(), bytes);
        assert_eq!(Description::decode(bytes), Some(plain("a/b", 300)));
    }

    #[test]
    fn golden_bytes_of_a_message_that_says_all() {
        let options = Options {
            priority: 9,
            expiry: Some(Duration::from_secs(2)),
            tag: Some(7),
            replaces: true,
            hash: Some([0xaa; 16]),
            origin: Some(Origin {
                node: NodeId(0x0102_0304),
                instance: InstanceId(0x0506),
                number: 300,
                hops: 2,
            }),
        };
        let all = Description { options, content: Some(b"hello".to_vec()), ..plain("p", 1) };
        let mut bytes = b"FG\x02\x7f\x01\x09\xd0\x0f\x07".to_vec();
        bytes.extend_from_slice(&[0xaa; 16]);
        bytes.extend_from_slice(b"\x01\x02\x03\x04\x05\x06\xac\x02\x02\x01phello");
        assert_eq!(all.encode(), bytes);
        assert_eq!(Description::decode(&bytes), Some(all));
    }

    #[test]
    fn golden_bytes_of_several_messages_as_one() {
        let content = Some(b"\x02hi\x00\x03you".to_vec());
        let three = Description { batch: Some(3), content, ..plain("p", 300) };
        let bytes = b"FG\x02\xa0\xac\x02\x01p\x03\x02hi\x00\x03you";
        assert_eq!(three.encode(), bytes);
        assert_eq!(Description::decode(bytes), Some(three.clone()));
        assert_eq!((three.messages(), three.next_number(), three.member(2).number), (3, 303, 302));
        let wrong = b"FG\x02\xa0\xac\x02\x01p\x04\x02hi\x00\x03you";
        assert_eq!(Description::decode(wrong), None, "it says four");
    }

    #[test]
    fn what_is_no_description_of_this_version_is_none() {
        let good = plain("a/b", 3).encode();
        assert_eq!(Description::decode(b"holiday.jpg"), None);
        for (at, byte) in [(2, 1), (3, 0x80), (5, 99)] {
            let mut bad = good.clone();
            bad[at] = byte;
            assert_eq!(Description::decode(&bad), None, "{at}");
        }
        for length in 0..good.len() {
            assert_eq!(Description::decode(&good[..length]), None, "{length}");
        }
        assert_eq!(Description::decode(&[&good[..], b"x"].concat()), None);
    }

    proptest! {
        #[test]
        fn any_description_comes_back(
            topic in "[a-z/]{1,40}", number: u64, priority in 0..=PRIORITY_MAX,
            expiry in proptest::option::of(0..1u64 << 40), tag: Option<u64>, replaces: bool,
            hash: Option<ContentHash>, content: Option<Vec<u8>>,
            origin: Option<(u32, u16, u64, u8)>,
        ) {
            let origin = origin.map(|(node, instance, number, hops)| {
                Origin { node: NodeId(node), instance: InstanceId(instance), number, hops }
            });
            let expiry = expiry.map(Duration::from_millis);
            let options = Options { priority, expiry, tag, replaces, hash, origin };
            let topic = Topic::new(&topic).unwrap();
            let said = Description { topic, number, options, batch: None, content };
            prop_assert_eq!(Description::decode(&said.encode()), Some(said));
        }

        #[test]
        fn any_bytes_are_read_without_panic_and_what_is_read_is_written_the_same_way(
            bytes: Vec<u8>, flags: u8,
        ) {
            let info = [&b"FG\x02"[..], &[flags], &bytes].concat();
            if let Some(read) = Description::decode(&info) {
                prop_assert_eq!(Description::decode(&read.encode()), Some(read));
            }
        }
    }
}
