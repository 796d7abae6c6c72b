//! One file from one program to others: starts the receivers, then the sender, and watches all of
//! them until every receiver has the file, or cannot get it any more.

use super::{Peer, Sign, System, Task, program::Program};
use crate::{
    error::{LabError, Refusal},
    host::Host,
    stop::Stop,
    wait::{self, WakeEvent},
};
use rustix::fd::AsFd as _;
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

/// How often programs' time and memory are looked at.
const LOOK: Duration = Duration::from_millis(100);
/// For starting to listen: a Java machine on a busy processor.
const READY: Duration = Duration::from_secs(60);
/// Between the last sign of listening and the sender's start: sockets that follow it, IGMP.
const SETTLE: Duration = Duration::from_millis(300);
/// After the sender's program has failed nothing more will come.
const GRACE: Duration = Duration::from_secs(3);

/// One at a time: members that start while others do take the processor from both.
static STARTING: Mutex<()> = Mutex::new(());

/// Whom, what, and where.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Order<'a> {
    pub(crate) system: System,
    pub(crate) peer: &'a dyn Peer,
    pub(crate) task: &'a Task,
    /// For files and logs; a directory of its own.
    pub(crate) directory: &'a Path,
    pub(crate) stop: &'a Stop,
    /// What the user is told who stops it.
    pub(crate) interrupted: &'static str,
}

/// Programs that receive a file.
#[derive(Debug)]
pub(crate) struct Delivery<'a> {
    order: Order<'a>,
    wake_event: Arc<WakeEvent>,
    receivers: Vec<Receiving>,
}

/// A receiver and its file.
#[derive(Debug)]
struct Receiving {
    program: Program,
    done: Sign,
    file: PathBuf,
}

/// What programs have used.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Used {
    /// CPU seconds: sender, and mean of receivers.
    pub(crate) cpu: [f64; 2],
    /// Most resident memory, bytes: sender, and largest of receivers.
    pub(crate) memory: [u64; 2],
}

impl<'a> Delivery<'a> {
    /// Starts a receiver on each of `hosts`, with these options besides, and waits until all listen.
    pub(crate) fn to(
        order: Order<'a>,
        hosts: &[Host],
        options: &[String],
    ) -> Result<Self, LabError> {
        let failed = |error: std::io::Error| {
            LabError::system(format_args!("file ({})", order.directory.display()), &error)
        };
        let wake_event = Arc::new(WakeEvent::new().map_err(failed)?);
        let mut delivery = Self { order, wake_event, receivers: Vec::new() };
        delivery.start_receivers(hosts, options)?;
        order.stop.wait(SETTLE);
        delivery.check_stop()?;
        Ok(delivery)
    }

    /// Starts receivers on more hosts, and waits until all listen.
    pub(crate) fn join(&mut self, hosts: &[Host]) -> Result<(), LabError> {
        self.start_receivers(hosts, &[])
    }

    /// Asks the receiver that was started last to end, and sees to it.
    pub(crate) fn leave(&mut self) {
        if let Some(mut last) = self.receivers.pop() {
            last.program.end();
        }
    }

    fn start_receivers(&mut self, hosts: &[Host], options: &[String]) -> Result<(), LabError> {
        let Order { peer, task, directory, .. } = self.order;
        let in_turn = peer.starts_in_turn();
        let _alone = in_turn.then(|| STARTING.lock().unwrap_or_else(PoisonError::into_inner));
        let first = self.receivers.len();
        let mut waiting = Vec::new();
        for (number, host) in (first..).zip(hosts) {
            let directory = directory.join(host.name());
            let failed = |error: std::io::Error| {
                LabError::system(format_args!("file ({})", directory.display()), &error)
            };
            fs::create_dir_all(&directory).map_err(failed)?;
            let mut launch = peer.receive(host, number, task, &directory);
            launch.command.args(options);
            let program = self.start(launch.command, host.name())?;
            self.receivers.push(Receiving { program, done: launch.done, file: launch.file });
            waiting.push(launch.ready);
            if in_turn {
                self.wait_ready(first, &waiting)?;
            }
        }
        self.wait_ready(first, &waiting)
    }

    fn start(&self, command: Command, name: &str) -> Result<Program, LabError> {
        let log = self.order.directory.join(format!("{name}.log"));
        let failed = |error: std::io::Error| {
            LabError::system(format_args!("file ({})", log.display()), &error)
        };
        Program::start(command, &log, &self.wake_event).map_err(failed)
    }

    /// Until the receivers from this number on have given these signs.
    fn wait_ready(&mut self, first: usize, signs: &[Sign]) -> Result<(), LabError> {
        let deadline = Instant::now() + READY;
        for (number, sign) in (first..).zip(signs) {
            loop {
                let receiver = &mut self.receivers[number].program;
                notice(self.order.system, receiver)?;
                if receiver.saw(*sign).is_some() {
                    break;
                }
                if receiver.code().is_some() || Instant::now() > deadline {
                    let (system, why) = (self.order.system, receiver.last_line());
                    let text = format!(
                        "{system} (receiver): does not listen ({why}). Run it by hand in fanfare \
                         lab up"
                    );
                    return Err(LabError::new(Refusal::System, "lab.peer", text));
                }
                self.check_stop()?;
                self.sleep(&[&self.receivers[number].program], LOOK);
            }
        }
        Ok(())
    }

