//! Kills senders and receivers at random moments and starts them again, until everything is there:
//! it must be the same files, and little of them may have travelled twice.
//!
//! - `scene`: what is sent, to whom, and who is killed when; `round`: one of them, played
//! - `tree`: what a directory has beside files, and its second version; `trouble`: disks that
//!   are full, read-only or gone, and clocks set back
//! - `side`: a running command; `observer`: what the group's own traffic says
//!
//! Not part of `ci`: it takes as long as it is told to.

mod news;
mod observer;
mod round;
mod scene;
mod side;
mod tree;
mod trouble;

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering},
    },
};

use crate::step::{self, Outcome};
use round::{Played, Round};
use scene::{Kind, Scene};

/// What the command line asks for.
struct Options {
    /// At most so many rounds.
    rounds: u64,
    /// Enough when so many nodes have been killed.
    kills: u64,
    seed: u64,
    /// Rounds at a time.
    jobs: usize,
    /// Only rounds of this kind.
    only: Option<Kind>,
    /// Where the output of failed rounds goes.
    keep: Option<PathBuf>,
    /// What is run, if it is not built first.
    program: Option<PathBuf>,
}

impl Options {
    fn parse(args: &[String]) -> Result<Self, String> {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let mut options = Self {
            rounds: 0,
            kills: 0,
            seed: 1,
            jobs: cores,
            only: None,
            keep: None,
            program: None,
        };
        let mut words = args.iter();
        while let Some(name) = words.next() {
            let value = words.next().ok_or_else(|| format!("{name}: needs a value"))?;
            let number = || value.parse().map_err(|_| format!("{name} ({value}): not a number"));
            match name.as_str() {
                "--rounds" => options.rounds = number()?,
                "--kills" => options.kills = number()?,
                "--seed" => options.seed = number()?,
                "--jobs" => options.jobs = number()?.max(1) as usize,
                "--scene" => options.only = Some(Kind::parse(value)?),
                "--keep" => options.keep = Some(value.into()),
                "--binary" => options.program = Some(value.into()),
                _ => return Err(format!("{name}: no such option")),
            }
        }
        match (options.rounds, options.kills) {
            (0, 0) => options.rounds = 20,
            (0, _) => options.rounds = u64::MAX,
            (_, 0) => options.kills = u64::MAX,
            _ => {}
        }
        if options.kills == 0 {
            options.kills = u64::MAX;
        }
        Ok(options)
    }
}

/// What all rounds together gave.
#[derive(Default)]
struct Tally {
    passed: u64,
    failed: u64,
    wrong: u64,
    sender_kills: u64,
    receiver_kills: u64,
    troubles: u64,
    /// The largest share of what may travel again that did, in percent, and its seed.
    worst: (u64, u64),
    overruns: u64,
}

/// `crash [--rounds N] [--kills N] [--seed N] [--jobs N] [--scene KIND] [--keep DIR] [--binary PROGRAM]`.
pub(crate) fn run(args: &[String]) -> ExitCode {
    let options = match Options::parse(args) {
        Ok(options) => options,
        Err(why) => {
            eprintln!("error: {why}.");
            return ExitCode::from(2);
        }
    };
    let build = || step::cargo(&["build", "--quiet", "--locked", "-p", "fanfare-cli"], &[]);
    if options.program.is_none()
        && let Outcome::Failed(why) = build()
    {
        eprintln!("error: {why}");
        return ExitCode::FAILURE;
    }
    let program = options.program.clone().unwrap_or_else(built);
    let tally = Mutex::new(Tally::default());
    let next = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for _ in 0..options.jobs {
            scope.spawn(|| work(&options, &program, &next, &tally));
        }
    });
    let tally = tally.into_inner().unwrap_or_default();
    tally.report();
    if tally.failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Plays one round after the other until there were enough.
fn work(options: &Options, program: &Path, next: &AtomicU64, tally: &Mutex<Tally>) {
    loop {
        let number = next.fetch_add(1, Ordering::Relaxed);
        let kills = tally.lock().map_or(u64::MAX, |tally| tally.kills());
        if number >= options.rounds || kills >= options.kills {
            return;
        }
        let seed = options.seed + number;
        let scene = Scene::new(seed, options.only);
        let played = Round::new(seed, &scene, program).map(|mut round| {
            let played = round.play(&scene);
            if let (Some(dir), true) = (&options.keep, played.failure.is_some()) {
                round.keep(&dir.join(format!("seed-{seed}")));
            }
            played
        });
        let Ok(mut tally) = tally.lock() else { return };
        match played {
            Ok(played) => tally.count(seed, &scene, &played),
            Err(why) => {
                tally.failed += 1;
                println!("seed {seed} {}: FAILED: {why}", scene.kind.name());
            }
        }
    }
}

impl Tally {
    fn kills(&self) -> u64 {
        self.sender_kills + self.receiver_kills + self.troubles
    }

    fn count(&mut self, seed: u64, scene: &Scene, played: &Played) {
        self.sender_kills += played.sender_kills;
        self.receiver_kills += played.receiver_kills;
        self.troubles += played.troubles;
        self.wrong += u64::from(played.wrong);
        self.overruns += played.overruns;
        let share = (played.again * 100).checked_div(played.allowed).unwrap_or(0);
        self.worst = self.worst.max((share, seed));
        let told = format!(
            "seed {seed} {}: killed {:?}, {:.2} MiB sent again, {:.2} allowed",
            scene.kind.name(),
            played.killed,
            mib(played.again),
            mib(played.allowed),
        );
        match &played.failure {
            None => {
                self.passed += 1;
                println!("{told}");
            }
            Some(why) => {
                self.failed += 1;
                println!("{told}: FAILED: {why}");
            }
        }
    }

    fn report(&self) {
        println!(
            "{} kills ({} of senders, {} of receivers, {} full, read-only or removed disks, or clocks set back) in {} rounds: {} passed, {} failed, {} wrong \
             files; at most {} % of what may travel again did (seed {}); {} datagrams escaped the \
             observer",
            self.kills(),
            self.sender_kills,
            self.receiver_kills,
            self.troubles,
            self.passed + self.failed,
            self.passed,
            self.failed,
            self.wrong,
            self.worst.0,
            self.worst.1,
            self.overruns,
        );
    }
}

fn built() -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into());
    PathBuf::from(target).join("debug/fanfare")
}

fn mib(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}
