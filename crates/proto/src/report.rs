//! What a sender knows of its receivers, for the application to show.

use crate::time::{Duration, Time};
use core::net::SocketAddr;
use fanfare_wire::NodeId;

/// How much of what is sent arrives at a receiver, as it counted itself.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reception {
    /// Of the messages sent between `since` and `until`, 0 to 1.
    pub share: f64,
    /// When the count before came in.
    pub since: Time,
    /// When the last count came in.
    pub until: Time,
}

/// What a sender knows of one receiver.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ReceiverReport {
    /// Who.
    pub node: NodeId,
    /// Where its feedback comes from.
    pub source: SocketAddr,
    /// Its RTT, once measured.
    pub rtt: Option<Duration>,
    /// Loss event fraction it reported last.
    pub loss: f64,
    /// What arrives at it. Receivers of ours that lack something tell it about once a second, once
    /// the roll has been called; `None` for others.
    pub reception: Option<Reception>,
    /// NACKs heard from it.
    pub nacks: u64,
    /// When it was last heard.
    pub heard: Time,
    /// It was evicted: nothing it says counts any more.
    pub evicted: bool,
}
