//! One file to all receivers of a cell, from the start of the sender's program to its end.

use super::{
    Condition, RateBench, RateCell,
    flows::{CONGESTION_CONTROL, Flows},
    load::Load,
    network::Network,
    reaction::{PHASES, Reaction, Sent},
    sender::{Ours, RateSender},
};
use crate::{
    error::LabError,
    host::Host,
    payload,
    peer::{
        Peer, Sign, System, Task,
        delivery::{self, Delivery, Order},
        program::Program,
    },
    stop::Stop,
};
use serde::Serialize;
use std::{
    fs,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

/// A sender has so many times what the file takes on its link, or on its share of it.
const PATIENCE: f64 = 4.0;
/// Beside that, for gathering receivers and for the end.
const BESIDE: Duration = Duration::from_secs(20);
/// TCP to many takes as many times as long. It is stopped when one TCP alone would have had time enough, and
/// what the slowest receiver has by then counts.
const TCP_PATIENCE: f64 = 1.2;
const TCP_BESIDE: Duration = Duration::from_secs(3);
/// For its start: it doubles what it sends with each round trip.
const TCP_ROUND_TRIPS: f64 = 12.0;
/// TCP flows have the link to themselves for so long.
const ALONE: Duration = Duration::from_secs(2);

/// In lines of `fanfare send --json` (docs/reference/json-events.md).
const RESULT: &str = "\"event\":\"result\"";
const SENDING: &str = "\"event\":\"sending\"";
const PROGRESS: &str = "\"event\":\"progress\"";

/// One transfer, as it was.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RateTransfer {
    /// The cell's name.
    pub cell: &'static str,
    /// Who sent.
    pub sender: RateSender,
    /// From the start of the sender's program until its end; `None` when the file did not come to all.
    pub seconds: Option<f64>,
    /// Bits of the file per second of that time; zero when it did not come to all. Of a TCP that was
    /// stopped: what the slowest receiver had by then, over the time.
    pub goodput_bps: f64,
    /// Bytes that Fanfare's sender sent in UDP, over the file's bytes.
    pub wire_per_file: Option<f64>,
    /// What limited the rate of Fanfare's sender longest, by its code (docs/reference/json-events.md).
    pub limited_by: Option<String>,
    /// Bits per second that each TCP flow beside the transfer brought in the same time.
    pub beside_bps: Vec<f64>,
    /// How soon the sender found its new rate when the link changed.
    pub reaction: Option<Reaction>,
    /// Why it is not complete.
    pub why: String,
}

/// What all transfers of a cell have.
pub(super) struct Range<'a> {
    pub(super) bench: &'a RateBench,
    pub(super) of: &'a RateCell,
    pub(super) network: &'a Network,
    pub(super) scratch: &'a Path,
    pub(super) stop: &'a Stop,
}

