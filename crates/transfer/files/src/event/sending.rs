//! What a sender tells, of itself and of each receiver.

use std::{collections::BTreeMap, net::SocketAddr, path::PathBuf, time::Duration};

use crate::content::{
    pack::PackedFiles,
    receipt::{About, Reason, State, proof::Nonce},
};
use fanfare_crypto::{PublicKey, Signature};
use fanfare_proto::{Bitrate, NodeId};

use super::{Limit, verdict::SlowVerdict};

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
    /// Every receiver has this file or a part of it from earlier, and not all have the whole: only
    /// what they ask for is sent.
    Resuming {
        /// Object transport id.
        object: u16,
        /// The file's name.
        name: String,
    },
    /// How far it is; about five times a second.
    Progress(SendProgress),
    /// How far each receiver is, by node id; once a second while data flows.
    Receivers(Vec<ReceiverProgress>),
    /// An object has been sent once in full.
    Sent {
        /// Its name.
        name: String,
        /// Its size.
        bytes: u64,
        /// The files in it, when it is a pack.
        packed: Option<PackedFiles>,
    },
    /// A receiver holds an object.
    Receipt(Receipt),
    /// A receiver's receipt does not count: it is not signed, or with a key that is not believed.
    KeyRefused {
        /// Which receiver.
        receiver: ReceiverView,
        /// Its key, if it has signed.
        key: Option<PublicKey>,
        /// It was revoked.
        revoked: bool,
    },
    /// A receiver has signed that it holds everything; told ahead of its receipts.
    Signed(Signed),
    /// A receiver reports something about an object.
    Reported {
        /// Which receiver.
        receiver: ReceiverView,
        /// The object's name.
        name: String,
        /// What.
        reason: Reason,
    },
    /// A file changed while it was being sent: it was withdrawn, and what it is now is sent in its place.
    SourceChanged(PathBuf),
}

/// A receiver as its sender sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReceiverView {
    /// Its node id.
    pub id: NodeId,
    /// Its name; `None` for plain NORM receivers, which have none.
    pub name: Option<String>,
    /// What tells it from the others.
    pub told_by: ToldBy,
    /// What it is doing; `None` for plain NORM receivers.
    pub state: Option<State>,
    /// Where its feedback comes from.
    pub source: Option<SocketAddr>,
    /// Bytes free on its disk; `None` for plain NORM receivers.
    pub free: Option<u64>,
}

/// What tells a receiver from the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ToldBy {
    /// Its name: no other receiver says the same.
    #[default]
    Name,
    /// Its address: another one says the same name, at another address.
    Address,
    /// Its id: another one says the same name at the same address.
    Id,
}

impl ReceiverView {
    /// Its name, with its address or its id where others say the same name. Without a name its
    /// address.
    #[must_use]
    pub fn label(&self) -> String {
        match (&self.name, self.told_by, self.source) {
            (Some(name), ToldBy::Name, _) => name.clone(),
            (Some(name), ToldBy::Address, Some(source)) => format!("{name} ({})", source.ip()),
            (Some(name), ToldBy::Address | ToldBy::Id, _) => format!("{name} ({})", self.id),
            (None, ToldBy::Name, Some(source)) => source.ip().to_string(),
            (None, _, Some(source)) => format!("{} ({})", source.ip(), self.id),
            (None, _, None) => self.id.to_string(),
        }
    }
}

/// How far one receiver is.
#[derive(Debug, Clone, PartialEq)]
pub struct ReceiverProgress {
    /// Which receiver.
    pub receiver: ReceiverView,
    /// Bytes that it had when it was heard last, of all that is sent; `None` for plain NORM
    /// receivers, which do not say it.
    pub bytes: Option<u64>,
    /// How fast these have grown of late; `None` until it has been heard twice.
    pub rate: Option<Bitrate>,
    /// Its loss, as a fraction, as it reported last.
    pub loss: f64,
    /// Its RTT, once measured.
    pub rtt: Option<Duration>,
    /// How often its receive buffer ran over: its machine was behind, not the network.
    pub overruns: u32,
    /// How it ended, once that is known.
    pub outcome: Option<Outcome>,
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
    pub lossiest: Option<(ReceiverView, f64)>,
    /// What limits the rate now.
    pub limit: Limit,
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
    /// The files in it, when it is a pack.
    pub packed: Option<PackedFiles>,
    /// Since data began to flow.
    pub elapsed: Duration,
}

/// A receiver has signed that it holds everything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signed {
    /// The receiver.
    pub receiver: ReceiverView,
    /// Its public key.
    pub key: PublicKey,
    /// Its signature of [`crate::content::receipt::proof::signed`].
    pub signature: Signature,
    /// Which sending it was.
    pub nonce: Nonce,
    /// Whose.
    pub about: About,
    /// Object ids and hashes of all that it holds: their digest is what is signed.
    pub objects: Vec<(u16, [u8; 32])>,
}

/// How it ended for one receiver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It holds every object.
    Complete,
    /// A plain NORM receiver acknowledged everything, but cannot say what it holds.
    Unverified,
    /// It acknowledged everything, but did not show that it has heard any of it.
    Unproved,
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
            Self::Unproved => "unproved",
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
    /// Loss as a fraction, over the whole transfer: of messages, by its count; of a plain NORM receiver,
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
    /// A stream that could not be read to its end, and why.
    pub broken: Option<(PathBuf, String)>,
    /// Objects enqueued.
    pub objects: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Bytes of repair sent.
    pub repair_bytes: u64,
    /// What limited the rate longest; `None` when no data flowed.
    pub limit: Option<Limit>,
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
