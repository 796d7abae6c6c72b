//! Fanfare group nodes in the same group as a transfer: they repair for a publisher that hears
//! nobody, announce what they have, and serve a late joiner. Plain NORM nodes hear all of it.

use std::path::Path;
use std::time::{Duration, Instant};

use crate::fanfare::Fanfare;
use crate::impair::{self, Loss};
use crate::lab::Host;
use crate::payload::Payload;
use crate::process::{Process, wait_for};
use crate::tool::ToolError;

/// A message of some blocks: lost symbols of it are repaired as parity and as sums.
const MESSAGE_BYTES: u64 = 200_000;
/// What the nodes but the first that listens hear is lost so often: each lacks other parts of each block.
/// The first hears all, since what nobody heard nobody can repair.
const LOSS_PERMILLE: u32 = 300;
/// As much as `numgen` of nft can lose of what the publisher hears: it answers nobody.
const DEAF_PERMILLE: u32 = 999;
/// When the last one comes. From 8 s on descriptions say how old their message is (EXT_AGE).
const LATE: Duration = Duration::from_secs(9);
/// How long the nodes have for the message after the transfer.
const REST: Duration = Duration::from_secs(30);

/// The nodes: a publisher, and those that hear it.
#[derive(Debug)]
pub struct Company<'a> {
    fanfare: &'a Fanfare,
    /// The group and its port.
    group: (&'a str, u16),
    nodes: Vec<Process>,
    late: Option<&'a Host>,
}

impl<'a> Company<'a> {
    /// Starts all but the last, which comes late; the first publishes.
    ///
    /// # Errors
    /// As [`Process::start`], or the disk is full.
    pub fn start(
        fanfare: &'a Fanfare,
        group: (&'a str, u16),
        hosts: &'a [Host],
        scratch: &Path,
    ) -> Result<Self, ToolError> {
        let mut company = Self { fanfare, group, nodes: Vec::new(), late: None };
        let [publisher, others @ .., late] = hosts else { return Ok(company) };
        company.late = Some(late);
        impair::apply(publisher, Loss { inbound_permille: DEAF_PERMILLE, ..Loss::default() })?;
        for host in hosts.iter().skip(2) {
            impair::apply(host, Loss { inbound_permille: LOSS_PERMILLE, ..Loss::default() })?;
        }
        for host in others {
            company.subscribe(host)?;
        }
        let ready = || company.nodes.iter().all(|node| node.has_event("start"));
        wait_for(Instant::now() + Duration::from_secs(10), ready)?;
        let message = Payload::make(scratch, "message", MESSAGE_BYTES)?;
        let mut command = fanfare.command(publisher, "pub", group.0, group.1);
        command.args(["company/1", "--one-way", "--stay", "120s", "--rate", "5M"]);
        command.arg(&message.path);
        company.nodes.push(Process::start("publisher", command)?);
        Ok(company)
    }

    fn subscribe(&mut self, host: &Host) -> Result<(), ToolError> {
        let mut command = self.fanfare.command(host, "sub", self.group.0, self.group.1);
        command.arg("company/#");
        let label = format!("group node {}", self.nodes.len() + 1);
        self.nodes.push(Process::start(label, command)?);
        Ok(())
    }

    /// Waits until the last may come, and starts it.
    ///
    /// # Errors
    /// As [`wait_for`] and [`Process::start`].
    pub fn complete(&mut self) -> Result<(), ToolError> {
        let Some(host) = self.late.take() else { return Ok(()) };
        wait_for(Instant::now() + LATE, || false)?;
        self.subscribe(host)
    }

    /// What is wrong with them after the transfer: each that subscribed has the message whole. The one that
    /// came late can have it from the others alone.
    ///
    /// # Errors
    /// As [`wait_for`].
    pub fn judge(&self) -> Result<Option<String>, ToolError> {
        let listening = || self.nodes.iter().filter(|node| node.label() != "publisher");
        let has_it = |node: &&Process| node.events().iter().any(is_the_message);
        wait_for(Instant::now() + REST, || listening().all(|node| has_it(&node)))?;
        let lacking = listening().find(|node| !has_it(node));
        Ok(lacking.map(|node| format!("{} lacks the company's message", node.label())))
    }

    /// Keeps what they printed.
    pub fn save(&self, directory: &Path) {
        for node in &self.nodes {
            node.save(&directory.join(node.label().replace(' ', "-")));
        }
    }
}

/// Whether one of NRL's receivers was given the company's message, as the NORM object that it is.
pub fn is_heard_by(receiver: &Process) -> bool {
    let is_it = |line: &serde_json::Value| {
        line["event"] == "completed" && line["type"] == "data" && line["size"] == MESSAGE_BYTES
    };
    receiver.events().iter().any(is_it)
}

fn is_the_message(line: &serde_json::Value) -> bool {
    line["event"] == "message" && line["size"] == MESSAGE_BYTES
}
