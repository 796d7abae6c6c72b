//! The node's tests of crashes on a simulated disk, as many of them as one likes.
//!
//! Not part of `ci`, whose tests do some thousands: 100,000 take minutes.

use std::process::ExitCode;

use crate::step::{self, Outcome};

const TEST: &str =
    "crash_safety::campaign::no_crash_leaves_a_wrong_file_or_takes_one_that_was_reported";

/// `crash --simulated N [--seed N]`; `None` when it is not that.
pub(crate) fn run(args: &[String]) -> Option<ExitCode> {
    let option = |name: &str| {
        let at = args.iter().position(|arg| arg == name)?;
        Some(args.get(at + 1).map_or("", String::as_str))
    };
    let crashes = option("--simulated")?;
    let seed = option("--seed").unwrap_or("1");
    let known = |pair: &[String]| matches!(pair[0].as_str(), "--simulated" | "--seed");
    if let Some(other) = args.chunks(2).find(|pair| !known(pair)) {
        eprintln!("error: {}: no option of a simulated crash.", other[0]);
        return Some(ExitCode::from(2));
    }
    if crashes.parse::<u64>().is_err() || seed.parse::<u64>().is_err() {
        eprintln!("error: crash ({crashes}, seed {seed}): not two numbers. Try --simulated 100000");
        return Some(ExitCode::from(2));
    }
    let env = [("FANFARE_CRASHES", crashes), ("FANFARE_SEED", seed)];
    let test = ["test", "--quiet", "--locked", "-p", "fanfare-files", "--lib", "--"];
    match step::cargo(&[&test[..], &["--exact", TEST, "--nocapture"]].concat(), &env) {
        Outcome::Passed | Outcome::PassedAgain(_) => Some(ExitCode::SUCCESS),
        Outcome::Failed(why) | Outcome::Skipped(why) => {
            eprintln!("error: {why}");
            Some(ExitCode::FAILURE)
        }
    }
}
