//! One transfer of one system over one network: when it began, when each receiver had the file, and
//! what it cost.
//!
//! The time starts with the first data packet that the sender's host puts on its cable, which is
//! seen for every system alike. It ends for a receiver when its program shows that it has the file.
//! The file's BLAKE3 hash is compared afterwards.

use super::{
    experiment::{Cell, Experiment},
    record::{Outcome, Record},
    scheduling_delay::{Lateness, SchedulingDelay},
};
use crate::{
    emulator::snapshot::{LinkCounts, Snapshot},
    error::LabError,
    lab::Lab,
    payload,
    peer::{
        DATA_MIN, Peer, SEGMENT, System, Task,
        delivery::{self, Delivery, Order, Used},
    },
    stop::Stop,
};
use fanfare_proto::Time;
use std::{
    fs,
    path::Path,
    thread::{self, JoinHandle},
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

/// A run counts when one packet in a hundred was at most so late, or a packet's time on the line
/// where that is longer: lateness adds to delays, not to a line's rate.
const LATE_MAX: Duration = Duration::from_millis(2);

/// What is to be tried.
#[derive(Debug)]
pub(super) struct Trial<'a> {
    pub(super) experiment: &'a Experiment,
    pub(super) cell: &'a Cell,
    pub(super) system: System,
    pub(super) peer: &'a dyn Peer,
    pub(super) repetition: u32,
    /// For files and logs; a directory of its own.
    pub(super) directory: &'a Path,
    pub(super) stop: &'a Stop,
}

/// What was seen until the end.
struct Seen {
    launched: Instant,
    before: Snapshot,
    after: Snapshot,
    why: String,
    /// How late our own short sleeps ended.
    starved: Lateness,
}

