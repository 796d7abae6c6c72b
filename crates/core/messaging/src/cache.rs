//! Objects of others that are kept for repair: how many bytes, how long, and which are dropped
//! first.
//!
//! The bytes are in the driver's storage. The cache says when they are no longer needed.

use crate::{
    age::Age,
    description::{Description, PRIORITY_DEFAULT},
};
use alloc::{
    boxed::Box,
    collections::{BTreeMap, BTreeSet},
    vec::Vec,
};
use core::fmt::Debug;
use fanfare_proto::{Duration, ObjectKey, Time};

/// What is known of one object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cached {
    /// Its number among its publisher's, which does not wrap as ids do.
    pub(crate) index: u64,
    /// Bytes of its content.
    pub size: u64,
    /// Whether it has NORM_INFO.
    pub has_info: bool,
    /// Its NORM_INFO, once that is here.
    pub info: Option<Vec<u8>>,
    /// What that says, when it is a message.
    pub description: Option<Description>,
    /// All of it is here.
    pub whole: bool,
    /// When anything of it was heard first.
    pub first_heard: Time,
    /// When it was last requested, or heard.
    pub used: Time,
    /// How long ago it had been published then, as who told of it said.
    pub told: Duration,
    /// How often its bytes were found wrong.
    pub wrong: u8,
    /// How old it was already when it was first heard of in this run of the process.
    pub before: Duration,
}

impl Cached {
    /// Bytes of its content and its NORM_INFO.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.size + self.info.as_ref().map_or(0, Vec::len) as u64
    }
    /// Bytes that it counts for.
    fn cost(&self) -> u64 {
        self.bytes() + OVERHEAD
    }
    /// When it was published.
    pub(crate) fn age(&self) -> Age {
        Age { heard: self.first_heard, then: self.told }
    }
    /// Its message's priority; what is no message has the middle one.
    #[must_use]
    pub fn priority(&self) -> u8 {
        self.description.as_ref().map_or(PRIORITY_DEFAULT, |known| known.options.priority)
    }
}

/// Decides what is kept, and what is dropped first.
pub trait CachePolicy: Debug + Send {
    /// Whether to keep it at all. Asked when its description is known.
    fn keeps(&self, object: &Cached) -> bool;
    /// The object with the least value is dropped first.
    fn rank(&self, object: &Cached) -> (u8, Time);
}

/// Keeps everything. The lowest priority is dropped first, and of equals the least recently used.
#[derive(Debug, Clone, Copy, Default)]
pub struct PriorityThenAge;

impl CachePolicy for PriorityThenAge {
    fn keeps(&self, _object: &Cached) -> bool {
        true
    }
    fn rank(&self, object: &Cached) -> (u8, Time) {
        (object.priority(), object.used)
    }
}

/// Bytes that an object counts for beside its content: what is known of it, here and elsewhere. Without it a cache of 64 MiB
/// would hold millions of short messages, and gigabytes.
const OVERHEAD: u64 = 256;
/// When something has to give way, this part of the room is made besides: all objects are looked at for it.
const SPARE: u64 = 64;

/// What is kept no longer, and its number among its publisher's.
pub(crate) type Gone = (ObjectKey, u64);

/// The objects kept.
#[derive(Debug)]
pub(crate) struct Cache {
    objects: BTreeMap<ObjectKey, Cached>,
    ends: BTreeSet<(Time, ObjectKey)>,
    bytes: u64,
    bytes_max: u64,
    age_max: Duration,
    policy: Box<dyn CachePolicy>,
}

impl Cache {
    pub(crate) fn new(bytes_max: u64, age_max: Duration, policy: Box<dyn CachePolicy>) -> Self {
        let (objects, ends) = (BTreeMap::new(), BTreeSet::new());
        Self { objects, ends, bytes: 0, bytes_max, age_max, policy }
    }

    pub(crate) fn get(&self, key: ObjectKey) -> Option<&Cached> {
        self.objects.get(&key)
    }

    /// All that is whole.
    pub(crate) fn whole(&self) -> impl Iterator<Item = (&ObjectKey, &Cached)> {
        self.objects.iter().filter(|(_, object)| object.whole)
    }

    /// Messages of which something is missing.
    pub(crate) fn unfinished(&self) -> impl Iterator<Item = (&ObjectKey, &Cached)> {
        self.objects.iter().filter(|(_, object)| !object.whole && object.description.is_some())
    }

    /// The objects of one instance of a sender.
    pub(crate) fn of(&self, example: ObjectKey) -> impl Iterator<Item = (&ObjectKey, &Cached)> {
        let object = fanfare_proto::ObjectTransportId;
        let first = ObjectKey { object: object(0), ..example };
        let last = ObjectKey { object: object(u16::MAX), ..example };
        self.objects.range(first..=last)
    }

