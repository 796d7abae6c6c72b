//! A report, and what it means.

use super::{probes::Past, view::View};

/// A report, and what it means.
pub(super) struct Seen {
    pub(super) view: View,
    pub(super) past: Past,
    /// The queueing delay that should be, seconds.
    pub(super) wanted: f64,
    /// A drain was under way: nothing is learned of the rate.
    pub(super) drained: bool,
    /// All of the rate was used.
    pub(super) used: bool,
    /// The rate from which to go on, bytes a second.
    pub(super) base: f64,
    /// What loss that is too much anyway leaves of it.
    pub(super) kept: f64,
}
