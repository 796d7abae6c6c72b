//! NORM_CMD(CC): RTT probe and congestion control (RFC 5740 4.2.3.4).
//!
//! ```text
//! +---------------------------------------------------------------+
//! |           common header and sender fields (12 bytes)          |
//! +---------------+---------------+-------------------------------+
//! |  flavor = 4   |   reserved    |          cc_sequence          |
//! +---------------+---------------+-------------------------------+
//! |                         send_time_sec                         |
//! +---------------------------------------------------------------+
//! |                        send_time_usec                         |
//! +---------------------------------------------------------------+
//! |            extensions (EXT_RATE), then node items:            |
//! +---------------------------------------------------------------+
//! |                          cc_node_id                           |
//! +---------------+---------------+-------------------------------+
//! |   cc_flags    |    cc_rtt     |            cc_rate            |
//! +---------------+---------------+-------------------------------+
//! ```
//! NRL's NormSocket sets the reserved byte to 1 during connection set-up; it is ignored here.

use super::{Cmd, whole_items};
use crate::ext::{CcFlags, ExtRate, Extensions};
use crate::frame::FrameReader;
use crate::header::{SendTime, SenderFields};
use crate::{NodeId, QuantizedRate, QuantizedRtt, WireError};
use alloc::vec::Vec;
use core::fmt;

/// A parsed CMD(CC).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cc<'a> {
    /// Who sends.
    pub sender: SenderFields,
    /// Probe number.
    pub cc_sequence: u16,
    /// The sender's clock at sending.
    pub send_time: SendTime,
    /// Header extensions; EXT_RATE asks for feedback.
    pub extensions: Extensions<'a>,
    /// Receivers the sender tells about (CLR first in NRL's code).
    pub nodes: CcNodes<'a>,
}

impl<'a> Cc<'a> {
    /// Flavor of the command.
    pub(crate) const FLAVOR: u8 = 4;

    /// Reads what follows the flavor.
    pub(crate) fn parse(
        sender: SenderFields,
        mut reader: FrameReader<'a>,
    ) -> Result<Self, WireError> {
        let _reserved = reader.u8()?;
        let cc_sequence = reader.u16()?;
        let send_time = SendTime::read(&mut reader)?;
        let (extensions, list) = reader.finish()?;
        let nodes = CcNodes::parse(list)?;
        Ok(Self { sender, cc_sequence, send_time, extensions, nodes })
    }
}

impl Cc<'_> {
    /// Appends the message; `rate` becomes EXT_RATE.
    pub fn encode(&self, rate: Option<QuantizedRate>, nodes: &[CcNode], out: &mut Vec<u8>) {
        let mut writer = Cmd::open(&self.sender, Self::FLAVOR, out);
        writer.u8(0);
        writer.u16(self.cc_sequence);
        self.send_time.write(&mut writer);
        if let Some(rate) = rate {
            ExtRate { rate }.append(writer.extensions());
        }
        self.extensions.append_others(&[ExtRate::HET], writer.extensions());
        let out = writer.finish();
        nodes.iter().for_each(|node| node.append(out));
    }
}

impl fmt::Display for Cc<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { sender, cc_sequence, send_time, extensions, nodes } = self;
        write!(f, "CMD(CC) {sender} cc_seq {cc_sequence} sent {send_time}{extensions} nodes ")?;
        crate::message::write_list(f, nodes.iter())
    }
}

/// What the sender says of one receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CcNode {
    /// Which receiver.
    pub node: NodeId,
    /// CLR, PLR, RTT, START.
    pub flags: CcFlags,
    /// Its RTT.
    pub rtt: QuantizedRtt,
    /// Its rate.
    pub rate: QuantizedRate,
}

impl CcNode {
    /// Bytes on the wire.
    pub const LEN: usize = 8;

    fn append(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.node.0.to_be_bytes());
        out.extend_from_slice(&[self.flags.0, self.rtt.0]);
        out.extend_from_slice(&self.rate.0.to_be_bytes());
    }
}

impl fmt::Display for CcNode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { node, flags, rtt, rate } = self;
        write!(f, "({node} {flags} rtt {rtt} rate {rate})")
    }
}

/// The node list of a CMD(CC).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CcNodes<'a> {
    bytes: &'a [u8],
}

impl<'a> CcNodes<'a> {
    /// A list as it stands in a message: eight bytes for each node.
    ///
    /// # Errors
    /// [`WireError::ListLength`] when a part of an item is left over.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, WireError> {
        Ok(Self { bytes: whole_items("cc node list", bytes, CcNode::LEN)? })
    }
    /// The items in order.
    pub fn iter(&self) -> impl Iterator<Item = CcNode> + use<'a> {
        self.bytes.chunks_exact(CcNode::LEN).map(|item| CcNode {
            node: NodeId(u32::from_be_bytes([item[0], item[1], item[2], item[3]])),
            flags: CcFlags(item[4]),
            rtt: QuantizedRtt(item[5]),
            rate: QuantizedRate(u16::from_be_bytes([item[6], item[7]])),
        })
    }
}
