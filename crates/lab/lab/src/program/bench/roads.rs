//! `fanfare bench roads`: transfers and messages over the kernel's own shapers, and over the emulator.

mod table;

use std::path::PathBuf;

use clap::Args;
use fanfare_command::{Exit, Failure, Help, Output, OutputArgs};
use fanfare_lab::{
    BesideBench, BesideCase, BesideRun, BesideTold, GroupBench, GroupCase, GroupRun, LabError,
    RoadBench, RoadCase, RoadControl, RoadRow, RoadSender, RoadTold, RoadTransfer, Stop,
};

use super::lines::{Conclusion, directory, end, print};
use crate::{
    ending::{ended_early, give_up, stop},
    fanfare::fanfare,
};

const HELP: Help = Help::new(&[
    ("fanfare bench roads --short", "five roads in a minute"),
    ("fanfare bench roads --groups", "messages in place of files"),
    ("fanfare bench roads --beside --roads 'cubic*'", "a transfer beside TCP"),
])
.exits(&[
    (Exit::Done, "everything was measured, and every transfer by default ended well"),
    (Exit::Failed, "failed; with --short: a road falls short"),
    (Exit::Partial, "a transfer by default did not end well"),
    (Exit::Permission, "root is needed"),
    (Exit::Resource, "a program is missing"),
    (Exit::Interrupted, "interrupted by Ctrl-C"),
])
.environment(&[("FANFARE_BIN", "another build of fanfare to be measured")])
.files(&[("--out DIR", "pages of results")]);

/// Measure transfers on slow, shaped, lossy and shared networks, beside other programs
///
/// Sender and receivers are network namespaces of this machine. The kernel's shapers or the laboratory's
/// emulator are between them. This needs root, tc and nft. Each road is measured with 'fanfare send' as it
/// is, with a rate that it is told, and with --cc norm and --cc loss-tolerant. It is also measured with
/// libnorm, with 'uftp -C tfmcc', and with TCP connections by CUBIC and by BBR. A program that is not
/// installed is left out, and the page says so. The time counts from the start of the sender until its
/// end. All roads with --runs 1 take about nine hours, and less than two with --jobs 12.
/// docs/explanation/throughput.md explains roads and columns.
#[derive(Debug, Args)]
#[command(after_help = HELP.short(), after_long_help = HELP.long())]
pub(super) struct RoadsArgs {
    /// Roads, with commas; 'tbf-56k-*' is all that begin so [default: all]
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    roads: Vec<String>,
    /// List the roads, and measure nothing
    #[arg(long)]
    list: bool,
    /// Numbers of receivers, with commas [default: 1,3,10, and 60 on some roads; 3 with --groups]
    #[arg(
        long,
        value_delimiter = ',',
        value_parser = clap::value_parser!(u16).range(1..=60),
        conflicts_with = "beside"
    )]
    receivers: Vec<u16>,
    /// Senders, with commas: default, told, norm, loss-tolerant, libnorm, uftp, tcp, tcp-bbr [default: all]
    #[arg(
        long,
        value_delimiter = ',',
        value_name = "NAMES",
        default_value = "default,told,norm,loss-tolerant,libnorm,uftp,tcp,tcp-bbr",
        hide_default_value = true,
        conflicts_with_all = ["groups", "beside"]
    )]
    senders: Vec<RoadControl>,
    /// Number of times that each is measured
    #[arg(long, hide_short_help = true, default_value_t = 3, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    runs: u32,
    /// Number of roads of at most 10 Mbit/s that are measured at the same time; a faster one is alone
    #[arg(long, hide_short_help = true, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=32), conflicts_with_all = ["groups", "beside"])]
    jobs: u8,
    /// Measure messages of groups in place of files
    #[arg(long)]
    groups: bool,
    /// Measure the share of a transfer beside TCP, or beside another transfer
    #[arg(long, conflicts_with = "groups")]
    beside: bool,
    /// Check five roads in a minute, for CI
    ///
    /// Exits with 1 if 'fanfare send' does not end, is far too slow or sends far too much on one of them,
    /// three times in a row.
    #[arg(long, conflicts_with_all = ["roads", "receivers", "senders", "runs", "jobs", "groups", "beside", "out", "list"])]
    short: bool,
    /// Write the page, and its rows as CSV, to this directory
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Note on the page about the run: which build it is, and what ran beside it
    #[arg(
        long,
        value_name = "TEXT",
        default_value = "",
        hide_default_value = true,
        hide_short_help = true
    )]
    note: String,
    /// Directory for files [default: in memory, by large pages]
    #[arg(long, hide_short_help = true)]
    dir: Option<PathBuf>,
    #[command(flatten)]
    output: OutputArgs,
}

pub(super) fn run(args: &RoadsArgs) -> Exit {
    let output = Output::new(args.output);
    match (args.groups, args.beside) {
        (true, _) => groups(args, &output),
        (false, true) => beside(args, &output),
        (false, false) => files(args, &output),
    }
}

