//! One file to many hosts without multicast, or where some do not hear it, from a sender with a thin
//! uplink: what leaves the sender, and how long it takes.
//!
//! - `job`: what all ways have in common
//! - `rsync`, `torrent`, `croc`: the same job by other programs.

mod croc;
mod job;
mod rsync;
mod torrent;

use std::{
    collections::BTreeSet,
    fs,
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use serde::Serialize;

use super::star::Star;
use crate::{
    error::{LabError, Refusal},
    host::{Host, INTERFACE},
    payload,
    process::Process,
    stop::Stop,
    system::{privileges, scratch::Scratch, tool},
};
use job::{BESIDE, Job, start, start_to, wait};

/// An Ethernet frame with the largest packet that all switches take.
const MTU: usize = 1500;
/// What may go at once through a limit, and wait before it: 10 and 80 ms at 100 Mbit/s.
const BURST: u64 = 128 << 10;
const QUEUE: u64 = 1 << 20;
/// A run that takes so many times what one copy for each receiver would is given up.
const PATIENCE: f64 = 3.0;

/// How the file goes to each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UplinkWay {
    /// `fanfare send --to`: receivers pass it on to each other.
    Served,
    /// `fanfare send --to --no-serve`: each packet goes to each of them.
    Copies,
    /// An rsync daemon on each, and as many rsyncs at once.
    Rsync,
    /// A torrent: aria2 at each of them, which find each other by multicast.
    Torrent,
    /// A relay at the sender, and as many crocs at once.
    Croc,
    /// `fanfare send` to the group, without a word about hosts; at the last so many of them a packet
    /// filter drops all multicast.
    Group(usize),
}

impl UplinkWay {
    fn is_ours(self) -> bool {
        !matches!(self, Self::Rsync | Self::Torrent | Self::Croc)
    }

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Served => "fanfare",
            Self::Copies => "fanfare-copies",
            Self::Rsync => "rsync",
            Self::Torrent => "torrent",
            Self::Croc => "croc",
            Self::Group(0) => "fanfare-group",
            Self::Group(_) => "fanfare-deaf",
        }
    }
}

/// What is to be measured.
#[derive(Debug, Clone)]
pub struct UplinkBench {
    /// What each host can send, bit/s.
    pub rate: u64,
    /// Receivers.
    pub receivers: Vec<usize>,
    /// How.
    pub ways: Vec<UplinkWay>,
    /// Bytes of the file.
    pub size: u64,
    /// More options for Fanfare's sender.
    pub extra: Vec<String>,
    /// Where files are.
    pub directory: PathBuf,
    /// The program that is measured.
    pub fanfare: PathBuf,
}

/// One run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct UplinkRun {
    /// How.
    pub way: &'static str,
    /// Receivers.
    pub receivers: usize,
    /// What left the sender, frames with all headers, by the size of the file.
    pub sent: f64,
    /// Most that left a receiver, likewise.
    pub passed_on: f64,
    /// Until the sender knew that all have it, or its programs had ended, seconds.
    pub seconds: f64,
    /// The same by the time that the file alone takes on the sender's link.
    pub times: f64,
    /// Hosts that the sender named as hearing no multicast.
    pub named: usize,
    /// Why it was not whole, if it was not.
    pub why: String,
}

impl UplinkBench {
    /// Measures, one run after another.
    ///
    /// # Errors
    /// What is missing or refused.
    pub fn run(
        &self,
        stop: &Stop,
        tell: &mut dyn FnMut(&UplinkRun),
    ) -> Result<Vec<UplinkRun>, LabError> {
        privileges::check()?;
        crate::lab::clear_leftovers()?;
        let scratch = Scratch::make(&self.directory)?;
        let failed = |error| LabError::system("bench (its files)", &error);
        let file = scratch.path().join("payload.bin");
        payload::write(&file, 0, self.size).map_err(failed)?;
        let mut runs = Vec::new();
        for &receivers in &self.receivers {
            scratch.check_room(self.size, receivers)?;
            for &way in &self.ways {
                if stop.is_set() {
                    return Ok(runs);
                }
                let inbox = scratch.path().join("in");
                fs::create_dir_all(&inbox).map_err(failed)?;
                let run = self.measure(way, receivers, (&file, &inbox), stop)?;
                fs::remove_dir_all(&inbox).map_err(failed)?;
                tell(&run);
                runs.push(run);
            }
        }
        Ok(runs)
    }

    fn measure(
        &self,
        way: UplinkWay,
        receivers: usize,
        (file, inbox): (&Path, &Path),
        stop: &Stop,
    ) -> Result<UplinkRun, LabError> {
        let star = Star::up(receivers, MTU, false)?;
        star.limit_all(self.rate, BURST, QUEUE)?;
        if let UplinkWay::Group(deaf) = way {
            let deafen = |host| deafen(host, stop);
            star.receivers().iter().rev().take(deaf).try_for_each(deafen)?;
        }
        let job = Job { star: &star, file, inbox };
        let said = inbox.with_extension("said");
        let mut daemons = self.ready(way, &job, stop)?;
        let before = self.counters(&star)?;
        let begun = Instant::now();
        let one = self.size as f64 * 8.0 / self.rate as f64;
        let limit = begun + Duration::from_secs_f64(one * PATIENCE * receivers as f64) + BESIDE;
        let mut why = match way {
            UplinkWay::Rsync => wait(rsync::senders(&job)?, limit, stop)?,
            UplinkWay::Croc => wait(croc::receivers(&job)?, limit, stop)?,
            UplinkWay::Torrent => torrent::run(&job, limit, stop)?,
            _ => wait(vec![self.sender(way, &job, &said)?], limit, stop)?,
        };
        let seconds = begun.elapsed().as_secs_f64();
        let after = self.counters(&star)?;
        if way.is_ours() {
            // Their last acknowledgement has gone; their files have their names.
            for daemon in &mut daemons {
                let _ =
                    wait(vec![std::mem::replace(daemon, idle()?)], Instant::now() + BESIDE, stop)?;
            }
        }
        drop(daemons);
        if why.is_empty() && !self.is_right(file, inbox, receivers) {
            "a file is not what was sent".clone_into(&mut why);
        }
        let sent: Vec<f64> =
            after.iter().zip(&before).map(|(a, b)| (a - b) as f64 / self.size as f64).collect();
        let passed_on = sent.iter().skip(1).copied().fold(0.0, f64::max);
        let named = named(&said);
        let (way, times) = (way.name(), seconds / one);
        let sent = sent.first().copied().unwrap_or(0.0);
        Ok(UplinkRun { way, receivers, sent, passed_on, seconds, times, named, why })
    }

