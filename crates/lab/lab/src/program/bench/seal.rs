//! `fanfare bench seal`: what sealing costs, in time and in bytes.

use std::{
    fs::{self, OpenOptions},
    io::Write,
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

use clap::Args;
use fanfare_command::{Exit, Failure, Help, Output, OutputArgs};
use fanfare_lab::{Bench, LabError, Stop, System, Told};
use fanfare_node::seal::{Form, Key, Moment, Seal, Settings};
use fanfare_sim::{Sorted, Table};
use serde::Serialize;

use super::lines::{directory, end, mega, print};
use crate::{
    ending::{ended_early, give_up, stop},
    fanfare::fanfare,
};

/// Receivers and told rate, bit/s.
const CELLS: [(usize, u64); 2] = [(1, 1_000_000_000), (3, 500_000_000)];
/// Bytes of a full segment, and of the NORM_DATA, UDP and IP headers around it.
const SEGMENT: usize = 1400;
const NORM: usize = 20;
const UDP_IP: usize = 28;

const HELP: Help = Help::new(&[
    ("fanfare bench seal", "to one receiver at 1 Gbit/s, to three at 500 Mbit/s"),
    ("fanfare bench seal --repetitions 9 --json", "for programs"),
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

/// Measure what sealing with a key costs
///
/// A file is sent clear and sealed in turns, to one receiver at 1 Gbit/s and to three at 500 Mbit/s.
/// Sender and receivers are network namespaces around a bridge of this machine. This needs root.
/// The second table has bytes of a packet with a segment of 1400 bytes, IP and UDP headers included.
#[derive(Debug, Args)]
#[command(after_help = HELP.short(), after_long_help = HELP.long())]
pub(super) struct SealArgs {
    /// Size of the file in bytes
    #[arg(long, default_value_t = 300_000_000, value_parser = clap::value_parser!(u64).range(1_000_000..))]
    size: u64,
    /// How often each is measured
    #[arg(long, default_value_t = 5, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    repetitions: u32,
    /// Directory for files [default: in memory]
    #[arg(long)]
    dir: Option<PathBuf>,
    #[command(flatten)]
    output: OutputArgs,
}

/// Clear and sealed, of one number of receivers.
#[derive(Debug, Default, Serialize)]
struct Cost {
    receivers: usize,
    told_bps: u64,
    clear_bps: f64,
    sealed_bps: f64,
    /// Sealed over clear.
    ratio: f64,
    /// Seconds of processor per GB: sender clear and sealed, receivers clear and sealed.
    cpu_per_gb: [f64; 4],
    complete: [usize; 2],
}

/// Bytes of a full packet.
#[derive(Debug, Serialize)]
struct Bytes {
    form: &'static str,
    more: usize,
    packet: usize,
    ratio: f64,
}

pub(super) fn run(args: &SealArgs) -> Exit {
    let output = Output::new(args.output);
    let stop = match stop() {
        Ok(stop) => stop,
        Err(error) => return give_up(&output, &error),
    };
    let scratch = directory(args.dir.as_ref()).join(format!("fanfare-seal-{}", std::process::id()));
    let key = match write_key(&scratch) {
        Ok(key) => key,
        Err(error) => {
            let text = format!("key ({}): cannot be written ({error})", scratch.display());
            let failure = Failure::new(Exit::Failed, "bench.key", text);
            return fanfare_command::give_up(&output, &failure);
        }
    };
    let measured: Result<Vec<Cost>, LabError> =
        CELLS.iter().map(|cell| measure(args, *cell, &key, (&stop, &output))).collect();
    let _ = fs::remove_dir_all(&scratch);
    match measured {
        Ok(costs) => conclude(&costs, &output),
        Err(error) => ended_early(&output, &error, &stop),
    }
}

fn write_key(scratch: &Path) -> std::io::Result<PathBuf> {
    fs::create_dir_all(scratch)?;
    let key = Key::generate(1).ok_or_else(|| std::io::Error::other("no random bytes"))?;
    let path = scratch.join("key");
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
    file.write_all(key.to_text().as_bytes())?;
    Ok(path)
}

/// One after the other, so that what changes on the machine meanwhile meets both.
fn measure(
    args: &SealArgs,
    (receivers, rate): (usize, u64),
    key: &Path,
    (stop, output): (&Stop, &Output),
) -> Result<Cost, LabError> {
    let (mut runs, mut cost) = ([Vec::new(), Vec::new()], Cost::default());
    let mut cpu: [Vec<f64>; 4] = Default::default();
    for _ in 0..args.repetitions {
        for (sealed, runs) in runs.iter_mut().enumerate() {
            let with_key = format!("--key={}", key.display());
            let options = if sealed == 1 { vec![with_key] } else { Vec::new() };
            let bench = Bench {
                receivers: vec![receivers],
                systems: vec![System::Fanfare],
                rates: vec![rate],
                size: args.size,
                repetitions: 1,
                mtu: 1500,
                parity: None,
                extra: [options.clone(), options],
                directory: directory(args.dir.as_ref()),
                fanfare: fanfare(),
            };
            bench.run(stop, &mut |told| {
                let Told::Transfer(transfer) = told else { return };
                let how = ["clear", "sealed"][sealed];
                let speed = mega(transfer.goodput_bps);
                output.text(&format!("{how} to {receivers}: {speed} Mbit/s {}", transfer.why));
                if transfer.why.is_empty() {
                    runs.push(transfer.goodput_bps);
                    cpu[sealed].push(transfer.cpu_per_gb[0]);
                    cpu[2 + sealed].push(transfer.cpu_per_gb[1]);
                }
            })?;
        }
    }
    (cost.receivers, cost.told_bps) = (receivers, rate);
    cost.complete = [runs[0].len(), runs[1].len()];
    (cost.clear_bps, cost.sealed_bps) = (median(&runs[0]), median(&runs[1]));
    cost.ratio = cost.sealed_bps / cost.clear_bps.max(1.0);
    cost.cpu_per_gb = cpu.each_ref().map(|figures| median(figures));
    Ok(cost)
}

fn median(figures: &[f64]) -> f64 {
    figures.iter().copied().collect::<Sorted>().median().unwrap_or_default()
}

/// What a full packet comes to, by sealing one.
fn bytes() -> Vec<Bytes> {
    let forms = [("clear", None), ("long", Some(Form::Long)), ("short", Some(Form::Short))];
    let clear = NORM + SEGMENT;
    let one = |(form, sealed): (&'static str, Option<Form>)| {
        let packet = sealed.map_or(clear, |form| {
            let settings = Settings::new(vec![Key::from_secret([7; 32], 1)], "bench").in_form(form);
            let mut out = Vec::new();
            Seal::new(settings, [1; 16]).seal(Moment::default(), &vec![0; clear], &mut out);
            out.len()
        });
        let ratio = (packet + UDP_IP) as f64 / (clear + UDP_IP) as f64;
        Bytes { form, more: packet - clear, packet: packet + UDP_IP, ratio }
    };
    forms.map(one).into()
}

fn conclude(costs: &[Cost], output: &Output) -> Exit {
    let mut table = Table::new(&[
        "to",
        "told",
        "clear",
        "sealed",
        "ratio",
        "s/GB send",
        "sealed",
        "s/GB recv",
        "sealed",
        "complete",
    ]);
    for cost in costs {
        print(output, "seal", cost);
        let cpu = cost.cpu_per_gb.map(|seconds| format!("{seconds:.2}"));
        let [send, sealed_send, receive, sealed_receive] = cpu;
        table.row([
            cost.receivers.to_string(),
            mega(cost.told_bps as f64),
            mega(cost.clear_bps),
            mega(cost.sealed_bps),
            format!("{:.3}", cost.ratio),
            send,
            sealed_send,
            receive,
            sealed_receive,
            format!("{} and {}", cost.complete[0], cost.complete[1]),
        ]);
    }
    output.data(&table.to_string());
    let mut table = Table::new(&["form", "more", "packet", "ratio"]);
    for row in bytes() {
        print(output, "bytes", &row);
        let figures = [row.more, row.packet].map(|bytes| bytes.to_string());
        table.row([&[row.form.to_owned()][..], &figures, &[format!("{:.4}", row.ratio)]].concat());
    }
    output.data(&table.to_string());
    end(costs.iter().all(|cost| cost.complete.iter().all(|count| *count > 0)), output)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sealed_packet_is_at_most_eighteen_thousandths_longer_and_a_short_one_twelve_bytes() {
        let [clear, long, short] = bytes().try_into().unwrap();
        assert_eq!((clear.more, clear.packet), (0, 1448));
        assert!(long.ratio <= 1.018, "{}", long.ratio);
        assert_eq!((long.more, short.more), (24, 12));
    }
}
