//! What came of an experiment.

use fanfare_sim::experiment::Verdict;

/// What came of an experiment.
#[derive(Debug)]
pub(super) struct Made {
    pub(super) name: String,
    pub(super) about: String,
    pub(super) cells: usize,
    pub(super) runs: usize,
    pub(super) verdicts: Vec<Verdict>,
    /// What is not as in the files, with `--check`.
    pub(super) differences: Vec<String>,
}
