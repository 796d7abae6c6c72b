//! `fanfare lab up`: a network that stays until Ctrl-C.

use std::time::Duration;

use clap::Args;
use fanfare_lab::{Lab, LabError, Snapshot};

use super::{FileArgs, give_up, lines, load};
use crate::{
    exit::Exit,
    interrupt,
    progress::{Output, OutputArgs},
};

/// Between two lines of status: eyes do not follow faster.
const STATUS: Duration = Duration::from_secs(1);

/// Bring the network of a scenario up, until Ctrl-C or `fanfare lab down`
#[derive(Debug, Args)]
pub(super) struct UpArgs {
    #[command(flatten)]
    file: FileArgs,
    #[command(flatten)]
    output: OutputArgs,
}

pub(super) fn run(args: &UpArgs) -> Exit {
    let output = Output::new(args.output);
    let scenario = match load(&args.file) {
        Ok(scenario) => scenario,
        Err(mistakes) => return crate::give_up_all(&output, &mistakes),
    };
    let stayed = || -> Result<Snapshot, LabError> {
        let stop = interrupt::stop()?;
        let mut lab = Lab::up(&scenario, args.file.seed.unwrap_or(scenario.seed))?;
        lab.announce()?;
        lines::Up::new(&lab).print(&output);
        while !lab.wait(&stop, STATUS) {
            output.spin(lines::in_one_line(&lab.snapshot()?));
        }
        lab.down()
    };
    match stayed() {
        Ok(counted) => {
            output.clear();
            output.data(&lines::tables(&counted));
            lines::Result::new(&scenario.name, Exit::Done, &counted).print(&output);
            Exit::Done
        }
        Err(error) => give_up(&output, error),
    }
}
