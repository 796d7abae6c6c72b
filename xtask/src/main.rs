//! Repository tasks: `cargo xtask ci` is all of CI, each step also runs alone.

mod no_io;
mod packages;
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
  no-io     wire, fec and proto build without an operating system
  fuzz      each fuzz target for a few seconds (needs nightly and cargo-fuzz)
  interop   against NRL's NORM in network namespaces (root; quick matrix)";

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
        cargo("test", &["test", "--workspace", "--locked"]),
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
    ]
}

/// A short run of each target: long enough to show that it builds and survives its corpus.
fn fuzz() -> Outcome {
    if !step::answers("cargo", &["+nightly", "fuzz", "--version"]) {
        return Outcome::Skipped("needs a nightly toolchain and `cargo install cargo-fuzz`".into());
    }
    let targets = match step::output("cargo", &["+nightly", "fuzz", "list"]) {
        Ok(text) => text,
        Err(why) => return Outcome::Failed(why),
    };
    for target in targets.split_whitespace() {
        let outcome = step::run(
            "cargo",
            &["+nightly", "fuzz", "run", target, "--", "-max_total_time=10"],
            &[],
        );
        if !matches!(outcome, Outcome::Passed) {
            return outcome;
        }
    }
    Outcome::Passed
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
