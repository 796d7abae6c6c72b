//! `fanfare bench throughput`: how fast a file comes to all receivers.

use std::path::PathBuf;

use clap::Args;
use fanfare_command::{Exit, Failure, Help, Output, OutputArgs, units};
use fanfare_lab::{Bench, Parity, Speed, Told, Transfer};
use fanfare_sim::Table;
use serde::Serialize;

use super::{
    lines::{directory, end, mega, print},
    streams,
};
use crate::{
    choice::systems,
    ending::{ended_early, give_up, stop},
    fanfare::fanfare,
};

/// A bridge of jumbo frames: what carries segments of up to 8 KiB and more.
const MTUS: std::ops::RangeInclusive<u64> = 576..=65_535;

const HELP: Help = Help::new(&[
    ("fanfare bench throughput --receivers 1,10 --rates 2G", "two numbers of receivers"),
    ("fanfare bench throughput --streams 10 --rates 8G", "ten transfers at once"),
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
.files(&[("--dir DIR", "files that are sent and received [default: in memory]")]);

/// Measure how fast a file reaches all receivers
///
/// Sender and receivers are network namespaces around a bridge of this machine. This needs root.
/// With several rates, the best one counts. docs/explanation/throughput.md explains the columns.
#[derive(Debug, Args)]
#[command(after_help = HELP.short(), after_long_help = HELP.long())]
pub(super) struct ThroughputArgs {
    /// Numbers of receivers, with commas
    #[arg(long, default_value = "1,3,10", value_delimiter = ',', value_parser = clap::value_parser!(u16).range(1..=200))]
    receivers: Vec<u16>,
    /// Measure N streams of one process instead
    ///
    /// Each has a receiver of its own, and is compared with one stream alone.
    #[arg(long, value_name = "N", conflicts_with_all = ["receivers", "systems"], value_parser = clap::value_parser!(u16).range(2..=200))]
    streams: Option<u16>,
    /// Systems, with commas
    ///
    /// fanfare, norm, openpgm, jgroups, uftp, udpcast and tcp.
    #[arg(long, default_value = "fanfare", value_name = "NAMES")]
    systems: String,
    /// Rates of IP packets, with commas
    #[arg(
        long,
        default_value = "2G",
        value_delimiter = ',',
        value_name = "RATES",
        allow_hyphen_values = true
    )]
    rates: Vec<String>,
    /// Size of the file in bytes
    #[arg(long, default_value_t = 300_000_000, value_parser = clap::value_parser!(u64).range(1_000_000..))]
    size: u64,
    /// How often each is measured
    #[arg(long, default_value_t = 3, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    repetitions: u32,
    /// Share of packets that Fanfare's receivers drop, such as 0.003
    #[arg(long, value_name = "SHARE", hide_short_help = true)]
    loss: Option<f64>,
    /// Parity of Fanfare and NORM with each block, such as 64:8
    #[arg(long, value_name = "K:P", value_parser = parity, hide_short_help = true)]
    parity: Option<Parity>,
    /// Largest IP packet of the network
    #[arg(long, default_value_t = 1500, value_name = "BYTES", value_parser = clap::value_parser!(u64).range(MTUS), hide_short_help = true)]
    mtu: u64,
    /// Directory for files [default: in memory, by large pages]
    #[arg(long, hide_short_help = true)]
    dir: Option<PathBuf>,
    /// More options of 'fanfare send', such as --send-option=--cc=auto
    #[arg(
        long = "send-option",
        value_name = "OPTION",
        allow_hyphen_values = true,
        hide_short_help = true
    )]
    send_options: Vec<String>,
    /// More options of 'fanfare recv'
    #[arg(
        long = "recv-option",
        value_name = "OPTION",
        allow_hyphen_values = true,
        hide_short_help = true
    )]
    recv_options: Vec<String>,
    #[command(flatten)]
    output: OutputArgs,
}

pub(super) fn run(args: &ThroughputArgs) -> Exit {
    let output = Output::new(args.output);
    let bench = match args.bench() {
        Ok(bench) => bench,
        Err(failure) => return fanfare_command::give_up(&output, &failure),
    };
    let stop = match stop() {
        Ok(stop) => stop,
        Err(error) => return give_up(&output, &error),
    };
    let mut tell = |told: &Told<'_>| tell(told, &output);
    let result = match args.streams {
        None => bench.run(&stop, &mut tell).map(|speeds| conclude(&speeds, &output)),
        Some(count) => {
            let result = bench.run_streams(usize::from(count), &stop, &mut tell);
            result.map(|together| streams::conclude(&together, &output))
        }
    };
    output.clear();
    match result {
        Ok(exit) => exit,
        Err(error) => ended_early(&output, &error, &stop),
    }
}

