//! What is to be measured.

use std::path::PathBuf;

use super::cell::RateCell;

/// What is to be measured.
#[derive(Debug, Clone)]
pub struct RateBench {
    /// The networks, one after another.
    pub cells: Vec<RateCell>,
    /// How often each sender sends in each cell.
    pub repetitions: u32,
    /// Whether TCP is measured, too.
    pub tcp: bool,
    /// Where `rate.md` and `rate.csv` go, if they are wanted.
    pub out: Option<PathBuf>,
    /// Where files are while they are sent, better in memory.
    pub directory: PathBuf,
    /// The program that is measured.
    pub fanfare: PathBuf,
}
