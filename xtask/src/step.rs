//! One step of CI: its name, what it runs, how it ended.

use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

/// How a step ended.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// As it should.
    Passed,
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
    let line = format!("{program} {}", args.join(" "));
    match Command::new(program).args(args).envs(env.iter().copied()).stdin(Stdio::null()).status() {
        Ok(status) if status.success() => Outcome::Passed,
        Ok(status) => Outcome::Failed(format!("`{line}`: {status}")),
        Err(error) => Outcome::Failed(format!("`{line}`: {error}")),
    }
}

/// Runs a program where the machine may turn out to be unfit: it then ends with `code`.
pub(crate) fn run_unless(program: &str, args: &[&str], code: i32, unfit: &str) -> Outcome {
    let line = format!("{program} {}", args.join(" "));
    match Command::new(program).args(args).stdin(Stdio::null()).status() {
        Ok(status) if status.success() => Outcome::Passed,
        Ok(status) if status.code() == Some(code) => Outcome::Skipped(unfit.to_owned()),
        Ok(status) => Outcome::Failed(format!("`{line}`: {status}")),
        Err(error) => Outcome::Failed(format!("`{line}`: {error}")),
    }
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
    let all_begun = Instant::now();
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
    fn what_would_begin_too_late_is_left_out_and_says_so() {
        let step = Step::new("long", || Outcome::Passed).within(40);
        assert!(matches!(step.run(Duration::from_secs(2399)), Outcome::Passed));
        let Outcome::Skipped(why) = step.run(Duration::from_secs(2460)) else { panic!("it ran") };
        assert!(why.contains("41 minutes") && why.contains("cargo xtask long"), "{why}");
        let always = Step::new("always", || Outcome::Passed);
        assert!(matches!(always.run(Duration::from_secs(86_400)), Outcome::Passed));
    }
}
