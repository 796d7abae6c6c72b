//! `fanfare lab reproduce s002-latency`: how well a sensor that only looks tells round trips that change
//! (seed 002, 6.7).
//!
//! - `plan`: the network and its steps; `trial`: one run of it; `pings`: what it pings with
//! - `passed`: when each packet passed, by the emulator
//! - `figures`: what was told beside what was so; `table`: all runs

mod figures;
mod passed;
mod pings;
mod plan;
mod table;
mod trial;

use std::sync::{Mutex, PoisonError};

use fanfare_command::{Exit, Failure, Output};
use fanfare_lab::Stop;

use super::options::{ReproduceArgs, conclude};
use crate::ending::{give_up, stop};
pub(super) use plan::NAME;
use plan::{LOADS, Plan};
use table::Row;

/// The load of a quick look, bit/s; and its steps.
const QUICK: (u32, usize) = (128_000, 4);
/// Runs side by side at most: each has three hosts and an emulator.
const JOBS: usize = 6;

pub(super) fn run(args: &ReproduceArgs, output: &Output) -> Exit {
    let plans = match plans(args) {
        Ok(plans) => plans,
        Err(failure) => return fanfare_command::give_up(output, &failure),
    };
    let stop = match stop() {
        Ok(stop) => stop,
        Err(error) => return give_up(output, &error),
    };
    if let Err(error) = fanfare_lab::check_rights() {
        return give_up(output, &error);
    }
    let rows = match all(plans, args.jobs.clamp(1, JOBS), &stop, output) {
        Ok(rows) => rows,
        Err(failure) => return fanfare_command::give_up(output, &failure),
    };
    let out = args.folder("monitor");
    match table::write(&out, &rows) {
        Ok(()) => conclude(Ok(false), &out.join(format!("{NAME}.md")), &stop, output),
        Err(failure) => fanfare_command::give_up(output, &failure),
    }
}

fn plans(args: &ReproduceArgs) -> Result<Vec<Plan>, Failure> {
    let loads = loads(args.cells.as_deref(), args.quick)?;
    let steps = if args.quick { QUICK.1 } else { plan::STEPS };
    let of = |seed: u32| loads.iter().map(move |load| Plan::new(*load, steps, seed));
    Ok(args.repetitions().flat_map(of).collect())
}

fn loads(cells: Option<&str>, quick: bool) -> Result<Vec<u32>, Failure> {
    match cells {
        None if quick => Ok(vec![QUICK.0]),
        None => Ok(LOADS.to_vec()),
        Some(cells) => {
            let load = |cell: &str| LOADS.into_iter().find(|load| cell.trim() == plan::name(*load));
            let loads: Option<Vec<u32>> = cells.split(',').map(load).collect();
            loads.ok_or_else(|| {
                let text =
                    format!("cells ({cells}): write 25.6, 128 or 204.8 (kbit/s), with commas");
                Failure::usage("cells.invalid", text)
            })
        }
    }
}

/// So many at a time; the first failure ends it.
fn all(plans: Vec<Plan>, jobs: usize, stop: &Stop, output: &Output) -> Result<Vec<Row>, Failure> {
    let (plans, done) = (Mutex::new(plans.into_iter()), Mutex::new(Vec::new()));
    let work = || {
        while !stop.is_set() {
            let next = plans.lock().unwrap_or_else(PoisonError::into_inner).next();
            let Some(plan) = next else { return };
            let row = trial::run(&plan, stop);
            let failed = row.is_err();
            if let Ok(row) = &row {
                output.text(&row.line());
            }
            done.lock().unwrap_or_else(PoisonError::into_inner).push(row);
            if failed {
                plans.lock().unwrap_or_else(PoisonError::into_inner).by_ref().for_each(drop);
            }
        }
    };
    // A panic of a worker goes on here.
    std::thread::scope(|scope| (0..jobs).for_each(|_| drop(scope.spawn(work))));
    let done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    let mut rows = done.into_iter().collect::<Result<Vec<Row>, Failure>>()?;
    rows.sort_by_key(|row| (row.load, row.seed));
    if stop.is_set() {
        let text = "interrupted: not all was measured".to_owned();
        return Err(Failure::new(Exit::Interrupted, "lab.interrupted", text));
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loads_are_the_papers_and_another_one_is_refused() {
        let loads = |cells, quick| loads(cells, quick).ok();
        assert_eq!(loads(None, false), Some(LOADS.to_vec()));
        assert_eq!(loads(None, true), Some(vec![128_000]));
        assert_eq!(loads(Some("204.8, 25.6"), true), Some(vec![204_800, 25_600]));
        assert_eq!((loads(Some("300"), false), loads(Some(""), false)), (None, None));
    }
}
