//! `fanfare lab reproduce company`: messages between many, by real systems side by side.

use std::{path::PathBuf, time::Duration};

use fanfare_lab::{Carrier, Company, CompanyProgress, CompanyRow, Radio};

use super::{
    give_up,
    reproduce::{ReproduceArgs, chosen, fanfare},
};
use crate::{
    exit::{Exit, Failure},
    interrupt,
    progress::Output,
    units,
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
        Err(failure) => return crate::give_up(output, &failure),
    };
    let stop = match interrupt::stop() {
        Ok(stop) => stop,
        Err(error) => return give_up(output, error),
    };
    let result = company.run(&stop, &mut |progress| match progress {
        CompanyProgress::Missing(carrier, error) => {
            output.warn("lab.peer_missing", format!("{carrier} is left out: {error}"));
        }
        CompanyProgress::Ended(row) => output.text(&row.line()),
    });
    match result {
        Ok(rows) => {
            let place = company.out.join("company-systems.md");
            output.text(&format!("table: {}", place.display()));
            output.data(&std::fs::read_to_string(&place).unwrap_or_default());
            match rows.iter().any(CompanyRow::is_broken) {
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

fn company(args: &ReproduceArgs) -> Result<Company, Failure> {
    let quick = [Radio::Fixed];
    let radios = if args.quick { &quick[..] } else { &Radio::MEASURED };
    let duration = units::time("duration", &args.duration)?;
    Ok(Company {
        carriers: chosen("systems", args.systems.as_deref(), &Carrier::ALL)?,
        leave_out_missing: args.systems.is_none(),
        radios: chosen("cells", args.cells.as_deref(), radios)?,
        vehicles: args.vehicles,
        duration: if args.quick { QUICK } else { duration },
        rest: REST,
        seed: u64::from(args.first) + 1,
        out: args.out.clone().unwrap_or_else(|| PathBuf::from("results")),
        jobs: args.jobs,
        fanfare: fanfare(),
    })
}
