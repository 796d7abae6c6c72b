//! `fanfare lab reproduce s000-table3`: a slow, bad link to the sender; Fanfare and libnorm side by side.

use fanfare_lab::{Relay, Situation, Tactical, TacticalRow};

use fanfare_command::{Exit, Failure, Output};

use super::options::{ReproduceArgs, conclude};
use crate::{
    choice::chosen,
    ending::{give_up, stop},
};

/// What it is called among experiments.
pub(super) const NAME: &str = "s000-table3";
/// What `--cells` takes for the whole table.
const ALL: &str = "all";

pub(super) fn run(args: &ReproduceArgs, output: &Output) -> Exit {
    let tactical = match tactical(args) {
        Ok(tactical) => tactical,
        Err(failure) => return fanfare_command::give_up(output, &failure),
    };
    let stop = match stop() {
        Ok(stop) => stop,
        Err(error) => return give_up(output, &error),
    };
    let result = tactical.run(&stop, &mut |row| output.text(&row.line()));
    let broken = result.map(|rows| rows.iter().any(TacticalRow::is_broken));
    conclude(broken, &tactical.trials.out.join(format!("{NAME}.md")), &stop, output)
}

fn tactical(args: &ReproduceArgs) -> Result<Tactical, Failure> {
    let situations = match args.cells.as_deref() {
        Some(ALL) => Situation::all(),
        names => chosen("cells", names, &Situation::some())?,
    };
    Ok(Tactical {
        relays: chosen("systems", args.systems.as_deref(), &Relay::ALL)?,
        situations,
        repetitions: args.repetitions(),
        trials: args.trials("s000"),
    })
}
