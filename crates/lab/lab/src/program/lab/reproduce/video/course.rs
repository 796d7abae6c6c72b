//! What all cases of video have in common.

use fanfare_command::Failure;
use fanfare_lab::Stop;

/// What it is called among experiments.
pub(in super::super) const NAME: &str = "s002-video";

/// A kind of run: its name, its figures, and what makes them.
pub(super) struct Case {
    pub(super) name: &'static str,
    pub(super) about: &'static str,
    pub(super) figures: &'static [&'static str],
    pub(super) run: fn(u64, &Stop) -> Result<Vec<f64>, Failure>,
}
