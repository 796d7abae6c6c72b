//! The common header: version, type, header length, sequence, source (RFC 5740 4.1).

use crate::{InstanceId, NodeId, QuantizedRtt, Sequence, quantized::GroupSize};

/// The protocol version this crate speaks.
pub const VERSION: u8 = 1;

/// What every sender message (INFO, DATA, CMD) repeats about its sender (RFC 5740 4.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SenderFields {
    /// Message counter of the session; the session that sends fills it in.
    pub sequence: Sequence,
    /// Who sends.
    pub source_id: NodeId,
    /// Which life of that sender.
    pub instance_id: InstanceId,
    /// Greatest RTT of the group as the sender estimates it.
    pub grtt: QuantizedRtt,
    /// Backoff factor K, 0 to 15 (RFC 5401).
    pub backoff: u8,
    /// Receivers the sender reckons with.
    pub gsize: GroupSize,
}

/// What every receiver message (NACK, ACK) says about whom it answers (RFC 5740 4.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FeedbackFields {
    /// Zero in NRL's code; a counter of the receiver's own in the RFC.
    pub sequence: Sequence,
    /// The receiver that speaks.
    pub source_id: NodeId,
    /// The sender it speaks to.
    pub server_id: NodeId,
    /// The life of the sender it speaks to.
    pub instance_id: InstanceId,
    /// The last probe's send time plus the time held here; `None` (zeros) when none was heard.
    pub grtt_response: Option<SendTime>,
}

/// A sender's own clock as it travels in probes: only that sender reads it back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct SendTime {
    /// Seconds.
    pub seconds: u32,
    /// Microseconds, below 1,000,000.
    pub micros: u32,
}
