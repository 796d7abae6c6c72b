//! Zenoh (PyPI eclipse-zenoh): no server; peers find each other by multicast, and connect by TCP.

use super::{
    HostSlot, MessagingSoftware,
    client::{ArrivalLog, MessagingClient},
};
use crate::{
    error::{LabError, Refusal},
    host::INTERFACE,
    peer::build,
};
use std::process::Command;

const SOURCE: &str = include_str!("../../../peers/zenoh_peer.py");
/// What tells its version, where it is there.
const VERSION: &str = "import importlib.metadata as m, zenoh; print(m.version('eclipse-zenoh'))";

#[derive(Debug)]
struct Zenoh {
    version: String,
}

pub(super) fn prepare() -> Result<Box<dyn MessagingSoftware>, LabError> {
    let told = Command::new("python3").args(["-c", VERSION]).output();
    let version = match told {
        Ok(told) if told.status.success() => String::from_utf8_lossy(&told.stdout).into_owned(),
        _ => {
            let text = "peer (zenoh): is not there. Install it with: pip3 install eclipse-zenoh";
            return Err(LabError::new(Refusal::Missing, "lab.peer_missing", text));
        }
    };
    let version = build::with_settings(version.trim(), &[SOURCE, include_str!("zenoh.rs")]);
    Ok(Box::new(Zenoh { version }))
}

impl MessagingSoftware for Zenoh {
    fn version(&self) -> &str {
        &self.version
    }
    fn start(&self, post: HostSlot<'_>, hearing: ArrivalLog) -> Result<MessagingClient, LabError> {
        let mut command = post.host.command("python3");
        command.args(["-c", SOURCE, INTERFACE]);
        command.args(post.wants.iter().map(|first| format!("{first}/**")));
        MessagingClient::of_program(command, &post.file("log"), hearing)
    }
}
