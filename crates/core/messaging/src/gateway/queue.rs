//! Messages that wait to be forwarded: highest priority first, then first in, first out.
//!
//! Messages that came the same way with the same priority are in one queue. While the first of a
//! queue has to wait, the others wait behind it.

use crate::{description::Description, origin::Identity, origin::Origin, topic::Topic};
use alloc::{
    collections::{BTreeMap, BTreeSet},
    vec::Vec,
};
use fanfare_proto::{Duration, InstanceId, NodeId, Time};

/// A message that waits.
#[derive(Debug)]
pub(super) struct QueuedMessage<B> {
    pub(super) came: Time,
    /// How old it was then.
    pub(super) age: Duration,
    pub(super) description: Description,
    pub(super) origin: Origin,
    pub(super) size: u64,
    pub(super) body: B,
    /// The gateway that brought it; `None`: its publisher.
    pub(super) entry: Option<NodeId>,
    pub(super) order: u64,
}

/// By which way it came, and its priority.
type Row = (u8, Option<NodeId>);
/// Of whom, about what, and with which tag: a newer one takes the place of older ones.
type Mark = (NodeId, InstanceId, u64, Topic);

impl<B> QueuedMessage<B> {
    fn row(&self) -> Row {
        (self.description.options.priority, self.entry)
    }
    fn mark(&self) -> Option<Mark> {
        let Origin { node, instance, .. } = self.origin;
        let tag = self.description.options.tag?;
        Some((node, instance, tag, self.description.topic.clone()))
    }
}

/// All of them.
#[derive(Debug)]
pub(super) struct Queue<B> {
    messages: BTreeMap<Identity, QueuedMessage<B>>,
    rows: BTreeMap<Row, BTreeMap<u64, Identity>>,
    marks: BTreeMap<Mark, BTreeSet<Identity>>,
    bytes: u64,
    messages_max: usize,
    bytes_max: u64,
}

impl<B> Queue<B> {
    /// For so many messages, and so many bytes.
    pub(super) fn new(messages_max: usize, bytes_max: u64) -> Self {
        let (messages, rows, marks) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        Self { messages, rows, marks, bytes: 0, messages_max, bytes_max }
    }

    pub(super) fn len(&self) -> usize {
        self.messages.len()
    }

    /// Whether more waits than may.
    pub(super) fn is_full(&self) -> bool {
        self.messages.len() > self.messages_max || self.bytes > self.bytes_max
    }

    /// True when it takes the place of what waits of the same identity.
    pub(super) fn insert(&mut self, identity: &Identity, waiting: QueuedMessage<B>) -> bool {
        let again = self.take(identity).is_some();
        self.rows.entry(waiting.row()).or_default().insert(waiting.order, identity.clone());
        if let Some(mark) = waiting.mark() {
            self.marks.entry(mark).or_default().insert(identity.clone());
        }
        self.bytes += waiting.size;
        self.messages.insert(identity.clone(), waiting);
        again
    }

    pub(super) fn take(&mut self, identity: &Identity) -> Option<QueuedMessage<B>> {
        let waiting = self.messages.remove(identity)?;
        self.bytes -= waiting.size;
        let row = waiting.row();
        if let Some(others) = self.rows.get_mut(&row) {
            others.remove(&waiting.order);
            if others.is_empty() {
                self.rows.remove(&row);
            }
        }
        if let Some(mark) = waiting.mark()
            && let Some(others) = self.marks.get_mut(&mark)
        {
            others.remove(identity);
            if others.is_empty() {
                self.marks.remove(&mark);
            }
        }
        Some(waiting)
    }

    /// Takes out the older messages whose place a new one takes. Gives how many.
    pub(super) fn replace(&mut self, new: &QueuedMessage<B>) -> u64 {
        let replaces = new.description.options.replaces;
        let Some(mark) = new.mark().filter(|_| replaces) else { return 0 };
        let older = |identity: &&Identity| identity.number < new.origin.number;
        let older = self.marks.get(&mark).into_iter().flatten().filter(older);
        let older: Vec<Identity> = older.cloned().collect();
        older.iter().for_each(|identity| _ = self.take(identity));
        older.len() as u64
    }

