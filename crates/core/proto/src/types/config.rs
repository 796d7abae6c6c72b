//! The configuration of a session. Each field says its unit, its default and its cost.

use crate::types::{congestion::CongestionControl, rate::Bitrate, time::Duration};
use fanfare_fec::Matrix;
use fanfare_wire::{FecId, FieldSize, InstanceId, NodeId};

/// One node's part in one group.
#[derive(Debug, Clone)]
pub struct SessionConfig {
    /// This node's id on the wire. The driver chooses a random one by default, never one derived
    /// from an address.
    pub node_id: NodeId,
    /// Where receivers send NACK and ACK. Default: the group, so that feedback suppresses that of
    /// others.
    pub feedback: FeedbackPath,
    /// The session's destination is a unicast address: one receiver, no backoff. Default false.
    pub unicast: bool,
    /// The sender's configuration. Default none.
    pub sender: Option<SenderConfig>,
    /// The receiver's configuration. Default none.
    pub receiver: Option<ReceiverConfig>,
    /// Events kept until the driver fetches them. Later ones are dropped and counted. Default
    /// 65536.
    pub events_max: usize,
}

/// Where a receiver sends its feedback.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FeedbackPath {
    /// Multicast to the group: other receivers hear it and suppress theirs (RFC 5401).
    #[default]
    Group,
    /// Unicast to the address the sender's datagrams come from; the sender advertises what it
    /// heard with CMD(REPAIR_ADV).
    Sender,
}

impl Default for SessionConfig {
    fn default() -> Self {
        Self {
            node_id: NodeId(1),
            feedback: FeedbackPath::Group,
            unicast: false,
            sender: None,
            receiver: None,
            events_max: 65536,
        }
    }
}

/// The code and how it is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FecConfig {
    /// Encoding id on the wire. Default 5.
    pub id: FecId,
    /// Field of encoding id 2; others have `M8`.
    pub field: FieldSize,
    /// Evaluation points. Default NRL's, which its receivers need.
    pub matrix: Matrix,
    /// Source symbols in a full block. Default 128. In long blocks one repair symbol serves more
    /// receivers, but a receiver requests repair only at the end of a block.
    pub source: u16,
    /// Parity symbols that a block can have. They cost nothing until they are requested. Default
    /// 127, the most that GF(2^8) allows. When they are used up, repair is explicit.
    pub parity: u16,
    /// Proactive parity symbols, sent with each block. Default 0.
    pub proactive: u16,
}

impl Default for FecConfig {
    fn default() -> Self {
        Self {
            id: FecId::ReedSolomon8,
            field: FieldSize::M8,
            matrix: Matrix::Nrl,
            source: 128,
            parity: 127,
            proactive: 0,
        }
    }
}

/// When EXT_FTI travels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FtiMode {
    /// On every INFO and DATA: 12 or 16 bytes each, any packet is enough to join.
    Always,
    /// On INFO, on the first symbols of each object, and on every 32nd of a block (from 100 Mbit/s
    /// on about every 512th). A receiver that misses all of the first ones, or joins late, loses a
    /// few more symbols. With encoding id 2 it is on every message, since the names of symbols
    /// cannot be read without it, and where receivers measure the path.
    #[default]
    Sparse,
    /// On INFO only; an object without application info gets an empty INFO to carry it.
    InfoOnly,
}

