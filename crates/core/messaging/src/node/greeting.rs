//! A node that subscribes greets the group, and is given the newest short messages at once.
//!
//! A greeting is an announcement of a node that has nothing, hears nobody and calls on all. Without it a late subscriber
//! would wait for two announcements, and for requests that are timed for a network of which nothing is known yet: 4 to
//! 5 s.

use super::GroupNode;
use crate::{
    membership::state::State,
    repair::demand::{Part, Request},
    repair::repairer::OriginTiming,
    topic::Topic,
};
use alloc::{collections::BTreeSet, vec::Vec};
use fanfare_proto::{Duration, Incarnation, NodeId, ObjectKey, ObjectTransportId};

/// Either may be lost.
const GREETINGS: u8 = 2;
/// A greeting goes out within this: nodes that are started together do not all speak at once.
const SOON: Duration = Duration::from_millis(5);
/// The second one follows, unless something was heard by then.
const AGAIN: Duration = Duration::from_millis(90);
/// Each node that is known has so much time to announce itself to who greets.
const EACH: Duration = Duration::from_millis(10);
/// Never in a longer time than this.
const WELCOME_MAX: Duration = Duration::from_secs(1);
/// Messages of one publisher that are given: the newest of so many topics.
const GIVEN_MAX: usize = 16;
/// They are looked for among so many.
const LOOKED_AT: usize = 256;
/// Publishers whose messages are given.
const PUBLISHERS_MAX: usize = 16;
/// Greetings are answered this often at most: whoever invents them gets no more than what answers may
/// take anyway. The second greeting of a node is later than this.
const WELCOMED_EACH: Duration = Duration::from_millis(50);
/// How those that hold a message share the answer: in windows of 40 ms. A publisher that is there answers before.
const WINDOW: Duration = Duration::from_millis(10);
const BACKOFF: u8 = 4;

/// Whether somebody says that it is new, and wants what there is.
pub(super) fn is_greeting(state: &State) -> bool {
    state.asks && is_newcomer(state)
}

/// Whether somebody says that it is new: it has nothing, hears nobody, and calls on all.
pub(super) fn is_newcomer(state: &State) -> bool {
    let nothing = state.hears.is_empty() && state.holdings.is_empty() && !state.unread;
    nothing && state.called.contains(&NodeId::ANY)
}

impl GroupNode {
    /// Subscribes for the first time: the group is to know soon.
    pub(super) fn greet(&mut self) {
        if self.delivery.asks() {
            self.call_as_newcomer();
        }
    }

    /// The others are to announce themselves soon, if it is new here.
    pub(super) fn call_as_newcomer(&mut self) {
        let speaks = self.config.greets && self.config.announces && !self.config.silent;
        if !speaks || !self.is_new() || self.greetings > 0 {
            return;
        }
        self.greetings = GREETINGS;
        self.rolls = self.rolls.max(1);
        self.trickle.on_greeting(self.now, SOON, &mut self.rng);
    }

    /// The node is in another network now, or in one at last: it greets there, unless it knows
    /// somebody.
    pub fn on_moved(&mut self) {
        self.greet();
    }

    fn is_new(&self) -> bool {
        self.members.len() == 0 && self.logs.is_empty()
    }

    /// An announcement goes out: whether another greeting is to follow.
    pub(super) fn on_greeted(&mut self) {
        self.greetings = self.greetings.saturating_sub(1);
        if self.greetings > 0 && self.is_new() {
            self.rolls = self.rolls.max(1);
            self.trickle.plan(self.now + AGAIN);
        }
    }

    /// Somebody greets: it is told what there is, and given the newest of it.
    pub(super) fn welcome(&mut self) {
        if self.welcomed.is_some_and(|at| self.now.since(at) < WELCOMED_EACH) {
            return;
        }
        self.welcomed = Some(self.now);
        self.announce_to_newcomer();
        let own = self.own_incarnation();
        for key in self.newest_own() {
            self.session.sender().give_info_repair(key);
        }
        if !self.config.repairs {
            return;
        }
        self.give_others(own);
    }

    /// Somebody is new: it is to know soon who is here.
    pub(super) fn announce_to_newcomer(&mut self) {
        let here = u32::try_from(self.members.len() + 1).unwrap_or(u32::MAX);
        let soon = EACH.saturating_mul(here).min(WELCOME_MAX);
        self.trickle.on_greeting(self.now, soon, &mut self.rng);
    }

    /// The newest of all publishers but this one.
    fn give_others(&mut self, own: Incarnation) {
        let incarnations = self.logs.keys().copied().filter(|incarnation| *incarnation != own);
        let incarnations: Vec<Incarnation> = incarnations.take(PUBLISHERS_MAX).collect();
        for incarnation in incarnations {
            if !self.is_past(incarnation) {
                self.give_newest(incarnation);
            }
        }
    }

    /// Own short messages: the newest of each topic.
    fn newest_own(&self) -> Vec<ObjectTransportId> {
        let Some(log) = self.logs.get(&self.own_incarnation()) else { return Vec::new() };
        let mut own: Vec<(u64, &Topic, ObjectTransportId)> = self
            .publisher
            .own()
            .filter(|(_, own)| own.message.content.is_some())
            .map(|(key, own)| (log.index(key.object), &own.message.topic, key.object))
            .collect();
        own.sort_unstable_by_key(|(index, ..)| core::cmp::Reverse(*index));
        let own = own.into_iter().map(|(_, topic, object)| (topic, object));
        newest_of_each(own)
    }

    fn give_newest(&mut self, incarnation: Incarnation) {
        let (sender, instance) = incarnation;
        let example = ObjectKey { sender, instance, object: ObjectTransportId(0) };
        let mut here: Vec<(u64, &Topic, ObjectKey)> = self
            .cache
            .of(example)
            .filter(|(_, cached)| cached.whole && cached.size == 0)
            .filter_map(|(key, cached)| {
                Some((cached.index, &cached.description.as_ref()?.topic, *key))
            })
            .collect();
        here.sort_unstable_by_key(|(index, ..)| core::cmp::Reverse(*index));
        let keys = newest_of_each(here.into_iter().map(|(_, topic, key)| (topic, key)));
        let members = u32::try_from(self.members.len()).unwrap_or(u32::MAX);
        let timing =
            OriginTiming { grtt: WINDOW, backoff: BACKOFF, group: members.max(1), members };
        // The publisher has had the greeting, too, if it is there.
        let later = if self.members.knows(sender) { 100 } else { 0 };
        for key in keys {
            let request = Request { unnamed: 1, info: true, unheard: true, ..Request::default() };
            let chance = (&mut self.rng, &mut self.stats);
            let wanted = (key, Part::Info);
            self.repairer.on_request(self.now, wanted, (&request, later), timing, chance);
        }
    }
}

/// Of messages, the newest first, those that are the first of their topic.
fn newest_of_each<'a, T>(messages: impl Iterator<Item = (&'a Topic, T)>) -> Vec<T> {
    let mut topics: BTreeSet<&Topic> = BTreeSet::new();
    let newest = messages.take(LOOKED_AT).filter(|(topic, _)| topics.insert(*topic));
    newest.map(|(_, message)| message).take(GIVEN_MAX).collect()
}
