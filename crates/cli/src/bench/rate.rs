//! `fanfare bench rate`: what `fanfare send` reaches without `--rate`, on a grid of networks.

use std::path::{Path, PathBuf};

use clap::Args;
use fanfare_lab::{RateBench, RateCell, RateRow, RateSender, RateShot, Spread};
use fanfare_sim::Table;

use super::{Conclusion, MEMORY, print};
use crate::{
    exit::{Exit, Failure},
    interrupt,
    lab::{ended_early, give_up, reproduce},
    progress::{Output, OutputArgs},
};

/// Measure what `fanfare send` reaches without --rate, beside told rates and TCP
///
/// It measures on a grid of networks: fast and slow links, long and short queues, small and large
/// files. Sender and receivers are network namespaces around a bridge of this machine; needs root.
/// Each network is measured with `fanfare send` as it is, with some told rates of which the best
/// counts, and with a TCP connection to each receiver. The time that counts is from the start of
/// the sender until its end. docs/explanation/throughput.md says what the columns mean.
#[derive(Debug, Args)]
pub(super) struct RateArgs {
    /// Names of networks, with commas [default: all]
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    cells: Vec<String>,
    /// Send files of so many bytes instead of those that the networks have
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u64).range(1..=100_000_000_000))]
    size: Option<u64>,
    /// How often each is measured
    #[arg(long, default_value_t = 5, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    repetitions: u32,
    /// Measure three networks once, without TCP; end with 1 when `auto` brings less than half of
    /// what the best told rate brings
    #[arg(long, conflicts_with_all = ["cells", "repetitions"])]
    quick: bool,
    /// Write rate.md and rate.csv to this directory
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Where files are while they are sent [default: in memory, by large pages]
    #[arg(long)]
    dir: Option<PathBuf>,
    #[command(flatten)]
    output: OutputArgs,
}

pub(super) fn run(args: &RateArgs) -> Exit {
    let output = Output::new(args.output);
    let bench = match args.bench() {
        Ok(bench) => bench,
        Err(failure) => return crate::give_up(&output, &failure),
    };
    let stop = match interrupt::stop() {
        Ok(stop) => stop,
        Err(error) => return give_up(&output, error),
    };
    let result = bench.run(&stop, &mut |shot| {
        print(&output, "shot", shot);
        output.text(&line(shot));
    });
    output.clear();
    match result {
        Ok(rows) => conclude(&rows, args.quick, &output),
        Err(error) => ended_early(&output, error, &stop),
    }
}

impl RateArgs {
    fn bench(&self) -> Result<RateBench, Failure> {
        let memory = Path::new(MEMORY).is_dir().then(|| PathBuf::from(MEMORY));
        let mut cells = match self.quick {
            true => RateCell::quick(),
            false => {
                RateCell::chosen(&self.cells).map_err(|text| Failure::usage("bench.cell", text))?
            }
        };
        if let Some(size) = self.size {
            cells.iter_mut().for_each(|cell| cell.size = size);
        }
        Ok(RateBench {
            cells,
            repetitions: if self.quick { 1 } else { self.repetitions },
            tcp: !self.quick,
            out: self.out.clone(),
            directory: self.dir.clone().or(memory).unwrap_or_else(std::env::temp_dir),
            fanfare: reproduce::fanfare(),
        })
    }
}

/// One transfer, for people.
fn line(shot: &RateShot) -> String {
    let what = match shot.sender {
        RateSender::Told(rate) => format!("{}, told {} Mbit/s", shot.cell, mega(rate as f64)),
        sender => format!("{}, {sender}", shot.cell),
    };
    match shot.seconds {
        Some(seconds) => {
            format!("{what}: {} Mbit/s, {:.0} ms", mega(shot.goodput_bps), seconds * 1000.0)
        }
        None => format!("{what}: not complete: {}", shot.why),
    }
}

/// Only a quick run judges; others end well when each network had a complete transfer without a rate.
fn conclude(rows: &[RateRow], quick: bool, output: &Output) -> Exit {
    for row in rows {
        print(output, "rate", row);
    }
    output.data(&table(rows).to_string());
    let exit = match quick {
        true if rows.iter().all(RateRow::is_enough) => Exit::Done,
        true => Exit::Failed,
        false if rows.iter().all(|row| row.complete[0] > 0) => Exit::Done,
        false => Exit::Partial,
    };
    print(output, "result", &Conclusion { ok: exit == Exit::Done, exit: exit as u8 });
    exit
}

fn table(rows: &[RateRow]) -> Table {
    let mut table = Table::new(&[
        "cell",
        "to",
        "auto",
        "least",
        "most",
        "told",
        "brings",
        "TCP",
        "auto/told",
        "auto/TCP",
        "sent/file",
        "ms",
        "limit",
        "complete",
    ]);
    let none = || String::from("-");
    let rate = |spread: &Option<Spread>| spread.map_or_else(none, |spread| mega(spread.median));
    let ratio = |value: Option<f64>| value.map_or_else(none, |value| format!("{value:.2}"));
    for row in rows {
        let RateRow { cell, auto_bps, .. } = row;
        table.row([
            cell.name.to_owned(),
            cell.receivers.to_string(),
            mega(auto_bps.median),
            mega(auto_bps.least),
            mega(auto_bps.most),
            row.best_told_bps.map_or_else(none, |rate| mega(rate as f64)),
            rate(&row.told_bps),
            rate(&row.tcp_bps),
            ratio(row.over_told),
            ratio(row.over_tcp),
            row.wire_per_file[0].map_or_else(none, |value| format!("{value:.3}")),
            row.auto_seconds.map_or_else(none, |spread| format!("{:.0}", spread.median * 1000.0)),
            cell.limit_ms.map_or_else(none, |limit| limit.to_string()),
            format!("{} of {}", row.complete[0], row.complete[1]),
        ]);
    }
    table
}

/// In millions; slow links with more digits.
fn mega(value: f64) -> String {
    let digits = match value {
        0.0..1e6 => 4,
        1e6..1e8 => 2,
        _ => 0,
    };
    format!("{:.digits$}", value / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(over_told: f64) -> RateRow {
        let spread = |median| Spread { median, least: median / 2.0, most: median * 2.0 };
        RateRow {
            cell: RateCell::quick()[0],
            auto_bps: spread(over_told * 4e9),
            auto_seconds: Some(spread(3.0)),
            best_told_bps: Some(4_000_000_000),
            told_bps: Some(spread(4e9)),
            tcp_bps: None,
            over_told: Some(over_told),
            over_tcp: None,
            wire_per_file: [Some(1.02), Some(1.01)],
            complete: [1, 1],
            why: String::new(),
        }
    }

    #[test]
    fn a_row_has_a_cell_for_each_column() {
        let text = table(&[row(0.75)]).to_string();
        let columns = |line: &str| line.split_whitespace().count();
        let lines: Vec<&str> = text.lines().collect();
        // "1 of 1" is three words.
        assert_eq!((columns(lines[0]), columns(lines[1])), (14, 16), "{text}");
        assert!(lines[1].contains("0.75") && lines[1].contains("3000"), "{text}");
    }

    #[test]
    fn slow_links_have_digits_behind_the_point() {
        assert_eq!([54e3, 9.5e6, 4e9].map(mega), ["0.0540", "9.50", "4000"]);
    }
}
