//! NATS, with JetStream and without: its server on the first host, a client over cnats on each.

use super::{
    Client, HostSlot, MessagingSoftware, Program, ServerSlot, Tools,
    client::{ArrivalLog, MessagingClient},
    give_up_soon, server,
};
use crate::{error::LabError, peer::build};
use std::path::PathBuf;

const SOURCE: &str = include_str!("../../../peers/nats_peer.c");
const PORT: u16 = 4222;
/// A connection that answers none of two is lost: the server's own two minutes are longer than a
/// vehicle is out of sight.
const PING: &str = "ping_interval: \"10s\"\nping_max: 2\n";
/// A client whose radio takes longer for what waits is slow, and not gone: by default it would be cut off
/// after 10 s.
const WRITE: &str = "write_deadline: \"60s\"\n";

#[derive(Debug)]
struct Nats {
    keeps: bool,
    program: PathBuf,
    version: String,
}

/// `keeps`: by JetStream.
pub(super) fn prepare(tools: &Tools, keeps: bool) -> Result<Box<dyn MessagingSoftware>, LabError> {
    let program = Client {
        name: "nats_peer.c",
        text: SOURCE,
        flags: "-lnats",
        header: "nats/nats.h",
        package: "libnats-dev",
    }
    .compiled(tools)?;
    build::present("nats-server", "nats-server")?;
    let versions = ["nats-server", "libnats-dev"].map(build::package_version).join(", cnats ");
    let version = build::with_settings(&versions, &[SOURCE, include_str!("nats.rs")]);
    Ok(Box::new(Nats { keeps, program, version }))
}

impl MessagingSoftware for Nats {
    fn version(&self) -> &str {
        &self.version
    }
    fn serve(&self, slot: ServerSlot<'_>) -> Result<Option<Program>, LabError> {
        let ServerSlot { host, directory, .. } = slot;
        let (listen, store) = (format!("{}:{PORT}", host.address()), directory.join("jetstream"));
        let settings =
            format!("listen: \"{listen}\"\n{PING}{WRITE}jetstream {{ store_dir: {store:?} }}\n");
        server("nats-server", &settings, slot)
    }
    fn start(&self, post: HostSlot<'_>, hearing: ArrivalLog) -> Result<MessagingClient, LabError> {
        give_up_soon(post.host)?;
        let mut command = post.host.command(&self.program);
        command.arg(format!("nats://{}:{PORT}", post.server.address())).arg(post.host.name());
        command.arg(match (self.keeps, post.keeps) {
            (true, true) => "file",
            (true, false) => "stream",
            (false, _) => "core",
        });
        command.args(post.wants.iter().map(|first| format!("{first}.>")));
        Ok(MessagingClient::of_program(command, &post.file("log"), hearing)?.with_dots())
    }
}
