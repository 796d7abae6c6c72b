//! What a stream came to, and what happened meanwhile.

use std::{net::SocketAddr, time::Duration};

use fanfare_proto::{Bitrate, NodeId, Stats, StreamProgress};

use super::receipt::Receipt;
use crate::engine::Trouble;

/// What is told while a stream runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StreamEvent {
    /// Sending: a receiver has answered the roll call.
    Receiver {
        /// Which.
        node: NodeId,
        /// What it is called.
        name: String,
    },
    /// Sending: all that were waited for are there, or the time for it is over; so many are.
    Started {
        /// Receivers that count.
        receivers: usize,
    },
    /// Sending: nothing goes on since receivers have not read; those that keep all others waiting.
    Stalled {
        /// By name.
        receivers: Vec<String>,
    },
    /// Sending: it goes on.
    Resumed,
    /// Sending: a receiver has left.
    Left {
        /// Which.
        node: NodeId,
        /// What it is called.
        name: String,
    },
    /// Sending: a receiver reads the stream of another sender, and does not count.
    Taken {
        /// Node of the receiver.
        node: NodeId,
        /// Name of the receiver.
        name: String,
        /// Sender whose stream it reads.
        by: NodeId,
    },
    /// Sending: a receiver was silent for too long, and does not count any more.
    GivenUp {
        /// Which.
        node: NodeId,
        /// What it is called.
        name: String,
    },
    /// Receiving: a stream has begun.
    Begun {
        /// Whose.
        sender: NodeId,
        /// From there.
        source: Option<SocketAddr>,
    },
    /// Of the machine.
    Trouble(Trouble),
}

impl From<Trouble> for StreamEvent {
    fn from(trouble: Trouble) -> Self {
        Self::Trouble(trouble)
    }
}

/// How it stands with a stream that is being sent.
#[derive(Debug, Clone, Default)]
pub struct SendStatus {
    /// How far it has come.
    pub progress: StreamProgress,
    /// Receivers that count.
    pub receivers: usize,
    /// Since when it has been waiting for them to read.
    pub stalled: Option<Duration>,
    /// What is sent at present.
    pub rate: Bitrate,
}

/// What a receiver that counts came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It has every byte, and says so; a receiver that is none of ours has acknowledged everything and
    /// says nothing of it.
    Whole(Option<Receipt>),
    /// It has told what it lacks.
    Gaps(Receipt),
    /// It has something else than was sent.
    Differs(Receipt),
    /// It has left before the end.
    Left,
    /// It has fallen silent.
    Silent,
    /// It reads the stream of another sender.
    Taken,
}

/// What sending a stream came to.
#[derive(Debug, Clone, Default)]
pub struct SendReport {
    /// Bytes of the stream.
    pub bytes: u64,
    /// Receivers that count, by name, and what each came to.
    pub receivers: Vec<(NodeId, String, Outcome)>,
    /// Receivers that were expected and did not come, by name where names were expected.
    pub missing: Vec<String>,
    /// Messages that were too old to be sent.
    pub expired: u64,
    /// Counters of the session.
    pub stats: Stats,
}

impl SendReport {
    /// Receivers that have every byte.
    #[must_use]
    pub fn whole(&self) -> usize {
        let whole = |outcome: &Outcome| matches!(outcome, Outcome::Whole(_));
        self.receivers.iter().filter(|(_, _, outcome)| whole(outcome)).count()
    }

    /// The same, where the hash of what was written is known.
    pub(super) fn compared(mut self, hash: Option<[u8; 32]>) -> Self {
        let Some(hash) = hash else { return self };
        for (_, _, outcome) in &mut self.receivers {
            match outcome {
                Outcome::Whole(Some(receipt))
                    if receipt.hash != [0; 32] && receipt.hash != hash =>
                {
                    *outcome = Outcome::Differs(*receipt);
                }
                _ => {}
            }
        }
        self
    }

    /// Whether every receiver that counts has every byte, and nobody is missing.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.missing.is_empty() && self.whole() == self.receivers.len()
    }
}

/// What receiving a stream came to.
#[derive(Debug, Clone, Default)]
pub struct ReceiveReport {
    /// What the sender was told, if the stream has ended.
    pub receipt: Option<Receipt>,
    /// Counters of the session.
    pub stats: Stats,
    /// Datagrams that the system has dropped because they were not read in time.
    pub overruns: u64,
}
