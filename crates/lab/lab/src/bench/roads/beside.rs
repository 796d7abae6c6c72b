//! A transfer by default beside flows of TCP, or beside transfers of its own kind, on one line of the
//! emulator: the share of each.
//!
//! - `case`: who is beside it, and which queue they share; `network`: hosts and line; `trial`: one run of it
//! - `page`: files for people and for programs

mod case;
mod network;
mod page;
mod trial;

use std::path::PathBuf;

pub use case::{BesideCase, BesideQueue, BesideRival};
pub use trial::BesideRun;

use super::{
    page::{PageHead, load},
    peers::check_bbr,
};
use crate::{
    error::LabError,
    payload,
    peer::{System, Tools},
    stop::Stop,
    system::{privileges, scratch::Scratch},
    trials::Trials,
};
use trial::BesideTrial;

/// The name of the files that are written.
const NAME: &str = "roads-beside";

/// Plan of what is to be measured.
#[derive(Debug, Clone)]
pub struct BesideBench {
    /// Cases, one after another.
    pub cases: Vec<BesideCase>,
    /// Number of times that each is measured.
    pub runs: u32,
    /// Directory for `roads-beside.md` and `roads-beside.csv`, if they are wanted.
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
pub enum BesideTold<'a> {
    /// This case cannot be measured here, for this reason.
    LeftOut(&'a LeftOutCase),
    /// One run has ended.
    Run(&'a BesideRun),
}

/// A case that was to be measured, and why it cannot.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct LeftOutCase {
    /// Its name.
    pub case: String,
    /// What is missing.
    pub why: String,
}

impl BesideBench {
    /// Measures case by case, and writes the page after each.
    ///
    /// # Errors
    /// What is refused, or that the user stopped it. No namespace is left then.
    pub fn run(
        &self,
        stop: &Stop,
        tell: &mut dyn FnMut(&BesideTold<'_>),
    ) -> Result<Vec<BesideRun>, LabError> {
        privileges::check()?;
        crate::lab::clear_leftovers()?;
        let before = load();
        let fanfare = System::Fanfare.prepare(&Tools::of(&self.fanfare))?;
        let scratch = Scratch::with_large_pages(&self.directory)?;
        let source = scratch.path().join("payload.bin");
        scratch.check_room(trial::SIZE, 2)?;
        payload::write(&source, 0, trial::SIZE).map_err(|error| {
            LabError::system(format_args!("file ({})", source.display()), &error)
        })?;
        let no_bbr = check_bbr().err();
        let (mut runs, mut left_out) = (Vec::new(), Vec::new());
        for case in &self.cases {
            if let (BesideRival::Bbr, Some(error)) = (case.rival, &no_bbr) {
                let one = LeftOutCase { case: case.to_string(), why: error.to_string() };
                tell(&BesideTold::LeftOut(&one));
                left_out.push(one);
                continue;
            }
            for _ in 0..self.runs {
                let scratch = scratch.path();
                let (fanfare, source) = (self.fanfare.as_path(), source.as_path());
                let run = BesideTrial { case: *case, fanfare, source, scratch, stop }.run()?;
                tell(&BesideTold::Run(&run));
                runs.push(run);
            }
            let Some(out) = &self.out else { continue };
            let trials = Trials { out: out.clone(), jobs: 1, fanfare: self.fanfare.clone() };
            let (version, note) = (fanfare.version(), self.note.as_str());
            let head = PageHead { runs: self.runs, jobs: 1, version, note, load: &before };
            trials.write(NAME, &page::markdown(&runs, &left_out, &head), &page::csv(&runs))?;
        }
        Ok(runs)
    }
}
