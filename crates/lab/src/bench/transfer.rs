//! One file from one host to all others, by one system at one rate.
//!
//! Time begins when data has left the sender's host, seen at its cable's other end, and ends for a
//! receiver when its program shows that it has the file. The file's BLAKE3 is compared afterwards.

use super::{Cell, star};
use crate::{
    error::{LabError, Refusal},
    peer::{Peer, Sign, System, Task, program::Program},
    stop::Stop,
    wait::{self, Bell},
};
use rustix::fd::AsFd as _;
use serde::Serialize;
use std::{
    fs,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

/// Announcements, joins and requests before the data are less in all.
const DATA_MIN: u64 = 64 << 10;
/// How exactly the beginning is seen.
const BEGIN_LOOK: Duration = Duration::from_millis(2);
/// How often programs' time and memory are looked at.
const LOOK: Duration = Duration::from_millis(50);
/// For starting to listen on a busy machine.
const READY: Duration = Duration::from_secs(60);
/// Between the last sign of listening and the sender's start: sockets that follow it.
const SETTLE: Duration = Duration::from_millis(300);
/// A transfer slower than this is given up: a tenth of the slowest peer to ten receivers.
const SLOWEST: f64 = 10e6;
/// Beside that, for gathering receivers and for the end.
const BESIDE: Duration = Duration::from_secs(30);

/// One transfer, as it was.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Transfer {
    /// Who sent.
    pub system: &'static str,
    /// Receivers.
    pub receivers: usize,
    /// The rate that it was told, bit/s.
    pub rate_bps: u64,
    /// Bits of the file per second at the slowest receiver; zero when one did not get it.
    pub goodput_bps: f64,
    /// Seconds of processor per 10^9 bytes of file: sender, and mean of receivers.
    pub cpu_per_gb: [f64; 2],
    /// Most resident memory, bytes: sender, and largest of receivers.
    pub memory: [u64; 2],
    /// Why it is not complete.
    pub why: String,
}

/// A receiver and its file.
struct Receiving {
    program: Program,
    done: Sign,
    file: PathBuf,
}

/// Runs one.
pub(super) fn run(
    cell: &Cell<'_>,
    system: System,
    peer: &dyn Peer,
    rate: u64,
) -> Result<Transfer, LabError> {
    let directory = cell.scratch.join("transfer");
    let failed = |error: std::io::Error| LabError::system(directory.display(), &error);
    fs::create_dir_all(&directory).map_err(failed)?;
    let task = Task {
        source: source(cell.scratch, cell.bench.size).map_err(failed)?,
        receivers: cell.star.receivers().iter().map(|host| host.address()).collect(),
        capacity: rate,
        round_trip: Duration::ZERO,
        limit: Duration::from_secs_f64(cell.bench.size as f64 * 8.0 / SLOWEST) + BESIDE,
    };
    let bell = Arc::new(Bell::new().map_err(failed)?);
    let run = Run { cell, system, peer, task: &task, directory: &directory, bell };
    let transfer = run.run();
    fs::remove_dir_all(&directory).map_err(failed)?;
    transfer
}

/// Random bytes of one seed, made once.
fn source(scratch: &Path, size: u64) -> std::io::Result<PathBuf> {
    let path = scratch.join("payload.bin");
    if !path.exists() {
        let mut content = blake3::Hasher::new().finalize_xof();
        let mut file = fs::File::create(&path)?;
        std::io::copy(&mut std::io::Read::take(&mut content, size), &mut file)?;
    }
    Ok(path)
}

struct Run<'a> {
    cell: &'a Cell<'a>,
    system: System,
    peer: &'a dyn Peer,
    task: &'a Task,
    directory: &'a Path,
    bell: Arc<Bell>,
}

