//! NORM_CMD(CC): RTT probe and congestion control (RFC 5740 4.2.3.4).

use crate::{NodeId, QuantizedRate, QuantizedRtt, ext::{CcFlags, Extensions}, header::{SendTime, SenderFields}};
use alloc::vec::Vec;

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

impl Cc<'_> {
    /// Appends the message; `rate` becomes EXT_RATE.
    pub fn encode(&self, rate: Option<QuantizedRate>, nodes: &[CcNode], out: &mut Vec<u8>) {
        let _ = (rate, nodes, out);
        todo!()
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

/// The node list of a CMD(CC).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CcNodes<'a> {
    bytes: &'a [u8],
}

impl<'a> CcNodes<'a> {
    /// The items in order.
    pub fn iter(&self) -> impl Iterator<Item = CcNode> + use<'a> {
        let _ = self.bytes;
        core::iter::empty()
    }
}
