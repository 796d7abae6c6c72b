//! One transfer of one system over one network: when it began, when each receiver had the file, and
//! what it took.
//!
//! Time begins with the first packet of data that the sender's host puts on its cable, seen there
//! for every system alike; it ends for a receiver when its program shows that it has the file. The
//! file's BLAKE3 is compared afterwards.

use super::{
    experiment::{Cell, Experiment},
    pulse::Pulse,
    record::{Outcome, Record},
};
use crate::{
    error::{LabError, Refusal},
    lab::Lab,
    peer::{Peer, SEGMENT, Sign, System, Task, program::Program},
    snapshot::{LinkCounts, Snapshot},
    stop::Stop,
    wait::{self, Bell},
};
use fanfare_proto::Time;
use rustix::fd::AsFd as _;
use std::{
    fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    thread::{self, JoinHandle},
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

/// Frames of at least so many bytes carry data: announcements, joins and requests are shorter.
const DATA_MIN: usize = 1000;
/// How often programs' time and memory are looked at.
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
    pub(super) stop: &'a Stop,
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
        let bell = Bell::new().map_err(failed)?;
        let bell = Arc::new(bell);
        let mut receivers = self.start_receivers(&lab, &task, &bell)?;
        self.stop.wait(SETTLE);
        self.check_stop()?;
        let first = first_data(&lab);
        let before = lab.snapshot()?;
        let launched = Instant::now();
        let command = self.peer.send(&lab.hosts()[0], &task);
        let log = self.directory.join("sender.log");
        let mut sender = Program::start(command, &log, &bell).map_err(failed)?;
        let pulse = Pulse::start();
        let why = self.wait(&task, &bell, &mut sender, &mut receivers)?;
        let after = lab.snapshot()?;
        let starved = pulse.lateness();
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

    fn start_receivers(
        &self,
        lab: &Lab,
        task: &Task,
        bell: &Arc<Bell>,
    ) -> Result<Vec<Receiving>, LabError> {
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
            let program = Program::start(launch.command, &log, bell).map_err(failed)?;
            receivers.push(Receiving { program, done: launch.done, file: launch.file });
            waiting.push(launch.ready);
            if in_turn {
                self.wait_ready(&mut receivers, &waiting, bell)?;
            }
        }
        self.wait_ready(&mut receivers, &waiting, bell)?;
        Ok(receivers)
    }

    fn wait_ready(
        &self,
        receivers: &mut [Receiving],
        signs: &[Sign],
        bell: &Bell,
    ) -> Result<(), LabError> {
        let deadline = Instant::now() + READY;
        for (receiver, sign) in receivers.iter_mut().zip(signs) {
            while receiver.program.saw(*sign).is_none() {
                self.notice(&mut [&mut receiver.program])?;
                if receiver.program.code().is_some() || Instant::now() > deadline {
                    let why = receiver.program.last_line();
                    let text = format!(
                        "{} (receiver): does not listen ({why}). Run it by hand in fanfare lab up",
                        self.system
                    );
                    return Err(LabError::new(Refusal::System, "lab.peer", text));
                }
                self.check_stop()?;
                self.sleep(bell, &[&receiver.program], LOOK);
            }
        }
        Ok(())
    }

    fn check_stop(&self) -> Result<(), LabError> {
        match self.stop.is_set() {
            true => {
                let text = "reproduce (): was interrupted. The same command goes on with the rest";
                Err(LabError::new(Refusal::System, "lab.interrupted", text))
            }
            false => Ok(()),
        }
    }

    /// Until all have the file, or no longer will. Says why not.
    fn wait(
        &self,
        task: &Task,
        bell: &Bell,
        sender: &mut Program,
        receivers: &mut [Receiving],
    ) -> Result<String, LabError> {
        let began = Instant::now();
        let (mut looked, mut failed) = (began, None);
        loop {
            let mut programs: Vec<&mut Program> =
                receivers.iter_mut().map(|each| &mut each.program).chain([&mut *sender]).collect();
            self.notice(&mut programs)?;
            let complete = receivers.iter().all(has);
            if complete || looked.elapsed() >= LOOK {
                looked = Instant::now();
                receivers.iter_mut().for_each(|each| each.program.measure());
                sender.measure();
            }
            if complete {
                return Ok(String::new());
            }
            self.check_stop()?;
            if sender.code().is_some_and(|code| code != 0)
                && failed.get_or_insert_with(Instant::now).elapsed() > GRACE
            {
                return Ok(format!("its sender failed: {}", sender.last_line()));
            }
            if let Some(one) = receivers.iter().find(|each| gave_up(each)) {
                return Ok(format!("a receiver failed: {}", one.program.last_line()));
            }
            if began.elapsed() > task.limit {
                return Ok(format!("not within {} s", task.limit.as_secs()));
            }
            let programs: Vec<&Program> =
                receivers.iter().map(|each| &each.program).chain([&*sender]).collect();
            self.sleep(bell, &programs, LOOK.saturating_sub(looked.elapsed()));
        }
    }

    /// Until one of them says something or ends, or it is to stop; at most for so long.
    fn sleep(&self, bell: &Bell, programs: &[&Program], longest: Duration) {
        let mut waited = vec![bell.as_fd(), self.stop.as_fd()];
        waited.extend(programs.iter().filter_map(|program| program.ended()));
        wait::for_any(&waited, longest);
        bell.clear();
    }

    fn notice(&self, programs: &mut [&mut Program]) -> Result<(), LabError> {
        let mut noticed = programs.iter_mut().map(|program| program.notice());
        noticed.try_for_each(|done| done.map_err(|error| LabError::system(self.system, &error)))
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
            size: self.experiment.size,
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
fn has(each: &Receiving) -> bool {
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
