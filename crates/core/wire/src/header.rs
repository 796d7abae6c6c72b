//! What messages have in common at their front (RFC 5740 4.1, 4.2, 4.3).
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-------+-------+---------------+-------------------------------+
//! | ver=1 | type  |    hdr_len    |           sequence            |  every message
//! +-------+-------+---------------+-------------------------------+
//! |                           source_id                           |
//! +-------------------------------+---------------+-------+-------+
//! |          instance_id          |     grtt      |backoff| gsize |  INFO, DATA, CMD
//! +-------------------------------+---------------+-------+-------+
//!
//! |                           server_id                           |  NACK, ACK
//! +-------------------------------+-------------------------------+
//! |          instance_id          |     (the message's own)       |
//! +-------------------------------+-------------------------------+
//! |                      grtt_response_sec                        |
//! +---------------------------------------------------------------+
//! |                      grtt_response_usec                       |
//! +---------------------------------------------------------------+
//! ```

use crate::frame::{FrameReader, FrameWriter};
use crate::{InstanceId, NodeId, QuantizedRtt, Sequence, WireError, quantized::GroupSize};
use alloc::vec::Vec;
use core::fmt;

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

impl SenderFields {
    #[inline]
    pub(crate) fn read(reader: &mut FrameReader<'_>) -> Result<Self, WireError> {
        let sequence = Sequence(reader.u16()?);
        let source_id = NodeId(reader.u32()?);
        let instance_id = InstanceId(reader.u16()?);
        let grtt = QuantizedRtt(reader.u8()?);
        let nibbles = reader.u8()?;
        let (backoff, gsize) = (nibbles >> 4, GroupSize(nibbles & 0x0f));
        Ok(Self { sequence, source_id, instance_id, grtt, backoff, gsize })
    }

    pub(crate) fn open<'o>(&self, kind: u8, out: &'o mut Vec<u8>) -> FrameWriter<'o> {
        let mut writer = FrameWriter::open(kind, self.sequence, self.source_id, out);
        writer.u16(self.instance_id.0);
        writer.u8(self.grtt.0);
        writer.u8(self.backoff << 4 | self.gsize.0 & 0x0f);
        writer
    }
}

impl fmt::Display for SenderFields {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { sequence, source_id, instance_id, grtt, backoff, gsize } = self;
        write!(f, "{source_id}/{instance_id} seq {sequence} grtt {grtt} k {backoff} gsize {gsize}")
    }
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

impl FeedbackFields {
    /// Reads them, and the two bytes between them that differ from message to message.
    pub(crate) fn read(reader: &mut FrameReader<'_>) -> Result<(Self, [u8; 2]), WireError> {
        let sequence = Sequence(reader.u16()?);
        let source_id = NodeId(reader.u32()?);
        let server_id = NodeId(reader.u32()?);
        let instance_id = InstanceId(reader.u16()?);
        let own = [reader.u8()?, reader.u8()?];
        let grtt_response = Some(SendTime::read(reader)?).filter(|&time| time != SendTime::NONE);
        Ok((Self { sequence, source_id, server_id, instance_id, grtt_response }, own))
    }

    pub(crate) fn open<'o>(&self, kind: u8, own: [u8; 2], out: &'o mut Vec<u8>) -> FrameWriter<'o> {
        let mut writer = FrameWriter::open(kind, self.sequence, self.source_id, out);
        writer.u32(self.server_id.0);
        writer.u16(self.instance_id.0);
        own.into_iter().for_each(|byte| writer.u8(byte));
        self.grtt_response.unwrap_or(SendTime::NONE).write(&mut writer);
        writer
    }
}

impl fmt::Display for FeedbackFields {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { sequence, source_id, server_id, instance_id, grtt_response } = self;
        write!(f, "{source_id} > {server_id}/{instance_id} seq {sequence}")?;
        grtt_response.map_or(Ok(()), |time| write!(f, " grtt_response {time}"))
    }
}

/// A sender's own clock as it travels in probes: only that sender reads it back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct SendTime {
    /// Seconds.
    pub seconds: u32,
    /// Microseconds, below 1,000,000 when honest; not checked, since only its author can judge.
    pub micros: u32,
}

impl SendTime {
    /// On the wire: no probe was heard.
    const NONE: Self = Self { seconds: 0, micros: 0 };

    pub(crate) fn read(reader: &mut FrameReader<'_>) -> Result<Self, WireError> {
        Ok(Self { seconds: reader.u32()?, micros: reader.u32()? })
    }

    pub(crate) fn write(self, writer: &mut FrameWriter<'_>) {
        writer.u32(self.seconds);
        writer.u32(self.micros);
    }
}

impl fmt::Display for SendTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:06}s", self.seconds, self.micros)
    }
}
