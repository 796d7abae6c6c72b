//! What a node tells its application, as it happens and at the end.

use std::{collections::BTreeMap, net::SocketAddr, path::PathBuf, time::Duration};

use fanfare_proto::{Bitrate, NodeId, ObjectKey, Stats, congestion::Reason as RateReason};

pub use crate::listing::Deleted;
use crate::{
    driver::Trouble,
    receipt::{Reason, State},
    send::SlowVerdict,
    verify::Placed,
};

/// Something an application may want to show.
#[derive(Debug, Clone)]
pub enum NodeEvent {
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

impl From<Trouble> for NodeEvent {
    fn from(trouble: Trouble) -> Self {
        match trouble {
            Trouble::Overrun(lost) => Self::Overrun { lost },
            Trouble::SendRefused(why) => Self::SendRefused { why },
            Trouble::ReceiveFailed(why) => Self::ReceiveFailed { why },
        }
    }
}

/// What happens while sending.
#[derive(Debug, Clone)]
pub enum SendEvent {
    /// A receiver was heard for the first time, or is in another state.
    Receiver(ReceiverView),
    /// Receivers are waited for: told at the start, and whenever one is new or in another state.
    Waiting {
        /// Heard so far.
        receivers: usize,
        /// How many are expected.
        expected: usize,
        /// Expected by name and not heard.
        missing: Vec<String>,
    },
    /// A receiver gets less than it should, or enough again.
    Slow {
        /// Which receiver.
        receiver: ReceiverView,
        /// What becomes of it.
        verdict: SlowVerdict,
        /// What it gets, of what is sent now.
        rate: Bitrate,
    },
    /// Data begins to flow.
    Started {
        /// Receivers heard so far.
        receivers: usize,
    },
    /// Every receiver has this file, or a part of it: only what they ask for is sent.
    Resuming {
        /// Object transport id.
        object: u16,
        /// The file's name.
        name: String,
    },
    /// How far it is; about five times a second.
    Progress(SendProgress),
    /// A receiver holds an object.
    Receipt(Receipt),
    /// A receiver reports something about an object.
    Reported {
        /// Which receiver.
        receiver: NodeId,
        /// The object's name.
        name: String,
        /// What.
        reason: Reason,
    },
    /// A file changed while it was being sent; it was withdrawn.
    SourceChanged(PathBuf),
}

/// A receiver as its sender sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReceiverView {
    /// Its node id.
    pub id: NodeId,
    /// Its name; `None` for plain NORM receivers, which have none.
    pub name: Option<String>,
    /// What it is doing; `None` for plain NORM receivers.
    pub state: Option<State>,
    /// Where its feedback comes from.
    pub source: Option<SocketAddr>,
    /// Bytes free on its disk; `None` for plain NORM receivers.
    pub free: Option<u64>,
}

impl ReceiverView {
    /// Its name, or its id when it has none.
    #[must_use]
    pub fn label(&self) -> String {
        self.name.clone().unwrap_or_else(|| self.id.to_string())
    }
}

/// How far a sender is.
#[derive(Debug, Clone, PartialEq)]
pub struct SendProgress {
    /// Source bytes sent once.
    pub sent_bytes: u64,
    /// Source bytes to send in all.
    pub total_bytes: u64,
    /// The rate in force.
    pub rate: Bitrate,
    /// Bytes of repair so far.
    pub repair_bytes: u64,
    /// All bytes sent, headers of UDP and below not counted.
    pub wire_bytes: u64,
    /// Of the receivers that are still to be served, the one that lately lost most, and that loss as
    /// a fraction.
    pub limiting: Option<(ReceiverView, f64)>,
    /// Why the rate is what it is, and on whose account.
    pub reason: (RateReason, Option<ReceiverView>),
    /// Receivers that hold everything.
    pub complete: usize,
    /// Receivers heard.
    pub receivers: usize,
}

/// One receiver holds one object: verified, on disk, under its final name.
#[derive(Debug, Clone, PartialEq)]
pub struct Receipt {
    /// The receiver.
    pub receiver: ReceiverView,
    /// Object transport id.
    pub object: u16,
    /// The object's name.
    pub file: String,
    /// BLAKE3 hash of its content.
    pub hash: [u8; 32],
    /// Its size.
    pub bytes: u64,
    /// Files in it, when it is a pack.
    pub files: Option<u64>,
    /// Since data began to flow.
    pub elapsed: Duration,
}

/// How it ended for one receiver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It holds every object.
    Complete,
    /// A plain NORM receiver acknowledged everything, but cannot say what it holds.
    Unverified,
    /// It lacks objects.
    Partial {
        /// How many it holds.
        held: u64,
        /// What it said of those it lacks, by name.
        failures: BTreeMap<String, Reason>,
    },
    /// It fell silent.
    Unanswered,
    /// It got less than the least rate, and was given up.
    Evicted,
    /// Its user stopped it.
    Left,
    /// The sender was stopped first.
    Interrupted,
}

impl Outcome {
    /// Stable name for JSON and tables.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Unverified => "unverified",
            Self::Partial { .. } => "partial",
            Self::Unanswered => "unanswered",
            Self::Evicted => "evicted",
            Self::Left => "left",
            Self::Interrupted => "interrupted",
        }
    }
}

