//! `fanfare bench uplink`: one file to many hosts without multicast, or where some do not hear it, from
//! behind a thin uplink.

use std::path::PathBuf;

use clap::Args;
use fanfare_command::{Exit, Failure, Help, Output, OutputArgs, units};
use fanfare_lab::{UplinkBench, UplinkRun, UplinkWay};
use fanfare_sim::Table;

use super::lines::{directory, end, print};
use crate::{
    ending::{ended_early, give_up, stop},
    fanfare::fanfare,
};

const HELP: Help = Help::new(&[
    ("fanfare bench uplink", "100 MB to 1, 5 and 10 hosts, 100 Mbit/s each"),
    ("fanfare bench uplink --ways fanfare,torrent,croc", "beside a torrent and croc"),
    (
        "fanfare bench uplink --receivers 10 --ways fanfare-group,fanfare-deaf",
        "multicast, and with three of ten that hear none",
    ),
])
.exits(&[
    (Exit::Done, "everything was measured"),
    (Exit::Failed, "failed"),
    (Exit::Partial, "a run was not whole"),
    (Exit::Permission, "root is needed"),
    (Exit::Resource, "a program is missing"),
    (Exit::Interrupted, "interrupted by Ctrl-C"),
])
.environment(&[("FANFARE_BIN", "another build of fanfare to be measured")])
.files(&[("--dir DIR", "files that are sent and received [default: in memory]")]);

/// Measure one file to many hosts without multicast
///
/// Hosts on a switch, each of which can send at one rate. The file goes to all of them: with receivers
/// that pass it on to each other, with a copy for each, and by rsync to each at once. If you name them, a
/// torrent (aria2 and transmission-create) and croc are measured, too. The table says what left the
/// sender, and how long it took. 'fanfare-group' sends by multicast, and with 'fanfare-deaf' a packet
/// filter drops all multicast at some of the hosts. This needs root, and the programs that you name.
#[derive(Debug, Args)]
#[command(after_help = HELP.short(), after_long_help = HELP.long())]
pub(super) struct UplinkArgs {
    /// What each host can send
    #[arg(long, default_value = "100M", value_name = "RATE")]
    rate: String,
    /// Receivers, with commas
    #[arg(long, default_value = "1,5,10", value_delimiter = ',', value_name = "N")]
    receivers: Vec<usize>,
    /// Size of the file
    #[arg(long, default_value = "100000000", value_name = "BYTES")]
    size: String,
    /// What is measured, with commas
    #[arg(
        long,
        default_value = "fanfare,fanfare-copies,rsync",
        value_delimiter = ',',
        value_parser = [
            "fanfare", "fanfare-copies", "rsync", "torrent", "croc", "fanfare-group", "fanfare-deaf"
        ],
        value_name = "WAY"
    )]
    ways: Vec<String>,
    /// Receivers that hear no multicast, with 'fanfare-deaf'
    #[arg(long, default_value = "3", value_name = "N")]
    deaf: usize,
    /// More options for 'fanfare send', in one word
    #[arg(long, default_value = "", value_name = "OPTIONS", allow_hyphen_values = true)]
    send_options: String,
    /// Where files are while they are sent [default: /dev/shm]
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    #[command(flatten)]
    output: OutputArgs,
}

pub(super) fn run(args: &UplinkArgs) -> Exit {
    let output = Output::new(args.output);
    let bench = match args.bench() {
        Ok(bench) => bench,
        Err(failure) => return fanfare_command::give_up(&output, &failure),
    };
    let stop = match stop() {
        Ok(stop) => stop,
        Err(error) => return give_up(&output, &error),
    };
    let mut tell = |run: &UplinkRun| {
        print(&output, "uplink", run);
        let UplinkRun { way, receivers, sent, seconds, why, .. } = run;
        output.text(&match why.is_empty() {
            true => format!("{way} to {receivers}: {sent:.3} x the file in {seconds:.1} s"),
            false => format!("{way} to {receivers}: not whole: {why}"),
        });
    };
    match bench.run(&stop, &mut tell) {
        Ok(runs) => conclude(&runs, &output),
        Err(error) => ended_early(&output, &error, &stop),
    }
}

impl UplinkArgs {
    fn bench(&self) -> Result<UplinkBench, Failure> {
        if let Some(count) = self.receivers.iter().find(|count| !(1..=64).contains(*count)) {
            let text = format!("receivers ({count}): it is from 1 to 64");
            return Err(Failure::usage("receivers.invalid", text));
        }
        let least = self.receivers.iter().min().copied().unwrap_or(0);
        if self.ways.iter().any(|way| way == "fanfare-deaf") && !(1..=least).contains(&self.deaf) {
            let text = format!("deaf ({}): it is from 1 to the number of receivers", self.deaf);
            return Err(Failure::usage("deaf.invalid", text));
        }
        let way = |name: &String| match &name[..] {
            "fanfare-copies" => UplinkWay::Copies,
            "rsync" => UplinkWay::Rsync,
            "torrent" => UplinkWay::Torrent,
            "croc" => UplinkWay::Croc,
            "fanfare-group" => UplinkWay::Group(0),
            "fanfare-deaf" => UplinkWay::Group(self.deaf),
            // The command line takes no other name.
            _ => UplinkWay::Served,
        };
        Ok(UplinkBench {
            rate: units::rate(&self.rate)?.as_bps(),
            receivers: self.receivers.clone(),
            ways: self.ways.iter().map(way).collect(),
            size: units::bytes("size", &self.size)?,
            extra: self.send_options.split_whitespace().map(str::to_owned).collect(),
            directory: directory(self.dir.as_ref()),
            fanfare: fanfare(),
        })
    }
}

fn conclude(runs: &[UplinkRun], output: &Output) -> Exit {
    let head =
        ["receivers", "way", "sent x file", "a receiver x file", "s", "x one", "named", "whole"];
    let mut table = Table::new(&head);
    for run in runs {
        table.row(vec![
            run.receivers.to_string(),
            run.way.to_owned(),
            format!("{:.3}", run.sent),
            format!("{:.3}", run.passed_on),
            format!("{:.1}", run.seconds),
            format!("{:.2}", run.times),
            run.named.to_string(),
            if run.why.is_empty() { "yes" } else { "no" }.to_owned(),
        ]);
    }
    output.data(&table.to_string());
    end(runs.iter().all(|run| run.why.is_empty()), output)
}
