//! `[[expect]]`: what figures are expected to be, and whether they are.

use super::{
    factors::{self, Cell, Choice, Factor},
    figures::{self, Figure},
    references::Reference,
    results::Results,
};
use crate::scenario::{fields::Fields, suggestion::suggest, units};

/// A sentence about a figure that is true or not.
#[derive(Debug, Clone)]
pub struct Expectation {
    /// The sentence.
    pub that: String,
    figure: usize,
    cells: Choice,
    /// The name of the reference whose ratio is meant.
    of: Option<String>,
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
            let Some(value) = self.value(results, cell) else { continue };
            if (self.at_least..=self.at_most).contains(&value) {
                verdict.held += 1;
            } else {
                let labels = results.experiment.labels(cell);
                verdict.missed.push((labels.join(" "), value));
            }
        }
        verdict
    }

    fn value(&self, results: &Results<'_>, cell: &Cell) -> Option<f64> {
        let mean = results.mean(cell, self.figure)?;
        match &self.of {
            None => Some(mean),
            Some(name) => {
                let references = results.experiment.references.iter();
                let mut named = references.filter(|r| r.name == *name && r.figure == self.figure);
                named.find_map(|reference| Some(mean / results.beside(cell, reference)?))
            }
        }
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
    let at_least = fields.read("at_least", units::number);
    let at_most = fields.read("at_most", units::number);
    if !fields.has("at_least") && !fields.has("at_most") {
        let text = "expect (): expects nothing. Write at_least or at_most";
        fields.mistakes.note(fields.at, text);
    }
    fields.finish();
    let figure = figure?;
    let names = || references.iter().filter(|r| r.figure == figure).map(|r| r.name.as_str());
    if let (Some(name), Some(value)) = (of, fields.get("of"))
        && !names().any(|known| known == name)
    {
        let hint = suggest(name, names());
        fields.wrong("of", value, format!("is no [[reference]] beside this figure. {hint}"));
    }
    Some(Expectation {
        that: that?.to_owned(),
        figure,
        cells,
        of: of.map(str::to_owned),
        at_least: at_least.unwrap_or(f64::NEG_INFINITY),
        at_most: at_most.unwrap_or(f64::INFINITY),
    })
}
