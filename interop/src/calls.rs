//! Random calls of libnorm on two libraries: what each call returns, and which events come, must be the
//! same on NRL's and on ours.

use std::fmt::Write as _;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::lab::{Family, Host, Lab};
use crate::report::Head;
use crate::scratch::Scratch;
use crate::tool::{self, ToolError};
use crate::zeromq::{self, Library, Skipped};

const SOURCE: &str = include_str!("../peer/norm_calls.cpp");
/// A run has up to twenty steps of up to four seconds; most end within two seconds.
const LIMIT: Duration = Duration::from_secs(120);
/// Ports of runs that go on at the same time: of sessions, and of what partners are told by.
const PORTS: u16 = 20_000;
const CONTROL: u16 = 30_000;
/// A seed whose runs differ is tried so many times: a busy machine delays events beyond what is waited for.
const TRIES: u32 = 3;

/// Seeds to run, and number of them at a time.
#[derive(Clone, Copy, Debug)]
pub struct CallsPlan {
    /// The first seed.
    pub first: u64,
    /// Number of seeds.
    pub seeds: u64,
    /// At a time.
    pub jobs: u16,
}

/// Seeds whose outputs differ, with the lines.
pub type Differences = Vec<(u64, String)>;

/// The two hosts of a run.
#[derive(Clone, Copy)]
struct CallHosts<'a> {
    /// The calls are made here.
    host: &'a Host,
    /// The partner is here, always on NRL's library.
    partner: &'a Host,
}

struct CallPrograms {
    scratch: Scratch,
    program: PathBuf,
    ours: PathBuf,
}

/// Runs all seeds; gives those that differ.
///
/// # Errors
/// No root, no compiler, a full disk, Ctrl-C.
pub fn run(plan: CallsPlan) -> Result<Result<Differences, Skipped>, ToolError> {
    let scratch = Scratch::new()?;
    let Some(ours) = zeromq::private_folder(&scratch)? else {
        return Ok(Err(Skipped("no libnorm.so of ours: build fanfare-norm".into())));
    };
    let program = scratch.path().join("norm_calls");
    let out = program.display().to_string();
    // NRL's header has attributes that the compiler warns of.
    let arguments = ["-x", "c++", "-O1", "-w", "-o", &out, "-", "-lnorm"];
    tool::output_with_input("c++", &arguments, SOURCE)?;
    let programs = CallPrograms { scratch, program, ours };
    let lab = Lab::new(2, Family::V4)?;
    let [host, partner] = lab.hosts() else {
        return Ok(Err(Skipped("the laboratory has no hosts".into())));
    };
    let hosts = CallHosts { host, partner };
    let next = AtomicU64::new(plan.first);
    let found = Mutex::new(Vec::new());
    let failed = Mutex::new(None);
    std::thread::scope(|scope| {
        for job in 0..plan.jobs {
            let (next, found, failed, programs) = (&next, &found, &failed, &programs);
            scope.spawn(move || {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= plan.first + plan.seeds || tool::interrupted() {
                        return;
                    }
                    match programs.compare(hosts, job, seed) {
                        Ok(None) => {}
                        Ok(Some(lines)) => lock(found).push((seed, lines)),
                        Err(error) => *lock(failed) = Some(error),
                    }
                }
            });
        }
    });
    if let Some(error) = lock(&failed).take() {
        return Err(error);
    }
    let mut found = std::mem::take(&mut *lock(&found));
    found.sort_unstable();
    Ok(Ok(found))
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl CallPrograms {
    /// Compares both; gives what differs, where it does so each time.
    fn compare(
        &self,
        hosts: CallHosts<'_>,
        job: u16,
        seed: u64,
    ) -> Result<Option<String>, ToolError> {
        let mut lines = None;
        for _ in 0..TRIES {
            let nrl = self.calls(hosts, job, seed, Library::Nrl)?;
            let ours = self.calls(hosts, job, seed, Library::Ours)?;
            lines = difference(&nrl, &ours);
            if lines.is_none() {
                break;
            }
        }
        Ok(lines)
    }

    fn calls(
        &self,
        hosts: CallHosts<'_>,
        job: u16,
        seed: u64,
        library: Library,
    ) -> Result<String, ToolError> {
        let folder = self.scratch.path().join(format!("{job}-{seed}"));
        let folders = [folder.join("partner"), folder.join("own")];
        for folder in &folders {
            std::fs::create_dir_all(folder).map_err(tool::at(folder.display()))?;
        }
        let [theirs, own] = folders.each_ref().map(|folder| folder.display().to_string());
        let group = format!("239.255.43.{}", job % 250 + 1);
        let (port, control) = ((PORTS + job).to_string(), (CONTROL + job).to_string());
        let mut command = hosts.partner.command(&self.program);
        command.args(["partner", &group, &port, &control, &theirs]);
        let mut second = started(command, Stdio::piped())?;
        wait_until_ready(&mut second)?;
        let mut command = hosts.host.command(&self.program);
        command.args(["calls", &group, &port, &hosts.partner.address(), &control, &own]);
        command.arg(seed.to_string());
        if library == Library::Ours {
            command.env("LD_LIBRARY_PATH", &self.ours);
        }
        let said = started(command, Stdio::piped()).and_then(|mut first| {
            let said = ended(&mut first);
            let _ = first.kill();
            first.wait().map_err(tool::at("norm_calls"))?;
            said
        });
        let _ = second.kill();
        second.wait().map_err(tool::at("the partner"))?;
        remove(&folder)?;
        said
    }
}

