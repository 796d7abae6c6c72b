//! `fanfare bench streams`: how fast a stream comes to all receivers.

use std::path::PathBuf;

use clap::Args;
use fanfare_command::{Exit, Failure, Help, Output, OutputArgs, units};
use fanfare_lab::{PipeBench, PipeRun};
use fanfare_sim::{Sorted, Table};

use super::lines::{directory, end, mega, print};
use crate::{
    ending::{ended_early, give_up, stop},
    fanfare::fanfare,
};

const HELP: Help = Help::new(&[
    ("fanfare bench streams", "to one and to three receivers"),
    ("fanfare bench streams --receivers 10 --rate 4G", "to ten"),
])
.exits(&[
    (Exit::Done, "everything was measured"),
    (Exit::Failed, "failed"),
    (Exit::Partial, "a stream was not whole"),
    (Exit::Permission, "root is needed"),
    (Exit::Resource, "a program is missing"),
    (Exit::Interrupted, "interrupted by Ctrl-C"),
])
.environment(&[("FANFARE_BIN", "another build of fanfare to be measured")])
.files(&[("--dir DIR", "what is measured, while it is measured")]);

/// Measure how fast a stream reaches all receivers
///
/// 'fanfare pipe', lossless, and a pipe over NRL's libnorm, in turn, between network namespaces around a
/// bridge of this machine. What comes out is counted and not kept. This needs root, and the package
/// libnorm-dev.
#[derive(Debug, Args)]
#[command(after_help = HELP.short(), after_long_help = HELP.long())]
pub(super) struct PipesArgs {
    /// Numbers of receivers, with commas
    #[arg(long, default_value = "1,3", value_delimiter = ',', value_parser = clap::value_parser!(u16).range(1..=100))]
    receivers: Vec<u16>,
    /// Size of the stream in bytes
    #[arg(long, default_value_t = 500_000_000, value_parser = clap::value_parser!(u64).range(1_000_000..))]
    size: u64,
    /// Rate that Fanfare is told
    #[arg(long, default_value = "8G", value_name = "RATE", allow_hyphen_values = true)]
    rate: String,
    /// Rate that libnorm is told; beyond what it can, its receivers lose bytes
    #[arg(
        long,
        default_value = "1G",
        value_name = "RATE",
        allow_hyphen_values = true,
        hide_short_help = true
    )]
    norm_rate: String,
    /// How often each is measured
    #[arg(long, default_value_t = 3, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    repetitions: u32,
    /// Largest IP packet of the network
    #[arg(long, default_value_t = 1500, value_name = "BYTES", value_parser = clap::value_parser!(u64).range(576..=65_535), hide_short_help = true)]
    mtu: u64,
    /// Directory for the input [default: in memory]
    #[arg(long, hide_short_help = true)]
    dir: Option<PathBuf>,
    #[command(flatten)]
    output: OutputArgs,
}

pub(super) fn run(args: &PipesArgs) -> Exit {
    let output = Output::new(args.output);
    let bench = match args.bench() {
        Ok(bench) => bench,
        Err(failure) => return fanfare_command::give_up(&output, &failure),
    };
    let stop = match stop() {
        Ok(stop) => stop,
        Err(error) => return give_up(&output, &error),
    };
    let mut tell = |run: &PipeRun| {
        print(&output, "stream", run);
        output.text(&line(run));
    };
    match bench.run(&stop, &mut tell) {
        Ok(runs) => conclude(&runs, &output),
        Err(error) => ended_early(&output, &error, &stop),
    }
}

impl PipesArgs {
    fn bench(&self) -> Result<PipeBench, Failure> {
        Ok(PipeBench {
            receivers: self.receivers.iter().map(|count| usize::from(*count)).collect(),
            size: self.size,
            rate: units::rate(&self.rate)?.as_bps(),
            norm_rate: units::rate_of("norm-rate", &self.norm_rate)?.as_bps(),
            repetitions: self.repetitions,
            mtu: self.mtu as usize,
            directory: directory(self.dir.as_ref()),
            fanfare: fanfare(),
        })
    }
}

fn line(run: &PipeRun) -> String {
    let PipeRun { system, receivers, goodput_bps, raw_bps, why } = run;
    match why.is_empty() {
        true => format!(
            "{system} to {receivers}: {} Mbit/s, where raw UDP comes to {}",
            mega(*goodput_bps),
            mega(*raw_bps)
        ),
        false => format!("{system} to {receivers}: not whole: {why}"),
    }
}

fn conclude(runs: &[PipeRun], output: &Output) -> Exit {
    let mut table = Table::new(&["system", "to", "Mbit/s", "raw", "whole"]);
    let mut cells: Vec<(usize, &str)> =
        runs.iter().map(|run| (run.receivers, run.system)).collect();
    cells.dedup();
    cells.sort_unstable();
    cells.dedup();
    for (receivers, system) in cells {
        let of_it = |run: &&PipeRun| run.receivers == receivers && run.system == system;
        let (all, whole) = (runs.iter().filter(of_it), |run: &&PipeRun| run.why.is_empty());
        let count = all.clone().count();
        let figures: Vec<f64> = all.clone().filter(whole).map(|run| run.goodput_bps).collect();
        let raw: Vec<f64> = all.map(|run| run.raw_bps).collect();
        table.row(vec![
            system.to_owned(),
            receivers.to_string(),
            mega(median(&figures)),
            mega(median(&raw)),
            format!("{} of {count}", figures.len()),
        ]);
    }
    output.data(&table.to_string());
    end(runs.iter().all(|run| run.why.is_empty()), output)
}

fn median(figures: &[f64]) -> f64 {
    figures.iter().copied().collect::<Sorted>().median().unwrap_or_default()
}
