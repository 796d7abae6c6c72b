//! A member of a group: messages that are published and received.

use std::{
    sync::{Mutex, MutexGuard, PoisonError, mpsc::RecvTimeoutError},
    time::Duration,
};

use fanfare::{
    Group, GroupEvent,
    groups::{
        self, Body, GroupEvents, GroupHandle, MessageSender, Options as Publication, Topic, Watch,
    },
};

use crate::{
    error::Error,
    files::left_of,
    options::{Options, Purpose},
    wait::Wait,
};

/// A message that has come.
#[derive(Debug, Clone, PartialEq)]
pub struct Message {
    /// Its topic.
    pub topic: String,
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// Who has published it.
    pub publisher: u32,
    /// The publisher's count of its messages on that topic, from 0.
    pub number: u64,
    /// For which subscription.
    pub subscription: u32,
    /// How long ago it was first heard of.
    pub age: Duration,
}

/// What comes to a subscriber.
#[derive(Debug, Clone, PartialEq)]
pub enum Arrival {
    /// A message.
    Message(Message),
    /// So many messages, or events, are lost for this program.
    Lost(u64),
    /// Another member was heard.
    Joined(u32),
    /// It is not heard any more.
    Left(u32),
}

/// How another member stands to a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// It has all of it.
    Holds,
    /// It does not have all of it, and asks for it.
    Lacks,
    /// It does not want it.
    Unwanted,
}

/// What is new of an own message with receipts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fate {
    /// What publishing it gave.
    pub message: u32,
    /// It has been sent once.
    pub sent: bool,
    /// It can no longer be repaired. Nothing more is told of it.
    pub gone: bool,
    /// Members that say something else than before.
    pub standings: Vec<(u32, Standing)>,
}

/// A member of a group, with a thread of its own. Dropping it leaves the group.
#[derive(Debug)]
pub struct Member {
    group: Mutex<Option<Group>>,
    handle: GroupHandle,
    events: Mutex<GroupEvents>,
}

/// Publishes many messages on one topic, fast.
#[derive(Debug, Clone)]
pub struct Publisher(MessageSender);

fn ended() -> Error {
    Error::ended("group")
}

/// An object's number alone comes again after 65,536 of them: with the instance it is one of this member's
/// life.
fn number(key: groups::ObjectKey) -> u32 {
    u32::from(key.instance.0) << 16 | u32::from(key.object.0)
}

impl Member {
    /// Takes part in a group.
    ///
    /// # Errors
    /// An option that cannot be; what this machine refuses.
    pub fn join(group: &str, options: &Options) -> Result<Self, Error> {
        let network = options.network(group, Purpose::Join)?;
        let mut group = network.join(options.member())?;
        let (handle, events) = (group.handle(), group.take_events().ok_or_else(ended)?);
        Ok(Self { group: Mutex::new(Some(group)), handle, events: Mutex::new(events) })
    }

    fn events(&self) -> MutexGuard<'_, GroupEvents> {
        self.events.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Its id in the group.
    #[must_use]
    pub fn node(&self) -> u32 {
        self.handle.id().0
    }

    /// Asks for the messages on some topics; gives the subscription's number.
    ///
    /// # Errors
    /// Topics or options that cannot be; the member has ended.
    pub fn subscribe(&self, topics: &str, options: &Options) -> Result<u32, Error> {
        Ok(self.handle.subscribe(options.subscription(topics)?)?.0)
    }

    /// Ends a subscription; false when there is none of that number.
    ///
    /// # Errors
    /// The member has ended.
    pub fn unsubscribe(&self, subscription: u32) -> Result<bool, Error> {
        Ok(self.handle.unsubscribe(groups::SubscriptionId(subscription))?)
    }

    /// Publishes a message; waits while too many are on their way. Gives its number.
    ///
    /// # Errors
    /// A topic or an option that cannot be; it is too long; the member has ended.
    pub fn publish(&self, topic: &str, bytes: Vec<u8>, options: &Options) -> Result<u32, Error> {
        let (publication, watch) = options.publication()?;
        let topic = Topic::new(topic)?;
        Ok(number(self.handle.publish(topic, Body::new(bytes), publication, watch)?))
    }

