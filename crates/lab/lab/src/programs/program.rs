//! A started peer: its output with times, its resources, and its end.

use crate::programs::{
    process::{Ending, Process, Usage},
    wait::{self, WakeEvent},
};
use rustix::{fd::BorrowedFd, process::Signal};
use std::{
    fs,
    io::{self, BufRead as _, BufReader, Read, Write as _},
    path::Path,
    process::{Command, Stdio},
    sync::{Arc, Mutex, PoisonError},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

/// What shows that something has happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sign {
    /// A line with this in it, on standard output or standard error.
    Line(&'static str),
    /// It has ended, with exit code 0.
    Ending,
}

/// From SIGTERM to SIGKILL.
const GOODBYE: Duration = Duration::from_secs(2);

/// A started program; killed, with all that it has started, when dropped.
#[derive(Debug)]
pub struct Program {
    process: Process,
    said: Arc<Mutex<Said>>,
    readers: Vec<JoinHandle<()>>,
    /// Its exit code; 128 and the signal's number for a signal.
    code: Option<i32>,
}

#[derive(Debug, Default)]
struct Said {
    lines: Vec<(Instant, String)>,
    /// Outputs that are open.
    open: u8,
    /// When the last of them was closed.
    closed: Option<Instant>,
}

impl Program {
    /// Starts it. What it prints rings the bell, and goes to `log`, too, for a person who looks
    /// afterwards.
    pub fn start(command: Command, log: &Path, wake_event: &Arc<WakeEvent>) -> io::Result<Self> {
        let file = Arc::new(Mutex::new(fs::File::create(log)?));
        let mut process = Process::start(command, Stdio::piped(), Stdio::piped())?;
        let said = Arc::<Mutex<Said>>::default();
        let mut readers = Vec::new();
        let mut listen = |pipe: Box<dyn Read + Send>| {
            said.lock().unwrap_or_else(PoisonError::into_inner).open += 1;
            let (said, file, wake_event) =
                (Arc::clone(&said), Arc::clone(&file), Arc::clone(wake_event));
            readers.push(thread::spawn(move || listen(pipe, &said, &file, &wake_event)));
        };
        let (stdout, stderr) = process.outputs();
        if let Some(pipe) = stdout {
            listen(Box::new(pipe));
        }
        if let Some(pipe) = stderr {
            listen(Box::new(pipe));
        }
        Ok(Self { process, said, readers, code: None })
    }

    /// When the sign was first given.
    pub fn saw(&self, sign: Sign) -> Option<Instant> {
        let said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        match sign {
            Sign::Line(part) => {
                said.lines.iter().find(|(_, line)| line.contains(part)).map(|(at, _)| *at)
            }
            Sign::Ending => said.closed.filter(|_| self.code == Some(0)),
        }
    }
    /// The first line that has this in it.
    pub fn line_with(&self, part: &str) -> Option<String> {
        let said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        said.lines.iter().find(|(_, line)| line.contains(part)).map(|(_, line)| line.clone())
    }
    /// All lines that have this in them, with their times.
    pub fn lines_with(&self, part: &str) -> Vec<(Instant, String)> {
        let said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        said.lines.iter().filter(|(_, line)| line.contains(part)).cloned().collect()
    }
    /// Whether its last output has been closed: it has ended, or is about to.
    pub fn has_closed(&self) -> bool {
        self.said.lock().unwrap_or_else(PoisonError::into_inner).closed.is_some()
    }
    /// Its last word: why it failed, as a rule.
    pub fn last_line(&self) -> String {
        let said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        let line = said.lines.iter().rev().find(|(_, line)| !line.trim().is_empty());
        line.map(|(_, line)| line.trim().to_owned()).unwrap_or_default()
    }
    /// What it had used when that was looked for last.
    pub fn usage(&self) -> Usage {
        self.process.usage()
    }
    /// What it and all in its group use now.
    pub fn usage_of_group(&self) -> Usage {
        self.process.usage_of_group()
    }
    /// Its exit code, once it has ended by itself.
    pub fn code(&self) -> Option<i32> {
        self.code
    }
    /// Can be read when it has ended and nobody has noticed yet.
    pub fn ended(&self) -> Option<BorrowedFd<'_>> {
        self.process.end()
    }

    /// Sees whether it has ended.
    pub fn notice(&mut self) -> io::Result<()> {
        self.code = self.process.try_end()?.map(|ending| match ending {
            Ending::Code(code) => code,
            Ending::Signal(number) => 128 + number,
        });
        Ok(())
    }
    /// Sees what it uses. To be called now and then.
    pub fn measure(&mut self) {
        self.process.measure();
    }

    /// Asks it to end, and sees to it.
    pub fn end(&mut self) {
        self.measure();
        self.process.signal(Signal::TERM);
        let deadline = Instant::now() + GOODBYE;
        while let Some(ended) = self.ended()
            && Instant::now() < deadline
        {
            wait::for_any(&[ended], deadline.saturating_duration_since(Instant::now()));
            if self.notice().is_err() {
                break;
            }
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // Only then do its readers end.
        self.process.signal(Signal::KILL);
        for reader in self.readers.drain(..) {
            let _ = reader.join();
        }
    }
}

/// Notes each line with its time.
fn listen(pipe: impl Read, said: &Mutex<Said>, log: &Mutex<fs::File>, wake_event: &WakeEvent) {
    let mut pipe = BufReader::new(pipe);
    let mut line = Vec::new();
    while pipe.read_until(b'\n', &mut line).is_ok_and(|length| length > 0) {
        let at = Instant::now();
        let text = String::from_utf8_lossy(&line).trim_end().to_owned();
        // Only for a person; a full disk shows elsewhere.
        let _ = log.lock().unwrap_or_else(PoisonError::into_inner).write_all(&line);
        said.lock().unwrap_or_else(PoisonError::into_inner).lines.push((at, text));
        wake_event.ring();
        line.clear();
    }
    let mut said = said.lock().unwrap_or_else(PoisonError::into_inner);
    said.open -= 1;
    said.closed = (said.open == 0).then(Instant::now);
    wake_event.ring();
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fd::AsFd as _;

    fn shell(script: &str, wake_event: &Arc<WakeEvent>) -> Program {
        let log = std::env::temp_dir().join(format!(
            "fanfare-program-{}-{:?}",
            std::process::id(),
            thread::current().id()
        ));
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        let program = Program::start(command, &log, wake_event).unwrap();
        fs::remove_file(log).unwrap();
        program
    }

    /// Waits as a trial does: for lines, and for the end.
    fn until(program: &mut Program, wake_event: &WakeEvent, done: impl Fn(&Program) -> bool) {
        let deadline = Instant::now() + Duration::from_secs(20);
        while !done(program) {
            assert!(Instant::now() < deadline, "{program:?}");
            let waited: Vec<_> = program.ended().into_iter().chain([wake_event.as_fd()]).collect();
            wait::for_any(&waited, Duration::from_millis(20));
            wake_event.clear();
            program.notice().unwrap();
            program.measure();
        }
    }

    #[test]
    fn a_line_on_either_output_is_a_sign_and_an_ending_only_with_code_zero() {
        let wake_event = Arc::new(WakeEvent::new().unwrap());
        let mut good = shell("echo one >&2; echo ready", &wake_event);
        until(&mut good, &wake_event, |program| program.saw(Sign::Ending).is_some());
        assert!(good.saw(Sign::Line("one")).is_some() && good.saw(Sign::Line("ready")).is_some());
        assert!(good.saw(Sign::Line("three")).is_none());
        assert_eq!(good.line_with("read").as_deref(), Some("ready"));
        let mut bad = shell("echo why >&2; exit 7", &wake_event);
        until(&mut bad, &wake_event, |program| program.code() == Some(7));
        assert_eq!(bad.saw(Sign::Ending), None);
    }

    #[test]
    fn what_a_program_uses_is_its_own() {
        let wake_event = Arc::new(WakeEvent::new().unwrap());
        let mut program = shell("echo up; while :; do :; done", &wake_event);
        let used = |program: &Program| program.usage();
        until(&mut program, &wake_event, |program| {
            used(program).cpu >= 0.02 && used(program).memory > 0
        });
        assert!(program.usage().memory < 64 << 20);
        program.end();
        assert_eq!(program.code(), Some(128 + 15));
    }
}
