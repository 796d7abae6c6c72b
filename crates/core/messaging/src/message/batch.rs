//! Several messages as one: short messages of a publisher and topic, published close together, that
//! travel in one object.
//!
//! ```text
//! per message: length (varint) | its bytes
//! ```
//!
//! To the cache, repair, order, history and hearing such an object is one message. Its description
//! ([`crate::message::description`]) says how many there are, and the number of the first. What else it says
//! (priority, expiry, tag) holds for each. [`crate::message::batcher`] decides which messages go together.

use crate::message::{
    description::Options,
    frames::varint::{put, split, take},
    topic::Topic,
};
use alloc::vec::Vec;

/// Several messages, or one, of one topic and with the same options.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Batch {
    /// Their topic.
    pub topic: Topic,
    /// What the publisher says of each.
    pub options: Options,
    /// Each with its length ([`append`]).
    pub content: Vec<u8>,
    /// How many.
    pub messages: u32,
}

impl Batch {
    /// The message, if it is one alone.
    #[must_use]
    pub fn only(&self) -> Option<&[u8]> {
        messages(&self.content).next().filter(|_| self.messages == 1)
    }
}

/// Appends a message to the content of a batch.
pub fn append(message: &[u8], content: &mut Vec<u8>) {
    put(message.len() as u64, content);
    content.extend_from_slice(message);
}

/// The messages in the content of a batch, as far as it can be read.
#[must_use]
pub fn messages(content: &[u8]) -> Messages<'_> {
    Messages { rest: content }
}

/// Whether the content is exactly so many messages.
#[must_use]
pub fn holds(content: &[u8], messages: u32) -> bool {
    let mut all = self::messages(content);
    let count = all.by_ref().take(messages as usize).count();
    messages > 0 && count == messages as usize && all.rest.is_empty()
}

/// Iterates over the messages of a batch; made by [`messages`].
#[derive(Debug, Clone)]
pub struct Messages<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for Messages<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let length = usize::try_from(take(&mut self.rest)?).ok()?;
        split(&mut self.rest, length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_messages_of_a_batch_are_those_that_went_in(
            said in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..300), 1..40),
        ) {
            let mut content = Vec::new();
            said.iter().for_each(|message| append(message, &mut content));
            let count = said.len() as u32;
            prop_assert!(holds(&content, count));
            prop_assert!(!holds(&content, count - 1) && !holds(&content, count + 1));
            prop_assert!(messages(&content).eq(said.iter().map(Vec::as_slice)));
        }

        #[test]
        fn any_bytes_are_read_without_panic(content: Vec<u8>, count in 0..9_u32) {
            let there = messages(&content).count();
            prop_assert!(!holds(&content, count) || there == count as usize);
        }
    }
}