    /// An object begins. Gives what has to go for it.
    pub(crate) fn on_new(
        &mut self,
        now: Time,
        (key, index): (ObjectKey, u64),
        (size, has_info): (u64, bool),
        held: &dyn Fn() -> BTreeSet<ObjectKey>,
    ) -> Vec<Gone> {
        let object = Cached {
            index,
            size,
            has_info,
            info: None,
            description: None,
            whole: false,
            first_heard: now,
            used: now,
            told: Duration::ZERO,
            wrong: 0,
            before: Duration::ZERO,
        };
        self.remove(key);
        self.bytes += object.cost();
        self.objects.insert(key, object);
        self.ends.insert((now + self.age_max, key));
        self.make_room(key, held)
    }

    /// Its INFO has come, and says how old it is.
    pub(crate) fn on_info(&mut self, now: Time, key: ObjectKey, (info, age): (Vec<u8>, Duration)) {
        let Some(object) = self.objects.get_mut(&key) else { return };
        object.description = Description::decode(&info);
        object.told = age.saturating_sub(now.since(object.first_heard));
        self.bytes += info.len() as u64;
        object.info = Some(info);
        self.ends.remove(&(object.first_heard + self.age_max, key));
        let end = end(object, self.age_max);
        self.ends.insert((end, key));
    }

    /// It was first heard of so long before this run of the process.
    pub(crate) fn was_heard(&mut self, key: ObjectKey, before: Duration) {
        let Some(object) = self.objects.get_mut(&key) else { return };
        self.ends.remove(&(end(object, self.age_max), key));
        object.before = before;
        let end = end(object, self.age_max);
        self.ends.insert((end, key));
    }

    /// Whether it is kept for others.
    pub(crate) fn keeps(&self, key: ObjectKey) -> bool {
        self.objects.get(&key).is_some_and(|object| self.policy.keeps(object))
    }

    pub(crate) fn on_whole(&mut self, now: Time, key: ObjectKey) {
        if let Some(object) = self.objects.get_mut(&key) {
            (object.whole, object.used) = (true, now);
        }
    }

    /// Its bytes are wrong. Gives how often that was so; 0 when nothing is known of it.
    pub(crate) fn on_wrong(&mut self, key: ObjectKey) -> u8 {
        let Some(object) = self.objects.get_mut(&key) else { return 0 };
        object.wrong = object.wrong.saturating_add(1);
        object.wrong
    }

    /// It was requested.
    pub(crate) fn on_used(&mut self, now: Time, key: ObjectKey) {
        if let Some(object) = self.objects.get_mut(&key) {
            object.used = now;
        }
    }

    /// What is still on its way does not give way: the session would request it again. Nor does what is `held`, not
    /// delivered yet.
    fn make_room(&mut self, new: ObjectKey, held: &dyn Fn() -> BTreeSet<ObjectKey>) -> Vec<Gone> {
        if self.bytes <= self.bytes_max {
            return Vec::new();
        }
        let held = held();
        let may_go = |(key, object): &(&ObjectKey, &Cached)| {
            **key != new && object.whole && !held.contains(*key)
        };
        let others = self.objects.iter().filter(may_go);
        let mut others: Vec<_> =
            others.map(|(key, object)| (self.policy.rank(object), (*key, object.index))).collect();
        others.sort_unstable();
        let enough = self.bytes_max - self.bytes_max / SPARE;
        let mut gone = Vec::new();
        for (_, (key, index)) in others {
            if self.bytes <= enough {
                break;
            }
            self.remove(key);
            gone.push((key, index));
        }
        gone
    }

    pub(crate) fn remove(&mut self, key: ObjectKey) -> Option<Cached> {
        let object = self.objects.remove(&key)?;
        self.bytes -= object.cost();
        self.ends.remove(&(end(&object, self.age_max), key));
        Some(object)
    }

    /// What is too old, or has expired.
    pub(crate) fn expire(&mut self, now: Time) -> Vec<Gone> {
        let over = self.ends.iter().take_while(|(end, _)| *end <= now);
        let over: Vec<ObjectKey> = over.map(|(_, key)| *key).collect();
        over.into_iter().filter_map(|key| Some((key, self.remove(key)?.index))).collect()
    }

    pub(crate) fn next_timeout(&self) -> Option<Time> {
        self.ends.first().map(|(end, _)| *end)
    }
}

