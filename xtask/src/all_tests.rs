//! The tests of the workspace. What fails beside others is run again, alone, twice at most.
//!
//! Many tests start real programs that keep time with each other. On a machine whose processors
//! are taken away for seconds, one of a thousand may be late. Such a test passes alone, and the
//! summary says its name. A fault fails alone, too.

use std::collections::BTreeMap;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::NATS;
use crate::step::{self, Outcome};

/// More than so many failures are no accident of timing: none is run again. One run of 2,300
/// tests had ten on a machine that took three times as long as others do.
const AGAIN_MAX: usize = 24;

/// Number of times that a test which has failed is run alone. One of twelve receivers by code fails in one of five
/// runs on a quiet machine, too, and once failed both times that it was run. It stays a fault: the summary names what
/// failed.
const ALONE_MAX: usize = 2;

/// The last lines of a program that has ended are read by then.
const LAST_LINES: Duration = Duration::from_secs(2);

/// A panic's place and what it says: most say one line more, and a few print a program's errors.
const SAID_LINES: usize = 12;

/// Tests that failed, by the option of cargo that chooses their program.
type FailedTests = BTreeMap<Vec<String>, Vec<String>>;

/// All tests, several at once; then those that failed, one at a time.
pub(crate) fn run() -> Outcome {
    // All that fails is told in one run. Most of a test's time goes by in waiting for programs, so
    // that twice as many as there are processors end a third sooner (555 s and 330 s of the
    // command line's).
    let (first, printed) = match tested(&[], &["--no-fail-fast"], "4") {
        Ok(done) => done,
        Err(why) => return Outcome::Failed(format!("cargo test: {why}")),
    };
    if first {
        return Outcome::Passed;
    }
    let failures = failures(&printed);
    let all: Vec<&str> = failures.values().flatten().map(String::as_str).collect();
    if all.is_empty() || all.len() > AGAIN_MAX {
        // Who reads the last lines only must learn where to look.
        let named = all[..all.len().min(AGAIN_MAX)].join(", ");
        return Outcome::Failed(format!("cargo test: {} tests failed: {named}", all.len()));
    }
    for (chosen, names) in &failures {
        let mut rest = vec!["--", "--exact"];
        rest.extend(names.iter().map(String::as_str));
        let chosen: Vec<&str> = chosen.iter().map(String::as_str).collect();
        let mut left = ALONE_MAX;
        loop {
            left -= 1;
            match tested(&chosen, &rest, "1") {
                Ok((true, printed)) if passed(&printed) >= names.len() => break,
                Ok((_, printed)) if left == 0 => return Outcome::Failed(alone(&printed, names)),
                Ok(_) => {}
                Err(why) => return Outcome::Failed(format!("cargo test: {why}")),
            }
        }
    }
    Outcome::PassedAgain(format!("failed beside others, passed alone: {}", all.join(", ")))
}

/// True if all passed, with what was printed, which a reader has seen as it came.
fn tested(chosen: &[&str], rest: &[&str], threads: &str) -> io::Result<(bool, String)> {
    let (mut reader, writer) = io::pipe()?;
    let mut command = Command::new("cargo");
    command.args(["test", "--workspace", "--features", NATS, "--locked"]).args(chosen).args(rest);
    command.env("RUST_TEST_THREADS", threads).stdin(Stdio::null());
    command.stdout(writer.try_clone()?).stderr(writer);
    let printed = Arc::new(Mutex::new(String::new()));
    let kept = Arc::clone(&printed);
    let printing = std::thread::spawn(move || {
        let mut lines = BufReader::new(&mut reader);
        let mut line = Vec::new();
        // What cannot be shown is still read, so that nobody waits for us.
        while lines.read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
            let _ = io::stderr().write_all(&line);
            if let Ok(mut all) = kept.lock() {
                all.push_str(&String::from_utf8_lossy(&line));
            }
            line.clear();
        }
    });
    let status = step::ends_within(step::LONGEST, &mut command);
    drop(command);
    // A program that a test has left behind may hold our end: what it prints is not waited for.
    let ended = Instant::now();
    while !printing.is_finished() && ended.elapsed() < LAST_LINES {
        std::thread::sleep(Duration::from_millis(20));
    }
    let printed = printed.lock().map(|all| all.clone()).unwrap_or_default();
    match status {
        Ok(status) => Ok((status.success(), printed)),
        Err(why) => Err(io::Error::other(why)),
    }
}