    /// What runs before the clock does: receivers that are ready, or senders that are called.
    fn ready(&self, way: UplinkWay, job: &Job<'_>, stop: &Stop) -> Result<Vec<Process>, LabError> {
        match way {
            UplinkWay::Rsync => rsync::daemons(job),
            UplinkWay::Croc => croc::senders(job),
            UplinkWay::Torrent => torrent::make(job, stop),
            _ => job.each(|host, inbox| self.receiver(host, inbox)),
        }
    }

    /// A receiver that is ready.
    fn receiver(&self, host: &Host, inbox: &Path) -> Result<Process, LabError> {
        let failed = |error| LabError::system("fanfare", &error);
        let mut command = host.command(&self.fanfare);
        command.arg("recv").arg(inbox).args(["--once", "--json", "--interface", INTERFACE]);
        let mut process = Process::start(command, Stdio::piped(), Stdio::null()).map_err(failed)?;
        if let (Some(out), _) = process.outputs() {
            let mut lines = BufReader::new(out);
            lines.read_line(&mut String::new()).map_err(failed)?;
            // What follows is read, so that it never waits for us.
            thread::spawn(move || std::io::copy(&mut lines, &mut std::io::sink()));
        }
        Ok(process)
    }

    fn sender(&self, way: UplinkWay, job: &Job<'_>, said: &Path) -> Result<Process, LabError> {
        let Job { star, file, .. } = job;
        let addresses = star.receivers().iter().map(|host| host.address().to_string());
        let hosts: Vec<String> = addresses.collect();
        let mut command = star.sender().command(&self.fanfare);
        command.arg("send").arg(file).args(["--json", "--interface", INTERFACE]);
        command.args(["--expect", &hosts.len().to_string()]);
        if !matches!(way, UplinkWay::Group(_)) {
            command.args(["--to", &hosts.join(",")]);
        }
        command.args(["--wait", "20s"]).args(&self.extra);
        if way == UplinkWay::Copies {
            command.arg("--no-serve");
        }
        let failed = |error| LabError::system("bench (what the sender says)", &error);
        let out = fs::File::create(said).map_err(failed)?;
        start_to(command, "fanfare", out.into())
    }

    /// Bytes that have left each host.
    fn counters(&self, star: &Star) -> Result<Vec<u64>, LabError> {
        let read = |host: &Host| {
            let words = ["-n", host.namespace(), "-s", "-j", "link", "show", "dev", INTERFACE];
            let told = tool::ip(&words, "")?;
            let told: serde_json::Value = serde_json::from_str(&told).unwrap_or_default();
            let bytes = told[0]["stats64"]["tx"]["bytes"].as_u64();
            let text = "ip -s -j (no counter): install iproute2 5 or newer";
            bytes.ok_or_else(|| LabError::new(Refusal::System, "bench.counters", text))
        };
        star.hosts().iter().map(read).collect()
    }

    fn is_right(&self, file: &Path, inbox: &Path, receivers: usize) -> bool {
        let name = file.file_name().unwrap_or_default();
        let hash = |path: &Path| crate::peer::delivery::hash(path).ok();
        let sent = hash(file);
        (0..receivers).all(|number| hash(&inbox.join(number.to_string()).join(name)) == sent)
    }
}

/// What a host has to hear no multicast, as a strict firewall does.
const FILTER: &str = "add table ip fanfare; \
    add chain ip fanfare in { type filter hook input priority 0; }; \
    add rule ip fanfare in ip daddr 224.0.0.0/4 drop";

/// No multicast is heard at this host any more.
fn deafen(host: &Host, stop: &Stop) -> Result<(), LabError> {
    let mut command = host.command("nft");
    command.arg(FILTER);
    let running = start(command, "nft")?;
    match &wait(vec![running], Instant::now() + BESIDE, stop)?[..] {
        "" => Ok(()),
        why => Err(LabError::new(Refusal::System, "bench.filter", format!("nft ({why})"))),
    }
}

/// How many hosts a sender has named as hearing no multicast.
fn named(said: &Path) -> usize {
    let text = fs::read_to_string(said).unwrap_or_default();
    let lines = text.lines().filter_map(|line| serde_json::from_str(line).ok());
    let deaf = |line: serde_json::Value| {
        (line["code"] == "reach.deaf")
            .then(|| line["message"].as_str().map(str::to_owned))
            .flatten()
    };
    lines.filter_map(deaf).collect::<BTreeSet<_>>().len()
}

/// A program that does nothing and ends.
fn idle() -> Result<Process, LabError> {
    start(Command::new("true"), "true")
}
