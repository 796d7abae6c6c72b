//! udpcast: `udp-receiver` and `udp-sender` from their package.

use super::{Launch, Peer, Sign, Task, workshop};
use crate::{
    error::LabError,
    host::{Host, INTERFACE},
};
use std::{path::Path, process::Command};

const RENDEZVOUS: &str = "239.255.42.4";
const DATA: &str = "239.255.42.5";
/// Requests to a receiver before it is dropped: its default of 30 loses receivers at 30 % loss.
const RETRIES: &str = "1000";

#[derive(Debug)]
struct Udpcast {
    version: String,
}

pub(super) fn prepare() -> Result<Box<dyn Peer>, LabError> {
    workshop::present("udp-sender", "udpcast")?;
    workshop::present("udp-receiver", "udpcast")?;
    let version = workshop::package_version("udpcast");
    let version = workshop::with_settings(&version, &[include_str!("udpcast.rs")]);
    Ok(Box::new(Udpcast { version }))
}

impl Peer for Udpcast {
    fn version(&self) -> &str {
        &self.version
    }
    fn receive(&self, host: &Host, _: usize, _: &Task, directory: &Path) -> Launch {
        let file = directory.join("received");
        let mut command = host.command("udp-receiver");
        command.args(["--interface", INTERFACE, "--nokbd", "--mcast-rdv-address", RENDEZVOUS]);
        command.arg("--file").arg(&file);
        Launch { command, ready: Sign::Line("UDP receiver for"), done: Sign::Ending, file }
    }
    fn send(&self, host: &Host, task: &Task) -> Command {
        let mut command = host.command("udp-sender");
        command.args(["--interface", INTERFACE, "--nokbd", "--full-duplex", "--nopointopoint"]);
        command.args(["--mcast-rdv-address", RENDEZVOUS, "--mcast-data-address", DATA]);
        // Its rate is of IP packets, by its manual.
        command.args(["--max-bitrate", &task.capacity.to_string()]);
        command.args(["--min-receivers", &task.receivers.len().to_string()]);
        command.args(["--retries-until-drop", RETRIES, "--rexmit-hello-interval", "1000"]);
        command.arg("--file").arg(&task.source);
        command
    }
}
