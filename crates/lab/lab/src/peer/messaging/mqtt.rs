//! MQTT: mosquitto on the first host, a client over libmosquitto on each.

use super::{
    Client, HostSlot, MessagingSoftware, Program, ServerSlot, Tools,
    client::{ArrivalLog, MessagingClient},
    give_up_soon, server,
};
use crate::{error::LabError, peer::build};
use std::path::PathBuf;

const SOURCE: &str = include_str!("../../../peers/mqtt_peer.c");
const PORT: u16 = 1883;
/// With the default of 1000 waiting messages for each client, what a vehicle misses while it is out of
/// sight would be dropped; with 20 in flight a slow path would hold up a fast one.
const SETTINGS: &str = "allow_anonymous true\nmax_queued_messages 0\n\
                        max_inflight_messages 0\nset_tcp_nodelay true\nuser root\n";
/// Sessions and queues are written after each change: by default it would be every half hour, and what came
/// since then would be lost with a killed server.
const KEPT: &str = "persistence true\nautosave_on_changes true\nautosave_interval 1\n";

#[derive(Debug)]
struct Mqtt {
    program: PathBuf,
    quality: u8,
    version: String,
}

pub(super) fn prepare(tools: &Tools, quality: u8) -> Result<Box<dyn MessagingSoftware>, LabError> {
    let program = Client {
        name: "mqtt_peer.c",
        text: SOURCE,
        flags: "-lmosquitto",
        header: "mosquitto.h",
        package: "libmosquitto-dev",
    }
    .compiled(tools)?;
    build::present("mosquitto", "mosquitto")?;
    let version = build::package_version("mosquitto");
    let version = build::with_settings(&version, &[SOURCE, include_str!("mqtt.rs")]);
    Ok(Box::new(Mqtt { program, quality, version }))
}

impl MessagingSoftware for Mqtt {
    fn version(&self) -> &str {
        &self.version
    }
    fn serve(&self, slot: ServerSlot<'_>) -> Result<Option<Program>, LabError> {
        let kept = match slot.keeps {
            true => format!("persistence_location {}/\n{KEPT}", slot.directory.display()),
            false => "persistence false\n".to_owned(),
        };
        let settings = format!("listener {PORT} {}\n{SETTINGS}{kept}", slot.host.address());
        server("mosquitto", &settings, slot)
    }
    fn start(&self, post: HostSlot<'_>, hearing: ArrivalLog) -> Result<MessagingClient, LabError> {
        give_up_soon(post.host)?;
        let mut command = post.host.command(&self.program);
        command.arg(post.server.address().to_string()).arg(PORT.to_string());
        command.arg(self.quality.to_string()).arg(post.host.name());
        command.args(post.wants.iter().map(|first| format!("{first}/#")));
        MessagingClient::of_program(command, &post.file("log"), hearing)
    }
}
