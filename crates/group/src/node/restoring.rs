//! Restores what the process had before a restart: others' messages, and this node's own.

use super::{GroupNode, subscribing::point};
use crate::{
    age::{Age, told},
    description::{ContentHash, Description},
    source_log::SourceLog,
    topic::Topic,
};
use alloc::vec::Vec;
use fanfare_proto::{
    Duration, FirstPass, InstanceId, NewObject, ObjectKey, ObjectKind, ObjectTransportId,
    Retransmission, Storage, Time,
};
use fanfare_wire::Message;

impl GroupNode {
    /// What of a whole message, besides its bytes, [`Self::restore`] needs: the NORM_INFO of its
    /// publisher, as that would send it now. `None` for objects that are no messages.
    pub fn info_message(&mut self, key: ObjectKey, storage: &mut dyn Storage) -> Option<Vec<u8>> {
        let cached = self.cache.get(key).filter(|cached| cached.description.is_some())?;
        let (mut out, content) = (Vec::new(), cached.info.as_ref()?);
        let age = cached.age().at(self.now);
        let receiver = &mut self.session.receiver();
        receiver
            .retransmit(key, Retransmission::Info { content, age }, storage, &mut out)
            .then_some(out)
    }

    /// A message of another publisher whose passage was written in an earlier run of the process, `age`
    /// ago. Its `size` bytes are in storage, which is asked to open it. To be called before
    /// anything is received; for each publisher in the order of its objects. False when it is of no use any more.
    pub fn restore(
        &mut self,
        now: Time,
        info_message: &[u8],
        (size, age): (u64, Duration),
        storage: &mut dyn Storage,
    ) -> bool {
        self.advance(now);
        let Ok(message @ Message::Info(_)) = Message::parse(info_message) else { return false };
        let Message::Info(info) = &message else { return false };
        let (sender, instance) = (info.sender.source_id, info.sender.instance_id);
        let key = ObjectKey { sender, instance, object: info.object_transport_id };
        self.told = Some((key, told(&info.extensions, 0) + age));
        let is_message = Description::decode(info.payload).is_some();
        if !is_message || !self.session.receiver().accept(self.now, &message, storage) {
            return false;
        }
        self.take_events(storage);
        self.session.receiver().have(key, 0, size, storage);
        self.take_events(storage);
        self.cache.was_heard(key, age);
        self.cache.get(key).is_some()
    }

    /// A message of this node's own from before a restart, under the same instance id, published `age`
    /// ago. Its `size` bytes must be readable through the storage, as after [`Self::publish`]. In the order of
    /// their objects, before anything is published. False when it is none, or finds no room.
    pub fn restore_own(
        &mut self,
        now: Time,
        object: ObjectTransportId,
        (info, size, age): (Vec<u8>, u64, Duration),
    ) -> bool {
        self.advance(now);
        let Some(message) = Description::decode(&info) else { return false };
        let mut sender = self.session.sender();
        sender.resume_at(object);
        let (kind, info, pass) = (ObjectKind::Data, Some(info), FirstPass::Before(age));
        let Ok(key) = sender.enqueue(self.now, NewObject { kind, size, info, pass }) else {
            return false;
        };
        let bytes = message.content.as_ref().map_or(size, |content| content.len() as u64);
        let age = Age { heard: self.now, then: age };
        self.publisher.on_published(&message, (key, bytes), age);
        let log = self.logs.entry(key.incarnation());
        let log = log.or_insert_with(|| SourceLog::new(key.object, 0));
        let index = log.on_heard(key.object);
        log.on_whole(index);
        log.settle(index);
        if self.config.hears_itself {
            let at = point(log, (key, index), age);
            self.delivery.on_settled(at.source, log.first_unsettled());
        }
        true
    }

    /// Continues where an earlier run stopped, under the same instance id: with this object next, and
    /// with these numbers on these topics. After the last [`Self::restore_own`].
    pub fn resume(&mut self, next: ObjectTransportId, numbers: impl Iterator<Item = (Topic, u64)>) {
        self.session.sender().resume_at(next);
        self.publisher.resume(numbers);
    }

    /// Which instance of this node's sender this is.
    #[must_use]
    pub fn instance(&self) -> InstanceId {
        self.fields.instance_id
    }

    /// A message of this node's own that can still be repaired.
    #[must_use]
    pub fn own(&self, key: ObjectKey) -> Option<&Description> {
        self.publisher.get(key).map(|own| &own.message)
    }

    /// The hash that another's message says that its bytes have.
    #[must_use]
    pub fn hash(&self, key: ObjectKey) -> Option<ContentHash> {
        self.cache.get(key)?.description.as_ref()?.options.hash
    }
}
