//! What subscriptions are still to be given, while their applications are busy: by name, in the order in
//! which it came. The bytes stay where they are kept for others, too; what gives way there before its
//! turn has come is counted, and told to who would have had it.

use std::{
    collections::BTreeMap,
    ops::{
        Bound::{self, Excluded, Included, Unbounded},
        Range,
    },
};

use fanfare_messaging::{Delivered, Description, SubscriptionId, Topic};
use fanfare_proto::{InstanceId, NodeId, ObjectKey};

use super::gate::{Gate, Permit};

type Ids = (Bound<SubscriptionId>, Bound<SubscriptionId>);
/// Of what there is a latest one.
type Stream = (NodeId, InstanceId, Topic);

/// A subscription, and what waits for it. As much as is kept can wait, not more.
#[derive(Debug)]
struct Subscriber {
    gate: Gate,
    next: u64,
    waiting: BTreeMap<u64, Waiting>,
    numbers: BTreeMap<ObjectKey, u64>,
    latest: Option<Latest>,
    /// Gone before their turn, and not told yet.
    dropped: u64,
}

/// A message, its bytes, and which of those that it is, where it is several as one.
type Waiting = (ObjectKey, u64, Range<u32>);

/// Where a newer message of a publisher and topic takes the place of an older one.
#[derive(Debug, Default)]
struct Latest {
    streams: BTreeMap<u64, Stream>,
    newest: BTreeMap<Stream, u64>,
}

/// What goes to an application next.
#[derive(Debug)]
pub(crate) enum Next {
    Message { subscription: SubscriptionId, what: Waiting, permit: Permit },
    Dropped { subscription: SubscriptionId, messages: u64, permit: Permit },
}

/// All subscriptions that somebody listens to.
#[derive(Debug, Default)]
pub(crate) struct Handover {
    subscribers: BTreeMap<SubscriptionId, Subscriber>,
    /// Who had its turn last.
    last: Option<SubscriptionId>,
    dropped: u64,
}

impl Subscriber {
    fn put(&mut self, delivered: &Delivered) {
        let Delivered { key, size, description, members, .. } = delivered;
        self.remove(*key);
        let newest = |latest: &Latest| latest.newest.get(&stream_of(*key, description)).copied();
        if let Some(older) = self.latest.as_ref().and_then(newest) {
            self.take(older);
        }
        if let Some(latest) = &mut self.latest {
            latest.streams.insert(self.next, stream_of(*key, description));
            latest.newest.insert(stream_of(*key, description), self.next);
        }
        self.numbers.insert(*key, self.next);
        self.waiting.insert(self.next, (*key, *size, members.clone()));
        self.next += 1;
    }

    /// How many messages of it waited.
    fn remove(&mut self, key: ObjectKey) -> u64 {
        let waiting = self.numbers.get(&key).copied().and_then(|number| self.take(number));
        waiting.map_or(0, |(_, _, members)| members.len() as u64)
    }

    fn take(&mut self, number: u64) -> Option<Waiting> {
        let waiting = self.waiting.remove(&number)?;
        self.numbers.remove(&waiting.0);
        if let Some(latest) = &mut self.latest
            && let Some(stream) = latest.streams.remove(&number)
        {
            latest.newest.remove(&stream);
        }
        Some(waiting)
    }

    /// What is next, if there is room for it.
    fn poll(&mut self, subscription: SubscriptionId) -> Option<Next> {
        if self.dropped > 0 {
            let permit = self.gate.enter(0)?;
            let messages = std::mem::take(&mut self.dropped);
            return Some(Next::Dropped { subscription, messages, permit });
        }
        let (number, (_, size, _)) = self.waiting.first_key_value()?;
        let permit = self.gate.enter(*size)?;
        let what = self.take(*number)?;
        Some(Next::Message { subscription, what, permit })
    }
}

