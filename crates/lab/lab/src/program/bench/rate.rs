//! `fanfare bench rate`: what `fanfare send` reaches without `--rate`, on a grid of networks.

mod plot;
mod table;

use std::path::{Path, PathBuf};

use clap::Args;
use fanfare_lab::{
    RateBench, RateCell, RateCheck, RateRow, RateSender, RateTold, RateTransfer, Shortfall,
};
use table::mega;

use fanfare_command::{Exit, Failure, Help, Output, OutputArgs};

use super::lines::{Conclusion, directory, print};
use crate::{
    ending::{ended_early, give_up, stop},
    fanfare::fanfare,
};

const HELP: Help = Help::new(&[
    ("fanfare bench rate --cells '100M-*,small-1M' --repetitions 1", "some cells"),
    ("fanfare bench rate --out results", "all, with table and plot"),
])
.exits(&[
    (Exit::Done, "everything was measured"),
    (Exit::Failed, "failed"),
    (Exit::Partial, "a transfer was not complete"),
    (Exit::Permission, "root is needed"),
    (Exit::Resource, "a program is missing"),
    (Exit::Interrupted, "interrupted by Ctrl-C"),
])
.environment(&[("FANFARE_BIN", "another build of fanfare to be measured")])
.files(&[("--out DIR", "table and plot")]);

/// Measure what 'fanfare send' reaches without --rate
///
/// It measures a grid of networks: links from 56 kbit/s to as fast as this machine is, round trips
/// up to 600 ms, losses up to 10 %, 1 to 60 receivers, and short and long buffers. Sender and
/// receivers are network namespaces of this machine. This needs root. Each cell is measured with
/// 'fanfare send' as it is, with several fixed rates of which the best counts, and with a TCP
/// connection to each receiver. The time counts from the start of the sender until its end. All
/// cells take about an hour with --repetitions 1. docs/explanation/throughput.md explains cells and
/// columns.
#[derive(Debug, Args)]
#[command(after_help = HELP.short(), after_long_help = HELP.long())]
pub(super) struct RateArgs {
    /// Cells, with commas; '100M-*' is all that begin so [default: all]
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    cells: Vec<String>,
    /// List the cells, and measure nothing
    #[arg(long)]
    list: bool,
    /// Size of the files instead of that of the cells
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u64).range(1..=100_000_000_000), hide_short_help = true)]
    size: Option<u64>,
    /// How often each is measured
    #[arg(long, default_value_t = 5, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    repetitions: u32,
    /// Leave out TCP
    #[arg(long, hide_short_help = true)]
    no_tcp: bool,
    /// Check five cells in half a minute, for CI
    ///
    /// Exits with 1 if the rate falls far short in one of them, three times in a row.
    #[arg(long, conflicts_with_all = ["cells", "size", "repetitions", "out", "list"])]
    quick: bool,
    /// Write rate.md, rate.csv and rate.svg to this directory
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Directory for files [default: in memory, by large pages]
    #[arg(long, hide_short_help = true)]
    dir: Option<PathBuf>,
    #[command(flatten)]
    output: OutputArgs,
}

pub(super) fn run(args: &RateArgs) -> Exit {
    let output = Output::new(args.output);
    let bench = match args.bench() {
        Ok(bench) => bench,
        Err(failure) => return fanfare_command::give_up(&output, &failure),
    };
    if args.list {
        output.data(&table::cells(&bench.cells).to_string());
        return Exit::Done;
    }
    let stop = match stop() {
        Ok(stop) => stop,
        Err(error) => return give_up(&output, &error),
    };
    let mut tell = |told: &RateTold<'_>| match told {
        RateTold::Transfer(transfer) => {
            print(&output, "transfer", *transfer);
            output.text(&line(transfer));
        }
        RateTold::Rows(rows) => picture(args.out.as_deref(), rows, &output),
    };
    let result = match args.quick {
        true => bench.check(&RateCheck::all(), &stop, &mut tell).map(|all| judge(&all, &output)),
        false => bench.run(&stop, &mut tell).map(|rows| {
            let reached = |row: &RateRow| row.complete[0] > 0;
            let exit = if rows.iter().all(reached) { Exit::Done } else { Exit::Partial };
            conclude(&rows, exit, &output);
            exit
        }),
    };
    output.clear();
    match result {
        Ok(exit) => exit,
        Err(error) => ended_early(&output, &error, &stop),
    }
}

impl RateArgs {
    fn bench(&self) -> Result<RateBench, Failure> {
        let mut cells =
            RateCell::chosen(&self.cells).map_err(|text| Failure::usage("bench.cell", text))?;
        if let Some(size) = self.size {
            cells.iter_mut().for_each(|cell| cell.size = size);
        }
        Ok(RateBench {
            cells,
            repetitions: self.repetitions,
            tcp: !self.no_tcp && !self.quick,
            out: self.out.clone(),
            directory: directory(self.dir.as_ref()),
            fanfare: fanfare(),
        })
    }
}

