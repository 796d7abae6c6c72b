//! One step of CI: its name, what it runs, how it ended.

use std::process::{Command, ExitCode, ExitStatus, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// CI's wall is at 90 minutes: who runs into it has told nothing. What it takes on a machine of its own is 15.
pub(crate) const LONGEST: Duration = Duration::from_secs(70 * 60);
const POLL: Duration = Duration::from_millis(50);
static BEGUN: OnceLock<Instant> = OnceLock::new();

/// How a step ended.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// As it should.
    Passed,
    /// Passed, with what was tried once more.
    PassedAgain(String),
    /// With the reason.
    Failed(String),
    /// Not run, and why: never counted as passed.
    Skipped(String),
}

/// A named step.
pub(crate) struct Step {
    /// What `cargo xtask` calls it.
    pub(crate) name: &'static str,
    run: Box<dyn Fn() -> Outcome>,
    /// It begins before so much of the whole run has passed, or not at all.
    begins_within: Option<Duration>,
}

impl Step {
    pub(crate) fn new(name: &'static str, run: impl Fn() -> Outcome + 'static) -> Self {
        Self { name, run: Box::new(run), begins_within: None }
    }

    /// A machine that is busy with others' work runs a tenth as fast: what CI asks of it must still end
    /// before CI does. What is left out is told.
    pub(crate) fn within(self, minutes: u64) -> Self {
        Self { begins_within: Some(Duration::from_secs(60 * minutes)), ..self }
    }

    fn run(&self, passed: Duration) -> Outcome {
        match self.begins_within.filter(|limit| passed > *limit) {
            None => (self.run)(),
            Some(limit) => Outcome::Skipped(format!(
                "this machine is slow: what comes before took {} minutes, more than {}; `cargo xtask {}` runs it alone",
                passed.as_secs() / 60,
                limit.as_secs() / 60,
                self.name
            )),
        }
    }
}

/// Runs a program with its output on ours.
pub(crate) fn run(program: &str, args: &[&str], env: &[(&str, &str)]) -> Outcome {
    let mut command = Command::new(program);
    match ends_within(LONGEST, command.args(args).envs(env.iter().copied())) {
        Ok(status) if status.success() => Outcome::Passed,
        Ok(status) => failed(program, args, status),
        Err(why) => failed(program, args, why),
    }
}

/// Runs a program where the machine may turn out to be unfit: it then ends with `code`.
pub(crate) fn run_unless(program: &str, args: &[&str], code: i32, unfit: &str) -> Outcome {
    match ends_within(LONGEST, Command::new(program).args(args)) {
        Ok(status) if status.success() => Outcome::Passed,
        Ok(status) if status.code() == Some(code) => Outcome::Skipped(unfit.to_owned()),
        Ok(status) => failed(program, args, status),
        Err(why) => failed(program, args, why),
    }
}

fn failed(program: &str, args: &[&str], why: impl std::fmt::Display) -> Outcome {
    Outcome::Failed(format!("`{program} {}`: {why}", args.join(" ")))
}

/// How it ends; by our hand, with all that it has started, once the whole run has had its time.
pub(crate) fn ends_within(longest: Duration, command: &mut Command) -> Result<ExitStatus, String> {
    let mut child = command.stdin(Stdio::null()).spawn().map_err(|error| error.to_string())?;
    loop {
        if let Some(status) = child.try_wait().map_err(|error| error.to_string())? {
            return Ok(status);
        }
        if BEGUN.get_or_init(Instant::now).elapsed() > longest {
            let doomed: Vec<String> = family(child.id()).iter().map(u32::to_string).collect();
            let _ = Command::new("kill").arg("-KILL").args(&doomed).status();
            let _ = child.wait();
            let minutes = longest.as_secs() / 60;
            return Err(format!(
                "not done when {minutes} minutes had passed: this machine is slow"
            ));
        }
        std::thread::sleep(POLL);
    }
}

