//! What many small files cost beside one large file of as many bytes: the same receivers, the same
//! rate, in turns, on this machine's loopback and disk.
//!
//! Not part of `ci`: a ratio of times is worth what the machine's quiet is worth.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Child, Command, ExitCode, Stdio},
    time::{Duration, Instant},
};

use crate::step::{self, Outcome};

/// Files in a directory of the tree.
const PER_DIRECTORY: u64 = 1000;
/// Receivers are up when they have made sure that they can write.
const SETTLE: Duration = Duration::from_secs(20);

/// What is measured.
struct Plan {
    files: u64,
    size: u64,
    receivers: u64,
    runs: u64,
    rates: Vec<String>,
    dir: PathBuf,
}

/// `small-files [--files N] [--size BYTES] [--receivers N] [--runs N] [--rate RATE[,RATE]] [--dir DIR]`.
pub(crate) fn run(args: &[String]) -> ExitCode {
    let plan = match Plan::parse(args) {
        Ok(plan) => plan,
        Err(why) => {
            eprintln!("error: {why}.");
            return ExitCode::from(2);
        }
    };
    let outcome = plan.measure();
    let _ = fs::remove_dir_all(&plan.dir);
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("error: small files ({}): {why}", plan.dir.display());
            ExitCode::FAILURE
        }
    }
}

impl Plan {
    fn parse(args: &[String]) -> Result<Self, String> {
        let mut plan = Self {
            files: 100_000,
            size: 1000,
            receivers: 3,
            runs: 3,
            rates: ["100M", "200M"].map(str::to_owned).into(),
            dir: std::env::temp_dir(),
        };
        let mut words = args.iter();
        while let Some(name) = words.next() {
            let value = words.next().ok_or_else(|| format!("{name}: needs a value"))?;
            let number = || value.parse().map_err(|_| format!("{name} ({value}): not a number"));
            match name.as_str() {
                "--files" => plan.files = number()?,
                "--size" => plan.size = number()?,
                "--receivers" => plan.receivers = number()?,
                "--runs" => plan.runs = number()?,
                "--rate" => plan.rates = value.split(',').map(str::to_owned).collect(),
                "--dir" => plan.dir = value.into(),
                _ => return Err(format!("{name}: no such option")),
            }
        }
        plan.dir.push(format!("fanfare-small-files-{}", std::process::id()));
        Ok(plan)
    }

    fn measure(&self) -> Result<(), String> {
        let build = ["build", "--quiet", "--release", "--locked", "-p", "fanfare-cli"];
        if let Outcome::Failed(why) = step::cargo(&build, &[]) {
            return Err(why);
        }
        self.make_sources().map_err(|error| error.to_string())?;
        println!(
            "{} files of {} bytes to {} receivers, beside one file of as many bytes; seconds from \
             the sender's start to its end, all receipts in",
            self.files, self.size, self.receivers
        );
        for rate in &self.rates {
            let (mut one, mut many) = (Vec::new(), Vec::new());
            for run in 0..self.runs {
                one.push(self.once("large", rate, run)?);
                many.push(self.once("tree", rate, run)?);
            }
            println!(
                "rate {rate}: one file {:.2} s of {one:.2?}, small files {:.2} s of {many:.2?}: \
                 ratio {:.2}",
                median(&one),
                median(&many),
                median(&many) / median(&one)
            );
        }
        Ok(())
    }

    /// The tree, and the file that is as long as all of it.
    fn make_sources(&self) -> std::io::Result<()> {
        let mut large = Vec::new();
        for number in 0..self.files {
            let directory = self.dir.join(format!("tree/{:04}", number / PER_DIRECTORY));
            if number % PER_DIRECTORY == 0 {
                fs::create_dir_all(&directory)?;
            }
            let content: Vec<u8> = (0..self.size)
                .map(|at| ((at * 31) ^ (number.wrapping_mul(97) >> (at % 13))) as u8)
                .collect();
            fs::write(directory.join(format!("file-{number:07}")), &content)?;
            large.extend_from_slice(&content);
        }
        fs::write(self.dir.join("large"), large)
    }

    /// One sending of `what`; how long it took. What has come stays until all is measured: ext4
    /// without a journal passes over inodes deleted lately one by one, and creating a file after
    /// so many were deleted takes it five times as long.
    fn once(&self, what: &str, rate: &str, run: u64) -> Result<f64, String> {
        let port = 20_000 + std::process::id() % 40_000;
        let group = format!("239.255.42.13:{port}");
        let net = ["--group", &group, "--interface", "127.0.0.1", "--quiet"];
        let targets: Vec<PathBuf> = (0..self.receivers)
            .map(|n| self.dir.join(format!("{what}-{rate}-{run}-{n}")))
            .collect();
        let mut receivers = Vec::new();
        for (number, target) in targets.iter().enumerate() {
            let name = format!("--name=r{number}");
            let mut command = Command::new(binary());
            command.arg("recv").arg(target).args(["--create-dirs", "--once", &name]).args(net);
            receivers.push(Running(
                command
                    .stdin(Stdio::null())
                    .stdout(Stdio::null())
                    .spawn()
                    .map_err(|e| e.to_string())?,
            ));
        }
        let begun = Instant::now();
        while !targets.iter().all(|target| target.is_dir()) && begun.elapsed() < SETTLE {
            std::thread::yield_now();
        }
        // What earlier runs have left for the disk to do is not this one's.
        step::output("sync", &[])?;
        let expect = format!("--expect={}", self.receivers);
        let mut sender = Command::new(binary());
        sender
            .arg("send")
            .arg(self.dir.join(what))
            .args([&expect, "--cc=fixed", "--rate", rate])
            .args(net);
        let begun = Instant::now();
        let status = sender
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .status()
            .map_err(|e| e.to_string())?;
        let taken = begun.elapsed().as_secs_f64();
        if !status.success() {
            return Err(format!("the sender of '{what}' at {rate} ended with {status}"));
        }
        for receiver in &mut receivers {
            let status = receiver.0.wait().map_err(|e| e.to_string())?;
            if !status.success() {
                return Err(format!("a receiver of '{what}' at {rate} ended with {status}"));
            }
        }
        targets.iter().try_for_each(|target| self.check(what, target))?;
        Ok(taken)
    }

    /// Receivers verify by hash; here it is made sure that they did not leave anything out.
    fn check(&self, what: &str, target: &Path) -> Result<(), String> {
        let count = count_files(&target.join(what)).map_err(|error| error.to_string())?;
        let wanted = if what == "tree" { self.files } else { 1 };
        if count == wanted { Ok(()) } else { Err(format!("{count} files of {wanted} arrived")) }
    }
}

fn count_files(path: &Path) -> std::io::Result<u64> {
    if path.is_file() {
        return Ok(1);
    }
    fs::read_dir(path)?.try_fold(0, |sum, entry| Ok(sum + count_files(&entry?.path())?))
}

/// The middle one.
fn median(times: &[f64]) -> f64 {
    let mut sorted = times.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Ends with the measurement, whatever becomes of it.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn binary() -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into());
    PathBuf::from(target).join("release/fanfare")
}
