//! Whether what is expected holds.

use super::{expectations::Expectation, factors::Cell, results::Results};
use crate::results::statistics::Summary;

/// How far it is true.
#[derive(Debug, Clone, PartialEq)]
pub struct Verdict {
    /// The sentence.
    pub that: String,
    /// Cells in which it is.
    pub held: usize,
    /// Cells in which it is not: the names of their levels, and the value.
    pub missed: Vec<(String, f64)>,
}

impl Expectation {
    pub(super) fn verdict(&self, results: &Results<'_>) -> Verdict {
        let mut verdict = Verdict { that: self.that.clone(), held: 0, missed: Vec::new() };
        for cell in results.cells().iter().filter(|cell| self.cells.holds(cell)) {
            let Some(values) = self.values(results, cell) else { continue };
            let wrong = |value: &f64| !(self.at_least..=self.at_most).contains(value);
            match values.into_iter().find(wrong) {
                None => verdict.held += 1,
                Some(value) => {
                    let labels = results.experiment.labels(cell);
                    verdict.missed.push((labels.join(" "), value));
                }
            }
        }
        verdict
    }

    /// The mean; of every run the two that are farthest from each other.
    fn values(&self, results: &Results<'_>, cell: &Cell) -> Option<Vec<f64>> {
        let Summary { mean, least, greatest, .. } = results.summary(cell, self.figure)?;
        let values = if self.every { vec![*least, *greatest] } else { vec![*mean] };
        let beside = match &self.of {
            None => 1.0,
            Some(name) => results.named(cell, self.figure, name)?,
        };
        Some(values.into_iter().map(|value| value / beside).collect())
    }
}
