//! One transfer as it is shown, made of the lines of `--json` of `fanfare send` or `fanfare recv`.
//!
//! - `model`: what the lines say so far; `receiver`: one of those that receive
//! - `causes`: who is late, and why; `alert`: what is told about it
//! - `shape`: the document

mod alert;
mod causes;
mod model;
mod receiver;
mod shape;

pub(crate) use alert::{Alert, Alerts, Severity};
pub use model::{Kind, Transfer};