fn remove(folder: &Path) -> Result<(), ToolError> {
    std::fs::remove_dir_all(folder).map_err(tool::at(folder.display()))
}

fn started(mut command: Command, output: Stdio) -> Result<Child, ToolError> {
    command.stdin(Stdio::null()).stdout(output).stderr(Stdio::null());
    command.spawn().map_err(tool::at("norm_calls"))
}

/// Waits until the partner has its sockets: it says so in a line.
fn wait_until_ready(partner: &mut Child) -> Result<(), ToolError> {
    let Some(output) = &mut partner.stdout else { return Ok(()) };
    let mut byte = [0];
    while output.read(&mut byte).map_err(tool::at("the partner"))? == 1 && byte != *b"\n" {}
    Ok(())
}

/// Reads what it says until it ends, and adds how it ended.
fn ended(child: &mut Child) -> Result<String, ToolError> {
    let mut output = child.stdout.take();
    let reader = std::thread::spawn(move || {
        let mut said = Vec::new();
        if let Some(output) = &mut output {
            // What was read until a failure is compared all the same.
            let _ = output.read_to_end(&mut said);
        }
        said
    });
    let begun = Instant::now();
    let end = loop {
        if let Some(status) = child.try_wait().map_err(tool::at("norm_calls"))? {
            break status.to_string();
        }
        if begun.elapsed() > LIMIT || tool::interrupted() {
            let _ = child.kill();
            break "it does not end".to_owned();
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    let said = reader.join().unwrap_or_default();
    Ok(format!("{}{end}\n", String::from_utf8_lossy(&said)))
}

/// The first lines that differ, with what was before them.
fn difference(nrl: &str, ours: &str) -> Option<String> {
    if nrl == ours {
        return None;
    }
    let nrl: Vec<&str> = nrl.lines().collect();
    let ours: Vec<&str> = ours.lines().collect();
    let same = nrl.iter().zip(&ours).take_while(|(one, other)| one == other).count();
    let mut text = String::new();
    for line in nrl.iter().take(same).skip(same.saturating_sub(3)) {
        let _ = writeln!(text, "      {line}");
    }
    for (who, lines) in [("NRL ", &nrl), ("ours", &ours)] {
        for line in lines.iter().skip(same).take(3) {
            let _ = writeln!(text, "{who}  {line}");
        }
    }
    Some(text)
}

/// The page.
pub fn page(head: &Head, plan: CallsPlan, found: &Differences) -> String {
    let mut page = format!(
        "# Random calls of libnorm\n\n\
         Written by `{}` on {}, against libnorm {}. Each seed makes up to twenty steps of random calls\n\
         with a partner on NRL's library: once on NRL's library, once on ours. Return values, names and\n\
         events are compared. A seed that differs is tried three times. What differs on purpose is in\n\
         docs/reference/libnorm.md, and not called.\n\n\
         {} seeds, {} differ.\n",
        head.command,
        head.date,
        head.nrl_version,
        plan.seeds,
        found.len()
    );
    for (seed, lines) in found {
        let _ = write!(page, "\nSeed {seed}:\n\n```\n{lines}```\n");
    }
    page
}

/// Path of the page.
pub fn place() -> PathBuf {
    PathBuf::from("results/norm/calls.md")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_begins_with_the_first_line_that_differs() {
        assert_eq!(difference("a\nb\n", "a\nb\n"), None);
        let text = difference("a\nb\nc\nend 1\n", "a\nb\nd\nend 2\n").unwrap();
        assert_eq!(text, "      a\n      b\nNRL   c\nNRL   end 1\nours  d\nours  end 2\n");
        let text = difference("a\n", "a\nmore\n").unwrap();
        assert_eq!(text, "      a\nours  more\n");
    }
}
