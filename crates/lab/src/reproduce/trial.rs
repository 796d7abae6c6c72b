//! One transfer of one system over one network: when it began, when each receiver had the file, and
//! what it took.
//!
//! Time begins with the first packet of data that the sender's host puts on its cable, seen there
//! for every system alike; it ends for a receiver when its program shows that it has the file. The
//! file's BLAKE3 is compared afterwards.

use super::{
    experiment::{Cell, Experiment},
    record::{Outcome, Record},
};
use crate::{
    error::{LabError, Refusal},
    lab::Lab,
    peer::{Peer, SEGMENT, Sign, System, Task, program::Program},
    snapshot::{LinkCounts, Snapshot},
};
use fanfare_proto::Time;
use fanfare_sim::histogram::Histogram;
use std::{
    fs,
    path::{Path, PathBuf},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

/// Frames of at least so many bytes carry data: announcements, joins and requests are shorter.
const DATA_MIN: usize = 1000;
/// How often signs are looked for: what is sent meanwhile counts for the system.
const STEP: Duration = Duration::from_millis(2);
/// How often a program's time and memory are.
const LOOK: Duration = Duration::from_millis(100);
/// For starting to listen: a Java machine on a busy processor.
const READY: Duration = Duration::from_secs(60);
/// Between the last sign of listening and the sender's start: sockets that follow it, IGMP.
const SETTLE: Duration = Duration::from_millis(300);
/// After the sender's program has failed nothing more will come.
const GRACE: Duration = Duration::from_secs(3);
/// A run counts when one packet in a hundred was at most so late, or a packet's time on the line
/// where that is longer: lateness adds to delays, not to a line's rate.
const LATE_MAX: Duration = Duration::from_millis(2);

/// The same for programs of ordinary priority: what they are kept waiting they lose, whatever they
/// are. As long as a full packet takes where that is longer.
const STARVED_MAX: Duration = Duration::from_millis(5);

/// One at a time: members that start while others do take the processor from both.
static STARTING: Mutex<()> = Mutex::new(());

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
    pub(super) stop: &'a AtomicBool,
}

/// A receiver and its file.
struct Receiving {
    program: Program,
    done: Sign,
    file: PathBuf,
}

/// What was seen until the end.
struct Seen {
    launched: Instant,
    before: Snapshot,
    after: Snapshot,
    /// When each had the file.
    done: Vec<Option<Instant>>,
    why: String,
    /// How late our own short sleeps ended, 99th percentile.
    starved: Duration,
}

