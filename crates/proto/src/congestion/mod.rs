//! What decides the sender's rate. One controller per file; `fixed` is the first.

pub mod fixed;

use crate::{
    rate::Bitrate,
    time::{Duration, Time},
};
use fanfare_wire::{NodeId, ext::CcFlags};

pub use fixed::Fixed;

/// What one receiver reported (EXT_CC in an ACK or NACK).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Feedback {
    /// Who.
    pub node: NodeId,
    /// Round-trip time measured by this sender from the echoed probe, when it could be.
    pub rtt: Option<Duration>,
    /// Loss event fraction, 0 to 1.
    pub loss: f64,
    /// Rate it would stand.
    pub rate: Bitrate,
    /// Its flags.
    pub flags: CcFlags,
}

/// A single-rate controller: told what happens, asked for the rate.
pub trait RateController: core::fmt::Debug + Send {
    /// A receiver reported.
    fn on_feedback(&mut self, now: Time, feedback: &Feedback);
    /// The application set a rate (a cap for controllers that have their own mind).
    fn on_rate_set(&mut self, now: Time, rate: Bitrate);
    /// The rate to send at now.
    fn rate(&self) -> Bitrate;
}
