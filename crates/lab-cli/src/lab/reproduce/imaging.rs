//! `fanfare lab reproduce imaging`: thirty machines get an image; one is slow, one has a bad cable, one a full
//! disk. How soon page and terminal of the sender name each.
//!
//! - `trouble`: what is done to machines, and when it shows; `trial`: one run; `table`: all of them

mod table;
mod trial;
mod trouble;

use fanfare_command::{Exit, Output};

use super::options::{ReproduceArgs, conclude};
use crate::ending::{give_up, stop};
use table::Row;
pub(super) use trouble::NAME;

/// Machines; and of the short form.
const MACHINES: usize = 30;
const QUICK: usize = 8;

pub(super) fn run(args: &ReproduceArgs, output: &Output) -> Exit {
    let stop = match stop() {
        Ok(stop) => stop,
        Err(error) => return give_up(output, &error),
    };
    if let Err(error) = fanfare_lab::check_rights() {
        return give_up(output, &error);
    }
    let machines = if args.quick { QUICK } else { MACHINES };
    let mut rows: Vec<Row> = Vec::new();
    for repetition in args.repetitions() {
        match trial::run(machines, repetition, &stop) {
            Ok(row) => {
                output.text(&row.line());
                rows.push(row);
            }
            Err(failure) => return fanfare_command::give_up(output, &failure),
        }
    }
    let out = args.folder("monitor");
    match table::write(&out, &rows) {
        Ok(()) => conclude(Ok(false), &out.join(format!("{NAME}.md")), &stop, output),
        Err(failure) => fanfare_command::give_up(output, &failure),
    }
}
