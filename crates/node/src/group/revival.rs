//! Putting back what an earlier life of the process had kept.

use std::{collections::BTreeMap, sync::Arc};

use fanfare_group::{GroupNode, Topic};
use fanfare_proto::{InstanceId, NodeId, ObjectKey, ObjectTransportId, Time};

use super::{
    body::Content,
    keeper::{Files, Identity, Kept, Record},
    store::MessageStore,
};

/// Gives `node` what was kept; what it has no use for is removed.
pub(crate) fn revive(
    now: Time,
    node: &mut GroupNode,
    store: &mut MessageStore,
    files: &Files,
    (identity, kept): (Identity, Kept),
) {
    let Kept { records, numbers, next, .. } = kept;
    let (own, others): (Vec<_>, Vec<_>) = records.into_iter().partition(|(key, record)| {
        record.own && key.sender == identity.node && key.instance == identity.instance
    });
    revive_own(now, node, store, files, (own, next));
    let topics = numbers.into_iter();
    let topics = topics.filter_map(|(topic, number)| Some((Topic::new(&topic).ok()?, number)));
    node.resume(ObjectTransportId(next), topics);
    revive_others(now, node, store, files, others);
}

fn revive_own(
    now: Time,
    node: &mut GroupNode,
    store: &mut MessageStore,
    files: &Files,
    (mut own, next): (Vec<(ObjectKey, Record)>, u16),
) {
    // The oldest is the farthest from the next; ids wrap.
    own.sort_by_key(|(key, _)| std::cmp::Reverse(next.wrapping_sub(key.object.0)));
    for (key, record) in own {
        let content = content_of(&record, files).filter(|content| {
            // Nobody else could say that it is wrong.
            record.size == 0 || content.hash().is_ok_and(|hash| record.hash.starts_with(&hash))
        });
        let Some(content) = content else {
            store.on_own_damaged();
            store.remove(key);
            continue;
        };
        if record.size > 0 {
            store.put(key, content, record.file.clone());
        }
        let age = record.age();
        let about = (record.description, record.size, age);
        if !node.restore_own(now, key.object, about) {
            store.remove(key);
        }
    }
}

fn revive_others(
    now: Time,
    node: &mut GroupNode,
    store: &mut MessageStore,
    files: &Files,
    mut others: Vec<(ObjectKey, Record)>,
) {
    // A publisher is in the life that is told of last.
    let mut lives: BTreeMap<(NodeId, InstanceId), u64> = BTreeMap::new();
    for (key, record) in &others {
        let life = lives.entry((key.sender, key.instance)).or_default();
        *life = (*life).max(record.heard);
    }
    let last = |key: &ObjectKey| lives.get(&(key.sender, key.instance)).copied();
    others.sort_by_key(|(key, record)| {
        (last(key), key.sender, key.instance, record.heard, key.object.0)
    });
    for (key, record) in others {
        let content = content_of(&record, files);
        let age = record.age();
        let taken = content.is_some_and(|content| {
            store.expect(key, content, record.file.clone());
            node.restore(now, &record.description, (record.size, age), store)
        });
        if !taken {
            store.remove(key);
        }
    }
}

fn content_of(record: &Record, files: &Files) -> Option<Content> {
    Some(match &record.file {
        Some(name) => Content::File(Arc::new(files.reopen(name).ok()?)),
        None => Content::Memory(Arc::new(record.content.clone())),
    })
}
