//! `[[figure]]`: which figures of a run a cell shows.

use crate::{
    results::{fairness::jain_index, metrics::Metric},
    scenario::fields::Fields,
};

/// Decimals that are kept of each run beyond those that are shown of the mean.
const MORE_DIGITS: usize = 2;

/// One figure of a cell.
#[derive(Debug, Clone)]
pub struct Figure {
    /// Its name: a column.
    pub name: String,
    /// Its unit; may be empty.
    pub unit: String,
    /// Decimals that are shown.
    pub digits: usize,
    metrics: Vec<String>,
    take: Take,
    scale: f64,
}

/// What is made of several metrics whose names begin alike.
#[derive(Debug, Clone, Copy)]
enum Take {
    Sum,
    Mean,
    Least,
    Greatest,
    Jain,
}

impl Figure {
    /// Its value in a run, rounded so that a file can hold it; none where no metric is so called.
    #[must_use]
    pub fn of(&self, metrics: &[Metric]) -> Option<f64> {
        let fits = |name: &str| {
            self.metrics.iter().any(|metric| match metric.strip_suffix('*') {
                Some(beginning) => name.starts_with(beginning),
                None => name == metric,
            })
        };
        let values: Vec<f64> =
            metrics.iter().filter(|(name, _)| fits(name)).map(|(_, value)| *value).collect();
        let least = values.iter().copied().reduce(f64::min)?;
        let greatest = values.iter().copied().reduce(f64::max)?;
        let sum: f64 = values.iter().sum();
        let taken = match self.take {
            Take::Sum => sum,
            Take::Mean => sum / values.len() as f64,
            Take::Least => least,
            Take::Greatest => greatest,
            Take::Jain => jain_index(&values),
        };
        self.text(taken * self.scale).parse().ok()
    }
    /// A run's value as files have it.
    pub(super) fn text(&self, value: f64) -> String {
        format!("{value:.*}", self.digits + MORE_DIGITS)
    }
    /// A mean as tables show it.
    pub(super) fn shown(&self, value: f64) -> String {
        format!("{value:.*}", self.digits)
    }
    /// Its name and unit.
    pub(super) fn title(&self) -> String {
        match self.unit.as_str() {
            "" => self.name.clone(),
            unit => format!("{}, {unit}", self.name),
        }
    }
}

/// Reads one `[[figure]]`.
pub(super) fn read(fields: &Fields<'_>) -> Option<Figure> {
    let takes = [
        ("sum", Take::Sum),
        ("mean", Take::Mean),
        ("least", Take::Least),
        ("greatest", Take::Greatest),
        ("jain", Take::Jain),
    ];
    let name = fields.need("name", fields.text("name"), "\"goodput\"");
    let metrics = fields.need("metric", fields.words("metric"), "\"goodput_sum_bps\"");
    let take = fields.choice("take", &takes).unwrap_or(Take::Sum);
    let number = |text: &str| {
        let number: f64 = text.parse().map_err(|_| "not a number. Write it as 0.001")?;
        if number.is_finite() { Ok(number) } else { Err(String::from("must be finite")) }
    };
    let scale = fields.read("scale", number).unwrap_or(1.0);
    let unit = fields.text("unit").unwrap_or_default().to_owned();
    let digits = fields.count("digits", 0..=9).unwrap_or(1) as usize;
    fields.finish();
    let metrics = metrics?.into_iter().map(|(name, _)| name.to_owned()).collect();
    Some(Figure { name: name?.to_owned(), unit, digits, metrics, take, scale })
}

/// The figure that a key names; the only one when it names none.
pub(super) fn named(fields: &Fields<'_>, key: &'static str, figures: &[Figure]) -> Option<usize> {
    let names: Vec<(&str, usize)> =
        figures.iter().zip(0..).map(|(figure, n)| (figure.name.as_str(), n)).collect();
    let chosen = fields.choice(key, &names);
    match names.as_slice() {
        [(_, only)] if !fields.has(key) => Some(*only),
        _ => fields.need(key, chosen, "\"the name of a [[figure]]\""),
    }
}
