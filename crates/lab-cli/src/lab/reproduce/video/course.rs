//! What all cases of video have in common.

use std::time::Duration;

use fanfare_command::{Exit, Failure};
use fanfare_lab::{Lab, Stop};
use fanfare_sim::Scenario;

use crate::ending::failure;

/// What it is called among experiments.
pub(in super::super) const NAME: &str = "s002-video";

/// A kind of run: its name, its figures, and what makes them.
pub(super) struct Case {
    pub(super) name: &'static str,
    pub(super) about: &'static str,
    pub(super) figures: &'static [&'static str],
    pub(super) run: fn(u64, &Stop) -> Result<Vec<f64>, Failure>,
}

/// The lab of a scenario.
pub(super) fn lab(text: &str, seed: u64) -> Result<Lab, Failure> {
    let none = |file: &str| Err(format!("{file} is not part of it. Report this"));
    let scenario = Scenario::parse_for_laboratory(text, &none).map_err(|mistakes| {
        let all: Vec<String> = mistakes.iter().map(ToString::to_string).collect();
        broken(&all.join("; "))
    })?;
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
    Failure::new(Exit::Failed, "lab.experiment", format!("scenario (video): {what}. Report this"))
}
