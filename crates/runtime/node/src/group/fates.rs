//! What has become of own messages whose publisher wants to know: told when it asks, so that nothing of it
//! can be lost on the way.

use std::collections::{BTreeMap, BTreeSet};

use fanfare_messaging::{OBJECTS_IN_VIEW, Standing};
use fanfare_proto::{NodeId, ObjectKey};

/// As many as can be repaired, and as many again that are gone and of which nobody has asked yet.
const FATES_MAX: usize = 2 * OBJECTS_IN_VIEW as usize;

/// Whether, and how far, a message that is published is followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Watch {
    /// It is not: what is said of it is [`crate::group::GroupEvent::Sent`].
    #[default]
    Nothing,
    /// Nor is it told of; but it waits while members that say what they hold are so far behind that it would be
    /// lost on them. One of a higher priority than usual does not.
    Pace,
    /// Until it has been sent once.
    Sending,
    /// Who holds it, too: others are asked to say so.
    Holders,
}

impl Watch {
    /// True if something is told of it.
    pub(crate) fn is_told(self) -> bool {
        matches!(self, Self::Sending | Self::Holders)
    }

    /// True if it waits for members to follow.
    pub(crate) fn is_paced(self) -> bool {
        matches!(self, Self::Pace | Self::Holders)
    }
}

/// What is new of a message of this node's own since it was asked last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fate {
    /// Which.
    pub key: ObjectKey,
    /// How many messages travel in it, one or more.
    pub messages: u32,
    /// Their bytes.
    pub bytes: u64,
    /// All of it has been sent once.
    pub sent: bool,
    /// It can no longer be repaired: a newer one took its place, it was withdrawn, or it is too long ago.
    /// Nothing more is told of it.
    pub gone: bool,
    /// How others stand to it, as they say; those that said something else than before.
    pub standings: Vec<(NodeId, Standing)>,
}

#[derive(Debug, Default)]
struct Followed {
    messages: u32,
    bytes: u64,
    sent: bool,
    gone: bool,
    new: BTreeMap<NodeId, Standing>,
}

/// The messages that are followed.
#[derive(Debug, Default)]
pub(crate) struct Fates {
    followed: BTreeMap<ObjectKey, Followed>,
    changed: BTreeSet<ObjectKey>,
    /// Of which nobody asked in time.
    dropped: u64,
}

impl Fates {
    /// So many messages have been published in this object.
    pub(crate) fn begin(&mut self, key: ObjectKey, (messages, bytes): (u32, u64)) {
        self.followed.insert(key, Followed { messages, bytes, ..Followed::default() });
        self.changed.insert(key);
        while self.followed.len() > FATES_MAX {
            let gone = self.followed.iter().find(|(_, followed)| followed.gone);
            let Some(old) = gone.or(self.followed.first_key_value()).map(|(key, _)| *key) else {
                return;
            };
            self.followed.remove(&old);
            self.changed.remove(&old);
            self.dropped += 1;
        }
    }

    /// It has been sent. False when it is not followed.
    pub(crate) fn on_sent(&mut self, key: ObjectKey) -> bool {
        self.change(key, |followed| followed.sent = true)
    }

    /// It can no longer be repaired.
    pub(crate) fn on_gone(&mut self, key: ObjectKey) {
        self.change(key, |followed| followed.gone = true);
    }

    /// A node says how it stands to it.
    pub(crate) fn on_standing(&mut self, key: ObjectKey, node: NodeId, standing: Standing) {
        self.change(key, |followed| {
            followed.new.insert(node, standing);
        });
    }

    fn change(&mut self, key: ObjectKey, change: impl FnOnce(&mut Followed)) -> bool {
        let Some(followed) = self.followed.get_mut(&key) else { return false };
        change(followed);
        self.changed.insert(key);
        true
    }

    /// All that is new.
    pub(crate) fn poll(&mut self) -> Vec<Fate> {
        let changed = std::mem::take(&mut self.changed);
        changed.into_iter().filter_map(|key| self.news_of(key)).collect()
    }

    fn news_of(&mut self, key: ObjectKey) -> Option<Fate> {
        let followed = self.followed.get_mut(&key)?;
        let standings = std::mem::take(&mut followed.new).into_iter().collect();
        let Followed { messages, bytes, sent, gone, .. } = *followed;
        let fate = Fate { key, messages, bytes, sent, gone, standings };
        if fate.gone {
            self.followed.remove(&key);
        }
        Some(fate)
    }

    /// Messages that nobody asked about in time.
    pub(crate) fn dropped(&self) -> u64 {
        self.dropped
    }
}

#[cfg(test)]
mod tests {
    use fanfare_proto::{InstanceId, ObjectTransportId};

    use super::*;

    fn key(object: u16) -> ObjectKey {
        let object = ObjectTransportId(object);
        ObjectKey { sender: NodeId(7), instance: InstanceId(1), object }
    }

    #[test]
    fn thousands_of_changes_are_told_once_each_however_late_somebody_asks() {
        let mut fates = Fates::default();
        (0..5000).for_each(|object| fates.begin(key(object), (1, 10)));
        for object in 0..5000 {
            assert!(fates.on_sent(key(object)));
            fates.on_standing(key(object), NodeId(1), Standing::Lacks);
            fates.on_standing(key(object), NodeId(1), Standing::Holds);
            fates.on_standing(key(object), NodeId(2), Standing::Unwanted);
        }
        let told = fates.poll();
        assert_eq!(told.len(), 5000);
        let standings = [(NodeId(1), Standing::Holds), (NodeId(2), Standing::Unwanted)];
        assert!(told.iter().all(|fate| fate.sent && !fate.gone && fate.standings == standings));
        assert_eq!(fates.poll(), []);
    }

    #[test]
    fn a_message_that_is_gone_is_told_of_once_more_and_then_not_followed() {
        let mut fates = Fates::default();
        fates.begin(key(1), (1, 10));
        fates.on_gone(key(1));
        assert!(fates.poll()[0].gone);
        assert!(!fates.on_sent(key(1)) && fates.poll().is_empty());
    }

    #[test]
    fn a_publisher_that_never_asks_costs_bounded_memory() {
        let mut fates = Fates::default();
        (0..=u16::MAX).for_each(|object| fates.begin(key(object), (1, 10)));
        assert_eq!(fates.followed.len(), FATES_MAX);
        assert_eq!(fates.dropped() as usize, 65_536 - FATES_MAX);
    }
}