impl Handover {
    /// Somebody listens to a subscription. `latest`: to the latest of each publisher and topic.
    pub(crate) fn begin(&mut self, id: SubscriptionId, gate: Gate, latest: bool) {
        let (waiting, numbers) = (BTreeMap::new(), BTreeMap::new());
        let latest = latest.then(Latest::default);
        let subscriber = Subscriber { gate, next: 0, waiting, numbers, latest, dropped: 0 };
        self.subscribers.insert(id, subscriber);
    }

    pub(crate) fn end(&mut self, id: SubscriptionId) {
        self.subscribers.remove(&id);
    }

    /// A message has come. It may go to its application at once when that `may_pass`, nothing waits
    /// before it, and there is room; else it waits, unless nobody listens.
    pub(crate) fn on_message(&mut self, delivered: &Delivered, may_pass: bool) -> Option<Permit> {
        let subscriber = self.subscribers.get_mut(&delivered.subscription)?;
        let is_next = may_pass && subscriber.waiting.is_empty() && subscriber.dropped == 0;
        let permit = is_next.then(|| subscriber.gate.enter(delivered.size)).flatten();
        if permit.is_none() {
            subscriber.put(delivered);
        }
        permit
    }

    /// It is not kept any more.
    pub(crate) fn on_gone(&mut self, key: ObjectKey) {
        for subscriber in self.subscribers.values_mut() {
            let gone = subscriber.remove(key);
            subscriber.dropped += gone;
            self.dropped += gone;
        }
    }

    /// So many messages could not be read when their turn had come.
    pub(crate) fn on_unreadable(&mut self, id: SubscriptionId, messages: u64) {
        if let Some(subscriber) = self.subscribers.get_mut(&id) {
            subscriber.dropped += messages;
            self.dropped += messages;
        }
    }

    /// What goes next. Subscriptions have it in turn.
    pub(crate) fn poll(&mut self) -> Option<Next> {
        let after = self.last.map_or(Unbounded, Excluded);
        let (id, next) = self.first_within((after, Unbounded)).or_else(|| {
            let last = self.last?;
            self.first_within((Unbounded, Included(last)))
        })?;
        self.last = Some(id);
        Some(next)
    }

    fn first_within(&mut self, ids: Ids) -> Option<(SubscriptionId, Next)> {
        self.subscribers.range_mut(ids).find_map(|(id, subscriber)| {
            let next = subscriber.poll(*id)?;
            Some((*id, next))
        })
    }

    /// Messages that were gone before their turn, so far.
    pub(crate) fn dropped(&self) -> u64 {
        self.dropped
    }
}

fn stream_of(key: ObjectKey, message: &Description) -> Stream {
    let identity = message.identity(key);
    (identity.node, identity.instance, identity.topic)
}

#[cfg(test)]
mod tests {
    use fanfare_messaging::Options;
    use fanfare_proto::ObjectTransportId;

    use super::*;
    use crate::waker::Waker;

    const ONE: SubscriptionId = SubscriptionId(1);
    const OTHER: SubscriptionId = SubscriptionId(2);

    fn key(object: u16) -> ObjectKey {
        let object = ObjectTransportId(object);
        ObjectKey { sender: NodeId(7), instance: InstanceId(1), object }
    }
    fn delivered(subscription: SubscriptionId, object: u16, topic: &str) -> Delivered {
        let (topic, options) = (Topic::new(topic).unwrap(), Options::default());
        let number = u64::from(object);
        let description = Description { topic, number, options, batch: None, content: None };
        let members = 0..1;
        Delivered { subscription, key: key(object), size: 1, description, members }
    }
    fn gate() -> Gate {
        Gate::new(Waker::new().unwrap())
    }
    fn handover(latest: bool) -> Handover {
        let mut handover = Handover::default();
        [ONE, OTHER].into_iter().for_each(|id| handover.begin(id, gate(), latest));
        handover
    }
    /// What is given while all that was given is held.
    fn polled(handover: &mut Handover) -> Vec<Next> {
        std::iter::from_fn(|| handover.poll()).collect()
    }
    fn objects(polled: &[Next], wanted: SubscriptionId) -> Vec<u16> {
        let object = |next: &Next| match next {
            Next::Message { subscription, what, .. } if *subscription == wanted => {
                Some(what.0.object.0)
            }
            _ => None,
        };
        polled.iter().filter_map(object).collect()
    }

