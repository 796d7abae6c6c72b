//! What is seen of one packet: its headers, never its content.

use core::net::IpAddr;

use fanfare_wire::units::Time;

/// An address of a network card.
pub type Mac = [u8; 6];

/// One packet that was seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sighting {
    /// When, by the clock of whoever saw it.
    pub at: Time,
    /// Bytes on the line, with the headers of the link.
    pub bytes: u32,
    /// Packets on the line: the kernel hands some over joined.
    pub packets: u32,
    /// Cards, from and to, where the link has such.
    pub macs: Option<(Mac, Mac)>,
    /// Who sent it, and to whom.
    pub ends: (IpAddr, IpAddr),
    /// Hops that it may still take.
    pub ttl: u8,
    /// What it is.
    pub what: What,
}

/// What is known of a packet beyond its addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    /// Of a TCP connection.
    Tcp((u16, u16), Segment),
    /// A datagram.
    Udp((u16, u16)),
    /// A datagram of NORM, which Fanfare speaks.
    Norm((u16, u16), Norm),
    /// A ping, or its answer.
    Echo {
        /// It is the answer.
        reply: bool,
        /// Of the program that pings, and of the ping.
        id: (u16, u16),
    },
    /// A later piece of a packet.
    Fragment(u8),
    /// Another protocol, or one whose header was cut off.
    Other(u8),
}

/// Of a TCP segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Segment {
    /// SYN, and likewise below.
    pub syn: bool,
    /// The acknowledgement counts.
    pub ack: bool,
    /// FIN.
    pub fin: bool,
    /// RST.
    pub rst: bool,
    /// Number of its first byte.
    pub number: u32,
    /// Next byte that is expected from the other side.
    pub acknowledged: u32,
    /// Bytes that it carries.
    pub length: u32,
    /// Time stamps: the sender's own, and that which it answers.
    pub stamps: Option<(u32, u32)>,
}

/// The head of a NORM message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Norm {
    /// Its type, 1 to 6.
    pub kind: u8,
    /// Its number.
    pub sequence: u16,
    /// Who sent it.
    pub source: u32,
    /// Since when the sender runs; in answers, of the sender that is answered.
    pub instance: u16,
}

impl Norm {
    /// A sender's message, which is numbered.
    #[must_use]
    pub fn is_of_sender(&self) -> bool {
        matches!(self.kind, 1..=3)
    }
}
