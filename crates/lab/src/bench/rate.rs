//! The rate that `fanfare send` finds by itself, beside the best of some rates that it is told, and
//! beside TCP to each receiver.
//!
//! Each cell has a bridge and hosts of its own. A token bucket (tbf) on the sender's cable makes slow
//! links. The time that counts is the user's: from the start of the sender's program until its end.
//!
//! - `cells`: the networks; `shot`: one transfer; `row`: what all transfers of a cell came to;
//!   `table`: files for people and for programs

mod cells;
mod row;
mod shot;
mod table;

use super::star::Star;
use crate::{
    error::LabError,
    peer::{Peer, System, Tools},
    rights,
    scratch::Scratch,
    stop::Stop,
    trials::Trials,
};
pub use cells::{RATE_CELLS, RateCell};
pub use row::{RateRow, Spread};
use shot::Range;
pub use shot::{RateSender, RateShot};
use std::{fs, path::PathBuf};

/// The largest IP packet of these networks.
const MTU: usize = 1500;
/// The name of the files that are written.
const NAME: &str = "rate";

/// What is to be measured.
#[derive(Debug, Clone)]
pub struct RateBench {
    /// The networks, one after another.
    pub cells: Vec<RateCell>,
    /// How often each sender sends in each cell.
    pub repetitions: u32,
    /// Whether TCP is measured, too.
    pub tcp: bool,
    /// Where `rate.md` and `rate.csv` go, if they are wanted.
    pub out: Option<PathBuf>,
    /// Where files are while they are sent, better in memory.
    pub directory: PathBuf,
    /// The program that is measured.
    pub fanfare: PathBuf,
}

impl RateBench {
    /// Measures cell by cell, and writes the tables after each.
    ///
    /// # Errors
    /// What is missing or refused, or that the user stopped it. No namespace and no copy is left then.
    pub fn run(
        &self,
        stop: &Stop,
        tell: &mut dyn FnMut(&RateShot),
    ) -> Result<Vec<RateRow>, LabError> {
        rights::check()?;
        crate::lab::clear_leftovers()?;
        let tools = Tools::of(&self.fanfare);
        let peers = [System::Fanfare.prepare(&tools)?, System::Tcp.prepare(&tools)?];
        let scratch = Scratch::with_large_pages(&self.directory)?;
        for cell in &self.cells {
            scratch.check_room(cell.size, cell.receivers)?;
        }
        let mut rows = Vec::new();
        for cell in &self.cells {
            rows.push(self.measure(cell, [&*peers[0], &*peers[1]], &scratch, stop, tell)?);
            self.write(&rows, peers[0].version())?;
        }
        Ok(rows)
    }

    /// All senders one after another in every repetition, so that all meet the same minutes.
    fn measure(
        &self,
        cell: &RateCell,
        peers: [&dyn Peer; 2],
        scratch: &Scratch,
        stop: &Stop,
        tell: &mut dyn FnMut(&RateShot),
    ) -> Result<RateRow, LabError> {
        let star = Star::up(cell.receivers, MTU, false)?;
        if let Some(rate) = cell.rate_bps {
            star.limit_sender(rate, RateCell::burst(rate), cell.queue)?;
        }
        let range = Range { bench: self, of: cell, star: &star, scratch: scratch.path(), stop };
        let mut shots = Vec::new();
        for _ in 0..self.repetitions {
            for sender in self.senders(cell) {
                let shot = range.shoot(sender, peers)?;
                tell(&shot);
                shots.push(shot);
            }
        }
        // The next cell has a file of another size.
        let source = shot::source(scratch.path());
        fs::remove_file(&source).map_err(|error| LabError::system(source.display(), &error))?;
        Ok(RateRow::of(cell, &shots))
    }

    fn senders(&self, cell: &RateCell) -> Vec<RateSender> {
        let told = cell.told.iter().map(|rate| RateSender::Told(*rate));
        // Only Fanfare's receivers can drop packets by themselves.
        let tcp = (self.tcp && cell.loss <= 0.0).then_some(RateSender::Tcp);
        std::iter::once(RateSender::Auto).chain(told).chain(tcp).collect()
    }

    fn write(&self, rows: &[RateRow], version: &str) -> Result<(), LabError> {
        let Some(out) = &self.out else { return Ok(()) };
        let trials = Trials { out: out.clone(), jobs: 1, fanfare: self.fanfare.clone() };
        let heading = table::Heading { repetitions: self.repetitions, version };
        trials.write(NAME, &table::markdown(rows, &heading), &table::csv(rows))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tcp_is_left_out_where_only_receivers_of_ours_lose_packets() {
        let bench = RateBench {
            cells: Vec::new(),
            repetitions: 1,
            tcp: true,
            out: None,
            directory: PathBuf::new(),
            fanfare: PathBuf::new(),
        };
        let senders = |name: &str| bench.senders(&RateCell::chosen(&[name.to_owned()]).unwrap()[0]);
        assert_eq!(senders("free-3").first(), Some(&RateSender::Auto));
        assert_eq!(senders("free-3").last(), Some(&RateSender::Tcp));
        assert_eq!(senders("free-3-loss").len(), senders("free-3").len() - 1);
        assert!(!senders("free-3-loss").contains(&RateSender::Tcp));
    }
}