/// The configuration of a sender.
#[derive(Debug, Clone)]
pub struct SenderConfig {
    /// The instance id of this sender. The driver chooses a random one by default.
    pub instance_id: InstanceId,
    /// Bytes of a full segment. Default 1400: one Ethernet frame with all headers.
    pub segment_size: u16,
    /// The code.
    pub fec: FecConfig,
    /// When EXT_FTI travels.
    pub fti: FtiMode,
    /// The congestion control. Default: a fixed rate, which is `rate`.
    pub congestion: CongestionControl,
    /// Rate of everything sent, in UDP payload. With congestion control it is the upper limit.
    /// Default 10 Mbit/s, which is safe on any LAN.
    pub rate: Bitrate,
    /// Longest burst at line speed, as time at `rate`. Default 1 ms; at least one message.
    pub burst: Duration,
    /// Backoff factor K of RFC 5401. Default 4. With a few receivers that are all known and waited
    /// for, the sender advertises 1.
    pub backoff_factor: u8,
    /// Assumed number of receivers. Default 1000, as in NRL's code.
    pub group_size: u32,
    /// First GRTT estimate. Default 250 ms, as in NRL's code.
    pub grtt_initial: Duration,
    /// Minimum of the advertised GRTT. Default 1 ms. Measured round-trip times include scheduling
    /// delays, so a higher minimum is not needed; at 10 Mbit/s every round of repair costs several
    /// GRTT in which nothing is sent.
    pub grtt_min: Duration,
    /// Maximum of the advertised GRTT. Default 10 s.
    pub grtt_max: Duration,
    /// Shortest interval of GRTT probes once settled. Default 1 s.
    pub probe_min: Duration,
    /// Longest interval of GRTT probes. Default 30 s.
    pub probe_max: Duration,
    /// NORM_ROBUST_FACTOR: repetitions of flushes and of unanswered requests. Default 20.
    pub robust_factor: u32,
    /// For how long a receiver may be silent at the end before it is given up, however often it has
    /// been asked: a cable may be out. Default none, as in RFC 5740.
    pub patience: Duration,
    /// Shortest interval of flushes and acknowledgement requests, but for the first few. Default 20
    /// ms.
    pub flush_min: Duration,
    /// Objects kept for repair after they were sent. Default 256; at most 32767.
    pub cache_objects: usize,
    /// More than an eighth of them are kept only within so many bytes. Default any number.
    pub cache_bytes: u64,
    /// Computed parity kept, bytes. Default 8 MiB.
    pub parity_cache: usize,
    /// Largest share of the rate for repairs, in percent. With 100 repairs always go first. Default
    /// 100.
    pub repair_share: u8,
    /// How long an object can be repaired after its flush ended. Default 10 minutes.
    pub repair_window: Duration,
    /// Whether NORM_INFO carries the age of its object (EXT_AGE, 4 bytes) when it is sent later
    /// than [`crate::types::peer_repair::AGE_TOLD_FROM`] after enqueueing. Default false: files do not need it.
    pub tells_age: bool,
    /// Whether it sends without having asked who is there: then a rate that is found waits, at the start, for
    /// those who answer late. Default false.
    pub open_group: bool,
}

impl Default for SenderConfig {
    fn default() -> Self {
        Self {
            instance_id: InstanceId(1),
            segment_size: 1400,
            fec: FecConfig::default(),
            fti: FtiMode::Sparse,
            congestion: CongestionControl::Fixed,
            rate: Bitrate::mbps(10),
            burst: Duration::from_millis(1),
            backoff_factor: 4,
            group_size: 1000,
            grtt_initial: Duration::from_millis(250),
            grtt_min: Duration::from_millis(1),
            grtt_max: Duration::from_secs(10),
            probe_min: Duration::from_secs(1),
            probe_max: Duration::from_secs(30),
            robust_factor: 20,
            patience: Duration::ZERO,
            flush_min: Duration::from_millis(20),
            cache_objects: 256,
            cache_bytes: u64::MAX,
            parity_cache: 8 << 20,
            repair_share: 100,
            repair_window: Duration::from_secs(600),
            tells_age: false,
            open_group: false,
        }
    }
}

impl SenderConfig {
    /// The most that a rate may grow to where nobody has set a limit: 10 Gbit/s, more than a program sends.
    pub const RATE_MAX: Bitrate = Bitrate::mbps(10_000);

    /// Configures a sender that finds its rate by itself, up to [`Self::RATE_MAX`].
    #[must_use]
    pub fn adaptive() -> Self {
        Self { congestion: CongestionControl::Auto, rate: Self::RATE_MAX, ..Self::default() }
    }
}

/// What a late joiner requests (RFC 5740 5.2 leaves it open).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum JoinPolicy {
    /// Only new objects: the first object whose INFO or first block is heard, and those after it.
    FromNow,
    /// The current object, from its start, and those after it.
    ObjectStart,
    /// Everything the sender can still repair.
    #[default]
    AllCached,
}

