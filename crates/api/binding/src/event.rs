//! What happens meanwhile, in plain values.

use std::time::Duration;

use fanfare::{
    TransferEvent,
    files::{ReceiveEvent, SendEvent},
    stream::{StreamEvent, Trouble},
};

/// What has happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum EventKind {
    /// A receiver has answered: `name`, `node`.
    Receiver,
    /// Receivers are waited for: `count` of `total` are there; `text` names those that are missing.
    Waiting,
    /// Sending begins, to `count` receivers.
    Started,
    /// So many `bytes` of `total` are through.
    #[default]
    Progress,
    /// The file `name` of `bytes` has been sent once.
    Sent,
    /// The receiver `name` has the file `text`: whole, verified, and on its disk; `bytes`, `hash`,
    /// `seconds`.
    Receipt,
    /// The file `name` did not arrive; `text` says why. `node` is the receiver, at a sender.
    Failed,
    /// A sender was heard: `node`; `text` is its address.
    Sender,
    /// The file `name` is in its place; `bytes`, `hash`, `seconds`.
    File,
    /// A sender is gone: `node`.
    SenderGone,
    /// The receivers that `text` names keep all others waiting.
    Stalled,
    /// It goes on.
    Resumed,
    /// A receiver has left: `name`, `node`.
    Left,
    /// A receiver was silent for too long: `name`, `node`.
    GivenUp,
    /// This machine or its network has a difficulty; `text` says which.
    Trouble,
}

impl EventKind {
    /// In a word.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Receiver => "receiver",
            Self::Waiting => "waiting",
            Self::Started => "started",
            Self::Progress => "progress",
            Self::Sent => "sent",
            Self::Receipt => "receipt",
            Self::Failed => "failed",
            Self::Sender => "sender",
            Self::File => "file",
            Self::SenderGone => "sender-gone",
            Self::Stalled => "stalled",
            Self::Resumed => "resumed",
            Self::Left => "left",
            Self::GivenUp => "given-up",
            Self::Trouble => "trouble",
        }
    }
}

/// What has happened, and to what; which values count, the kind says.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Event {
    /// What.
    pub kind: EventKind,
    /// Of a receiver or a file.
    pub name: String,
    /// More in words.
    pub text: String,
    /// Of a node.
    pub node: u32,
    /// How many.
    pub count: u64,
    /// How many bytes.
    pub bytes: u64,
    /// Of how many.
    pub total: u64,
    /// Of a file: BLAKE3.
    pub hash: [u8; 32],
    /// Since the beginning.
    pub seconds: f64,
}

impl Event {
    fn new(kind: EventKind) -> Self {
        Self { kind, ..Self::default() }
    }

    fn named(kind: EventKind, node: u32, name: String) -> Self {
        Self { node, name, ..Self::new(kind) }
    }

    fn trouble(text: String) -> Self {
        Self { text, ..Self::new(EventKind::Trouble) }
    }

    fn bytes(kind: EventKind, bytes: u64, total: u64) -> Self {
        Self { bytes, total, ..Self::new(kind) }
    }

    fn file(mut self, (bytes, hash): (u64, [u8; 32]), time: Duration) -> Self {
        (self.bytes, self.hash, self.seconds) = (bytes, hash, time.as_secs_f64());
        self
    }

    /// `None`: nothing that a program in another language is told.
    pub(crate) fn of_transfer(event: TransferEvent) -> Option<Self> {
        match event {
            TransferEvent::Send(event) => Self::of_sending(event),
            TransferEvent::Receive(event) => Self::of_receiving(event),
            TransferEvent::SendRefused { why } => {
                Some(Self::trouble(format!("sending: the system says {why}")))
            }
            TransferEvent::ReceiveFailed { why } => {
                Some(Self::trouble(format!("receiving: the system says {why}")))
            }
            TransferEvent::InterfaceDown { interface } => {
                Some(Self::trouble(format!("interface ({interface}): is down, or gone")))
            }
            TransferEvent::InterfaceUp { interface } | TransferEvent::Rejoined { interface } => {
                Some(Self::trouble(format!("interface ({interface}): is up again")))
            }
            TransferEvent::Reach { text, .. } | TransferEvent::NotOpened { text, .. } => {
                Some(Self::trouble(text))
            }
            TransferEvent::NodeIdTaken { id, other, .. } => {
                Some(Self::trouble(format!("node id ({id}): {other} has it, too")))
            }
            TransferEvent::Overrun { .. } | TransferEvent::BufferOverrun { .. } => None,
        }
    }

