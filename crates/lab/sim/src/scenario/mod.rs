//! Scenario files: TOML in, a plan out, and all mistakes reported at once.
//!
//! The format is described in docs/reference/scenario-files.md. Map, in reading order:
//! - `fields`: reads a table; `units`: values
//! - `variables`: replaced in the text before it is read
//! - `nodes`, `links`, `queues`, `traces`, `flows`, `groups`, `layered`, `programs`, `changes`,
//!   `reactions`: the sections
//! - `assembly`: makes a plan of them

mod assembly;
mod changes;
pub(crate) mod fields;
mod flows;
mod gateways;
mod groups;
mod layered;
mod links;
mod nodes;
mod programs;
mod queues;
mod reactions;
#[cfg(test)]
pub(crate) mod tests;
mod traces;
pub(crate) mod units;
pub(crate) mod variables;

pub use fanfare_crypto::toml::Mistake;
pub use programs::{ExpectedExit, Program, ProgramCommand};
pub use traces::ReadFile;
pub use variables::Values;

use crate::{
    flow::layered::Convergence,
    plan::{Plan, Until},
    results::{metrics::Metric, reaction::Reaction, report::Report},
};
use core::ops::Range;
use fanfare_crypto::toml::Mistakes;
use fanfare_proto::Duration;
use std::collections::BTreeSet;
use toml::de::DeTable;

/// A scenario file, understood.
#[derive(Debug, Clone)]
pub struct Scenario {
    /// Its name.
    pub name: String,
    /// One line about it; may be empty.
    pub about: String,
    /// The seed to begin with.
    pub seed: u64,
    /// The time that steady figures are taken from.
    pub window: Range<Duration>,
    /// Beginnings of the names of metrics to show; all when empty.
    pub metrics: Vec<String>,
    /// What runs on real hosts.
    pub programs: Vec<Program>,
    /// Changes whose reaction is measured.
    pub reactions: Vec<Reaction>,
    /// Shares that receivers of layers should come to.
    pub reachings: Vec<Convergence>,
    plan: Plan,
}

/// What a file is read for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Purpose {
    Simulation,
    Laboratory,
}

impl Scenario {
    /// Reads a scenario. `read` gives the text of a file that it names.
    ///
    /// # Errors
    /// All mistakes, in the order of the file.
    pub fn parse(text: &str, read: &ReadFile<'_>) -> Result<Self, Vec<Mistake>> {
        Self::parse_with(text, &Values::new(), read)
    }
    /// The same, with values in the place of its variables.
    ///
    /// # Errors
    /// As [`Self::parse`].
    pub fn parse_with(
        text: &str,
        values: &Values,
        read: &ReadFile<'_>,
    ) -> Result<Self, Vec<Mistake>> {
        Self::parse_for(Purpose::Simulation, (text, values), read)
    }
    /// The same for real hosts: programs alone are enough, and when no flow of ours, no program and
    /// no `host = true` says which nodes are hosts, all are.
    ///
    /// # Errors
    /// As [`Self::parse`].
    pub fn parse_for_laboratory(text: &str, read: &ReadFile<'_>) -> Result<Self, Vec<Mistake>> {
        Self::parse_for_laboratory_with(text, &Values::new(), read)
    }
    /// The same, with values in the place of its variables.
    ///
    /// # Errors
    /// As [`Self::parse`].
    pub fn parse_for_laboratory_with(
        text: &str,
        values: &Values,
        read: &ReadFile<'_>,
    ) -> Result<Self, Vec<Mistake>> {
        Self::parse_for(Purpose::Laboratory, (text, values), read)
    }

    /// The variables of a scenario's text.
    #[must_use]
    pub fn variables(text: &str) -> BTreeSet<String> {
        variables::open(text)
    }

    fn parse_for(
        purpose: Purpose,
        (text, values): (&str, &Values),
        read: &ReadFile<'_>,
    ) -> Result<Self, Vec<Mistake>> {
        let open = Mistakes::new(text);
        let text = variables::fill(text, values, &open);
        let list = open.into_list();
        // Without their values most lines would be wrong.
        if list.is_empty() { Self::parse_filled(purpose, &text, read) } else { Err(list) }
    }

    fn parse_filled(
        purpose: Purpose,
        text: &str,
        read: &ReadFile<'_>,
    ) -> Result<Self, Vec<Mistake>> {
        let mistakes = Mistakes::new(text);
        let (root, broken) = DeTable::parse_recoverable(text);
        for error in &broken {
            let at = error.span().map_or(0, |span| span.start);
            mistakes.note(at, format!("TOML: {}. Correct the file", error.message()));
        }
        // What is broken hides keys: complaints about them would mislead.
        let scenario = match broken.is_empty() {
            true => assembly::build(purpose, root.get_ref(), &mistakes, read),
            false => None,
        };
        let list = mistakes.into_list();
        scenario.filter(|_| list.is_empty()).ok_or(list)
    }

    /// Whether a run is meant to end with every receiver having everything.
    #[must_use]
    pub fn ends_complete(&self) -> bool {
        self.plan.until != Until::Limit
    }
    /// The figures of a run: those that the file asks for, and those of its reactions.
    #[must_use]
    pub fn metrics_of(&self, report: &Report) -> Vec<Metric> {
        // What never ends is never complete.
        let of_an_end = ["complete", "completion_s", "data_ratio"];
        let chosen = |(name, _): &Metric| {
            let ends = self.ends_complete() || !of_an_end.contains(&name.as_str());
            ends && (self.metrics.is_empty()
                || self.metrics.iter().any(|wanted| name.starts_with(wanted.as_str())))
        };
        let mut metrics = report.metrics(&self.window);
        metrics.extend(self.reactions.iter().flat_map(|reaction| reaction.metrics(report)));
        metrics.extend(self.reachings.iter().flat_map(|convergence| convergence.metrics(report)));
        metrics.into_iter().filter(chosen).collect()
    }
    /// The plan with this seed.
    #[must_use]
    pub fn plan(&self, seed: u64) -> Plan {
        Plan { seed, from_file: true, ..self.plan.clone() }
    }
}
