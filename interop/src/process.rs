//! A program running in a host: its output lines, its end.

use std::fs;
use std::io::{BufRead as _, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::tool::{self, ToolError};

const POLL: Duration = Duration::from_millis(10);

/// A started program; killed when dropped.
#[derive(Debug)]
pub struct Process {
    label: String,
    child: Child,
    lines: Arc<Mutex<Vec<String>>>,
    readers: Vec<JoinHandle<()>>,
    stderr: Arc<Mutex<Vec<String>>>,
}

impl Process {
    /// Starts `command`; `label` names it in messages.
    ///
    /// # Errors
    /// When the program can't be started.
    pub fn start(label: impl Into<String>, mut command: Command) -> Result<Self, ToolError> {
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|e| tool::not_started(&command.get_program().to_string_lossy(), e))?;
        let (lines, stderr) = (Arc::default(), Arc::default());
        let mut readers = Vec::new();
        readers.extend(child.stdout.take().map(|pipe| collect(pipe, Arc::clone(&lines))));
        readers.extend(child.stderr.take().map(|pipe| collect(pipe, Arc::clone(&stderr))));
        Ok(Self { label: label.into(), child, lines, readers, stderr })
    }

    /// Its name in messages.
    pub fn label(&self) -> &str {
        &self.label
    }

    /// Whether a JSON line with this `event` has been printed.
    pub fn has_event(&self, event: &str) -> bool {
        self.events().iter().any(|value| value["event"] == event)
    }

    /// The JSON lines printed so far; other lines are left out.
    pub fn events(&self) -> Vec<Value> {
        let lines = self.lines.lock().unwrap_or_else(|e| e.into_inner());
        lines.iter().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    /// The last line of its standard error, for a message.
    pub fn last_words(&self) -> String {
        let lines = self.stderr.lock().unwrap_or_else(|e| e.into_inner());
        lines.iter().rev().find(|l| !l.trim().is_empty()).cloned().unwrap_or_default()
    }

    /// Writes everything it printed to `stem.out` and `stem.err`.
    pub fn save(&self, stem: &Path) {
        for (lines, suffix) in [(&self.lines, "out"), (&self.stderr, "err")] {
            let text = lines.lock().unwrap_or_else(|e| e.into_inner()).join("\n");
            // Only for a person who looks afterwards; a full disk shows elsewhere.
            let _ = fs::write(stem.with_extension(suffix), text);
        }
    }

    /// The exit code if it has ended: 128 + n for signal n.
    ///
    /// # Errors
    /// When the system can't say.
    pub fn try_exit(&mut self) -> Result<Option<i32>, ToolError> {
        use std::os::unix::process::ExitStatusExt as _;
        let status = self.child.try_wait().map_err(tool::at(&self.label))?;
        Ok(status.map(|s| s.code().unwrap_or_else(|| 128 + s.signal().unwrap_or(0))))
    }

    /// Waits for its end, at most until `deadline`; `None` when it still runs then.
    ///
    /// # Errors
    /// [`ToolError::Interrupted`] on Ctrl-C.
    pub fn wait_until(&mut self, deadline: Instant) -> Result<Option<i32>, ToolError> {
        loop {
            if let Some(code) = self.try_exit()? {
                // The last lines may still be in the pipe.
                for reader in self.readers.drain(..) {
                    let _ = reader.join();
                }
                return Ok(Some(code));
            }
            if tool::interrupted() {
                return Err(ToolError::Interrupted);
            }
            if Instant::now() >= deadline {
                return Ok(None);
            }
            thread::sleep(POLL);
        }
    }

    /// The most memory that it has had at a time, in resident bytes; nothing once it has ended.
    pub fn peak_memory(&self) -> Option<u64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id())).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
        let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
        Some(kib << 10)
    }

    /// Kills it, as a crash would, and waits for its end.
    pub fn kill(&mut self) {
        // Already gone is fine.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Asks it to end (SIGTERM) and waits up to five seconds.
    ///
    /// # Errors
    /// As [`Process::wait_until`].
    pub fn terminate(&mut self) -> Result<Option<i32>, ToolError> {
        self.signal(Signal::TERM);
        self.wait_until(Instant::now() + Duration::from_secs(5))
    }

    /// Interrupts it (SIGINT), as Ctrl-C would.
    pub fn interrupt(&self) {
        self.signal(Signal::INT);
    }

    /// Does `what` while all its threads stand still, outside of any system call.
    ///
    /// # Errors
    /// As `what`, or when it does not stand still within ten seconds; [`ToolError::Interrupted`] on
    /// Ctrl-C.
    pub fn while_stopped(
        &self,
        what: impl FnOnce() -> Result<(), ToolError>,
    ) -> Result<(), ToolError> {
        self.signal(Signal::STOP);
        let deadline = Instant::now() + Duration::from_secs(10);
        let stopped = wait_for(deadline, || self.is_stopped());
        let done = stopped.and_then(|stopped| match stopped {
            true => what(),
            false => {
                let (command, why) = (self.label.clone(), "it does not stop".to_owned());
                Err(ToolError::Failed { command, why })
            }
        });
        self.signal(Signal::CONT);
        done
    }

    /// No thread runs: each is stopped, or has ended.
    fn is_stopped(&self) -> bool {
        let tasks = fs::read_dir(format!("/proc/{}/task", self.child.id()));
        let stands = |stat: String| {
            let state = stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next());
            matches!(state, Some('T' | 'Z' | 'X'))
        };
        let stat = |task: fs::DirEntry| fs::read_to_string(task.path().join("stat")).ok();
        tasks.is_ok_and(|tasks| tasks.flatten().filter_map(stat).all(stands))
    }

    fn signal(&self, signal: Signal) {
        if let Some(pid) = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw) {
            // Already gone is fine.
            let _ = kill_process(pid, signal);
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

fn collect(pipe: impl Read + Send + 'static, into: Arc<Mutex<Vec<String>>>) -> JoinHandle<()> {
    thread::spawn(move || {
        for line in BufReader::new(pipe).lines().map_while(Result::ok) {
            into.lock().unwrap_or_else(|e| e.into_inner()).push(line);
        }
    })
}

/// Waits until `condition` holds, at most until `deadline`; says whether it did.
///
/// # Errors
/// [`ToolError::Interrupted`] on Ctrl-C.
pub fn wait_for(deadline: Instant, mut condition: impl FnMut() -> bool) -> Result<bool, ToolError> {
    loop {
        if condition() {
            return Ok(true);
        }
        if tool::interrupted() {
            return Err(ToolError::Interrupted);
        }
        if Instant::now() >= deadline {
            return Ok(false);
        }
        thread::sleep(POLL);
    }
}
