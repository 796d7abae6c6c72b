//! A started peer: what it says and when, what it uses, and its end.

use super::Sign;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use std::{
    fs,
    io::{self, BufRead as _, BufReader, Read, Write as _},
    os::unix::process::CommandExt as _,
    path::Path,
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex, PoisonError},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

/// `/proc/PID/stat` counts in these: USER_HZ, 100 on every Linux.
const TICKS_PER_SECOND: f64 = 100.0;
/// From SIGTERM to SIGKILL.
const GOODBYE: Duration = Duration::from_secs(2);
const STEP: Duration = Duration::from_millis(10);

/// What a program has used.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Usage {
    /// User and system time, seconds.
    pub(crate) cpu: f64,
    /// The most memory that was resident, bytes.
    pub(crate) memory: u64,
}

/// A started program; killed, with all that it has started, when dropped.
#[derive(Debug)]
pub(crate) struct Program {
    child: Child,
    group: Option<Pid>,
    said: Arc<Mutex<Said>>,
    readers: Vec<JoinHandle<()>>,
    usage: Usage,
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
    /// Starts it; what it prints goes to `log`, too, for a person who looks afterwards.
    pub(crate) fn start(mut command: Command, log: &Path) -> io::Result<Self> {
        let file = Arc::new(Mutex::new(fs::File::create(log)?));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.process_group(0).spawn()?;
        let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        let said = Arc::<Mutex<Said>>::default();
        let mut readers = Vec::new();
        let mut listen = |pipe: Box<dyn Read + Send>| {
            said.lock().unwrap_or_else(PoisonError::into_inner).open += 1;
            let (said, file) = (Arc::clone(&said), Arc::clone(&file));
            readers.push(thread::spawn(move || listen(pipe, &said, &file)));
        };
        if let Some(pipe) = child.stdout.take() {
            listen(Box::new(pipe));
        }
        if let Some(pipe) = child.stderr.take() {
            listen(Box::new(pipe));
        }
        Ok(Self { child, group, said, readers, usage: Usage::default(), code: None })
    }

    /// When the sign was first given.
    pub(crate) fn saw(&self, sign: Sign) -> Option<Instant> {
        let said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        match sign {
            Sign::Line(part) => {
                said.lines.iter().find(|(_, line)| line.contains(part)).map(|(at, _)| *at)
            }
            Sign::Ending => said.closed.filter(|_| self.code == Some(0)),
        }
    }
    /// Whether its last output has been closed: it has ended, or is about to.
    pub(crate) fn has_closed(&self) -> bool {
        self.said.lock().unwrap_or_else(PoisonError::into_inner).closed.is_some()
    }
    /// Its last word: why it failed, as a rule.
    pub(crate) fn last_line(&self) -> String {
        let said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        let line = said.lines.iter().rev().find(|(_, line)| !line.trim().is_empty());
        line.map(|(_, line)| line.trim().to_owned()).unwrap_or_default()
    }
    pub(crate) fn usage(&self) -> Usage {
        self.usage
    }
    pub(crate) fn code(&self) -> Option<i32> {
        self.code
    }

    /// Sees what it uses, and whether it has ended. To be called now and then.
    pub(crate) fn look(&mut self) -> io::Result<()> {
        let (None, Some(pid)) = (self.code, self.group) else { return Ok(()) };
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        let ended = waitid(WaitId::Pid(pid), options)?.is_some();
        self.measure();
        if ended {
            use std::os::unix::process::ExitStatusExt as _;
            let status = self.child.wait()?;
            self.code = Some(status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0)));
        }
        Ok(())
    }

    /// Of a zombie the times can still be read, the memory no longer.
    fn measure(&mut self) {
        let read = |name| fs::read_to_string(format!("/proc/{}/{name}", self.child.id()));
        if let Some(cpu) = read("stat").ok().and_then(|stat| cpu_seconds(&stat)) {
            self.usage.cpu = cpu;
        }
        if let Some(memory) = read("status").ok().and_then(|status| peak_memory(&status)) {
            self.usage.memory = memory;
        }
    }

    /// Asks it to end, and sees to it.
    pub(crate) fn end(&mut self) {
        self.measure();
        self.signal(Signal::TERM);
        let deadline = Instant::now() + GOODBYE;
        while self.look().is_ok() && self.code.is_none() && Instant::now() < deadline {
            thread::sleep(STEP);
        }
    }
    fn signal(&self, signal: Signal) {
        if let Some(group) = self.group {
            // Already gone is fine.
            let _ = kill_process_group(group, signal);
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
        if self.code.is_none() {
            let _ = self.child.wait();
        }
        for reader in self.readers.drain(..) {
            let _ = reader.join();
        }
    }
}

/// Notes each line with its time.
fn listen(pipe: impl Read, said: &Mutex<Said>, log: &Mutex<fs::File>) {
    let mut pipe = BufReader::new(pipe);
    let mut line = Vec::new();
    while pipe.read_until(b'\n', &mut line).is_ok_and(|length| length > 0) {
        let at = Instant::now();
        let text = String::from_utf8_lossy(&line).trim_end().to_owned();
        // Only for a person; a full disk shows elsewhere.
        let _ = log.lock().unwrap_or_else(PoisonError::into_inner).write_all(&line);
        said.lock().unwrap_or_else(PoisonError::into_inner).lines.push((at, text));
        line.clear();
    }
    let mut said = said.lock().unwrap_or_else(PoisonError::into_inner);
    said.open -= 1;
    said.closed = (said.open == 0).then(Instant::now);
}

/// Its own user and system time in `/proc/PID/stat`, and its ended children's.
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

    fn shell(script: &str) -> Program {
        let log = std::env::temp_dir().join(format!(
            "fanfare-program-{}-{:?}",
            std::process::id(),
            thread::current().id()
        ));
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        let program = Program::start(command, &log).unwrap();
        fs::remove_file(log).unwrap();
        program
    }

    fn until(program: &mut Program, done: impl Fn(&Program) -> bool) {
        let deadline = Instant::now() + Duration::from_secs(20);
        while !done(program) {
            assert!(Instant::now() < deadline, "{program:?}");
            program.look().unwrap();
            thread::yield_now();
        }
    }

    #[test]
    fn a_line_on_either_output_is_a_sign_and_an_ending_only_with_code_zero() {
        let mut good = shell("echo one >&2; echo ready");
        until(&mut good, |program| program.saw(Sign::Ending).is_some());
        assert!(good.saw(Sign::Line("one")).is_some() && good.saw(Sign::Line("ready")).is_some());
        assert!(good.saw(Sign::Line("three")).is_none());
        let mut bad = shell("echo why >&2; exit 7");
        until(&mut bad, |program| program.code() == Some(7));
        assert_eq!(bad.saw(Sign::Ending), None);
    }

    #[test]
    fn what_a_program_uses_is_its_own() {
        let mut program = shell("echo up; while :; do :; done");
        until(&mut program, |program| program.usage().cpu >= 0.02 && program.usage().memory > 0);
        assert!(program.usage().memory < 64 << 20);
        program.end();
        assert_eq!(program.code(), Some(128 + 15));
    }

    #[test]
    fn times_and_memory_are_found_in_what_the_kernel_prints() {
        let stat = "77 (a) b) S 1 77 77 0 -1 0 1 2 3 4 100 50 30 20 20 0 1 0 5 6 7";
        assert_eq!(cpu_seconds(stat), Some(2.0));
        assert_eq!(peak_memory("VmPeak:  9 kB\nVmHWM:\t  1024 kB\n"), Some(1 << 20));
        assert_eq!(peak_memory("nothing"), None);
    }
}
