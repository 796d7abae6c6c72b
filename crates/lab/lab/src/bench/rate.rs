//! The rate that `fanfare send` finds by itself, compared with the best of several fixed rates, and
//! with TCP to each receiver.
//!
//! Each cell has its own network and hosts: a kernel bridge with a token bucket, or the emulator
//! where there is delay or loss. The measured time is what the user sees: from the start of the
//! sender's program to its end.
//!
//! - `plan`: what is measured. `cell`: one network; `grid`: all of them; `cell_filter`: some of them; `network`: its hosts
//! - `sender`: who sends; `transfer`: one transfer; `load`, `flows`: other load; `reaction`: how
//!   the sender follows a change
//! - `row`: the results of all transfers of a cell; `target`: what they should be; `check`: for CI
//! - `table`, `csv`: files for people and for programs; `short`: numbers in them

mod cell;
mod cell_filter;
mod check;
mod csv;
mod flows;
mod grid;
mod load;
mod network;
mod plan;
mod reaction;
mod row;
mod sender;
mod short;
mod table;
mod target;
mod transfer;

use crate::{
    error::LabError,
    peer::{Peer, System, Tools},
    stop::Stop,
    system::privileges,
    system::scratch::Scratch,
    trials::Trials,
};
pub use cell::{Buffer, Condition, RateCell};
pub use check::{RateCheck, Shortfall};
pub(super) use flows::{CONGESTION_CONTROL, Flows};
pub(super) use load::Load;
use network::Network;
pub use plan::RateBench;
pub use reaction::Reaction;
pub use row::{RateRow, Spread};
pub(super) use sender::Ours;
pub use sender::RateSender;
pub(super) use short::short;
use std::fs;
use transfer::Range;
pub use transfer::RateTransfer;

/// The name of the files that are written.
const NAME: &str = "rate";

/// What is told while it runs.
#[derive(Debug)]
pub enum RateTold<'a> {
    /// One transfer has ended.
    Transfer(&'a RateTransfer),
    /// One more cell has been measured: all so far, as the tables have them.
    Rows(&'a [RateRow]),
}

/// What is the same for all cells.
struct BenchSetup<'a> {
    bench: &'a RateBench,
    fanfare: Box<dyn Peer>,
    tcp: Option<Box<dyn Peer>>,
    scratch: Scratch,
    stop: &'a Stop,
}

impl RateBench {
    /// Measures cell by cell, and writes the tables after each.
    ///
    /// # Errors
    /// What is missing or refused, or that the user stopped it. No namespace and no copy is left then.
    pub fn run(
        &self,
        stop: &Stop,
        tell: &mut dyn FnMut(&RateTold<'_>),
    ) -> Result<Vec<RateRow>, LabError> {
        let setup = self.prepare(&self.cells, stop)?;
        let mut rows = Vec::new();
        for cell in &self.cells {
            rows.push(setup.measure(cell, self.repetitions, tell)?);
            self.write(&rows, &setup)?;
            tell(&RateTold::Rows(&rows));
        }
        Ok(rows)
    }

    /// Measures each checked cell, and once more when it falls short: at last a row and a shortfall for each.
    ///
    /// # Errors
    /// As [`Self::run`].
    pub fn check(
        &self,
        checks: &[RateCheck],
        stop: &Stop,
        tell: &mut dyn FnMut(&RateTold<'_>),
    ) -> Result<Vec<(RateRow, Option<Shortfall>)>, LabError> {
        let cells: Vec<RateCell> = checks.iter().map(|check| check.cell).collect();
        let setup = self.prepare(&cells, stop)?;
        let mut checked = Vec::new();
        for check in checks {
            let mut attempts = 0;
            checked.push(loop {
                attempts += 1;
                let row = setup.measure(&check.cell, 1, tell)?;
                let shortfall = check.shortfall(&row);
                if shortfall.is_none() || attempts == check::ATTEMPTS {
                    break (row, shortfall);
                }
            });
        }
        Ok(checked)
    }

    fn prepare<'a>(
        &'a self,
        cells: &[RateCell],
        stop: &'a Stop,
    ) -> Result<BenchSetup<'a>, LabError> {
        privileges::check()?;
        crate::lab::clear_leftovers()?;
        let tools = Tools::of(&self.fanfare);
        let fanfare = System::Fanfare.prepare(&tools)?;
        let wants_tcp = cells.iter().any(|cell| self.senders(cell).contains(&RateSender::Tcp));
        let tcp = wants_tcp.then(|| System::Tcp.prepare(&tools)).transpose()?;
        let scratch = Scratch::with_large_pages(&self.directory)?;
        for cell in cells {
            scratch.check_room(cell.size, cell.receivers)?;
        }
        Ok(BenchSetup { bench: self, fanfare, tcp, scratch, stop })
    }

    fn senders(&self, cell: &RateCell) -> Vec<RateSender> {
        let told = cell.told().into_iter().map(RateSender::Told);
        let compared = matches!(cell.condition, Condition::Quiet | Condition::Busy);
        // Only Fanfare's receivers can drop packets by themselves.
        let tcp = self.tcp && compared && !cell.drops_by_itself();
        let tcp = tcp.then_some(RateSender::Tcp);
        std::iter::once(RateSender::Auto).chain(told).chain(tcp).collect()
    }

    fn write(&self, rows: &[RateRow], setup: &BenchSetup<'_>) -> Result<(), LabError> {
        let Some(out) = &self.out else { return Ok(()) };
        let trials = Trials { out: out.clone(), jobs: 1, fanfare: self.fanfare.clone() };
        let version = setup.fanfare.version();
        let heading = table::Heading { repetitions: self.repetitions, version };
        trials.write(NAME, &table::markdown(rows, &heading), &csv::csv(rows))
    }
}

impl BenchSetup<'_> {
    /// All senders one after another in every repetition, so that all meet the same minutes.
    fn measure(
        &self,
        cell: &RateCell,
        repetitions: u32,
        tell: &mut dyn FnMut(&RateTold<'_>),
    ) -> Result<RateRow, LabError> {
        let network = Network::up(cell)?;
        let scratch = self.scratch.path();
        let (bench, stop) = (self.bench, self.stop);
        let range = Range { bench, of: cell, network: &network, scratch, stop };
        let (mut transfers, mut raw) = (Vec::new(), Vec::new());
        for _ in 0..repetitions {
            raw.extend(network.raw(cell)?);
            for sender in bench.senders(cell) {
                let transfer = range.shoot(sender, &*self.fanfare, self.tcp.as_deref())?;
                tell(&RateTold::Transfer(&transfer));
                transfers.push(transfer);
            }
        }
        // The next cell has a file of another size.
        let source = transfer::source(scratch);
        fs::remove_file(&source).map_err(|error| {
            LabError::system(format_args!("file ({})", source.display()), &error)
        })?;
        let late_ms = network.lateness()?.map(|report| report.p99_ms);
        Ok(RateRow { raw_bps: Spread::of(&raw), ..RateRow::of(cell, &transfers, late_ms) })
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    #[test]
    fn tcp_is_left_out_where_only_receivers_of_ours_lose_packets_or_nothing_is_compared() {
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
        assert_eq!(senders("56k-1-loss10").last(), Some(&RateSender::Tcp));
        assert!(!senders("free-3-loss1").contains(&RateSender::Tcp));
        assert_eq!(senders("beside-100M-1"), [RateSender::Auto]);
        assert_eq!(senders("change-100M"), [RateSender::Auto]);
    }
}
