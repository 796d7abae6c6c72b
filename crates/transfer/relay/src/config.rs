//! How a relay is set up, and what it tells.

use std::net::{IpAddr, SocketAddr};

use crate::side::{Side, To};

/// How a relay is set up.
#[derive(Debug, Clone)]
pub struct Config {
    /// Its number: random.
    pub id: u32,
    /// The groups that it is in.
    pub groups: Vec<SocketAddr>,
    /// Other relays.
    pub peers: Vec<SocketAddr>,
    /// Hosts that may send to this machine alone, beside relays.
    pub accept: Vec<IpAddr>,
    /// Anybody may.
    pub open: bool,
    /// What it sends to one side, bit/s.
    pub limit: u64,
    /// What it keeps, bytes.
    pub cache: usize,
}

/// What has happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// A sender is passed on.
    Source {
        /// Its node id.
        sender: u32,
        /// The side that it is heard on.
        side: Side,
        /// Its address.
        address: SocketAddr,
    },
    /// Somebody else passes a sender on to this side: this relay stands by.
    StandBy {
        /// Node id of the sender.
        sender: u32,
        /// The side.
        side: Side,
        /// Who does.
        address: SocketAddr,
    },
    /// A sender's messages come back by another relay: they are dropped.
    Loop {
        /// Node id of the sender.
        sender: u32,
        /// Where they come from.
        address: SocketAddr,
    },
    /// Somebody who may not use this relay.
    Refused(SocketAddr),
    /// A relay that was named as a peer and has joined none of the groups of this one.
    Apart(SocketAddr),
}

/// What was done so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Messages of senders that were passed on, for each side.
    pub forwarded: u64,
    /// Messages that were here already.
    pub left_out: u64,
    /// Repairs from the cache.
    pub repaired: u64,
    /// Requests that came, and that were passed on.
    pub requests: (u64, u64),
    /// Acknowledgements that were passed on.
    pub feedback: u64,
    /// Messages that were dropped, because of a limit.
    pub dropped: u64,
    /// Messages of senders that came by another way than the first.
    pub elsewhere: u64,
}

/// A datagram, and where it goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outgoing {
    /// Where.
    pub to: To,
    /// What.
    pub bytes: Vec<u8>,
    /// The member that it is from, where that is not a sender.
    pub member: Option<u32>,
}
