//! Three islands without multicast between them, joined by relays: real programs in network namespaces.
//! Told is what each long link carries, how many receipts come back, and how long it takes; also where a
//! relay is killed in the middle.
//!
//! - `world`: the islands and their links; `program`: a program there, and what it says
//! - `row`: a measurement; `trial`: one transfer; `table`: all of them

mod program;
mod row;
mod table;
mod trial;
mod world;

pub use row::{IslandCase, IslandRow};

use std::{fs, ops::Range};

use crate::{
    error::{LabError, Refusal},
    payload,
    stop::Stop,
    system::{privileges, scratch::Scratch, tool},
    trials::Trials,
};
use trial::Plan;

/// What is to be measured.
#[derive(Debug, Clone)]
pub struct Islands {
    /// What happens.
    pub cases: Vec<IslandCase>,
    /// Receivers in each island.
    pub receivers: usize,
    /// Bytes of the file.
    pub size: u64,
    /// Numbers of the repetitions.
    pub repetitions: Range<u32>,
    /// How they are run, one at a time.
    pub trials: Trials,
}

impl Islands {
    /// Runs all of it, and writes the tables.
    ///
    /// # Errors
    /// When a program is missing, or the system refuses.
    pub fn run(
        &self,
        stop: &Stop,
        tell: &mut dyn FnMut(&IslandRow),
    ) -> Result<Vec<IslandRow>, LabError> {
        privileges::check()?;
        crate::lab::clear_leftovers()?;
        if !self.trials.fanfare.exists() {
            return Err(tool::missing("fanfare", "fanfare-cli"));
        }
        let scratch = Scratch::with_large_pages(&std::env::temp_dir())?;
        scratch.check_room(self.size, world::ISLANDS.len() * self.receivers)?;
        let failed = |error| LabError::system("islands (their files)", &error);
        let file = scratch.path().join("image");
        payload::write(&file, 0, self.size).map_err(failed)?;
        let (receivers, size) = (self.receivers, self.size);
        let plan = Plan { receivers, size, fanfare: &self.trials.fanfare };
        let mut rows = Vec::new();
        for repetition in self.repetitions.clone() {
            for &case in &self.cases {
                if stop.is_set() {
                    break;
                }
                let inbox = scratch.path().join("in");
                fs::create_dir_all(&inbox).map_err(failed)?;
                let row = trial::run(&plan, (case, repetition), (&file, &inbox), stop)?;
                fs::remove_dir_all(&inbox).map_err(failed)?;
                tell(&row);
                rows.push(row);
            }
        }
        if rows.is_empty() {
            return Err(LabError::new(Refusal::Usage, "lab.interrupted", "nothing was measured"));
        }
        rows.sort_by_key(|row| (row.case as u8, row.repetition));
        self.trials.write("islands", &table::markdown(&rows), &table::csv(&rows))?;
        Ok(rows)
    }
}