/// When a watermark is acknowledged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AckPolicy {
    /// When everything up to it was received (NRL's behaviour).
    #[default]
    Received,
    /// When the driver has confirmed every object up to it (`ReceiverHandle::confirm`).
    Confirmed,
}

/// What a receiver requests of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Nacking {
    /// Nothing: what is lost stays lost.
    None,
    /// Its NORM_INFO alone.
    InfoOnly,
    /// All that is missing.
    #[default]
    Normal,
}

/// The configuration of a receiver.
#[derive(Debug, Clone)]
pub struct ReceiverConfig {
    /// What to request when joining late.
    pub join: JoinPolicy,
    /// Send nothing at all (EMCON). Default false.
    pub silent: bool,
    /// When to acknowledge.
    pub ack: AckPolicy,
    /// Evaluation points expected of senders. Default NRL's.
    pub matrix: Matrix,
    /// Memory for parity and bookkeeping of each sender, in bytes. When it is full, the newest
    /// blocks are dropped. Default 64 MiB.
    pub buffer_max: usize,
    /// Memory for the content of each stream, in bytes. It should hold twice what the sender promises
    /// to repair; of more than fits, the newest is dropped as long as the sender has it. Default 64
    /// MiB, which is allocated as it is written.
    pub stream_buffer: usize,
    /// As many times what a sender promises to repair is kept of a stream, within that memory. So far
    /// may the sender be ahead of whoever reads. Default 2, as NRL.
    pub stream_windows: u32,
    /// Object ids kept in view per sender. Default 256.
    pub objects_max: u16,
    /// Senders kept in view. Default 64.
    pub senders_max: usize,
    /// Largest object accepted, bytes. Default 2^48 - 1.
    pub object_size_max: u64,
    /// Largest segment accepted, bytes. Default 8192 (RFC leaves it open; a bound on memory).
    pub segment_size_max: u16,
    /// Repetitions of an unanswered NACK when the sender falls silent. Default 20.
    pub robust_factor: u32,
    /// Least backoff factor on multicast, whatever the sender advertises: with a forged 0 all
    /// receivers would send at once. Default 4 (as in RFC 5740). If the sender advertises at most
    /// ten receivers it is 1, which Fanfare's senders use for small groups.
    pub backoff_floor: u8,
    /// Largest GRTT that is accepted from a sender. Default 10 s.
    pub grtt_max: Duration,
    /// True if peers can repair a sender's objects after it has left ([`crate::types::peer_repair`]).
    /// Unfinished objects are then kept when it says good-bye. Default false.
    pub outlive_senders: bool,
    /// Whether NORM_INFO decides if an object is wanted. While the INFO of an object is missing,
    /// nothing else of it is requested, and unheard objects are requested by their INFO first
    /// (`ReceiverHandle::ask_info_first`). Default false.
    pub info_decides: bool,
    /// Silence after which another address or instance of a sender is believed at its first message,
    /// as NRL's receivers do at all times; a new sender is told of at its first message, too. Default
    /// none: another one must be heard twice, a second apart, so that no single forged datagram ends
    /// a transfer.
    pub replaced_after: Option<Duration>,
    /// What is requested of objects, unless it is said otherwise for a sender or an object. Default
    /// all that is missing.
    pub nacking: Nacking,
    /// An object that storage refuses to begin is given up when so many messages in a row have told the same of
    /// it: one may have been changed on the way. Until then it is asked for. Default 1.
    pub refused_after: u8,
}

impl Default for ReceiverConfig {
    fn default() -> Self {
        Self {
            join: JoinPolicy::AllCached,
            silent: false,
            ack: AckPolicy::Received,
            matrix: Matrix::Nrl,
            buffer_max: 64 << 20,
            stream_buffer: 64 << 20,
            stream_windows: 2,
            objects_max: 256,
            senders_max: 64,
            object_size_max: (1 << 48) - 1,
            segment_size_max: 8192,
            robust_factor: 20,
            backoff_floor: 4,
            grtt_max: Duration::from_secs(10),
            outlive_senders: false,
            info_decides: false,
            replaced_after: None,
            nacking: Nacking::Normal,
            refused_after: 1,
        }
    }
}
