//! Runs many cells, a few at a time, and keeps their order.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::cell::Cell;
use crate::run::{self, Options, Outcome, Peers};
use crate::tool::{self, ToolError};

/// What became of a cell.
#[derive(Clone, Debug)]
pub enum Status {
    /// It ran; the outcome says pass or fail.
    Ran(Outcome),
    /// Not run, and why.
    Skipped(&'static str),
}

impl Status {
    /// Neither failed nor left out.
    pub fn passed(&self) -> bool {
        matches!(self, Self::Ran(outcome) if outcome.failure.is_none())
    }

    /// Ran and failed.
    pub fn failed(&self) -> bool {
        matches!(self, Self::Ran(outcome) if outcome.failure.is_some())
    }
}

/// Runs `cells`, `jobs` at a time; calls `said` with each as it ends.
///
/// # Errors
/// The first error of the runs themselves; failing cells are no error.
pub fn run_all(
    cells: &[Cell],
    peers: &Peers,
    options: &Options,
    jobs: usize,
    said: impl Fn(&Cell, &Status) + Sync,
) -> Result<Vec<(Cell, Status)>, ToolError> {
    let next = AtomicUsize::new(0);
    let results: Mutex<Vec<Option<Status>>> = Mutex::new(vec![None; cells.len()]);
    let broken: Mutex<Option<ToolError>> = Mutex::new(None);
    let worker = || {
        while let Some((index, cell)) = take(&next, cells) {
            match status_of(cell, peers, options) {
                Ok(status) => {
                    said(cell, &status);
                    results.lock().unwrap_or_else(|e| e.into_inner())[index] = Some(status);
                }
                Err(error) => {
                    next.store(cells.len(), Ordering::SeqCst);
                    broken.lock().unwrap_or_else(|e| e.into_inner()).get_or_insert(error);
                }
            }
        }
    };
    thread::scope(|scope| (0..jobs.max(1)).for_each(|_| drop(scope.spawn(worker))));
    if let Some(error) = broken.into_inner().unwrap_or_else(|e| e.into_inner()) {
        return Err(error);
    }
    let results = results.into_inner().unwrap_or_else(|e| e.into_inner());
    let done = cells.iter().cloned().zip(results);
    Ok(done.filter_map(|(cell, status)| Some((cell, status?))).collect())
}

fn take<'a>(next: &AtomicUsize, cells: &'a [Cell]) -> Option<(usize, &'a Cell)> {
    if tool::interrupted() {
        return None;
    }
    let index = next.fetch_add(1, Ordering::SeqCst);
    cells.get(index).map(|cell| (index, cell))
}

fn status_of(cell: &Cell, peers: &Peers, options: &Options) -> Result<Status, ToolError> {
    if cell.needs_fanfare() && peers.fanfare.is_none() {
        return Ok(Status::Skipped("no fanfare executable"));
    }
    run::run(cell, peers, options).map(Status::Ran)
}