/// A process and all that it has started, and these have.
fn family(root: u32) -> Vec<u32> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let parents: Vec<(u32, u32)> = entries
        .filter_map(|entry| {
            let process = entry.file_name().to_str()?.parse().ok()?;
            let stat = std::fs::read_to_string(entry.path().join("stat")).ok()?;
            // Behind the name, which may have any bytes: state, parent.
            let parent = stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()?;
            Some((process, parent))
        })
        .collect();
    let mut family = vec![root];
    let mut at = 0;
    while let Some(of) = family.get(at).copied() {
        family.extend(parents.iter().filter(|(_, parent)| *parent == of).map(|(child, _)| *child));
        at += 1;
    }
    family
}

/// Runs cargo.
pub(crate) fn cargo(args: &[&str], env: &[(&str, &str)]) -> Outcome {
    run("cargo", args, env)
}

/// What a program prints.
pub(crate) fn output(program: &str, args: &[&str]) -> Result<String, String> {
    let done = Command::new(program).args(args).output().map_err(|e| format!("{program}: {e}"))?;
    if !done.status.success() {
        return Err(format!("{program}: {}", String::from_utf8_lossy(&done.stderr).trim()));
    }
    Ok(String::from_utf8_lossy(&done.stdout).into_owned())
}

/// Whether a program runs and succeeds, silently.
pub(crate) fn answers(program: &str, args: &[&str]) -> bool {
    Command::new(program)
        .args(args)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// Runs steps in order, stops at none, ends with a line that says how many passed.
pub(crate) fn run_all(steps: Vec<Step>) -> ExitCode {
    let mut summary = Vec::new();
    let (mut passed, mut failed, mut skipped) = (0, 0, 0);
    let all_begun = *BEGUN.get_or_init(Instant::now);
    for step in steps {
        eprintln!("\n=== {} ===", step.name);
        let begun = Instant::now();
        let outcome = step.run(all_begun.elapsed());
        let seconds = begun.elapsed().as_secs();
        let text = match outcome {
            Outcome::Passed => {
                passed += 1;
                "passed".to_owned()
            }
            Outcome::PassedAgain(why) => {
                passed += 1;
                format!("passed; {why}")
            }
            Outcome::Failed(why) => {
                failed += 1;
                format!("FAILED: {why}")
            }
            Outcome::Skipped(why) => {
                skipped += 1;
                format!("skipped: {why}")
            }
        };
        summary.push(format!("{:<9} {seconds:>5} s  {text}", step.name));
    }
    println!("\n{}", summary.join("\n"));
    println!("{passed} passed, {failed} failed, {skipped} skipped");
    ExitCode::from(u8::from(failed > 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_that_a_program_has_started_is_found() {
        let mut shell = Command::new("sh");
        let mut shell = shell.args(["-c", "sleep 100 & wait"]).spawn().unwrap();
        while family(shell.id()).len() < 2 {
            std::thread::yield_now();
        }
        let (all, own) = (family(std::process::id()), family(shell.id()));
        assert!(own.iter().all(|process| all.contains(process)), "{own:?} {all:?}");
        let own: Vec<String> = own.iter().map(u32::to_string).collect();
        assert!(Command::new("kill").arg("-KILL").args(&own).status().unwrap().success());
        assert!(!shell.wait().unwrap().success());
    }

    #[test]
    fn what_is_not_done_in_time_is_ended_with_all_that_it_has_started() {
        let mut shell = Command::new("sh");
        let ended = ends_within(Duration::ZERO, shell.args(["-c", "sleep 100; true"]));
        assert!(ended.is_err_and(|why| why.contains("slow")));
        let ended = ends_within(LONGEST, Command::new("sh").args(["-c", "exit 7"]));
        assert_eq!(ended.unwrap().code(), Some(7));
    }

    #[test]
    fn what_would_begin_too_late_is_left_out_and_says_so() {
        let step = Step::new("long", || Outcome::Passed).within(40);
        assert!(matches!(step.run(Duration::from_secs(2399)), Outcome::Passed));
        let Outcome::Skipped(why) = step.run(Duration::from_secs(2460)) else { panic!("it ran") };
        assert!(why.contains("41 minutes") && why.contains("cargo xtask long"), "{why}");
        let always = Step::new("always", || Outcome::Passed);
        assert!(matches!(always.run(Duration::from_secs(86_400)), Outcome::Passed));
    }
}
