//! `fanfare lab reproduce s002-unicast`: protocols between two hosts over one bad road.

use fanfare_command::{Exit, Failure, Output};
use fanfare_lab::{LabError, Protocol, Unicast, UnicastRow};

use super::options::{ReproduceArgs, conclude};
use crate::{
    choice::{cells, chosen},
    ending::{give_up, stop},
};

/// What it is called among experiments.
pub(super) const NAME: &str = "s002-unicast";
/// The same over a road that changes.
pub(super) const DYNAMIC: &str = "s002-unicast-dynamic";
/// The paper's losses, percent.
const LOSSES: [u32; 4] = [0, 5, 10, 15];
/// Of the short form.
const QUICK: [u32; 2] = [0, 10];

pub(super) fn run(args: &ReproduceArgs, output: &Output) -> Exit {
    let unicast = match unicast(args) {
        Ok(unicast) => unicast,
        Err(failure) => return fanfare_command::give_up(output, &failure),
    };
    let stop = match stop() {
        Ok(stop) => stop,
        Err(error) => return give_up(output, &error),
    };
    let mut missing = |protocol: Protocol, error: &LabError| {
        output.warn("lab.missing", format!("{protocol} is not measured: {error}"));
    };
    let result = unicast.run(&stop, &mut missing, &mut |row| output.text(&row.line()));
    let broken = result.map(|rows| rows.iter().any(UnicastRow::is_broken));
    conclude(broken, &unicast.trials.out.join(format!("{}.md", unicast.name())), &stop, output)
}

fn unicast(args: &ReproduceArgs) -> Result<Unicast, Failure> {
    let losses = match args.cells.as_deref() {
        None if args.quick => QUICK.to_vec(),
        None => LOSSES.to_vec(),
        Some(names) => {
            let one = |name: &str| name.parse().ok().filter(|loss| *loss <= 90);
            cells(names, one, "losses in percent, as 0,5,10,15")?
        }
    };
    Ok(Unicast {
        protocols: chosen("systems", args.systems.as_deref(), &Protocol::ALL)?,
        losses,
        repetitions: args.repetitions(),
        changing: args.name == DYNAMIC,
        trials: args.trials("unicast"),
    })
}
