//! Datagrams in and out: destinations and ECN marks instead of sockets.

use crate::types::time::Duration;
use core::net::SocketAddr;

pub use fanfare_congestion::Ecn;

/// What the driver knows of a received datagram besides its bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecvMeta {
    /// Where it came from.
    pub source: SocketAddr,
    /// Its ECN mark.
    pub ecn: Option<Ecn>,
    /// It was sent to this node alone, not to the group.
    pub unicast: bool,
    /// How long it has waited on this machine to be read, where that is known: no part of its path.
    pub waited: Duration,
}

/// Where a batch goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Destination {
    /// The session's group (or the one receiver of a unicast session).
    Group,
    /// One node, at the address its datagrams come from.
    Peer(SocketAddr),
}

/// One or more datagrams in the caller's buffer, ready for one system call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub struct Transmit {
    /// Where to.
    pub destination: Destination,
    /// Bytes of each datagram but the last, which may be shorter.
    pub segment_size: usize,
    /// Mark to send with.
    pub ecn: Option<Ecn>,
}
