//! What a receiver tells, of what it hears and of what it places.

use std::{net::SocketAddr, time::Duration};

use crate::content::{invitation::ChainPlace, listing::Deleted, placed::Placed, receipt::Reason};
use fanfare_proto::{Bitrate, NodeId, ObjectKey};

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
    /// From now on objects of this sender, and of others at its address, are taken, and no others.
    Bound {
        /// Its node id.
        id: NodeId,
        /// Where it sends from.
        source: Option<SocketAddr>,
    },
    /// A sender is not heard: another one was named, or came first.
    SenderRefused {
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
    /// The target is smaller than the stream: nothing was written to it.
    TooSmall {
        /// Bytes of the stream.
        needed: u64,
        /// Bytes that the target takes.
        room: u64,
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
    /// Directories have their permissions and times, and links are made. What could not be done was
    /// told before, as failed.
    Tree {
        /// Which object said so.
        key: ObjectKey,
        /// Directories in it.
        directories: u64,
        /// Symbolic links that are there.
        links: u64,
        /// Further names of files that are there.
        hard_links: u64,
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
    /// The sender of a transfer that had begun was silent for a minute. What has come is kept.
    SenderSilent,
    /// The stream that was wanted of a chain will not come: a sender has another one.
    OutOfPlace,
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
    /// Senders that were not heard.
    pub refused_senders: u64,
    /// The place in a chain that the last sender gave its stream, taken or not.
    pub place: Option<ChainPlace>,
    /// Files whose permissions the file system here did not keep.
    pub without_mode: u64,
    /// Files that are here and not under their sender's names.
    pub unnamed: u64,
    /// Objects, and files of packs, that could not be had.
    pub failures: Vec<(ObjectKey, Reason)>,
}
