//! The table of an experiment: each figure of each cell over its seeds, with its references.

use std::{collections::BTreeMap, fmt::Write};

use super::{
    Experiment, factors::Cell, records::Records, references::Reference, verdicts::Verdict,
};
use crate::results::statistics::Summary;

/// What came of an experiment.
#[derive(Debug)]
pub struct Results<'a> {
    /// The experiment.
    pub experiment: &'a Experiment,
    cells: Vec<Cell>,
    figures: BTreeMap<Cell, Vec<Summary>>,
}

impl<'a> Results<'a> {
    /// Sums up all runs.
    #[must_use]
    pub fn new(experiment: &'a Experiment, records: &Records) -> Self {
        let cells = experiment.cells();
        let summaries = |cell: &Cell| {
            let figures = 0..experiment.figures.len();
            figures.map(|figure| Summary::of(&records.figure(cell, figure))).collect()
        };
        let figures = cells.iter().map(|cell| (cell.clone(), summaries(cell))).collect();
        Self { experiment, cells, figures }
    }
    /// All cells.
    #[must_use]
    pub fn cells(&self) -> &[Cell] {
        &self.cells
    }
    /// A figure of a cell, unless no run has it.
    #[must_use]
    pub fn summary(&self, cell: &Cell, figure: usize) -> Option<&Summary> {
        self.figures.get(cell)?.get(figure).filter(|summary| summary.runs > 0)
    }
    /// Its mean.
    #[must_use]
    pub fn mean(&self, cell: &Cell, figure: usize) -> Option<f64> {
        self.summary(cell, figure).map(|summary| summary.mean)
    }
    /// What stands beside it.
    #[must_use]
    pub fn beside(&self, cell: &Cell, reference: &Reference) -> Option<f64> {
        reference.of(cell, |other| self.mean(other, reference.figure))
    }
    /// Whether what was expected is so.
    #[must_use]
    pub fn verdicts(&self) -> Vec<Verdict> {
        self.experiment.expectations.iter().map(|expected| expected.verdict(self)).collect()
    }
    /// Figures that no run of any cell has.
    #[must_use]
    pub fn missing(&self) -> Vec<&'a str> {
        let figures = self.experiment.figures.iter().zip(0..);
        let has = |figure| self.cells.iter().any(|cell| self.summary(cell, figure).is_some());
        figures.filter(|(_, n)| !has(*n)).map(|(figure, _)| figure.name.as_str()).collect()
    }

    /// Names of references, each once.
    pub(super) fn reference_names(&self) -> Vec<&'a str> {
        let mut names: Vec<&str> = Vec::new();
        for reference in &self.experiment.references {
            if !names.contains(&reference.name.as_str()) {
                names.push(&reference.name);
            }
        }
        names
    }
    /// The number of this name beside a figure.
    pub(super) fn named(&self, cell: &Cell, figure: usize, name: &str) -> Option<f64> {
        let all = self.experiment.references.iter();
        let mut fitting = all.filter(|r| r.figure == figure && r.name == name);
        fitting.find_map(|reference| self.beside(cell, reference))
    }

    /// A line for each figure of each cell: for programs.
    #[must_use]
    pub fn to_csv(&self) -> String {
        let factors = self.experiment.factors.iter().map(|factor| factor.name.clone());
        let fixed = ["figure", "unit", "runs", "mean", "ci95", "least", "greatest"];
        let names = self.reference_names();
        let references = names.iter().flat_map(|name| [(*name).to_owned(), format!("of {name}")]);
        let heading: Vec<String> =
            factors.chain(fixed.map(str::to_owned)).chain(references).collect();
        let mut csv = heading.join(",") + "\n";
        for cell in &self.cells {
            for (figure, number) in self.experiment.figures.iter().zip(0..) {
                let Some(summary) = self.summary(cell, number) else { continue };
                let labels = self.experiment.labels(cell).join(",");
                let Summary { runs, mean, ci95, least, greatest } = summary;
                let numbers = [mean, ci95, least, greatest].map(|value| figure.text(*value));
                let _ = write!(csv, "{labels},{},{},{runs}", figure.name, figure.unit);
                let _ = write!(csv, ",{}", numbers.join(","));
                for name in &names {
                    let _ = match self.named(cell, number, name) {
                        Some(beside) => write!(csv, ",{beside},{:.4}", mean / beside),
                        None => write!(csv, ",,"),
                    };
                }
                csv.push('\n');
            }
        }
        csv
    }
}
