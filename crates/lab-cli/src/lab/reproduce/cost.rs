//! `fanfare lab reproduce monitor-cost`: what monitors take of a channel and of processors, by the same group
//! with them and without.
//!
//! - `trial`: one group; `table`: all of them

mod table;
mod trial;

use std::thread;

use fanfare_command::{Exit, Failure, Output};
use fanfare_lab::Stop;

use super::options::{ReproduceArgs, conclude};
use crate::ending::{give_up, stop};
use table::Row;
pub(super) use trial::NAME;
use trial::{CASES, Case, Group};

pub(super) fn run(args: &ReproduceArgs, output: &Output) -> Exit {
    let cases = match cases(args.cells.as_deref(), args.quick) {
        Ok(cases) => cases,
        Err(failure) => return fanfare_command::give_up(output, &failure),
    };
    let stop = match stop() {
        Ok(stop) => stop,
        Err(error) => return give_up(output, &error),
    };
    if let Err(error) = fanfare_lab::check_rights() {
        return give_up(output, &error);
    }
    let mut rows = Vec::new();
    for repetition in args.repetitions() {
        for case in &cases {
            match pair(case, repetition, &stop) {
                Ok(row) => {
                    output.text(&row.line());
                    rows.push(row);
                }
                Err(failure) => return fanfare_command::give_up(output, &failure),
            }
        }
    }
    let out = args.folder("monitor");
    match table::write(&out, &rows) {
        Ok(()) => conclude(Ok(false), &out.join(format!("{NAME}.md")), &stop, output),
        Err(failure) => fanfare_command::give_up(output, &failure),
    }
}

/// Both groups at the same time: what else the machine does concerns them alike.
fn pair(case: &Case, repetition: u32, stop: &Stop) -> Result<Row, Failure> {
    let group = |monitor| trial::run(case, monitor, u64::from(repetition) + 1, stop);
    let (with, without) = thread::scope(|scope| {
        let with = scope.spawn(|| group(true));
        let without = group(false);
        // A panic goes on here.
        (with.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)), without)
    });
    let (with, without): (Group, Group) = (with?, without?);
    Ok(Row { case: case.name, nodes: case.nodes, repetition, with, without })
}

fn cases(cells: Option<&str>, quick: bool) -> Result<Vec<&'static Case>, Failure> {
    let Some(cells) = cells else {
        return Ok(CASES.iter().take(if quick { 1 } else { CASES.len() }).collect());
    };
    let named = |name: &str| CASES.iter().find(|case| case.name == name.trim());
    let found: Option<Vec<&'static Case>> = cells.split(',').map(named).collect();
    found.ok_or_else(|| {
        let names: Vec<&str> = CASES.iter().map(|case| case.name).collect();
        let text = format!("cells ({cells}): write some of {}, with commas", names.join(", "));
        Failure::usage("cells.invalid", text)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cases_are_chosen_by_name_and_an_unknown_one_is_refused() {
        let names = |cells, quick| -> Vec<&str> {
            cases(cells, quick).unwrap_or_default().iter().map(|case| case.name).collect()
        };
        assert_eq!(names(None, false).len(), CASES.len());
        assert_eq!(names(None, true), ["quiet-4"]);
        assert_eq!(names(Some("positions-24, quiet-4"), false), ["positions-24", "quiet-4"]);
        assert!(cases(Some("loud"), false).is_err());
    }
}
