//! What a session is told once, at its start. Each field says its unit, its default and its cost.

use crate::{congestion::CongestionControl, rate::Bitrate, time::Duration};
use fanfare_fec::Matrix;
use fanfare_wire::{FecId, FieldSize, InstanceId, NodeId};

/// One node's part in one group.
#[derive(Debug, Clone)]
pub struct SessionConfig {
    /// This node's name on the wire. Random by default in the driver: never derived from an address.
    pub node_id: NodeId,
    /// Where receivers send NACK and ACK. Default: the group, so that others can be silent.
    pub feedback: FeedbackPath,
    /// The session's destination is a unicast address: one receiver, no backoff. Default false.
    pub unicast: bool,
    /// To send. Default none.
    pub sender: Option<SenderConfig>,
    /// To receive. Default none.
    pub receiver: Option<ReceiverConfig>,
    /// Events kept for a driver that does not fetch them; later ones are dropped and counted.
    /// Default 65536.
    pub events_max: usize,
}

/// Where a receiver's feedback goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FeedbackPath {
    /// Multicast to the group: others overhear it and keep silent (RFC 5401).
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
    /// Source symbols in a full block. Default 128: long blocks let one repair symbol serve many
    /// receivers; a receiver first asks for repair when a block has passed.
    pub source: u16,
    /// Parity symbols a block can have. Costs nothing until asked for. Default 127, the most that
    /// GF(2^8) leaves: once they are used up, repair falls back to explicit symbols.
    pub parity: u16,
    /// Parity sent with each block unasked. Default 0.
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
    /// On INFO, on the first symbols of each object, and on every 32nd of a block (from 100 Mbit/s on
    /// about every 512th): who misses all of the first ones, or comes late, loses some symbols more. With encoding id 2 always, since the
    /// names of symbols cannot be read without it, and where receivers measure the path.
    #[default]
    Sparse,
    /// On INFO only; an object without application info gets an empty INFO to carry it.
    InfoOnly,
}

/// What a sender needs to know.
#[derive(Debug, Clone)]
pub struct SenderConfig {
    /// Which life of this sender; random by default in the driver.
    pub instance_id: InstanceId,
    /// Bytes of a full segment. Default 1400: one Ethernet frame with all headers.
    pub segment_size: u16,
    /// The code.
    pub fec: FecConfig,
    /// When EXT_FTI travels.
    pub fti: FtiMode,
    /// What decides the rate. Default: nothing but `rate`.
    pub congestion: CongestionControl,
    /// Rate of everything sent, in UDP payload; the most, where `congestion` decides. Default 10
    /// Mbit/s: safe on any LAN, stated to users.
    pub rate: Bitrate,
    /// Longest burst at line speed, as time at `rate`. Default 1 ms; at least one message.
    pub burst: Duration,
    /// Backoff factor K of RFC 5401. Default 4; a few receivers that are all known and waited for are
    /// told 1.
    pub backoff_factor: u8,
    /// Receivers reckoned with. Default 1000, as NRL.
    pub group_size: u32,
    /// First GRTT estimate. Default 250 ms, as NRL.
    pub grtt_initial: Duration,
    /// Floor of the advertised GRTT. Default 1 ms: what scheduling adds is measured with it, and at
    /// 10 Mbit/s every round of requests costs several GRTT in which nothing is sent.
    pub grtt_min: Duration,
    /// Ceiling. Default 10 s.
    pub grtt_max: Duration,
    /// Shortest interval of GRTT probes once settled. Default 1 s.
    pub probe_min: Duration,
    /// Longest. Default 30 s.
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
    /// Most of the rate that repairs may take, in percent; 100 means repairs always go first.
    /// Default 100.
    pub repair_share: u8,
    /// How long an object can be repaired after its flush ended. Default 10 minutes.
    pub repair_window: Duration,
    /// NORM_INFO that goes later than [`crate::AGE_TOLD_FROM`] after its object was handed over says how much
    /// later (EXT_AGE, 4 bytes). Default false: files have no use for it.
    pub tells_age: bool,
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
        }
    }
}

/// What a receiver that comes late wants (RFC 5740 5.2 leaves it open).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum JoinPolicy {
    /// Only what begins from now on: the first object whose INFO or first block is heard.
    FromNow,
    /// The object under way, from its start, and what follows.
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
    /// When the driver has confirmed every object up to it ([`crate::ReceiverHandle::confirm`]).
    Confirmed,
}

/// What a receiver needs to know.
#[derive(Debug, Clone)]
pub struct ReceiverConfig {
    /// What to ask for when joining late.
    pub join: JoinPolicy,
    /// Send nothing at all (EMCON). Default false.
    pub silent: bool,
    /// When to acknowledge.
    pub ack: AckPolicy,
    /// Evaluation points expected of senders. Default NRL's.
    pub matrix: Matrix,
    /// Bytes of parity and bookkeeping kept per sender. When full, the newest blocks give way.
    /// Default 64 MiB.
    pub buffer_max: usize,
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
    /// Least backoff factor used on multicast, whatever the sender says: a forged 0 would make all
    /// receivers speak at once. Default 4 (RFC 5740's own); where no more than ten
    /// receivers are advertised 1, which senders of ours tell a few.
    pub backoff_floor: u8,
    /// Ceiling on the GRTT a sender may advertise. Default 10 s.
    pub grtt_max: Duration,
    /// Other receivers may have what a sender no longer gives ([`crate::cooperation`]): what is
    /// unfinished when it says good-bye is kept. Default false.
    pub outlive_senders: bool,
    /// NORM_INFO tells whether an object is wanted: while an object's INFO is missing nothing else of
    /// it is asked for, and of objects that nothing was heard of it is asked for first
    /// ([`crate::ReceiverHandle::ask_info_first`]). Default false.
    pub info_decides: bool,
}

impl Default for ReceiverConfig {
    fn default() -> Self {
        Self {
            join: JoinPolicy::AllCached,
            silent: false,
            ack: AckPolicy::Received,
            matrix: Matrix::Nrl,
            buffer_max: 64 << 20,
            objects_max: 256,
            senders_max: 64,
            object_size_max: (1 << 48) - 1,
            segment_size_max: 8192,
            robust_factor: 20,
            backoff_floor: 4,
            grtt_max: Duration::from_secs(10),
            outlive_senders: false,
            info_decides: false,
        }
    }
}
