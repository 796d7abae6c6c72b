//! What a sender knows of its receivers, for the application to show.

use crate::types::time::{Duration, Time};
use core::net::SocketAddr;
use fanfare_wire::NodeId;

pub use fanfare_congestion::reception::Reception;

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
    /// How often its receive buffer ran over since it heard this sender: its machine was behind, not the
    /// network. Only receivers of ours tell it.
    pub overruns: u32,
    /// When it was last heard.
    pub heard: Time,
    /// It was evicted: nothing it says counts any more.
    pub evicted: bool,
    /// It was deferred: it is served when the others have everything.
    pub deferred: bool,
}
