//! One step of CI: its name, what it runs, how it ended.

use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

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
}

impl Step {
    pub(crate) fn new(name: &'static str, run: impl Fn() -> Outcome + 'static) -> Self {
        Self { name, run: Box::new(run) }
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

/// Runs cargo where the machine may turn out to be unfit: the program then ends with `code`.
pub(crate) fn cargo_unless(args: &[&str], code: i32, unfit: &str) -> Outcome {
    match Command::new("cargo").args(args).stdin(Stdio::null()).status() {
        Ok(status) if status.success() => Outcome::Passed,
        Ok(status) if status.code() == Some(code) => Outcome::Skipped(unfit.to_owned()),
        Ok(status) => Outcome::Failed(format!("`cargo {}`: {status}", args.join(" "))),
        Err(error) => Outcome::Failed(format!("`cargo {}`: {error}", args.join(" "))),
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
    for step in steps {
        eprintln!("\n=== {} ===", step.name);
        let begun = Instant::now();
        let outcome = (step.run)();
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
