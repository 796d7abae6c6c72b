//! The property of streams over as many seeds as one likes: whatever is lost, repeated and reordered, what
//! is read is what was written between gaps that are told.
//!
//! Not part of `ci`, whose tests take a few hundred seeds: 100,000 take minutes.

use std::process::ExitCode;

use crate::step::{self, Outcome};

/// `stream-property [--seeds N]`.
pub(crate) fn run(options: &[String]) -> ExitCode {
    let seeds = match options {
        [] => "100000",
        [name, seeds] if name == "--seeds" && seeds.parse::<u64>().is_ok() => seeds,
        _ => {
            eprintln!("error: stream-property: takes --seeds N, such as --seeds 100000.");
            return ExitCode::from(2);
        }
    };
    let test = ["test", "--release", "--locked", "-p", "fanfare-proto", "--test", "streams"];
    let env = [("FANFARE_SEEDS", seeds)];
    match step::cargo(&[&test[..], &["--", "--nocapture"]].concat(), &env) {
        Outcome::Passed | Outcome::PassedAgain(_) => ExitCode::SUCCESS,
        Outcome::Failed(why) | Outcome::Skipped(why) => {
            eprintln!("error: {why}");
            ExitCode::FAILURE
        }
    }
}
