//! Delivers messages to subscriptions, in the order that each requested.

use crate::{
    age::Age,
    description::Description,
    event::Delivered,
    lru_map::LruMap,
    order::{Order, Place, STREAMS_MAX, Source, rule},
    origin::Known,
    subscription::{Ordering, Subscription, SubscriptionId},
    topic::Topic,
};
use alloc::{
    boxed::Box,
    collections::{BTreeMap, BTreeSet},
    vec::Vec,
};
use fanfare_proto::{Duration, ObjectKey, Time};

#[derive(Debug)]
struct Subscribed {
    subscription: Subscription,
    order: Box<dyn Order>,
    /// What its order holds.
    held: BTreeMap<Place, (ObjectKey, u64, Description)>,
    /// When it began.
    since: Time,
    /// What it has taken: gateways may bring a message more than once.
    taken: Known,
    /// The newest object of each publisher that was known then.
    begun: BTreeMap<Source, u64>,
}

/// A message among those of its publisher: its object's number, how many objects before the
/// first one heard of that is, and when it was published.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Point {
    pub(crate) source: Source,
    pub(crate) index: u64,
    pub(crate) back: u64,
    pub(crate) age: Age,
}

impl Subscribed {
    fn wants(&self, message: &Description, at: Point) -> bool {
        // To who came later than the publisher, all before its coming is history. What may have been published
        // after that is none, also where others told of it before anything of it was heard: rather a message of
        // the second before comes than one is missed.
        let back = match self.begun.get(&at.source) {
            Some(newest) => (newest + 1).saturating_sub(at.index),
            None if at.age.is_before(self.since) => at.back,
            None => 0,
        };
        self.subscription.wants(message, (back, at.age.before(self.since)))
    }

    /// Whether it has it already, perhaps from another gateway.
    fn has(&self, message: &Description, key: ObjectKey) -> bool {
        !self.subscription.copies
            && self.taken.contains(&message.identity(key), u64::from(message.messages()))
    }

    fn take(
        &mut self,
        place: Place,
        at: Point,
        (key, size): (ObjectKey, u64),
        message: &Description,
    ) -> bool {
        let new = !self.has(message, key);
        let wanted = self.wants(message, at) && new;
        if wanted {
            self.taken.insert(&message.identity(key), u64::from(message.messages()));
            let mut place = place;
            if let Some(origin) = message.options.origin
                && self.subscription.ordering == Ordering::Latest
            {
                // What is newest of whom does not depend on who carried it.
                let source = (origin.node, origin.instance);
                let number = origin.number;
                let next_number = number.saturating_add(u64::from(message.messages()));
                place = Place { source, index: number, number, next_number, ..place };
            }
            self.held.insert(place, (key, size, message.clone()));
            self.order.on_message(place);
            while let Some(place) = self.order.poll_dropped() {
                self.held.remove(&place);
            }
        }
        wanted
    }
}

/// All subscriptions of a node.
#[derive(Debug)]
pub(crate) struct Delivery {
    subscriptions: BTreeMap<SubscriptionId, Subscribed>,
    next_id: u32,
    /// Numbers of topics, for places.
    topics: LruMap<Topic, u32>,
    next_topic: u32,
}

impl Default for Delivery {
    fn default() -> Self {
        let topics = LruMap::new(STREAMS_MAX);
        Self { subscriptions: BTreeMap::new(), next_id: 0, topics, next_topic: 0 }
    }
}

impl Delivery {
    /// From now on; `begun` is the newest object of each publisher that is known.
    pub(crate) fn subscribe(
        &mut self,
        since: Time,
        subscription: Subscription,
        begun: BTreeMap<Source, u64>,
    ) -> SubscriptionId {
        let id = SubscriptionId(self.next_id);
        self.next_id += 1;
        let (order, held) = (rule(subscription.ordering), BTreeMap::new());
        let taken = Known::default();
        let subscribed = Subscribed { subscription, order, held, since, taken, begun };
        self.subscriptions.insert(id, subscribed);
        id
    }
    pub(crate) fn unsubscribe(&mut self, id: SubscriptionId) -> bool {
        self.subscriptions.remove(&id).is_some()
    }
    /// Whether anything is to be requested at all.
    pub(crate) fn asks(&self) -> bool {
        self.subscriptions.values().any(|s| s.subscription.reliable)
    }

