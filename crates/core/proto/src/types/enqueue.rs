//! An object that the application hands over for sending, and the reasons to refuse it.

use crate::types::{storage::ObjectKind, time::Duration};
use alloc::vec::Vec;

/// How an object is sent for the first time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FirstPass {
    /// All of it, from the start.
    #[default]
    Whole,
    /// All of it, with so many proactive parity symbols for each block in addition to those of the
    /// configuration.
    WithParity(u16),
    /// All of it, from the start, and somebody waits for it: what comes after it depends on it. When
    /// nothing else is to be sent, and the loss makes that worth it, it is followed by a copy of an
    /// object of one symbol, or by parity of a longer one.
    Awaited,
    /// Only its NORM_INFO (an empty one if it has none). Everything else is sent on request. This
    /// is for receivers that have most of the object from an earlier transfer. A receiver that has
    /// nothing waits one NACK cycle longer, and two if it missed the INFO.
    OnDemand,
    /// Nothing. The process sent all of it before a restart, under the same instance id and object
    /// id (`SenderHandle::resume_at`); it was enqueued so long ago. It is sent on request.
    Before(Duration),
}

/// How an object takes turns with others that were enqueued with a turn. One of a higher priority
/// overtakes. So does one that is much shorter than what is left of another of its priority, but in
/// another lane. Who is overtaken still has a part of the rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Turn {
    /// Higher goes first.
    pub priority: u8,
    /// Objects of one lane and one priority keep their order.
    pub lane: u64,
}

/// An object to be sent.
#[derive(Debug, Clone)]
pub struct NewObject {
    /// What kind.
    pub kind: ObjectKind,
    /// Bytes; zero is legal.
    pub size: u64,
    /// NORM_INFO; at most one segment. `None` sends no INFO.
    pub info: Option<Vec<u8>>,
    /// What is sent without a request.
    pub pass: FirstPass,
}

/// Why an object was not taken.
#[allow(missing_docs, reason = "each variant's doc names its fields")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EnqueueError {
    /// The session does not send.
    NotASender,
    /// It is about to say good-bye.
    Closed,
    /// The object needs more than 48 bits of size, or more blocks than can be numbered.
    TooLarge { size: u64, max: u64 },
    /// INFO is longer than a segment.
    InfoTooLong { bytes: usize, max: usize },
    /// The cache is full of objects that are still being sent or repaired. Try again after an
    /// [`crate::types::event::Event::ObjectPurged`].
    CacheFull { objects: usize },
    /// The store has no room for a stream with such a buffer, or has no streams at all.
    NoRing { buffer: u64 },
}

impl core::fmt::Display for EnqueueError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::NotASender => write!(f, "this session has no sender"),
            Self::Closed => write!(f, "this sender has been told to say good-bye"),
            Self::TooLarge { size, max } => write!(f, "object of {size} bytes, at most {max} fit"),
            Self::InfoTooLong { bytes, max } => {
                write!(f, "info of {bytes} bytes, one segment holds {max}")
            }
            Self::NoRing { buffer } => {
                write!(f, "no room for a stream with a buffer of {buffer} bytes")
            }
            Self::CacheFull { objects } => write!(f, "{objects} objects are still in transit"),
        }
    }
}

impl core::error::Error for EnqueueError {}
