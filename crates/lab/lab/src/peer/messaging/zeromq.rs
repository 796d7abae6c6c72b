//! ZeroMQ over NORM and over TCP: a PUB and a SUB socket on each host, no server.

use super::{
    Client, HostSlot, MessagingSoftware, Tools,
    client::{ArrivalLog, MessagingClient},
};
use crate::{error::LabError, host::INTERFACE, peer::build};
use std::path::PathBuf;

const SOURCE: &str = include_str!("../../../peers/zmq_peer.c");
const GROUP: &str = "239.255.42.3:7000";

const PORT: u16 = 7001;

/// What is below it.
#[derive(Debug, Clone, Copy)]
pub(super) enum Carrier {
    Norm,
    /// Each to each.
    Tcp,
}

#[derive(Debug)]
struct ZeroMq {
    carrier: Carrier,
    program: PathBuf,
    version: String,
}

pub(super) fn prepare(
    tools: &Tools,
    carrier: Carrier,
) -> Result<Box<dyn MessagingSoftware>, LabError> {
    let program = Client {
        name: "zmq_peer.c",
        text: SOURCE,
        flags: "-lzmq -lpthread",
        header: "zmq.h",
        package: "libzmq3-dev",
    }
    .compiled(tools)?;
    let versions = ["libzmq5", "libnorm1"].map(build::package_version).join(", libnorm ");
    let version = build::with_settings(&versions, &[SOURCE, include_str!("zeromq.rs")]);
    Ok(Box::new(ZeroMq { carrier, program, version }))
}

impl MessagingSoftware for ZeroMq {
    fn version(&self) -> &str {
        &self.version
    }
    fn start(&self, post: HostSlot<'_>, hearing: ArrivalLog) -> Result<MessagingClient, LabError> {
        let mut command = post.host.command(&self.program);
        match self.carrier {
            Carrier::Norm => command.args([INTERFACE, GROUP]),
            Carrier::Tcp => command.arg("tcp").arg(format!("{PORT},{}", post.addresses())),
        };
        command.arg((post.number + 1).to_string());
        command.args(post.wants.iter().map(|first| format!("{first}/")));
        MessagingClient::of_program(command, &post.file("log"), hearing)
    }
}