    /// Whether any subscription wants it and has not got it, and whether any such wants it reliably.
    pub(crate) fn wants(&self, message: &Description, key: ObjectKey, at: Point) -> (bool, bool) {
        let lacks = |known: &&Subscribed| known.wants(message, at) && !known.has(message, key);
        let mut lacking = self.subscriptions.values().filter(lacks);
        let first = lacking.next().map(|known| known.subscription.reliable);
        let reliable = first == Some(true) || lacking.any(|known| known.subscription.reliable);
        (first.is_some(), reliable)
    }
    /// The longest that any subscription waits for it; for a message that is not known yet, the
    /// longest of all. `None`: for ever.
    pub(crate) fn deadline(&self, message: Option<(&Description, Point)>) -> Option<Duration> {
        let wants = |s: &&Subscribed| message.is_none_or(|(m, at)| s.wants(m, at));
        let concerned = self.subscriptions.values().filter(wants);
        let deadlines: Option<Vec<Duration>> =
            concerned.map(|known| known.subscription.deadline).collect();
        deadlines?.into_iter().max()
    }

    /// A message is whole. False when no subscription wants it.
    pub(crate) fn on_message(
        &mut self,
        at: Point,
        content: (ObjectKey, u64),
        message: &Description,
    ) -> bool {
        let place = self.place(at, message);
        let mut wanted = false;
        for known in self.subscriptions.values_mut() {
            wanted |= known.take(place, at, content, message);
        }
        wanted
    }

    /// A message that was whole before the subscription `id` began.
    pub(crate) fn recall(
        &mut self,
        id: SubscriptionId,
        at: Point,
        content: (ObjectKey, u64),
        message: &Description,
    ) {
        let place = self.place(at, message);
        if let Some(known) = self.subscriptions.get_mut(&id) {
            known.take(place, at, content, message);
        }
    }

    fn place(&mut self, at: Point, message: &Description) -> Place {
        let next_topic = &mut self.next_topic;
        let topic = *self.topics.entry(&message.topic, || {
            *next_topic = next_topic.wrapping_add(1);
            *next_topic
        });
        let (number, next_number) = (message.number, message.next_number());
        Place { source: at.source, index: at.index, topic, number, next_number }
    }

    /// Messages that wait to be delivered.
    pub(crate) fn held(&self) -> BTreeSet<ObjectKey> {
        let held = self.subscriptions.values().flat_map(|known| known.held.values());
        held.map(|(key, ..)| *key).collect()
    }

    /// These are not kept any longer: they are not delivered.
    pub(crate) fn forget(&mut self, gone: &BTreeSet<ObjectKey>) {
        for known in self.subscriptions.values_mut() {
            known.held.retain(|_, (key, ..)| !gone.contains(key));
        }
    }

    /// All objects of `source` before `index` are settled.
    pub(crate) fn on_settled(&mut self, source: Source, index: u64) {
        self.subscriptions.values_mut().for_each(|known| known.order.on_settled(source, index));
    }

