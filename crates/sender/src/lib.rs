//! The sending half of a NORM session: [`Sender`], a machine without I/O.
//!
//! `sender` has the map. What is not a sender's own, as configurations, events and storage, is in
//! `fanfare-types`; `fanfare-proto` makes a session of a sender and a receiver.
#![no_std]
#![forbid(unsafe_code)]
extern crate alloc;
#[cfg(test)]
extern crate std;

mod sender;

use fanfare_types::{
    config, congestion, context, datagram, enqueue, event, explicit_repair, fti, partition,
    peer_repair, rate, report, rng, roll_call, stats, storage, stream, tail_policy, time, timer,
};
pub use sender::Sender;
