//! One file to all receivers of a cell, from the start of the sender's program until its end.

use super::{RateBench, RateCell};
use crate::{
    bench::star::Star,
    error::LabError,
    host::{Host, INTERFACE},
    payload,
    peer::{
        FANFARE_GROUP, Launch, Peer, Sign, System, Task,
        delivery::{self, Delivery, Order},
    },
    stop::Stop,
};
use serde::Serialize;
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, Instant},
};

/// So many times what a fast sender takes, and so many for each receiver, since TCP sends to each on
/// its own.
const PATIENCE: f64 = 10.0;
const PATIENCE_EACH: f64 = 4.0;
/// Beside that, for gathering receivers and for the end.
const BESIDE: Duration = Duration::from_secs(20);

/// In the last line of `fanfare send --json` (docs/reference/json-events.md).
const RESULT: &str = "\"event\":\"result\"";

/// Who sends, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RateSender {
    /// `fanfare send` without `--rate`.
    Auto,
    /// `fanfare send --rate` with this, bit/s.
    Told(u64),
    /// A TCP connection to each receiver, all at once.
    Tcp,
}

/// One transfer, as it was.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RateShot {
    /// The cell's name.
    pub cell: &'static str,
    /// Who sent.
    pub sender: RateSender,
    /// From the start of the sender's program until its end; `None` when the file did not come to all.
    pub seconds: Option<f64>,
    /// Bits of the file per second of that time; zero when it did not come to all.
    pub goodput_bps: f64,
    /// Bytes that Fanfare's sender sent in UDP, over the file's bytes.
    pub wire_per_file: Option<f64>,
    /// Why it is not complete.
    pub why: String,
}

/// What all transfers of a cell have.
pub(super) struct Range<'a> {
    pub(super) bench: &'a RateBench,
    pub(super) of: &'a RateCell,
    pub(super) star: &'a Star,
    pub(super) scratch: &'a Path,
    pub(super) stop: &'a Stop,
}

/// `fanfare recv` as others measure it, and `fanfare send` with a rate only where one is told.
#[derive(Debug)]
struct Ours<'a> {
    fanfare: &'a dyn Peer,
    program: &'a Path,
    told: Option<u64>,
}

impl Peer for Ours<'_> {
    fn version(&self) -> &str {
        self.fanfare.version()
    }
    fn receive(&self, host: &Host, number: usize, task: &Task, directory: &Path) -> Launch {
        self.fanfare.receive(host, number, task, directory)
    }
    fn send(&self, host: &Host, task: &Task) -> Command {
        let mut command = host.command(self.program);
        command.args(["send", "--json", "--interface", INTERFACE, "--group", FANFARE_GROUP]);
        command.args(["--expect", &task.receivers.len().to_string()]).arg(&task.source);
        if let Some(rate) = self.told {
            command.args(["--rate", &rate.to_string()]);
        }
        command
    }
}