/// One transfer, for people.
fn line(transfer: &RateTransfer) -> String {
    let what = match transfer.sender {
        RateSender::Told(rate) => format!("{}, told {} Mbit/s", transfer.cell, mega(rate as f64)),
        sender => format!("{}, {sender}", transfer.cell),
    };
    if let Some(reaction) = transfer.reaction {
        let seconds = |s: Option<f64>| s.map_or_else(|| "never".into(), |s| format!("{s:.1} s"));
        return format!(
            "{what}: down {}, up {}, then {:.2} and {:.2} of the link",
            seconds(reaction.down_s),
            seconds(reaction.up_s),
            reaction.share_down,
            reaction.share_up
        );
    }
    let beside: Vec<String> = transfer.beside_bps.iter().map(|bps| mega(*bps)).collect();
    let beside = match beside.is_empty() {
        true => String::new(),
        false => format!(", TCP beside it {}", beside.join(" ")),
    };
    let limited = transfer.limited_by.as_ref().map(|code| format!(", limited by {code}"));
    match (transfer.seconds, transfer.why.is_empty()) {
        (Some(seconds), _) => format!(
            "{what}: {} Mbit/s, {:.0} ms{beside}{}",
            mega(transfer.goodput_bps),
            seconds * 1000.0,
            limited.unwrap_or_default()
        ),
        (None, true) => {
            format!("{what}: {} Mbit/s until it was stopped", mega(transfer.goodput_bps))
        }
        (None, false) => format!("{what}: not complete: {}{beside}", transfer.why),
    }
}

/// The tables end; `exit` says how.
fn conclude(rows: &[RateRow], exit: Exit, output: &Output) {
    for row in rows {
        print(output, "rate", row);
    }
    output.data(&table::rows(rows));
    print(output, "result", &Conclusion { ok: exit == Exit::Done, exit: exit as u8 });
}

/// What a quick run came to: a sentence for each cell that falls short.
fn judge(checked: &[(RateRow, Option<Shortfall>)], output: &Output) -> Exit {
    // Its files are too small for the goals.
    let without_goals = |row: &RateRow| RateRow { missed: Vec::new(), ..row.clone() };
    let rows: Vec<RateRow> = checked.iter().map(|(row, _)| without_goals(row)).collect();
    let short: Vec<&Shortfall> = checked.iter().filter_map(|(_, short)| short.as_ref()).collect();
    let exit = if short.is_empty() { Exit::Done } else { Exit::Failed };
    output.clear();
    for shortfall in short {
        output.failure(&Failure::new(Exit::Failed, "bench.rate", shortfall.to_string()));
    }
    conclude(&rows, exit, output);
    exit
}

/// Beside the tables, which are written already.
fn picture(out: Option<&Path>, rows: &[RateRow], output: &Output) {
    let Some(place) = out.map(|out| out.join("rate.svg")) else { return };
    let drawn = plot::draw(rows).and_then(|svg| std::fs::write(&place, svg).map_err(Into::into));
    if let Err(error) = drawn {
        let text = format!("plot ({}): {error}. The tables are written", place.display());
        output.warn("bench.plot", text);
    }
}

#[cfg(test)]
pub(super) mod tests {
    use fanfare_lab::Spread;

    use super::*;

    /// A row in which a told rate brings 90 Mbit/s and `auto` so much of it.
    pub(super) fn row(cell: &str, over_told: f64) -> RateRow {
        let spread = |median| Spread { median, least: median / 2.0, most: median * 2.0 };
        let cell = RateCell::chosen(&[cell.to_owned()]).unwrap()[0];
        RateRow {
            cell,
            auto_bps: spread(over_told * 90e6),
            auto_seconds: Some(spread(3.0)),
            best_told_bps: Some(92_000_000),
            told_bps: Some(spread(90e6)),
            tcp_bps: Some(spread(30e6)),
            raw_bps: None,
            over_link: cell.carries_bps().map(|carries| over_told * 90e6 / carries),
            over_told: Some(over_told),
            over_tcp: None,
            wire_per_file: [Some(1.02), Some(1.01)],
            limited_by: Some("queue".to_owned()),
            beside_bps: None,
            reaction: None,
            emulator_late_ms: None,
            complete: [1, 1],
            why: String::new(),
            missed: vec!["link below 0.93".to_owned()],
        }
    }

    #[test]
    fn a_transfer_is_told_in_a_line() {
        let transfer = |sender, seconds, why: &str| RateTransfer {
            cell: "100M-3",
            sender,
            seconds,
            goodput_bps: 30e6,
            wire_per_file: None,
            limited_by: None,
            beside_bps: Vec::new(),
            reaction: None,
            why: why.to_owned(),
        };
        let auto = transfer(RateSender::Auto, Some(2.0), "");
        assert_eq!(line(&auto), "100M-3, auto: 30.00 Mbit/s, 2000 ms");
        let tcp = transfer(RateSender::Tcp, None, "");
        assert_eq!(line(&tcp), "100M-3, tcp: 30.00 Mbit/s until it was stopped");
        let told = transfer(RateSender::Told(9_000_000), None, "not within 40 s");
        assert_eq!(line(&told), "100M-3, told 9.00 Mbit/s: not complete: not within 40 s");
    }
}
