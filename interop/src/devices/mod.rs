//! A disk sent to many: loop devices, some of which is used, and what a kill in the middle costs.
//!
//! - `disk`: a loop device over a sparse file, and comparing two; `party`: a sender and its receivers
//! - `kills`: killed at random points and begun again; `page`: the tables

mod disk;
mod kills;
mod page;
mod party;

use std::path::Path;

pub use kills::Killed;
pub use page::page;

use crate::fanfare::Fanfare;
use crate::lab::{Family, Lab};
use crate::scratch::Scratch;
use crate::tool::{self, ToolError};
use crate::trees::room;
use disk::Disk;
use party::Party;

/// Of what is free, so much stays free.
const SPARE: u64 = 2 << 30;

/// How much is sent to how many.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Bytes of each device.
    pub size: u64,
    /// Bytes of it that are not zeros.
    pub used: u64,
    /// Devices that are written.
    pub receivers: usize,
}

/// What a sending to all came to.
#[derive(Clone, Debug)]
pub struct Sent {
    /// From the sender's start to its end.
    pub seconds: f64,
    /// The payload of UDP that left the sender's host.
    pub wire: u64,
    /// The most memory of the sender and of a receiver.
    pub memory: (u64, u64),
    /// What is wrong, if anything.
    pub failure: Option<String>,
}

/// What all came to.
#[derive(Debug)]
pub struct Outcome {
    /// Loop devices; files where the system has none.
    pub are_devices: bool,
    /// To all at once.
    pub sent: (Plan, Sent),
    /// Killed and begun again.
    pub kills: (Plan, Vec<Killed>),
}

impl Outcome {
    /// Whether everything is as it must be: at most 1.05 of what is used was sent, and with a kill 1.1
    /// beyond what was lost by it.
    pub fn is_right(&self) -> bool {
        let (plan, sent) = &self.sent;
        let share = sent.wire as f64 / plan.used as f64;
        sent.failure.is_none() && share <= 1.05 && self.kills.1.iter().all(Killed::is_right)
    }
}

/// Sends a device to all, and then, to those of another plan, killed so many times.
///
/// # Errors
/// When a tool is missing, the system refuses, or the user interrupts.
pub fn run(
    fanfare: &Fanfare,
    all: Plan,
    (killed, rounds, seed): (Plan, u64, u64),
    say: impl Fn(&str),
) -> Result<Outcome, ToolError> {
    for program in ["ip", "cmp"] {
        tool::require(program)?;
    }
    let (are_devices, sent) = to_all(fanfare, all)?;
    let failure = sent.failure.as_deref().unwrap_or("all are the same");
    say(&format!("{} receivers, {:.1} s: {failure}", all.receivers, sent.seconds));
    let scratch = Scratch::new()?;
    let lab = Lab::new(killed.receivers + 1, Family::V4)?;
    let source = Disk::filled(scratch.path(), killed)?;
    let mut kills = Vec::new();
    for round in 0..rounds {
        let targets = Disk::blank(scratch.path(), killed)?;
        let party = Party { fanfare, hosts: lab.hosts(), source: &source, targets: &targets };
        let one = kills::play(&party, killed, seed.wrapping_add(round))?;
        say(&one.told());
        kills.push(one);
    }
    Ok(Outcome { are_devices, sent: (all, sent), kills: (killed, kills) })
}

fn to_all(fanfare: &Fanfare, plan: Plan) -> Result<(bool, Sent), ToolError> {
    let scratch = Scratch::new()?;
    check_room(scratch.path(), plan)?;
    let lab = Lab::new(plan.receivers + 1, Family::V4)?;
    let source = Disk::filled(scratch.path(), plan)?;
    let targets = Disk::blank(scratch.path(), plan)?;
    let are_devices = targets.iter().chain([&source]).all(Disk::is_device);
    let party = Party { fanfare, hosts: lab.hosts(), source: &source, targets: &targets };
    let mut sent = party.start(&["--verify"], &[])?.finish()?;
    if sent.failure.is_none() {
        sent.failure = party.differs()?;
    }
    Ok((are_devices, sent))
}

fn check_room(scratch: &Path, plan: Plan) -> Result<(), ToolError> {
    let needed = plan.used * (plan.receivers as u64 + 1) + SPARE;
    let free = room(scratch)?;
    if free >= needed {
        return Ok(());
    }
    Err(ToolError::Failed {
        command: format!("make devices in {}", scratch.display()),
        why: format!("{needed} bytes are needed, {free} are free; TMPDIR names another place"),
    })
}
