//! Kills a sender or a receiver at a random moment and starts it again, until the file is there:
//! it must be the same file, and little of it may have travelled twice.
//!
//! Not part of `ci`: it takes as long as it is told to.

use std::{
    fs, io,
    io::{BufRead, BufReader, Read},
    path::{Path, PathBuf},
    process::{Child, Command, ExitCode, Stdio},
    sync::mpsc::{Receiver, RecvTimeoutError, channel},
    time::{Duration, Instant},
};

use crate::step::{self, Outcome};

const SIZE: u64 = 24 << 20;
/// What a crash may cost: 8 MiB that were not yet on disk, and a group's edges.
const LOST_PER_CRASH: u64 = 9 << 20;
/// Nothing in a round takes longer.
const LIMIT: Duration = Duration::from_secs(60);
/// A node is dead within the time that its lines take to end.
const POLL: Duration = Duration::from_millis(50);

/// `crash [--rounds N] [--seed N]`.
pub(crate) fn run(args: &[String]) -> ExitCode {
    let option = |name: &str, default: u64| {
        let at = args.iter().position(|arg| arg == name);
        at.and_then(|at| args.get(at + 1)?.parse().ok()).unwrap_or(default)
    };
    let (rounds, seed) = (option("--rounds", 20), option("--seed", 1));
    let built = step::cargo(&["build", "--quiet", "--locked", "-p", "fanfare-cli"], &[]);
    if let Outcome::Failed(why) = built {
        eprintln!("error: {why}");
        return ExitCode::FAILURE;
    }
    let (mut passed, mut failed) = (0, 0);
    for round in 0..rounds {
        let mut chance = Chance((seed + round).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        match Round::new(seed + round).and_then(|round| round.play(&mut chance)) {
            Ok(told) => {
                passed += 1;
                println!("round {round} (seed {}): {told}", seed + round);
            }
            Err(why) => {
                failed += 1;
                println!("round {round} (seed {}): FAILED: {why}", seed + round);
            }
        }
    }
    println!("{passed} passed, {failed} failed");
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Marsaglia's xorshift: enough to choose whom to kill.
struct Chance(u64);

impl Chance {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }
}

/// One file on its way, in a directory of its own.
struct Round {
    dir: PathBuf,
    group: String,
}

impl Drop for Round {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.dir);
    }
}

impl Round {
    fn new(seed: u64) -> Result<Self, String> {
        let dir = std::env::temp_dir().join(format!("fanfare-crash-{}-{seed}", std::process::id()));
        let port = 20_000 + (u64::from(std::process::id()) * 31 + seed) % 40_000;
        fs::create_dir_all(dir.join("in")).map_err(|e| e.to_string())?;
        let mut content = Vec::new();
        let random = fs::File::open("/dev/urandom").map_err(|e| e.to_string())?;
        random.take(SIZE).read_to_end(&mut content).map_err(|e| e.to_string())?;
        fs::write(dir.join("f"), content).map_err(|e| e.to_string())?;
        Ok(Self { dir, group: format!("239.255.42.11:{port}") })
    }

    fn start(&self, command: &str, args: &[&str]) -> Result<Side, String> {
        let path = self.dir.join(if command == "send" { "f" } else { "in" });
        let net = ["--group", &self.group, "--interface", "127.0.0.1", "--json"];
        Side::start(Command::new(binary()).arg(command).arg(path).args(args).args(net))
    }

    fn receiver(&self) -> Result<Side, String> {
        self.start("recv", &["--count=1"])
    }

    fn sender(&self) -> Result<Side, String> {
        self.start("send", &["--rate=100M"])
    }

