//! `[plot]`: figures plotted over a factor.

use super::{
    factors::{self, Cell, Choice, Factor},
    figures::{self, Figure},
    results::Results,
};
use crate::scenario::fields::Fields;

/// How an experiment is drawn.
#[derive(Debug, Clone)]
pub struct Plot {
    /// The axis' words.
    pub x_title: String,
    /// The axis has a decade where others have a step.
    pub log: bool,
    x: usize,
    figure: usize,
    cells: Choice,
}

/// A line of a plot.
#[derive(Debug, Clone, PartialEq)]
pub struct Curve {
    /// The levels that all its points have.
    pub name: String,
    /// Where, how much, and half of its confidence interval.
    pub points: Vec<(f64, f64, f64)>,
}

impl Plot {
    /// What is drawn: the figure's name and unit.
    #[must_use]
    pub fn y_title(&self, results: &Results<'_>) -> String {
        results.experiment.figures[self.figure].title()
    }
    /// A line for each combination of the factors that are not the axis.
    #[must_use]
    pub fn curves(&self, results: &Results<'_>) -> Vec<Curve> {
        let mut curves: Vec<Curve> = Vec::new();
        for cell in results.cells().iter().filter(|cell| self.cells.holds(cell)) {
            let Some(summary) = results.summary(cell, self.figure) else { continue };
            let name = self.name(results, cell);
            let labels = results.experiment.labels(cell);
            let point = (number(labels[self.x]), summary.mean, summary.ci95);
            match curves.iter_mut().find(|curve| curve.name == name) {
                Some(curve) => curve.points.push(point),
                None => curves.push(Curve { name, points: vec![point] }),
            }
        }
        curves
    }

    fn name(&self, results: &Results<'_>, cell: &Cell) -> String {
        let labels = results.experiment.labels(cell);
        let factors = results.experiment.factors.iter().zip(labels).enumerate();
        let varied = |factor: &Factor| {
            let all = results.cells().iter().filter(|cell| self.cells.holds(cell));
            let at = results.experiment.factors.iter().position(|f| f.name == factor.name);
            let mut levels: Vec<usize> =
                all.filter_map(|cell| at.map(|at| cell.levels()[at])).collect();
            levels.dedup();
            levels.len() > 1
        };
        let words: Vec<&str> = factors
            .filter(|(n, (factor, _))| *n != self.x && varied(factor))
            .map(|(_, (_, label))| label)
            .collect();
        words.join(" ")
    }
}

/// The number that a level begins with: 0.1 of `0.1%`.
fn number(label: &str) -> f64 {
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
