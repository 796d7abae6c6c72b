//! `fanfare lab reproduce monitor-cost`: what monitors take of a channel and of processors, by the same group
//! with them and without.
//!
//! - `trial`: one group; `table`: all of them

mod table;
mod trial;

use std::thread;

use fanfare_command::{Exit, Failure, Output};
use fanfare_lab::Stop;

use super::{options::ReproduceArgs, stage::Experiment};
use crate::choice::cells;
use table::Row;
pub(super) use trial::NAME;
use trial::{CASES, Case, Group};

pub(super) fn run(args: &ReproduceArgs, output: &Output) -> Exit {
    let cases = match cases(args.cells.as_deref(), args.quick) {
        Ok(cases) => cases,
        Err(failure) => return fanfare_command::give_up(output, &failure),
    };
    let of = |repetition: u32| cases.iter().map(move |case| (*case, repetition));
    Experiment {
        name: NAME,
        family: "monitor",
        planned: args.repetitions().flat_map(of).collect(),
        // What nodes take of a processor is measured.
        jobs: 1,
        run: |(case, repetition), stop| pair(case, *repetition, stop),
        line: Row::line,
        tables: [table::markdown, table::csv],
    }
    .run(args, output)
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

fn cases(names: Option<&str>, quick: bool) -> Result<Vec<&'static Case>, Failure> {
    let Some(names) = names else {
        return Ok(CASES.iter().take(if quick { 1 } else { CASES.len() }).collect());
    };
    let named = |name: &str| CASES.iter().find(|case| case.name == name);
    cells(
        names,
        named,
        &format!("some of {}, with commas", CASES.each_ref().map(|case| case.name).join(", ")),
    )
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
