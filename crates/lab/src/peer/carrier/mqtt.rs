//! MQTT: mosquitto on the first host, a client over libmosquitto on each.

use super::{
    Client, Fleet, Post, Program, Tools, give_up_soon, server,
    voice::{Hearing, Voice},
};
use crate::{error::LabError, host::Host, peer::workshop, wait::Bell};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

const SOURCE: &str = include_str!("../../../peers/mqtt_peer.c");
const PORT: u16 = 1883;
/// With the default of 1000 waiting messages for each client, what a vehicle misses while it is out of
/// sight would be dropped; with 20 in flight a slow path would hold up a fast one.
const SETTINGS: &str = "allow_anonymous true\npersistence false\nmax_queued_messages 0\n\
                        max_inflight_messages 0\nset_tcp_nodelay true\nuser root\n";

#[derive(Debug)]
struct Mqtt {
    program: PathBuf,
    version: String,
}

pub(super) fn prepare(tools: &Tools) -> Result<Box<dyn Fleet>, LabError> {
    let program = Client {
        name: "mqtt_peer.c",
        text: SOURCE,
        flags: "-lmosquitto",
        header: "mosquitto.h",
        package: "libmosquitto-dev",
    }
    .compiled(tools)?;
    workshop::present("mosquitto", "mosquitto")?;
    let version = workshop::package_version("mosquitto");
    let version = workshop::with_settings(&version, &[SOURCE, include_str!("mqtt.rs")]);
    Ok(Box::new(Mqtt { program, version }))
}

impl Fleet for Mqtt {
    fn version(&self) -> &str {
        &self.version
    }
    fn serve(
        &self,
        host: &Host,
        directory: &Path,
        bell: &Arc<Bell>,
    ) -> Result<Option<Program>, LabError> {
        let settings = format!("listener {PORT} {}\n{SETTINGS}", host.address());
        server("mosquitto", &settings, (host, directory), bell)
    }
    fn start(&self, post: Post<'_>, hearing: Hearing) -> Result<Voice, LabError> {
        give_up_soon(post.host)?;
        let mut command = post.host.command(&self.program);
        command.arg(post.server.address().to_string()).arg(PORT.to_string());
        command.arg(post.host.name());
        command.args(post.wants.iter().map(|first| format!("{first}/#")));
        Voice::of_program(command, &post.file("log"), hearing)
    }
}
