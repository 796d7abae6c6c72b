//! Messages on their way to applications: with their bytes, as many as are taken.

use fanfare_messaging::{Delivered, batch};

use super::{
    batch::MessageBatch,
    body::{Body, Content},
    engine::GroupEngine,
    event::{Gap, GroupEvent, Message},
    gate::Permit,
    handover::Next,
};
use crate::outbox::Outbox;

impl GroupEngine {
    /// Gives applications what has waited for them, as far as there is room.
    pub(super) fn hand_over(&mut self, outbox: &mut Outbox<GroupEvent>) {
        while outbox.has_room()
            && let Some(next) = self.handover.poll()
        {
            match next {
                Next::Dropped { subscription, messages, permit } => {
                    outbox.push(GroupEvent::Dropped(Gap { subscription, messages, permit }));
                }
                Next::Message { subscription, what: (key, size, members), permit } => {
                    match self.node.message(key).cloned() {
                        Some(description) => {
                            let delivered =
                                Delivered { subscription, key, size, description, members };
                            self.give(delivered, permit, outbox);
                        }
                        None => {
                            self.handover.on_unreadable(subscription, members.len() as u64);
                        }
                    }
                }
            }
        }
    }

    pub(super) fn give(
        &mut self,
        delivered: Delivered,
        permit: Permit,
        outbox: &mut Outbox<GroupEvent>,
    ) {
        let (subscription, messages) = (delivered.subscription, delivered.members.len() as u64);
        let given = match delivered.description.batch {
            Some(_) => self.batch(delivered, permit).map(Box::new).map(GroupEvent::Batch),
            None => self.message(delivered, permit).map(Box::new).map(GroupEvent::Message),
        };
        match given {
            Some(event) => outbox.push(event),
            None => self.handover.on_unreadable(subscription, messages),
        }
    }

    /// Messages that travelled together; `None` when their bytes are gone, or are not what their
    /// publisher says.
    fn batch(&self, delivered: Delivered, permit: Permit) -> Option<MessageBatch> {
        let Delivered { subscription, key, mut description, members, .. } = delivered;
        let body = match description.content.take() {
            Some(bytes) => Body::new(bytes),
            None => match self.store.get(key)?.clone() {
                content @ Content::Memory(_) => Body::of(content),
                Content::File(_) => return None,
            },
        };
        let age = self.node.age(key);
        let holds = |bytes| batch::holds(bytes, description.messages());
        let readable = body.bytes().is_some_and(holds);
        let batch = MessageBatch { subscription, key, description, age, members, body, permit };
        readable.then_some(batch)
    }

    /// With its bytes; `None` when they are gone.
    fn message(&self, delivered: Delivered, permit: Permit) -> Option<Message> {
        let Delivered { subscription, key, size, mut description, .. } = delivered;
        let body = match description.content.take() {
            Some(bytes) => Body::new(bytes),
            None => {
                let content = self.store.get(key)?.clone();
                let hash = description.options.hash;
                let hash = hash.map_or_else(|| content.hash().ok(), Some)?;
                Body::known(content, size, hash)
            }
        };
        let age = self.node.age(key);
        Some(Message { subscription, key, description, body, age, permit })
    }
}