    fn play(&self, chance: &mut Chance) -> Result<String, String> {
        let (mut receiver, mut sender) = (self.receiver()?, self.sender()?);
        let crashes = 1 + chance.below(3);
        let (mut wire, mut killed) = (0, String::new());
        for _ in 0..crashes {
            let until = SIZE * (5 + chance.below(90)) / 100;
            if !receiver.reaches(until)? {
                break;
            }
            let victim = chance.below(3);
            killed.push(['r', 's', 'b'][victim as usize]);
            if victim != 1 {
                receiver.kill();
            }
            if victim != 0 {
                sender.kill();
                wire += sender.wire_bytes();
                sender = self.sender()?;
            }
            if victim != 1 {
                receiver = self.receiver()?;
            }
        }
        receiver.end().map_err(|why| format!("receiver, killed {killed:?}: {why}"))?;
        sender.end().map_err(|why| format!("sender, killed {killed:?}: {why}"))?;
        wire += sender.wire_bytes();
        self.check(wire, killed.len() as u64)?;
        Ok(format!("killed {killed:?}, {:.2} of the file sent", wire as f64 / SIZE as f64))
    }

    fn check(&self, wire: u64, crashes: u64) -> Result<(), String> {
        let read = |path: &Path| fs::read(path).map_err(|e| format!("{}: {e}", path.display()));
        if read(&self.dir.join("f"))? != read(&self.dir.join("in/f"))? {
            return Err("the file is another one".into());
        }
        let entries: io::Result<Vec<_>> =
            fs::read_dir(self.dir.join("in")).and_then(|entries| entries.collect());
        let names = entries.map_err(|e| e.to_string())?.into_iter().map(|entry| entry.file_name());
        let left: Vec<_> = names.filter(|name| name != "f" && name != ".fanfare-ledger").collect();
        if !left.is_empty() {
            return Err(format!("left over: {left:?}"));
        }
        let allowed = (SIZE + crashes * LOST_PER_CRASH) * 105 / 100;
        if wire > allowed {
            return Err(format!("{wire} bytes were sent, {allowed} are allowed"));
        }
        Ok(())
    }
}

fn binary() -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into());
    PathBuf::from(target).join("debug/fanfare")
}

/// A running command and what it says.
struct Side {
    child: Child,
    lines: Receiver<String>,
    last: String,
    wire: u64,
    begun: Instant,
}

impl Drop for Side {
    fn drop(&mut self) {
        self.kill();
    }
}

impl Side {
    fn start(command: &mut Command) -> Result<Self, String> {
        let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = child.spawn().map_err(|e| e.to_string())?;
        let (sender, lines) = channel();
        let stdout = child.stdout.take().ok_or("no output")?;
        std::thread::spawn(move || {
            let mut lines = BufReader::new(stdout).lines().map_while(Result::ok);
            lines.try_for_each(|line| sender.send(line))
        });
        Ok(Self { child, lines, last: String::new(), wire: 0, begun: Instant::now() })
    }

    /// The next line; `None` when it has ended.
    fn next(&mut self) -> Result<Option<String>, String> {
        loop {
            match self.lines.recv_timeout(POLL) {
                Ok(line) => {
                    self.wire = number(&line, "wire_bytes").unwrap_or(self.wire);
                    self.last.clone_from(&line);
                    return Ok(Some(line));
                }
                Err(RecvTimeoutError::Disconnected) => return Ok(None),
                Err(RecvTimeoutError::Timeout) if self.begun.elapsed() < LIMIT => {}
                Err(RecvTimeoutError::Timeout) => {
                    return Err(format!("it does not end; last it said {}", self.last));
                }
            }
        }
    }

    /// Waits until so many bytes have come; false when it had ended before.
    fn reaches(&mut self, bytes: u64) -> Result<bool, String> {
        while let Some(line) = self.next()? {
            let progress = line.starts_with("{\"event\":\"progress\"");
            if progress && number(&line, "bytes").is_some_and(|n| n >= bytes) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    fn wire_bytes(&mut self) -> u64 {
        while let Ok(Some(_)) = self.next() {}
        self.wire
    }

    fn end(&mut self) -> Result<(), String> {
        while self.next()?.is_some() {}
        match self.child.wait().map_err(|e| e.to_string())?.code() {
            // A sender may call a receiver's killed life partial.
            Some(0 | 3) => Ok(()),
            other => Err(format!("exit {other:?}; last it said {}", self.last)),
        }
    }
}

/// The number of a field in a line of JSON that this program wrote itself.
fn number(line: &str, field: &str) -> Option<u64> {
    let (_, rest) = line.split_once(&format!("\"{field}\":"))?;
    rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}
