//! How a stream is sent, and how it is received.

use std::time::Duration;

use fanfare_proto::StreamPolicy;

use super::{audience::Expect, framing::Framing};

/// When bytes go that do not fill a symbol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Flush {
    /// As soon as nothing else is to be sent: at once when the sender is idle, full symbols while it
    /// is busy.
    #[default]
    Idle,
    /// So long after the first of them was written.
    After(Duration),
    /// When the application says so, and at the end.
    Asked,
}

/// How a stream is sent.
#[derive(Debug, Clone)]
pub struct SendOptions {
    /// Who is waited for before the first byte goes, and until the end. Default nobody.
    pub expect: Expect,
    /// What gives way when there is no room. Default [`StreamPolicy::Repaired`].
    pub policy: StreamPolicy,
    /// Bytes that can be repaired. The sender keeps twice as much. Default 8 MiB.
    pub buffer: u64,
    /// When bytes go that do not fill a symbol.
    pub flush: Flush,
    /// How messages are told apart. Default not at all.
    pub framing: Framing,
    /// What is older is neither sent nor repaired. Default any age is good.
    pub lifetime: Option<Duration>,
    /// How long is waited for receivers to come, and for those that fall silent later. Default 30 s.
    pub wait: Duration,
    /// Hash what is sent, so that receipts can be compared with it. Default true.
    pub hash: bool,
}

impl Default for SendOptions {
    fn default() -> Self {
        Self {
            expect: Expect::Nobody,
            policy: StreamPolicy::Repaired,
            buffer: 8 << 20,
            flush: Flush::default(),
            framing: Framing::Raw,
            lifetime: None,
            wait: Duration::from_secs(30),
            hash: true,
        }
    }
}

/// Where a receiver begins with a stream that is under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Start {
    /// With the earliest that the sender can still repair.
    #[default]
    Earliest,
    /// With what is sent now.
    Now,
}

/// How a stream is received.
#[derive(Debug, Clone)]
pub struct ReceiveOptions {
    /// What this receiver is called.
    pub name: String,
    /// Where to begin.
    pub start: Start,
    /// How messages are told apart, where the sender does not say.
    pub framing: Framing,
    /// Give each message as soon as all of it is here, in whatever order: [`StreamReceiver::read_message`]
    /// does not wait for what is missing before it. Default false.
    ///
    /// [`StreamReceiver::read_message`]: super::StreamReceiver::read_message
    pub unordered: bool,
    /// Bytes that wait to be read beside the stream's own memory. Default 1 MiB.
    pub waiting: usize,
    /// How long a gap may hold back what is here behind it. Default what the sender says, or for ever.
    pub lifetime: Option<Duration>,
    /// Longest message taken. Default 64 MiB.
    pub message_max: usize,
    /// Hash what arrives, for the receipt. Default true.
    pub hash: bool,
}

impl Default for ReceiveOptions {
    fn default() -> Self {
        Self {
            name: String::new(),
            start: Start::Earliest,
            framing: Framing::Raw,
            unordered: false,
            waiting: 1 << 20,
            lifetime: None,
            message_max: 64 << 20,
            hash: true,
        }
    }
}
