//! `fanfare lab up`: a network that stays until Ctrl-C.

use std::time::Duration;

use clap::Args;
use fanfare_lab::{Lab, LabError, Snapshot};

use fanfare_command::{Exit, Help, Output, OutputArgs};

use super::{
    lines,
    which::{FileArgs, load},
};
use crate::ending::{EXITS, give_up, stop};

/// Between two lines of status: eyes do not follow faster.
const STATUS: Duration = Duration::from_secs(1);

const HELP: Help = Help::new(&[
    ("fanfare lab up scenarios/files/classroom.toml", "a room of 31 hosts"),
    ("fanfare lab up scenarios/files/road.toml --set loss=5%", "with another loss"),
])
.exits(EXITS)
.files(super::FILES);

/// Start the network of a scenario, until Ctrl-C or 'fanfare lab down'
#[derive(Debug, Args)]
#[command(after_help = HELP.short(), after_long_help = HELP.long())]
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
        Err(mistakes) => return fanfare_command::give_up_all(&output, &mistakes),
    };
    let stayed = || -> Result<Snapshot, LabError> {
        let stop = stop()?;
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
        Err(error) => give_up(&output, &error),
    }
}
