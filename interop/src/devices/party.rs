//! A sender of a device and its receivers, in hosts of their own.

use std::time::{Duration, Instant};

use super::{Sent, disk::Disk};
use crate::fanfare::Fanfare;
use crate::lab::Host;
use crate::process::{Process, wait_for};
use crate::tool::{self, ToolError};

const GROUP: &str = "239.255.42.96";
const PORT: u16 = 6196;
/// Until receivers listen.
const SETTLE: Duration = Duration::from_secs(60);
/// Nothing that ends takes longer.
const LIMIT: Duration = Duration::from_secs(1800);
const POLL: Duration = Duration::from_millis(20);

/// Who sends what to whom.
pub(super) struct Party<'a> {
    pub(super) fanfare: &'a Fanfare,
    pub(super) hosts: &'a [Host],
    pub(super) source: &'a Disk,
    pub(super) targets: &'a [Disk],
}

/// All of them at work; killed with this.
pub(super) struct Running<'a> {
    host: &'a Host,
    pub(super) sender: Process,
    pub(super) receivers: Vec<Process>,
    begun: Instant,
    before: u64,
}

impl<'a> Party<'a> {
    /// Starts the receivers, and then the sender. Each device is known to hold zeros, or what is right.
    pub(super) fn start(&self, recv: &[&str], send: &[&str]) -> Result<Running<'a>, ToolError> {
        let mut receivers = Vec::new();
        for (number, (host, target)) in self.hosts[1..].iter().zip(self.targets).enumerate() {
            let mut command = self.fanfare.command(host, "recv", GROUP, PORT);
            let name = format!("r{number}");
            command.arg("--to").arg(target.path()).args(["--sparse", "--name", &name]).args(recv);
            receivers.push(Process::start(name, command)?);
        }
        let listen = || receivers.iter().all(|receiver| receiver.has_event("start"));
        wait_for(Instant::now() + SETTLE, listen)?;
        let host = &self.hosts[0];
        let before = host.sent_bytes()?;
        let mut command = self.fanfare.command(host, "send", GROUP, PORT);
        command.arg(self.source.path()).args(["--expect", &self.targets.len().to_string()]);
        if !self.source.is_device() {
            command.arg("--as-stream");
        }
        command.args(send);
        let begun = Instant::now();
        let sender = Process::start("sender", command)?;
        Ok(Running { host, sender, receivers, begun, before })
    }

    /// What differs from the source, if anything.
    pub(super) fn differs(&self) -> Result<Option<String>, ToolError> {
        if tool::interrupted() {
            return Err(ToolError::Interrupted);
        }
        let wrong = self.targets.iter().position(|target| !target.is_same(self.source));
        Ok(wrong.map(|number| format!("receiver {number}: its device is not the same")))
    }
}

impl Running<'_> {
    /// What has left the sender's host since it was started.
    pub(super) fn sent(&self) -> Result<u64, ToolError> {
        Ok(self.host.sent_bytes()?.saturating_sub(self.before))
    }

    /// Waits until so much has been sent, or until somebody has ended.
    pub(super) fn wait_for_sent(&mut self, bytes: u64) -> Result<(), ToolError> {
        while self.sent()? < bytes && self.sender.try_exit()?.is_none() {
            if tool::interrupted() {
                return Err(ToolError::Interrupted);
            }
            std::thread::sleep(POLL);
        }
        Ok(())
    }

    /// To the end.
    pub(super) fn finish(mut self) -> Result<Sent, ToolError> {
        let deadline = self.begun + LIMIT;
        let (mut memory, mut seconds) = ((0, 0), None);
        loop {
            memory.0 = self.sender.peak_memory().unwrap_or(0).max(memory.0);
            memory.1 =
                self.receivers.iter().filter_map(Process::peak_memory).fold(memory.1, u64::max);
            if seconds.is_none() && self.sender.try_exit()?.is_some() {
                seconds = Some(self.begun.elapsed().as_secs_f64());
            }
            let ends = self.receivers.iter_mut().map(Process::try_exit);
            let over = ends.collect::<Result<Option<Vec<i32>>, _>>()?.is_some();
            if (over && seconds.is_some()) || Instant::now() > deadline {
                break;
            }
            if tool::interrupted() {
                return Err(ToolError::Interrupted);
            }
            std::thread::sleep(POLL);
        }
        let mut exits = vec![self.sender.wait_until(Instant::now())?];
        for receiver in &mut self.receivers {
            exits.push(receiver.wait_until(Instant::now())?);
        }
        let failure = exits.iter().any(|exit| *exit != Some(0)).then(|| {
            let said = self.sender.events().last().map(ToString::to_string).unwrap_or_default();
            format!("exits {exits:?}: {said}")
        });
        let seconds = seconds.unwrap_or_else(|| self.begun.elapsed().as_secs_f64());
        Ok(Sent { seconds, wire: self.sent()?, memory, failure })
    }
}
