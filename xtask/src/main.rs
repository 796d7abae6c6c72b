//! Repository tasks: `cargo xtask ci` is all of CI, each step also runs alone.

mod crash;
mod no_io;
mod packages;
mod simulated_crash;
mod small_files;
mod step;
mod tidy;

use std::process::ExitCode;
use step::{Outcome, Step};

const USAGE: &str = "usage: cargo xtask <task>
  ci        everything below, in this order, with a summary
  packages  install what the tests need (Debian, as root); name it elsewhere
  fmt       rustfmt, as a check
  clippy    lints, warnings are errors
  test      unit, property, scenario and command tests
  docs      rustdoc, warnings are errors
  tidy      the house rules that a program can check
  no-io     wire, fec, proto and group build without an operating system
  fuzz      each fuzz target for a few seconds (needs nightly and cargo-fuzz)
  crash     not in ci: kill sender or receiver and resume, [--rounds 20 | --kills N] [--seed 1]
             [--jobs N] [--scene KIND] [--keep DIR]; or crash a receiver's simulated disk, --simulated 100000 [--seed 1]
  small-files  not in ci: 100,000 small files beside one large one, [--rate 100M,200M] [--runs 3]
  interop   against NRL's NORM in network namespaces (root; quick matrix)
  reproduce two cells of the papers' tables in the laboratory, Fanfare and NORM (root)";

fn cargo(name: &'static str, args: &'static [&'static str]) -> Step {
    Step::new(name, move || step::cargo(args, &[]))
}

fn steps() -> Vec<Step> {
    vec![
        Step::new("packages", packages::install),
        cargo("fmt", &["fmt", "--all", "--check"]),
        cargo(
            "clippy",
            &["clippy", "--workspace", "--all-targets", "--locked", "--", "-D", "warnings"],
        ),
        // All that fails is told in one run.
        cargo("test", &["test", "--workspace", "--locked", "--no-fail-fast"]),
        Step::new("docs", || {
            step::cargo(
                &["doc", "--workspace", "--no-deps", "--locked"],
                &[("RUSTDOCFLAGS", "-D warnings")],
            )
        }),
        Step::new("tidy", tidy::check),
        Step::new("no-io", no_io::check),
        Step::new("fuzz", fuzz),
        Step::new("interop", interop),
        Step::new("reproduce", reproduce),
    ]
}

/// A short run of each target: long enough to show that it builds and survives its corpus.
fn fuzz() -> Outcome {
    if !step::answers("cargo", &["+nightly", "--version"]) {
        return Outcome::Skipped(
            "needs a nightly toolchain: `rustup toolchain install nightly`".into(),
        );
    }
    if !step::answers("cargo", &["+nightly", "fuzz", "--version"]) {
        let installed = step::cargo(&["install", "--quiet", "--locked", "cargo-fuzz"], &[]);
        if !matches!(installed, Outcome::Passed) {
            return installed;
        }
    }
    let targets = match step::output("cargo", &["+nightly", "fuzz", "list"]) {
        Ok(text) => text,
        Err(why) => return Outcome::Failed(why),
    };
    for target in targets.split_whitespace() {
        // What it finds goes beside the build; the seeds in git stay as they are.
        let found = format!("fuzz/target/corpus/{target}");
        let seeds = format!("fuzz/corpus/{target}");
        if let Err(error) = std::fs::create_dir_all(&found) {
            return Outcome::Failed(format!("{found}: {error}"));
        }
        let args = ["+nightly", "fuzz", "run", target, &found, &seeds, "--", "-max_total_time=10"];
        let outcome = step::run("cargo", &args, &[]);
        if !matches!(outcome, Outcome::Passed) {
            return outcome;
        }
    }
    Outcome::Passed
}

/// What `fanfare` ends with where the machine was too busy in every trial.
const TOO_BUSY: i32 = 5;

/// A missing peer is told of and left out.
fn reproduce() -> Outcome {
    if let Some(reason) = packages::interop_impossible() {
        return Outcome::Skipped(reason);
    }
    const RUN: [&str; 6] = ["run", "--release", "--locked", "-p", "fanfare-cli", "--"];
    const QUICK: [&str; 6] =
        ["lab", "reproduce", "s000-table2", "--quick", "--out", "target/reproduce"];
    step::cargo_unless(
        &[&RUN[..], &QUICK].concat(),
        TOO_BUSY,
        "this machine is too busy to measure",
    )
}

fn interop() -> Outcome {
    if let Some(reason) = packages::interop_impossible() {
        return Outcome::Skipped(reason);
    }
    let built = step::cargo(
        &["build", "--release", "--locked", "-p", "fanfare-cli", "-p", "fanfare-interop"],
        &[],
    );
    if !matches!(built, Outcome::Passed) {
        return built;
    }
    const RUN: [&str; 6] = ["run", "--release", "--locked", "-p", "fanfare-interop", "--"];
    for verb in [&["matrix", "--quick"][..], &["decode"]] {
        let outcome = step::cargo(&[&RUN, verb].concat(), &[]);
        if !matches!(outcome, Outcome::Passed) {
            return outcome;
        }
    }
    Outcome::Passed
}

fn main() -> ExitCode {
    let Some(task) = std::env::args().nth(1) else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    if task == "crash" {
        let args: Vec<String> = std::env::args().skip(2).collect();
        return simulated_crash::run(&args).unwrap_or_else(|| crash::run(&args));
    }
    if task == "small-files" {
        return small_files::run(&std::env::args().skip(2).collect::<Vec<_>>());
    }
    let chosen: Vec<Step> = match task.as_str() {
        "ci" => steps(),
        name => steps().into_iter().filter(|step| step.name == name).collect(),
    };
    if chosen.is_empty() {
        eprintln!("error: task '{task}': no such task.\n{USAGE}");
        return ExitCode::from(2);
    }
    step::run_all(chosen)
}