    fn check_stop(&self) -> Result<(), LabError> {
        let error =
            || LabError::new(Refusal::System, "lab.interrupted", self.order.interrupted.to_owned());
        if self.order.stop.is_set() { Err(error()) } else { Ok(()) }
    }

    /// Starts the sender on `host`, with these options besides.
    pub(crate) fn send(&self, host: &Host, options: &[String]) -> Result<Program, LabError> {
        let mut command = self.order.peer.send(host, self.order.task);
        command.args(options);
        self.start(command, "sender")
    }

    /// Until all have the file, or no longer will. Says why not.
    pub(crate) fn wait(&mut self, sender: &mut Program) -> Result<String, LabError> {
        let began = Instant::now();
        let (mut looked, mut failed) = (began, None);
        loop {
            let programs = self.receivers.iter_mut().map(|each| &mut each.program);
            for program in programs.chain([&mut *sender]) {
                notice(self.order.system, program)?;
            }
            let complete = self.receivers.iter().all(Receiving::has);
            if complete || looked.elapsed() >= LOOK {
                looked = Instant::now();
                self.receivers.iter_mut().for_each(|each| each.program.measure());
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
            if let Some(one) = self.receivers.iter().find(|each| each.gave_up()) {
                return Ok(format!("a receiver failed: {}", one.program.last_line()));
            }
            if began.elapsed() > self.order.task.limit {
                return Ok(format!("not within {} s", self.order.task.limit.as_secs()));
            }
            let programs: Vec<&Program> =
                self.receivers.iter().map(|each| &each.program).chain([&*sender]).collect();
            self.sleep(&programs, LOOK.saturating_sub(looked.elapsed()));
        }
    }

    /// Until the sender's program has ended, too. Says why it failed.
    pub(crate) fn wait_for_sender(&self, sender: &mut Program) -> Result<String, LabError> {
        let began = Instant::now();
        loop {
            notice(self.order.system, sender)?;
            match sender.code().filter(|_| sender.has_closed()) {
                Some(0) => return Ok(String::new()),
                Some(_) => return Ok(format!("its sender failed: {}", sender.last_line())),
                None => self.check_stop()?,
            }
            if began.elapsed() > self.order.task.limit {
                return Ok(format!(
                    "its sender did not end within {} s",
                    self.order.task.limit.as_secs()
                ));
            }
            self.sleep(&[&*sender], LOOK);
        }
    }

    /// Lets all of it go on until then, or until its sender has ended.
    pub(crate) fn go_on(&self, sender: &mut Program, until: Instant) -> Result<(), LabError> {
        loop {
            notice(self.order.system, sender)?;
            self.check_stop()?;
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() || sender.code().is_some() {
                return Ok(());
            }
            self.sleep(&[&*sender], left);
        }
    }

    /// Until one of them says something or ends, or it is to stop; at most for so long.
    fn sleep(&self, programs: &[&Program], longest: Duration) {
        let mut waited = vec![self.wake_event.as_fd(), self.order.stop.as_fd()];
        waited.extend(programs.iter().filter_map(|program| program.ended()));
        wait::for_any(&waited, longest);
        self.wake_event.clear();
    }

    /// When each has shown that it has the file.
    pub(crate) fn done(&self) -> Vec<Option<Instant>> {
        self.receivers.iter().map(|each| each.program.saw(each.done)).collect()
    }
    /// Whether the file of each is the one that was sent.
    pub(crate) fn right(&self, sent: blake3::Hash) -> Vec<bool> {
        let is_right = |each: &Receiving| hash(&each.file).is_ok_and(|got| got == sent);
        self.receivers.iter().map(is_right).collect()
    }
    /// Bytes of the file of each, so far.
    pub(crate) fn lengths(&self) -> Vec<u64> {
        let length = |each: &Receiving| fs::metadata(&each.file).map_or(0, |file| file.len());
        self.receivers.iter().map(length).collect()
    }
    /// What all have used, as it was seen last.
    pub(crate) fn used(&self, sender: &Program) -> Used {
        let receivers: Vec<_> = self.receivers.iter().map(|each| each.program.usage()).collect();
        let cpu = receivers.iter().map(|each| each.cpu).sum::<f64>();
        let memory = receivers.iter().map(|each| each.memory).max().unwrap_or(0);
        Used {
            cpu: [sender.usage().cpu, cpu / receivers.len().max(1) as f64],
            memory: [sender.usage().memory, memory],
        }
    }
    /// Asks all to end, and sees to it.
    pub(crate) fn end(&mut self, sender: &mut Program) {
        sender.end();
        self.receivers.iter_mut().for_each(|each| each.program.end());
    }
}

impl Receiving {
    /// Whether it has the file, by its own sign.
    fn has(&self) -> bool {
        self.program.saw(self.done).is_some()
    }
    fn gave_up(&self) -> bool {
        // Its last lines may still be in the pipe.
        self.program.code().is_some() && self.program.has_closed() && !self.has()
    }
}

fn notice(system: System, program: &mut Program) -> Result<(), LabError> {
    program.notice().map_err(|error| LabError::system(format_args!("system ({system})"), &error))
}

/// BLAKE3 of a file.
pub(crate) fn hash(path: &Path) -> std::io::Result<blake3::Hash> {
    Ok(blake3::Hasher::new().update_reader(fs::File::open(path)?)?.finalize())
}
