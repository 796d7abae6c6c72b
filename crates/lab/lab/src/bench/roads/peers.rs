//! Programs of all senders: ours, and those of others that are there.

use std::{collections::BTreeMap, fs};

use serde::Serialize;

use super::sender::{BBR, RoadControl};
use crate::{
    error::{LabError, Refusal},
    peer::{Peer, System, Tools},
};

/// The kernel's list of congestion controls.
const AVAILABLE: &str = "/proc/sys/net/ipv4/tcp_available_congestion_control";

/// Programs of the senders that are to be measured.
#[derive(Debug)]
pub(super) struct RoadPeers {
    pub(super) fanfare: Box<dyn Peer>,
    others: BTreeMap<System, Box<dyn Peer>>,
    /// Senders whose programs are here.
    pub(super) controls: Vec<RoadControl>,
    pub(super) missing: Vec<MissingSender>,
}

/// A sender that was to be measured and is not on this machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MissingSender {
    /// Its name in options.
    pub sender: &'static str,
    /// What is missing, and where it comes from.
    pub why: String,
}

impl RoadPeers {
    /// Finds or compiles them. What is not installed is left out, and told of; ours must be here.
    pub(super) fn prepare(controls: &[RoadControl], tools: &Tools) -> Result<Self, LabError> {
        let fanfare = System::Fanfare.prepare(tools)?;
        let mut peers =
            Self { fanfare, others: BTreeMap::new(), controls: Vec::new(), missing: Vec::new() };
        for &control in controls {
            let there = peers.find(control, tools);
            match there {
                Ok(()) => peers.controls.push(control),
                Err(error) if error.refusal == Refusal::Missing => {
                    let (sender, why) = (control.name(), error.to_string());
                    peers.missing.push(MissingSender { sender, why });
                }
                Err(error) => return Err(error),
            }
        }
        Ok(peers)
    }

    fn find(&mut self, control: RoadControl, tools: &Tools) -> Result<(), LabError> {
        let system = control.system();
        if control == RoadControl::TcpBbr {
            check_bbr()?;
        }
        if system != System::Fanfare && !self.others.contains_key(&system) {
            let _ = self.others.insert(system, system.prepare(tools)?);
        }
        Ok(())
    }

    /// The peer of another system; `None` for ours.
    pub(super) fn other(&self, system: System) -> Option<&dyn Peer> {
        self.others.get(&system).map(|peer| &**peer)
    }

    /// Versions of what others have written, for the page.
    pub(super) fn versions(&self) -> String {
        let mut all = Vec::new();
        for (system, peer) in &self.others {
            let name = match system {
                System::Norm => "libnorm",
                System::Tcp => "TCP of Linux",
                other => other.name(),
            };
            all.push(format!("{name} {}", peer.version()));
        }
        all.join("; ")
    }
}

/// Refuses a congestion control that this kernel does not have.
pub(super) fn check_kernel(available: &str, control: &str) -> Result<(), LabError> {
    if available.split_whitespace().any(|one| one == control) {
        return Ok(());
    }
    let text = format!(
        "congestion control ({control}): this kernel has only {}. Load it: modprobe tcp_{control}",
        available.trim()
    );
    Err(LabError::new(Refusal::Missing, "bench.congestion", text))
}

/// Refuses BBR where this kernel does not have it.
pub(super) fn check_bbr() -> Result<(), LabError> {
    check_kernel(&fs::read_to_string(AVAILABLE).unwrap_or_default(), BBR)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_without_a_congestion_control_says_what_it_has_and_what_to_do() {
        assert_eq!(check_kernel("reno bbr cubic\n", "bbr"), Ok(()));
        for available in ["reno cubic\n", "reno bbr3 cubic", ""] {
            let error = check_kernel(available, "bbr").unwrap_err();
            assert_eq!(error.refusal, Refusal::Missing);
            let text = error.to_string();
            assert!(text.contains(available.trim()) && text.contains("tcp_bbr"), "{text}");
        }
    }
}
