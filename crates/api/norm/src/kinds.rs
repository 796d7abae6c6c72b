//! The numbers of the interface, as programs were compiled with them.

/// What an event tells (NormEventType).
#[allow(missing_docs, reason = "each is the name in the header without its prefix")]
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(i32)]
pub enum EventType {
    Invalid = 0,
    TxQueueVacancy,
    TxQueueEmpty,
    TxFlushCompleted,
    TxWatermarkCompleted,
    TxCmdSent,
    TxObjectSent,
    TxObjectPurged,
    TxRateChanged,
    LocalSenderClosed,
    RemoteSenderNew,
    RemoteSenderReset,
    RemoteSenderAddress,
    RemoteSenderActive,
    RemoteSenderInactive,
    RemoteSenderPurged,
    RxCmdNew,
    RxObjectNew,
    RxObjectInfo,
    RxObjectUpdated,
    RxObjectCompleted,
    RxObjectAborted,
    RxAckRequest,
    GrttUpdated,
    CcActive,
    CcInactive,
    AckingNodeNew,
    SendError,
    UserTimeout,
}

/// What an object is (NormObjectType).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i32)]
pub enum ObjectType {
    /// No object.
    None = 0,
    /// Bytes in memory.
    Data,
    /// A file.
    File,
    /// Bytes without an end.
    Stream,
}

/// How a stream is flushed (NormFlushMode).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Flush {
    /// Not at all.
    #[default]
    None,
    /// What was written goes.
    Passive,
    /// And receivers are told that nothing follows.
    Active,
}

impl Flush {
    /// Of its number; what is no number of the interface flushes nothing.
    #[must_use]
    pub fn of(number: i32) -> Self {
        match number {
            1 => Self::Passive,
            2 => Self::Active,
            _ => Self::None,
        }
    }
}

/// How far a node has acknowledged (NormAckingStatus).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i32)]
pub enum AckingStatus {
    /// It is not asked.
    Invalid = 0,
    /// It did not answer.
    Failure,
    /// It has yet to answer.
    Pending,
    /// It has.
    Success,
}

/// Who becomes an acking node by itself (NormTrackingStatus).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tracking {
    /// Nodes that answer as receivers.
    pub receivers: bool,
    /// Nodes that send.
    pub senders: bool,
}

impl Tracking {
    /// Of its number.
    #[must_use]
    pub fn of(number: i32) -> Self {
        Self { receivers: matches!(number, 1 | 3), senders: matches!(number, 2 | 3) }
    }
}

/// Where a receiver begins (NormSyncPolicy).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SyncPolicy {
    /// With what is new.
    #[default]
    Current,
    /// With what of a stream can still be had.
    Stream,
    /// With all that can still be had.
    All,
}

impl SyncPolicy {
    /// Of its number.
    #[must_use]
    pub fn of(number: i32) -> Self {
        match number {
            1 => Self::Stream,
            2 => Self::All,
            _ => Self::Current,
        }
    }
}

/// How the round trip is measured (NormProbingMode).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Probing {
    /// Not at all.
    None,
    /// By the answers that come anyway.
    Passive,
    /// By asking.
    #[default]
    Active,
}

impl Probing {
    /// Of its number.
    #[must_use]
    pub fn of(number: i32) -> Self {
        match number {
            0 => Self::None,
            1 => Self::Passive,
            _ => Self::Active,
        }
    }
}