impl ThroughputArgs {
    fn bench(&self) -> Result<Bench, Failure> {
        let rates = self.rates.iter().map(|rate| Ok(units::rate(rate)?.as_bps()));
        let mut extra = [self.send_options.clone(), self.recv_options.clone()];
        if let Some(loss) = self.loss {
            extra[1].push(format!("--test-drop={loss}"));
        }
        Ok(Bench {
            receivers: self.receivers.iter().map(|count| usize::from(*count)).collect(),
            systems: systems(&self.systems)?,
            rates: rates.collect::<Result<_, Failure>>()?,
            size: self.size,
            repetitions: self.repetitions,
            mtu: self.mtu as usize,
            parity: self.parity,
            extra,
            directory: directory(self.dir.as_ref()),
            fanfare: fanfare(),
        })
    }
}

/// What both codes can: GF(2^8) has 255 symbols in a block.
fn parity(text: &str) -> Result<Parity, String> {
    let wrong = || format!("not K:P with at most 255 together ({text}). Use 64:8, say");
    let (block, parity) = text.split_once(':').ok_or_else(wrong)?;
    let (block, parity) = (block.parse::<u16>(), parity.parse::<u16>());
    match (block, parity) {
        (Ok(block @ 1..=254), Ok(parity @ 1..)) if parity <= 255 - block => {
            Ok(Parity { block, parity })
        }
        _ => Err(wrong()),
    }
}

/// What raw UDP came to.
#[derive(Debug, Serialize)]
struct Raw {
    receivers: usize,
    raw_bps: f64,
}

fn tell(told: &Told<'_>, output: &Output) {
    match told {
        Told::Missing(system, error) => {
            output.warn("bench.peer_missing", format!("{system} is left out: {error}"));
        }
        Told::Raw(receivers, raw_bps) => {
            let (receivers, raw_bps) = (*receivers, *raw_bps);
            print(output, "raw", &Raw { receivers, raw_bps });
            output.text(&format!("raw to {receivers}: {} Mbit/s", mega(raw_bps)));
        }
        Told::Transfer(transfer) => {
            print(output, "transfer", *transfer);
            output.text(&line(transfer));
        }
    }
}

fn line(transfer: &Transfer) -> String {
    let Transfer { system, receivers, rate_bps, goodput_bps, cpu_per_gb, why, .. } = transfer;
    let what = format!("{system} to {receivers} at {}", mega(*rate_bps as f64));
    match why.is_empty() {
        true => format!(
            "{what}: {} Mbit/s, {:.2} and {:.2} s of processor per GB",
            mega(*goodput_bps),
            cpu_per_gb[0],
            cpu_per_gb[1]
        ),
        false => format!("{what}: not complete: {why}"),
    }
}

fn conclude(speeds: &[Speed], output: &Output) -> Exit {
    for speed in speeds {
        print(output, "speed", speed);
    }
    output.data(&table(speeds).to_string());
    end(speeds.iter().all(|speed| speed.complete[0] > 0), output)
}

fn table(speeds: &[Speed]) -> Table {
    let mut table = Table::new(&[
        "system",
        "to",
        "told",
        "Mbit/s",
        "least",
        "most",
        "raw",
        "ratio",
        "bound",
        "s/GB send",
        "s/GB recv",
        "MB send",
        "MB recv",
        "complete",
    ]);
    for speed in speeds {
        table.row([
            speed.system.to_owned(),
            speed.receivers.to_string(),
            mega(speed.rate_bps as f64),
            mega(speed.goodput_bps),
            mega(speed.range_bps[0]),
            mega(speed.range_bps[1]),
            mega(speed.raw_bps),
            format!("{:.3}", speed.ratio),
            mega(speed.bound_bps),
            format!("{:.2}", speed.cpu_per_gb[0]),
            format!("{:.2}", speed.cpu_per_gb[1]),
            mega(speed.memory[0] as f64),
            mega(speed.memory[1] as f64),
            format!("{} of {}", speed.complete[0], speed.complete[1]),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parity_that_no_block_has_is_refused() {
        assert_eq!(parity("64:8"), Ok(Parity { block: 64, parity: 8 }));
        for wrong in ["64", "0:8", "64:0", "200:56", "64:x", "65536:1"] {
            assert!(parity(wrong).unwrap_err().contains(wrong));
        }
    }

    #[test]
    fn a_row_has_a_cell_for_each_column() {
        let speed = Speed {
            system: "fanfare",
            receivers: 10,
            rate_bps: 2_000_000_000,
            goodput_bps: 1.5e9,
            range_bps: [1.4e9, 1.6e9],
            raw_bps: 9e9,
            ratio: 1.0 / 6.0,
            bound_bps: 3e9,
            cpu_per_gb: [0.5, 0.6],
            memory: [11_000_000, 12_000_000],
            complete: [3, 3],
            why: String::new(),
        };
        let text = table(&[speed]).to_string();
        let columns = |line: &str| line.split("  ").filter(|cell| !cell.is_empty()).count();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(columns(lines[0]), 14);
        assert_eq!(columns(lines[1]), 14);
        assert!(lines[1].contains("0.167"), "{text}");
    }
}
