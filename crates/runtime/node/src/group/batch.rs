//! Messages that travelled together, as an application takes them; and events with each message alone.

use std::{
    cell::RefCell,
    collections::VecDeque,
    ops::Range,
    sync::mpsc::{Receiver, RecvTimeoutError},
    time::Duration,
};

use fanfare_messaging::{Description, SubscriptionId, batch};
use fanfare_proto::ObjectKey;

use super::{
    body::Body,
    event::{GroupEvent, Message},
    gate::Permit,
};

/// Messages of one publisher and topic that travelled together, for a subscription.
#[derive(Debug, Clone)]
pub struct MessageBatch {
    /// Of which subscription.
    pub subscription: SubscriptionId,
    /// Their object.
    pub key: ObjectKey,
    /// What it says of them: topic, options, and the number of the first.
    pub description: Description,
    /// How long before this they were first heard of.
    pub age: Duration,
    pub(crate) members: Range<u32>,
    pub(crate) body: Body,
    pub(crate) permit: Permit,
}

impl MessageBatch {
    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// The bytes of each, in the order of publication, with its number on the topic.
    pub fn iter(&self) -> impl Iterator<Item = (u64, &[u8])> {
        let Range { start, end } = self.members;
        let all = batch::messages(self.body.bytes().unwrap_or_default());
        let numbers = self.description.number..;
        numbers.zip(all).skip(start as usize).take((end - start) as usize)
    }

    /// Each as a message of its own.
    pub fn messages(&self) -> impl Iterator<Item = Message> {
        self.iter().zip(self.members.clone()).map(|((_, bytes), member)| Message {
            subscription: self.subscription,
            key: self.key,
            description: self.description.member(member),
            body: Body::new(bytes.to_vec()),
            age: self.age,
            permit: self.permit.clone(),
        })
    }
}

/// The events of a member: each message comes alone, or with those that it travelled with.
#[derive(Debug)]
pub struct GroupEvents {
    channel: Receiver<GroupEvent>,
    /// Of the batch that came last.
    rest: RefCell<VecDeque<Message>>,
}

impl GroupEvents {
    pub(crate) fn new(channel: Receiver<GroupEvent>) -> Self {
        Self { channel, rest: RefCell::default() }
    }

    /// The next event, however long that takes.
    ///
    /// # Errors
    /// The member has ended and everything was told.
    pub fn recv(&self) -> Result<GroupEvent, RecvTimeoutError> {
        self.next_alone(|| self.channel.recv().map_err(|_| RecvTimeoutError::Disconnected))
    }

    /// The next event; waits for it.
    ///
    /// # Errors
    /// Nothing came in time, or the member has ended and everything was told.
    pub fn next_event(&self, timeout: Duration) -> Result<GroupEvent, RecvTimeoutError> {
        self.next_alone(|| self.channel.recv_timeout(timeout))
    }

    /// The same; messages that travelled together come as one event, [`GroupEvent::Batch`].
    ///
    /// # Errors
    /// As [`Self::next_event`].
    pub fn next_batch(&self, timeout: Duration) -> Result<GroupEvent, RecvTimeoutError> {
        match self.rest() {
            Some(message) => Ok(message),
            None => self.channel.recv_timeout(timeout),
        }
    }

    /// All events until the member ends, each as it comes.
    pub fn iter(&self) -> impl Iterator<Item = GroupEvent> {
        std::iter::from_fn(|| self.recv().ok())
    }

    fn rest(&self) -> Option<GroupEvent> {
        let message = self.rest.borrow_mut().pop_front()?;
        Some(GroupEvent::Message(Box::new(message)))
    }

    fn next_alone(
        &self,
        next: impl Fn() -> Result<GroupEvent, RecvTimeoutError>,
    ) -> Result<GroupEvent, RecvTimeoutError> {
        loop {
            if let Some(message) = self.rest() {
                return Ok(message);
            }
            match next()? {
                GroupEvent::Batch(batch) => self.rest.borrow_mut().extend(batch.messages()),
                event => return Ok(event),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::sync_channel;

    use fanfare_messaging::{Options, Topic};
    use fanfare_proto::{InstanceId, NodeId, ObjectTransportId};

    use super::*;
    use crate::{group::gate::Gate, waker::Waker};

    fn three(members: Range<u32>) -> GroupEvent {
        let (topic, options) = (Topic::new("a").unwrap(), Options::default());
        let mut content = Vec::new();
        ["one", "two", "three"]
            .iter()
            .for_each(|text| batch::append(text.as_bytes(), &mut content));
        let object = ObjectTransportId(1);
        GroupEvent::Batch(Box::new(MessageBatch {
            subscription: SubscriptionId(1),
            key: ObjectKey { sender: NodeId(1), instance: InstanceId(1), object },
            description: Description { topic, number: 7, options, batch: Some(3), content: None },
            age: Duration::ZERO,
            members,
            body: Body::new(content),
            permit: Gate::new(Waker::new().unwrap()).enter(0).unwrap(),
        }))
    }

    #[test]
    fn messages_that_travelled_together_come_alone_unless_they_are_wanted_together() {
        let (sender, channel) = sync_channel(4);
        let events = GroupEvents::new(channel);
        sender.send(three(0..3)).unwrap();
        sender.send(three(2..3)).unwrap();
        let text = |event: GroupEvent| match event {
            GroupEvent::Message(message) => {
                let text = String::from_utf8(message.body.to_vec().unwrap()).unwrap();
                (message.description.number, text)
            }
            other => panic!("{other:?}"),
        };
        assert_eq!(text(events.next_event(Duration::ZERO).unwrap()), (7, "one".to_owned()));
        assert_eq!(text(events.next_batch(Duration::ZERO).unwrap()), (8, "two".to_owned()));
        assert_eq!(text(events.next_event(Duration::ZERO).unwrap()), (9, "three".to_owned()));
        let Ok(GroupEvent::Batch(last)) = events.next_batch(Duration::ZERO) else { panic!() };
        assert_eq!((last.len(), last.iter().collect::<Vec<_>>()), (1, vec![(9, &b"three"[..])]));
    }
}
