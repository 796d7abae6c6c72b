//! Which kind of link this is: told by how it behaves, as nobody says so (seed 002, 6.1.5).

mod kind;
mod kinds;

pub use kind::{Elected, Election, Rule, elect, likelihood, points};
pub use kinds::{KINDS, Kind};