    /// For many messages on a topic.
    ///
    /// # Errors
    /// A topic or an option that cannot be.
    pub fn publisher(&self, topic: &str, options: &Options) -> Result<Publisher, Error> {
        let (publication, watch): (Publication, Watch) = options.publication()?;
        Ok(Publisher(self.handle.sender(Topic::new(topic)?, publication, watch)))
    }

    /// Withdraws own messages with this tag, as far as they still wait or can be repaired; gives their
    /// number.
    ///
    /// # Errors
    /// The member has ended.
    pub fn cancel(&self, tag: u64) -> Result<u64, Error> {
        Ok(self.handle.cancel(tag)? as u64)
    }

    /// What comes next.
    ///
    /// # Errors
    /// Nothing has in time; the member has ended.
    pub fn next(&self, wait: Wait) -> Result<Arrival, Error> {
        let events = self.events();
        let deadline = wait.deadline();
        let found = wait.run(|time| {
            let mut left = time;
            loop {
                match events.next_event(left) {
                    Ok(event) => match arrival(event) {
                        Some(arrival) => return Some(arrival),
                        None => left = left_of(deadline, time),
                    },
                    Err(RecvTimeoutError::Timeout) => return None,
                    Err(RecvTimeoutError::Disconnected) => return Some(Err(ended())),
                }
            }
        });
        found.unwrap_or_else(|| Err(Error::timeout()))
    }

    /// What is new of own messages with receipts. Members are asked to say so soon.
    ///
    /// # Errors
    /// The member has ended.
    pub fn receipts(&self) -> Result<Vec<Fate>, Error> {
        let fates = self.handle.fates()?;
        self.handle.ask_standings()?;
        let standing = |standing| match standing {
            groups::Standing::Holds => Standing::Holds,
            groups::Standing::Lacks => Standing::Lacks,
            groups::Standing::Unwanted => Standing::Unwanted,
        };
        let fate = |fate: groups::Fate| Fate {
            message: number(fate.key),
            sent: fate.sent,
            gone: fate.gone,
            standings: fate.standings.iter().map(|(node, how)| (node.0, standing(*how))).collect(),
        };
        Ok(fates.into_iter().map(fate).collect())
    }

    /// Says good-bye, and ends; waits for it.
    ///
    /// # Errors
    /// It was asked already.
    pub fn leave(&self) -> Result<(), Error> {
        let group = self.group.lock().unwrap_or_else(PoisonError::into_inner).take();
        let _ = group.ok_or_else(ended)?.leave();
        Ok(())
    }

    /// Asks it to end, from any thread.
    pub fn stop(&self) {
        self.handle.stopper().stop();
    }
}

fn arrival(event: GroupEvent) -> Option<Result<Arrival, Error>> {
    Some(Ok(match event {
        GroupEvent::Message(message) => {
            let bytes = match message.body.to_vec() {
                Ok(bytes) => bytes,
                Err(error) => {
                    let text = format!("message: cannot be read from the cache ({error})");
                    return Some(Err(Error::failed(text)));
                }
            };
            Arrival::Message(Message {
                topic: message.description.topic.to_string(),
                bytes,
                publisher: publisher(&message),
                number: message.description.number,
                subscription: message.subscription.0,
                age: message.age,
            })
        }
        GroupEvent::Dropped(gap) => Arrival::Lost(gap.messages),
        GroupEvent::Lost { .. } => Arrival::Lost(1),
        GroupEvent::Overrun { lost } => Arrival::Lost(lost),
        GroupEvent::Joined { node } => Arrival::Joined(node.0),
        GroupEvent::Left { node } => Arrival::Left(node.0),
        _ => return None,
    }))
}

/// Who published it first, also where a gateway has brought it.
fn publisher(message: &groups::Message) -> u32 {
    message.description.identity(message.key).node.0
}

impl Publisher {
    /// Publishes a message. Those published close together travel together.
    ///
    /// # Errors
    /// It is too long; the member has ended.
    pub fn send(&self, bytes: &[u8]) -> Result<(), Error> {
        Ok(self.0.send(bytes)?)
    }

    /// Waits until all of them are on their way.
    ///
    /// # Errors
    /// The member has ended.
    pub fn flush(&self) -> Result<(), Error> {
        Ok(self.0.flush()?)
    }
}
