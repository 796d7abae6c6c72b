//! `fanfare lab reproduce s002-p3`: what a link says of the rate of its road.

use fanfare_command::{Exit, Failure, Output};
use fanfare_lab::P3;

use super::options::{ReproduceArgs, conclude};
use crate::{
    choice::cells,
    ending::{give_up, stop},
};

/// What it is called among experiments.
pub(super) const NAME: &str = "s002-p3";
/// kbit/s: those of the paper to 2,048, and its radio of 54 Mbit/s.
const RATES: [u32; 9] = [100, 512, 1000, 2048, 4000, 8000, 10_000, 54_000, 100_000];
/// Of the short form.
const QUICK: [u32; 2] = [512, 8000];

pub(super) fn run(args: &ReproduceArgs, output: &Output) -> Exit {
    let p3 = match p3(args) {
        Ok(p3) => p3,
        Err(failure) => return fanfare_command::give_up(output, &failure),
    };
    let stop = match stop() {
        Ok(stop) => stop,
        Err(error) => return give_up(output, &error),
    };
    let result = p3.run(&stop, &mut |row| output.text(&row.line()));
    let broken = result.map(|rows| rows.is_empty());
    conclude(broken, &p3.trials.out.join(format!("{NAME}.md")), &stop, output)
}

fn p3(args: &ReproduceArgs) -> Result<P3, Failure> {
    let rates = match args.cells.as_deref() {
        None if args.quick => QUICK.to_vec(),
        None => RATES.to_vec(),
        Some(names) => {
            let one = |name: &str| name.parse().ok().filter(|rate| (50..=100_000).contains(rate));
            cells(names, one, "rates in kbit/s, 50 to 100000, as 512,2048")?
        }
    };
    let (repetitions, trials) = (args.repetitions(), args.trials("monitor"));
    Ok(P3 { rates, repetitions, trials })
}
