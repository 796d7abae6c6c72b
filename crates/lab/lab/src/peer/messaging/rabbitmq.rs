//! RabbitMQ: its server on the first host, clients over librabbitmq.

use super::{
    Client, HostSlot, MessagingSoftware, Program, ServerSlot, Tools,
    client::{ArrivalLog, MessagingClient},
    give_up_soon,
    software::{listening, start_server},
};
use crate::{error::LabError, peer::build, system::tool};
use std::path::{Path, PathBuf};

const SOURCE: &str = include_str!("../../../peers/amqp_peer.c");
const PORT: u16 = 5672;
/// The package's script changes the user; this is what it calls.
const SERVER: &str = "/usr/lib/rabbitmq/bin/rabbitmq-server";
/// Guests come from this machine only, so there is a user. A share of memory that is always there.
const SETTINGS: &str = "default_user = company\ndefault_pass = company\n\
                        vm_memory_high_watermark.relative = 0.5\ndisk_free_limit.absolute = 1MB\n";

#[derive(Debug)]
struct RabbitMq {
    program: PathBuf,
    version: String,
}

pub(super) fn prepare(tools: &Tools) -> Result<Box<dyn MessagingSoftware>, LabError> {
    let program = Client {
        name: "amqp_peer.c",
        text: SOURCE,
        flags: "-lrabbitmq -lpthread",
        header: "amqp.h",
        package: "librabbitmq-dev",
    }
    .compiled(tools)?;
    // Asked for its version it would start.
    if !Path::new(SERVER).exists() {
        return Err(tool::missing(SERVER, "rabbitmq-server"));
    }
    let versions = ["rabbitmq-server", "librabbitmq-dev"].map(build::package_version);
    let version = versions.join(", librabbitmq ");
    let version = build::with_settings(&version, &[SOURCE, include_str!("rabbitmq.rs")]);
    Ok(Box::new(RabbitMq { program, version }))
}

impl MessagingSoftware for RabbitMq {
    fn version(&self) -> &str {
        &self.version
    }
    fn serve(&self, slot: ServerSlot<'_>) -> Result<Option<Program>, LabError> {
        let ServerSlot { host, directory, .. } = slot;
        let address = host.address();
        let settings = format!("listeners.tcp.1 = {address}:{PORT}\n{SETTINGS}");
        let file = directory.join("rabbitmq.conf");
        // Plugins would listen at more ports.
        let plugins = directory.join("enabled_plugins");
        let start = || {
            let mut command = host.command(SERVER);
            command
                .env("HOME", directory)
                .env("RABBITMQ_CONFIG_FILE", &file)
                .env("RABBITMQ_NODENAME", "company@localhost")
                .env("RABBITMQ_MNESIA_BASE", directory.join("mnesia"))
                .env("RABBITMQ_LOG_BASE", directory.join("rabbitmq-log"))
                .env("RABBITMQ_ENABLED_PLUGINS_FILE", &plugins)
                .env("RABBITMQ_PID_FILE", directory.join("rabbitmq.pid"))
                .env("ERL_EPMD_ADDRESS", "127.0.0.1");
            command
        };
        let server = start_server((&file, &settings), start, slot)?;
        listening(("rabbitmq", PORT), host, server)
    }
    fn start(&self, post: HostSlot<'_>, hearing: ArrivalLog) -> Result<MessagingClient, LabError> {
        give_up_soon(post.host)?;
        let mut command = post.host.command(&self.program);
        command.arg(post.server.address().to_string()).arg(PORT.to_string());
        command.arg(post.host.name());
        if post.keeps {
            command.env("DURABLE", "1");
        }
        command.args(post.wants.iter().map(|first| format!("{first}.#")));
        Ok(MessagingClient::of_program(command, &post.file("log"), hearing)?.with_dots())
    }
}
