//! The sides of a relay: where a message comes from, and where one goes.

use std::net::SocketAddr;

/// A side of a relay.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Side {
    /// The island behind this group, by its number.
    Group(usize),
    /// The relay of this number.
    Peer(usize),
    /// Somebody who sends to this machine alone.
    Single,
}

/// Where a message goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum To {
    /// To the multicast group of this number.
    Group(usize),
    /// To a group of layers, in the island of the group of this number.
    Layer(usize, SocketAddr),
    /// To an address, from the sockets of the group of this number.
    Address(usize, SocketAddr),
}

/// Where a message came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct From {
    /// The address.
    pub address: SocketAddr,
    /// By which group's sockets.
    pub group: usize,
    /// It was sent to the group, not to this machine alone.
    pub multicast: bool,
}
