//! `fanfare lab reproduce s002-harness`: many systems, several seeds.

use std::time::Duration;

use fanfare_command::{Exit, Failure, Output, units};
use fanfare_lab::{Company, CompanyProgress, CompanyRow, Harness, MessagingSystem, Radio};

use super::options::{ReproduceArgs, conclude};
use crate::{
    choice::chosen,
    ending::{give_up, stop},
};

/// What it is called among experiments.
pub(super) const NAME: &str = "s002-harness";
/// What `--quick` takes: one radio, once.
const QUICK: Duration = Duration::from_secs(60);
/// What is published last has so long.
const REST: Duration = Duration::from_secs(30);

pub(super) fn run(args: &ReproduceArgs, output: &Output) -> Exit {
    let harness = match harness(args) {
        Ok(harness) => harness,
        Err(failure) => return fanfare_command::give_up(output, &failure),
    };
    let stop = match stop() {
        Ok(stop) => stop,
        Err(error) => return give_up(output, &error),
    };
    let result = harness.run(&stop, &mut |progress| match progress {
        CompanyProgress::Missing(carrier, error) => {
            output.warn("lab.peer_missing", format!("{carrier} is left out: {error}"));
        }
        CompanyProgress::Ended(row) => output.text(&row.line()),
    });
    let broken = result.map(|rows| rows.iter().any(CompanyRow::is_broken));
    conclude(broken, &harness.company.trials.out.join("harness.md"), &stop, output)
}

fn harness(args: &ReproduceArgs) -> Result<Harness, Failure> {
    let quick = [Radio::Fixed];
    let radios = if args.quick { &quick[..] } else { &Radio::MEASURED };
    let duration = units::time("duration", &args.duration)?;
    let company = Company {
        systems: chosen("systems", args.systems.as_deref(), &MessagingSystem::ALL)?,
        leave_out_missing: args.systems.is_none(),
        radios: chosen("cells", args.cells.as_deref(), radios)?,
        vehicles: args.vehicles,
        duration: if args.quick { QUICK } else { duration },
        rest: REST,
        seed: 1,
        trials: args.trials("results/harness"),
    };
    Ok(Harness { company, repetitions: args.repetitions() })
}
