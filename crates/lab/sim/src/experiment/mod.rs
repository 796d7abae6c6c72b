//! Experiments: a scenario with variables that vary, the figures of each cell, reference numbers
//! beside them, and expectations. TOML in, tables out.
//!
//! The format is described in docs/reference/experiment-files.md. Map, in reading order:
//! - `factors`: what varies, and the resulting cells; `settings`: what does not
//! - `figures`: the figures of a cell; `references`: numbers beside them; `expectations`,
//!   and whether they hold: `verdicts`
//! - `records`: the results of every run; `results`: a table of them, as CSV; `markdown`: for
//!   people; `plot`: how it is drawn, `curves`: what is

mod curves;
mod expectations;
mod factors;
mod figures;
mod markdown;
mod plot;
mod records;
mod references;
mod results;
mod settings;
#[cfg(test)]
mod tests;
mod verdicts;

pub use curves::Curve;
pub use expectations::Expectation;
pub use factors::{Cell, Choice, Factor, Level};
pub use figures::Figure;
pub use plot::Plot;
pub use records::Records;
pub use references::Reference;
pub use results::Results;
use settings::set;
pub use verdicts::Verdict;

use crate::scenario::{
    Mistake, ReadFile, Values,
    fields::Fields,
    variables::{names, resolve},
};
use fanfare_crypto::toml::Mistakes;
use std::collections::BTreeSet;
use toml::de::DeTable;

/// Seeds of an experiment when nothing is said: as many as the thesis that the method is from
/// takes for its confidence intervals, and as `fanfare sim run` does.
const SEEDS: u64 = 20;

/// An experiment file, understood.
#[derive(Debug, Clone)]
pub struct Experiment {
    /// Its name; its results are called so.
    pub name: String,
    /// The folder of its results below the folder of all results; empty for that one itself.
    pub folder: String,
    /// What it shows.
    pub about: String,
    /// Where the numbers beside it come from.
    pub source: String,
    /// The scenario's file, beside this one.
    pub scenario: String,
    /// The first seed.
    pub seed: u64,
    /// Seeds of each cell.
    pub seeds: u64,
    /// What varies.
    pub factors: Vec<Factor>,
    /// What of a run makes a cell.
    pub figures: Vec<Figure>,
    /// What stands beside it.
    pub references: Vec<Reference>,
    /// What it is expected to be.
    pub expectations: Vec<Expectation>,
    /// How it is drawn.
    pub plot: Option<Plot>,
    set: Values,
}

impl Experiment {
    /// Reads an experiment. `read` gives the text of a file that it names.
    ///
    /// # Errors
    /// All mistakes, in the order of the file.
    pub fn parse(text: &str, read: &ReadFile<'_>) -> Result<Self, Vec<Mistake>> {
        let mistakes = Mistakes::new(text);
        let (root, broken) = DeTable::parse_recoverable(text);
        for error in &broken {
            let at = error.span().map_or(0, |span| span.start);
            mistakes.note(at, format!("TOML: {}. Correct the file", error.message()));
        }
        let file = Fields::new("file", 0, root.get_ref(), &mistakes);
        let experiment = if broken.is_empty() { build(&file, read) } else { None };
        let list = mistakes.into_list();
        experiment.filter(|_| list.is_empty()).ok_or(list)
    }

    /// Every combination of levels; the last factor varies fastest.
    #[must_use]
    pub fn cells(&self) -> Vec<Cell> {
        factors::cells(&self.factors)
    }
    /// What a cell puts into a scenario with the variables of `open`. Variables that only serve the
    /// values of others are left out.
    #[must_use]
    pub fn values(&self, cell: &Cell, open: &BTreeSet<String>) -> Values {
        let mut values = self.set.clone();
        for (factor, level) in self.factors.iter().zip(cell.levels()) {
            values.extend(factor.levels[*level].values.clone());
        }
        resolve(&mut values);
        values.retain(|name, _| open.contains(name) || !self.serves(name));
        values
    }
    /// Whether the value of another variable names this one.
    fn serves(&self, variable: &str) -> bool {
        let levels = self.factors.iter().flat_map(|factor| &factor.levels);
        let all = levels.flat_map(|level| level.values.values()).chain(self.set.values());
        all.flat_map(|value| names(value)).any(|(_, name)| name == variable)
    }
    /// The names of a cell's levels.
    #[must_use]
    pub fn labels(&self, cell: &Cell) -> Vec<&str> {
        let levels = self.factors.iter().zip(cell.levels());
        levels.map(|(factor, level)| factor.levels[*level].name.as_str()).collect()
    }
}

fn build(file: &Fields<'_>, read: &ReadFile<'_>) -> Option<Experiment> {
    let head = file.need("experiment", file.table("experiment"), "{ … }, or [experiment]");
    let factors: Vec<Factor> = file.tables("vary").iter().filter_map(factors::read).collect();
    if factors.is_empty() {
        file.mistakes.note(0, "experiment: nothing varies. Write a [[vary]]");
    }
    let figures: Vec<Figure> = file.tables("figure").iter().filter_map(figures::read).collect();
    if figures.is_empty() {
        file.mistakes.note(0, "experiment: has no figure. Write a [[figure]]");
    }
    let tables = file.tables("reference");
    let reference = |fields| references::read(fields, &factors, &figures, read);
    let references: Vec<Reference> = tables.iter().filter_map(reference).collect();
    let tables = file.tables("expect");
    let expectation = |fields| expectations::read(fields, &factors, &figures, &references);
    let expectations = tables.iter().filter_map(expectation).collect();
    let plot = file.table("plot").and_then(|fields| plot::read(&fields, &factors, &figures));
    let set = file.table("set").map(|fields| set(&fields)).unwrap_or_default();
    file.finish();
    let head = head?;
    let text = |key| head.text(key).unwrap_or_default().to_owned();
    let (about, source) = (text("about"), text("source"));
    let name = head.need("name", head.text("name"), "\"a name\"");
    let folder = head.read("folder", folder).unwrap_or_default();
    let scenario = head.need("scenario", head.text("scenario"), "\"road.toml\"");
    let seed = head.count("seed", 0..=u64::MAX >> 1).unwrap_or(1);
    let seeds = head.count("seeds", 1..=1_000_000).unwrap_or(SEEDS);
    head.finish();
    let (name, scenario) = (name?.to_owned(), scenario?.to_owned());
    Some(Experiment {
        name,
        folder,
        about,
        source,
        scenario,
        seed,
        seeds,
        factors,
        figures,
        references,
        expectations,
        plot,
        set,
    })
}

/// A folder's name. It never leads out of the folder of all results.
fn folder(text: &str) -> Result<String, String> {
    match text.chars().all(|c| c.is_ascii_alphanumeric() || c == '-') {
        true => Ok(text.to_owned()),
        false => Err("is not a folder's name. Use letters, digits and -".to_owned()),
    }
}
