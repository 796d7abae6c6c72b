//! Several streams of one process, with a receiver each, and one stream alone in the same minutes.

use super::{Bench, Cell, Told, Transfer, median, star::Star, transfer};
use crate::{
    error::LabError,
    host::{Host, INTERFACE},
    peer::{Launch, Peer, System, Task, fanfare_parity, fanfare_rate},
    stop::Stop,
    system::privileges,
    system::scratch::Scratch,
};
use fanfare_sim::jain_index;
use serde::Serialize;
use std::{
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// What several streams come to beside one: medians at the best rate of each.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StreamsResult {
    /// How many.
    pub streams: usize,
    /// The rate that they were told together, and the one alone, bit/s.
    pub rate_bps: [u64; 2],
    /// Bits of all files per second until the last receiver has its own.
    pub sum_bps: f64,
    /// Bits of its file per second, of the stream that got least, and of the one that got most.
    pub range_bps: [f64; 2],
    /// Jain's index of them.
    pub jain: f64,
    /// Bits per second of one stream alone.
    pub one_bps: f64,
    /// All of them over the one.
    pub ratio: f64,
    /// The same, both from starting the sender's program: there the one has its file hashed within
    /// its time, too; before, only nine of ten have.
    pub ratio_started: f64,
    /// Seconds of processor per 10^9 bytes: the sender's, and the mean of receivers.
    pub cpu_per_gb: [f64; 2],
    /// Most resident memory of the sender, bytes: of all, and of one alone.
    pub memory: [u64; 2],
    /// Transfers that came whole to all, of all at that rate.
    pub complete: [usize; 2],
    /// Why the others did not, once.
    pub why: String,
}

