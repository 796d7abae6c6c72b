//! One road: what a link on it says of its rate.

use std::{
    path::PathBuf,
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use serde::Deserialize;

use crate::{
    error::LabError,
    host::Host,
    lab::{Lab, road::Road},
    process::Process,
    stop::Stop,
};

/// A road's delay one way.
const DELAY_MS: u32 = 20;
/// Room for ten trains.
const QUEUE: u64 = 50;
const LINK: u16 = 7001;
/// A link is there within this time, or nothing is measured.
const LINKED: Duration = Duration::from_secs(20);
/// How often the link is asked, and how often in all.
const ASK: Duration = Duration::from_millis(500);
const ASKED: usize = 20;
/// Bits of a train: five packets of 1,500 bytes at most.
const TRAIN_BITS: u32 = 5 * 1500 * 8;
/// Trains take a quarter of the road at most, and are this far apart at least.
const SHARE: u32 = 4;
const APART_MS: u32 = 100;
/// Processes that compute without end where the processors are to be busy: more than there are.
const BURNERS: usize = 4;

/// What each trial needs.
#[derive(Debug)]
pub(super) struct Ready {
    pub(super) program: PathBuf,
    pub(super) directory: PathBuf,
    pub(super) keys: [String; 2],
}

/// What a link said of one road.
#[derive(Debug, Clone, PartialEq)]
pub struct P3Row {
    /// kbit/s.
    pub(crate) rate: u32,
    pub(crate) busy: bool,
    pub(crate) repetition: u32,
    /// What was said, each as a part of the true rate, in order.
    pub(crate) told: Vec<f64>,
}

impl P3Row {
    /// In a line.
    #[must_use]
    pub fn line(&self) -> String {
        let Self { rate, busy, repetition, told } = self;
        let busy = if *busy { "busy" } else { "idle" };
        let said = match told.get(told.len() / 2) {
            Some(median) => format!("{median:.2} of it, {} reports", told.len()),
            None => "nothing was said".to_owned(),
        };
        format!("{rate} kbit/s, {busy} #{repetition}: {said}")
    }

    pub(super) fn order(&self) -> (u32, bool, u32) {
        (self.rate, self.busy, self.repetition)
    }
}

pub(super) fn run(
    ready: &Ready,
    (rate, busy, repetition): (u32, bool, u32),
    stop: &Stop,
) -> Result<P3Row, LabError> {
    let road = Road::even(u64::from(rate) * 1000, DELAY_MS, 0.0, QUEUE);
    let lab = Lab::up(&road.scenario()?, u64::from(repetition) + 1)?;
    let [near, far] = lab.ends()?;
    let apart = (TRAIN_BITS * SHARE / rate).max(APART_MS);
    let daemons = daemons(ready, (near, far), &format!("{apart}ms"))?;
    let burners = if busy { burners(near)? } else { Vec::new() };
    let begun = Instant::now();
    let mut told = Vec::new();
    let mut asked = 0;
    while asked < ASKED && !stop.is_set() {
        thread::sleep(ASK);
        let status = status(ready, near);
        if status.connected {
            asked += 1;
        } else if begun.elapsed() > LINKED {
            break;
        }
        told.extend(status.capacity_out.map(|said| said.bps / (f64::from(rate) * 1e3)));
    }
    drop((daemons, burners));
    lab.down()?;
    told.sort_by(f64::total_cmp);
    Ok(P3Row { rate, busy, repetition, told })
}

/// A link, both ends of which send trains.
fn daemons(
    ready: &Ready,
    (near, far): (&Host, &Host),
    apart: &str,
) -> Result<Vec<Process>, LabError> {
    let [near_key, far_key] = &ready.keys;
    let identity = |name: &str| ready.directory.join(name);
    let mut listen = far.command(&ready.program);
    listen.args(["link", "listen", "--listen", &format!("0.0.0.0:{LINK}"), "--quiet"]);
    listen.args(["--accept", &format!("near={near_key}"), "--measure", apart]);
    listen.arg("--identity").arg(identity("far"));
    let mut dial = near.command(&ready.program);
    dial.args(["link", "dial", &format!("far={}:{LINK},{far_key}", far.address()), "--quiet"]);
    dial.args(["--measure", apart, "--socket"]).arg(ready.directory.join("socket"));
    dial.arg("--identity").arg(identity("near"));
    let start = |command| Process::start(command, Stdio::null(), Stdio::null());
    let failed = |error| LabError::system("fanfare", &error);
    // One that is dialled too early is dialled again.
    Ok(vec![start(listen).map_err(failed)?, start(dial).map_err(failed)?])
}

/// Processes that compute without end.
fn burners(host: &Host) -> Result<Vec<Process>, LabError> {
    let burn = || {
        let mut command = host.command("sh");
        command.args(["-c", "while :; do :; done"]);
        Process::start(command, Stdio::null(), Stdio::null())
    };
    let all: Result<_, _> = (0..BURNERS).map(|_| burn()).collect();
    all.map_err(|error| LabError::system("sh", &error))
}

#[derive(Debug, Default, Deserialize)]
struct Status {
    connected: bool,
    capacity_out: Option<Told>,
}

#[derive(Debug, Deserialize)]
struct Told {
    bps: f64,
}

#[derive(Debug, Deserialize)]
struct Links {
    links: Vec<Status>,
}

fn status(ready: &Ready, near: &Host) -> Status {
    let mut command: Command = near.command(&ready.program);
    command.args(["link", "status", "--json", "--socket"]).arg(ready.directory.join("socket"));
    let said = command.stdin(Stdio::null()).stderr(Stdio::null()).output();
    let text = said.map(|said| String::from_utf8_lossy(&said.stdout).into_owned());
    let text = text.unwrap_or_default();
    let found = text.lines().find_map(|line| serde_json::from_str::<Links>(line).ok());
    found.and_then(|found| found.links.into_iter().next()).unwrap_or_default()
}
