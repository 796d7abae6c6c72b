//! Repository tasks: `cargo xtask ci` is all of CI, each step also runs alone.

#![allow(clippy::print_stderr, clippy::print_stdout)]

mod all_tests;
mod api;
mod circles;
mod crash;
mod deny;
mod floors;
mod headers;
mod links;
mod no_io;
mod package;
mod packages;
mod platforms;
mod prose;
mod release_twice;
mod rows;
mod sanitize;
mod simulated_crash;
mod small_files;
mod source_tree;
mod step;
mod stream_property;
mod tidy;
mod web;

use std::process::ExitCode;
use step::{Outcome, Step};

const USAGE: &str = "usage: cargo xtask <task>
  ci        everything below, in this order, with a summary
  packages  install what the tests need (Debian, as root); name it elsewhere
  fmt       rustfmt, as a check
  tidy      the house rules that a program can check
  test      unit, property, scenario and command tests; what fails beside others runs once more, alone
  clippy    lints, warnings are errors
  docs      rustdoc, warnings are errors
  api       what a program sees of the crate fanfare is what public-api.txt says
  deny      licences, versions and sources of what others have written are what deny.toml allows
  rows      the table of the papers' rows in results is what results/rows.toml makes; `rows` writes
             it anew, `rows --check` compares
  no-io     wire, fec, proto and group build without an operating system
  interop   against NRL's NORM in network namespaces (root; quick matrix)
  short-trees  small directories and devices to several receivers, compared (root)
  reproduce two cells of the papers' tables in the laboratory, Fanfare and NORM (root)
  rate      `fanfare send` without --rate beside told rates, on five networks, with wide margins (root)
  roads     `fanfare send` on five slow, shaped or lossy roads beside told rates, with wide margins (root)
  hostile   transfers with an attacker on their link, a few cases of interop/hostile (root)
  players   video in real players while its rendition changes and its sender is restarted (root)
  restarts  ZeroMQ and NRL's programs on our libnorm.so.1 over restarts of either side (root)
  headers   the header of libfanfare is what its sources make (cbindgen); `headers --update` writes it
  fuzz      each fuzz target for a few seconds (needs nightly and cargo-fuzz)
  web       the live page in the tree is what its sources make (needs npm); `web` builds it anew,
             `web --check` compares
  pages     a browser looks at the live page and uses it (needs `web --check` before it, and Chromium)
  api-update  not in ci: writes public-api.txt anew
  platforms not in ci: clippy for Windows and macOS (needs mingw-w64 and cargo-zigbuild with zig)
  release-twice  not in ci: the release built in two places is the same, [--target TRIPLE]... [--dir DIR]
  package   not in ci: every crate that is published makes a package, [--verify]
  crash     not in ci: kill sender or receiver and resume, [--rounds 20 | --kills N] [--seed 1]
             [--jobs N] [--scene KIND] [--keep DIR] [--binary PROGRAM]; or crash a receiver's simulated disk, --simulated 100000 [--seed 1]
  trees     not in ci: real directories twice to three receivers, compared by rsync,
             [--short] [--tree PATH]... [--filter NAME] [--rate RATE] [--binary PROGRAM] [--out PAGE]
  devices   not in ci: a disk to ten loop devices, and again after kills, [--short] [--kills N]
             [--seed 1] [--binary PROGRAM] [--out PAGE]
  sanitize  not in ci: the C ABI of libnorm under a thread sanitizer (needs nightly) and valgrind,
             and ZeroMQ on it under valgrind (root)
  stream-property  not in ci: streams over a bad network, [--seeds 100000]
  small-files  not in ci: 100,000 small files beside one large one, [--rate 100M,200M] [--runs 3]";

/// The bridge to NATS is left out unless it is asked for; CI tests it, too.
const NATS: &str = "fanfare-cli/nats";

