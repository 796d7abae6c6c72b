//! `fanfare lab reproduce s000-table3`: a slow, bad link to the sender; Fanfare and libnorm side by side.

use std::path::PathBuf;

use fanfare_lab::{Relay, Situation, Tactical, TacticalRow};

use super::{
    give_up,
    reproduce::{ReproduceArgs, chosen, fanfare},
};
use crate::{
    exit::{Exit, Failure},
    interrupt,
    progress::Output,
};

/// What it is called among experiments.
pub(super) const NAME: &str = "s000-table3";
/// What `--cells` takes for the whole table.
const ALL: &str = "all";

pub(super) fn run(args: &ReproduceArgs, output: &Output) -> Exit {
    let tactical = match tactical(args) {
        Ok(tactical) => tactical,
        Err(failure) => return crate::give_up(output, &failure),
    };
    let stop = match interrupt::stop() {
        Ok(stop) => stop,
        Err(error) => return give_up(output, error),
    };
    match tactical.run(&stop, &mut |row| output.text(&row.line())) {
        Ok(rows) => {
            let place = tactical.out.join(format!("{NAME}.md"));
            output.text(&format!("table: {}", place.display()));
            output.data(&std::fs::read_to_string(&place).unwrap_or_default());
            match rows.iter().any(TacticalRow::is_broken) {
                true => Exit::Partial,
                false => Exit::Done,
            }
        }
        Err(error) => {
            let exit = give_up(output, error);
            if stop.is_set() { Exit::Interrupted } else { exit }
        }
    }
}

fn tactical(args: &ReproduceArgs) -> Result<Tactical, Failure> {
    let situations = match args.cells.as_deref() {
        Some(ALL) => Situation::all(),
        names => chosen("cells", names, &Situation::some())?,
    };
    Ok(Tactical {
        relays: chosen("systems", args.systems.as_deref(), &Relay::ALL)?,
        situations,
        first: args.first,
        repetitions: if args.quick { 1 } else { args.repetitions.max(1) },
        out: args.out.clone().unwrap_or_else(|| PathBuf::from("results/s000")),
        jobs: args.jobs,
        fanfare: fanfare(),
    })
}