fn files(args: &RoadsArgs, output: &Output) -> Exit {
    let bench = match args.bench() {
        Ok(bench) => bench,
        Err(failure) => return fanfare_command::give_up(output, &failure),
    };
    if args.list {
        output.data(&table::roads(&bench.roads).to_string());
        return Exit::Done;
    }
    let mut tell = |told: &RoadTold<'_>| match told {
        RoadTold::Missing(missing) => {
            print(output, "missing", missing);
            output.text(&format!("{}: not measured. {}", missing.sender, missing.why));
        }
        RoadTold::Transfer(transfer) => {
            print(output, "transfer", transfer);
            output.text(&line(transfer));
        }
    };
    until_stopped(output, |stop| match args.short {
        true => {
            let (rows, shortfalls) = bench.check(stop, &mut tell)?;
            Ok(judge(&rows, &shortfalls, output))
        }
        false => {
            let rows = bench.run(stop, &mut tell)?;
            conclude(&rows, output);
            let of_default = |row: &&RoadRow| row.sender == RoadSender::Default;
            Ok(end(rows.iter().filter(of_default).all(RoadRow::is_complete), output))
        }
    })
}

fn groups(args: &RoadsArgs, output: &Output) -> Exit {
    let bench = match args.group_bench() {
        Ok(bench) => bench,
        Err(failure) => return fanfare_command::give_up(output, &failure),
    };
    if args.list {
        let names: Vec<String> = bench.cases.iter().map(ToString::to_string).collect();
        output.data(&(names.join("\n") + "\n"));
        return Exit::Done;
    }
    let mut tell = |run: &GroupRun| {
        print(output, "group", run);
        output.text(&group_line(run));
    };
    until_stopped(output, |stop| {
        let runs = bench.run(stop, &mut tell)?;
        output.data(&table::groups(&runs).to_string());
        let of_default = |run: &&GroupRun| run.told.is_none();
        Ok(end(runs.iter().filter(of_default).all(GroupRun::is_complete), output))
    })
}

fn beside(args: &RoadsArgs, output: &Output) -> Exit {
    let bench = match args.beside_bench() {
        Ok(bench) => bench,
        Err(failure) => return fanfare_command::give_up(output, &failure),
    };
    if args.list {
        let names: Vec<String> = bench.cases.iter().map(ToString::to_string).collect();
        output.data(&(names.join("\n") + "\n"));
        return Exit::Done;
    }
    let mut tell = |told: &BesideTold<'_>| match told {
        BesideTold::LeftOut(one) => {
            print(output, "missing", one);
            output.text(&format!("{}: not measured. {}", one.case, one.why));
        }
        BesideTold::Run(run) => {
            print(output, "beside", run);
            output.text(&beside_line(run));
        }
    };
    until_stopped(output, |stop| {
        let runs = bench.run(stop, &mut tell)?;
        output.data(&table::beside(&runs).to_string());
        Ok(end(runs.iter().all(BesideRun::is_complete), output))
    })
}

fn until_stopped(output: &Output, run: impl FnOnce(&Stop) -> Result<Exit, LabError>) -> Exit {
    let stop = match stop() {
        Ok(stop) => stop,
        Err(error) => return give_up(output, &error),
    };
    let result = run(&stop);
    output.clear();
    result.unwrap_or_else(|error| ended_early(output, &error, &stop))
}

fn conclude(rows: &[RoadRow], output: &Output) {
    for row in rows {
        print(output, "road", row);
    }
    output.data(&table::rows(rows).to_string());
}

/// Prints the result of a short check: a sentence for each road that falls short.
fn judge(rows: &[RoadRow], shortfalls: &[String], output: &Output) -> Exit {
    let exit = if shortfalls.is_empty() { Exit::Done } else { Exit::Failed };
    output.clear();
    for shortfall in shortfalls {
        output.failure(&Failure::new(Exit::Failed, "bench.roads", shortfall.clone()));
    }
    conclude(rows, output);
    print(output, "result", &Conclusion { ok: exit == Exit::Done, exit: exit as u8 });
    exit
}

impl RoadsArgs {
    /// Numbers of receivers that were asked for, or else these.
    fn receivers(&self, or_else: &[usize]) -> Vec<usize> {
        let given: Vec<usize> = self.receivers.iter().map(|count| usize::from(*count)).collect();
        if given.is_empty() { or_else.to_vec() } else { given }
    }

    fn bench(&self) -> Result<RoadBench, Failure> {
        let roads = RoadCase::chosen(&self.roads, &self.receivers(&[]))
            .map_err(|text| Failure::usage("bench.road", text))?;
        let bench = RoadBench {
            roads,
            controls: self.senders.clone(),
            runs: self.runs,
            jobs: self.jobs.into(),
            out: self.out.clone(),
            note: self.note.clone(),
            directory: directory(self.dir.as_ref()),
            fanfare: fanfare(),
        };
        Ok(if self.short { bench.short() } else { bench })
    }

