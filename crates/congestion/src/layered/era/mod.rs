//! ERA, explicit rate adjustment: packet pairs tell what the path has, loss what TCP would take, and
//! the number of layers follows at once.
//!
//! [`Published`] is the thesis' rule, [`Era`] is ours. What ours does otherwise, and why, is in
//! docs/explanation/layers.md: the round trip is measured, pairs are judged by their median, the queue is seen
//! before it overflows, and a flow that leaves no queue alone is answered as TCP would.

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