impl Range<'_> {
    /// Runs one.
    pub(super) fn shoot(
        &self,
        sender: RateSender,
        fanfare: &dyn Peer,
        tcp: Option<&dyn Peer>,
    ) -> Result<RateTransfer, LabError> {
        let directory = self.scratch.join("transfer");
        let failed = |error: std::io::Error| {
            LabError::system(format_args!("file ({})", directory.display()), &error)
        };
        fs::create_dir_all(&directory).map_err(failed)?;
        let task = self.task(sender).map_err(failed)?;
        let told = sender.told(self.of);
        let ours = Ours {
            fanfare,
            program: self.bench.fanfare.as_path(),
            told,
            ceiling: sender == RateSender::Auto,
        };
        let (system, peer): (_, &dyn Peer) = match (sender, tcp) {
            (RateSender::Tcp, Some(tcp)) => (System::Tcp, tcp),
            _ => (System::Fanfare, &ours),
        };
        let order = Order {
            system,
            peer,
            task: &task,
            directory: &directory,
            stop: self.stop,
            interrupted: "bench (interrupted): not all was measured. Run it again",
        };
        let copies = self.of.size * self.of.receivers as u64;
        let reserve = payload::MemoryReserve::shedding(&directory, copies).map_err(failed)?;
        let transfer = match self.of.condition {
            Condition::Change(rate) | Condition::Comes(rate) => self.watch(sender, order, rate),
            _ => self.deliver(sender, order),
        };
        drop(reserve);
        fs::remove_dir_all(&directory).map_err(failed)?;
        transfer
    }

    fn task(&self, sender: RateSender) -> std::io::Result<Task> {
        let source = source(self.scratch);
        if !source.exists() {
            payload::write(&source, 0, self.of.size)?;
        }
        Ok(Task {
            source,
            receivers: self.first().iter().map(Host::address).collect(),
            capacity: self.of.fastest(),
            round_trip: Duration::from_secs_f64(self.of.round_trip_ms / 1e3),
            limit: longest(self.of, sender),
            parity: None,
        })
    }

    fn receivers(&self) -> &[Host] {
        self.network.receivers(self.of)
    }
    /// Who receives from the beginning: all, but for one that comes later.
    fn first(&self) -> &[Host] {
        match (self.of.condition, self.receivers()) {
            (Condition::Comes(_), [first @ .., _]) => first,
            (_, all) => all,
        }
    }

    fn deliver(&self, sender: RateSender, order: Order<'_>) -> Result<RateTransfer, LabError> {
        let mut options = Vec::new();
        if self.of.drops_by_itself() {
            options.push(format!("--test-drop={}", self.of.loss));
        }
        let mut delivery = Delivery::to(order, self.receivers(), &options)?;
        let load = (self.of.condition == Condition::Busy).then(Load::start).transpose()?;
        let flows = self.flows()?;
        let before = flows.as_ref().map(Flows::received).unwrap_or_default();
        let begun = Instant::now();
        let congestion = ["--congestion", CONGESTION_CONTROL].map(str::to_owned);
        let more = if sender == RateSender::Tcp { &congestion[..] } else { &[] };
        let mut program = delivery.send(self.network.sender(), more)?;
        let mut why = delivery.wait(&mut program)?;
        if why.is_empty() {
            why = delivery.wait_for_sender(&mut program)?;
        }
        let took = begun.elapsed().as_secs_f64();
        let after = flows.as_ref().map(Flows::received).unwrap_or_default();
        drop((flows, load));
        let mut transfer = self.transfer(sender, &program, begun);
        let beside = after.iter().zip(&before);
        transfer.beside_bps =
            beside.map(|(after, before)| (after - before) as f64 * 8.0 / took).collect();
        let stopped = took >= order.task.limit.as_secs_f64();
        if sender == RateSender::Tcp && stopped {
            let slowest = delivery.lengths().into_iter().min().unwrap_or(0);
            delivery.end(&mut program);
            return Ok(RateTransfer {
                seconds: None,
                goodput_bps: slowest as f64 * 8.0 / took,
                ..transfer
            });
        }
        if !why.is_empty() {
            why += &so_far(&program.last_line(), self.of.size as f64).unwrap_or_default();
        }
        delivery.end(&mut program);
        let failed = |error: std::io::Error| {
            LabError::system(format_args!("file ({})", order.task.source.display()), &error)
        };
        let sent = delivery::hash(&order.task.source).map_err(failed)?;
        if why.is_empty() && delivery.right(sent).contains(&false) {
            "a file is not what was sent".clone_into(&mut why);
        }
        if !why.is_empty() {
            (transfer.seconds, transfer.goodput_bps) = (None, 0.0);
        }
        Ok(RateTransfer { why, ..transfer })
    }

    /// TCP flows, when they have had the link to themselves.
    fn flows(&self) -> Result<Option<Flows>, LabError> {
        let (Condition::Beside { flows, .. }, Some(from)) =
            (self.of.condition, self.network.other(self.of))
        else {
            return Ok(None);
        };
        let flows = Flows::start(from, &self.receivers()[0], flows, CONGESTION_CONTROL)?;
        self.stop.wait(ALONE);
        Ok(Some(flows))
    }

    /// What a sender that has ended, or not, says of itself.
    fn transfer(&self, sender: RateSender, program: &Program, begun: Instant) -> RateTransfer {
        let result = program.line_with(RESULT).unwrap_or_default();
        let result: serde_json::Value = serde_json::from_str(&result).unwrap_or_default();
        let size = self.of.size as f64;
        let seconds = program.saw(Sign::Ending).map(|at| (at - begun).as_secs_f64());
        RateTransfer {
            cell: self.of.name,
            sender,
            seconds,
            goodput_bps: seconds.map_or(0.0, |seconds| size * 8.0 / seconds),
            wire_per_file: result["wire_bytes"].as_f64().map(|bytes| bytes / size),
            limited_by: result["limiting"]["code"].as_str().map(str::to_owned),
            beside_bps: Vec::new(),
            reaction: None,
            why: String::new(),
        }
    }

    /// Changes the link under a transfer, or lets a slow receiver come and go, and looks how its sender
    /// follows. Nobody waits for its end.
    fn watch(
        &self,
        sender: RateSender,
        order: Order<'_>,
        slow: u64,
    ) -> Result<RateTransfer, LabError> {
        let fast = self.of.fastest();
        let first = self.first();
        let late = &self.receivers()[first.len()..];
        let mut delivery = Delivery::to(order, first, &[])?;
        let begun = Instant::now();
        let mut program = delivery.send(self.network.sender(), &[])?;
        let mut at = begun;
        let mut changes = [begun; 2];
        for (number, phase) in PHASES.into_iter().enumerate() {
            at += phase;
            delivery.go_on(&mut program, at)?;
            match (number, late) {
                (0, []) => self.network.change(self.of, slow)?,
                (0, late) => delivery.join(late)?,
                (1, []) => self.network.change(self.of, fast)?,
                (1, _) => delivery.leave(),
                _ => break,
            }
            changes[number] = Instant::now();
        }
        let lines = program.lines_with(PROGRESS);
        let sent: Vec<Sent> =
            lines.iter().filter_map(|(at, line)| Sent::parse(*at, line)).collect();
        let end = Instant::now();
        let ended = program.code().is_some();
        let flowed = program.line_with(SENDING).is_some();
        delivery.end(&mut program);
        let counted = |rate: u64| self.of.counted_bps(rate);
        let changes = [(changes[0], counted(slow)), (changes[1], counted(fast))];
        let why = match (flowed, ended) {
            (false, _) => "no data was sent",
            (true, true) => "the sender ended before the link had changed twice",
            (true, false) => "",
        };
        Ok(RateTransfer {
            reaction: why.is_empty().then(|| Reaction::of(&sent, changes, end)),
            why: why.to_owned(),
            ..self.transfer(sender, &program, begun)
        })
    }
}

