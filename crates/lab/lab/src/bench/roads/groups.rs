//! Messages of groups over the kernel's shapers: `pub --lines` to subscribers, and publishers that share a
//! port.
//!
//! - `case`: what is published, and over what; `trial`: one run of it; `page`: files for people and for
//!   programs

mod case;
mod page;
mod trial;

use std::path::PathBuf;

pub use case::GroupCase;
pub use trial::GroupRun;

use super::page::{PageHead, load};
use crate::{
    error::LabError,
    peer::{System, Tools},
    stop::Stop,
    system::{privileges, scratch::Scratch},
    trials::Trials,
};
use trial::GroupTrial;

/// The name of the files that are written.
const NAME: &str = "roads-groups";

/// Plan of what is to be measured.
#[derive(Debug, Clone)]
pub struct GroupBench {
    /// Cases, one after another.
    pub cases: Vec<GroupCase>,
    /// Number of times that each is measured.
    pub runs: u32,
    /// Directory for `roads-groups.md` and `roads-groups.csv`, if they are wanted.
    pub out: Option<PathBuf>,
    /// Note on the page about the run: which build it is, and what ran beside it.
    pub note: String,
    /// The program that is measured.
    pub fanfare: PathBuf,
}

impl GroupBench {
    /// Measures case by case, and writes the page after each: by default, and at a told rate.
    ///
    /// # Errors
    /// What is missing or refused, or that the user stopped it. No namespace is left then.
    pub fn run(
        &self,
        stop: &Stop,
        tell: &mut dyn FnMut(&GroupRun),
    ) -> Result<Vec<GroupRun>, LabError> {
        privileges::check()?;
        crate::lab::clear_leftovers()?;
        let before = load();
        let fanfare = System::Fanfare.prepare(&Tools::of(&self.fanfare))?;
        let scratch = Scratch::make(&std::env::temp_dir())?;
        let mut runs = Vec::new();
        for case in &self.cases {
            for _ in 0..self.runs {
                for told in [None, Some(case.told())] {
                    let trial = GroupTrial {
                        case: *case,
                        told,
                        fanfare: &self.fanfare,
                        scratch: scratch.path(),
                        stop,
                    };
                    let run = trial.run()?;
                    tell(&run);
                    runs.push(run);
                }
            }
            let Some(out) = &self.out else { continue };
            let trials = Trials { out: out.clone(), jobs: 1, fanfare: self.fanfare.clone() };
            let (version, note) = (fanfare.version(), self.note.as_str());
            let head = PageHead { runs: self.runs, jobs: 1, version, note, load: &before };
            trials.write(NAME, &page::markdown(&runs, &head), &page::csv(&runs))?;
        }
        Ok(runs)
    }
}
