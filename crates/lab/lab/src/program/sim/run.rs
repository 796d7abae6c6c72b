//! `fanfare sim run`: a scenario over several seeds, as a table, JSON, CSV or a plot.

use std::{fmt::Write, path::PathBuf, thread::available_parallelism};

use clap::Args;
use fanfare_sim::{Report, Scenario, Summary, Table};

use super::{
    lines, plot,
    seeds::{Outcome, run_seeds, summarise},
    written::{unwritable, write},
};
use crate::scenario_files::{load, variable};
use fanfare_command::{Exit, Failure, Help, Output, OutputArgs, give_up_all};

const HELP: Help = Help::new(&[
    ("fanfare sim run scenarios/files/small.toml", "20 seeds"),
    ("fanfare sim run scenarios/files/road.toml --set loss=1% --seeds 5", "another loss"),
    ("fanfare sim run scenarios/files/dumbbell.toml --plot out.svg", "a plot"),
])
.exits(&[
    (Exit::Done, "all transfers are complete"),
    (Exit::Failed, "failed"),
    (Exit::Partial, "some seeds did not complete in time"),
    (Exit::Resource, "a file cannot be written"),
])
.files(&[("FILE", "scenario, in TOML; see docs/reference/scenario-files.md")]);

/// Run a scenario with several seeds: means and 95 % confidence intervals
#[derive(Debug, Args)]
#[command(after_help = HELP.short(), after_long_help = HELP.long())]
pub(crate) struct RunArgs {
    /// Scenario file (TOML)
    file: PathBuf,
    /// Set a variable of the file; repeatable
    #[arg(long, value_name = "NAME=VALUE", value_parser = variable)]
    set: Vec<(String, String)>,
    /// First seed [default: the file's]
    #[arg(long)]
    seed: Option<u64>,
    /// How many seeds
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    seeds: u64,
    /// Seeds at a time [default: one for each core]
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=1024), hide_short_help = true)]
    jobs: Option<u16>,
    /// Write figures and time series into this directory
    ///
    /// Figures of all seeds, and time series of the first.
    #[arg(long, value_name = "DIR")]
    csv: Option<PathBuf>,
    /// Draw throughput and queueing delay of the first seed
    #[arg(long, value_name = "FILE.svg")]
    plot: Option<PathBuf>,
    #[command(flatten)]
    output: OutputArgs,
}

pub(crate) fn run(args: &RunArgs) -> Exit {
    let output = Output::new(args.output);
    match load(&args.file, &args.set.iter().cloned().collect()) {
        Ok(scenario) => run_scenario(args, &scenario, &output)
            .unwrap_or_else(|failure| fanfare_command::give_up(&output, &failure)),
        Err(mistakes) => give_up_all(&output, &mistakes),
    }
}

fn run_scenario(args: &RunArgs, scenario: &Scenario, output: &Output) -> Result<Exit, Failure> {
    let first = args.seed.unwrap_or(scenario.seed);
    let Some(end) = first.checked_add(args.seeds) else {
        let text =
            format!("seed ({first}): leaves no room for {} more. Use a smaller one", args.seeds);
        return Err(Failure::usage("seed.invalid", text));
    };
    let jobs =
        args.jobs.map_or_else(|| available_parallelism().map_or(1, usize::from), usize::from);
    lines::Begun::new(scenario, first, args.seeds).print(output);
    let (outcomes, report) = run_seeds(scenario, first..end, jobs, |outcome| {
        output.progress(outcome.seed - first + 1, args.seeds, format!("seed {}", outcome.seed));
        lines::SeedLine::of(outcome).print(output);
    });
    output.clear();
    let figures = summarise(&outcomes);
    if let Some(report) = &report {
        write_files(args, scenario, &outcomes, report)?;
        if args.seeds == 1 {
            output.data(&report.to_string());
        }
    }
    output.data(&table(&figures));
    Ok(finish(scenario, &outcomes, &figures, output))
}

/// A transfer that was to be whole and was not is a partial success.
fn finish(
    scenario: &Scenario,
    outcomes: &[Outcome],
    figures: &[(String, Summary)],
    output: &Output,
) -> Exit {
    let broken: Vec<u64> = outcomes.iter().filter(|o| !o.complete).map(|o| o.seed).collect();
    let exit = match broken.is_empty() || !scenario.ends_complete() {
        true => Exit::Done,
        false => Exit::Partial,
    };
    if exit == Exit::Partial {
        let seeds = broken.iter().take(10).map(u64::to_string).collect::<Vec<_>>().join(", ");
        let (n, all) = (broken.len(), outcomes.len());
        output.text(&format!("{n} of {all} seeds did not complete in time: {seeds}"));
    }
    lines::SweepResult::new(&scenario.name, outcomes, figures, exit as u8).print(output);
    exit
}

fn table(figures: &[(String, Summary)]) -> String {
    let mut table = Table::new(&["figure", "mean", "± 95 %", "least", "greatest"]);
    for (name, s) in figures {
        let cells = [s.mean, s.ci95, s.least, s.greatest].map(short);
        table.row(std::iter::once(name.clone()).chain(cells));
    }
    table.to_string()
}

/// Four significant digits, or whole numbers.
fn short(value: f64) -> String {
    match value.abs() {
        0.0 => String::from("0"),
        size if size >= 1_000.0 || (value.fract() == 0.0) => format!("{value:.0}"),
        size if size >= 100.0 => format!("{value:.1}"),
        size if size >= 10.0 => format!("{value:.2}"),
        size if size >= 1.0 => format!("{value:.3}"),
        _ => format!("{value:.4}"),
    }
}

fn write_files(
    args: &RunArgs,
    scenario: &Scenario,
    outcomes: &[Outcome],
    report: &Report,
) -> Result<(), Failure> {
    if let Some(dir) = &args.csv {
        std::fs::create_dir_all(dir).map_err(|error| unwritable(dir, &error))?;
        write(&dir.join("metrics.csv"), &metrics_csv(outcomes))?;
        write(&dir.join("hops.csv"), &report.hops_csv())?;
        write(&dir.join("goodput.csv"), &report.goodput_csv())?;
        if !report.layered.is_empty() {
            write(&dir.join("layers.csv"), &report.layers_csv())?;
        }
    }
    if let Some(path) = &args.plot {
        let svg = plot::draw(scenario, report).map_err(|why| {
            let text = format!("plot ({}): cannot be drawn ({why}). Leave it out", path.display());
            Failure::new(Exit::Failed, "plot.failed", text)
        })?;
        write(path, &svg)?;
    }
    Ok(())
}

/// A line for each seed and figure.
fn metrics_csv(outcomes: &[Outcome]) -> String {
    let mut csv = String::from("seed,figure,value\n");
    for outcome in outcomes {
        for (name, value) in &outcome.metrics {
            // Writing to a string cannot fail.
            let _ = writeln!(csv, "{},{name},{value}", outcome.seed);
        }
    }
    csv
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_shown_with_four_digits() {
        let shown = [0.0, 1.0, 0.12345, 1.23456, 12.3456, 123.456, 12_345.6].map(short);
        assert_eq!(shown, ["0", "1", "0.1235", "1.235", "12.35", "123.5", "12346"]);
    }
}
