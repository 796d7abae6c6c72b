//! The unicast matrix (4.5 of the paper on Mockets) with real programs: ten protocols over one bad
//! road, four patterns.
//!
//! - `protocol`: what is compared; `row`: a measurement
//! - `trial`: one protocol over one road; `ngtcp2`: QUIC by programs that others wrote
//! - `table`: all of them

mod ngtcp2;
mod protocol;
mod row;
mod table;
mod trial;

pub use protocol::{Pattern, Protocol};
pub use row::UnicastRow;

use std::{ops::Range, path::Path};

use crate::{
    error::LabError,
    lab::road,
    stop::Stop,
    system::{privileges, scratch::Scratch},
    trials::{Trials, available, side_by_side},
};
use ngtcp2::Site;
use trial::Ready;

/// What is to be measured.
#[derive(Debug, Clone)]
pub struct Unicast {
    /// Which protocols.
    pub protocols: Vec<Protocol>,
    /// Losses in both directions, percent.
    pub losses: Vec<u32>,
    /// Numbers of the repetitions; each has other losses.
    pub repetitions: Range<u32>,
    /// Every 10 s the road has half the rate and twice the delay, and back.
    pub changing: bool,
    /// How they are run.
    pub trials: Trials,
}

impl Unicast {
    /// Runs all of it, and writes the tables. Protocols whose library is not installed are told.
    ///
    /// # Errors
    /// When the lab cannot be, or `stop` was set.
    pub fn run(
        &self,
        stop: &Stop,
        missing: &mut dyn FnMut(Protocol, &LabError),
        tell: &mut (dyn FnMut(&UnicastRow) + Send),
    ) -> Result<Vec<UnicastRow>, LabError> {
        privileges::check()?;
        crate::lab::clear_leftovers()?;
        let scratch = Scratch::with_large_pages(&std::env::temp_dir())?;
        let ready = self.prepare(scratch.path(), missing)?;
        let mut planned = Vec::new();
        for repetition in self.repetitions.clone() {
            for &loss in &self.losses {
                planned.extend(ready.iter().map(|ready| (ready, loss, repetition)));
            }
        }
        let run = |_, (ready, loss, repetition)| {
            trial::run(ready, (loss, repetition), self.changing, stop)
        };
        let mut each = |rows: &Vec<UnicastRow>| rows.iter().for_each(&mut *tell);
        let rows = side_by_side(self.trials.jobs(), planned, stop, run, &mut each)?;
        let mut rows = rows.concat();
        rows.sort_by_key(UnicastRow::order);
        let page = table::markdown(&rows, self.name(), self.changing);
        self.trials.write(self.name(), &page, &table::csv(&rows))?;
        Ok(rows)
    }

    /// What the experiment is called.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        if self.changing { "s002-unicast-dynamic" } else { "s002-unicast" }
    }

    fn prepare(
        &self,
        keys: &Path,
        missing: &mut dyn FnMut(Protocol, &LabError),
    ) -> Result<Vec<Ready>, LabError> {
        let tools = self.trials.tools();
        let shown = road::keys(&tools.fanfare, keys)?;
        let ours = format!("fanfare {}", env!("CARGO_PKG_VERSION"));
        let prepare = |protocol: Protocol| {
            let (peer, version) = protocol.library().prepare(&tools)?;
            let version = if protocol.carrier().is_some() { ours.clone() } else { version };
            let site = protocol.ngtcp2().map(|_| Site::make(keys)).transpose()?;
            Ok(Ready {
                site,
                protocol,
                peer,
                version,
                fanfare: tools.fanfare.clone(),
                keys: keys.to_owned(),
                shown: shown.clone(),
            })
        };
        let found = available(&self.protocols, prepare, |_| true, missing)?;
        Ok(found.into_iter().map(|(_, ready)| ready).collect())
    }
}
