//! `[[expect]]`: expected figures, and whether they hold.

use super::{
    factors::{self, Cell, Choice, Factor},
    figures::{self, Figure},
    references::Reference,
    results::Results,
};
use crate::{
    results::statistics::Summary,
    scenario::{fields::Fields, units},
};
use fanfare_toml::suggest;

/// A sentence about a figure that is true or not.
#[derive(Debug, Clone)]
pub struct Expectation {
    /// The sentence.
    pub that: String,
    figure: usize,
    cells: Choice,
    /// The name of the reference whose ratio is meant.
    of: Option<String>,
    /// It is said of each run, not of their mean.
    every: bool,
    at_least: f64,
    at_most: f64,
}

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

/// Reads one `[[expect]]`.
pub(super) fn read(
    fields: &Fields<'_>,
    factors: &[Factor],
    figures: &[Figure],
    references: &[Reference],
) -> Option<Expectation> {
    let that = fields.need("that", fields.text("that"), "\"a sentence\"");
    let figure = figures::named(fields, "figure", figures);
    let cells = factors::choice(fields, "where", factors);
    let of = fields.text("of");
    let every = fields.flag("every").unwrap_or(false);
    let at_least = fields.read("at_least", units::number);
    let at_most = fields.read("at_most", units::number);
    if !fields.has("at_least") && !fields.has("at_most") {
        let text = "expect: has no limit. Write at_least or at_most";
        fields.mistakes.note(fields.at, text);
    }
    fields.finish();
    let figure = figure?;
    let names = || references.iter().filter(|r| r.figure == figure).map(|r| r.name.as_str());
    if let (Some(name), Some(value)) = (of, fields.get("of"))
        && !names().any(|known| known == name)
    {
        let hint = suggest(name, names());
        fields.wrong("of", value, format!("is not a [[reference]] beside this figure. {hint}"));
    }
    Some(Expectation {
        that: that?.to_owned(),
        figure,
        cells,
        of: of.map(str::to_owned),
        every,
        at_least: at_least.unwrap_or(f64::NEG_INFINITY),
        at_most: at_most.unwrap_or(f64::INFINITY),
    })
}