/// Names of failed tests, as cargo's and the test programs' lines tell them.
fn failures(printed: &str) -> FailedTests {
    let mut chosen = Vec::new();
    let mut failures = FailedTests::new();
    for line in printed.lines() {
        if let Some(program) = line.trim_start().strip_prefix("Running ") {
            chosen = chooses(program);
        } else if line.trim_start().starts_with("Doc-tests ") {
            chosen = vec!["--doc".to_owned()];
        } else if let Some(name) = failed(line) {
            failures.entry(chosen.clone()).or_default().push(name.to_owned());
        }
    }
    failures
}

/// The name in `test NAME ... FAILED`. A test's own output may stand between.
fn failed(line: &str) -> Option<&str> {
    line.strip_prefix("test ")?.strip_suffix(" ... FAILED")
}

/// The option for `unittests src/lib.rs (target/debug/deps/NAME-HASH)`, or another program's.
fn chooses(program: &str) -> Vec<String> {
    let name = program
        .rsplit_once('/')
        .and_then(|(_, file)| file.rsplit_once('-'))
        .map_or("", |(name, _)| name);
    match program.strip_prefix("unittests ") {
        Some(of) if of.starts_with("src/lib.rs") => vec!["--lib".to_owned()],
        Some(_) => vec!["--bins".to_owned()],
        None => vec!["--test".to_owned(), name.to_owned()],
    }
}

/// Text for tests that failed alone, too: their names and what each said first.
fn alone(printed: &str, names: &[String]) -> String {
    let failed: Vec<String> = failures(printed).into_values().flatten().collect();
    let named = if failed.is_empty() { names } else { &failed };
    let mut lines = printed.lines().skip_while(|line| !line.contains(" panicked at "));
    let said: Vec<&str> = lines.by_ref().take(SAID_LINES).collect();
    format!("failed alone, too: {}\n{}", named.join(", "), said.join("\n"))
}

/// Number of tests that passed, by the lines at the end of each program.
fn passed(printed: &str) -> usize {
    let ends = printed.lines().filter_map(|line| line.strip_prefix("test result: ok. "));
    ends.filter_map(|end| end.split(' ').next()?.parse::<usize>().ok()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRINTED: &str = "   Compiling fanfare v0.1.0
     Running unittests src/lib.rs (target/debug/deps/fanfare_auto-0123456789abcdef)
test a::b ... ok
test a::c ... FAILED
     Running unittests src/main.rs (target/debug/deps/fanfare-0123456789abcdef)
test d ... FAILED
     Running tests/islands/main.rs (target/debug/deps/islands-0123456789abcdef)
test rings::e ... FAILED
test rings::f ... FAILED
   Doc-tests fanfare
test crates/x/src/lib.rs - y (line 3) ... FAILED
";

    #[test]
    fn what_failed_is_found_with_the_option_that_chooses_its_program() {
        let found: Vec<(String, String)> = failures(PRINTED)
            .into_iter()
            .map(|(chosen, names)| (chosen.join(" "), names.join(" ")))
            .collect();
        let wanted = [
            ("--bins", "d"),
            ("--doc", "crates/x/src/lib.rs - y (line 3)"),
            ("--lib", "a::c"),
            ("--test islands", "rings::e rings::f"),
        ];
        assert_eq!(found, wanted.map(|(chosen, names)| (chosen.to_owned(), names.to_owned())));
    }

    #[test]
    fn what_fails_alone_is_told_with_its_reason() {
        let printed = "test a ... ok\nthread 'b' panicked at src/b.rs:1:2:\nfive of six\n\
            test b ... FAILED\n";
        let told = alone(printed, &["a".to_owned(), "b".to_owned()]);
        assert!(told.starts_with("failed alone, too: b\nthread 'b'"), "{told}");
        assert!(told.contains("five of six"), "{told}");
    }

    #[test]
    fn a_name_that_no_program_knows_has_not_passed() {
        let printed = "test result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 9 filtered out
test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 7 filtered out\n";
        assert_eq!(passed(printed), 2);
        assert_eq!(passed("test result: FAILED. 1 passed; 1 failed;\n"), 0);
    }
}
