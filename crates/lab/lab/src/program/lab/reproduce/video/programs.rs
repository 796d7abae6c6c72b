//! `fanfare video` on hosts of a lab: what each program says.

use fanfare_command::Failure;
use fanfare_lab::{Host, INTERFACE};
use serde::Deserialize;

use crate::{fanfare::fanfare, lab::reproduce::stage};

/// A line of a program.
#[derive(Debug, Clone, Default, Deserialize)]
pub(super) struct Event {
    pub(super) event: String,
    #[serde(default)]
    pub(super) rendition: String,
    #[serde(default)]
    pub(super) number: u32,
    #[serde(default)]
    pub(super) bytes: u64,
    #[serde(default)]
    pub(super) begun_ms: u64,
    #[serde(default)]
    pub(super) at_ms: u64,
    #[serde(default)]
    pub(super) address: String,
}

impl Event {
    pub(super) fn is_segment(&self) -> bool {
        self.event == "segment"
    }
    pub(super) fn is_chosen(&self) -> bool {
        self.event == "chosen"
    }
}

/// A running program; it is asked to end when it is dropped.
#[derive(Debug)]
pub(super) struct Running {
    program: stage::Running<Event>,
    /// When it was started, milliseconds since 1970.
    pub(super) started_ms: u64,
}

impl Running {
    pub(super) fn start(host: &Host, args: &[&str]) -> Result<Self, Failure> {
        let mut command = host.command(fanfare());
        command.arg("video").args(args).args(["--interface", INTERFACE, "--json"]);
        let started_ms = now_ms();
        Ok(Self { program: stage::Running::start(command, "fanfare-cli")?, started_ms })
    }

    /// What it has said so far.
    pub(super) fn events(&self) -> Vec<Event> {
        self.program.said().iter().map(|(_, event)| event.clone()).collect()
    }
    /// When its first segment came after its start, ms.
    pub(super) fn start_ms(&self) -> Option<u64> {
        let said = self.program.said();
        let (_, first) = said.iter().find(|(_, event)| event.is_segment())?;
        Some(first.at_ms.saturating_sub(self.started_ms))
    }
    /// Where it serves.
    pub(super) fn address(&self) -> Option<String> {
        let said = self.program.said();
        said.iter().map(|(_, one)| one.address.clone()).find(|one| !one.is_empty())
    }
}

/// Milliseconds since 1970.
pub(super) fn now_ms() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| since.as_millis() as u64)
}
