//! What the session's events mean for the group: objects become messages, or are skipped.

use super::{GroupNode, release, shorts::SHORTS_MAX, subscribing::point};
use crate::{
    cache::Gone,
    coding::coded_packet::Class,
    description::Description,
    event::Event,
    fnv,
    frames::frame::Frame,
    occupancy::{DEADLINES_MAX, PUBLISHERS_MAX},
    source_log::{self, SourceLog},
};
use alloc::{collections::BTreeSet, vec::Vec};
use fanfare_proto::{
    Duration, Event as SessionEvent, Incarnation, InstanceId, NodeId, ObjectKey, Storage, Time,
};

/// So often wrong bytes are requested again: whoever sends them once may do so always, and the
/// others' right ones come in between.
const WRONG_MAX: u8 = 3;

impl GroupNode {
    pub(super) fn take_events(&mut self, storage: &mut dyn Storage) {
        while let Some(event) = self.session.poll_event() {
            match &event {
                SessionEvent::ObjectNew { key, size, has_info, .. } => {
                    self.on_new(*key, (*size, *has_info));
                }
                SessionEvent::ObjectInfo { key, info } => {
                    let told = self.told.filter(|(other, _)| other == key);
                    let age = told.map_or(Duration::ZERO, |(_, age)| age);
                    self.cache.on_info(self.now, *key, (info.clone(), age));
                    self.on_described(*key, storage);
                }
                SessionEvent::ObjectCompleted { key, size } => {
                    self.on_complete(*key, *size, storage);
                }
                SessionEvent::ObjectAborted { key, .. } => self.on_lost(*key),
                SessionEvent::ObjectSkipped { key } => self.settle(*key),
                SessionEvent::ObjectsMissed { oldest, missed } => self.on_missed(*oldest, *missed),
                SessionEvent::SenderReset { sender, .. } => {
                    self.forget_incarnations(*sender);
                    // Which instance a short announcement speaks of may be known to nobody else.
                    self.shorts = SHORTS_MAX;
                }
                SessionEvent::ObjectSent { key } => self.on_own_sent(*key),
                SessionEvent::ObjectPurged { key } => self.on_purged(*key),
                SessionEvent::Command { content, .. } if Frame::parse(content).is_some() => {
                    continue;
                }
                _ => {}
            }
            self.events.push_back(Event::Session(event));
            self.hand_over();
        }
    }

    /// The log of that instance.
    fn log(&mut self, key: ObjectKey) -> Option<&mut SourceLog> {
        self.logs.get_mut(&key.incarnation())
    }

    fn on_new(&mut self, key: ObjectKey, content: (u64, bool)) {
        if self.log(key).is_none() {
            self.forget_incarnations(key.sender);
            self.make_place();
            let log = match self.foretold.get(&key.incarnation()) {
                Some(newest) => SourceLog::after(*newest, self.back),
                None => SourceLog::new(key.object, self.back),
            };
            self.logs.insert(key.incarnation(), log);
        }
        let Some(index) = self.log(key).map(|log| log.on_heard(key.object)) else { return };
        let Self { cache, delivery, .. } = self;
        let gone = cache.on_new(self.now, (key, index), content, &|| delivery.held());
        self.stats.evicted += gone.len() as u64;
        self.on_gone(gone);
        if let Some(deadline) = self.delivery.deadline(None) {
            self.wait_until(self.now + deadline, key);
        }
        self.trickle.on_change(self.now, &mut self.rng);
    }

    /// What it is about is known: it is wanted, or only kept, or neither.
    fn on_described(&mut self, key: ObjectKey, storage: &mut dyn Storage) {
        let Some(cached) = self.cache.get(key) else { return };
        let Some(description) = cached.description.clone() else { return };
        let (first_heard, index, age) = (cached.first_heard, cached.index, cached.age());
        if description.options.expiry.is_some_and(|expiry| age.at(self.now) >= expiry) {
            self.stats.expired += 1;
            self.session.receiver().cancel(key, storage);
            return self.drop_object(key);
        }
        let Some(log) = self.log(key) else { return };
        let at = point(log, (key, index), age);
        let (wanted, reliable) = self.delivery.wants(&description, key, at);
        if wanted && let Some(deadline) = self.delivery.deadline(Some((&description, at))) {
            self.wait_until(first_heard + deadline, key);
        }
        if !reliable {
            // Taken if it comes, but neither asked nor waited for.
            self.session.receiver().examine(self.now, key, true);
            self.settle(key);
        }
        if !wanted && !self.cache.keeps(key) {
            self.session.receiver().cancel(key, storage);
            self.drop_object(key);
        }
    }

