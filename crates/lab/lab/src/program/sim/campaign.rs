//! Many scenarios with many seeds each, over all cores, each run once however often it is wanted.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    sync::{
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
    thread,
};

use fanfare_sim::{Scenario, Values, metrics::Metric};

use crate::scenario_files::load;
use fanfare_command::Failure;

/// Scenarios, and what their runs gave.
#[derive(Debug, Default)]
pub(super) struct Campaign {
    scenarios: Vec<Scenario>,
    known: BTreeMap<(PathBuf, Values), usize>,
    done: BTreeMap<Run, Vec<Metric>>,
}

/// One run: the scenario's number and the seed.
pub(super) type Run = (usize, u64);

impl Campaign {
    /// The number of a scenario file with these values.
    pub(super) fn scenario(&mut self, path: &Path, values: Values) -> Result<usize, Vec<Failure>> {
        let key = (path.to_path_buf(), values);
        if let Some(known) = self.known.get(&key) {
            return Ok(*known);
        }
        self.scenarios.push(load(path, &key.1)?);
        self.known.insert(key, self.scenarios.len() - 1);
        Ok(self.scenarios.len() - 1)
    }
    /// The figures of a run that has been.
    pub(super) fn metrics(&self, run: Run) -> &[Metric] {
        self.done.get(&run).map(Vec::as_slice).unwrap_or_default()
    }

    /// Runs what has not been run yet, `threads` at a time; `on_run` is told how many are done of
    /// all that ever were.
    pub(super) fn run(
        &mut self,
        wanted: impl Iterator<Item = Run>,
        threads: usize,
        mut on_run: impl FnMut(usize),
    ) {
        let runs: BTreeSet<Run> = wanted.filter(|run| !self.done.contains_key(run)).collect();
        let runs: Vec<Run> = runs.into_iter().collect();
        let (next, scenarios) = (AtomicUsize::new(0), &self.scenarios);
        let all = &mut self.done;
        thread::scope(|scope| {
            let (done, results) = mpsc::channel();
            for _ in 0..threads {
                let (done, next, runs) = (done.clone(), &next, &runs);
                scope.spawn(move || {
                    while let Some(run) = runs.get(next.fetch_add(1, Ordering::Relaxed)) {
                        let scenario = &scenarios[run.0];
                        let metrics = scenario.metrics_of(&scenario.plan(run.1).run());
                        if done.send((*run, metrics)).is_err() {
                            return;
                        }
                    }
                });
            }
            drop(done);
            for (run, metrics) in results {
                all.insert(run, metrics);
                on_run(all.len());
            }
        });
    }
}
