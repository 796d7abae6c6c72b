//! Putting back what an earlier life of the process had kept.

use std::{collections::BTreeMap, sync::Arc};

use fanfare_messaging::{GroupNode, Topic};
use fanfare_proto::{InstanceId, NodeId, ObjectKey, Time};

use super::{
    body::Content,
    keeper::{Files, Kept, Record},
    store::MessageStore,
};

/// Gives `node` what was kept; what it has no use for is removed. Its own messages are those of earlier lives, whose ids
/// it does not take over.
pub(crate) fn revive(
    now: Time,
    node: &mut GroupNode,
    store: &mut MessageStore,
    files: &Files,
    kept: Kept,
) {
    let Kept { mut records, numbers, .. } = kept;
    let topics = numbers.into_iter();
    let topics = topics.filter_map(|(topic, number)| Some((Topic::new(&topic).ok()?, number)));
    node.resume(topics);
    // A publisher is in the life that is told of last.
    let mut lives: BTreeMap<(NodeId, InstanceId), u64> = BTreeMap::new();
    for (key, record) in &records {
        let life = lives.entry((key.sender, key.instance)).or_default();
        *life = (*life).max(record.heard);
    }
    let last = |key: &ObjectKey| lives.get(&(key.sender, key.instance)).copied();
    records.sort_by_key(|(key, record)| {
        (last(key), key.sender, key.instance, record.heard, key.object.0)
    });
    for (key, record) in records {
        if !revive_one(now, node, store, files, key, &record) {
            store.remove(key);
        }
    }
}

fn revive_one(
    now: Time,
    node: &mut GroupNode,
    store: &mut MessageStore,
    files: &Files,
    key: ObjectKey,
    record: &Record,
) -> bool {
    let content = content_of(record, files).filter(|content| {
        // Of an own one nobody else could say that it is wrong.
        let right = || content.hash().is_ok_and(|hash| record.hash.starts_with(&hash));
        !record.own || record.size == 0 || right()
    });
    let Some(content) = content else {
        if record.own {
            store.on_own_damaged();
        }
        return false;
    };
    store.expect(key, content, record.file.clone());
    let (description, size, age) = (&record.description, record.size, record.age());
    match record.own {
        true => node.restore_own(now, key, description, size, age, store),
        false => node.restore(now, description, (size, age), store),
    }
}

fn content_of(record: &Record, files: &Files) -> Option<Content> {
    Some(match &record.file {
        Some(name) => Content::File(Arc::new(files.reopen(name).ok()?)),
        None => Content::Memory(Arc::new(record.content.clone())),
    })
}