impl Trial<'_> {
    /// Runs it.
    ///
    /// # Errors
    /// When the lab fails or the user stops it; what the system does is in the record.
    pub(super) fn run(&self) -> Result<Record, LabError> {
        let failed = |error: std::io::Error| {
            LabError::system(format_args!("file ({})", self.directory.display()), &error)
        };
        fs::create_dir_all(self.directory).map_err(failed)?;
        let lab = Lab::up(&self.experiment.scenario(self.cell)?, self.seed())?;
        // The moment at which the lab's clock was zero.
        let zero = Instant::now() - lab.elapsed();
        let task = self.task(&lab);
        payload::write(&task.source, self.seed(), self.experiment.size).map_err(failed)?;
        let sent = delivery::hash(&task.source).map_err(failed)?;
        let copies = self.experiment.size * self.experiment.receivers as u64;
        let reserve = payload::MemoryReserve::shedding(self.directory, copies).map_err(failed)?;
        let order = Order {
            system: self.system,
            peer: self.peer,
            task: &task,
            directory: self.directory,
            stop: self.stop,
            interrupted: "reproduce (interrupted): not all was measured. Run the same command again to continue",
        };
        let mut delivery = Delivery::to(order, &lab.hosts()[1..], &[])?;
        let first = first_data(&lab);
        let before = lab.snapshot()?;
        let launched = Instant::now();
        let mut sender = delivery.send(&lab.hosts()[0], &[])?;
        let scheduling_delay = SchedulingDelay::start();
        let why = delivery.wait(&mut sender)?;
        let after = lab.snapshot()?;
        let seen = Seen { launched, before, after, why, starved: scheduling_delay.lateness() };
        delivery.end(&mut sender);
        drop(reserve);
        lab.down()?;
        let first =
            first.join().ok().flatten().map(|at| zero + Duration::from_nanos(at.as_nanos()));
        let (right, used) = (delivery.right(sent), delivery.used(&sender));
        Ok(self.record(&seen, first, &delivery.done(), &right, used))
    }

    fn seed(&self) -> u64 {
        let name = format!("{} {} {}", self.experiment.name, self.cell.key, self.repetition);
        let hash = blake3::hash(name.as_bytes());
        // 53 bits: JSON numbers hold them.
        hash.as_bytes()[..8].iter().fold(0, |seed, byte| seed << 8 | u64::from(*byte)) >> 11
    }

    fn task(&self, lab: &Lab) -> Task {
        let addresses: Vec<_> = lab.hosts().iter().map(|host| host.address()).collect();
        Task {
            source: self.directory.join("payload.bin"),
            receivers: addresses[1..].to_vec(),
            capacity: self.cell.capacity,
            round_trip: self.cell.delay * 2,
            limit: self.experiment.limit(self.cell),
            parity: None,
        }
    }

    /// By the accounts of the sender's paths, in the order of receivers.
    fn arrived(&self, counted: &Snapshot) -> Vec<f64> {
        let name = |number: usize| counted.nodes.get(number).map(|node| node.node.as_str());
        let path = |number| {
            let of = |link: &&LinkCounts| {
                name(0) == Some(link.from.as_str()) && name(number) == Some(link.to.as_str())
            };
            let link = counted.links.iter().find(of)?;
            Some(1.0 - link.lost as f64 / (link.came - link.dropped).max(1) as f64)
        };
        (1..=self.experiment.receivers).filter_map(path).map(round).collect()
    }

    fn record(
        &self,
        seen: &Seen,
        first: Option<Instant>,
        done: &[Option<Instant>],
        right: &[bool],
        used: Used,
    ) -> Record {
        let first = first.unwrap_or(seen.launched);
        let time = |(at, right): (&Option<Instant>, &bool)| {
            at.filter(|_| *right).map(|at| at.duration_since(first).as_secs_f64())
        };
        let seconds: Vec<f64> = done.iter().zip(right).filter_map(time).collect();
        let complete = seconds.len() == done.len();
        let wrong = seen.why.is_empty() && !complete;
        let late = Duration::from_secs_f64(seen.after.lateness.p99_ms / 1e3);
        let line = Duration::from_secs_f64(SEGMENT as f64 * 8.0 / self.cell.capacity as f64);
        let sent = |number: usize| {
            let count = |at: &Snapshot| at.nodes[number].sent;
            let (before, after) = (count(&seen.before), count(&seen.after));
            (after.bytes - before.bytes, after.packets - before.packets)
        };
        let all = (0..seen.after.nodes.len()).map(sent);
        Record {
            experiment: self.experiment.name.to_owned(),
            cell: self.cell.key.clone(),
            system: self.system.name().to_owned(),
            version: self.peer.version().to_owned(),
            repetition: self.repetition,
            seed: self.seed(),
            size: self.experiment.size,
            outcome: match (late > LATE_MAX.max(line) || seen.starved.is_over(line), complete) {
                (true, _) => Outcome::Void,
                (false, true) => Outcome::Complete,
                (false, false) => Outcome::Incomplete,
            },
            why: if wrong { "a file is not what was sent".to_owned() } else { seen.why.clone() },
            seconds: seconds.iter().map(|time| round(*time)).collect(),
            arrived: self.arrived(&seen.after),
            startup: round(first.duration_since(seen.launched).as_secs_f64()),
            bytes: all.clone().map(|(bytes, _)| bytes).sum(),
            packets: all.map(|(_, packets)| packets).sum(),
            sender_bytes: sent(0).0,
            queue_drops: seen.after.links.iter().map(|link| link.dropped).sum(),
            sender_cpu: used.cpu[0],
            receiver_cpu: round(used.cpu[1]),
            sender_memory: used.memory[0],
            receiver_memory: used.memory[1],
            late_ms: seen.after.lateness.p99_ms,
            starved_ms: round(seen.starved.p99.as_secs_f64()) * 1e3,
            starved_mean_ms: round(seen.starved.mean.as_secs_f64() * 1e3),
            when: SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs(),
        }
    }
}

/// Milliseconds and a half: more is noise.
fn round(seconds: f64) -> f64 {
    (seconds * 1e4).round() / 1e4
}

/// Waits for the first frame of data on the sender's cable.
fn first_data(lab: &Lab) -> JoinHandle<Option<Time>> {
    let frames = lab.handle().capture(0);
    thread::spawn(move || frames.iter().find(|frame| frame.frame.len() >= DATA_MIN).map(|f| f.at))
}
