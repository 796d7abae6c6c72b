//! What is done to machines, and when it shows.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    thread,
    time::{Duration, Instant},
};

use fanfare_command::{Exit, Failure};
use fanfare_lab::Stop;
use rustix::{
    net::sockopt,
    process::{Pid, PidfdFlags, PidfdGetfdFlags, Signal, kill_process, pidfd_getfd, pidfd_open},
};

use crate::ending::failure;

/// What it is called among experiments.
pub(in super::super) const NAME: &str = "imaging";

/// A kind: what the page calls it, and how the terminal's sentence begins or ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Lossy,
    Slow,
    Full,
}

pub(super) const KINDS: [Kind; 3] = [Kind::Lossy, Kind::Slow, Kind::Full];

impl Kind {
    pub(super) fn cause(self) -> &'static str {
        match self {
            Self::Lossy => "lossy-path",
            Self::Slow => "slow-machine",
            Self::Full => "disk-full",
        }
    }
    /// Which of the machines.
    pub(super) fn machine(self) -> &'static str {
        match self {
            Self::Lossy => "pc2",
            Self::Slow => "pc5",
            Self::Full => "pc7",
        }
    }
    /// What a terminal shows.
    pub(super) fn sentence(self) -> String {
        let machine = self.machine();
        match self {
            Self::Lossy => format!("the path to {machine} loses"),
            Self::Slow => format!("{machine} is a slow machine"),
            Self::Full => format!("the disk of {machine} is full"),
        }
    }
}

/// A slow machine runs for a part of each span, and its system keeps no more than so many bytes of packets
/// for it.
const STOPS: Duration = Duration::from_millis(1200);
const RUNS: Duration = Duration::from_millis(150);
const BUFFER: usize = 65_536;

/// A program that gets its processor now and then, until it is dropped.
#[derive(Debug)]
pub(super) struct Slowed {
    done: Stop,
    thread: Option<thread::JoinHandle<()>>,
}

impl Slowed {
    pub(super) fn start(process: u32) -> Result<Self, Failure> {
        shrink(process);
        let done = Stop::new().map_err(|error| failure(&error))?;
        let told = done.clone();
        let thread = thread::spawn(move || {
            let pid = i32::try_from(process).ok().and_then(Pid::from_raw);
            let signal = |signal| {
                if let Some(pid) = pid {
                    // One that has gone is slow for ever.
                    let _ = kill_process(pid, signal);
                }
            };
            while !told.wait(RUNS) {
                signal(Signal::STOP);
                told.wait(STOPS);
                signal(Signal::CONT);
            }
        });
        Ok(Self { done, thread: Some(thread) })
    }
}

impl Drop for Slowed {
    fn drop(&mut self) {
        self.done.set();
        self.thread.take().map(thread::JoinHandle::join);
    }
}

/// Receive buffers of a program's sockets become as small as those of a small machine.
fn shrink(process: u32) {
    let Some(pid) = i32::try_from(process).ok().and_then(Pid::from_raw) else { return };
    let Ok(program) = pidfd_open(pid, PidfdFlags::empty()) else { return };
    for entry in fs::read_dir(format!("/proc/{process}/fd")).into_iter().flatten().flatten() {
        let is_socket = fs::read_link(entry.path())
            .is_ok_and(|link| link.to_string_lossy().starts_with("socket:"));
        let number = entry.file_name().to_string_lossy().parse::<i32>();
        if let (true, Ok(number)) = (is_socket, number)
            && let Ok(socket) = pidfd_getfd(&program, number, PidfdGetfdFlags::empty())
        {
            // One that is no socket of the network has none.
            let _ = sockopt::set_socket_recv_buffer_size(&socket, BUFFER);
        }
    }
}

/// Datagrams that a system dropped because a program did not take them, by `/proc/PID/net/udp`.
pub(super) fn overruns(process: u32) -> u64 {
    drops(&fs::read_to_string(format!("/proc/{process}/net/udp")).unwrap_or_default())
}

fn drops(table: &str) -> u64 {
    let last = |line: &str| line.split_whitespace().last()?.parse::<u64>().ok();
    table.lines().skip(1).filter_map(last).sum()
}

/// A disk of so many bytes, in memory; gone when it is dropped.
#[derive(Debug)]
pub(super) struct SmallDisk(PathBuf);

impl SmallDisk {
    pub(super) fn mount(at: &Path, bytes: u64) -> Result<Self, Failure> {
        let mut command = Command::new("mount");
        command.args(["-t", "tmpfs", "-o", &format!("size={bytes}"), "fanfare-imaging"]).arg(at);
        let done = command.status().is_ok_and(|status| status.success());
        done.then(|| Self(at.to_owned())).ok_or_else(|| {
            let text = format!("disk ({}): tmpfs cannot be mounted", at.display());
            Failure::new(Exit::Resource, "lab.disk", text)
        })
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // Who still has a file there is about to end.
        let end = Instant::now() + Duration::from_secs(5);
        while !Command::new("umount").arg(&self.0).status().is_ok_and(|status| status.success())
            && Instant::now() < end
        {
            thread::sleep(Duration::from_millis(100));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drops_of_all_sockets_are_summed() {
        let table = "  sl  local_address drops\n 1: 0:0 0:0 07 3\n 2: 0:0 0:0 07 4\n";
        assert_eq!((drops(table), drops("")), (7, 0));
        assert!(KINDS.iter().all(|kind| kind.sentence().contains(kind.machine())));
    }
}
