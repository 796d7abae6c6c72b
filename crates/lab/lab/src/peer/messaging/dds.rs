//! DDS by Eclipse Cyclone DDS: no server; everybody finds everybody by multicast.

use super::{
    Client, HostSlot, MessagingSoftware, Tools,
    client::{ArrivalLog, MessagingClient},
};
use crate::{error::LabError, host::INTERFACE, peer::build};
use std::path::PathBuf;

const SOURCE: &str = include_str!("../../../peers/dds_peer.c");
/// One packet of the radio each: by default messages of 14 KB are cut by IP, and a lost part loses all.
const SIZES: &str = "<MaxMessageSize>1400B</MaxMessageSize><FragmentSize>1300B</FragmentSize>";

#[derive(Debug)]
struct Dds {
    program: PathBuf,
    version: String,
}

pub(super) fn prepare(tools: &Tools) -> Result<Box<dyn MessagingSoftware>, LabError> {
    let program = Client {
        name: "dds_peer.c",
        text: SOURCE,
        flags: "-lddsc",
        header: "dds/dds.h",
        package: "cyclonedds-dev",
    }
    .compiled(tools)?;
    let version = build::package_version("cyclonedds-dev");
    let version = build::with_settings(&version, &[SOURCE, include_str!("dds.rs")]);
    Ok(Box::new(Dds { program, version }))
}

impl MessagingSoftware for Dds {
    fn version(&self) -> &str {
        &self.version
    }
    fn start(&self, post: HostSlot<'_>, hearing: ArrivalLog) -> Result<MessagingClient, LabError> {
        let interface = format!(
            "<Interfaces><NetworkInterface name=\"{INTERFACE}\" multicast=\"true\"/></Interfaces>"
        );
        let settings = format!(
            "<CycloneDDS><Domain Id=\"any\"><General>{interface}{SIZES}\
             <AllowMulticast>true</AllowMulticast></General></Domain></CycloneDDS>"
        );
        let mut command = post.host.command(&self.program);
        command.env("CYCLONEDDS_URI", settings).args(post.wants);
        MessagingClient::of_program(command, &post.file("log"), hearing)
    }
}
