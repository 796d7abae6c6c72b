//! Statistics of messages, by class and by tag.

use std::collections::BTreeMap;

use super::Class;

/// Tags that are counted each by itself; later ones are counted by class alone.
const TAGS_MAX: usize = 256;

/// What has become of messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Taken for sending.
    pub queued: u64,
    /// Sent for the first time.
    pub sent: u64,
    /// Sent again after the connection was lost.
    pub again: u64,
    /// The other end has acknowledged them.
    pub acknowledged: u64,
    /// Their time was over before that.
    pub expired: u64,
    /// Withdrawn or replaced before that.
    pub cancelled: u64,
    /// Bytes taken for sending.
    pub bytes_queued: u64,
    /// Given to the application at this end.
    pub received: u64,
    /// Their bytes.
    pub bytes_received: u64,
    /// Came once more, and were dropped.
    pub duplicate: u64,
    /// Came too late to be of use: behind a later one, or replaced.
    pub late: u64,
    /// Unreliable ones of which a part was missing.
    pub incomplete: u64,
}

/// By class and tag.
#[derive(Debug, Clone, Default)]
pub struct CountTable {
    classes: [Counts; 4],
    tags: BTreeMap<u64, Counts>,
}

impl CountTable {
    /// Counts something of a message of this class and tag.
    pub fn count(&mut self, class: Class, tag: u64, count: impl Fn(&mut Counts)) {
        count(&mut self.classes[class as usize]);
        if tag != 0 && (self.tags.len() < TAGS_MAX || self.tags.contains_key(&tag)) {
            count(self.tags.entry(tag).or_default());
        }
    }

    /// Of one class.
    #[must_use]
    pub const fn class(&self, class: Class) -> &Counts {
        &self.classes[class as usize]
    }

    /// Of each tag.
    #[must_use]
    pub const fn tags(&self) -> &BTreeMap<u64, Counts> {
        &self.tags
    }
}
