//! Messages between the two ends: four classes, tags, replacing, priorities, deadlines.
//!
//! - `head`: what stands before a message's bytes
//! - [`outbox`]: what is to be sent, in which order, and until when
//! - [`inbox`]: once each, in order where that was asked for; [`parts`]: messages longer than a packet
//! - [`counts`]: statistics by class and tag
//!
//! None of them has a clock or a socket. `carrier` moves messages over a QUIC connection: each
//! reliable one has a stream of its own, the others are datagrams.

pub(crate) mod carrier;
pub mod counts;
pub mod head;
pub mod inbox;
pub mod outbox;
pub mod parts;

use std::{fmt, str::FromStr, time::Duration};

/// Largest message, bytes: a reliable one is held in memory at both ends.
pub const SIZE_MAX: usize = 16 << 20;

/// What is promised of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// It arrives, after all that were sent before it.
    ReliableSequenced,
    /// It arrives.
    ReliableUnsequenced,
    /// It may be lost; it does not arrive after a later one.
    UnreliableSequenced,
    /// It may be lost.
    UnreliableUnsequenced,
}

impl Class {
    /// All of them.
    pub const ALL: [Self; 4] = [
        Self::ReliableSequenced,
        Self::ReliableUnsequenced,
        Self::UnreliableSequenced,
        Self::UnreliableUnsequenced,
    ];

    /// Lost ones are sent again.
    #[must_use]
    pub const fn is_reliable(self) -> bool {
        matches!(self, Self::ReliableSequenced | Self::ReliableUnsequenced)
    }

    /// They arrive in order.
    #[must_use]
    pub const fn is_sequenced(self) -> bool {
        matches!(self, Self::ReliableSequenced | Self::UnreliableSequenced)
    }

    /// As it is written: `rs`, `ru`, `us` or `uu`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::ReliableSequenced => "rs",
            Self::ReliableUnsequenced => "ru",
            Self::UnreliableSequenced => "us",
            Self::UnreliableUnsequenced => "uu",
        }
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Class {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let class = Self::ALL.into_iter().find(|class| class.name() == text);
        class.ok_or("a class is rs, ru, us or uu")
    }
}

/// How one message is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Options {
    /// Higher ones go first.
    pub priority: u8,
    /// Names a kind of message; zero is none.
    pub tag: u64,
    /// Earlier messages of this tag are of no use any more.
    pub replace: bool,
    /// It is of no use after so long: no more retries.
    pub deadline: Option<Duration>,
    /// It may go with the first packet of a connection ([`early`](crate::early)). Whoever has this
    /// end's ticket and a copy of that packet can read it, later, too.
    pub early: bool,
}

/// A message that has arrived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Its number at its sender, from 1.
    pub number: u64,
    /// Its class.
    pub class: Class,
    /// Its tag, or zero.
    pub tag: u64,
    /// What was sent.
    pub bytes: Vec<u8>,
}

/// Why a message is not taken for sending.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SendError {
    /// It is too long: an unreliable one has at most so many bytes.
    TooLong(usize),
    /// Too much waits already.
    Full,
    /// The link has ended.
    Closed,
}

impl fmt::Display for SendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong(max) => write!(f, "the message is longer than {max} bytes"),
            Self::Full => f.write_str("too many messages are waiting to be sent"),
            Self::Closed => f.write_str("the link has ended"),
        }
    }
}

impl std::error::Error for SendError {}