    /// All bytes are here: right ones, unless it is to be looked at first.
    fn on_complete(&mut self, key: ObjectKey, size: u64, storage: &mut dyn Storage) {
        let description = self.cache.get(key).and_then(|cached| cached.description.as_ref());
        let stored = description.filter(|message| message.content.is_none());
        match stored.and_then(|message| message.options.hash).filter(|_| self.config.verifies) {
            Some(hash) => self.events.push_back(Event::Verify { key, size, hash }),
            None => self.on_whole(key, size, storage),
        }
    }

    /// The answer to [`Event::Verify`]: whether the bytes have the hash. Wrong ones are requested
    /// again, a few times.
    pub fn verdict(&mut self, now: Time, key: ObjectKey, right: bool, storage: &mut dyn Storage) {
        self.advance(now);
        let Some(size) = self.cache.get(key).map(|cached| cached.size) else { return };
        if right {
            self.on_whole(key, size, storage);
        } else {
            self.stats.wrong += 1;
            // Wrong symbols may have gone into what is known of others.
            let scope = (key.incarnation(), Class::Symbol);
            self.stats.sums_dropped += self.equations.len(scope) as u64;
            self.equations.forget(scope);
            let tries = self.cache.on_wrong(key);
            if tries > WRONG_MAX || !self.session.receiver().reject(self.now, key, 0, size) {
                self.session.receiver().cancel(key, storage);
                self.on_lost(key);
            }
        }
        self.take_events(storage);
        self.hand_over();
    }

    fn on_whole(&mut self, key: ObjectKey, size: u64, storage: &mut dyn Storage) {
        self.cache.on_whole(self.now, key);
        let info = self.cache.get(key).and_then(|cached| cached.info.as_ref());
        let content = info.map(|info| source_log::content(key.object, fnv::hash(info)));
        if let Some(log) = self.log(key) {
            let index = log.index(key.object);
            log.on_whole(index);
            content.into_iter().for_each(|content| log.set_content(index, content));
        }
        self.events.push_back(Event::Whole { key, size });
        let known = self
            .cache
            .get(key)
            .and_then(|cached| Some((cached.description.clone()?, cached.index, cached.age())));
        if let (Some((message, index, age)), Some(log)) = (known, self.log(key)) {
            let at = point(log, (key, index), age);
            let own = self.is_own(&message);
            let size = message.content.as_ref().map_or(size, |content| content.len() as u64);
            if !own {
                self.delivery.on_message(at, (key, size), &message);
            }
            if message.options.replaces && message.options.tag.is_some() {
                self.replace(key, at.index, storage);
            }
        }
        self.settle(key);
        self.trickle.on_change(self.now, &mut self.rng);
    }

    /// A gateway brought back what this node itself has published.
    fn is_own(&self, message: &Description) -> bool {
        let own = self.own_incarnation();
        message.options.origin.is_some_and(|origin| (origin.node, origin.instance) == own)
    }

    /// Earlier messages of the same publisher, topic and tag are of no use any more.
    fn replace(&mut self, key: ObjectKey, index: u64, storage: &mut dyn Storage) {
        let Some(new) = self.cache.get(key).and_then(|cached| cached.description.as_ref()) else {
            return;
        };
        let mark = Some(new.mark());
        let old = self.cache.of(key).filter(|(_, cached)| {
            let same = cached.description.as_ref().map(Description::mark);
            same == mark && cached.index < index
        });
        let old: Vec<ObjectKey> = old.map(|(other, _)| *other).collect();
        let held = if old.is_empty() { BTreeSet::new() } else { self.delivery.held() };
        for other in old.into_iter().filter(|other| !held.contains(other)) {
            self.session.receiver().cancel(other, storage);
            self.drop_object(other);
        }
    }

    /// It will not come.
    fn on_lost(&mut self, key: ObjectKey) {
        let waited = |log: &mut SourceLog| !log.is_settled(log.index(key.object));
        self.stats.missed += u64::from(self.log(key).is_some_and(waited));
        self.drop_object(key);
        self.hand_over();
    }

    /// Nothing older will come, though `missed` of it were never heard of.
    fn on_missed(&mut self, oldest: ObjectKey, missed: u64) {
        self.stats.missed += missed;
        let Some(log) = self.log(oldest) else { return };
        let index = log.index(oldest.object);
        let first = log.settle_before(index);
        self.delivery.on_settled(oldest.incarnation(), first);
    }

