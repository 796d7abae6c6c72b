//! All trials of an experiment, as many at a time as the machine can run.

use super::{
    experiment::{Cell, Experiment},
    record::{Outcome, Record, RecordFile},
    table::{self, Point},
    trial::Trial,
};
use crate::{
    error::{LabError, Refusal},
    peer::{Peer, System},
    stop::Stop,
    system::privileges,
    system::scratch::Scratch,
    trials::{self, Trials},
};
use std::{
    fs,
    ops::Range,
    panic::{self, AssertUnwindSafe},
    path::{Path, PathBuf},
    sync::{Condvar, Mutex, PoisonError},
    thread,
};

/// What the links of all trials together may carry, bit/s, unless one alone is faster: two cores
/// carry many times that, and a tenth of it leaves no trial waiting for the processor.
const RATE_BUDGET: u64 = 24_000_000;
/// Share of the free memory that programs may take.
const MEMORY_SHARE: u64 = 2;
/// Trials that the machine made void are run again so often.
const ATTEMPTS: u32 = 3;

/// What is to be measured.
#[derive(Debug, Clone)]
pub struct Campaign {
    /// Which table.
    pub experiment: Experiment,
    /// Whom.
    pub systems: Vec<System>,
    /// Whether a system that is not installed is left out instead of refused.
    pub leave_out_missing: bool,
    /// Which cells.
    pub cells: Vec<Cell>,
    /// Numbers of the repetitions; each has other losses.
    pub repetitions: Range<u32>,
    /// How they are run.
    pub trials: Trials,
}

/// What a campaign tells while it runs.
#[derive(Debug)]
pub enum Progress<'a> {
    /// A system is left out: why.
    Missing(System, &'a LabError),
    /// Trials that are to be run, and those that have been before.
    Planned(usize, usize),
    /// A trial has ended.
    Ended(&'a Record, f64),
}

/// What a campaign leaves.
#[derive(Debug)]
pub struct Measured {
    /// All trials of the directory.
    pub records: Vec<Record>,
    /// Of the present versions, what can be drawn.
    pub points: Vec<Point>,
}

/// A system that can be run.
type Prepared = (System, Box<dyn Peer>);

/// A trial that waits.
#[derive(Debug, Clone)]
struct Job {
    system: System,
    cell: Cell,
    repetition: u32,
    attempt: u32,
}

/// What all workers share.
struct Shared<'a> {
    jobs: Vec<Job>,
    record_file: RecordFile,
    rate: u64,
    running: usize,
    number: usize,
    failure: Option<LabError>,
    tell: &'a mut (dyn FnMut(&Progress<'_>) + Send),
}

