//! `fanfare lab reproduce islands`: one file to three islands that relays join.

use fanfare_command::{Exit, Failure, Output};
use fanfare_lab::{IslandCase, IslandRow, Islands};

use super::options::{ReproduceArgs, conclude};
use crate::{
    choice::cells,
    ending::{give_up, stop},
};

/// What it is called among experiments.
pub(super) const NAME: &str = "islands";
/// Bytes of the file, and receivers in each island; and of the short form.
const FULL: (u64, usize) = (100_000_000, 20);
const QUICK: (u64, usize) = (20_000_000, 5);

pub(super) fn run(args: &ReproduceArgs, output: &Output) -> Exit {
    let islands = match islands(args) {
        Ok(islands) => islands,
        Err(failure) => return fanfare_command::give_up(output, &failure),
    };
    let stop = match stop() {
        Ok(stop) => stop,
        Err(error) => return give_up(output, &error),
    };
    let result = islands.run(&stop, &mut |row| output.text(&row.line()));
    let broken = result.map(|rows| rows.iter().any(IslandRow::is_broken));
    conclude(broken, &islands.trials.out.join(format!("{NAME}.md")), &stop, output)
}

fn islands(args: &ReproduceArgs) -> Result<Islands, Failure> {
    let named = |name: &str| IslandCase::ALL.into_iter().find(|case| case.name() == name);
    let cases = match args.cells.as_deref() {
        None => IslandCase::ALL.to_vec(),
        Some(names) => cells(names, named, "undisturbed, replaced or taken-over, with commas")?,
    };
    let (size, receivers) = if args.quick { QUICK } else { FULL };
    Ok(Islands {
        cases,
        receivers,
        size: args.size.unwrap_or(size),
        repetitions: args.repetitions(),
        trials: args.trials("reach"),
    })
}
