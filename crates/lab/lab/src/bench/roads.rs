//! Real programs over the kernel's own shapers and over the emulator: how a transfer ends on a slow, shaped
//! or lossy road, with each of our controllers, with a told rate, with other multicast programs and with TCP.
//!
//! Each transfer has a network of its own, and is measured as the user sees it: from the start of the
//! sender's program to its exit.
//!
//! - `line`: what is between sender and receivers; `grid`: all of these; `road`: one, with its receivers and
//!   file; `network`: hosts, shapers and counters; `emulated`: scenarios of the emulator
//! - `sender`: who sends; `peers`: their programs, where they are; `transfer`: one transfer; `row`: all of
//!   one sender over one road
//! - `together`: slow roads, some at the same time
//! - `short_check`: a check of half a minute or so; `page`: files for people and for programs
//! - `groups`: the same for messages of groups; `beside`: a transfer beside flows of TCP, or of its own kind;
//!   `fairness`: how evenly flows share

mod beside;
mod emulated;
mod fairness;
mod grid;
mod groups;
mod line;
mod network;
mod page;
mod peers;
mod road;
mod row;
mod sender;
mod short_check;
mod together;
mod transfer;

use std::{
    fs,
    path::{Path, PathBuf},
};

pub use beside::{
    BesideBench, BesideCase, BesideQueue, BesideRival, BesideRun, BesideTold, LeftOutCase,
};
pub use groups::{GroupBench, GroupCase, GroupRun};
pub use line::{RoadLine, RoadTrouble};
pub use peers::MissingSender;
pub use road::RoadCase;
pub use row::RoadRow;
pub use sender::{RoadControl, RoadSender};
pub use transfer::RoadTransfer;

use crate::{
    error::LabError,
    peer::Tools,
    stop::Stop,
    system::{privileges, scratch::Scratch},
    trials::Trials,
};
use peers::RoadPeers;
use transfer::TransferSetup;

/// The name of the files that are written.
const NAME: &str = "roads";

/// Plan of what is to be measured.
#[derive(Debug, Clone)]
pub struct RoadBench {
    /// The roads, one after another.
    pub roads: Vec<RoadCase>,
    /// Senders that are measured on each.
    pub controls: Vec<RoadControl>,
    /// Number of times that each sends.
    pub runs: u32,
    /// Number of slow roads that are measured at the same time; a faster road is always measured alone.
    pub jobs: usize,
    /// Directory for `roads.md` and `roads.csv`, if they are wanted.
    pub out: Option<PathBuf>,
    /// Note on the page about the run: which build it is, and what ran beside it.
    pub note: String,
    /// Directory of the files while they are sent, better in memory.
    pub directory: PathBuf,
    /// The program that is measured.
    pub fanfare: PathBuf,
}

/// News while it runs.
#[derive(Debug)]
pub enum RoadTold<'a> {
    /// A sender is not on this machine, and is left out.
    Missing(&'a MissingSender),
    /// One transfer has ended.
    Transfer(&'a RoadTransfer),
}

/// Setting that is the same for all roads.
struct RoadSetup<'a> {
    bench: &'a RoadBench,
    peers: RoadPeers,
    scratch: Scratch,
    stop: &'a Stop,
    load: String,
}

impl RoadBench {
    /// Measures road by road, and writes the page after each.
    ///
    /// # Errors
    /// What is missing or refused, or that the user stopped it. No namespace and no copy is left then.
    pub fn run(
        &self,
        stop: &Stop,
        tell: &mut dyn FnMut(&RoadTold<'_>),
    ) -> Result<Vec<RoadRow>, LabError> {
        let setup = self.prepare(stop)?;
        setup.peers.missing.iter().for_each(|missing| tell(&RoadTold::Missing(missing)));
        let mut of_roads = vec![Vec::new(); self.roads.len()];
        let mut keep = |at: usize, rows: Vec<RoadRow>| {
            of_roads[at] = rows;
            self.write(&of_roads.concat(), &setup)
        };
        let is_together = |at: &usize| self.jobs > 1 && self.roads[*at].is_slow();
        let together: Vec<usize> = (0..self.roads.len()).filter(is_together).collect();
        for at in (0..self.roads.len()).filter(|at| !is_together(at)) {
            keep(at, setup.measure(&self.roads[at], setup.scratch.path(), tell)?)?;
        }
        together::measure(&setup, &together, tell, &mut keep)?;
        Ok(of_roads.concat())
    }

    fn prepare<'a>(&'a self, stop: &'a Stop) -> Result<RoadSetup<'a>, LabError> {
        privileges::check()?;
        crate::lab::clear_leftovers()?;
        let load = page::load();
        let peers = RoadPeers::prepare(&self.controls, &Tools::of(&self.fanfare))?;
        let scratch = Scratch::with_large_pages(&self.directory)?;
        for road in &self.roads {
            scratch.check_room(road.size, road.receivers)?;
        }
        Ok(RoadSetup { bench: self, peers, scratch, stop, load })
    }

    fn write(&self, rows: &[RoadRow], setup: &RoadSetup<'_>) -> Result<(), LabError> {
        let Some(out) = &self.out else { return Ok(()) };
        let trials = Trials { out: out.clone(), jobs: 1, fanfare: self.fanfare.clone() };
        let head = page::PageHead {
            runs: self.runs,
            jobs: self.jobs,
            version: setup.peers.fanfare.version(),
            note: &self.note,
            load: &setup.load,
        };
        let text = page::markdown(rows, &head, &setup.peers);
        trials.write(NAME, &text, &page::csv(rows))
    }
}

impl RoadSetup<'_> {
    /// All senders one after another in every run, so that all meet the same minutes.
    fn measure(
        &self,
        road: &RoadCase,
        scratch: &Path,
        tell: &mut dyn FnMut(&RoadTold<'_>),
    ) -> Result<Vec<RoadRow>, LabError> {
        let range = TransferSetup {
            program: &self.bench.fanfare,
            road,
            peers: &self.peers,
            scratch,
            stop: self.stop,
        };
        let senders: Vec<RoadSender> =
            self.peers.controls.iter().flat_map(|control| control.senders(road)).collect();
        let mut transfers = Vec::new();
        for _ in 0..self.bench.runs {
            for sender in &senders {
                let transfer = range.shoot(*sender)?;
                tell(&RoadTold::Transfer(&transfer));
                transfers.push(transfer);
            }
        }
        // The next road has a file of another size.
        let source = transfer::source(scratch);
        fs::remove_file(&source).map_err(|error| {
            LabError::system(format_args!("file ({})", source.display()), &error)
        })?;
        Ok(RoadRow::all(road, &senders, &transfers))
    }
}