    /// Of the lowest priority the newest is dropped; false when there is none.
    pub(super) fn drop_least(&mut self) -> bool {
        let lowest = self.rows.first_key_value().map(|((priority, _), _)| *priority);
        let of_it = self.rows.iter().take_while(|((priority, _), _)| Some(*priority) == lowest);
        let last =
            of_it.filter_map(|(_, row)| row.last_key_value()).max_by_key(|(order, _)| **order);
        let Some(identity) = last.map(|(_, identity)| identity.clone()) else { return false };
        self.take(&identity).is_some()
    }

    /// The first of each row, the highest priority first and of equals the first.
    pub(super) fn heads(&self) -> Vec<(&Identity, &QueuedMessage<B>)> {
        let first = self.rows.values().filter_map(|row| row.values().next());
        let mut heads: Vec<_> =
            first.filter_map(|identity| Some((identity, self.messages.get(identity)?))).collect();
        heads.sort_by_key(|(_, waiting)| {
            (core::cmp::Reverse(waiting.description.options.priority), waiting.order)
        });
        heads
    }

    /// Whether anything that came by this way waits.
    pub(super) fn has(&self, entry: Option<NodeId>) -> bool {
        self.rows.keys().any(|(_, of)| *of == entry)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::description::Options;

    fn identity(number: u64) -> Identity {
        let topic = Topic::new("a").unwrap();
        Identity { node: NodeId(1), instance: InstanceId(1), topic, number }
    }
    fn put(queue: &mut Queue<()>, number: u64, entry: Option<u32>, options: Options) {
        let topic = Topic::new("a").unwrap();
        let waiting = QueuedMessage {
            came: Time::ZERO,
            age: Duration::ZERO,
            description: Description { topic, number, options, batch: None, content: None },
            origin: Origin { node: NodeId(1), instance: InstanceId(1), number, hops: 1 },
            size: 10,
            body: (),
            entry: entry.map(NodeId),
            order: number,
        };
        queue.insert(&identity(number), waiting);
    }
    fn of(priority: u8) -> Options {
        Options { priority, ..Options::default() }
    }
    fn heads(queue: &Queue<()>) -> Vec<u64> {
        queue.heads().iter().map(|(identity, _)| identity.number).collect()
    }

    #[test]
    fn the_first_of_each_way_and_priority_are_the_heads() {
        let mut queue = Queue::new(100, 1000);
        for (number, entry, priority) in [(0, None, 5), (1, None, 5), (2, Some(7), 5), (3, None, 9)]
        {
            put(&mut queue, number, entry, of(priority));
        }
        assert_eq!(heads(&queue), [3, 0, 2]);
        queue.take(&identity(0));
        assert_eq!((heads(&queue), queue.bytes), (Vec::from([3, 1, 2]), 30));
        assert!(queue.has(Some(NodeId(7))) && !queue.has(Some(NodeId(8))));
    }

    #[test]
    fn the_newest_message_of_the_lowest_priority_is_dropped_first() {
        let mut queue = Queue::new(100, 1000);
        for (number, entry, priority) in [(0, None, 5), (1, Some(7), 2), (2, None, 2), (3, None, 9)]
        {
            put(&mut queue, number, entry, of(priority));
        }
        let gone: Vec<u64> = (0..4)
            .map(|_| {
                let before: BTreeSet<u64> = queue.messages.keys().map(|i| i.number).collect();
                assert!(queue.drop_least());
                let after: BTreeSet<u64> = queue.messages.keys().map(|i| i.number).collect();
                *before.difference(&after).next().unwrap()
            })
            .collect();
        assert_eq!(gone, [2, 1, 0, 3]);
        assert!(!queue.drop_least() && queue.bytes == 0 && queue.rows.is_empty());
    }

    #[test]
    fn the_same_message_again_counts_once_and_a_newer_one_of_its_tag_takes_its_place() {
        let mut queue = Queue::new(100, 1000);
        let tagged = Options { tag: Some(3), replaces: true, ..of(5) };
        put(&mut queue, 0, None, tagged);
        put(&mut queue, 0, None, tagged);
        put(&mut queue, 5, None, tagged);
        assert_eq!((queue.len(), queue.bytes), (2, 20));
        let new = queue.take(&identity(5)).unwrap();
        assert_eq!((queue.replace(&new), queue.len(), queue.marks.len()), (1, 0, 0));
    }
}
