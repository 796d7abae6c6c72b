//! `[[expect]]`: expected figures, and whether they hold.

use super::{
    factors::{self, Choice, Factor},
    figures::{self, Figure},
    references::Reference,
};
use crate::scenario::{fields::Fields, units};
use fanfare_crypto::toml::suggest;

/// A sentence about a figure that is true or not.
#[derive(Debug, Clone)]
pub struct Expectation {
    /// The sentence.
    pub that: String,
    pub(super) figure: usize,
    pub(super) cells: Choice,
    /// The name of the reference whose ratio is meant.
    pub(super) of: Option<String>,
    /// It is said of each run, not of their mean.
    pub(super) every: bool,
    pub(super) at_least: f64,
    pub(super) at_most: f64,
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