impl Range<'_> {
    /// Runs one. `peers` are Fanfare and TCP.
    pub(super) fn shoot(
        &self,
        sender: RateSender,
        peers: [&dyn Peer; 2],
    ) -> Result<RateShot, LabError> {
        let directory = self.scratch.join("transfer");
        let failed = |error: std::io::Error| LabError::system(directory.display(), &error);
        fs::create_dir_all(&directory).map_err(failed)?;
        let task = self.task().map_err(failed)?;
        let (program, fanfare) = (self.bench.fanfare.as_path(), peers[0]);
        let told = if let RateSender::Told(rate) = sender { Some(rate) } else { None };
        let ours = Ours { fanfare, program, told };
        let (system, peer): (_, &dyn Peer) = match sender {
            RateSender::Tcp => (System::Tcp, peers[1]),
            _ => (System::Fanfare, &ours),
        };
        let order = Order {
            system,
            peer,
            task: &task,
            directory: &directory,
            stop: self.stop,
            interrupted: "bench (): was interrupted. Run it again",
        };
        let copies = self.of.size * self.of.receivers as u64;
        let ballast = payload::Ballast::shedding(&directory, copies).map_err(failed)?;
        let shot = self.deliver(sender, order);
        drop(ballast);
        fs::remove_dir_all(&directory).map_err(failed)?;
        shot
    }

    fn task(&self) -> std::io::Result<Task> {
        let source = source(self.scratch);
        if !source.exists() {
            payload::write(&source, 0, self.of.size)?;
        }
        Ok(Task {
            source,
            receivers: self.star.receivers().iter().map(Host::address).collect(),
            capacity: fastest(self.of),
            round_trip: Duration::ZERO,
            limit: longest(self.of),
            parity: None,
        })
    }

    fn deliver(&self, sender: RateSender, order: Order<'_>) -> Result<RateShot, LabError> {
        let mut options = Vec::new();
        if self.of.loss > 0.0 {
            options.push(format!("--test-drop={}", self.of.loss));
        }
        let mut delivery = Delivery::to(order, self.star.receivers(), &options)?;
        let begun = Instant::now();
        let mut program = delivery.send(self.star.sender(), &[])?;
        let mut why = delivery.wait(&mut program)?;
        if why.is_empty() {
            why = delivery.wait_for_sender(&mut program)?;
        }
        if !why.is_empty() {
            why += &so_far(&program.last_line(), self.of.size as f64).unwrap_or_default();
        }
        let result = program.line_with(RESULT).unwrap_or_default();
        delivery.end(&mut program);
        let failed = |error: std::io::Error| LabError::system(order.task.source.display(), &error);
        let sent = delivery::hash(&order.task.source).map_err(failed)?;
        if why.is_empty() && delivery.right(sent).contains(&false) {
            "a file is not what was sent".clone_into(&mut why);
        }
        let ended = program.saw(Sign::Ending).filter(|_| why.is_empty());
        let seconds = ended.map(|at| (at - begun).as_secs_f64());
        let (size, cell) = (self.of.size as f64, self.of.name);
        let goodput_bps = seconds.map_or(0.0, |seconds| size * 8.0 / seconds);
        let wire_per_file = wire_bytes(&result).map(|bytes| bytes / size);
        Ok(RateShot { cell, sender, seconds, goodput_bps, wire_per_file, why })
    }
}

fn wire_bytes(result: &str) -> Option<f64> {
    let result: serde_json::Value = serde_json::from_str(result).ok()?;
    result["wire_bytes"].as_f64()
}

/// How much of the file a sender has sent that was given up, for people.
fn so_far(progress: &str, size: f64) -> Option<String> {
    let progress: serde_json::Value = serde_json::from_str(progress).ok()?;
    let sent = progress["sent_bytes"].as_f64()?;
    Some(format!(", {:.0} % was sent once", sent / size * 100.0))
}

/// The link's rate, or the highest that is told, bit/s.
fn fastest(cell: &RateCell) -> u64 {
    cell.rate_bps.or(cell.told.last().copied()).unwrap_or(1)
}

/// After so long a transfer is given up.
fn longest(cell: &RateCell) -> Duration {
    let fast = (cell.size * 8) as f64 / fastest(cell) as f64;
    let patience = PATIENCE.max(PATIENCE_EACH * cell.receivers as f64);
    Duration::from_secs_f64(fast * patience) + BESIDE
}

/// Where the file of a cell is.
pub(super) fn source(scratch: &Path) -> PathBuf {
    scratch.join("payload.bin")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_went_over_the_wire_is_in_the_last_line_of_send() {
        let line = r#"{"event":"result","ok":true,"bytes":8388608,"wire_bytes":8801000}"#;
        assert_eq!(wire_bytes(line), Some(8_801_000.0));
        assert_eq!(wire_bytes("{\"event\":\"result\"}"), None);
        assert_eq!(wire_bytes(""), None);
    }

    #[test]
    fn a_sender_is_given_up_long_after_one_receiver_after_another_had_the_file() {
        let cell = RateCell::chosen(&["56k-3".to_owned()]).unwrap()[0];
        assert_eq!(longest(&cell), Duration::from_secs(5 * 12 + 20));
    }

    #[test]
    fn a_sender_that_was_given_up_tells_how_far_it_came() {
        let line = r#"{"event":"progress","sent_bytes":250,"total_bytes":1000}"#;
        assert_eq!(so_far(line, 1000.0).as_deref(), Some(", 25 % was sent once"));
        assert_eq!(so_far("killed", 1000.0), None);
    }
}
