//! Three islands without multicast between them, joined by relays: real programs in network namespaces.
//! Told is what each long link carries, how many receipts come back, and how long it takes; also where a
//! relay is killed in the middle.
//!
//! - `world`: the islands and their links; `program`: a program there, and what it says
//! - `trial`: one transfer; `table`: all of them

mod program;
mod table;
mod trial;
mod world;

use std::{fs, ops::Range};

use crate::{
    error::{LabError, Refusal},
    payload,
    stop::Stop,
    system::{privileges, scratch::Scratch, tool},
    trials::Trials,
};

/// What happens to a relay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IslandCase {
    /// Nothing.
    Undisturbed,
    /// It is killed in the middle, and another one is started in its place.
    Replaced,
    /// It is killed in the middle, and one that stands by takes over.
    TakenOver,
}

impl IslandCase {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Undisturbed, Self::Replaced, Self::TakenOver];

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Undisturbed => "undisturbed",
            Self::Replaced => "replaced",
            Self::TakenOver => "taken-over",
        }
    }
}

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

/// One transfer.
#[derive(Debug, Clone, PartialEq)]
pub struct IslandRow {
    pub(crate) case: IslandCase,
    pub(crate) repetition: u32,
    pub(crate) size: u64,
    /// Receivers in all islands.
    pub(crate) receivers: usize,
    /// Receipts that the sender has.
    pub(crate) receipts: usize,
    /// Receivers whose file is what was sent.
    pub(crate) right: usize,
    /// What the long link of each island behind one carried, with all headers and what was lost on it, by the
    /// size of the file.
    pub(crate) links: Vec<(&'static str, f64)>,
    /// Until the sender has ended.
    pub(crate) seconds: f64,
    /// Programs that ran or waited for a processor, over a minute, at the end.
    pub(crate) load: f64,
}

impl IslandRow {
    /// Some receiver has no file, or no receipt came.
    #[must_use]
    pub fn is_broken(&self) -> bool {
        self.receipts != self.receivers || self.right != self.receivers
    }

    /// In a line.
    #[must_use]
    pub fn line(&self) -> String {
        let Self { case, repetition, receivers, receipts, seconds, load, .. } = self;
        let link = |(name, times): &(&str, f64)| format!("{name} {times:.3}");
        let links: Vec<String> = self.links.iter().map(link).collect();
        let (case, links) = (case.name(), links.join(", "));
        format!(
            "{case} #{repetition}: {receipts} of {receivers} receipts in {seconds:.1} s; links {links} x \
             file; load {load:.1}"
        )
    }
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
        let relay = self.trials.fanfare.with_file_name("fanfare-relay");
        if !relay.exists() {
            return Err(tool::missing("fanfare-relay", "fanfare-relay-cli, beside fanfare"));
        }
        let scratch = Scratch::with_large_pages(&std::env::temp_dir())?;
        scratch.check_room(self.size, world::ISLANDS.len() * self.receivers)?;
        let failed = |error| LabError::system("islands (their files)", &error);
        let file = scratch.path().join("image");
        payload::write(&file, 0, self.size).map_err(failed)?;
        let mut rows = Vec::new();
        for repetition in self.repetitions.clone() {
            for &case in &self.cases {
                if stop.is_set() {
                    break;
                }
                let inbox = scratch.path().join("in");
                fs::create_dir_all(&inbox).map_err(failed)?;
                let row = trial::run(self, (case, repetition), (&file, &inbox), stop)?;
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