    /// Nothing waits for it any more: it is here, or not wanted.
    pub(super) fn settle(&mut self, key: ObjectKey) {
        let kept = self.cache.get(key).map(|cached| cached.index);
        let index = kept.or_else(|| self.log(key).map(|log| log.index(key.object)));
        if let Some(index) = index {
            self.settle_at(key, index);
        }
    }

    pub(super) fn settle_at(&mut self, key: ObjectKey, index: u64) {
        let Some(log) = self.log(key) else { return };
        let first = log.settle(index);
        self.delivery.on_settled(key.incarnation(), first);
    }

    /// It is neither kept nor waited for.
    fn drop_object(&mut self, key: ObjectKey) {
        self.settle(key);
        let known = self.cache.remove(key).is_some();
        self.repairer.forget(key);
        self.relay.forget(key);
        if known {
            release(&mut self.events, Vec::from([key]));
        }
    }

    /// These are not kept any longer.
    pub(super) fn on_gone(&mut self, gone: Vec<Gone>) {
        for (key, index) in &gone {
            if let Some(log) = self.log(*key) {
                log.on_gone(*index);
            }
            self.repairer.forget(*key);
            self.publisher.on_earlier_gone(*key);
        }
        if !gone.is_empty() {
            self.delivery.forget(&gone.iter().map(|(key, _)| *key).collect());
        }
        release(&mut self.events, gone.into_iter().map(|(key, _)| key).collect());
    }

    /// There are as many publishers as may be: one that the session has no longer in view is dropped.
    fn make_place(&mut self) {
        if self.logs.len() < PUBLISHERS_MAX {
            return;
        }
        let (own, receiver) = (self.own_incarnation(), self.session.receiver());
        let gone = |incarnation: &&Incarnation| {
            **incarnation != own && receiver.summary(**incarnation).is_none()
        };
        let Some(gone) = self.logs.keys().find(gone).copied() else { return };
        self.stats.publishers_dropped += 1;
        self.forget_incarnation(gone);
    }

    /// A message is given up then. Where there are too many such, those whose time is next are not
    /// waited for any longer.
    fn wait_until(&mut self, at: Time, key: ObjectKey) {
        self.give_ups.insert((at, key));
        while self.give_ups.len() > DEADLINES_MAX
            && let Some((_, next)) = self.give_ups.pop_first()
        {
            self.stats.deadlines_dropped += 1;
            self.give_up(next);
        }
    }

    /// Lives of a publisher that the session has no longer in view.
    fn forget_incarnations(&mut self, publisher: NodeId) {
        let (own, receiver) = (self.own_incarnation(), self.session.receiver());
        let all = (publisher, InstanceId(0))..=(publisher, InstanceId(u16::MAX));
        let incarnations = self.logs.range(all).map(|(incarnation, _)| *incarnation);
        let gone = |incarnation: &Incarnation| {
            *incarnation != own && receiver.summary(*incarnation).is_none()
        };
        let gone: Vec<Incarnation> = incarnations.filter(gone).collect();
        gone.into_iter().for_each(|incarnation| self.forget_incarnation(incarnation));
    }

    /// What was published in it can no longer be had. What waits for its turn has it now: nothing comes before it.
    fn forget_incarnation(&mut self, incarnation: Incarnation) {
        let Some(log) = self.logs.remove(&incarnation) else { return };
        self.delivery.on_settled(incarnation, log.newest() + 1);
        self.hand_over();
        for class in [Class::Info, Class::Symbol] {
            self.pools.forget((incarnation, class));
            self.equations.forget((incarnation, class));
            self.kept.forget((incarnation, class));
        }
        let (sender, instance) = incarnation;
        let example = ObjectKey { sender, instance, object: fanfare_proto::ObjectTransportId(0) };
        let old: Vec<ObjectKey> = self.cache.of(example).map(|(key, _)| *key).collect();
        old.into_iter().for_each(|key| self.drop_object(key));
    }

    /// An object of our own can no longer be repaired by us.
    fn on_purged(&mut self, key: ObjectKey) {
        self.publisher.on_purged(key);
        self.proactive.on_gone(key.object.0);
        if let Some(log) = self.log(key) {
            let index = log.index(key.object);
            log.on_gone(index);
            self.holders.forget(index);
            self.round.on_gone(index);
        }
    }
}
