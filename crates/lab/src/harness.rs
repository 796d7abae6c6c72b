//! Seed 002's comparison of systems for group communication (5.8 and 5.9): the same messages at the
//! same times by all of them, over the same radio, and this process as the one clock.
//!
//! Driver and StatServer of the paper are `peer::messaging` and `company` here: what a system does on
//! a host, and what is published when. This repeats that with other seeds, and makes medians.
//!
//! - `record`: the file of all trials, which are not run again
//! - `cell`: what the repetitions of a system on a radio say together
//! - `table`: all cells for people and for programs; `published`: the paper's figures

mod cell;
mod published;
mod record;
mod table;

pub use cell::{HarnessCell, MedianOf};

use std::{
    ops::Range,
    sync::{Mutex, PoisonError},
    thread,
};

use crate::{
    company::{Company, CompanyProgress, CompanyRow, Prepared, Trial},
    error::{LabError, Refusal},
    peer::messaging::MessagingSystem,
    stop::Stop,
    system::privileges,
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

/// Trials that wait, and those that have been.
struct Work<'a> {
    waiting: Vec<Trial<'a>>,
    file: RecordFile,
    failure: Option<LabError>,
    tell: &'a mut (dyn FnMut(CompanyProgress<'_>) + Send),
}

impl Harness {
    /// Runs what has not been run, and writes the tables of all that has been.
    ///
    /// # Errors
    /// When the lab cannot be, a named system is missing, a record cannot be kept, or `stop` was set.
    pub fn run(
        &self,
        stop: &Stop,
        tell: &mut (dyn FnMut(CompanyProgress<'_>) + Send),
    ) -> Result<Vec<HarnessCell>, LabError> {
        privileges::check()?;
        let file = RecordFile::open(&self.company.trials.out)?;
        let fleets = self.company.prepare(tell)?;
        let seed = |number: u32| Company { seed: u64::from(number) + 1, ..self.company.clone() };
        let companies: Vec<Company> = self.repetitions.clone().map(seed).collect();
        let waiting = self.trials(&companies, &fleets, &file, stop);
        let work = Mutex::new(Work { waiting, file, failure: None, tell });
        thread::scope(|scope| {
            for _ in 0..self.company.trials.jobs() {
                scope.spawn(|| run_all(&work));
            }
        });
        let Work { file, failure, .. } = work.into_inner().unwrap_or_else(PoisonError::into_inner);
        let cells = cell::cells(&file.of(&self.company));
        self.company.trials.write(
            "harness",
            &table::markdown(self, &cells, file.rows()),
            &table::csv(&file.of(&self.company)),
        )?;
        failure.map_or(Ok(cells), Err)
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
        // The last is taken first, and so the first repetition is.
        trials.sort_by(|(one, _), (other, _)| other.cmp(one));
        trials.into_iter().map(|(_, trial)| trial).collect()
    }
}

fn order(seed: u64, (radio, system, _): (&str, &str, &str)) -> (u64, [u8; 32]) {
    (seed, *blake3::hash(format!("{seed} {radio} {system}").as_bytes()).as_bytes())
}

/// One worker: trials until none is left, or one could not be.
fn run_all(work: &Mutex<Work<'_>>) {
    let lock = || work.lock().unwrap_or_else(PoisonError::into_inner);
    loop {
        let next = {
            let mut work = lock();
            if work.failure.is_some() { None } else { work.waiting.pop() }
        };
        let Some(trial) = next else { return };
        let ended = (0..ATTEMPTS).find_map(|attempt| match trial.run() {
            Ok(row) if row.late_ms() > LATE_MAX_MS && attempt + 1 < ATTEMPTS => None,
            ended => Some(ended),
        });
        let gone =
            || LabError::new(Refusal::System, "lab.trial", "trial: did not run. Report this");
        let mut work = lock();
        match ended.unwrap_or_else(|| Err(gone())).and_then(|row| work.file.add(row)) {
            Ok(row) => {
                let work = &mut *work;
                (work.tell)(CompanyProgress::Ended(&row));
            }
            Err(error) => work.failure = work.failure.take().or(Some(error)),
        }
    }
}

/// Whether a row is of our own program.
fn is_ours(row: &CompanyRow) -> bool {
    row.system() == MessagingSystem::Fanfare.name()
}

#[cfg(test)]
mod tests {
    use super::*;

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
