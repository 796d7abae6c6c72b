//! What a receiver says of itself: in every acknowledgement, and when the roll is called.
//!
//! A [`Status`] is one CBOR map of at most 960 bytes. Acknowledgements are padded with zeros to a
//! word on the wire, so bytes after the map are ignored. The [`Holdings`] digest stands for every
//! object held at once: equal digests at both ends are a receipt for each object.

mod holdings;
pub mod proof;

use std::io;

use fanfare_crypto::{PublicKey, Purpose, Signature};
use fanfare_proto::{InstanceId, NodeId, StorageError};
use minicbor::{Decode, Encode};

use crate::content::root_set;
pub use holdings::Holdings;
use proof::{Nonce, Proof};

const VERSION: u8 = 1;
/// What fits into an acknowledgement beside the other extensions of its header.
const STATUS_MAX: usize = 960;
/// Longest name of a receiver that is sent or believed, bytes.
const NAME_MAX: usize = 64;
/// Most failures named; 7 bytes each at worst, so that a status stays within its bound.
const FAILURES_MAX: usize = 100;

/// Names in its directory that a receiver tells of: 192 bytes.
const TOPS_MAX: usize = 128;

/// CBOR around roots: key, type and a length of 16 bits.
const ROOTS_HEAD: usize = 4;

/// What a receiver is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
#[cbor(index_only)]
pub enum State {
    /// Nothing under way.
    #[n(0)]
    Ready,
    /// Objects are coming in.
    #[n(1)]
    Receiving,
    /// The last objects are being hashed and put on disk.
    #[n(2)]
    Verifying,
    /// Everything begun is held.
    #[n(3)]
    Done,
    /// At least one object could not be had.
    #[n(4)]
    Failed,
    /// The receiver was stopped by its user.
    #[n(5)]
    Leaving,
}

impl State {
    /// Stable name for JSON and logs.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ready => "ready",
            Self::Receiving => "receiving",
            Self::Verifying => "verifying",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Leaving => "leaving",
        }
    }
}

/// Why a receiver does not hold an object, or not under its own name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
#[cbor(index_only)]
pub enum Reason {
    /// Content and announced hash differ.
    #[n(1)]
    HashMismatch,
    /// Not enough room on disk.
    #[n(2)]
    DiskFull,
    /// The disk failed.
    #[n(3)]
    DiskError,
    /// Held, but under another name: its own was not safe.
    #[n(4)]
    NameRejected,
    /// Not wanted.
    #[n(5)]
    Refused,
    /// The sender could not repair it any more, or was gone.
    #[n(6)]
    Aborted,
    /// Another file of that name is there, and its user wants to keep it.
    #[n(7)]
    Conflict,
    /// Something here is not at the sender, and its user has not allowed removing it.
    #[n(8)]
    DeleteNotAllowed,
    /// It is more than its user lets be removed.
    #[n(9)]
    DeleteTooMany,
    /// Not everything else that was sent is held.
    #[n(10)]
    DeleteIncomplete,
    /// What is listed is not what is here, or something stands in the way.
    #[n(11)]
    DeleteUnsafe,
    /// Held, but beside another file that keeps its name, as its user wants.
    #[n(12)]
    KeptBeside,
    /// A link leads out of the directory, and its user has not allowed that.
    #[n(13)]
    LinkRefused,
    /// A directory is where a link or a file belongs, or the other way round.
    #[n(14)]
    InTheWay,
    /// Held, but without owners, attributes or special bits: its user, or its system, does not allow
    /// them.
    #[n(15)]
    MetadataRefused,
    /// The file system there has no such thing: a link, a file so large, a name so long.
    #[n(16)]
    Unsupported,
    /// The program that reads it has ended.
    #[n(17)]
    ReaderGone,
}