impl Bench {
    /// Measures so many streams of one process.
    ///
    /// # Errors
    /// What is missing or refused, or that the user stopped it; nothing is left then.
    pub fn run_streams(
        &self,
        streams: usize,
        stop: &Stop,
        tell: &mut dyn FnMut(&Told<'_>),
    ) -> Result<StreamsResult, LabError> {
        privileges::check()?;
        crate::lab::clear_leftovers()?;
        let scratch = Scratch::with_large_pages(&self.directory)?;
        scratch.check_room(self.size, streams)?;
        let star = Star::up(streams, self.mtu, true)?;
        let cell = |to| Cell { bench: self, star: &star, to, scratch: scratch.path(), stop };
        let (mut all, mut one) = (Vec::new(), Vec::new());
        for _ in 0..self.repetitions {
            for rate in &self.rates {
                for (count, transfers) in [(1, &mut one), (streams, &mut all)] {
                    let peer = Streams::new(self, scratch.path(), count)?;
                    let mut transfer = transfer::run(&cell(count), System::Fanfare, &peer, *rate)?;
                    // It sends so many files.
                    transfer.cpu_per_gb[0] /= count as f64;
                    tell(&Told::Transfer(&transfer));
                    transfers.push(transfer);
                }
            }
        }
        Ok(together(streams, &all, &one))
    }
}

/// How fast the slowest of each was, from starting the program: the median.
fn started(transfers: &[&Transfer]) -> f64 {
    median(transfers.iter().map(|transfer| transfer.started_bps))
}

/// Transfers at the rate whose median is best, and that median.
fn best(transfers: &[Transfer]) -> (Vec<&Transfer>, f64) {
    let at = |rate: u64| transfers.iter().filter(move |transfer| transfer.rate_bps == rate);
    let value = |rate: u64| median(at(rate).map(|transfer| transfer.goodput_bps));
    let rates = transfers.iter().map(|transfer| transfer.rate_bps);
    let rate = rates.max_by(|a, b| value(*a).total_cmp(&value(*b))).unwrap_or(0);
    (at(rate).collect(), value(rate))
}

fn over(all: f64, one: f64) -> f64 {
    if one > 0.0 { all / one } else { 0.0 }
}

fn together(streams: usize, all: &[Transfer], one: &[Transfer]) -> StreamsResult {
    let ((all, least), (one, one_bps)) = (best(all), best(one));
    let complete = || all.iter().filter(|transfer| transfer.why.is_empty());
    let of = |value: &dyn Fn(&Transfer) -> f64| median(complete().map(|t| value(t)));
    let sum_bps = least * streams as f64;
    let most = |each: &[f64]| each.iter().copied().fold(0.0, f64::max);
    let memory = |of: &[&Transfer]| of.iter().map(|t| t.memory[0]).max().unwrap_or(0);
    let rate = |of: &[&Transfer]| of.first().map_or(0, |transfer| transfer.rate_bps);
    StreamsResult {
        streams,
        rate_bps: [rate(&all), rate(&one)],
        sum_bps,
        range_bps: [least, of(&|transfer| most(&transfer.each_bps))],
        jain: of(&|transfer| jain_index(&transfer.each_bps)),
        one_bps,
        ratio: over(sum_bps, one_bps),
        ratio_started: over(started(&all) * streams as f64, started(&one)),
        cpu_per_gb: [of(&|t| t.cpu_per_gb[0]), of(&|t| t.cpu_per_gb[1])],
        memory: [memory(&all), memory(&one)],
        complete: [complete().count(), all.len()],
        why: all.iter().map(|t| t.why.clone()).find(|why| !why.is_empty()).unwrap_or_default(),
    }
}

/// `fanfare send --streams`, and a `fanfare recv` in the group of each.
#[derive(Debug)]
struct Streams {
    program: PathBuf,
    file: PathBuf,
}

impl Streams {
    fn new(bench: &Bench, scratch: &Path, count: usize) -> Result<Self, LabError> {
        let file = scratch.join("streams.toml");
        let source = transfer::source_path(scratch);
        let mut text = String::new();
        for number in 0..count {
            // Writing to a string cannot fail.
            let _ = write!(
                text,
                "[[stream]]\ngroup = \"{}\"\npaths = [{source:?}]\nexpect = 1\n",
                group(number)
            );
        }
        fs::write(&file, text)
            .map_err(|error| LabError::system(format_args!("file ({})", file.display()), &error))?;
        Ok(Self { program: bench.fanfare.clone(), file })
    }
}

/// A group for each: who has not joined it does not get it.
fn group(number: usize) -> String {
    format!("239.255.43.{}:{}", 1 + number % 200, 6003 + number / 200)
}

impl Peer for Streams {
    fn version(&self) -> &'static str {
        env!("CARGO_PKG_VERSION")
    }
    fn receive(&self, host: &Host, number: usize, task: &Task, directory: &Path) -> Launch {
        let mut command = host.command(&self.program);
        command.args(["recv", "--interface", INTERFACE, "--group", &group(number), "--json"]);
        command.arg("--once").arg(directory);
        Launch::of_fanfare(command, task, directory)
    }
    fn send(&self, host: &Host, task: &Task) -> Command {
        let mut command = host.command(&self.program);
        command.args(["send", "--interface", INTERFACE, "--json", "--streams"]).arg(&self.file);
        command.args(["--total-rate", &fanfare_rate(task).to_string()]);
        command.args(fanfare_parity(task));
        command
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn transfer(rate: u64, each: &[f64]) -> Transfer {
        Transfer {
            system: "fanfare",
            receivers: each.len(),
            rate_bps: rate,
            goodput_bps: each.iter().copied().fold(f64::INFINITY, f64::min),
            each_bps: each.to_vec(),
            started_bps: each.iter().copied().fold(f64::INFINITY, f64::min) / 2.0,
            cpu_per_gb: [4.0, 1.0],
            memory: [each.len() as u64, 0],
            why: String::new(),
        }
    }

    #[test]
    fn the_sum_is_reckoned_until_the_last_has_its_file_and_both_at_their_best_rates() {
        let all = [transfer(1, &[5.0, 6.0]), transfer(2, &[8.0, 12.0])];
        let one = [transfer(1, &[20.0]), transfer(2, &[15.0])];
        let together = together(2, &all, &one);
        assert_eq!((together.rate_bps, together.sum_bps, together.one_bps), ([2, 1], 16.0, 20.0));
        assert_eq!((together.ratio, together.range_bps), (0.8, [8.0, 12.0]));
        assert_eq!(together.ratio_started, 0.8);
        assert!((together.jain - 400.0 / 416.0).abs() < 1e-9);
        assert_eq!((together.cpu_per_gb, together.memory), ([4.0, 1.0], [2, 1]));
        assert_eq!(together.complete, [1, 1]);
    }

    #[test]
    fn each_stream_has_a_group_of_its_own() {
        let groups: std::collections::BTreeSet<String> = (0..500).map(group).collect();
        assert_eq!(groups.len(), 500);
    }
}
