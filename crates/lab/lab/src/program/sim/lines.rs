//! What `fanfare sim` prints: lines of JSON, or text. docs/reference/simulation.md has the schema.

use std::{collections::BTreeMap, path::Path};

use fanfare_sim::{Scenario, Summary, Values};
use serde::Serialize;

use super::{made::Made, seeds::Outcome};
use crate::scenario_files::load;
use fanfare_command::Output;

/// What a sweep begins with.
#[derive(Debug, Serialize)]
pub(super) struct Begun<'a> {
    event: &'static str,
    scenario: &'a str,
    about: &'a str,
    first_seed: u64,
    seeds: u64,
}

impl<'a> Begun<'a> {
    pub(super) fn new(scenario: &'a Scenario, first_seed: u64, seeds: u64) -> Self {
        let Scenario { name, about, .. } = scenario;
        Self { event: "scenario", scenario: name, about, first_seed, seeds }
    }
    pub(super) fn print(&self, output: &Output) {
        output.json(self);
        output.data(&format!("{}: {}", self.scenario, self.about));
    }
}

/// One run.
#[derive(Debug, Serialize)]
pub(super) struct SeedLine<'a> {
    event: &'static str,
    seed: u64,
    hash: String,
    complete: bool,
    ended_s: f64,
    metrics: BTreeMap<&'a str, f64>,
}

impl<'a> SeedLine<'a> {
    pub(super) fn of(outcome: &'a Outcome) -> Self {
        Self {
            event: "seed",
            seed: outcome.seed,
            hash: format!("{:016x}", outcome.hash),
            complete: outcome.complete,
            ended_s: outcome.ended_s,
            metrics: outcome.metrics.iter().map(|(name, value)| (name.as_str(), *value)).collect(),
        }
    }
    pub(super) fn print(&self, output: &Output) {
        output.json(self);
    }
}

/// The last line of a sweep.
#[derive(Debug, Serialize)]
pub(super) struct SweepResult<'a> {
    event: &'static str,
    ok: bool,
    exit: u8,
    scenario: &'a str,
    seeds: usize,
    complete: usize,
    metrics: BTreeMap<&'a str, Figure>,
}

#[derive(Debug, Serialize)]
struct Figure {
    runs: usize,
    mean: f64,
    ci95: f64,
    min: f64,
    max: f64,
}

impl<'a> SweepResult<'a> {
    pub(super) fn new(
        scenario: &'a str,
        outcomes: &[Outcome],
        figures: &'a [(String, Summary)],
        exit: u8,
    ) -> Self {
        let figure = |summary: &Summary| {
            let Summary { runs, mean, ci95, least: min, greatest: max } = *summary;
            Figure { runs, mean, ci95, min, max }
        };
        Self {
            event: "result",
            ok: exit == 0,
            exit,
            scenario,
            seeds: outcomes.len(),
            complete: outcomes.iter().filter(|outcome| outcome.complete).count(),
            metrics: figures.iter().map(|(name, s)| (name.as_str(), figure(s))).collect(),
        }
    }
    pub(super) fn print(&self, output: &Output) {
        output.json(self);
    }
}

/// A file of a directory.
#[derive(Debug, Serialize)]
pub(super) struct Listed {
    event: &'static str,
    file: String,
    scenario: Option<String>,
    about: String,
}

impl Listed {
    pub(super) fn of(path: &Path) -> Self {
        let file = path.display().to_string();
        match load(path, &Values::new()) {
            Ok(Scenario { name, about, .. }) => {
                Self { event: "scenario", file, scenario: Some(name), about }
            }
            Err(mistakes) => {
                let about = format!("{} mistakes: fanfare sim check tells them", mistakes.len());
                Self { event: "scenario", file, scenario: None, about }
            }
        }
    }
    pub(super) fn print(&self, output: &Output) {
        output.json(self);
        output.data(&format!("{}  {}", self.file, self.about));
    }
}

/// The end of what looks at files only.
#[derive(Debug, Serialize)]
pub(super) struct Checked {
    event: &'static str,
    ok: bool,
    exit: u8,
    files: usize,
}

impl Checked {
    pub(super) fn new(files: usize) -> Self {
        Self { event: "result", ok: true, exit: 0, files }
    }
    pub(super) fn print(&self, output: &Output) {
        output.json(self);
    }
}

/// A table that was made, or compared.
#[derive(Debug, Serialize)]
pub(super) struct TableLine<'a> {
    event: &'static str,
    table: &'a str,
    about: &'a str,
    cells: usize,
    runs: usize,
    differing: usize,
    expected: Vec<Expected>,
}

#[derive(Debug, Serialize)]
struct Expected {
    that: String,
    held: usize,
    missed: usize,
}

impl<'a> TableLine<'a> {
    pub(super) fn of(made: &'a Made) -> Self {
        let expected = made.verdicts.iter().map(|verdict| Expected {
            that: verdict.that.clone(),
            held: verdict.held,
            missed: verdict.missed.len(),
        });
        Self {
            event: "table",
            table: &made.name,
            about: &made.about,
            cells: made.cells,
            runs: made.runs,
            differing: made.differences.len(),
            expected: expected.collect(),
        }
    }
    pub(super) fn print(&self, output: &Output) {
        output.json(self);
    }
}

/// The end of tables.
#[derive(Debug, Serialize)]
pub(super) struct TablesResult {
    pub(super) event: &'static str,
    pub(super) ok: bool,
    pub(super) exit: u8,
    pub(super) tables: usize,
    pub(super) runs: usize,
    pub(super) cpu_seconds: f64,
}

impl TablesResult {
    pub(super) fn print(&self, output: &Output) {
        output.json(self);
        let Self { tables, runs, cpu_seconds, .. } = self;
        output.data(&format!("{tables} tables, {runs} runs, {cpu_seconds:.0} s of one core"));
    }
}

/// The end of a benchmark.
#[derive(Debug, Serialize)]
pub(super) struct BenchResult {
    pub(super) event: &'static str,
    pub(super) ok: bool,
    pub(super) exit: u8,
    pub(super) scenario: String,
    pub(super) runs: u64,
    pub(super) seconds: f64,
    pub(super) cpu_seconds: f64,
    /// Of a core's time.
    pub(super) seeds_per_hour: u64,
}

impl BenchResult {
    pub(super) fn print(&self, output: &Output) {
        output.json(self);
        let Self { scenario, runs, seconds, cpu_seconds, seeds_per_hour, .. } = self;
        output.data(&format!(
            "{scenario}: {runs} seeds in {cpu_seconds:.1} s of one core ({seconds:.1} s passed): \
             {seeds_per_hour} an hour"
        ));
    }
}
