//! What was measured before: numbers in a file, bounded in time and in number.
//!
//! - `series`: the numbers of a document, by name; `store`: the file

mod series;
mod store;

pub use series::series;
pub use store::{History, HistoryError, Point};
