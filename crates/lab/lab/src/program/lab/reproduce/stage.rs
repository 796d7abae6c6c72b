//! What experiments with real programs have in common: the lab of a scenario, and waiting in it.
//!
//! - `experiment`: all runs of one, and its tables
//! - `running`: a program of ours, and what it says; `page`: what its live page says
//! - `flow`: a flow beside it; `directory`: where files are

mod directory;
mod experiment;
mod flow;
mod page;
mod running;

pub(super) use directory::Directory;
pub(super) use experiment::Experiment;
pub(super) use flow::{CONTROL, Flow, Pace, normal_after, within};
pub(super) use page::{document, fetch};
pub(super) use running::Running;

use std::time::Duration;

use fanfare_command::{Exit, Failure};
use fanfare_lab::{Lab, Stop};
use fanfare_sim::Scenario;

use crate::ending::failure;

/// The lab of a scenario.
pub(super) fn lab(text: &str, seed: u64) -> Result<Lab, Failure> {
    let scenario = scenario(text)?;
    Lab::up(&scenario, seed).map_err(|error| failure(&error))
}

/// Until so long after the lab came up.
pub(super) fn pause(lab: &Lab, stop: &Stop, until: Duration) -> Result<(), Failure> {
    match stop.wait(until.saturating_sub(lab.elapsed())) {
        true => Err(Failure::new(Exit::Interrupted, "lab.interrupted", "interrupted".to_owned())),
        false => Ok(()),
    }
}

/// What is a mistake of ours.
pub(super) fn broken(what: &str) -> Failure {
    Failure::new(Exit::Failed, "lab.experiment", format!("scenario: {what}. Report this"))
}

/// What a scenario is, or why it is none.
pub(super) fn scenario(text: &str) -> Result<Scenario, Failure> {
    let none = |file: &str| Err(format!("{file} is not part of it. Report this"));
    Scenario::parse_for_laboratory(text, &none).map_err(|mistakes| {
        let all: Vec<String> = mistakes.iter().map(ToString::to_string).collect();
        broken(&all.join("; "))
    })
}