impl Trial<'_> {
    /// Runs it.
    ///
    /// # Errors
    /// When the lab fails or the user stops it; what the system does is in the record.
    pub(super) fn run(&self) -> Result<Record, LabError> {
        let failed = |error: std::io::Error| LabError::system(self.directory.display(), &error);
        fs::create_dir_all(self.directory).map_err(failed)?;
        let lab = Lab::up(&self.experiment.scenario(self.cell)?, self.seed())?;
        // The moment at which the lab's clock was zero.
        let zero = Instant::now() - lab.elapsed();
        let task = self.task(&lab);
        let content = self.content();
        fs::write(&task.source, &content).map_err(failed)?;
        let mut receivers = self.start_receivers(&lab, &task)?;
        thread::sleep(SETTLE);
        let first = first_data(&lab);
        let before = lab.snapshot()?;
        let launched = Instant::now();
        let command = self.peer.send(&lab.hosts()[0], &task);
        let mut sender =
            Program::start(command, &self.directory.join("sender.log")).map_err(failed)?;
        let (why, starved) = self.wait(&task, &mut sender, &mut receivers)?;
        let after = lab.snapshot()?;
        let done = receivers.iter().map(|each| each.program.saw(each.done)).collect();
        let seen = Seen { launched, before, after, done, why, starved };
        sender.end();
        receivers.iter_mut().for_each(|each| each.program.end());
        lab.down()?;
        let first =
            first.join().ok().flatten().map(|at| zero + Duration::from_nanos(at.as_nanos()));
        Ok(self.record(&seen, first, &sender, &receivers, &content))
    }

    fn seed(&self) -> u64 {
        let name = format!("{} {} {}", self.experiment.name, self.cell.key, self.repetition);
        let hash = blake3::hash(name.as_bytes());
        // 53 bits: JSON numbers hold them.
        hash.as_bytes()[..8].iter().fold(0, |seed, byte| seed << 8 | u64::from(*byte)) >> 11
    }

    /// Bytes that no system can make smaller.
    fn content(&self) -> Vec<u8> {
        let mut content = vec![0; self.experiment.size as usize];
        let mut hasher = blake3::Hasher::new();
        hasher.update(&self.seed().to_le_bytes());
        hasher.finalize_xof().fill(&mut content);
        content
    }

    fn task(&self, lab: &Lab) -> Task {
        let addresses: Vec<_> = lab.hosts().iter().map(|host| host.address()).collect();
        Task {
            source: self.directory.join("payload.bin"),
            receivers: addresses[1..].to_vec(),
            capacity: self.cell.capacity,
            round_trip: self.cell.delay * 2,
            limit: self.experiment.limit(self.cell),
        }
    }

    fn start_receivers(&self, lab: &Lab, task: &Task) -> Result<Vec<Receiving>, LabError> {
        let in_turn = self.peer.starts_in_turn();
        let _alone = in_turn.then(|| STARTING.lock().unwrap_or_else(PoisonError::into_inner));
        let mut receivers = Vec::new();
        let mut waiting = Vec::new();
        for (number, host) in lab.hosts()[1..].iter().enumerate() {
            let directory = self.directory.join(host.name());
            let failed = |error: std::io::Error| LabError::system(directory.display(), &error);
            fs::create_dir_all(&directory).map_err(failed)?;
            let launch = self.peer.receive(host, number, task, &directory);
            let log = self.directory.join(format!("{}.log", host.name()));
            let program = Program::start(launch.command, &log).map_err(failed)?;
            receivers.push(Receiving { program, done: launch.done, file: launch.file });
            waiting.push(launch.ready);
            if in_turn {
                self.wait_ready(&mut receivers, &waiting)?;
            }
        }
        self.wait_ready(&mut receivers, &waiting)?;
        Ok(receivers)
    }

    fn wait_ready(&self, receivers: &mut [Receiving], signs: &[Sign]) -> Result<(), LabError> {
        let deadline = Instant::now() + READY;
        for (receiver, sign) in receivers.iter_mut().zip(signs) {
            while receiver.program.saw(*sign).is_none() {
                receiver.program.look().map_err(|error| LabError::system(self.system, &error))?;
                if receiver.program.code().is_some() || Instant::now() > deadline {
                    let why = receiver.program.last_line();
                    let text = format!(
                        "{} (receiver): does not listen ({why}). Run it by hand in fanfare lab up",
                        self.system
                    );
                    return Err(LabError::new(Refusal::System, "lab.peer", text));
                }
                self.check_stop()?;
                thread::sleep(STEP);
            }
        }
        Ok(())
    }

    fn check_stop(&self) -> Result<(), LabError> {
        match self.stop.load(Ordering::SeqCst) {
            true => {
                let text = "reproduce (): was interrupted. The same command goes on with the rest";
                Err(LabError::new(Refusal::System, "lab.interrupted", text))
            }
            false => Ok(()),
        }
    }

    /// Until all have the file, or no longer will. Says why not, and how late our sleeps ended.
    fn wait(
        &self,
        task: &Task,
        sender: &mut Program,
        receivers: &mut [Receiving],
    ) -> Result<(String, Duration), LabError> {
        let began = Instant::now();
        let mut lateness = Histogram::default();
        let starved = |lateness: &Histogram| lateness.percentile(0.99);
        let (mut looked, mut failed) = (began, None);
        loop {
            if looked.elapsed() >= LOOK {
                looked = Instant::now();
                self.look(sender, receivers)?;
                if sender.code().is_some_and(|code| code != 0) {
                    failed.get_or_insert(looked);
                }
            }
            if receivers.iter_mut().all(has) {
                self.look(sender, receivers)?;
                return Ok((String::new(), starved(&lateness)));
            }
            self.check_stop()?;
            if failed.is_some_and(|at| at.elapsed() > GRACE) {
                let why = format!("its sender failed: {}", sender.last_line());
                return Ok((why, starved(&lateness)));
            }
            if let Some(one) = receivers.iter().find(|each| gave_up(each)) {
                let why = format!("a receiver failed: {}", one.program.last_line());
                return Ok((why, starved(&lateness)));
            }
            if began.elapsed() > task.limit {
                return Ok((format!("not within {} s", task.limit.as_secs()), starved(&lateness)));
            }
            let slept = Instant::now();
            thread::sleep(STEP);
            lateness.add(slept.elapsed().saturating_sub(STEP));
        }
    }

    fn look(&self, sender: &mut Program, receivers: &mut [Receiving]) -> Result<(), LabError> {
        let mut programs = receivers.iter_mut().map(|each| &mut each.program).chain([sender]);
        programs.try_for_each(Program::look).map_err(|error| LabError::system(self.system, &error))
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
        sender: &Program,
        receivers: &[Receiving],
        content: &[u8],
    ) -> Record {
        let expected = blake3::hash(content);
        let right = |each: &Receiving| {
            fs::read(&each.file).is_ok_and(|bytes| blake3::hash(&bytes) == expected)
        };
        let first = first.unwrap_or(seen.launched);
        let time = |(at, each): (&Option<Instant>, &Receiving)| {
            at.filter(|_| right(each)).map(|at| at.duration_since(first).as_secs_f64())
        };
        let seconds: Vec<f64> = seen.done.iter().zip(receivers).filter_map(time).collect();
        let complete = seconds.len() == receivers.len();
        let wrong = seen.why.is_empty() && !complete;
        let late = Duration::from_secs_f64(seen.after.lateness.p99_ms / 1e3);
        let line = Duration::from_secs_f64(SEGMENT as f64 * 8.0 / self.cell.capacity as f64);
        let sent = |number: usize| {
            let count = |at: &Snapshot| at.nodes[number].sent;
            let (before, after) = (count(&seen.before), count(&seen.after));
            (after.bytes - before.bytes, after.packets - before.packets)
        };
        let all = (0..seen.after.nodes.len()).map(sent);
        let usage: Vec<_> = receivers.iter().map(|each| each.program.usage()).collect();
        Record {
            experiment: self.experiment.name.to_owned(),
            cell: self.cell.key.clone(),
            system: self.system.name().to_owned(),
            version: self.peer.version().to_owned(),
            repetition: self.repetition,
            seed: self.seed(),
            outcome: match (
                late > LATE_MAX.max(line) || seen.starved > STARVED_MAX.max(line),
                complete,
            ) {
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
            sender_cpu: sender.usage().cpu,
            receiver_cpu: round(
                usage.iter().map(|each| each.cpu).sum::<f64>() / usage.len() as f64,
            ),
            sender_memory: sender.usage().memory,
            receiver_memory: usage.iter().map(|each| each.memory).max().unwrap_or(0),
            late_ms: seen.after.lateness.p99_ms,
            starved_ms: round(seen.starved.as_secs_f64()) * 1e3,
            when: SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs(),
        }
    }
}

/// Whether a receiver has the file, by its own sign.
fn has(each: &mut Receiving) -> bool {
    if each.done == Sign::Ending && each.program.has_closed() {
        // Its exit code is part of the sign. Failing to look shows in the next round.
        let _ = each.program.look();
    }
    each.program.saw(each.done).is_some()
}

fn gave_up(each: &Receiving) -> bool {
    // Its last lines may still be in the pipe.
    let program = &each.program;
    program.code().is_some() && program.has_closed() && program.saw(each.done).is_none()
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
