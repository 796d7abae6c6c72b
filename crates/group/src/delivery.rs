//! Subscriptions at work: which messages go to which, in which order.

use crate::{
    description::Description,
    event::Delivered,
    order::{Order, Place, Source, rule},
    subscription::{Subscription, SubscriptionId},
    topic::Topic,
};
use alloc::{boxed::Box, collections::BTreeMap, vec::Vec};
use fanfare_proto::{Duration, ObjectKey};

#[derive(Debug)]
struct Subscribed {
    subscription: Subscription,
    order: Box<dyn Order>,
    /// What its order holds.
    held: BTreeMap<Place, (ObjectKey, u64, Description)>,
}

/// All subscriptions of a node.
#[derive(Debug, Default)]
pub(crate) struct Delivery {
    subscriptions: BTreeMap<SubscriptionId, Subscribed>,
    next_id: u32,
    topics: BTreeMap<Topic, u32>,
}

impl Delivery {
    pub(crate) fn subscribe(&mut self, subscription: Subscription) -> SubscriptionId {
        let id = SubscriptionId(self.next_id);
        self.next_id += 1;
        let (order, held) = (rule(subscription.ordering), BTreeMap::new());
        self.subscriptions.insert(id, Subscribed { subscription, order, held });
        id
    }
    pub(crate) fn unsubscribe(&mut self, id: SubscriptionId) -> bool {
        self.subscriptions.remove(&id).is_some()
    }
    /// Whether anything is to be asked for at all.
    pub(crate) fn asks(&self) -> bool {
        self.subscriptions.values().any(|s| s.subscription.reliable)
    }

    fn wanting(&self, message: &Description, back: u64) -> impl Iterator<Item = &Subscription> {
        let all = self.subscriptions.values().map(|known| &known.subscription);
        all.filter(move |subscription| subscription.wants(message, back))
    }
    /// Whether any subscription wants it, and whether any wants it reliably.
    pub(crate) fn wants(&self, message: &Description, back: u64) -> (bool, bool) {
        let wanted = self.wanting(message, back).next().is_some();
        (wanted, self.wanting(message, back).any(|s| s.reliable))
    }
    /// The longest that any subscription waits for it; for a message that is not known yet, the
    /// longest of all. `None`: for ever.
    pub(crate) fn deadline(&self, message: Option<(&Description, u64)>) -> Option<Duration> {
        let concerned = self.subscriptions.values().map(|known| &known.subscription);
        let wants = |s: &&Subscription| message.is_none_or(|(m, back)| s.wants(m, back));
        let deadlines: Option<Vec<Duration>> =
            concerned.filter(wants).map(|subscription| subscription.deadline).collect();
        deadlines?.into_iter().max()
    }

    /// A message is whole. False when no subscription wants it.
    pub(crate) fn on_message(
        &mut self,
        (source, index): (Source, u64),
        (key, size): (ObjectKey, u64),
        message: &Description,
        back: u64,
    ) -> bool {
        let count = self.topics.len() as u32;
        let topic = match self.topics.get(&message.topic) {
            Some(topic) => *topic,
            None => *self.topics.entry(message.topic.clone()).or_insert(count),
        };
        let place = Place { source, index, topic, number: message.number };
        let mut wanted = false;
        for known in self.subscriptions.values_mut() {
            if known.subscription.wants(message, back) {
                known.held.insert(place, (key, size, message.clone()));
                known.order.on_message(place);
                wanted = true;
            }
        }
        wanted
    }

    /// Whether a message waits to be handed over.
    pub(crate) fn holds(&self, key: ObjectKey) -> bool {
        let held = |known: &Subscribed| known.held.values().any(|(other, _, _)| *other == key);
        self.subscriptions.values().any(held)
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
                    return Some(Delivered { subscription: *id, key, size, description });
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

    const SOURCE: Source = (NodeId(1), InstanceId(1));

    fn message(topic: &str, number: u64) -> Description {
        let topic = Topic::new(topic).unwrap();
        Description { topic, number, options: Options::default(), content: None }
    }
    fn filtered(filter: &str) -> Subscription {
        Subscription::new(Filter::new(filter).unwrap())
    }
    fn arrive(delivery: &mut Delivery, index: u64, message: &Description) -> bool {
        let object = ObjectTransportId(index as u16);
        let key = ObjectKey { sender: SOURCE.0, instance: SOURCE.1, object };
        delivery.on_message((SOURCE, index), (key, 10), message, 0)
    }
    fn handed(delivery: &mut Delivery) -> Vec<(u32, u16)> {
        let next = core::iter::from_fn(|| delivery.poll());
        next.map(|message| (message.subscription.0, message.key.object.0)).collect()
    }

    #[test]
    fn each_subscription_gets_its_own_topics_in_its_own_order() {
        let mut delivery = Delivery::default();
        delivery.subscribe(filtered("a/#"));
        delivery.subscribe(Subscription { ordering: Ordering::Source, ..filtered("#") });
        assert!(arrive(&mut delivery, 1, &message("a/x", 0)));
        assert!(arrive(&mut delivery, 0, &message("b", 0)));
        assert_eq!(handed(&mut delivery), [(0, 1)]);
        delivery.on_settled(SOURCE, 2);
        assert_eq!(handed(&mut delivery), [(1, 0), (1, 1)]);
    }

    #[test]
    fn what_no_subscription_wants_goes_nowhere() {
        let mut delivery = Delivery::default();
        let id = delivery.subscribe(filtered("a/#"));
        assert!(!arrive(&mut delivery, 0, &message("b", 0)));
        assert!(delivery.unsubscribe(id) && !delivery.unsubscribe(id));
        assert!(!arrive(&mut delivery, 1, &message("a/x", 0)) && delivery.poll().is_none());
    }

    #[test]
    fn the_most_patient_subscription_decides_how_long_is_waited() {
        let mut delivery = Delivery::default();
        let within = |filter, s| {
            let deadline = Some(Duration::from_secs(s));
            Subscription { deadline, reliable: false, ..filtered(filter) }
        };
        delivery.subscribe(within("a", 1));
        delivery.subscribe(within("+", 5));
        assert_eq!(delivery.deadline(Some((&message("a", 0), 0))), Some(Duration::from_secs(5)));
        assert!(!delivery.asks());
        delivery.subscribe(filtered("b"));
        assert_eq!(delivery.deadline(None), None);
        assert!(delivery.asks());
    }
}
