//! What commands read from a live page of a monitor.
//!
//! - `options`: whether a sender is advised; `adapting`: advice as it comes, and as it lapses
//! - `past`: `fanfare monitor export` and `report`, of what a monitor has kept

mod adapting;
mod options;
mod past;

pub use adapting::{Adapting, follow};
pub use options::{AdaptArgs, AdaptPlan};
pub use past::{ExportArgs, ReportArgs, export, report};
