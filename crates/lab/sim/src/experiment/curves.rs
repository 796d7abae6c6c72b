//! `[plot]`: figures plotted over a factor.

use super::{
    factors::{Cell, Factor},
    plot::{Plot, number},
    results::Results,
};

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