impl Campaign {
    /// Where files of a trial are: in memory, if there is such a place.
    pub(crate) fn scratch_base() -> PathBuf {
        let memory = Path::new("/dev/shm");
        if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() }
    }

    /// Runs what has not been run, and writes the tables.
    ///
    /// # Errors
    /// When the lab cannot be, a named system is missing, or `stop` was set.
    pub fn run(
        &self,
        stop: &Stop,
        tell: &mut (dyn FnMut(&Progress<'_>) + Send),
    ) -> Result<Measured, LabError> {
        privileges::check()?;
        let peers = self.prepare(tell)?;
        let record_file = RecordFile::open(&self.trials.out)?;
        let all = self.jobs(&peers);
        let count = all.len();
        let jobs: Vec<Job> =
            all.into_iter().filter(|job| !self.is_done(&record_file, &peers, job)).collect();
        tell(&Progress::Planned(jobs.len(), count - jobs.len()));
        let scratch = Scratch::make(&Self::scratch_base())?;
        scratch.check_room(self.experiment.size, self.experiment.receivers)?;
        let shared =
            Shared { jobs, record_file, rate: 0, running: 0, number: 0, failure: None, tell };
        let (shared, wake) = (Mutex::new(shared), Condvar::new());
        let work = Work {
            campaign: self,
            peers: &peers,
            shared: &shared,
            wake: &wake,
            scratch: scratch.path(),
            stop,
        };
        thread::scope(|scope| {
            for _ in 0..self.trials.jobs() {
                scope.spawn(|| work.run());
            }
        });
        drop(scratch);
        let shared = shared.into_inner().unwrap_or_else(PoisonError::into_inner);
        let versions: Vec<_> =
            peers.iter().map(|(system, peer)| (*system, peer.version())).collect();
        let records = shared.record_file.records().to_vec();
        // Tables of what there is, also where the trials ended early: why they did is told first.
        let points = table::write(&self.experiment, &versions, &records, &self.trials.out);
        match shared.failure {
            Some(failure) => Err(failure),
            None => Ok(Measured { records, points: points? }),
        }
    }

    fn prepare(&self, tell: &mut dyn FnMut(&Progress<'_>)) -> Result<Vec<Prepared>, LabError> {
        let tools = self.trials.tools();
        trials::available(
            &self.systems,
            |system| system.prepare(&tools),
            |_| self.leave_out_missing,
            |system, error| tell(&Progress::Missing(system, error)),
        )
    }

    /// All systems of a cell one after another, so that they meet the same hour.
    fn jobs(&self, peers: &[Prepared]) -> Vec<Job> {
        let mut jobs = Vec::new();
        for repetition in self.repetitions.clone() {
            for cell in &self.cells {
                jobs.extend(peers.iter().map(|(system, _)| Job {
                    system: *system,
                    cell: cell.clone(),
                    repetition,
                    attempt: 0,
                }));
            }
        }
        jobs
    }

    fn is_done(&self, record_file: &RecordFile, peers: &[Prepared], job: &Job) -> bool {
        let version = peers.iter().find(|(system, _)| *system == job.system);
        let version = version.map_or("", |(_, peer)| peer.version());
        record_file.has(&self.experiment, &job.cell.key, (job.system, version, job.repetition))
    }

    /// What a trial takes of the budgets: rate and memory.
    fn cost(&self, job: &Job) -> (u64, u64) {
        let receivers = self.experiment.receivers as u64;
        (job.cell.capacity * receivers, job.system.memory() * (receivers + 1))
    }
}

/// What a worker needs.
struct Work<'a, 'b> {
    campaign: &'a Campaign,
    peers: &'a [Prepared],
    shared: &'a Mutex<Shared<'b>>,
    wake: &'a Condvar,
    scratch: &'a Path,
    stop: &'a Stop,
}

impl Work<'_, '_> {
    /// One worker: trials until none is left.
    fn run(&self) {
        while let Some((job, number)) = self.take() {
            let directory = self.scratch.join(number.to_string());
            // A panic is told as what ended the campaign: others wait for this one's end.
            let result = panic::catch_unwind(AssertUnwindSafe(|| self.trial(&job, &directory)))
                .unwrap_or_else(|_| Err(panicked(&job)));
            self.keep_logs(&job, &directory, &result);
            let _ = fs::remove_dir_all(&directory);
            self.give_back(job, result);
        }
    }

    /// The first job that fits beside what runs.
    fn take(&self) -> Option<(Job, usize)> {
        let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if shared.failure.is_some() || (shared.jobs.is_empty() && shared.running == 0) {
                return None;
            }
            let memory_budget = free_memory() / MEMORY_SHARE;
            let fits = |job: &Job| {
                let (rate, memory) = self.campaign.cost(job);
                // What runs has taken its memory already, so that only what is new must be free.
                shared.running == 0
                    || (shared.rate + rate <= RATE_BUDGET && memory <= memory_budget)
            };
            if let Some(at) = shared.jobs.iter().position(fits) {
                let job = shared.jobs.remove(at);
                shared.rate += self.campaign.cost(&job).0;
                shared.running += 1;
                shared.number += 1;
                return Some((job, shared.number));
            }
            shared = self.wake.wait(shared).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn trial(&self, job: &Job, directory: &Path) -> Result<Record, LabError> {
        let found = self.peers.iter().find(|(system, _)| *system == job.system);
        let Some((_, peer)) = found else {
            let text = format!("system ({}): was not prepared. Report this", job.system);
            return Err(LabError::new(Refusal::System, "lab.peer", text));
        };
        let trial = Trial {
            experiment: &self.campaign.experiment,
            cell: &job.cell,
            system: job.system,
            peer: &**peer,
            repetition: job.repetition,
            directory,
            stop: self.stop,
        };
        trial.run()
    }

    fn give_back(&self, job: Job, result: Result<Record, LabError>) {
        let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        shared.rate -= self.campaign.cost(&job).0;
        shared.running -= 1;
        let kept = result.and_then(|record| {
            let bound = self.campaign.experiment.bound(&job.cell);
            (shared.tell)(&Progress::Ended(&record, bound));
            if record.outcome == Outcome::Void && job.attempt + 1 < ATTEMPTS {
                shared.jobs.push(Job { attempt: job.attempt + 1, ..job });
            }
            shared.record_file.add(record)
        });
        if let Err(error) = kept {
            shared.failure.get_or_insert(error);
        }
        drop(shared);
        self.wake.notify_all();
    }

    /// What the programs of an unsuccessful trial said stays beside the records.
    fn keep_logs(&self, job: &Job, directory: &Path, result: &Result<Record, LabError>) {
        let complete = result.as_ref().is_ok_and(|record| record.outcome == Outcome::Complete);
        // What the user stops has not failed.
        if complete || self.stop.is_set() {
            return;
        }
        let name = format!("{}-{}-{}", job.cell.key.replace(':', "-"), job.system, job.repetition);
        let place = self.campaign.trials.out.join("logs").join(name);
        let logs = fs::read_dir(directory).into_iter().flatten().flatten();
        for log in logs.filter(|log| log.path().extension().is_some_and(|kind| kind == "log")) {
            // Only for a person: no reason to stop.
            let _ = fs::create_dir_all(&place);
            let _ = fs::copy(log.path(), place.join(log.file_name()));
        }
    }
}

fn panicked(job: &Job) -> LabError {
    let text = format!(
        "trial ({} {} {}): panicked, see the message above. Report this",
        job.cell.key, job.system, job.repetition
    );
    LabError::new(Refusal::System, "lab.panic", text)
}

/// `MemAvailable`, bytes.
fn free_memory() -> u64 {
    let text = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:")).unwrap_or("");
    line.split_whitespace().next().and_then(|kib| kib.parse::<u64>().ok()).unwrap_or(0) * 1024
}
