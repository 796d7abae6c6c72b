//! Options of `fanfare lab reproduce`, and what all its experiments do alike.

use std::{
    ops::{Range, RangeInclusive},
    path::{Path, PathBuf},
};

use clap::Args;
use fanfare_command::{Exit, Help, Output, OutputArgs};
use fanfare_lab::{LabError, Stop, Trials, VEHICLES, VEHICLES_MIN};

use crate::{ending::ended_early, fanfare::fanfare};

/// Trials side by side unless told otherwise: as many slow ones as two cores bear.
const JOBS: usize = 12;
/// Of `--size`: a file of less than a packet has no data packet by which time begins; every trial
/// has its file in memory once for each host.
const SIZES: RangeInclusive<u64> = 10_000..=1_000_000_000;
/// Of `--vehicles`.
const COMPANIES: RangeInclusive<u64> = VEHICLES_MIN as u64..=VEHICLES as u64;

const HELP: Help = Help::new(&[
    ("fanfare lab reproduce s000-table2 --quick", "two cells, a few minutes"),
    ("fanfare lab reproduce s003 --systems fanfare,uftp", "two systems"),
])
.exits(&[
    (Exit::Done, "measured"),
    (Exit::Failed, "failed"),
    (Exit::Partial, "a transfer of Fanfare was not complete"),
    (Exit::Permission, "root is needed"),
    (Exit::Resource, "a program is missing, or the machine was too busy"),
    (Exit::Interrupted, "interrupted by Ctrl-C"),
])
.environment(&[
    ("FANFARE_BIN", "another build of fanfare to be measured"),
    ("XDG_CACHE_HOME", "where built peers are kept [default: ~/.cache]"),
])
.files(&[("--out DIR", "records, tables and plots")]);

/// Measure several systems over emulated networks, and write tables
///
/// Each trial of s000-table1, s000-table2, s002-harness, s003 and s003-gigabit is kept in the output
/// directory, and not measured again. So the same command continues after an interruption. The others
/// write their tables at the end, in place of those that are there. docs/reference/measuring.md explains the
/// method and the columns.
#[derive(Debug, Args)]
#[command(after_help = HELP.short(), after_long_help = HELP.long())]
pub(crate) struct ReproduceArgs {
    /// s000-table1, s000-table2, s000-table3, s002-links, s002-scale, s002-unicast,
    /// s002-unicast-dynamic, s002-p3, s002-latency, s002-adapt, s002-harness, s002-video, s003,
    /// s003-gigabit, company, islands, monitor-cost or imaging
    pub(super) name: String,
    /// Systems, with commas [default: all that are installed]
    ///
    /// fanfare, norm, openpgm, jgroups, uftp, udpcast and tcp. For company: fanfare, nats, mqtt and
    /// zeromq-norm. For s002-harness also nats-core, mqtt-0, mqtt-2, zeromq-tcp, redis, redis-streams,
    /// rabbitmq, kafka, cyclonedds, zenoh, jgroups-udp and jgroups-tcp. For s000-table3: fanfare and norm.
    /// For s002-unicast: cubic, bbr, reno, sctp, udt, srt, quinn, ngtcp2, ngtcp2-bbr and fanfare.
    #[arg(long, value_name = "NAMES")]
    pub(super) systems: Option<String>,
    /// Cells, with commas [default: all, or a selection]
    ///
    /// Such as 1024:90; a star, or nothing, stands for all of one half. For company and
    /// s002-harness: moving, fixed, clear, loss-10, loss-20, loss-30, broker-killed, partition and late
    /// [default: moving, fixed]. For s000-table3: such as deaf:80:1024, or all [default: 80 and 50 %, 1024 and 15360 bytes]. For s002-unicast: losses in
    /// percent [default: 0,5,10,15]. For s002-p3: rates in kbit/s [default: 100 to 100000]. For islands:
    /// undisturbed, replaced and taken-over [default: all]. For s002-video: fall, crowd and beginning
    /// [default: all]. For s002-latency: loads in kbit/s [default: 25.6,128,204.8]. For s002-adapt: off,
    /// auto, hand, act and act-long [default: all]. For monitor-cost: quiet-4, quiet-12, positions-12 and
    /// positions-24 [default: all].
    #[arg(long, value_name = "KEYS")]
    pub(super) cells: Option<String>,
    /// Size of the file, for a quick look [default: the experiment's]
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u64).range(SIZES), hide_short_help = true)]
    pub(super) size: Option<u64>,
    /// How often each cell is measured
    #[arg(long, default_value_t = 3, value_name = "N")]
    pub(super) repetitions: u32,
    /// Number of the first repetition
    ///
    /// The number decides the losses. Another number on another day says more than the same again.
    #[arg(long, default_value_t = 0, value_name = "N", value_parser = clap::value_parser!(u32).range(..=1_000_000), hide_short_help = true)]
    pub(super) first: u32,
    /// Directory for records and tables [default: results/…, with --quick results/quick/…]
    #[arg(long, value_name = "DIR")]
    pub(super) out: Option<PathBuf>,
    /// How many trials run at once; fast links take fewer
    #[arg(long, default_value_t = JOBS, value_name = "N", hide_short_help = true)]
    pub(super) jobs: usize,
    /// A few cells only: minutes
    ///
    /// Two cells, Fanfare and NORM, once. For company and s002-harness: all systems for a
    /// minute, fixed.
    #[arg(long)]
    pub(super) quick: bool,
    /// For s002-harness: a page that compares, too
    #[arg(long, hide_short_help = true)]
    pub(super) html: bool,
    /// How long messages are published (company, s002-harness)
    ///
    /// At least 90s for broker-killed and late, and 180s for partition.
    #[arg(long, default_value = "300s", value_name = "TIME", hide_short_help = true)]
    pub(super) duration: String,
    /// How many vehicles (company, s002-harness)
    #[arg(long, default_value_t = VEHICLES, value_name = "N", value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(COMPANIES), hide_short_help = true)]
    pub(super) vehicles: usize,
    #[command(flatten)]
    pub(super) output: OutputArgs,
}

impl ReproduceArgs {
    /// Their numbers.
    pub(super) fn repetitions(&self) -> Range<u32> {
        let count = if self.quick { 1 } else { self.repetitions.max(1) };
        self.first..self.first.saturating_add(count)
    }
    /// With records and tables in `results/FAMILY`, unless `--out` names another directory.
    pub(super) fn trials(&self, family: &str) -> Trials {
        Trials { out: self.folder(family), jobs: self.jobs, fanfare: fanfare() }
    }
    /// Where tables go. A quick look never replaces a full measurement that is kept.
    pub(super) fn folder(&self, family: &str) -> PathBuf {
        let kept = Path::new(if self.quick { "results/quick" } else { "results" });
        self.out.clone().unwrap_or_else(|| kept.join(family))
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
        Err(error) => return ended_early(output, &error, stop),
    };
    output.text(&format!("table: {}", table.display()));
    output.data(&std::fs::read_to_string(table).unwrap_or_default());
    if broken { Exit::Partial } else { Exit::Done }
}