    /// The next message to hand over.
    pub(crate) fn poll(&mut self) -> Option<Delivered> {
        for (id, known) in &mut self.subscriptions {
            while let Some(place) = known.order.poll() {
                if let Some((key, size, description)) = known.held.remove(&place) {
                    // Of several as one only the last is the latest.
                    let all = description.messages();
                    let latest = known.subscription.ordering == Ordering::Latest;
                    let members = if latest { all.saturating_sub(1)..all } else { 0..all };
                    return Some(Delivered { subscription: *id, key, size, description, members });
                }
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{description::Options, subscription::Ordering, topic::Filter};
    use fanfare_proto::{InstanceId, NodeId, ObjectTransportId};

    const NEW: Age = Age { heard: Time::ZERO, then: Duration::ZERO };
    const SOURCE: Source = (NodeId(1), InstanceId(1));

    fn message(topic: &str, number: u64) -> Description {
        let topic = Topic::new(topic).unwrap();
        Description { topic, number, options: Options::default(), batch: None, content: None }
    }
    fn filtered(filter: &str) -> Subscription {
        Subscription::new(Filter::new(filter).unwrap())
    }
    fn arrive(delivery: &mut Delivery, index: u64, message: &Description) -> bool {
        let object = ObjectTransportId(index as u16);
        let key = ObjectKey { sender: SOURCE.0, instance: SOURCE.1, object };
        let at = Point { source: SOURCE, index, back: 0, age: NEW };
        delivery.on_message(at, (key, 10), message)
    }
    fn handed(delivery: &mut Delivery) -> Vec<(u32, u16)> {
        let next = core::iter::from_fn(|| delivery.poll());
        next.map(|message| (message.subscription.0, message.key.object.0)).collect()
    }

    #[test]
    fn each_subscription_gets_its_own_topics_in_its_own_order() {
        let mut delivery = Delivery::default();
        delivery.subscribe(Time::ZERO, filtered("a/#"), BTreeMap::new());
        delivery.subscribe(
            Time::ZERO,
            Subscription { ordering: Ordering::Source, ..filtered("#") },
            BTreeMap::new(),
        );
        assert!(arrive(&mut delivery, 1, &message("a/x", 0)));
        assert!(arrive(&mut delivery, 0, &message("b", 0)));
        assert_eq!(handed(&mut delivery), [(0, 1)]);
        delivery.on_settled(SOURCE, 2);
        assert_eq!(handed(&mut delivery), [(1, 0), (1, 1)]);
    }

    #[test]
    fn what_no_subscription_wants_goes_nowhere() {
        let mut delivery = Delivery::default();
        let id = delivery.subscribe(Time::ZERO, filtered("a/#"), BTreeMap::new());
        assert!(!arrive(&mut delivery, 0, &message("b", 0)));
        assert!(delivery.unsubscribe(id) && !delivery.unsubscribe(id));
        assert!(!arrive(&mut delivery, 1, &message("a/x", 0)) && delivery.poll().is_none());
    }

    #[test]
    fn the_subscription_with_the_longest_deadline_decides_how_long_to_wait() {
        let mut delivery = Delivery::default();
        let within = |filter, s| {
            let deadline = Some(Duration::from_secs(s));
            Subscription { deadline, reliable: false, ..filtered(filter) }
        };
        delivery.subscribe(Time::ZERO, within("a", 1), BTreeMap::new());
        delivery.subscribe(Time::ZERO, within("+", 5), BTreeMap::new());
        let at = Point { source: SOURCE, index: 0, back: 0, age: NEW };
        assert_eq!(delivery.deadline(Some((&message("a", 0), at))), Some(Duration::from_secs(5)));
        assert!(!delivery.asks());
        delivery.subscribe(Time::ZERO, filtered("b"), BTreeMap::new());
        assert_eq!(delivery.deadline(None), None);
        assert!(delivery.asks());
    }

    #[test]
    fn for_a_late_subscription_all_earlier_messages_are_history() {
        let mut delivery = Delivery::default();
        let history = crate::subscription::History::Last(1);
        let some = Subscription { history, ..filtered("#") };
        let id = delivery.subscribe(Time::ZERO, some, BTreeMap::from([(SOURCE, 5)]));
        for index in [4, 5] {
            let key = ObjectKey {
                sender: SOURCE.0,
                instance: SOURCE.1,
                object: ObjectTransportId(index as u16),
            };
            let at = Point { source: SOURCE, index, back: 0, age: NEW };
            delivery.recall(id, at, (key, 10), &message("a", index));
        }
        arrive(&mut delivery, 6, &message("a", 6));
        assert_eq!(handed(&mut delivery), [(0, 5), (0, 6)]);
    }
}