/// One receiver at the end.
#[derive(Debug, Clone)]
pub struct ReceiverResult {
    /// Who.
    pub view: ReceiverView,
    /// Where its feedback came from.
    pub source: Option<SocketAddr>,
    /// How it ended.
    pub outcome: Outcome,
    /// Loss as a fraction, as it reported last: of messages, by its count; of a plain NORM receiver,
    /// its loss event fraction.
    pub loss: f64,
    /// NACKs heard from it.
    pub nacks: u64,
    /// From the first data until it was done.
    pub elapsed: Duration,
}

/// How sending ended as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SendEnd {
    /// To every receiver expected or heard; or one-way, to whom it may concern.
    Complete,
    /// Somebody lacks something, or did not come.
    Partial,
    /// No receiver answered in time; nothing was sent.
    NobodyAnswered,
    /// It was stopped.
    Interrupted,
}

/// What sending came to.
#[derive(Debug, Clone)]
pub struct SendReport {
    /// As a whole.
    pub end: SendEnd,
    /// For each receiver heard, by node id.
    pub receivers: Vec<ReceiverResult>,
    /// Expected by name and never heard.
    pub missing: Vec<String>,
    /// Expected by number.
    pub expected: Option<usize>,
    /// Files that changed while they were sent.
    pub changed: Vec<PathBuf>,
    /// Objects enqueued.
    pub objects: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Bytes of repair sent.
    pub repair_bytes: u64,
    /// From the first data to the end.
    pub elapsed: Duration,
}

impl SendReport {
    /// Receivers that hold everything.
    #[must_use]
    pub fn complete(&self) -> usize {
        self.receivers.iter().filter(|r| r.outcome == Outcome::Complete).count()
    }
}

/// What happens while receiving.
#[derive(Debug, Clone)]
pub enum ReceiveEvent {
    /// A sender was heard.
    Sender {
        /// Its node id.
        id: NodeId,
        /// Where it sends from.
        source: SocketAddr,
    },
    /// An object begins.
    Object {
        /// Which.
        key: ObjectKey,
        /// Its name as announced, made printable; `None` when it has none.
        name: Option<String>,
        /// Its bytes.
        size: u64,
    },
    /// How far it is; about five times a second.
    Progress(ReceiveProgress),
    /// A part of a file was here before, and has been checked.
    Resumed {
        /// Which object.
        key: ObjectKey,
        /// Its name as announced, made printable.
        name: Option<String>,
        /// Bytes that need not travel again.
        bytes: u64,
        /// Bytes of the whole file.
        size: u64,
    },
    /// Bytes that were received proved wrong and are asked for again.
    Mending {
        /// Which object.
        key: ObjectKey,
        /// Its name as announced, made printable.
        name: Option<String>,
        /// How many.
        bytes: u64,
    },
    /// A file is in its place.
    File {
        /// Which object it was.
        key: ObjectKey,
        /// Where it is, and what it holds.
        placed: Placed,
        /// Since the object began.
        elapsed: Duration,
    },
    /// An object, or a file of a pack, could not be had.
    Failed {
        /// Which.
        key: ObjectKey,
        /// Its name as announced, made printable.
        name: Option<String>,
        /// Why.
        reason: Reason,
    },
    /// Something that is not at the sender has been removed.
    Deleted {
        /// Whose listing says so.
        key: ObjectKey,
        /// What it was.
        name: Deleted,
    },
    /// What a listing came to.
    Deletion {
        /// Which.
        key: ObjectKey,
        /// The directories that it lists.
        roots: Vec<String>,
        /// Names beneath them that are not at the sender; `None` when they were not counted.
        extra: Option<u64>,
        /// Those that are removed.
        deleted: u64,
        /// Why the others are not, for the sender and for people.
        refused: Option<(Reason, String)>,
    },
    /// An object comes by so many layers now; told about five times a second at most, and with none
    /// when it is whole.
    Level {
        /// The node id of its sender.
        id: NodeId,
        /// How many.
        level: usize,
        /// The sum of their rates.
        rate: Bitrate,
        /// Packets lost so far, as a share.
        loss: f64,
        /// Symbols that have come beyond those that the object has, as a share of them.
        overhead: f64,
    },
    /// A layered session is not followed, or a group of it cannot be joined.
    Refused {
        /// The node id of its sender.
        id: NodeId,
        /// Why, in words.
        why: String,
    },
    /// A sender goes on without this receiver: too little of what it sends arrives here.
    Evicted {
        /// Its node id.
        id: NodeId,
    },
    /// A sender said good-bye, or was not heard for long.
    SenderGone {
        /// Its node id.
        id: NodeId,
        /// It said so.
        said: bool,
    },
}

/// How far a receiver is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ReceiveProgress {
    /// Bytes received, finished objects included.
    pub bytes: u64,
    /// Bytes of all objects begun.
    pub total_bytes: u64,
    /// Highest loss seen from a sender, as a fraction.
    pub loss: f64,
}

/// How receiving ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReceiveEnd {
    /// What was asked for came, or the sender said good-bye.
    Complete,
    /// Nothing was heard for as long as was asked.
    TimedOut,
    /// It was stopped.
    Interrupted,
}

/// What receiving came to.
#[derive(Debug, Clone)]
pub struct ReceiveReport {
    /// As a whole.
    pub end: ReceiveEnd,
    /// Files in their place.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Names removed because they are not at their sender.
    pub deleted: u64,
    /// Descriptions of layered sessions that were refused.
    pub refused: u64,
    /// Objects, and files of packs, that could not be had.
    pub failures: Vec<(ObjectKey, Reason)>,
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