fn cargo(name: &'static str, args: &'static [&'static str]) -> Step {
    Step::new(name, move || step::cargo(args, &[]))
}

fn steps() -> Vec<Step> {
    vec![
        Step::new("packages", packages::install),
        cargo("fmt", &["fmt", "--all", "--check"]),
        Step::new("tidy", tidy::check),
        Step::new("test", all_tests::run),
        cargo(
            "clippy",
            &[
                "clippy",
                "--workspace",
                "--features",
                NATS,
                "--all-targets",
                "--locked",
                "--",
                "-D",
                "warnings",
            ],
        ),
        Step::new("docs", || {
            step::cargo(
                &["doc", "--workspace", "--features", NATS, "--no-deps", "--locked"],
                &[("RUSTDOCFLAGS", "-D warnings")],
            )
        }),
        Step::new("api", api::check),
        Step::new("deny", deny::check),
        Step::new("web", web::check),
        Step::new("pages", pages).within(46),
        Step::new("rows", rows::check),
        Step::new("no-io", no_io::check),
        Step::new("headers", headers::check).within(48),
        Step::new("interop", interop).within(50),
        Step::new("short-trees", short_trees).within(54),
        Step::new("reproduce", reproduce).within(58),
        Step::new("rate", rate).within(60),
        Step::new("roads", roads).within(61),
        Step::new("hostile", hostile).within(62),
        Step::new("players", players).within(63),
        Step::new("restarts", restarts).within(64),
        Step::new("fuzz", fuzz).within(65),
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
    // All at once: one target alone keeps one processor busy.
    let built = step::cargo(&["+nightly", "fuzz", "build"], &[]);
    if !matches!(built, Outcome::Passed) {
        return built;
    }
    for target in targets.split_whitespace() {
        // What it finds goes beside the build; the seeds in git stay as they are.
        let found = format!("fuzz/target/corpus/{target}");
        let seeds = format!("fuzz/corpus/{target}");
        if let Err(error) = std::fs::create_dir_all(&found) {
            return Outcome::Failed(format!("{found}: {error}"));
        }
        let args = ["+nightly", "fuzz", "run", target, &found, &seeds, "--", "-max_total_time=5"];
        let outcome = step::run("cargo", &args, &[]);
        if !matches!(outcome, Outcome::Passed) {
            return outcome;
        }
    }
    Outcome::Passed
}

/// The tests of the live page in a browser, with what `web` has built.
fn pages() -> Outcome {
    let built = web::folder();
    let Ok(built) = std::path::absolute(&built).map(|path| path.display().to_string()) else {
        return Outcome::Failed(format!("{}: is no path", built.display()));
    };
    if !std::path::Path::new(&built).is_dir() {
        return Outcome::Skipped(format!("{built} is not there: run `cargo xtask web --check`"));
    }
    let args = [
        "test",
        "--workspace",
        "--features",
        NATS,
        "--locked",
        "--test",
        "browser",
        "--no-fail-fast",
    ];
    step::cargo(&args, &[("FANFARE_WEB", &built)])
}

/// What `fanfare` ends with where the machine was too busy in every trial.
const TOO_BUSY: i32 = 5;

/// A program as the tests run it: nothing is compiled for the laboratory alone.
fn tested(program: &str) -> Result<String, Outcome> {
    let built =
        step::cargo(&["test", "--workspace", "--features", NATS, "--locked", "--no-run"], &[]);
    match built {
        Outcome::Passed => {
            let target = std::env::var("CARGO_TARGET_DIR").unwrap_or_else(|_| "target".into());
            Ok(format!("{target}/debug/{program}"))
        }
        other => Err(other),
    }
}

/// What `interop/players/run.py` ends with where the stage was not what was wanted, and how often it is tried then.
const NOT_TRIED: i32 = 2;
const PLAYERS_TRIES: u32 = 3;
/// What `fanfare` ends with where the system refuses namespaces or devices.
const REFUSED: i32 = 4;

/// Each network is measured up to three times: a busy neighbour does not fail it.
fn rate() -> Outcome {
    if let Some(reason) = packages::namespaces_impossible() {
        return Outcome::Skipped(reason);
    }
    match tested("fanfare") {
        Ok(program) => step::run_unless(
            &program,
            &["bench", "rate", "--quick"],
            REFUSED,
            "this system refuses network namespaces or TAP devices, even to root",
        ),
        Err(outcome) => outcome,
    }
}

/// A road that falls short is measured twice: a busy neighbour does not fail it.
fn roads() -> Outcome {
    if let Some(reason) = packages::roads_impossible() {
        return Outcome::Skipped(reason);
    }
    match tested("fanfare") {
        Ok(program) => step::run_unless(
            &program,
            &["bench", "roads", "--short"],
            REFUSED,
            "this system refuses network namespaces, even to root",
        ),
        Err(outcome) => outcome,
    }
}

/// All cases, with times beside the undisturbed run, are a command: `interop/hostile/README.md`.
fn hostile() -> Outcome {
    if let Some(reason) = packages::namespaces_impossible() {
        return Outcome::Skipped(reason);
    }
    if !step::answers("python3", &["--version"]) {
        return Outcome::Skipped("needs python3".into());
    }
    match tested("fanfare") {
        Ok(program) => {
            let args = ["interop/hostile/run.py", &program, "--short", "--size", "3"];
            step::run("python3", &args, &[])
        }
        Err(outcome) => outcome,
    }
}

/// Twenty changes, two restarts and all players are a command: `interop/players/run.py`.
fn players() -> Outcome {
    if let Some(reason) = packages::namespaces_impossible() {
        return Outcome::Skipped(reason);
    }
    let needed = [("python3", "--version"), ("ffmpeg", "-version")];
    if let Some((name, _)) = needed.iter().find(|(name, say)| !step::answers(name, &[*say])) {
        return Outcome::Skipped(format!("needs {name}"));
    }
    match tested("fanfare") {
        Ok(program) => {
            let args = ["interop/players/run.py", &program, "--short"];
            let busy = "this machine is too busy for video";
            let once = || step::run_unless("python3", &args, NOT_TRIED, busy);
            let is_tried = |outcome: &Outcome| !matches!(outcome, Outcome::Skipped(_));
            let tried = (1..PLAYERS_TRIES).map(|_| once()).find(is_tried);
            tried.unwrap_or_else(once)
        }
        Err(outcome) => outcome,
    }
}

/// Fifty restarts of each side, and NRL's own programs, are a command: `interop/restarts/run.py`.
fn restarts() -> Outcome {
    if let Some(reason) = packages::interop_impossible() {
        return Outcome::Skipped(reason);
    }
    if !step::answers("/usr/bin/python3", &["--version"]) {
        return Outcome::Skipped("needs python3".into());
    }
    match tested("") {
        Ok(folder) => step::run("python3", &["interop/restarts/run.py", &folder, "--short"], &[]),
        Err(outcome) => outcome,
    }
}

/// A missing peer is told of and left out.
fn reproduce() -> Outcome {
    if let Some(reason) = packages::interop_impossible() {
        return Outcome::Skipped(reason);
    }
    let quick = ["lab", "reproduce", "s000-table2", "--quick", "--out", "target/reproduce"];
    // A satellite in a low orbit: the road changes while the proxy uses it.
    let satellite =
        ["bench", "proxy", "--road", "leo", "--ways", "tcp-cubic,norm-auto", "--seconds", "21"];
    match tested("fanfare") {
        Ok(program) => {
            let busy = "this machine is too busy to measure";
            match step::run_unless(&program, &quick, TOO_BUSY, busy) {
                Outcome::Passed => step::run(&program, &satellite, &[]),
                outcome => outcome,
            }
        }
        Err(outcome) => outcome,
    }
}

fn interop() -> Outcome {
    if let Some(reason) = packages::interop_impossible() {
        return Outcome::Skipped(reason);
    }
    let program = match tested("interop") {
        Ok(program) => program,
        Err(outcome) => return outcome,
    };
    let verbs: [&[&str]; 5] =
        [&["matrix", "--quick"], &["decode"], &["zeromq", "--quick"], &["calls"], &["norp"]];
    for verb in verbs {
        let outcome = step::run(&program, verb, &[]);
        if !matches!(outcome, Outcome::Passed) {
            return outcome;
        }
    }
    Outcome::Passed
}

fn zeromq_under_valgrind() -> Outcome {
    match tested("interop") {
        Ok(program) => step::run(&program, &["zeromq", "--valgrind", "--quick"], &[]),
        Err(outcome) => outcome,
    }
}

/// The program as the tests run it, with directories and devices that take seconds.
fn short_trees() -> Outcome {
    if let Some(reason) = packages::interop_impossible() {
        return Outcome::Skipped(reason);
    }
    let (interop, fanfare) = match (tested("interop"), tested("fanfare")) {
        (Ok(interop), Ok(fanfare)) => (interop, fanfare),
        (Err(outcome), _) | (_, Err(outcome)) => return outcome,
    };
    for task in ["trees", "devices"] {
        let outcome = step::run(&interop, &[task, "--short", "--binary", &fanfare], &[]);
        if !matches!(outcome, Outcome::Passed) {
            return outcome;
        }
    }
    Outcome::Passed
}

/// A task of the crate `interop`, with all its options.
fn of_interop(task: &str, options: &[String]) -> ExitCode {
    let mut args = vec!["run", "--quiet", "--locked", "-p", "fanfare-interop", "--", task];
    args.extend(options.iter().map(String::as_str));
    match step::cargo(&args, &[]) {
        Outcome::Passed | Outcome::PassedAgain(_) => ExitCode::SUCCESS,
        Outcome::Failed(why) | Outcome::Skipped(why) => {
            eprintln!("error: {why}");
            ExitCode::FAILURE
        }
    }
}

/// What the command line asks for.
#[derive(Debug, PartialEq, Eq)]
enum Asked<'a> {
    Help,
    ApiUpdate,
    /// For other systems than this one.
    Platforms,
    Crash(&'a [String]),
    /// The release in two places, compared.
    ReleaseTwice(&'a [String]),
    /// Packages of all crates.
    Package(&'a [String]),
    SmallFiles(&'a [String]),
    /// Of the crate `interop`.
    OfInterop(&'a str, &'a [String]),
    StreamProperty(&'a [String]),
    /// The C ABI under sanitizers.
    Sanitize,
    /// The page is built anew.
    Web,
    /// The table of the papers' rows is written anew.
    Rows,
    /// The header of libfanfare is written anew.
    Headers,
    /// All steps, or the one of this name.
    Steps(Option<&'a str>),
}

impl<'a> Asked<'a> {
    /// Errors: what is not understood. A step takes no options: with one that it does not know it must
    /// not run for an hour.
    fn parse(args: &'a [String], steps: &[&str]) -> Result<Self, String> {
        let Some((task, options)) = args.split_first() else {
            return Err("task: none is given".into());
        };
        if args.iter().any(|word| matches!(word.as_str(), "--help" | "-h" | "help")) {
            return Ok(Self::Help);
        }
        let asked = match task.as_str() {
            "crash" => return Ok(Self::Crash(options)),
            "release-twice" => return Ok(Self::ReleaseTwice(options)),
            "package" => return Ok(Self::Package(options)),
            "trees" | "devices" => return Ok(Self::OfInterop(task, options)),
            "small-files" => return Ok(Self::SmallFiles(options)),
            "stream-property" => return Ok(Self::StreamProperty(options)),
            "api-update" => Self::ApiUpdate,
            "sanitize" => Self::Sanitize,
            "platforms" => Self::Platforms,
            "web" if options == ["--check"] => return Ok(Self::Steps(Some("web"))),
            "web" => Self::Web,
            "rows" if options == ["--check"] => return Ok(Self::Steps(Some("rows"))),
            "rows" => Self::Rows,
            "headers" if options == ["--update"] => return Ok(Self::Headers),
            "ci" => Self::Steps(None),
            name if steps.contains(&name) => Self::Steps(Some(name)),
            name => return Err(format!("task '{name}': no such task")),
        };
        match options.first() {
            None => Ok(asked),
            Some(option) => Err(format!("option '{option}': {task} takes none")),
        }
    }
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let steps = steps();
    let names: Vec<&str> = steps.iter().map(|step| step.name).collect();
    match Asked::parse(&args, &names) {
        Ok(Asked::Help) => {
            println!("{USAGE}");
            ExitCode::SUCCESS
        }
        Ok(Asked::ApiUpdate) => api::update(),
        Ok(Asked::Sanitize) => step::run_all(sanitize::steps(zeromq_under_valgrind)),
        Ok(Asked::Platforms) => step::run_all(vec![Step::new("platforms", platforms::check)]),
        Ok(Asked::Rows) => rows::update(),
        Ok(Asked::Web) => step::run_all(vec![Step::new("web", web::build)]),
        Ok(Asked::Headers) => step::run_all(vec![Step::new("headers", headers::update)]),
        Ok(Asked::Crash(options)) => {
            simulated_crash::run(options).unwrap_or_else(|| crash::run(options))
        }
        Ok(Asked::ReleaseTwice(options)) => release_twice::run(options),
        Ok(Asked::Package(options)) => package::run(options),
        Ok(Asked::OfInterop(task, options)) => of_interop(task, options),
        Ok(Asked::SmallFiles(options)) => small_files::run(options),
        Ok(Asked::StreamProperty(options)) => stream_property::run(options),
        Ok(Asked::Steps(wanted)) => {
            let chosen = |step: &Step| wanted.is_none_or(|name| step.name == name);
            step::run_all(steps.into_iter().filter(chosen).collect())
        }
        Err(why) => {
            eprintln!("error: {why}.\n{USAGE}");
            ExitCode::from(2)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<String, String> {
        let args: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        Asked::parse(&args, &["fmt", "tidy"]).map(|asked| format!("{asked:?}"))
    }

    #[test]
    fn help_is_given_wherever_it_is_asked_for_and_runs_nothing() {
        for line in ["--help", "help", "-h", "ci --help", "fmt -h", "crash --rounds 3 --help"] {
            assert_eq!(parse(line).as_deref(), Ok("Help"), "{line}");
        }
    }

    #[test]
    fn what_a_task_does_not_know_is_refused_before_anything_runs() {
        assert_eq!(parse("ci").as_deref(), Ok("Steps(None)"));
        assert_eq!(parse("tidy").as_deref(), Ok("Steps(Some(\"tidy\"))"));
        assert!(parse("crash --rounds 3").is_ok());
        assert!(parse("trees --short --tree /usr").is_ok());
        assert_eq!(parse("web").as_deref(), Ok("Web"));
        assert_eq!(parse("platforms").as_deref(), Ok("Platforms"));
        assert_eq!(parse("web --check").as_deref(), Ok("Steps(Some(\"web\"))"));
        assert_eq!(parse("rows").as_deref(), Ok("Rows"));
        assert_eq!(parse("rows --check").as_deref(), Ok("Steps(Some(\"rows\"))"));
        for line in ["", "fly", "ci --quick", "ci fmt", "tidy --fix", "web --fix", "rows --fix"] {
            assert!(parse(line).is_err(), "{line}");
        }
    }
}
