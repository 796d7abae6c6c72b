//! What readers of TOML files share: scenario files, experiments and configuration files.
//!
//! A reader notes every mistake with its place and goes on, so that one run names them all.
//!
//! - `mistakes`: what is wrong so far; `suggestion`: the nearest word that would have been right
//! - `value`: values as they stand in the file

mod mistakes;
mod suggestion;
mod value;

pub use mistakes::{Mistake, Mistakes};
pub use suggestion::{nearest, suggest};
pub use value::{scalar, shown};
