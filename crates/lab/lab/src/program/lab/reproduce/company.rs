//! `fanfare lab reproduce company`: messages between many, by real systems side by side.

use std::time::Duration;

use fanfare_lab::{Company, CompanyProgress, CompanyRow, MessagingSystem, Radio};

use fanfare_command::{Exit, Failure, Output, units};

use super::options::{ReproduceArgs, conclude};
use crate::{
    choice::chosen,
    ending::{give_up, stop},
};

/// What it is called among experiments.
pub(super) const NAME: &str = "company";
/// What `--quick` takes.
const QUICK: Duration = Duration::from_secs(60);
/// What is published last has so long, as in the simulated company.
const REST: Duration = Duration::from_secs(60);

pub(super) fn run(args: &ReproduceArgs, output: &Output) -> Exit {
    let company = match company(args) {
        Ok(company) => company,
        Err(failure) => return fanfare_command::give_up(output, &failure),
    };
    let stop = match stop() {
        Ok(stop) => stop,
        Err(error) => return give_up(output, &error),
    };
    let result = company.run(&stop, &mut |progress| match progress {
        CompanyProgress::Missing(carrier, error) => {
            output.warn("lab.peer_missing", format!("{carrier} is left out: {error}"));
        }
        CompanyProgress::Ended(row) => output.text(&row.line()),
    });
    let broken = result.map(|rows| rows.iter().any(CompanyRow::is_broken));
    conclude(broken, &company.trials.out.join("company-systems.md"), &stop, output)
}

fn company(args: &ReproduceArgs) -> Result<Company, Failure> {
    let quick = [Radio::Fixed];
    let radios = if args.quick { &quick[..] } else { &Radio::MEASURED };
    let duration = units::time("duration", &args.duration)?;
    Ok(Company {
        systems: chosen("systems", args.systems.as_deref(), &MessagingSystem::COMPANY)?,
        leave_out_missing: args.systems.is_none(),
        radios: chosen("cells", args.cells.as_deref(), radios)?,
        vehicles: args.vehicles,
        duration: if args.quick { QUICK } else { duration },
        rest: REST,
        seed: u64::from(args.first) + 1,
        trials: args.trials(""),
    })
}
