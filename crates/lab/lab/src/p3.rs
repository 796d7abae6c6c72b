//! How well passive packet pairs (P3; 6.3 of the paper on SENSEI) tell the rate of a road: a link between
//! two hosts of the laboratory, whose rate is known.
//!
//! - `trial`: one road; `table`: all of them

mod table;
mod trial;

pub use trial::P3Row;

use std::ops::Range;

use crate::{
    error::LabError,
    lab::road,
    stop::Stop,
    system::{privileges, scratch::Scratch},
    trials::Trials,
};

/// What is to be measured.
#[derive(Debug, Clone)]
pub struct P3 {
    /// Rates of the road, kbit/s.
    pub rates: Vec<u32>,
    /// Numbers of the repetitions.
    pub repetitions: Range<u32>,
    /// How they are run. One at a time: stamps are measured.
    pub trials: Trials,
}

impl P3 {
    /// Runs all of it, with idle processors and with busy ones, and writes the tables.
    ///
    /// # Errors
    /// When the lab cannot be, or `stop` was set before anything was measured.
    pub fn run(&self, stop: &Stop, tell: &mut dyn FnMut(&P3Row)) -> Result<Vec<P3Row>, LabError> {
        privileges::check()?;
        crate::lab::clear_leftovers()?;
        let scratch = Scratch::with_large_pages(&std::env::temp_dir())?;
        let fanfare = &self.trials.fanfare;
        let ready = trial::Ready {
            program: fanfare.clone(),
            directory: scratch.path().to_owned(),
            keys: road::keys(fanfare, scratch.path())?,
        };
        let mut rows = Vec::new();
        for repetition in self.repetitions.clone() {
            for busy in [false, true] {
                for &rate in &self.rates {
                    if stop.is_set() {
                        break;
                    }
                    let row = trial::run(&ready, (rate, busy, repetition), stop)?;
                    tell(&row);
                    rows.push(row);
                }
            }
        }
        rows.sort_by_key(P3Row::order);
        self.trials.write("s002-p3", &table::markdown(&rows), &table::csv(&rows))?;
        Ok(rows)
    }
}
