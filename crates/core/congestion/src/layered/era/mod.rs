//! ERA, explicit rate adjustment: packet pairs tell what the path can carry, loss tells what TCP
//! would take. The number of layers follows at once.
//!
//! [`Published`] is the rule of the thesis, [`Era`] is our variant. docs/explanation/layers.md says
//! what differs and why: it measures the round-trip time, uses the median of packet pairs, sees a
//! queue before it overflows, and competes as TCP would with a flow that keeps the queue full.

mod controller;
mod intervals;
mod leave_latency;
mod loss_events;
mod published;
mod queue;
mod queue_target;
mod random_loss;
mod short_sample;

pub use controller::Era;
pub use published::{Published, target};
