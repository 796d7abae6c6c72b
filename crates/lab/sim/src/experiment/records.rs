//! The results of every run of an experiment, and the file that keeps them.

use std::{collections::BTreeMap, fmt::Write};

use super::{Experiment, factors::Cell};

/// The figures of each run, by cell and seed.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Records {
    runs: BTreeMap<(Cell, u64), Vec<Option<f64>>>,
}

impl Records {
    /// Adds a run; one of the same cell and seed before is forgotten.
    pub fn add(&mut self, cell: Cell, seed: u64, figures: Vec<Option<f64>>) {
        self.runs.insert((cell, seed), figures);
    }
    /// The runs of `newer` in the place of those of the same cells.
    pub fn replace(&mut self, newer: Self) {
        self.runs.retain(|(cell, _), _| !newer.runs.keys().any(|(other, _)| other == cell));
        self.runs.extend(newer.runs);
    }
    /// How many runs.
    #[must_use]
    pub fn len(&self) -> usize {
        self.runs.len()
    }
    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }
    /// The runs of `self` that `other` does not have alike: cell and seed.
    #[must_use]
    pub fn differences(&self, other: &Self) -> Vec<(&Cell, u64)> {
        let differs = |key, run| other.runs.get(key) != Some(run);
        let all = self.runs.iter().filter(|(key, run)| differs(*key, *run));
        all.map(|((cell, seed), _)| (cell, *seed)).collect()
    }
    /// One figure of a cell, of all seeds in their order.
    pub(super) fn figure(&self, cell: &Cell, figure: usize) -> Vec<f64> {
        let seeds = self.runs.range((cell.clone(), 0)..=(cell.clone(), u64::MAX));
        seeds.filter_map(|(_, figures)| figures.get(figure).copied().flatten()).collect()
    }

    /// A line for each run.
    #[must_use]
    pub fn to_csv(&self, experiment: &Experiment) -> String {
        let mut csv = heading(experiment) + "\n";
        for ((cell, seed), figures) in &self.runs {
            let figures = figures.iter().zip(&experiment.figures);
            let figures: Vec<String> = figures
                .map(|(value, figure)| value.map(|v| figure.text(v)).unwrap_or_default())
                .collect();
            let labels = experiment.labels(cell).join(",");
            // Writing to a string cannot fail.
            let _ = writeln!(csv, "{labels},{seed},{}", figures.join(","));
        }
        csv
    }
    /// Reads what [`Self::to_csv`] has written.
    ///
    /// # Errors
    /// When it is of an experiment with other factors, levels or figures.
    pub fn from_csv(text: &str, experiment: &Experiment) -> Result<Self, String> {
        let mut lines = text.lines();
        if lines.next() != Some(&heading(experiment)) {
            return Err(String::from("its columns do not match the experiment. Create it again"));
        }
        let cells: BTreeMap<String, Cell> = experiment
            .cells()
            .into_iter()
            .map(|cell| (experiment.labels(&cell).join(","), cell))
            .collect();
        let mut records = Self::default();
        for (line, number) in lines.zip(2..) {
            let run = run(line, &cells, experiment.factors.len(), experiment.figures.len());
            let Some((cell, seed, figures)) = run else {
                return Err(format!(
                    "line {number} is not a run of the experiment. Create the file again"
                ));
            };
            records.add(cell, seed, figures);
        }
        Ok(records)
    }
}

fn heading(experiment: &Experiment) -> String {
    let factors = experiment.factors.iter().map(|factor| factor.name.as_str());
    let figures = experiment.figures.iter().map(|figure| figure.name.as_str());
    factors.chain(["seed"]).chain(figures).collect::<Vec<_>>().join(",")
}

type Run = (Cell, u64, Vec<Option<f64>>);

fn run(line: &str, cells: &BTreeMap<String, Cell>, factors: usize, figures: usize) -> Option<Run> {
    let words: Vec<&str> = line.split(',').collect();
    if words.len() != factors + 1 + figures {
        return None;
    }
    let cell = cells.get(&words[..factors].join(","))?;
    let value = |word: &&str| match *word {
        "" => Some(None),
        number => number.parse().ok().map(Some),
    };
    let figures = words[factors + 1..].iter().map(value).collect::<Option<_>>()?;
    Some((cell.clone(), words[factors].parse().ok()?, figures))
}
