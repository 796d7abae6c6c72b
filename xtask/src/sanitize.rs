//! The C ABI of libnorm under a thread sanitizer and under valgrind, and ZeroMQ's transport on it.

use crate::step::{self, Outcome, Step};

/// Who calls the C functions from several threads, and sends through them.
const TESTS: [&str; 6] = ["-p", "fanfare-norm", "--test", "exchange", "--test", "refusals"];
const VALGRIND: &str = "valgrind --quiet --error-exitcode=9 --leak-check=full \
                        --errors-for-leak-kinds=definite --fair-sched=yes";

/// All of them, each as a step.
pub(crate) fn steps(interop: fn() -> Outcome) -> Vec<Step> {
    vec![
        Step::new("threads", threads),
        Step::new("memory", memory),
        Step::new("memory-zeromq", interop),
    ]
}

/// The standard library is built with the sanitizer, too: it does not see what is not.
fn threads() -> Outcome {
    if !step::answers("cargo", &["+nightly", "--version"]) {
        let what = "needs `rustup toolchain install nightly --component rust-src`";
        return Outcome::Skipped(what.into());
    }
    let target = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    let before = ["+nightly", "test", "-Zbuild-std", "--target", &target];
    let env = [("RUSTFLAGS", "-Zsanitizer=thread"), ("CARGO_TARGET_DIR", "target/sanitize")];
    step::cargo(&[&before[..], &TESTS].concat(), &env)
}

fn memory() -> Outcome {
    if !step::answers("valgrind", &["--version"]) {
        return Outcome::Skipped("needs valgrind".into());
    }
    let name = std::env::consts::ARCH.to_uppercase();
    let runner = format!("CARGO_TARGET_{name}_UNKNOWN_LINUX_GNU_RUNNER");
    // One after another: valgrind runs one thread at a time, and tests wait for what others do.
    let words = [&["test"][..], &TESTS, &["--", "--test-threads", "1"]].concat();
    step::cargo(&words, &[(&runner, VALGRIND)])
}
