//! `fanfare lab reproduce`: the papers' tables again, with the real peers.

use std::{
    ops::{Range, RangeInclusive},
    path::{Path, PathBuf},
    str::FromStr,
};

use clap::Args;
use fanfare_lab::{
    Campaign, Experiment, LabError, Measured, Outcome, Progress, Record, Stop, System, Trials,
    VEHICLES, VEHICLES_MIN,
};

use super::{ended_early, give_up, plot};
use crate::{
    exit::{Exit, Failure},
    interrupt,
    progress::{Output, OutputArgs},
};

/// What `--quick` measures: a slow and a fast cell, with loss.
const QUICK_CELLS: &str = "1024:90,10240:90";
const QUICK_SYSTEMS: [System; 2] = [System::Fanfare, System::Norm];
/// Trials side by side unless told otherwise: as many slow ones as two cores bear.
const JOBS: usize = 12;
/// Of `--size`: a file of less than a packet has no data packet by which time begins; every trial
/// has its file in memory once for each host.
const SIZES: RangeInclusive<u64> = 10_000..=1_000_000_000;
/// Of `--vehicles`.
const COMPANIES: RangeInclusive<u64> = VEHICLES_MIN as u64..=VEHICLES as u64;

/// Measure real systems over emulated networks and write the tables
///
/// What has been measured is kept in the output directory and not measured again, so that the same
/// command goes on after an interruption. docs/reference/measuring.md says how, and what the columns mean.
#[derive(Debug, Args)]
pub(super) struct ReproduceArgs {
    /// s000-table1, s000-table2, s000-table3, s003, s003-gigabit or company
    name: String,
    /// Systems with commas: fanfare, norm, openpgm, jgroups, uftp, udpcast, tcp; for company fanfare,
    /// nats, mqtt, zeromq-norm; for s000-table3 fanfare, norm [default: all that are installed]
    #[arg(long, value_name = "NAMES")]
    pub(super) systems: Option<String>,
    /// Cells with commas, such as 1024:90; a star, or nothing, for all of one half; for company
    /// moving, fixed, clear [default: all, but clear]; for s000-table3 such as deaf:80:1024, or all
    /// [default: 80 and 50 %, 1024 and 15360 bytes]
    #[arg(long, value_name = "KEYS")]
    pub(super) cells: Option<String>,
    /// Bytes of the file, for a quick look [default: the experiment's own]
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u64).range(SIZES))]
    size: Option<u64>,
    /// How often each cell is measured
    #[arg(long, default_value_t = 3, value_name = "N")]
    repetitions: u32,
    /// Number of the first repetition: the number decides the losses, and another day's figures
    /// say more with other ones
    #[arg(long, default_value_t = 0, value_name = "N", value_parser = clap::value_parser!(u32).range(..=1_000_000))]
    pub(super) first: u32,
    /// Where records and tables go [default: results/s000 and so on]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Trials side by side at most; fast links take fewer
    #[arg(long, default_value_t = JOBS, value_name = "N")]
    jobs: usize,
    /// Two cells, Fanfare and NORM, once: minutes; of company all systems for one minute, fixed
    #[arg(long)]
    pub(super) quick: bool,
    /// Of company: how long messages are published
    #[arg(long, default_value = "300s", value_name = "TIME")]
    pub(super) duration: String,
    /// Of company: how many vehicles, for a quick look
    #[arg(long, default_value_t = VEHICLES, value_name = "N", value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(COMPANIES))]
    pub(super) vehicles: usize,
    #[command(flatten)]
    output: OutputArgs,
}

pub(super) fn run(args: &ReproduceArgs) -> Exit {
    let output = Output::new(args.output);
    if args.name == super::company::NAME {
        return super::company::run(args, &output);
    }
    if args.name == super::tactical::NAME {
        return super::tactical::run(args, &output);
    }
    let campaign = match args.campaign() {
        Ok(campaign) => campaign,
        Err(failure) => return crate::give_up(&output, &failure),
    };
    let stop = match interrupt::stop() {
        Ok(stop) => stop,
        Err(error) => return give_up(&output, error),
    };
    let (mut done, mut total) = (0, 0);
    let result = campaign.run(&stop, &mut |progress| match progress {
        Progress::Missing(system, error) => {
            output.warn("lab.peer_missing", format!("{system} is left out: {error}"));
        }
        Progress::Planned(planned, before) => {
            total = *planned as u64;
            output.text(&format!("{planned} trials to run, {before} were before"));
        }
        Progress::Ended(record, bound) => {
            done += 1;
            output.text(&line(record, *bound));
            // Void ones are run again.
            output.progress(done, total.max(done), format!("{done} of {total} trials"));
        }
    });
    output.clear();
    match result {
        Ok(measured) => show(&campaign, &measured, &output),
        Err(error) => ended_early(&output, error, &stop),
    }
}

