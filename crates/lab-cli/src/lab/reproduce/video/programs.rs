//! `fanfare-video` on hosts of a lab: what each program says, by one clock, as all are on one machine.

use std::{
    io::{self, BufRead as _, BufReader},
    process::{Child, Stdio},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

use fanfare_command::Failure;
use fanfare_lab::{Host, INTERFACE};
use serde::Deserialize;

use crate::fanfare::fanfare;

/// How long a program has to end when it is asked to.
const GOODBYE: Duration = Duration::from_secs(5);
/// How often to look whether it has.
const LOOK: Duration = Duration::from_millis(20);

/// A line of a program.
#[derive(Debug, Clone, Default, Deserialize)]
pub(super) struct Event {
    pub(super) event: String,
    #[serde(default)]
    pub(super) rendition: String,
    #[serde(default)]
    pub(super) number: u32,
    #[serde(default)]
    pub(super) bytes: u64,
    #[serde(default)]
    pub(super) begun_ms: u64,
    #[serde(default)]
    pub(super) at_ms: u64,
    #[serde(default)]
    pub(super) address: String,
}

impl Event {
    pub(super) fn is_segment(&self) -> bool {
        self.event == "segment"
    }
    pub(super) fn is_chosen(&self) -> bool {
        self.event == "chosen"
    }
}

/// A running program; it is asked to end when it is dropped.
#[derive(Debug)]
pub(super) struct Running {
    child: Child,
    /// When it was started, milliseconds since 1970.
    pub(super) started_ms: u64,
    events: Arc<Mutex<Vec<Event>>>,
}

impl Running {
    pub(super) fn start(host: &Host, args: &[&str]) -> Result<Self, Failure> {
        let program = fanfare().with_file_name("fanfare-video");
        let mut command = host.command(&program);
        command.arg("video").args(args).args(["--interface", INTERFACE, "--json"]);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let started_ms = now_ms();
        let mut child = command.spawn().map_err(|error| missing(&program, &error))?;
        let events = Arc::<Mutex<Vec<Event>>>::default();
        if let Some(output) = child.stdout.take() {
            let events = Arc::clone(&events);
            thread::spawn(move || {
                for line in BufReader::new(output).lines().map_while(Result::ok) {
                    if let Ok(event) = serde_json::from_str(&line) {
                        lock(&events).push(event);
                    }
                }
            });
        }
        Ok(Self { child, started_ms, events })
    }

    /// What it has said so far.
    pub(super) fn events(&self) -> Vec<Event> {
        lock(&self.events).clone()
    }
    /// When its first segment came after its start, ms.
    pub(super) fn start_ms(&self) -> Option<u64> {
        let events = lock(&self.events);
        let first = events.iter().find(|event| event.is_segment())?;
        Some(first.at_ms.saturating_sub(self.started_ms))
    }
    /// Where it serves.
    pub(super) fn address(&self) -> Option<String> {
        lock(&self.events).iter().map(|one| one.address.clone()).find(|one| !one.is_empty())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let pid = rustix::process::Pid::from_child(&self.child);
        // Gone already is as good. It says good-bye to its ffmpeg, too.
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::INT);
        let end = Instant::now() + GOODBYE;
        while matches!(self.child.try_wait(), Ok(None)) && Instant::now() < end {
            thread::sleep(LOOK);
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn lock(events: &Mutex<Vec<Event>>) -> MutexGuard<'_, Vec<Event>> {
    events.lock().unwrap_or_else(PoisonError::into_inner)
}

fn missing(program: &std::path::Path, error: &io::Error) -> Failure {
    let text = format!(
        "program ({}): cannot be started ({error}). Build it with: cargo build -p fanfare-video-cli",
        program.display()
    );
    Failure::new(fanfare_command::Exit::Resource, "lab.peer_missing", text)
}

/// Milliseconds since 1970.
pub(super) fn now_ms() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| since.as_millis() as u64)
}
