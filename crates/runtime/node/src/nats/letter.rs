//! What the bridge hears: of NATS, and of its member of the group.

use std::{
    fmt,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use crate::{
    QueuePlace,
    group::{GroupError, GroupEvent},
};
use async_nats::{Message, jetstream};

use crate::nats::{
    error::NatsError,
    mark::{ID, SITE},
};

/// A message of NATS.
#[derive(Debug)]
pub(crate) struct Letter {
    pub(crate) subject: String,
    pub(crate) content: Vec<u8>,
    pub(crate) id: Option<String>,
    pub(crate) site: Option<String>,
    /// How long ago the stream took it.
    pub(crate) age: Duration,
    /// To be told when the group has it.
    pub(crate) receipt: Option<Receipt>,
    /// Its place among what waits for the group.
    pub(crate) place: QueuePlace,
}

/// By which a stream knows that a message has arrived.
pub(crate) struct Receipt(pub(crate) Box<jetstream::message::Acker>);

impl fmt::Debug for Receipt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Receipt")
    }
}

/// Receipt and place of a message on its way into the group.
#[derive(Debug)]
pub(crate) struct LetterToken {
    pub(crate) receipt: Option<Receipt>,
    #[expect(dead_code, reason = "what counts is when it is dropped")]
    pub(crate) place: QueuePlace,
}

/// What the bridge hears.
#[derive(Debug)]
pub(crate) enum Told {
    Group(GroupEvent),
    /// The member has ended.
    GroupEnded,
    Letter(Letter),
    /// A letter was published, or was not.
    Published(LetterToken, Result<(), GroupError>),
    /// There is room for what waits for NATS, again.
    Room,
    /// Whether a server is there.
    Connected(bool),
    /// This has not been taken, and will not be.
    Refused {
        subject: String,
        why: String,
    },
    /// So many bytes are more than the server takes.
    TooLong {
        bytes: usize,
        max: usize,
    },
    /// This is refused for now.
    Trouble(String),
    /// There will be no more.
    Ended(NatsError),
}

impl Letter {
    /// What is of use of a message.
    pub(crate) fn of(message: Message, place: QueuePlace) -> Self {
        let header = |name: &str| {
            let value = message.headers.as_ref().and_then(|headers| headers.get(name));
            value.map(|value| value.as_str().to_owned())
        };
        Self {
            id: header(ID),
            site: header(SITE),
            subject: message.subject.to_string(),
            content: message.payload.to_vec(),
            age: Duration::ZERO,
            receipt: None,
            place,
        }
    }
}

/// How long ago that was, by this machine's clock.
pub(crate) fn age(published_ns: i128) -> Duration {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
    let now = i128::try_from(now).unwrap_or(i128::MAX);
    Duration::from_nanos(u64::try_from((now - published_ns).max(0)).unwrap_or(u64::MAX))
}
