//! The programs of a round: how they are called, and called again.

use std::{process::Command, time::Instant};

use super::Round;
use crate::crash::{scene::Kind, side::Side};

impl Round<'_> {
    fn command(&self, verb: &str) -> Command {
        let mut command = Command::new(&self.program);
        command.arg(verb);
        if let Some((library, set)) = &self.clock {
            command.env("LD_PRELOAD", library).env("FANFARE_CRASH_CLOCK", set);
        }
        match (self.scene.kind, verb) {
            (Kind::Archive, _) => drop(command.arg("--archive")),
            (Kind::Parts, "recv") => drop(command.arg("--part-space=8MiB")),
            _ => {}
        }
        command.args(["--json", "--interface", "127.0.0.1", "--group", &self.group]);
        command
    }

    pub(super) fn start_receiver(&mut self, number: usize) -> Result<(), String> {
        let mut command = self.command("recv");
        let into = self.dir.join(format!("in-{number}"));
        command.arg(into).args(["--create-dirs", "--name", &format!("r{number}")]);
        // Files count again when a sender has been killed and sends again: of several, none waits.
        if let [_] = &self.scene.files[..] {
            command.arg("--count=1");
        }
        self.receivers[number] = Some(Side::start(&mut command, self.news.clone())?);
        self.started = Instant::now();
        // Listening.
        self.wait_until(|round| {
            let said = round.receivers[number].as_ref().is_none_or(|side| side.said("start"));
            said.then_some(())
        })
    }

    pub(super) fn start_sender(&mut self) -> Result<(), String> {
        let mut command = self.command("send");
        let sources = self.scene.sources.iter().map(|source| self.dir.join("out").join(source));
        command.args(sources).arg(format!("--rate={}M", self.scene.mbps));
        if self.scene.expects {
            let names: Vec<String> = (0..self.receivers.len()).map(|n| format!("r{n}")).collect();
            command.arg(format!("--expect={}", names.join(",")));
        }
        self.sender = Some(Side::start(&mut command, self.news.clone())?);
        self.started = Instant::now();
        Ok(())
    }

    /// The same commands again, of those that have ended.
    pub(super) fn repeat(&mut self) -> Result<(), String> {
        for number in 0..self.receivers.len() {
            if self.receivers[number].as_mut().is_none_or(|side| side.ended().is_some()) {
                let gone = self.receivers[number].take();
                self.bury(gone, &format!("receiver {number}"));
                self.start_receiver(number)?;
            }
        }
        let gone = self.sender.take();
        self.bury(gone, "sender");
        self.start_sender()
    }
}
