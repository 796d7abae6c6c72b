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

use fanfare_command::{Exit, Failure, Output};

use super::{options::ReproduceArgs, stage::Experiment};
use crate::choice::cells;
pub(super) use plan::NAME;
use plan::{LOADS, Plan};
use table::Row;

/// The load of a quick look, bit/s; and its steps.
const QUICK: (u32, usize) = (128_000, 4);
/// Runs side by side at most: each has three hosts and an emulator.
const JOBS: usize = 6;

pub(super) fn run(args: &ReproduceArgs, output: &Output) -> Exit {
    let loads = match loads(args.cells.as_deref(), args.quick) {
        Ok(loads) => loads,
        Err(failure) => return fanfare_command::give_up(output, &failure),
    };
    let steps = if args.quick { QUICK.1 } else { plan::STEPS };
    let of = |load: &u32| {
        let load = *load;
        args.repetitions().map(move |seed| Plan::new(load, steps, seed))
    };
    Experiment {
        name: NAME,
        family: "monitor",
        planned: loads.iter().flat_map(of).collect(),
        jobs: args.jobs.clamp(1, JOBS),
        run: trial::run,
        line: Row::line,
        tables: [table::markdown, table::csv],
    }
    .run(args, output)
}

fn loads(names: Option<&str>, quick: bool) -> Result<Vec<u32>, Failure> {
    match names {
        None if quick => Ok(vec![QUICK.0]),
        None => Ok(LOADS.to_vec()),
        Some(names) => {
            let named = |name: &str| LOADS.into_iter().find(|load| name == plan::name(*load));
            cells(names, named, "25.6, 128 or 204.8 (kbit/s), with commas")
        }
    }
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
