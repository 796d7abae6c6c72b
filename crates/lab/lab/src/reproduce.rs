//! The papers' tables again: every system in every cell, side by side, over the same network.
//!
//! - `experiment`: cells, their networks, and the published figures
//! - `trial`: one transfer of one system; `scheduling_delay`: whether the machine delayed it
//! - `record`: the result of a trial, and the file of all records
//! - `campaign`: all trials, as many at a time as the machine can run; recorded trials are not
//!   repeated
//! - `table`: the records as Markdown and CSV
//! - `agreement`: whether two campaigns agree

mod agreement;
mod campaign;
mod experiment;
mod record;
mod scheduling_delay;
mod table;
mod trial;

pub use agreement::{Agreement, AgreementRow, Figure};
pub use campaign::{Campaign, Measured, Progress};
pub use experiment::{Cell, Experiment, Published};
pub use record::{Outcome, Record};
pub use table::Point;
pub(crate) use table::machine;
