//! A program of ours on a host of a lab, and what it says: lines of JSON, with the time at which each was
//! read. All are on one machine, and so have one clock.

use std::{
    io::{self, BufRead as _, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

use fanfare_command::{Exit, Failure};
use serde::de::DeserializeOwned;

/// How long a program has to end when it is asked to.
const GOODBYE: Duration = Duration::from_secs(5);
/// How often to look whether it has.
const LOOK: Duration = Duration::from_millis(20);

/// A running program; it is asked to end when it is dropped.
#[derive(Debug)]
pub(in super::super) struct Running<E> {
    child: Child,
    said: Arc<Mutex<Vec<(Instant, E)>>>,
}

impl<E: DeserializeOwned + Send + 'static> Running<E> {
    /// Lines that are no `E` are passed over. `package`: what builds the program.
    pub(in super::super) fn start(mut command: Command, package: &str) -> Result<Self, Failure> {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().map_err(|error| missing(&command, package, &error))?;
        let said = Arc::<Mutex<Vec<(Instant, E)>>>::default();
        if let Some(output) = child.stdout.take() {
            let said = Arc::clone(&said);
            thread::spawn(move || {
                for line in BufReader::new(output).lines().map_while(Result::ok) {
                    if let Ok(event) = serde_json::from_str(&line) {
                        lock(&said).push((Instant::now(), event));
                    }
                }
            });
        }
        Ok(Self { child, said })
    }
}

impl<E> Running<E> {
    /// What it has said so far, and when.
    pub(in super::super) fn said(&self) -> MutexGuard<'_, Vec<(Instant, E)>> {
        lock(&self.said)
    }
    /// Its process.
    pub(in super::super) fn id(&self) -> u32 {
        self.child.id()
    }
}

impl<E> Drop for Running<E> {
    fn drop(&mut self) {
        let pid = rustix::process::Pid::from_child(&self.child);
        // Gone already is as good. A program says good-bye to those that it has started.
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::INT);
        let end = Instant::now() + GOODBYE;
        while matches!(self.child.try_wait(), Ok(None)) && Instant::now() < end {
            thread::sleep(LOOK);
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn missing(command: &Command, package: &str, error: &io::Error) -> Failure {
    // A command on a host names the program among its arguments.
    let is_ours = |word: &&std::ffi::OsStr| Path::new(word).is_absolute();
    let program = command.get_args().find(is_ours).unwrap_or(command.get_program());
    let text = format!(
        "program ({}): cannot be started ({error}). Build it with: cargo build -p {package}",
        program.display()
    );
    Failure::new(Exit::Resource, "lab.peer_missing", text)
}