    #[test]
    fn who_takes_nothing_loses_nothing_and_holds_nobody_up() {
        let mut handover = handover(false);
        let mut held = Vec::new();
        let (mut first, mut second) = (Vec::new(), Vec::new());
        for object in 0..3000 {
            // One keeps all that it is given, the other lets go of it at once.
            let message = delivered(ONE, object, "a");
            held.extend(handover.on_message(&message, true).inspect(|_| first.push(object)));
            let message = delivered(OTHER, object, "a");
            second.extend(handover.on_message(&message, true).map(|_| object));
        }
        assert_eq!((first.len(), second.len(), handover.dropped()), (256, 3000, 0));
        drop(held);
        while first.len() < 3000 {
            first.extend(objects(&polled(&mut handover), ONE));
        }
        assert!(first.is_sorted() && handover.poll().is_none());
    }

    #[test]
    fn what_gives_way_before_its_turn_is_counted_and_told_before_what_follows() {
        let mut handover = handover(false);
        (0..10).for_each(|object| {
            assert!(handover.on_message(&delivered(ONE, object, "a"), false).is_none());
        });
        (0..4).for_each(|object| handover.on_gone(key(object)));
        handover.on_gone(key(4000));
        let told = polled(&mut handover);
        assert!(matches!(told[0], Next::Dropped { subscription: ONE, messages: 4, .. }));
        assert_eq!(objects(&told, ONE), [4, 5, 6, 7, 8, 9]);
        assert_eq!(handover.dropped(), 4);
    }

    #[test]
    fn of_messages_that_travelled_together_each_counts_that_gives_way() {
        let mut handover = handover(false);
        let three = Delivered { members: 0..3, ..delivered(ONE, 0, "a") };
        assert!(handover.on_message(&three, false).is_none());
        handover.on_gone(key(0));
        assert!(matches!(handover.poll(), Some(Next::Dropped { messages: 3, .. })));
    }

    #[test]
    fn subscriptions_have_their_turns_one_after_the_other() {
        let mut handover = handover(false);
        for (id, object) in [(ONE, 0), (ONE, 1), (ONE, 2), (OTHER, 0), (OTHER, 1)] {
            handover.on_message(&delivered(id, object, "a"), false);
        }
        let ids = polled(&mut handover).into_iter().map(|next| match next {
            Next::Message { subscription, .. } | Next::Dropped { subscription, .. } => subscription,
        });
        assert_eq!(ids.collect::<Vec<_>>(), [ONE, OTHER, ONE, OTHER, ONE]);
    }

    #[test]
    fn of_the_latest_only_the_newest_of_each_topic_waits() {
        let mut handover = handover(true);
        for (object, topic) in [(0, "a"), (1, "b"), (2, "a"), (3, "a")] {
            handover.on_message(&delivered(ONE, object, topic), false);
        }
        assert_eq!((objects(&polled(&mut handover), ONE), handover.dropped()), (vec![1, 3], 0));
        handover.on_message(&delivered(ONE, 4, "a"), false);
        assert_eq!(objects(&polled(&mut handover), ONE), [4]);
    }

    #[test]
    fn nothing_waits_where_nobody_listens() {
        let mut handover = handover(false);
        handover.end(ONE);
        assert!(handover.on_message(&delivered(ONE, 0, "a"), true).is_none());
        handover.on_gone(key(0));
        assert!(handover.poll().is_none() && handover.dropped() == 0);
    }
}
