//! `fanfare lab reproduce imaging`: thirty machines get an image; one is slow, one has a bad cable, one a full
//! disk. How soon page and terminal of the sender name each.
//!
//! - `trouble`: what is done to machines, and when it shows; `trial`: one run; `table`: all of them

mod table;
mod trial;
mod trouble;

use fanfare_command::{Exit, Output};

use super::{options::ReproduceArgs, stage::Experiment};
use table::Row;
pub(super) use trouble::NAME;

/// Machines; and of the short form.
const MACHINES: usize = 30;
const QUICK: usize = 8;

pub(super) fn run(args: &ReproduceArgs, output: &Output) -> Exit {
    let machines = if args.quick { QUICK } else { MACHINES };
    Experiment {
        name: NAME,
        family: "monitor",
        planned: args.repetitions().map(|repetition| (machines, repetition)).collect(),
        // Thirty receivers keep two processors busy.
        jobs: 1,
        run: |(machines, repetition), stop| trial::run(*machines, *repetition, stop),
        line: Row::line,
        tables: [table::markdown, table::csv],
    }
    .run(args, output)
}