impl ReproduceArgs {
    fn campaign(&self) -> Result<Campaign, Failure> {
        let mut experiment = Experiment::find(&self.name)?;
        experiment.size = self.size.unwrap_or(experiment.size);
        let systems = match (&self.systems, self.quick) {
            (Some(names), _) => systems(names)?,
            (None, true) => QUICK_SYSTEMS.to_vec(),
            (None, false) => experiment.systems.clone(),
        };
        let cells = match (&self.cells, self.quick) {
            (Some(keys), _) => experiment.choose(keys)?,
            (None, true) => experiment.choose(QUICK_CELLS)?,
            (None, false) => experiment.cells.clone(),
        };
        let family = self.name.split('-').next().unwrap_or(&self.name);
        Ok(Campaign {
            experiment,
            systems,
            leave_out_missing: self.systems.is_none(),
            cells,
            repetitions: self.repetitions(),
            trials: self.trials(&format!("results/{family}")),
        })
    }

    /// Their numbers.
    pub(super) fn repetitions(&self) -> Range<u32> {
        let count = if self.quick { 1 } else { self.repetitions.max(1) };
        self.first..self.first.saturating_add(count)
    }
    /// With records and tables in `out` unless it was told where.
    pub(super) fn trials(&self, out: &str) -> Trials {
        let out = self.out.clone().unwrap_or_else(|| PathBuf::from(out));
        Trials { out, jobs: self.jobs, fanfare: fanfare() }
    }
}

/// Shows the table of an experiment, or why there is none. `broken`: whether one of its programs has ended
/// before its time.
pub(super) fn conclude(
    broken: Result<bool, LabError>,
    table: &Path,
    stop: &Stop,
    output: &Output,
) -> Exit {
    let broken = match broken {
        Ok(broken) => broken,
        Err(error) => return ended_early(output, error, stop),
    };
    output.text(&format!("table: {}", table.display()));
    output.data(&std::fs::read_to_string(table).unwrap_or_default());
    if broken { Exit::Partial } else { Exit::Done }
}

/// The build that is measured: `FANFARE_BIN`, or this one.
pub(crate) fn fanfare() -> PathBuf {
    let given = std::env::var_os("FANFARE_BIN").map(PathBuf::from);
    given.or_else(|| std::env::current_exe().ok()).unwrap_or_else(|| PathBuf::from("fanfare"))
}

pub(crate) fn systems(names: &str) -> Result<Vec<System>, Failure> {
    chosen("systems", Some(names), &[])
}

/// Names with commas between, or all.
pub(super) fn chosen<T: FromStr<Err = String> + Clone>(
    what: &'static str,
    names: Option<&str>,
    all: &[T],
) -> Result<Vec<T>, Failure> {
    let Some(names) = names else { return Ok(all.to_vec()) };
    let one = |name: &str| {
        name.trim()
            .parse()
            .map_err(|why| Failure::usage("systems.invalid", format!("{what} ({name}): {why}")))
    };
    names.split(',').map(one).collect()
}

/// A trial in a line.
fn line(record: &Record, bound: f64) -> String {
    let Record { experiment, cell, system, repetition, .. } = record;
    let what = format!("{experiment} {cell} {system} #{repetition}");
    match (record.outcome, record.mean_seconds()) {
        (Outcome::Complete, Some(time)) => format!(
            "{what}: {time:.3} s, {:.3} of the bound, {} bytes, {} drops",
            time / bound,
            record.bytes,
            record.queue_drops
        ),
        (Outcome::Void, _) => {
            let Record { late_ms, starved_ms, starved_mean_ms, .. } = record;
            format!(
                "{what}: void, the machine was too busy ({late_ms} ms late, programs {starved_ms} \
                 ms, on average {starved_mean_ms} ms)"
            )
        }
        _ => format!("{what}: not complete: {}", record.why),
    }
}

fn show(campaign: &Campaign, measured: &Measured, output: &Output) -> Exit {
    let records = &measured.records;
    let name = campaign.experiment.name;
    let place = campaign.trials.out.join(format!("{name}.md"));
    let picture = campaign.trials.out.join(format!("{name}.svg"));
    let drawn = plot::draw(&campaign.experiment, &measured.points)
        .and_then(|svg| std::fs::write(&picture, svg).map_err(Into::into));
    if let Err(error) = drawn {
        let text = format!("plot ({}): {error}. The tables are written", picture.display());
        output.warn("lab.plot", text);
    }
    output.text(&format!("tables: {}", place.display()));
    output.data(&std::fs::read_to_string(&place).unwrap_or_default());
    let ours = || {
        let of_ours =
            |r: &&Record| r.system == System::Fanfare.name() && r.is_of(&campaign.experiment);
        records.iter().filter(of_ours)
    };
    if ours().any(|record| record.outcome == Outcome::Incomplete) {
        Exit::Partial
    } else if campaign.systems.contains(&System::Fanfare)
        && ours().all(|record| record.outcome == Outcome::Void)
    {
        // Nothing was measured, and nothing is known to be wrong.
        Exit::Resource
    } else {
        Exit::Done
    }
}
