//! A company's messages by real systems, side by side over the same emulated radio.
//!
//! The traffic is that of the simulated company (scenarios/files/company.toml), shortened: position
//! reports from every node to every node, sensor data from one to three, documents from one to two.
//! Each system runs in a lab of its own with the same seed. This process notes what is published
//! and what arrives, so there is one clock.
//!
//! - `plan`: what is measured; `radio`: how the vehicles hear each other
//! - `traffic`: what is published when, and for whom; `tally`: what has arrived
//! - `trial`: one system on one radio; `crew`: its programs; `fault`: what goes wrong meanwhile
//! - `table`: all of them

mod crew;
mod fault;
mod plan;
mod radio;
mod table;
mod tally;
mod traffic;
mod trial;

pub use fault::Fault;
pub use plan::Company;
pub use radio::Radio;
pub use table::{CompanyRow, RawMessage};
pub use tally::Cut;
pub(crate) use trial::Trial;

use crate::{
    error::LabError,
    peer::messaging::{MessagingSoftware, MessagingSystem},
    stop::Stop,
    system::privileges,
    trials,
};
/// Vehicles, as in the simulated company.
pub const VEHICLES: usize = 24;
/// So many at least: the sixth has the sensor.
pub const VEHICLES_MIN: usize = 6;

/// What is told while it runs.
#[derive(Debug)]
pub enum CompanyProgress<'a> {
    /// A system is left out, and why.
    Missing(MessagingSystem, &'a LabError),
    /// A trial has ended.
    Ended(&'a CompanyRow),
}

/// A system that can be run.
pub(crate) type Prepared = (MessagingSystem, Box<dyn MessagingSoftware>);

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
        let rows = self.measure(stop, tell)?;
        self.trials.write("company-systems", &table::markdown(self, &rows), &table::csv(&rows))?;
        Ok(rows)
    }

    /// Runs all of it.
    fn measure(
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
        let mut ended = |row: &CompanyRow| tell(CompanyProgress::Ended(row));
        let run = |_, trial: Trial<'_>| trial.run();
        trials::side_by_side(self.trials.jobs(), trials, stop, run, &mut ended)
    }

    /// Finds or compiles all systems.
    ///
    /// # Errors
    /// A named one is missing.
    pub(crate) fn prepare(
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
pub(crate) mod tests {
    use std::{path::PathBuf, time::Duration};

    use super::*;
    use crate::trials::Trials;
    use fanfare_sim::Scenario;

    /// A minute of six vehicles on the fixed radio.
    pub(crate) fn company() -> Company {
        Company {
            systems: vec![MessagingSystem::Nats],
            leave_out_missing: false,
            radios: vec![Radio::Fixed],
            vehicles: 6,
            duration: Duration::from_secs(60),
            rest: Duration::from_secs(30),
            seed: 1,
            trials: Trials { out: PathBuf::new(), jobs: 1, fanfare: PathBuf::new() },
        }
    }

    pub(crate) use super::table::tests::{of_version, row};

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
