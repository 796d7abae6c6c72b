//! Rate control for multicast, as state machines without I/O.
//!
//! A sender asks a [`RateController`] (`controller`) how fast it may send. Each one has a file:
//!
//! - `fixed`: the rate that was requested
//! - `norm`: NORM-CC, TCP-friendly multicast (RFC 5740 5.5.2, RFC 4654); `candidates`: which
//!   receiver limits it. `ecn` (CCE) and `loss_tolerant` (CCL) differ in what receivers count as
//!   congestion
//! - `auto`: Fanfare's own, by the queueing delay on the path of the slowest receiver
//!
//! With [`layered`] there is no single rate: the sender sends layers, and each receiver joins as
//! many as its path can carry.
//!
//! The sender tells its receivers how to measure ([`Mode`], EXT_MODE in CMD(CC)). A plain NORM
//! receiver measures as RFC 5740 says, and every controller works with that.
//!
//! What senders and receivers measure for the controllers is here, too:
//!
//! - `loss`, `receive_rate`, `path`: loss events, rate of arrivals, and queueing delay at a
//!   receiver
//! - `reception`: the packet loss of each receiver, as a sender knows it
//! - `grtt`: a sender's estimate of the group's round-trip time
//! - `pacer`: when the next message may go at a rate
//! - `flow_control`: slows down for receivers whose socket buffer overruns

#![no_std]
#![forbid(unsafe_code)]
extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod auto;
mod candidates;
mod controller;
mod ecn;
pub mod fixed;
pub mod flow_control;
pub mod grtt;
pub mod layered;
pub mod loss;
mod loss_tolerant;
pub mod norm;
pub mod pacer;
pub mod path;
pub mod receive_rate;
pub mod reception;

use alloc::boxed::Box;
pub use controller::{Feedback, Limits, Mode, Probing, RateController, Reason, equation_rate};
use fanfare_wire::units::time::Time;

pub use auto::{Auto, nearness::Nearness};
pub use fanfare_wire::units::Ecn;
pub use fixed::Fixed;
pub use norm::Norm;

/// Which controller a sender uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CongestionControl {
    /// The configured rate, whatever happens.
    #[default]
    Fixed,
    /// NORM-CC: as a TCP flow would; loss is congestion.
    Norm,
    /// NORM-CCE: routers' marks are congestion, loss is not.
    Ecn,
    /// NORM-CCL: loss is congestion unless it is isolated.
    LossTolerant,
    /// Ours: the queue on the slowest receiver's path; loss only where it comes with one.
    Auto,
}

impl CongestionControl {
    /// Starts the controller.
    #[must_use]
    pub fn start(self, limits: Limits, now: Time) -> Box<dyn RateController> {
        match self {
            Self::Fixed => Box::new(Fixed::new(limits.max)),
            Self::Norm => Box::new(Norm::new(now, limits, Mode::Norm)),
            Self::Ecn => Box::new(ecn::controller(now, limits)),
            Self::LossTolerant => Box::new(Norm::new(now, limits, Mode::LossTolerant)),
            Self::Auto => Box::new(Auto::new(now, limits)),
        }
    }
}