impl Run<'_> {
    fn run(&self) -> Result<Transfer, LabError> {
        let failed = |error: std::io::Error| LabError::system(self.directory.display(), &error);
        let mut receivers = self.start_receivers()?;
        self.cell.stop.wait(SETTLE);
        let over = AtomicBool::new(false);
        thread::scope(|scope| {
            let first = scope.spawn(|| self.cell.star.at_hub(|| first_data(&over)));
            let mut command = self.peer.send(self.cell.star.sender(), self.task);
            if self.system == System::Fanfare {
                command.args(&self.cell.bench.extra[0]);
            }
            let log = self.directory.join("sender.log");
            let begun = Instant::now();
            let started = Program::start(command, &log, &self.bell).map_err(failed);
            let seen = started.and_then(|mut sender| {
                let why = self.wait(&mut sender, &mut receivers)?;
                Ok((sender, why))
            });
            over.store(true, Ordering::SeqCst);
            let first = first.join().ok().and_then(Result::ok).flatten().unwrap_or(begun);
            let (mut sender, why) = seen?;
            let transfer = self.conclude(first, &sender, &receivers, why);
            sender.end();
            receivers.iter_mut().for_each(|each| each.program.end());
            Ok(transfer)
        })
    }

    fn start_receivers(&self) -> Result<Vec<Receiving>, LabError> {
        let mut receivers = Vec::new();
        for (number, host) in self.cell.star.receivers().iter().enumerate() {
            let directory = self.directory.join(number.to_string());
            let failed = |error: std::io::Error| LabError::system(directory.display(), &error);
            fs::create_dir_all(&directory).map_err(failed)?;
            let mut launch = self.peer.receive(host, number, self.task, &directory);
            if self.system == System::Fanfare {
                launch.command.args(&self.cell.bench.extra[1]);
            }
            let log = self.directory.join(format!("{number}.log"));
            let mut program = Program::start(launch.command, &log, &self.bell).map_err(failed)?;
            if self.peer.starts_in_turn() {
                self.wait_ready(&mut program, launch.ready)?;
            }
            receivers
                .push((Receiving { program, done: launch.done, file: launch.file }, launch.ready));
        }
        let waited = receivers.into_iter().map(|(mut receiver, ready)| {
            self.wait_ready(&mut receiver.program, ready)?;
            Ok(receiver)
        });
        waited.collect()
    }

    fn wait_ready(&self, program: &mut Program, ready: Sign) -> Result<(), LabError> {
        let deadline = Instant::now() + READY;
        while program.saw(ready).is_none() {
            program.notice().map_err(|error| LabError::system(self.system, &error))?;
            if program.code().is_some() || Instant::now() > deadline {
                let (system, why) = (self.system, program.last_line());
                let text = format!("{system} (receiver): does not listen ({why}). Run it by hand");
                return Err(LabError::new(Refusal::System, "lab.peer", text));
            }
            check(self.cell.stop)?;
            self.sleep(LOOK);
        }
        Ok(())
    }

    /// Until all have the file, or no longer will. Says why not.
    fn wait(&self, sender: &mut Program, receivers: &mut [Receiving]) -> Result<String, LabError> {
        let began = Instant::now();
        loop {
            let programs = receivers.iter_mut().map(|each| &mut each.program).chain([&mut *sender]);
            for program in programs {
                program.measure();
                program.notice().map_err(|error| LabError::system(self.system, &error))?;
            }
            check(self.cell.stop)?;
            if receivers.iter().all(|each| each.program.saw(each.done).is_some()) {
                return Ok(String::new());
            }
            if sender.code().is_some_and(|code| code != 0) {
                return Ok(format!("its sender failed: {}", sender.last_line()));
            }
            if let Some(one) = receivers.iter().find(|each| has_given_up(each)) {
                return Ok(format!("a receiver failed: {}", one.program.last_line()));
            }
            if began.elapsed() > self.task.limit {
                return Ok(format!("not within {} s", self.task.limit.as_secs()));
            }
            self.sleep(LOOK);
        }
    }

    /// Until one of them says something, or it is to stop. Lines are stamped where they are read.
    fn sleep(&self, longest: Duration) {
        wait::for_any(&[self.cell.stop.as_fd()], longest);
        self.bell.clear();
    }

    fn conclude(
        &self,
        first: Instant,
        sender: &Program,
        receivers: &[Receiving],
        mut why: String,
    ) -> Transfer {
        let expected = hash(&self.task.source);
        let right = |each: &Receiving| expected.is_some() && hash(&each.file) == expected;
        let time = |each: &Receiving| each.program.saw(each.done).map(|at| at - first);
        let slowest = receivers.iter().map(time).collect::<Option<Vec<Duration>>>();
        let slowest = slowest.and_then(|times| times.into_iter().max());
        if why.is_empty() && !receivers.iter().all(right) {
            "a file is not what was sent".clone_into(&mut why);
        }
        let (bits, gb) = (self.cell.bench.size as f64 * 8.0, self.cell.bench.size as f64 / 1e9);
        let usage: Vec<_> = receivers.iter().map(|each| each.program.usage()).collect();
        let mean = usage.iter().map(|each| each.cpu).sum::<f64>() / usage.len().max(1) as f64;
        Transfer {
            system: self.system.name(),
            receivers: receivers.len(),
            rate_bps: self.task.capacity,
            goodput_bps: slowest
                .filter(|_| why.is_empty())
                .map_or(0.0, |slowest| bits / slowest.as_secs_f64()),
            cpu_per_gb: [sender.usage().cpu / gb, mean / gb],
            memory: [
                sender.usage().memory,
                usage.iter().map(|each| each.memory).max().unwrap_or(0),
            ],
            why,
        }
    }
}

/// When data began to leave the sender's host.
fn first_data(over: &AtomicBool) -> Option<Instant> {
    let before = star::bytes_sent();
    while !over.load(Ordering::SeqCst) {
        if star::bytes_sent() - before >= DATA_MIN {
            return Some(Instant::now());
        }
        thread::sleep(BEGIN_LOOK);
    }
    None
}

fn has_given_up(each: &Receiving) -> bool {
    // Its last lines may still be in the pipe.
    let program = &each.program;
    program.code().is_some() && program.has_closed() && program.saw(each.done).is_none()
}

fn check(stop: &Stop) -> Result<(), LabError> {
    let text = "bench (): was interrupted. Run it again";
    let error = || LabError::new(Refusal::System, "lab.interrupted", text);
    if stop.is_set() { Err(error()) } else { Ok(()) }
}

fn hash(path: &Path) -> Option<blake3::Hash> {
    let mut hasher = blake3::Hasher::new();
    std::io::copy(&mut fs::File::open(path).ok()?, &mut hasher).ok()?;
    Some(hasher.finalize())
}
