//! WEBRC: wave and equation based rate control (RFC 3738; thesis 2.4.3 and 6.6.5).
//!
//! A base channel has a packet a second. On each of the other channels waves come, one after the
//! other: they begin fast and fall by a quarter in each time slot of ten seconds. A receiver that
//! wants more joins the next wave earlier than it joined the last one, and one that wants less
//! joins it later. Nobody ever leaves a wave before it is over.
//!
//! - [`waves`]: what a sender sends when (3.1)
//! - `source`: the same by the clock of a session
//! - `loss`: the average loss probability, smoothed by time and by loss events (3.2.2.1)
//! - `join_time`: the round trip, from a join to the first packet (3.2.2.2)
//! - `equation`: the rate of a TCP flow with that loss and that round trip (3.2.2.3)
//! - `reception`: the rate that arrives, and the rate of all joined channels (3.2.2.5)
//! - [`receiver`]: when it joins the next wave (3.2.3)

mod equation;
mod join_time;
mod loss;
pub mod receiver;
mod reception;
pub(super) mod source;
pub mod waves;

pub use receiver::Webrc;
pub use waves::{WaveShape, Waves};