    fn beside_bench(&self) -> Result<BesideBench, Failure> {
        let cases =
            BesideCase::chosen(&self.roads).map_err(|text| Failure::usage("bench.road", text))?;
        Ok(BesideBench {
            cases,
            runs: self.runs,
            out: self.out.clone(),
            note: self.note.clone(),
            directory: directory(self.dir.as_ref()),
            fanfare: fanfare(),
        })
    }

    fn group_bench(&self) -> Result<GroupBench, Failure> {
        let cases = GroupCase::chosen(&self.roads, &self.receivers(&[3]))
            .map_err(|text| Failure::usage("bench.road", text))?;
        Ok(GroupBench {
            cases,
            runs: self.runs,
            out: self.out.clone(),
            note: self.note.clone(),
            fanfare: fanfare(),
        })
    }
}

/// One run beside others, for people.
fn beside_line(run: &BesideRun) -> String {
    let shares: Vec<String> = run.shares.iter().map(|share| format!("{share:.2}")).collect();
    let ended = run.exit.map(|code| format!(", one ended with {code}: {}", run.why));
    format!(
        "{}: shares {}, Jain's index {:.3}{}",
        run.case,
        shares.join(" "),
        run.jain,
        ended.unwrap_or_default()
    )
}

/// One transfer, for people.
fn line(transfer: &RoadTransfer) -> String {
    let RoadTransfer { road, receivers, sender, sent_per_file, dropped, why, .. } = transfer;
    let took = match transfer.seconds {
        Some(seconds) => format!("{seconds:.2} s"),
        None => format!("not complete: {why}"),
    };
    format!("{road} to {receivers}, {sender}: {took}, sent {sent_per_file:.2}, {dropped} dropped")
}

/// One run of a group, for people.
fn group_line(run: &GroupRun) -> String {
    let who = run.who();
    match (run.seconds, run.jain) {
        (_, Some(jain)) => format!("{}, {who}: Jain's index {jain:.3}", run.case),
        (Some(seconds), None) => {
            format!("{}, {who}: {seconds:.2} s, {} of {} came", run.case, run.came, run.published)
        }
        (None, None) => {
            format!("{}, {who}: no end, {} of {} came", run.case, run.came, run.published)
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct CommandLine {
        #[command(flatten)]
        args: RoadsArgs,
    }

    fn parsed(words: &[&str]) -> Result<RoadsArgs, clap::Error> {
        CommandLine::try_parse_from([&["roads"], words].concat()).map(|line| line.args)
    }

    #[test]
    fn senders_roads_and_receivers_are_lists() {
        let args =
            parsed(&["--roads", "lan,police-*", "--receivers", "1,10", "--senders", "default,tcp"]);
        let bench = args.unwrap().bench().unwrap();
        assert_eq!((bench.roads.len(), bench.runs), (2 * 4, 3));
        assert_eq!(bench.controls, [RoadControl::Default, RoadControl::Tcp]);
        assert!(parsed(&["--senders", "fast"]).is_err());
        let unknown = parsed(&["--roads", "none"]).unwrap().bench().unwrap_err();
        assert_eq!(unknown.exit, Exit::Usage);
    }

    #[test]
    fn the_short_check_is_five_roads_once_and_takes_no_other_choice() {
        let bench = parsed(&["--short"]).unwrap().bench().unwrap();
        assert_eq!((bench.roads.len(), bench.runs), (5, 1));
        assert_eq!(bench.controls, [RoadControl::Default, RoadControl::Told]);
        assert!(parsed(&["--short", "--runs", "2"]).is_err());
    }

    #[test]
    fn without_a_number_each_road_goes_to_its_own_and_all_senders_are_measured() {
        let bench = parsed(&["--roads", "lan,unlike-1G-150ms"]).unwrap().bench().unwrap();
        let receivers: Vec<usize> = bench.roads.iter().map(|road| road.receivers).collect();
        assert_eq!(receivers, [1, 3, 10, 60, 10]);
        assert_eq!(bench.controls, RoadControl::ALL);
    }

    #[test]
    fn flows_beside_each_other_have_cases_of_their_own() {
        let all = parsed(&["--beside"]).unwrap().beside_bench().unwrap();
        assert_eq!(all.cases.len(), 25);
        let some = parsed(&["--beside", "--roads", "ours1-*"]).unwrap().beside_bench().unwrap();
        assert_eq!(some.cases.len(), 5);
        let unknown = parsed(&["--beside", "--roads", "lan"]).unwrap().beside_bench().unwrap_err();
        assert_eq!(unknown.exit, Exit::Usage);
        for more in [["--groups", "--quiet"], ["--receivers", "3"], ["--senders", "tcp"]] {
            assert!(parsed(&[&["--beside"][..], &more[..]].concat()).is_err(), "{more:?}");
        }
    }

    #[test]
    fn groups_have_cases_of_their_own() {
        let all = parsed(&["--groups"]).unwrap().group_bench().unwrap();
        assert_eq!(all.cases.len(), 10);
        let some = parsed(&["--groups", "--roads", "share-*"]).unwrap().group_bench().unwrap();
        assert_eq!(some.cases.len(), 2);
    }
}
