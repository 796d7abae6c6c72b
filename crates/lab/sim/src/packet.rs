//! What travels over the hops of a topology.

use core::fmt;
use std::{any::Any, rc::Rc};

use fanfare_proto::{Ecn, Time};

use super::place::PlaceNumber;
use crate::{fabric::ChannelId, link::HEADER_BYTES, network::Host};

/// Whose packet it is: what fair queuing tells apart and what tables add up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FlowId {
    /// All that one host's session sends.
    Host(Host),
    /// One end of a background flow; the number of its entry in the plan.
    Background(u16),
    /// A layered session; the number of its entry in the plan.
    Layered(u16),
}

impl fmt::Display for FlowId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Host(host) => write!(f, "host{}", host.0),
            Self::Background(number) => write!(f, "flow{number}"),
            Self::Layered(number) => write!(f, "session{number}"),
        }
    }
}

/// Where a packet goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Target {
    /// All members of a group but its source.
    Group(u8),
    /// All who have joined a channel of a layered session.
    Channel(ChannelId),
    /// One place.
    Place(PlaceNumber),
}

/// What is inside. Shared by all copies on the branches of a tree.
#[derive(Debug, Clone)]
pub(crate) enum Payload {
    /// A session's datagram and its hash.
    Datagram(Rc<[u8]>, u64),
    /// What the ends of a background flow tell each other.
    Background(Rc<dyn Any>),
}

/// One packet on its way.
#[derive(Debug, Clone)]
pub struct Packet {
    /// Whose it is.
    pub flow: FlowId,
    /// Bytes on the wire, IP and transport headers included.
    pub bytes: usize,
    /// Its ECN mark; `None` is not ECN-capable.
    pub ecn: Option<Ecn>,
    /// When it entered the queue that it is in, or was in last.
    pub entered: Time,
    pub(crate) source: PlaceNumber,
    /// The last place it was at that is not a medium's air.
    pub(crate) before_air: PlaceNumber,
    pub(crate) target: Target,
    pub(crate) payload: Payload,
}

impl Packet {
    /// A session's datagram.
    pub(crate) fn datagram(
        from: (Host, PlaceNumber),
        target: Target,
        ecn: Option<Ecn>,
        bytes: Rc<[u8]>,
        hash: u64,
    ) -> Self {
        Self {
            flow: FlowId::Host(from.0),
            bytes: bytes.len() + HEADER_BYTES,
            ecn,
            entered: Time::ZERO,
            source: from.1,
            before_air: from.1,
            target,
            payload: Payload::Datagram(bytes, hash),
        }
    }
    /// A packet with its headers: nothing is added to its length.
    pub(crate) fn whole(
        from: (Host, PlaceNumber),
        target: Target,
        ecn: Option<Ecn>,
        bytes: Rc<[u8]>,
    ) -> Self {
        let length = bytes.len();
        Self { bytes: length, ..Self::datagram(from, target, ecn, bytes, 0) }
    }
    /// Whether a queue may mark it in place of dropping it (RFC 3168 5).
    #[must_use]
    pub fn is_ect(&self) -> bool {
        self.ecn.is_some()
    }
    /// Marks it: congestion experienced.
    pub fn mark(&mut self) {
        self.ecn = Some(Ecn::Ce);
    }
    /// Inverts one bit of a datagram. False for anything else: a checksum has found it.
    pub(crate) fn corrupt(&mut self, bit: u64) -> bool {
        let Payload::Datagram(bytes, hash) = &mut self.payload else { return false };
        let mut copy = bytes.to_vec();
        let at = (bit / 8) as usize % copy.len().max(1);
        if let Some(byte) = copy.get_mut(at) {
            *byte ^= 0x80 >> (bit % 8);
        }
        (*bytes, *hash) = (copy.into(), *hash ^ (bit + 1));
        true
    }
}
