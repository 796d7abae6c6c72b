//! udpcast: `udp-receiver` and `udp-sender` from their package.

use super::{Launch, Peer, Sign, Task, build};
use crate::{
    error::LabError,
    host::{Host, INTERFACE},
};
use std::{path::Path, process::Command};

const RENDEZVOUS: &str = "239.255.42.4";
const DATA: &str = "239.255.42.5";
/// Requests to a receiver before it is dropped: its default of 30 loses receivers at 30 % loss.
const RETRIES: &str = "1000";
/// Milliseconds between its announcements, and whole seconds from the first receiver's answer to the
/// beginning: who misses the sender's answer to his own, and every announcement after that, gets
/// nothing, at 30 % loss one of several transfers; its default begins at once.
const HELLO: &str = "200";
const WAIT: &str = "3";
/// Packets that are confirmed together. Its 112 wait for confirmations where the way is long: at
/// 25 ms and 100 Mbit/s 4.2 times the bound, and 1.6 with 512; at 1024 kbit/s it is as fast. With
/// 1024 losses wait longer.
const SLICE: &str = "512";

#[derive(Debug)]
struct Udpcast {
    version: String,
}

pub(super) fn prepare() -> Result<Box<dyn Peer>, LabError> {
    build::present("udp-sender", "udpcast")?;
    build::present("udp-receiver", "udpcast")?;
    let version = build::package_version("udpcast");
    let version = build::with_settings(&version, &[include_str!("udpcast.rs")]);
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
        command.args(["--retries-until-drop", RETRIES, "--rexmit-hello-interval", HELLO]);
        command.args(["--slice-size", SLICE, "--min-wait", WAIT]);
        command.arg("--file").arg(&task.source);
        command
    }
}
