//! Plain words that a program says: errors as one line with a stable name, and rates, times
//! and sizes as people write them.
//!
//! - `exit`: exit codes and failures; `causes`: errors of the library as failures; `printable`: text that
//!   others wrote
//! - [`units`]: rates, times and sizes

mod causes;
mod exit;
mod printable;
pub mod units;

pub use causes::directory_failure;
pub use exit::{Exit, Failure};
pub use printable::Printable;
