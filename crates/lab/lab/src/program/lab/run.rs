//! `fanfare lab run`: up, the programs of the file, down.

use std::path::{Path, PathBuf};

use clap::Args;
use fanfare_lab::{Conclusion, Lab, LabError, Run};
use fanfare_sim::Scenario;

use fanfare_command::{Exit, Failure, Help, Output, OutputArgs};

use super::{
    lines,
    which::{FileArgs, load},
};
use crate::{
    ending::{give_up, stop},
    fanfare::fanfare,
};

const HELP: Help = Help::new(&[
    ("fanfare lab run scenarios/files/radio.toml --out radio", "keep all outputs"),
    ("fanfare lab run scenarios/files/radio.toml --seed 7", "other losses"),
])
.exits(&[
    (Exit::Done, "all programs ended as expected"),
    (Exit::Failed, "the machine was too busy: the run is void"),
    (Exit::Partial, "a program did not end as expected"),
    (Exit::Permission, "root is needed"),
    (Exit::Resource, "a program or device is missing"),
    (Exit::Interrupted, "interrupted by Ctrl-C"),
])
.environment(&[("FANFARE_BIN", "another build of fanfare to be measured")])
.files(&[("--out DIR", "a directory for each host, with what its programs print and write")]);

/// Run the programs and transfers of a scenario, and collect the results
///
/// Starts the network, runs the programs and the transfers of the file, and stops everything.
#[derive(Debug, Args)]
#[command(after_help = HELP.short(), after_long_help = HELP.long())]
pub(super) struct RunArgs {
    #[command(flatten)]
    file: FileArgs,
    /// Directory for files and output of each host [default: a temporary one]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Accept the run even if the emulator was late
    #[arg(long)]
    accept_late: bool,
    #[command(flatten)]
    output: OutputArgs,
}

pub(super) fn run(args: &RunArgs) -> Exit {
    let output = Output::new(args.output);
    let scenario = match load(&args.file) {
        Ok(scenario) => scenario,
        Err(mistakes) => return fanfare_command::give_up_all(&output, &mistakes),
    };
    let out = args.out.clone().unwrap_or_else(|| {
        std::env::temp_dir().join(format!("fanfare-lab-{}", std::process::id()))
    });
    if let Err(error) = std::fs::create_dir_all(&out) {
        let shown = out.display();
        let text = format!("output ({shown}): cannot be made ({error}). Use another place");
        let failure = Failure::new(Exit::Resource, "output.not_writable", text);
        return fanfare_command::give_up(&output, &failure);
    }
    match run_scenario(args, &scenario, &out, &output) {
        Ok(conclusion) => conclude(args, &scenario, &conclusion, &out, &output),
        Err(error) => give_up(&output, &error),
    }
}

fn run_scenario(
    args: &RunArgs,
    scenario: &Scenario,
    out: &Path,
    output: &Output,
) -> Result<Conclusion, LabError> {
    let stop = stop()?;
    let fanfare = fanfare();
    let mut lab = Lab::up(scenario, args.file.seed.unwrap_or(scenario.seed))?;
    lab.announce()?;
    lines::Up::new(&lab).print(output);
    let run = Run { lab: &lab, scenario, out, fanfare: &fanfare, stop: &stop };
    let conclusion = run.run(&mut |report| lines::ProgramLine::new(report).print(output))?;
    lab.down()?;
    Ok(conclusion)
}

fn conclude(
    args: &RunArgs,
    scenario: &Scenario,
    conclusion: &Conclusion,
    out: &Path,
    output: &Output,
) -> Exit {
    let counted = &conclusion.counted;
    output.data(&lines::tables(counted));
    output.text(&format!("outputs: {}", out.display()));
    let late = counted.lateness.void || conclusion.overruns > 0;
    if late {
        let text = format!(
            "this run is void: the machine was too busy ({}, {} frames not fetched)",
            lines::lateness(counted),
            conclusion.overruns
        );
        output.warn("lab.void", text);
    }
    let exit = if conclusion.interrupted {
        Exit::Interrupted
    } else if conclusion.programs.iter().any(|program| !program.ok) {
        Exit::Partial
    } else if late && !args.accept_late {
        Exit::Failed
    } else {
        Exit::Done
    };
    lines::Result::new(&scenario.name, exit, counted).of_run(conclusion).print(output);
    exit
}
