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

use super::{open, whole_items};
use crate::{
    NodeId, QuantizedRate, QuantizedRtt, WireError,
    ext::{CcFlags, ExtRate, Extensions},
    frame::FrameReader,
    header::{SendTime, SenderFields},
};
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
    /// Header extensions; EXT_RATE requests feedback.
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
        let mut writer = open(&self.sender, Self::FLAVOR, out);
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
        crate::show::write_list(f, nodes.iter())
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Message, cmd::Cmd, golden};

    #[test]
    fn captured_datagrams_read_as_sent_and_encode_to_the_same_bytes() {
        golden::check(
            include_str!("../../testdata/cc.hex"),
            &[
                "CMD(CC) 00000001/1234 seq 0 grtt 22.7ms k 2 gsize 10 cc_seq 0 sent \
                 1795244281.660706s rate 25kB/s nodes []",
                "CMD(CC) 00000001/1234 seq 9 grtt 844.3ms k 2 gsize 10 cc_seq 4 sent \
                 1795244318.305413s rate 93B/s nodes [(00000002 CLR|RTT|START rtt 208us rate \
                 93B/s)]",
                "CMD(CC) 00000001/1234 seq 349 grtt 1.0ms k 2 gsize 10 cc_seq 174 sent \
                 1795244320.678057s rate 88kB/s nodes [(00000002 CLR|RTT rtt 44us rate \
                 95kB/s)]",
            ],
        );
    }

    #[test]
    fn a_golden_probe_tells_time_rate_and_its_limiting_receiver() {
        let bytes = golden::hex(
            "13070009 00000001 12349542 04000003 6b00e614 000ccced 800060e3 00000002 0d3e60e3",
        );
        let Ok(Message::Cmd(Cmd::Cc(cc))) = Message::parse(&bytes) else { panic!("a CC") };
        assert_eq!((cc.cc_sequence, cc.send_time.seconds), (3, 0x6b00_e614));
        assert_eq!(cc.send_time.micros, 0x000c_cced);
        assert_eq!(cc.extensions.rate().map(|ext| ext.rate.0), Some(0x60e3));
        let node = cc.nodes.iter().next().expect("one node");
        assert_eq!((node.node, node.rtt.0, node.rate.0), (NodeId(2), 0x3e, 0x60e3));
        assert!(node.flags.has(CcFlags::CLR | CcFlags::RTT | CcFlags::START));
        assert_eq!(golden::encoded(&Message::Cmd(Cmd::Cc(cc))), bytes);
    }

    #[test]
    fn a_part_of_a_node_item_is_refused() {
        let bytes =
            golden::hex("13060009 00000001 12349542 04000003 6b00e614 000ccced 00000002 0d3e60");
        let error = WireError::ListLength { what: "cc node list", bytes: 7, item: 8 };
        assert_eq!(Message::parse(&bytes), Err(error));
    }

    #[test]
    fn the_reserved_byte_of_connection_set_up_is_ignored() {
        let bytes = golden::hex("13060009 00000001 12349542 04010003 6b00e614 000ccced");
        assert!(matches!(Message::parse(&bytes), Ok(Message::Cmd(Cmd::Cc(_)))));
    }
}
