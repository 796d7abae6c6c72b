//! A program that runs on a host: started, watched, ended with all it has started itself.

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use std::{
    fs::{self, File},
    io,
    os::unix::process::{CommandExt as _, ExitStatusExt as _},
    path::Path,
    process::{Child, Command, Stdio},
};

/// `/proc/PID/stat` counts in these: USER_HZ, 100 on every Linux.
const TICKS_PER_SECOND: f64 = 100.0;

/// How a program has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// With this exit code.
    Code(i32),
    /// By this signal.
    Signal(i32),
}

/// A started program; killed, with its whole process group, when dropped.
#[derive(Debug)]
pub(crate) struct Process {
    child: Child,
    group: Option<Pid>,
    ended: bool,
}

impl Process {
    /// Starts it in a process group of its own, so that Ctrl-C reaches only us, and all that it
    /// starts ends with it. What it prints goes to these files.
    pub(crate) fn start(mut command: Command, stdout: &Path, stderr: &Path) -> io::Result<Self> {
        command
            .stdin(Stdio::null())
            .stdout(File::create(stdout)?)
            .stderr(File::create(stderr)?)
            .process_group(0);
        let child = command.spawn()?;
        let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        Ok(Self { child, group, ended: false })
    }

    /// How it has ended and the CPU time it took, seconds; `None` while it runs.
    pub(crate) fn try_end(&mut self) -> io::Result<Option<(Ending, f64)>> {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        let Some(pid) = self.group else { return Ok(None) };
        if waitid(WaitId::Pid(pid), options)?.is_none() {
            return Ok(None);
        }
        // It is a zombie now: its times can still be read.
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.child.id()));
        let cpu = stat.ok().and_then(|stat| cpu_seconds(&stat)).unwrap_or(0.0);
        let status = self.child.wait()?;
        self.ended = true;
        let signal = || Ending::Signal(status.signal().unwrap_or(0));
        Ok(Some((status.code().map_or_else(signal, Ending::Code), cpu)))
    }

    /// Sends a signal to it and to all it has started.
    pub(crate) fn signal(&self, signal: Signal) {
        if let Some(group) = self.group {
            // Already gone is fine.
            let _ = kill_process_group(group, signal);
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Also when it has ended by itself: what it has left behind goes, too.
        self.signal(Signal::KILL);
        if !self.ended {
            let _ = self.child.wait();
        }
    }
}

/// User and system time in `/proc/PID/stat`, its own and its children's.
fn cpu_seconds(stat: &str) -> Option<f64> {
    // The name, in parentheses, may contain anything.
    let fields = stat.rsplit_once(')')?.1;
    let ticks = fields.split_whitespace().skip(11).take(4).map(str::parse::<u64>);
    let ticks: Result<Vec<u64>, _> = ticks.collect();
    Some(ticks.ok()?.iter().sum::<u64>() as f64 / TICKS_PER_SECOND)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_times_of_a_process_are_its_own_and_its_childrens() {
        let stat = "77 (a) b) S 1 77 77 0 -1 0 1 2 3 4 100 50 30 20 20 0 1 0 5 6 7";
        assert_eq!(cpu_seconds(stat), Some(2.0));
        assert_eq!(cpu_seconds("nonsense"), None);
    }
}
