//! A company's messages by real systems, side by side over the same emulated radio.
//!
//! The traffic is that of the simulated company (scenarios/files/company.toml), shortened: position
//! reports from every node to every node, sensor data from one to three, documents from one to two.
//! Each system runs in a lab of its own with the same seed. This process notes what is published
//! and what arrives, so there is one clock.
//!
//! - `traffic`: what is published when, and for whom; `tally`: what has arrived
//! - `trial`: one system on one radio; `table`: all of them

mod table;
mod tally;
mod traffic;
mod trial;

pub use table::CompanyRow;

use crate::{
    error::{LabError, Refusal},
    name,
    peer::messaging::{MessagingSoftware, MessagingSystem},
    stop::Stop,
    system::privileges,
    trials::{self, Trials},
};
use std::{fmt, str::FromStr, sync::Mutex, thread, time::Duration};
use trial::Trial;

/// Vehicles, as in the simulated company.
pub const VEHICLES: usize = 24;
/// So many at least: the sixth has the sensor.
pub const VEHICLES_MIN: usize = 6;

/// How the vehicles hear each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Radio {
    /// They move; not all hear all, and not all the time.
    Moving,
    /// All hear all, and lose one packet in twenty.
    Fixed,
    /// All hear all, and lose nothing: what does not arrive here is the fault of how a system is set.
    Clear,
}

impl Radio {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Moving, Self::Fixed, Self::Clear];
    /// Those of the table.
    pub const MEASURED: [Self; 2] = [Self::Moving, Self::Fixed];

    /// Its name in options and tables.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Moving => "moving",
            Self::Fixed => "fixed",
            Self::Clear => "clear",
        }
    }

    /// As a scenario has it.
    fn scenario(self, vehicles: usize, limit: Duration) -> String {
        let hearing = match self {
            Self::Moving => "path_loss = { company = true, limit = 139 }",
            Self::Fixed => "loss = \"5 %\"",
            Self::Clear => "",
        };
        format!(
            "[scenario]\nname = \"company-{}\"\nduration = \"{}s\"\n\
             [[node]]\nname = \"v\"\ncount = {vehicles}\nhost = true\n\
             [[medium]]\nnodes = \"v*\"\nrate = \"600kbps\"\ndelay = \"1ms\"\n{hearing}\n",
            self.name(),
            limit.as_secs()
        )
    }
}

impl fmt::Display for Radio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Radio {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        name::find(text, Self::ALL, Self::name, "no radio is called so")
    }
}

/// What is to be measured.
#[derive(Debug, Clone)]
pub struct Company {
    /// Which systems.
    pub systems: Vec<MessagingSystem>,
    /// Whether a missing system is left out instead of refused.
    pub leave_out_missing: bool,
    /// On which radios.
    pub radios: Vec<Radio>,
    /// How many vehicles there are: fewer for a quick look.
    pub vehicles: usize,
    /// How long messages are published.
    pub duration: Duration,
    /// How long they then have left.
    pub rest: Duration,
    /// Decides losses and paths.
    pub seed: u64,
    /// How trials are run.
    pub trials: Trials,
}

/// What is told while it runs.
#[derive(Debug)]
pub enum CompanyProgress<'a> {
    /// A system is left out, and why.
    Missing(MessagingSystem, &'a LabError),
    /// A trial has ended.
    Ended(&'a CompanyRow),
}

/// A system that can be run.
type Prepared = (MessagingSystem, Box<dyn MessagingSoftware>);

impl Company {
    /// Runs all of it, and writes the tables.
    ///
    /// # Errors
    /// When the lab cannot be, a named system is missing, or `stop` was set.
    pub fn run(
        &self,
        stop: &Stop,
        tell: &mut (dyn FnMut(CompanyProgress<'_>) + Send),
    ) -> Result<Vec<CompanyRow>, LabError> {
        privileges::check()?;
        let fleets = self.prepare(tell)?;
        let trials: Vec<Trial<'_>> = self
            .radios
            .iter()
            .flat_map(|radio| fleets.iter().map(move |fleet| (*radio, fleet)))
            .map(|(radio, (carrier, fleet))| Trial::new(self, radio, *carrier, &**fleet, stop))
            .collect();
        let mut rows = Vec::new();
        for batch in trials.chunks(self.trials.jobs()) {
            // They last as long as each other.
            let tell = Mutex::new(&mut *tell);
            let ended: Vec<Result<CompanyRow, LabError>> = thread::scope(|scope| {
                let run = |trial: &'_ Trial<'_>| {
                    let row = trial.run()?;
                    if let Ok(mut tell) = tell.lock() {
                        tell(CompanyProgress::Ended(&row));
                    }
                    Ok(row)
                };
                let threads: Vec<_> =
                    batch.iter().map(|trial| scope.spawn(move || run(trial))).collect();
                let gone = || {
                    let text = "trial (its thread): panicked. Report this";
                    Err(LabError::new(Refusal::System, "lab.trial", text))
                };
                threads.into_iter().map(|one| one.join().unwrap_or_else(|_| gone())).collect()
            });
            for row in ended {
                rows.push(row?);
            }
        }
        self.trials.write("company-systems", &table::markdown(self, &rows), &table::csv(&rows))?;
        Ok(rows)
    }

    fn prepare(
        &self,
        tell: &mut (dyn FnMut(CompanyProgress<'_>) + Send),
    ) -> Result<Vec<Prepared>, LabError> {
        let tools = self.trials.tools();
        trials::available(
            &self.systems,
            |carrier| carrier.prepare(&tools),
            |_| self.leave_out_missing,
            |carrier, error| tell(CompanyProgress::Missing(carrier, error)),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fanfare_sim::Scenario;

    #[test]
    fn all_radios_are_networks_of_all_vehicles() {
        for radio in Radio::ALL {
            let none = |file: &str| Err(file.to_owned());
            let text = radio.scenario(VEHICLES, Duration::from_secs(60));
            let scenario = Scenario::parse_for_laboratory(&text, &none).unwrap();
            let hosts = scenario.plan(1).emulated_hosts();
            assert_eq!(hosts.len(), VEHICLES);
            assert_eq!((hosts[0].name.as_str(), hosts[23].name.as_str()), ("v1", "v24"));
        }
    }
}