/// When it has expired, or is too old.
fn end(object: &Cached, age_max: Duration) -> Time {
    let expiry = object.description.as_ref().and_then(|known| known.options.expiry);
    let kept = age_max.saturating_sub(object.before);
    // Of use it is for what is left since it was published, as far as that is known.
    let age = object.told.max(object.before);
    let incarnation = expiry.map_or(kept, |expiry| expiry.saturating_sub(age).min(kept));
    object.first_heard + incarnation
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{description::Options, topic::Topic};
    use fanfare_proto::{InstanceId, NodeId, ObjectTransportId};

    const NONE: fn() -> BTreeSet<ObjectKey> = BTreeSet::new;
    const HOUR: Duration = Duration::from_secs(3600);

    fn key(object: u16) -> ObjectKey {
        let object = ObjectTransportId(object);
        ObjectKey { sender: NodeId(1), instance: InstanceId(1), object }
    }
    /// An object, and its number.
    fn new(object: u16) -> Gone {
        (key(object), u64::from(object))
    }
    fn at(s: u64) -> Time {
        Time::ZERO + Duration::from_secs(s)
    }
    fn info(priority: u8, expiry: Option<Duration>) -> Vec<u8> {
        let options = Options { priority, expiry, ..Options::default() };
        let topic = Topic::new("a").unwrap();
        Description { topic, number: 0, options, batch: None, content: None }.encode()
    }
    /// Of so many bytes for so many objects.
    fn cache(bytes: u64, objects: u64) -> Cache {
        Cache::new(bytes + objects * OVERHEAD, HOUR, Box::new(PriorityThenAge))
    }

    #[test]
    fn the_lowest_priority_is_dropped_first_and_of_equals_the_least_recently_used() {
        let mut cache = cache(320, 3);
        for (object, priority) in [(0, 5), (1, 3), (2, 5)] {
            let time = at(u64::from(object));
            assert_eq!(cache.on_new(time, new(object), (80, true), &NONE), []);
            cache.on_info(time, key(object), (info(priority, None), Duration::ZERO));
            cache.on_whole(time, key(object));
        }
        cache.on_used(at(10), key(0));
        assert_eq!(cache.on_new(at(11), new(3), (100, false), &NONE), [new(1)]);
        assert_eq!(cache.on_new(at(12), new(4), (100, false), &NONE), [new(2)]);
    }

    #[test]
    fn incomplete_objects_are_not_dropped() {
        let mut cache = cache(100, 1);
        cache.on_new(at(0), new(0), (90, false), &NONE);
        assert_eq!(cache.on_new(at(1), new(1), (90, false), &NONE), []);
        cache.on_whole(at(2), key(0));
        assert_eq!(cache.on_new(at(3), new(2), (1, false), &NONE), [new(0)]);
    }

    #[test]
    fn objects_end_by_age_or_by_their_own_expiry() {
        let mut cache = cache(10_000, 2);
        cache.on_new(at(0), new(0), (10, false), &NONE);
        cache.on_new(at(0), new(1), (10, true), &NONE);
        let about = info(5, Some(Duration::from_secs(60)));
        cache.on_info(at(0), key(1), (about, Duration::ZERO));
        assert_eq!(cache.next_timeout(), Some(at(60)));
        assert_eq!((cache.expire(at(59)), cache.expire(at(60))), (Vec::new(), Vec::from([new(1)])));
        assert_eq!(cache.expire(at(3600)), [new(0)]);
        assert_eq!((cache.bytes, cache.ends.len()), (0, 0));
    }

    #[test]
    fn the_policy_decides_by_the_description() {
        #[derive(Debug)]
        struct Urgent;
        impl CachePolicy for Urgent {
            fn keeps(&self, object: &Cached) -> bool {
                object.priority() > 7
            }
            fn rank(&self, object: &Cached) -> (u8, Time) {
                (0, object.used)
            }
        }
        let mut cache = Cache::new(1000, HOUR, Box::new(Urgent));
        cache.on_new(at(0), new(0), (10, true), &NONE);
        cache.on_info(at(0), key(0), (info(5, None), Duration::ZERO));
        cache.on_new(at(0), new(1), (10, true), &NONE);
        cache.on_info(at(0), key(1), (info(8, None), Duration::ZERO));
        assert_eq!((cache.keeps(key(0)), cache.keeps(key(1))), (false, true));
    }

    #[test]
    fn undelivered_messages_stay() {
        let mut cache = cache(100, 1);
        cache.on_new(at(0), new(0), (90, false), &NONE);
        cache.on_whole(at(0), key(0));
        let held = || BTreeSet::from([key(0)]);
        assert_eq!(cache.on_new(at(1), new(1), (90, false), &held), []);
    }
}
