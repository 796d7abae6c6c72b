//! `[plot]`: how an experiment is drawn.

use super::{
    factors::{self, Choice, Factor},
    figures::{self, Figure},
};
use crate::scenario::fields::Fields;

/// How an experiment is drawn.
#[derive(Debug, Clone)]
pub struct Plot {
    /// The axis' words.
    pub x_title: String,
    /// The axis has a decade where others have a step.
    pub log: bool,
    pub(super) x: usize,
    pub(super) figure: usize,
    pub(super) cells: Choice,
}

/// The number that a level begins with: 0.1 of `0.1%`.
pub(super) fn number(label: &str) -> f64 {
    let end = label.find(|c: char| !(c.is_ascii_digit() || ".e-".contains(c)));
    label[..end.unwrap_or(label.len())].parse().unwrap_or(f64::NAN)
}

/// Reads `[plot]`.
pub(super) fn read(fields: &Fields<'_>, factors: &[Factor], figures: &[Figure]) -> Option<Plot> {
    let names: Vec<(&str, usize)> =
        factors.iter().zip(0..).map(|(factor, n)| (factor.name.as_str(), n)).collect();
    let x = fields.need("x", fields.choice("x", &names), "\"loss\"");
    let x_title = fields.text("title").unwrap_or(x.map_or("", |x| &factors[x].name)).to_owned();
    let figure = figures::named(fields, "figure", figures);
    let log = fields.flag("log").unwrap_or(false);
    let cells = factors::choice(fields, "where", factors);
    fields.finish();
    let bad = |name: &str| !number(name).is_finite() || log && number(name) <= 0.0;
    let levels = &factors[x?].levels;
    if let Some(level) = levels.iter().find(|level| bad(&level.name)) {
        let text =
            format!("plot.x ({}): is not a place on the axis. Use another factor", level.name);
        fields.mistakes.note(fields.at, text);
    }
    Some(Plot { x_title, log, x: x?, figure: figure?, cells })
}
