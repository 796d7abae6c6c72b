//! Seed 002's comparison of systems for group communication (5.8 and 5.9): the same messages at the
//! same times by all of them, over the same radio, and this process as the one clock.
//!
//! Driver and StatServer of the paper are `peer::messaging` and `company` here: what a system does on
//! a host, and what is published when. This repeats that with other seeds, and makes medians.
//!
//! - `record`: the file of all trials, which are not run again
//! - `cell`: what the repetitions of a system on a radio say together

mod cell;
mod record;

pub use cell::{HarnessCell, MedianOf};

use std::{
    ops::Range,
    sync::{Mutex, PoisonError},
};

use crate::{
    company::{Company, CompanyProgress, CompanyRow, Prepared, Trial},
    error::LabError,
    stop::Stop,
    system::privileges,
    trials::side_by_side,
};
use record::RecordFile;

/// A trial in which the emulator was later than that, in one packet of a hundred, is run again, so often in
/// all: it is half of the time that a full packet has the air, and more than most delays of a good radio.
const LATE_MAX_MS: f64 = 10.0;
const ATTEMPTS: u32 = 2;

/// A comparison with several seeds.
#[derive(Debug, Clone)]
pub struct Harness {
    /// What is run with each seed.
    pub company: Company,
    /// Numbers of repetitions; the seed is one more.
    pub repetitions: Range<u32>,
}

/// What has been measured, now and before.
#[derive(Debug)]
pub struct HarnessRun {
    /// Systems and radios, in the order of tables.
    pub cells: Vec<HarnessCell>,
    /// All trials of this size.
    pub rows: Vec<CompanyRow>,
    /// Why not all was measured, if so.
    pub ended: Result<(), LabError>,
}

impl Harness {
    /// Runs what has not been run.
    ///
    /// # Errors
    /// When the records cannot be read, or a named system is missing.
    pub fn run(
        &self,
        stop: &Stop,
        tell: &mut (dyn FnMut(CompanyProgress<'_>) + Send),
    ) -> Result<HarnessRun, LabError> {
        privileges::check()?;
        let file = RecordFile::open(&self.company.trials.out)?;
        let fleets = self.company.prepare(tell)?;
        let seed = |number: u32| Company { seed: u64::from(number) + 1, ..self.company.clone() };
        let companies: Vec<Company> = self.repetitions.clone().map(seed).collect();
        let planned = self.trials(&companies, &fleets, &file, stop);
        let file = Mutex::new(file);
        let run = |_, trial: Trial<'_>| {
            let row = on_time(&trial)?;
            file.lock().unwrap_or_else(PoisonError::into_inner).add(row)
        };
        let mut ended = |row: &CompanyRow| tell(CompanyProgress::Ended(row));
        let jobs = self.company.trials.jobs();
        let ran = side_by_side(jobs, planned, stop, run, &mut ended);
        let file = file.into_inner().unwrap_or_else(PoisonError::into_inner);
        let rows = file.of(&self.company);
        Ok(HarnessRun { cells: cell::cells(&rows), rows, ended: ran.map(drop) })
    }

    /// Those that are to be run, in an order that is by chance, and the same each time.
    fn trials<'a>(
        &self,
        companies: &'a [Company],
        fleets: &'a [Prepared],
        file: &RecordFile,
        stop: &'a Stop,
    ) -> Vec<Trial<'a>> {
        let mut trials = Vec::new();
        for company in companies {
            for radio in &self.company.radios {
                for (system, fleet) in fleets {
                    let key = (radio.name(), system.name(), fleet.version());
                    if !file.has(company, key) {
                        let order = order(company.seed, key);
                        let trial = Trial::new(company, *radio, *system, &**fleet, stop);
                        trials.push((order, trial));
                    }
                }
            }
        }
        trials.sort_by_key(|(order, _)| *order);
        trials.into_iter().map(|(_, trial)| trial).collect()
    }
}

fn order(seed: u64, (radio, system, _): (&str, &str, &str)) -> (u64, [u8; 32]) {
    (seed, *blake3::hash(format!("{seed} {radio} {system}").as_bytes()).as_bytes())
}

/// Runs it, and again where the emulator was too late.
fn on_time(trial: &Trial<'_>) -> Result<CompanyRow, LabError> {
    for _ in 1..ATTEMPTS {
        let row = trial.run()?;
        if row.late_ms() <= LATE_MAX_MS {
            return Ok(row);
        }
    }
    trial.run()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MessagingSystem;

    #[test]
    fn the_order_of_systems_is_another_for_each_seed_and_the_same_each_time() {
        let systems = MessagingSystem::ALL.map(MessagingSystem::name);
        let ordered = |seed| {
            let mut all = systems.to_vec();
            all.sort_by_key(|system| order(seed, ("fixed", system, "1")));
            all
        };
        assert_eq!(ordered(1), ordered(1));
        assert_ne!(ordered(1), ordered(2));
        assert_ne!(ordered(1), systems);
    }
}
