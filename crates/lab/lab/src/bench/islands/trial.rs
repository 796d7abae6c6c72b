//! One transfer from the first island to all.

use std::{
    fs,
    path::Path,
    time::{Duration, Instant},
};

use super::{
    program::Program,
    row::{IslandCase, IslandRow},
    world::{ISLANDS, SECOND, World, address},
};
use crate::{error::LabError, peer::delivery::hash, stop::Stop};

const GROUP: &str = "239.255.42.1:6003";
/// The most that the sender sends, bit/s.
const RATE: u64 = 60_000_000;
/// A receiver loses so much beside what its long link has lost.
const DROP: &str = "0.01";
/// Programs have started within this time.
const START: Duration = Duration::from_secs(60);
/// A transfer that takes so many times as long as at that rate is given up.
const PATIENCE: f64 = 20.0;
/// A relay is killed when so much of the file has been sent.
const MIDDLE: f64 = 0.5;
/// A receiver ends within this time after the sender.
const END: Duration = Duration::from_secs(20);

/// What is sent to how many.
#[derive(Debug, Clone, Copy)]
pub(super) struct Plan<'a> {
    /// Receivers in each island.
    pub(super) receivers: usize,
    /// Bytes of the file.
    pub(super) size: u64,
    /// The program.
    pub(super) fanfare: &'a Path,
}

struct Trial<'a> {
    plan: &'a Plan<'a>,
    world: World,
    stop: &'a Stop,
}

pub(super) fn run(
    plan: &Plan<'_>,
    (case, repetition): (IslandCase, u32),
    (file, inbox): (&Path, &Path),
    stop: &Stop,
) -> Result<IslandRow, LabError> {
    let trial = Trial { plan, world: World::up(case == IslandCase::TakenOver)?, stop };
    let mut relays = trial.relays(case)?;
    let receivers = trial.receivers(inbox)?;
    let links: Vec<(&'static str, usize)> = match case {
        IslandCase::TakenOver => vec![("2", 1), ("3", 2), ("2, standing by", SECOND)],
        IslandCase::Undisturbed | IslandCase::Replaced => vec![("2", 1), ("3", 2)],
    };
    let carried = |(_, machine): &(&str, usize)| trial.world.carried(*machine);
    let before: Vec<f64> = links.iter().map(carried).collect::<Result<_, _>>()?;
    let begun = Instant::now();
    let sender = trial.sender(case, file)?;
    let whole = Duration::from_secs_f64(plan.size as f64 * 8.0 / RATE as f64 * PATIENCE);
    let until = begun + START + whole;
    let mut receipts = 0;
    let mut count = |line: &serde_json::Value| receipts += usize::from(line["event"] == "receipt");
    if case != IslandCase::Undisturbed {
        let middle = plan.size as f64 * MIDDLE;
        sender.wait(until, stop, |line| {
            count(line);
            line["sent_bytes"].as_f64().is_some_and(|sent| sent >= middle)
        });
        relays.remove(0).kill();
    }
    if case == IslandCase::Replaced {
        relays.push(trial.relay(1, "--accept 10.78.1.2")?);
    }
    sender.wait(until, stop, |line| {
        count(line);
        line["event"] == "result"
    });
    let seconds = begun.elapsed().as_secs_f64();
    let after: Vec<f64> = links.iter().map(carried).collect::<Result<_, _>>()?;
    let end = Instant::now() + END;
    for receiver in &receivers {
        receiver.wait(end, stop, |line| line["event"] == "result");
    }
    let times = after.iter().zip(&before).map(|(after, before)| after - before);
    let times = times.map(|bytes| bytes / plan.size as f64);
    Ok(IslandRow {
        case,
        repetition,
        size: plan.size,
        receivers: receivers.len(),
        receipts,
        right: trial.right(file, inbox),
        links: links.iter().map(|(name, _)| *name).zip(times).collect(),
        seconds,
        load: load(),
    })
}

impl Trial<'_> {
    fn relay(&self, machine: usize, more: &str) -> Result<Program, LabError> {
        let words = format!("relay --join {GROUP}@isl0 {more}");
        let started = Program::start(self.world.machine(machine), self.plan.fanfare, &words)?;
        started.ready("relaying", Instant::now() + START, self.stop)
    }

    /// The first one is that which may be killed.
    fn relays(&self, case: IslandCase) -> Result<Vec<Program>, LabError> {
        if case != IslandCase::TakenOver {
            return [1, 2].iter().map(|at| self.relay(*at, "--accept 10.78.1.2")).collect();
        }
        let others: Vec<String> = [1, 2, SECOND].map(address).into();
        Ok(vec![
            self.relay(1, "--peer 10.78.1.2 --id 1")?,
            self.relay(SECOND, "--peer 10.78.1.2 --id 2")?,
            self.relay(0, &format!("--peer {}", others.join(",")))?,
            self.relay(2, "--peer 10.78.1.2")?,
        ])
    }

    fn receivers(&self, inbox: &Path) -> Result<Vec<Program>, LabError> {
        let mut all = Vec::new();
        for (machine, island) in ISLANDS.iter().enumerate() {
            for number in 1..=self.plan.receivers {
                let words = format!(
                    "recv {} --create-dirs --once --name {island}-{number} --group {GROUP} \
                     --interface isl0 --no-unicast --test-drop {DROP}",
                    inbox.join(format!("{island}-{number}")).display()
                );
                let fanfare = self.plan.fanfare;
                all.push(Program::start(self.world.machine(machine), fanfare, &words)?);
            }
        }
        let until = Instant::now() + START;
        all.into_iter().map(|one| one.ready("start", until, self.stop)).collect()
    }

    fn sender(&self, case: IslandCase, file: &Path) -> Result<Program, LabError> {
        let to = match case {
            IslandCase::TakenOver => "",
            IslandCase::Undisturbed | IslandCase::Replaced => {
                "--to 10.78.2.2,10.78.3.2 --with-group"
            }
        };
        let words = format!(
            "send {} --group {GROUP} --interface isl0 --expect {} --wait 60s --rate {RATE} {to}",
            file.display(),
            ISLANDS.len() * self.plan.receivers
        );
        Program::start(self.world.machine(0), self.plan.fanfare, &words)
    }

    /// How many have what was sent.
    fn right(&self, file: &Path, inbox: &Path) -> usize {
        let name = file.file_name().unwrap_or_default();
        let sent = hash(file).ok();
        let numbers = 1..=self.plan.receivers;
        let each = ISLANDS.iter().flat_map(|island| numbers.clone().map(move |n| (island, n)));
        let path = |(island, number)| inbox.join(format!("{island}-{number}")).join(name);
        each.filter(|one| sent.is_some() && hash(&path(*one)).ok() == sent).count()
    }
}

/// Of the last minute.
fn load() -> f64 {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').next().and_then(|first| first.parse().ok()).unwrap_or(0.0)
}
