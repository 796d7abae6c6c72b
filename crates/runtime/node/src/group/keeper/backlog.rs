//! Changes that the disk has refused, until it takes them.

use std::collections::BTreeMap;

use fanfare_proto::ObjectKey;

use super::database::Change;

/// Bytes of messages that wait, and changes: half of what is kept for others by default, and all
/// objects of eight publishers.
const BYTES_MAX: usize = 32 << 20;
const CHANGES_MAX: usize = 65_536;

/// What is to be written when there is room: of each object the last word.
#[derive(Debug, Default)]
pub(super) struct Backlog {
    changes: BTreeMap<ObjectKey, Change>,
    bytes: usize,
}

/// Bytes in memory.
fn weight(change: &Change) -> usize {
    change.record().map_or(0, |record| record.content.len() + record.description.len())
}

impl Backlog {
    pub(super) fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// Keeps it for later; false when there is no room, and it is forgotten.
    pub(super) fn add(&mut self, change: Change) -> bool {
        let key = change.key();
        self.forget(key);
        let bytes = self.bytes + weight(&change);
        if self.changes.len() >= CHANGES_MAX || bytes > BYTES_MAX {
            return false;
        }
        self.bytes = bytes;
        self.changes.insert(key, change);
        true
    }

    /// Nothing that waits is true of this object any more.
    pub(super) fn forget(&mut self, key: ObjectKey) {
        if let Some(change) = self.changes.remove(&key) {
            self.bytes -= weight(&change);
        }
    }

    /// The next changes to try, up to so many.
    pub(super) fn take(&mut self, max: usize) -> Vec<Change> {
        let mut taken = Vec::new();
        while taken.len() < max
            && let Some((_, change)) = self.changes.pop_first()
        {
            self.bytes -= weight(&change);
            taken.push(change);
        }
        taken
    }
}

#[cfg(test)]
mod tests {
    use fanfare_proto::{InstanceId, NodeId, ObjectTransportId};

    use super::{super::record::Record, *};

    fn key(object: u16) -> ObjectKey {
        let object = ObjectTransportId(object);
        ObjectKey { sender: NodeId(2), instance: InstanceId(1), object }
    }

    fn put(object: u16, bytes: usize) -> Change {
        let record = Record {
            heard: 0,
            own: false,
            size: bytes as u64,
            hash: vec![0; 16],
            description: Vec::new(),
            content: vec![0; bytes],
            file: None,
        };
        Change::Put(key(object), Box::new(record))
    }

    #[test]
    fn of_each_object_the_last_word_waits() {
        let mut backlog = Backlog::default();
        assert!(backlog.add(put(1, 10)) && backlog.add(put(2, 20)));
        assert!(backlog.add(Change::Remove(key(1), Some("file".into()))));
        assert_eq!(backlog.bytes, 20);
        let taken = backlog.take(10);
        assert!(matches!(&taken[0], Change::Remove(_, Some(name)) if name == "file"));
        assert!(matches!(&taken[1], Change::Put(..)));
        assert!(backlog.is_empty() && backlog.bytes == 0);
    }

    #[test]
    fn what_finds_no_room_is_refused_and_what_waits_stays() {
        let mut backlog = Backlog::default();
        assert!(backlog.add(put(1, BYTES_MAX - 10)));
        assert!(!backlog.add(put(2, 11)));
        assert!(backlog.add(put(3, 10)));
        assert_eq!(backlog.take(10).len(), 2);
        for object in 0..=u16::MAX {
            assert!(backlog.add(put(object, 0)));
        }
        let other = ObjectKey { sender: NodeId(3), ..key(0) };
        assert!(!backlog.add(Change::Remove(other, None)));
    }
}