impl Reason {
    /// Stable name for JSON and logs.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::HashMismatch => "hash-mismatch",
            Self::DiskFull => "disk-full",
            Self::DiskError => "disk-error",
            Self::NameRejected => "name-rejected",
            Self::Refused => "refused",
            Self::Aborted => "aborted",
            Self::Conflict => "conflict",
            Self::DeleteNotAllowed => "delete-not-allowed",
            Self::DeleteTooMany => "delete-too-many",
            Self::DeleteIncomplete => "delete-incomplete",
            Self::DeleteUnsafe => "delete-unsafe",
            Self::KeptBeside => "kept-beside",
            Self::LinkRefused => "link-refused",
            Self::InTheWay => "in-the-way",
            Self::MetadataRefused => "metadata-refused",
            Self::Unsupported => "unsupported",
            Self::ReaderGone => "reader-gone",
        }
    }

    /// What a disk's error is to the sender.
    #[must_use]
    pub fn of_disk(error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::DiskFull,
            io::ErrorKind::FileTooLarge
            | io::ErrorKind::InvalidFilename
            | io::ErrorKind::InvalidInput => Self::Unsupported,
            io::ErrorKind::BrokenPipe => Self::ReaderGone,
            _ => Self::DiskError,
        }
    }

    /// What the protocol's storage error is to the sender.
    #[must_use]
    pub const fn of_storage(error: StorageError) -> Self {
        match error {
            StorageError::Refused => Self::Refused,
            StorageError::Full => Self::DiskFull,
            StorageError::Failed => Self::DiskError,
        }
    }

    /// Whether the object is missing at the receiver.
    #[must_use]
    pub const fn is_failure(self) -> bool {
        !matches!(self, Self::NameRejected | Self::KeptBeside | Self::MetadataRefused)
    }
}

/// One object with something to report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct Failure {
    /// Object transport id.
    #[n(0)]
    pub object: u16,
    /// What happened.
    #[n(1)]
    pub reason: Reason,
}

/// Whose objects a status speaks of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct About {
    #[n(0)]
    sender: u32,
    #[n(1)]
    instance: u16,
}

impl About {
    /// Which sender, and which life of it.
    #[must_use]
    pub fn parts(&self) -> (NodeId, InstanceId) {
        (NodeId(self.sender), InstanceId(self.instance))
    }

    /// The life of this sender.
    #[must_use]
    pub fn new(sender: NodeId, instance: InstanceId) -> Self {
        Self { sender: sender.0, instance: instance.0 }
    }
}

/// What a receiver says of itself.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct Status {
    #[n(0)]
    version: u8,
    /// The receiver's name.
    #[n(1)]
    pub name: String,
    /// What it is doing.
    #[n(2)]
    pub state: State,
    /// Whose objects the next three speak of; `None` before any were seen.
    #[n(3)]
    pub about: Option<About>,
    /// Objects held, verified and on disk.
    #[n(4)]
    pub held: u64,
    /// Digest of the objects held.
    #[cbor(n(5), with = "minicbor::bytes")]
    pub digest: [u8; 32],
    /// Objects with something to report, oldest first, as many as fit.
    #[n(6)]
    pub failures: Vec<Failure>,
    /// Bytes free on its disk.
    #[n(7)]
    pub free: u64,
    /// First 8 bytes of the roots of which it has a part, one after the other, as many as fit.
    #[cbor(n(8), with = "minicbor::bytes")]
    pub parts: Option<Vec<u8>>,
    /// Roots that it has whole, as a set that may hold a few others too (`root_set`).
    #[cbor(n(9), with = "minicbor::bytes")]
    pub whole: Option<Vec<u8>>,
    /// Bytes of this sender's objects that are here so far, for its display of progress.
    #[n(14)]
    pub received: Option<u64>,
    /// Names directly in its directory, hashed, as such a set: a sender need not send unasked what is
    /// beneath them.
    #[cbor(n(10), with = "minicbor::bytes")]
    pub tops: Option<Vec<u8>>,
    /// It has heard this transfer: see [`proof`]. `None` before it has.
    #[cbor(n(30), with = "minicbor::bytes")]
    pub proof: Option<Proof>,
    /// Its public key, where its sender has signed what it sends.
    #[cbor(n(31), with = "minicbor::bytes")]
    pub key: Option<[u8; 32]>,
    /// Its signature: see [`proof::signed`].
    #[cbor(n(32), with = "minicbor::bytes")]
    pub signature: Option<Signature>,
}