    fn of_sending(event: SendEvent) -> Option<Self> {
        Some(match event {
            SendEvent::Receiver(view) => Self::named(EventKind::Receiver, view.id.0, view.label()),
            SendEvent::Waiting { receivers, expected, missing } => Self {
                count: receivers as u64,
                total: expected as u64,
                text: missing.join(", "),
                ..Self::new(EventKind::Waiting)
            },
            SendEvent::Started { receivers } => {
                Self { count: receivers as u64, ..Self::new(EventKind::Started) }
            }
            SendEvent::Progress(progress) => {
                Self::bytes(EventKind::Progress, progress.sent_bytes, progress.total_bytes)
            }
            SendEvent::Sent { name, bytes, .. } => {
                Self { name, ..Self::bytes(EventKind::Sent, bytes, bytes) }
            }
            SendEvent::Receipt(receipt) => {
                let name = receipt.receiver.label();
                let event = Self::named(EventKind::Receipt, receipt.receiver.id.0, name);
                Self { text: receipt.file, ..event }
                    .file((receipt.bytes, receipt.hash), receipt.elapsed)
            }
            SendEvent::Reported { receiver, name, reason } => {
                let text = format!("{}: {}", receiver.label(), reason.name());
                Self { text, ..Self::named(EventKind::Failed, receiver.id.0, name) }
            }
            SendEvent::SourceChanged(path) => {
                Self::trouble(format!("file ({}): was changed while it was sent", path.display()))
            }
            _ => return None,
        })
    }

    fn of_receiving(event: ReceiveEvent) -> Option<Self> {
        Some(match event {
            ReceiveEvent::Sender { id, source } => {
                Self { node: id.0, text: source.to_string(), ..Self::new(EventKind::Sender) }
            }
            ReceiveEvent::Progress(progress) => {
                Self::bytes(EventKind::Progress, progress.bytes, progress.total_bytes)
            }
            ReceiveEvent::File { key, placed, elapsed } => {
                Self::named(EventKind::File, key.sender.0, placed.name.to_string())
                    .file((placed.size, placed.hash), elapsed)
            }
            ReceiveEvent::Failed { key, name, reason } => {
                let event = Self::named(EventKind::Failed, key.sender.0, name.unwrap_or_default());
                Self { text: reason.name().to_owned(), ..event }
            }
            ReceiveEvent::Refused { why, .. } => Self::trouble(why),
            ReceiveEvent::SenderGone { id, .. } => {
                Self { node: id.0, ..Self::new(EventKind::SenderGone) }
            }
            _ => return None,
        })
    }

    pub(crate) fn of_stream(event: StreamEvent) -> Option<Self> {
        Some(match event {
            StreamEvent::Receiver { node, name } => Self::named(EventKind::Receiver, node.0, name),
            StreamEvent::Started { receivers } => {
                Self { count: receivers as u64, ..Self::new(EventKind::Started) }
            }
            StreamEvent::Stalled { receivers } => {
                Self { text: receivers.join(", "), ..Self::new(EventKind::Stalled) }
            }
            StreamEvent::Resumed => Self::new(EventKind::Resumed),
            StreamEvent::Left { node, name } => Self::named(EventKind::Left, node.0, name),
            StreamEvent::Taken { node, name, .. } => Self::named(EventKind::Left, node.0, name),
            StreamEvent::GivenUp { node, name } => Self::named(EventKind::GivenUp, node.0, name),
            StreamEvent::Begun { sender, source } => {
                let text = source.map(|source| source.to_string()).unwrap_or_default();
                Self { node: sender.0, text, ..Self::new(EventKind::Sender) }
            }
            StreamEvent::Trouble(trouble) => Self::trouble(match trouble {
                Trouble::Overrun(_) => return None,
                Trouble::SendRefused(why) => format!("sending: the system says {why}"),
                Trouble::ReceiveFailed(why) => format!("receiving: the system says {why}"),
                Trouble::InterfaceDown(name) => format!("interface ({name}): is down, or gone"),
                Trouble::InterfaceUp(name) | Trouble::Rejoined(name) => {
                    format!("interface ({name}): is up again")
                }
                Trouble::Reach { text, .. } | Trouble::NotOpened { text, .. } => text,
            }),
        })
    }
}
