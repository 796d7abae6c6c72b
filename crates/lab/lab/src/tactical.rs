//! The tactical test (Table 3 of the paper) with real programs: one sender on a slow and bad link,
//! three subscribers, six other nodes, for NRL's NORM and for Fanfare.
//!
//! The sender publishes as fast as it can send, for 64 s. Both systems have the same rate, and
//! publish their next message when at most one message waits behind the one that is being sent.
//!
//! - `relay`: who carries the messages; `prepared`: the systems, ready
//! - `situation`: what is varied; `trial`: one system in one situation; `table`: all of them

mod prepared;
mod relay;
mod situation;
mod table;
mod trial;

use prepared::Prepared;
pub use relay::Relay;
pub use situation::Situation;
pub use table::TacticalRow;

use crate::{
    error::LabError,
    peer::{fanfare_version, messaging::norm::Objects},
    stop::Stop,
    system::privileges,
    trials::{Trials, side_by_side},
};
use std::ops::Range;
use trial::Trial;

/// What is to be measured.
#[derive(Debug, Clone)]
pub struct Tactical {
    /// Which systems.
    pub relays: Vec<Relay>,
    /// In which situations.
    pub situations: Vec<Situation>,
    /// Numbers of the repetitions; each has other losses.
    pub repetitions: Range<u32>,
    /// How they are run.
    pub trials: Trials,
}

impl Tactical {
    /// Runs all of it, and writes the tables.
    ///
    /// # Errors
    /// When the lab cannot be, libnorm is missing, or `stop` was set.
    pub fn run(
        &self,
        stop: &Stop,
        tell: &mut (dyn FnMut(&TacticalRow) + Send),
    ) -> Result<Vec<TacticalRow>, LabError> {
        privileges::check()?;
        let prepared = self.prepare()?;
        let mut planned = Vec::new();
        for repetition in self.repetitions.clone() {
            for situation in &self.situations {
                for relay in &self.relays {
                    let (relay, situation) = (*relay, *situation);
                    planned.push(Trial { relay, situation, repetition, stop });
                }
            }
        }
        let run = |_, trial: Trial<'_>| trial.run(&prepared);
        let mut rows = side_by_side(self.trials.jobs(), planned, stop, run, tell)?;
        rows.sort_by_key(TacticalRow::order);
        self.trials.write("s000-table3", &table::markdown(&rows), &table::csv(&rows))?;
        Ok(rows)
    }

    fn prepare(&self) -> Result<Prepared, LabError> {
        let tools = self.trials.tools();
        let version = fanfare_version(&tools)?;
        let with_norm = self.relays.contains(&Relay::Norm);
        let norm = with_norm.then(|| Objects::prepare(&tools)).transpose()?;
        Ok(Prepared { tools, version, norm })
    }
}
