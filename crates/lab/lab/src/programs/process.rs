//! A program that runs on a host: starts it, watches it, and ends it with everything that it
//! started.

use rustix::{
    fd::{AsFd, BorrowedFd, OwnedFd},
    process::{
        Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, kill_process_group, pidfd_open, waitid,
    },
};
use std::{
    fs, io,
    os::unix::process::{CommandExt as _, ExitStatusExt as _},
    process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, Stdio},
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

/// What a program has used.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Usage {
    /// User and system time, its own and its ended children's, seconds.
    pub cpu: f64,
    /// The most memory that was resident, bytes.
    pub memory: u64,
}

/// A started program; killed, with its whole process group, when dropped.
#[derive(Debug)]
pub struct Process {
    child: Child,
    group: Pid,
    /// Can be read once it has ended.
    end: OwnedFd,
    usage: Usage,
    ending: Option<Ending>,
}

impl Process {
    /// Starts it in a process group of its own, so that Ctrl-C reaches only us, and all that it
    /// starts ends with it.
    pub fn start(
        command: Command,
        stdout: impl Into<Stdio>,
        stderr: impl Into<Stdio>,
    ) -> io::Result<Self> {
        Self::start_from(command, Stdio::null(), stdout, stderr)
    }
    /// The same with an input, which [`Self::input`] gives.
    pub fn start_with_input(
        command: Command,
        stdout: impl Into<Stdio>,
        stderr: impl Into<Stdio>,
    ) -> io::Result<Self> {
        Self::start_from(command, Stdio::piped(), stdout, stderr)
    }

    /// The same with this input.
    pub fn start_from(
        mut command: Command,
        stdin: impl Into<Stdio>,
        stdout: impl Into<Stdio>,
        stderr: impl Into<Stdio>,
    ) -> io::Result<Self> {
        command.stdin(stdin).stdout(stdout).stderr(stderr).process_group(0);
        let mut child = command.spawn()?;
        let group = Pid::from_child(&child);
        match pidfd_open(group, PidfdFlags::empty()) {
            Ok(end) => Ok(Self { child, group, end, usage: Usage::default(), ending: None }),
            Err(error) => {
                // Nobody would see it end. Already gone is fine.
                let _ = child.kill();
                child.wait()?;
                Err(error.into())
            }
        }
    }
    /// Its outputs, where they are pipes and have not been taken.
    pub fn outputs(&mut self) -> (Option<ChildStdout>, Option<ChildStderr>) {
        (self.child.stdout.take(), self.child.stderr.take())
    }

    /// Its input, if it has one and it has not been taken.
    pub fn input(&mut self) -> Option<ChildStdin> {
        self.child.stdin.take()
    }

    /// Can be read when it has ended and nobody has seen it yet: what to wait for.
    pub fn end(&self) -> Option<BorrowedFd<'_>> {
        self.ending.is_none().then(|| self.end.as_fd())
    }
    /// How it has ended; `None` while it runs.
    pub fn try_end(&mut self) -> io::Result<Option<Ending>> {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        if self.ending.is_none() && waitid(WaitId::Pid(self.group), options)?.is_some() {
            // It is a zombie now: its times can still be read.
            self.measure();
            let status = self.child.wait()?;
            let signal = || Ending::Signal(status.signal().unwrap_or(0));
            self.ending = Some(status.code().map_or_else(signal, Ending::Code));
        }
        Ok(self.ending)
    }

    /// Looks what it has used. To be called now and then: the memory of a program that has ended
    /// can no longer be read.
    pub fn measure(&mut self) {
        if self.ending.is_some() {
            return;
        }
        let read = |name| fs::read_to_string(format!("/proc/{}/{name}", self.child.id()));
        if let Some(cpu) = read("stat").ok().and_then(|stat| cpu_seconds(&stat)) {
            self.usage.cpu = cpu;
        }
        if let Some(memory) = read("status").ok().and_then(|status| peak_memory(&status)) {
            self.usage.memory = memory;
        }
    }
    /// What it and all in its group use that runs now: a server that a script starts is the script's child.
    pub fn usage_of_group(&self) -> Usage {
        let group = self.group.as_raw_nonzero().to_string();
        let of = |entry: fs::DirEntry| {
            let read = |name| fs::read_to_string(entry.path().join(name)).ok();
            let stat = read("stat")?;
            // State and parent are before it.
            let fields = stat.rsplit_once(')')?.1;
            let is_of = fields.split_whitespace().nth(2) == Some(&group);
            let memory = || read("status").as_deref().and_then(peak_memory).unwrap_or(0);
            is_of.then(|| (cpu_seconds(&stat).unwrap_or(0.0), memory()))
        };
        let all = fs::read_dir("/proc").into_iter().flatten().flatten().filter_map(of);
        all.fold(Usage::default(), |sum, (cpu, memory)| Usage {
            cpu: sum.cpu + cpu,
            memory: sum.memory + memory,
        })
    }
    /// What it had used when that was looked for last.
    pub fn usage(&self) -> Usage {
        self.usage
    }

    /// Sends a signal to it and to all it has started.
    pub fn signal(&self, signal: Signal) {
        // Already gone is fine.
        let _ = kill_process_group(self.group, signal);
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Also when it has ended by itself: what it has left behind goes, too.
        self.signal(Signal::KILL);
        if self.ending.is_none() {
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

/// `VmHWM` in `/proc/PID/status`, which is in kB and of this program alone, not of what it was
/// forked from as in rusage.
fn peak_memory(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.split_whitespace().next()?.parse::<u64>().ok().map(|kib| kib * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::programs::wait;
    use std::time::Duration;

    #[test]
    fn times_and_memory_are_found_in_what_the_kernel_prints() {
        let stat = "77 (a) b) S 1 77 77 0 -1 0 1 2 3 4 100 50 30 20 20 0 1 0 5 6 7";
        assert_eq!(cpu_seconds(stat), Some(2.0));
        assert_eq!(cpu_seconds("nonsense"), None);
        assert_eq!(peak_memory("VmPeak:  9 kB\nVmHWM:\t  1024 kB\n"), Some(1 << 20));
        assert_eq!(peak_memory("nothing"), None);
    }

    #[test]
    fn what_a_script_has_started_counts_for_its_group() {
        let mut command = Command::new("sh");
        command.args(["-c", "sleep 60 & sleep 60 & echo up; wait"]);
        let mut process = Process::start(command, Stdio::piped(), Stdio::null()).unwrap();
        let (output, _) = process.outputs();
        io::BufRead::read_line(&mut io::BufReader::new(output.unwrap()), &mut String::new())
            .unwrap();
        process.measure();
        let (alone, all) = (process.usage().memory, process.usage_of_group().memory);
        assert!(alone > 0 && all > alone, "{alone} {all}");
    }

    #[test]
    fn the_end_of_a_program_wakes_who_waits_for_it() {
        let mut command = Command::new("sh");
        command.args(["-c", "exit 3"]);
        let mut process = Process::start(command, Stdio::null(), Stdio::null()).unwrap();
        wait::for_any(&[process.end().unwrap()], Duration::from_secs(60));
        assert_eq!(process.try_end().unwrap(), Some(Ending::Code(3)));
        assert!(process.end().is_none());
    }
}
