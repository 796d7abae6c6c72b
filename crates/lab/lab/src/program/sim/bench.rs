//! `fanfare sim bench`: how many seeds of a small scenario one core runs in an hour.

use std::{
    path::PathBuf,
    time::{Duration, Instant},
};

use clap::Args;
use fanfare_sim::{Scenario, Values};

use super::{cpu_time::cpu_time, lines};
use crate::scenario_files::load;
use fanfare_command::{Exit, Failure, Help, Output, OutputArgs, give_up_all};

/// 30 receivers, 20 % loss in bursts, 200 segments.
const SMALL: &str = include_str!("small.toml");

const HELP: Help = Help::new(&[
    ("fanfare sim bench", "five seconds"),
    ("fanfare sim bench scenarios/files/road.toml --seconds 20", "another scenario"),
])
.files(&[("FILE", "scenario, in TOML; see docs/reference/scenario-files.md")]);

/// Measure how many seeds the simulator runs in an hour on one core
#[derive(Debug, Args)]
#[command(after_help = HELP.short(), after_long_help = HELP.long())]
pub(crate) struct BenchArgs {
    /// Scenario file [default: 30 receivers, 20 % bursty loss, 200 segments]
    file: Option<PathBuf>,
    /// How long to measure
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=3600))]
    seconds: u64,
    #[command(flatten)]
    output: OutputArgs,
}

pub(crate) fn run(args: &BenchArgs) -> Exit {
    let output = Output::new(args.output);
    let scenario = match &args.file {
        Some(file) => load(file, &Values::new()),
        None => {
            Scenario::parse(SMALL, &|file| Err(format!("has no file {file}"))).map_err(|list| {
                let failure = |mistake: fanfare_sim::scenario::Mistake| {
                    Failure::new(Exit::Failed, "scenario.invalid", mistake.to_string())
                };
                list.into_iter().map(failure).collect()
            })
        }
    };
    match scenario {
        Ok(scenario) => {
            measure(&scenario, Duration::from_secs(args.seconds)).print(&output);
            Exit::Done
        }
        Err(mistakes) => give_up_all(&output, &mistakes),
    }
}

fn measure(scenario: &Scenario, time: Duration) -> lines::BenchResult {
    let (begun, cpu_begun) = (Instant::now(), cpu_time());
    let mut runs = 0;
    while begun.elapsed() < time {
        std::hint::black_box(scenario.plan(scenario.seed + runs).run());
        runs += 1;
    }
    let (seconds, cpu_seconds) =
        (begun.elapsed().as_secs_f64(), (cpu_time() - cpu_begun).as_secs_f64());
    lines::BenchResult {
        event: "result",
        ok: true,
        exit: 0,
        scenario: scenario.name.clone(),
        runs,
        seconds,
        cpu_seconds,
        seeds_per_hour: (runs as f64 * 3600.0 / cpu_seconds) as u64,
    }
}