/// How much of the file a sender has sent that was given up, for people.
fn so_far(progress: &str, size: f64) -> Option<String> {
    let progress: serde_json::Value = serde_json::from_str(progress).ok()?;
    let sent = progress["sent_bytes"].as_f64()?;
    Some(format!(", {:.0} % was sent once", sent / size * 100.0))
}

/// After so long a transfer is given up.
fn longest(cell: &RateCell, sender: RateSender) -> Duration {
    let start = Duration::from_secs_f64(TCP_ROUND_TRIPS * cell.round_trip_ms / 1e3);
    let (patience, beside) = match sender {
        RateSender::Tcp => (TCP_PATIENCE, TCP_BESIDE + start),
        _ => (PATIENCE, BESIDE),
    };
    let others = match cell.condition {
        Condition::Beside { flows, .. } => flows,
        _ => 0,
    };
    Duration::from_secs_f64(cell.on_the_wire() * patience * (1 + others) as f64) + beside
}

/// Where the file of a cell is.
pub(super) fn source(scratch: &Path) -> PathBuf {
    scratch.join("payload.bin")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sender_has_four_times_what_its_link_needs_and_tcp_a_little_more_than_once() {
        let cell = RateCell::chosen(&["100M-3".to_owned()]).unwrap()[0];
        let seconds = |sender| longest(&cell, sender).as_secs_f64();
        // 62.5 MB at 95.8 Mbit/s of content: 5.22 s.
        assert!((seconds(RateSender::Auto) - 40.9).abs() < 0.1);
        assert!((seconds(RateSender::Tcp) - 9.3).abs() < 0.1);
        // Beside three, a quarter of the link and of the file.
        let beside = RateCell::chosen(&["beside-100M-3".to_owned()]).unwrap()[0];
        assert!((longest(&beside, RateSender::Auto).as_secs_f64() - 40.9).abs() < 0.1);
    }

    #[test]
    fn a_sender_that_was_given_up_tells_how_far_it_came() {
        let line = r#"{"event":"progress","sent_bytes":250,"total_bytes":1000}"#;
        assert_eq!(so_far(line, 1000.0).as_deref(), Some(", 25 % was sent once"));
        assert_eq!(so_far("killed", 1000.0), None);
    }
}
