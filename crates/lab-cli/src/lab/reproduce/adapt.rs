//! `fanfare lab reproduce s002-adapt`: a sender that a monitor advises, on a line that falls and comes back
//! (seed 002, 6.8), beside one that nobody advises.
//!
//! - `case`: what the sender does; `trial`: one run; `modem`: what tells the monitor of the line
//! - `figures`: what a run gives; `table`: all of them

mod case;
mod figures;
mod modem;
mod table;
mod trial;

use std::thread;

use fanfare_command::{Failure, Output};
use fanfare_lab::Stop;

use super::options::{ReproduceArgs, conclude};
use crate::ending::{give_up, stop};
pub(super) use case::NAME;
use case::{CASES, Case};
use table::Row;

pub(super) fn run(args: &ReproduceArgs, output: &Output) -> fanfare_command::Exit {
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
        match together(&cases, repetition, &stop, output) {
            Ok(more) => rows.extend(more),
            Err(failure) => return fanfare_command::give_up(output, &failure),
        }
    }
    let out = args.folder("monitor");
    match table::write(&out, &rows) {
        Ok(()) => conclude(Ok(false), &out.join(format!("{NAME}.md")), &stop, output),
        Err(failure) => fanfare_command::give_up(output, &failure),
    }
}

/// All cases at the same time: each has two hosts and little traffic. A long one is run once.
fn together(
    cases: &[&'static Case],
    repetition: u32,
    stop: &Stop,
    output: &Output,
) -> Result<Vec<Row>, Failure> {
    let one = |case: &'static Case| -> Result<Row, Failure> {
        let row = trial::run(case, repetition, stop)?;
        output.text(&row.line());
        Ok(row)
    };
    let cases = cases.iter().filter(|case| !case.is_long() || repetition == 0);
    thread::scope(|scope| {
        let runs: Vec<_> = cases.map(|case| scope.spawn(move || one(case))).collect();
        // A panic goes on here.
        let ended = |run: thread::ScopedJoinHandle<'_, Result<Row, Failure>>| {
            run.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        runs.into_iter().map(ended).collect()
    })
}

fn cases(cells: Option<&str>, quick: bool) -> Result<Vec<&'static Case>, Failure> {
    let Some(cells) = cells else {
        return Ok(CASES.iter().filter(|case| !quick || case.name == "act").collect());
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
        assert_eq!(names(None, true), ["act"]);
        assert_eq!(names(Some("hand, off"), false), ["hand", "off"]);
        assert!(cases(Some("loud"), false).is_err());
    }
}
