//! How fast a stream reaches all receivers: `fanfare pipe`, and a pipe over NRL's libnorm beside it.
//!
//! What comes out is read and counted here, and not kept. The time is that from the first byte anywhere to
//! the last byte at the slowest, so that the search for receivers does not count.

use super::Star;
use crate::{
    error::LabError,
    host::{Host, INTERFACE},
    peer::{StreamPeer, Tools},
    stop::Stop,
    system::privileges,
    system::scratch::Scratch,
};
use serde::Serialize;
use std::{
    fs::File,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

const GROUP: &str = "239.255.77.5";
const PORT: &str = "6085";
/// Receivers are there when the sender begins.
const SETTLE: Duration = Duration::from_millis(700);
/// A stream that takes longer is slower than anything worth a line.
const LIMIT: Duration = Duration::from_secs(40);
/// Bytes read at once: a pipe holds no more.
const CHUNK: usize = 64 << 10;

/// What is to be measured.
#[derive(Debug, Clone)]
pub struct PipeBench {
    /// Receivers of each cell.
    pub receivers: Vec<usize>,
    /// Bytes of the stream.
    pub size: u64,
    /// Rate that Fanfare is told, bit/s, and libnorm.
    pub rate: u64,
    /// With more than it can, libnorm's receivers lose what its sender does not wait for.
    pub norm_rate: u64,
    /// How often each is measured.
    pub repetitions: u32,
    /// The largest IP packet of the network.
    pub mtu: usize,
    /// Where the input is, better in memory.
    pub directory: PathBuf,
    /// The program that is measured.
    pub fanfare: PathBuf,
}

/// One stream.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PipeRun {
    /// Whose.
    pub system: &'static str,
    /// To so many.
    pub receivers: usize,
    /// Bits per second at the slowest.
    pub goodput_bps: f64,
    /// Bits per second of raw UDP beside it.
    pub raw_bps: f64,
    /// Why it was not whole, if it was not.
    pub why: String,
}

impl PipeBench {
    /// Measures, one stream after another.
    ///
    /// # Errors
    /// What is missing or refused, or that the user stopped it.
    pub fn run(
        &self,
        stop: &Stop,
        tell: &mut dyn FnMut(&PipeRun),
    ) -> Result<Vec<PipeRun>, LabError> {
        privileges::check()?;
        crate::lab::clear_leftovers()?;
        let norm = StreamPeer::prepare(&Tools::of(&self.fanfare))?;
        let scratch = Scratch::with_large_pages(&self.directory)?;
        let input = scratch.path().join("input");
        let made = File::create(&input).and_then(|file| file.set_len(self.size));
        made.map_err(|error| LabError::system(input.display(), &error))?;
        let mut runs = Vec::new();
        for &receivers in &self.receivers {
            let star = Star::up(receivers, self.mtu, false)?;
            for _ in 0..self.repetitions {
                if stop.is_set() {
                    return Ok(runs);
                }
                let raw_bps = super::raw::measure(&star)?;
                for system in ["fanfare", "norm"] {
                    let result = self.measure(system, &norm, &star, &input);
                    let (goodput_bps, why) =
                        result.map_or_else(|why| (0.0, why), |bps| (bps, String::new()));
                    let run = PipeRun { system, receivers, goodput_bps, raw_bps, why };
                    tell(&run);
                    runs.push(run);
                }
            }
        }
        Ok(runs)
    }

    fn commands(&self, system: &str, norm: &StreamPeer, star: &Star) -> (Command, Vec<Command>) {
        let (sender, count) = (star.sender(), star.receivers().len().to_string());
        let rate = if system == "norm" { self.norm_rate } else { self.rate }.to_string();
        if system == "norm" {
            let command = |host: &Host, end: &str, id: usize| {
                let mut command = host.command(norm.program());
                command.args([end, "--interface", INTERFACE, "--group", GROUP, "--port", PORT]);
                command.args(["--node-id", &id.to_string(), "--nparity", "8"]);
                command
            };
            let receivers = star.receivers().iter().enumerate();
            let receivers = receivers.map(|(n, host)| command(host, "recv", n + 2)).collect();
            let mut sender = command(sender, "send", 1);
            sender.args(["--rate", &rate, "--grtt", "0.001"]);
            // Each receiver that is to acknowledge holds it back, as ours do.
            (2..star.receivers().len() + 2).for_each(|id| {
                sender.args(["--ack", &id.to_string()]);
            });
            return (sender, receivers);
        }
        let command = |host: &Host, end: &str| {
            let mut command = host.command(&self.fanfare);
            command.args(["pipe", end, "--interface", INTERFACE, "--quiet"]);
            command.args(["--group", &format!("{GROUP}:{PORT}")]);
            command
        };
        let receivers = star.receivers().iter().map(|host| command(host, "recv")).collect();
        let mut sender = command(sender, "send");
        sender.args(["--expect", &count, "--rate", &rate]);
        (sender, receivers)
    }

    fn measure(
        &self,
        system: &str,
        norm: &StreamPeer,
        star: &Star,
        input: &Path,
    ) -> Result<f64, String> {
        let (mut sender, receivers) = self.commands(system, norm, star);
        let said = |error: std::io::Error| error.to_string();
        let mut counts = Vec::new();
        let mut children = Vec::new();
        for mut receiver in receivers {
            receiver.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
            let mut child = receiver.spawn().map_err(said)?;
            counts.extend(child.stdout.take().map(|out| thread::spawn(move || count(out))));
            children.push(child);
        }
        thread::sleep(SETTLE);
        let from = File::open(input).map_err(said)?;
        let sender = sender.stdin(from).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        children.push(sender.map_err(said)?);
        let begun = Instant::now();
        while !counts.iter().all(thread::JoinHandle::is_finished) && begun.elapsed() < LIMIT {
            thread::sleep(Duration::from_millis(5));
        }
        end(&mut children);
        let counts: Vec<_> = counts.into_iter().filter_map(|count| count.join().ok()).collect();
        let first = counts.iter().filter_map(|(_, first, _)| *first).min();
        let last = counts.iter().filter_map(|(_, _, last)| *last).max();
        let least = counts.iter().map(|(bytes, ..)| *bytes).min().unwrap_or(0);
        match (first, last) {
            _ if least != self.size => Err(format!("{least} bytes came")),
            (Some(first), Some(last)) => {
                Ok(least as f64 * 8.0 / last.duration_since(first).as_secs_f64().max(1e-6))
            }
            _ => Err("nothing came".to_owned()),
        }
    }
}

/// Bytes, and when the first and the last came.
fn count(mut from: impl std::io::Read) -> (u64, Option<Instant>, Option<Instant>) {
    let (mut bytes, mut first, mut last) = (0, None, None);
    let mut buffer = vec![0; CHUNK];
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        bytes += count as u64;
        last = Some(Instant::now());
        first = first.or(last);
    }
    (bytes, first, last)
}

/// All are done by now, but for good-byes.
fn end(children: &mut [Child]) {
    let begun = Instant::now();
    for child in children {
        while begun.elapsed() < Duration::from_secs(5) && matches!(child.try_wait(), Ok(None)) {
            thread::sleep(Duration::from_millis(10));
        }
        let _ = child.kill();
        let _ = child.wait();
    }
}