impl Status {
    /// A receiver that holds nothing yet.
    #[must_use]
    pub fn ready(name: &str, free: u64) -> Self {
        Self {
            version: VERSION,
            name: printable(name),
            state: State::Ready,
            about: None,
            held: 0,
            digest: [0; 32],
            failures: Vec::new(),
            free,
            parts: None,
            whole: None,
            received: None,
            tops: None,
            proof: None,
            key: None,
            signature: None,
        }
    }

    /// The names that are in its directory.
    pub fn set_tops(&mut self, names: &[String]) {
        // More are no place where a sender mirrors its directories.
        if !names.is_empty() && names.len() <= TOPS_MAX {
            let starts: Vec<_> = names.iter().map(|name| top_start(name)).collect();
            self.tops = Some(root_set::encode(&starts));
        }
    }

    /// Whether it says that something of this name is in its directory.
    #[must_use]
    pub fn has_top(&self, name: &str) -> bool {
        let tops = self.tops.as_deref().unwrap_or_default();
        root_set::contains(tops, &top_start(name))
    }

    /// Beginnings of roots of which it has a part.
    pub fn part_roots(&self) -> impl Iterator<Item = [u8; 8]> {
        self.parts.as_deref().unwrap_or_default().as_chunks().0.iter().copied()
    }

    /// Whether it says that it has this root, whole or in part.
    #[must_use]
    pub fn claims(&self, root: &[u8; 32]) -> bool {
        let start = root_set::start(root);
        let whole = self.whole.as_deref().unwrap_or_default();
        root_set::contains(whole, &start) || self.has_part(root)
    }

    /// Whether it says that it has a part of this root.
    #[must_use]
    pub fn has_part(&self, root: &[u8; 32]) -> bool {
        let start = root_set::start(root);
        self.part_roots().any(|part| part == start)
    }

    /// Whether it shows that this receiver has heard the transfer with this nonce.
    #[must_use]
    pub fn proves(&self, nonce: Nonce, about: About, receiver: NodeId) -> bool {
        let proof = proof::prove(nonce, about, receiver, &self.digest);
        self.about == Some(about) && self.proof == Some(proof)
    }

    /// Whose signature says that this receiver holds what it says, if it is right.
    #[must_use]
    pub fn signer(&self, nonce: Nonce, receiver: NodeId) -> Option<PublicKey> {
        let (key, about) = (PublicKey(self.key?), self.about?);
        let signed = proof::signed(nonce, about, receiver, &self.digest);
        key.verifies(Purpose::Receipt, &signed, &self.signature?).then_some(key)
    }

    /// At most 960 bytes: failures, whole roots and parts that do not fit are left out.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut status = self.clone();
        status.name = printable(&self.name);
        status.failures.truncate(FAILURES_MAX);
        let (parts, whole, tops) = (status.parts.take(), status.whole.take(), status.tops.take());
        let mut bytes = Vec::new();
        let _ = minicbor::encode(&status, &mut bytes);
        let mut room = STATUS_MAX.saturating_sub(bytes.len() + 3 * ROOTS_HEAD);
        // A set cannot be cut, a list can.
        status.whole = whole.filter(|whole| !whole.is_empty() && whole.len() <= room);
        room -= status.whole.as_ref().map_or(0, Vec::len);
        status.tops = tops.filter(|tops| !tops.is_empty() && tops.len() <= room);
        room -= status.tops.as_ref().map_or(0, Vec::len);
        status.parts = parts.map(|parts| parts[..parts.len().min(room / 8 * 8)].to_vec());
        status.parts.take_if(|parts| parts.is_empty());
        bytes.clear();
        let _ = minicbor::encode(&status, &mut bytes);
        debug_assert!(bytes.len() <= STATUS_MAX);
        bytes
    }

    /// `None` when `bytes` is no status of ours: a plain NORM receiver's acknowledgement.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let mut status: Self = minicbor::decode(bytes).ok()?;
        status.name = printable(&status.name);
        (status.version == VERSION).then_some(status)
    }
}

