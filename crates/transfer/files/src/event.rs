//! What a node tells its application, as it happens and at the end.
//!
//! - `sending`, `receiving`: each side's own; `limit`: what limits a sender's rate

mod limit;
mod receiving;
mod sending;
mod verdict;

use std::net::SocketAddr;

pub use crate::content::listing::Deleted;
pub use crate::content::pack::{PackedFile, PackedFiles};
use fanfare_node::engine::Trouble;
use fanfare_proto::{NodeId, Stats};
pub use limit::Limit;
pub use receiving::{ReceiveEnd, ReceiveEvent, ReceiveProgress, ReceiveReport};
pub use sending::{
    Outcome, Receipt, ReceiverProgress, ReceiverResult, ReceiverView, SendEnd, SendEvent,
    SendProgress, SendReport, Signed, ToldBy,
};
pub use verdict::SlowVerdict;

/// Where a transfer's events go.
pub(crate) type Outbox<E = TransferEvent> = fanfare_node::Outbox<E>;

/// Something an application may want to show.
#[derive(Debug, Clone)]
pub enum TransferEvent {
    /// So many events were lost here because they were not fetched in time.
    Overrun {
        /// How many.
        lost: u64,
    },
    /// Runs of datagrams found this node's receive buffer full: it is behind, not the network. Senders
    /// of ours slow down. Told at most once a second.
    BufferOverrun {
        /// How many so far.
        runs: u64,
    },
    /// The system refuses to send. The node goes on; said once for each kind of refusal.
    SendRefused {
        /// What the system says.
        why: String,
    },
    /// Nothing can be received for now. The node goes on; said once for each kind of failure.
    ReceiveFailed {
        /// What the system says.
        why: String,
    },
    /// The interface is there, with another address or number, again or at last: the group is joined on it.
    Rejoined {
        /// Its name.
        interface: String,
    },
    /// The interface is down, or gone. Told each time.
    InterfaceDown {
        /// Its name.
        interface: String,
    },
    /// The interface is up again, as it was.
    InterfaceUp {
        /// Its name.
        interface: String,
    },
    /// A single host does not hear the group, or hears it again.
    Reach {
        /// Stable name of which.
        code: &'static str,
        /// What people read.
        text: String,
    },
    /// Datagrams were dropped because of keys. Told every ten seconds at most.
    NotOpened {
        /// Stable name of the reason.
        code: &'static str,
        /// What people read.
        text: String,
        /// Keys, clocks or options have to be changed somewhere.
        mistake: bool,
    },
    /// Another node on the group has this node's id.
    NodeIdTaken {
        /// The id.
        id: NodeId,
        /// Where this node sends from.
        own: SocketAddr,
        /// Where the other one does.
        other: SocketAddr,
        /// The id that this node has taken instead, if it could.
        new: Option<NodeId>,
    },
    /// Of the sending side.
    Send(SendEvent),
    /// Of the receiving side.
    Receive(ReceiveEvent),
}

impl From<Trouble> for TransferEvent {
    fn from(trouble: Trouble) -> Self {
        match trouble {
            Trouble::Overrun(lost) => Self::Overrun { lost },
            Trouble::SendRefused(why) => Self::SendRefused { why },
            Trouble::ReceiveFailed(why) => Self::ReceiveFailed { why },
            Trouble::Rejoined(interface) => Self::Rejoined { interface },
            Trouble::InterfaceDown(interface) => Self::InterfaceDown { interface },
            Trouble::InterfaceUp(interface) => Self::InterfaceUp { interface },
            Trouble::Reach { code, text } => Self::Reach { code, text },
            Trouble::NotOpened { code, text, mistake } => Self::NotOpened { code, text, mistake },
        }
    }
}

/// What a node came to, once it has ended.
#[derive(Debug, Clone, Default)]
pub struct Finished {
    /// Of its sending side.
    pub sent: Option<SendReport>,
    /// Of its receiving side.
    pub received: Option<ReceiveReport>,
    /// Counters of its session.
    pub stats: Stats,
    /// Datagrams that the system dropped because they were not read in time.
    pub overruns: u64,
    /// Datagrams dropped on purpose.
    pub test_dropped: u64,
}
