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

use fanfare_command::{Exit, Failure, Output};

use super::{options::ReproduceArgs, stage::Experiment};
use crate::choice::cells;
pub(super) use case::NAME;
use case::{CASES, Case};
use table::Row;

pub(super) fn run(args: &ReproduceArgs, output: &Output) -> Exit {
    let cases = match cases(args.cells.as_deref(), args.quick) {
        Ok(cases) => cases,
        Err(failure) => return fanfare_command::give_up(output, &failure),
    };
    // A long one is run once.
    let of = |repetition: u32| {
        let cases = cases.iter().filter(move |case| !case.is_long() || repetition == 0);
        cases.map(move |case| (*case, repetition))
    };
    Experiment {
        name: NAME,
        family: "monitor",
        planned: args.repetitions().flat_map(of).collect(),
        // Each has two hosts and little traffic.
        jobs: cases.len(),
        run: |(case, repetition), stop| trial::run(case, *repetition, stop),
        line: Row::line,
        tables: [table::markdown, table::csv],
    }
    .run(args, output)
}

fn cases(names: Option<&str>, quick: bool) -> Result<Vec<&'static Case>, Failure> {
    let Some(names) = names else {
        return Ok(CASES.iter().filter(|case| !quick || case.name == "act").collect());
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
        assert_eq!(names(None, true), ["act"]);
        assert_eq!(names(Some("hand, off"), false), ["hand", "off"]);
        assert!(cases(Some("loud"), false).is_err());
    }
}
