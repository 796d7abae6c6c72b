//! ERA, explicit rate adjustment: packet pairs tell what the path has, loss what TCP would take, and
//! the number of layers follows at once.
//!
//! [`Published`] is the thesis' rule, [`Era`] is ours. What ours does otherwise, and why, is in
//! docs/explanation/layers.md: the round trip is measured, pairs are judged by their median, the queue is seen
//! before it overflows, and a flow that leaves no queue alone is answered as TCP would.

mod queue_target;
mod short_sample;
mod intervals;
mod controller;
mod leave_latency;
mod loss_events;
mod published;
mod queue;
mod random_loss;

pub use controller::Era;
pub use published::{Published, target};