/// By which a name is told.
fn top_start(name: &str) -> root_set::RootStart {
    root_set::start(blake3::hash(name.as_bytes()).as_bytes())
}

/// A name that can be shown on a terminal: no control characters, not endless.
pub fn printable(name: &str) -> String {
    let mut shown = String::new();
    for c in name.chars().map(|c| if c.is_control() { '?' } else { c }) {
        if shown.len() + c.len_utf8() > NAME_MAX {
            break;
        }
        shown.push(c);
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    fn full() -> Status {
        let mut status = Status::ready("host-7", u64::MAX);
        status.state = State::Failed;
        status.about = Some(About::new(NodeId(u32::MAX - 1), InstanceId(u16::MAX)));
        status.held = u64::MAX;
        status.digest = [0xff; 32];
        status.failures =
            (0..100).map(|n| Failure { object: 65_000 + n, reason: Reason::DiskFull }).collect();
        status
    }

    #[test]
    fn a_status_comes_back_as_it_was_even_padded_with_zeros() {
        for padding in 0..4 {
            let mut bytes = full().encode();
            bytes.extend(vec![0; padding]);
            assert_eq!(Status::parse(&bytes), Some(full()));
        }
    }

    #[test]
    fn a_status_stays_within_its_bound() {
        let mut status = full();
        status.name = "ü".repeat(500);
        status.failures = vec![Failure { object: u16::MAX, reason: Reason::Aborted }; 5000];
        status.parts = Some(vec![7; 8000]);
        let bytes = status.encode();
        assert!(bytes.len() <= STATUS_MAX, "{}", bytes.len());
        let parsed = Status::parse(&bytes).unwrap();
        assert_eq!(parsed.failures.len(), FAILURES_MAX);
        assert!(parsed.part_roots().count() > 0 && parsed.part_roots().all(|root| root == [7; 8]));
    }

    #[test]
    fn roots_that_it_has_whole_or_in_part_are_claimed_and_others_are_not() {
        let root = |n: u32| *blake3::hash(&n.to_be_bytes()).as_bytes();
        let starts: Vec<_> =
            (0..root_set::ROOTS_MAX as u32).map(|n| root_set::start(&root(n))).collect();
        let mut status = Status::ready(&"n".repeat(64), u64::MAX);
        status.whole = Some(root_set::encode(&starts));
        status.parts = Some(root(10_000)[..8].repeat(5000));
        let bytes = status.encode();
        assert!(bytes.len() <= STATUS_MAX);
        let parsed = Status::parse(&bytes).unwrap();
        assert!(
            parsed.claims(&root(0)) && parsed.claims(&root(383)) && parsed.claims(&root(10_000))
        );
        assert!((20_000..20_010).any(|n| !parsed.claims(&root(n))));
        assert!(parsed.part_roots().count() >= 16);
    }

    #[test]
    fn plain_and_hostile_contents_are_no_status() {
        let whole = full().encode();
        assert!((0..whole.len()).all(|cut| Status::parse(&whole[..cut]).is_none()));
        assert_eq!(Status::parse(b"hello from NRL"), None);
        let mut rng = fanfare_proto::rng::Rng::new(2);
        for _ in 0..10_000 {
            let mut bytes = whole.clone();
            let at = rng.below(bytes.len() as u64) as usize;
            bytes[at] = rng.next_u64() as u8;
            let _ = Status::parse(&bytes);
        }
    }

    #[test]
    fn a_name_that_would_steer_a_terminal_is_shown_without_its_controls() {
        let status = Status { name: "a\x1b[2Jb".to_owned(), ..Status::ready("", 0) };
        let mut raw = Vec::new();
        minicbor::encode(&status, &mut raw).unwrap();
        assert_eq!(Status::parse(&raw).unwrap().name, "a?[2Jb");
    }
}
