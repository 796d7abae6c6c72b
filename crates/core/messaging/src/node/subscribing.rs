//! What a new subscription gets of messages that are here already, and what is requested for it.

use super::GroupNode;
use crate::{
    age::Age,
    delivery::Point,
    description::Description,
    event::Event,
    source_log::SourceLog,
    subscription::{Subscription, SubscriptionId},
};
use alloc::{collections::BTreeMap, vec::Vec};
use fanfare_proto::{Duration, ObjectKey, Time};

/// Where a message stands among its publisher's.
pub(super) fn point(log: &SourceLog, (key, index): (ObjectKey, u64), age: Age) -> Point {
    Point { source: key.incarnation(), index, back: log.back(index), age }
}

impl GroupNode {
    /// Subscribes from `now` on. What is wanted of what is here already is delivered at once.
    pub fn subscribe(&mut self, now: Time, subscription: Subscription) -> SubscriptionId {
        self.advance(now);
        let newest = self.logs.iter().map(|(incarnation, log)| (*incarnation, log.newest()));
        let id =
            self.delivery.subscribe(self.now, subscription, newest.collect::<BTreeMap<_, _>>());
        self.want_unfinished();
        self.recall(id);
        self.set_silence();
        self.greet();
        id
    }

    /// What is here in part, and nobody wanted so far, is requested if somebody does now.
    fn want_unfinished(&mut self) {
        let Self { cache, logs, delivery, .. } = self;
        let wanted = cache.unfinished().filter(|(key, cached)| {
            let log = logs.get(&key.incarnation());
            log.zip(cached.description.as_ref()).is_some_and(|(log, message)| {
                let at = point(log, (**key, cached.index), cached.age());
                log.is_settled(cached.index) && delivery.wants(message, **key, at).1
            })
        });
        let wanted: Vec<(ObjectKey, u64)> = wanted.map(|(key, c)| (*key, c.index)).collect();
        for (key, index) in wanted {
            self.session.receiver().examine(self.now, key, false);
            if let Some(log) = self.logs.get_mut(&key.incarnation()) {
                log.unsettle(index);
            }
        }
    }

    fn recall(&mut self, id: SubscriptionId) {
        let Self { logs, cache, publisher, delivery, config, .. } = self;
        for (key, cached) in cache.whole() {
            let log = logs.get(&key.incarnation());
            if let (Some(log), Some(message)) = (log, &cached.description) {
                let size = message.content.as_ref().map_or(cached.size, |c| c.len() as u64);
                let at = point(log, (*key, cached.index), cached.age());
                delivery.recall(id, at, (*key, size), message);
            }
        }
        for (key, own) in publisher.own().filter(|_| config.hears_itself) {
            if let Some(log) = logs.get(&key.incarnation()) {
                let at = point(log, (*key, log.index(key.object)), own.age);
                delivery.recall(id, at, (*key, own.size), &own.message);
            }
        }
        for (incarnation, log) in logs {
            delivery.on_settled(*incarnation, log.first_unsettled());
        }
        self.hand_over();
    }

    /// Ends a subscription; false when there is none of that id.
    pub fn unsubscribe(&mut self, id: SubscriptionId) -> bool {
        let ended = self.delivery.unsubscribe(id);
        self.set_silence();
        ended
    }

    fn set_silence(&mut self) {
        let silent = self.config.silent || !self.delivery.asks();
        self.session.receiver().set_silent(silent);
    }

    /// A message of this node's own, for its own subscriptions.
    pub(super) fn hear_own(&mut self, key: ObjectKey, size: u64, message: &Description) {
        let Some(log) = self.logs.get(&key.incarnation()) else { return };
        let index = log.index(key.object);
        let at = point(log, (key, index), Age { heard: self.now, then: Duration::ZERO });
        self.delivery.on_message(at, (key, size), message);
        self.delivery.on_settled(at.source, log.first_unsettled());
        self.hand_over();
    }

    pub(super) fn hand_over(&mut self) {
        while let Some(message) = self.delivery.poll() {
            self.events.push_back(Event::Message(message));
        }
    }
}
