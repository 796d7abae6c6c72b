//! Redis: its server on the first host, clients over hiredis.

use super::{
    Client, HostSlot, MessagingSoftware, Program, ServerSlot, Tools,
    client::{ArrivalLog, MessagingClient},
    give_up_soon,
    software::start_server,
};
use crate::{error::LabError, peer::build};
use std::path::PathBuf;

const SOURCE: &str = include_str!("../../../peers/redis_peer.c");
const PORT: u16 = 6379;
/// In memory, as all servers here. A client whose radio takes long for what waits is not cut off: by
/// default it would be beyond 32 MB at once, or 8 MB for a minute.
const SETTINGS: &str = "protected-mode no\nsave \"\"\ntcp-keepalive 10\n\
                        client-output-buffer-limit pubsub 0 0 0\n";

/// How messages travel.
#[derive(Debug, Clone, Copy)]
pub(super) enum Kind {
    /// PUBLISH and PSUBSCRIBE: without a memory.
    Channels,
    /// XADD and XREAD: a log for each kind of message.
    Streams,
}

#[derive(Debug)]
struct Redis {
    kind: Kind,
    program: PathBuf,
    version: String,
}

pub(super) fn prepare(tools: &Tools, kind: Kind) -> Result<Box<dyn MessagingSoftware>, LabError> {
    let program = Client {
        name: "redis_peer.c",
        text: SOURCE,
        flags: "-lhiredis -lpthread",
        header: "hiredis/hiredis.h",
        package: "libhiredis-dev",
    }
    .compiled(tools)?;
    build::present("redis-server", "redis-server")?;
    let versions = ["redis-server", "libhiredis-dev"].map(build::package_version);
    let version = versions.join(", hiredis ");
    let version = build::with_settings(&version, &[SOURCE, include_str!("redis.rs")]);
    Ok(Box::new(Redis { kind, program, version }))
}

impl MessagingSoftware for Redis {
    fn version(&self) -> &str {
        &self.version
    }
    fn serve(&self, slot: ServerSlot<'_>) -> Result<Option<Program>, LabError> {
        let ServerSlot { host, directory, .. } = slot;
        let address = host.address();
        let kept = if slot.keeps { "appendonly yes\n" } else { "appendonly no\n" };
        let settings = format!("bind {address}\nport {PORT}\ndir {directory:?}\n{SETTINGS}{kept}");
        let file = directory.join("redis.conf");
        start_server(
            (&file, &settings),
            || {
                let mut command = host.command("redis-server");
                command.arg(&file);
                command
            },
            slot,
        )
    }
    fn start(&self, post: HostSlot<'_>, hearing: ArrivalLog) -> Result<MessagingClient, LabError> {
        give_up_soon(post.host)?;
        let mut command = post.host.command(&self.program);
        command.arg(post.server.address().to_string()).arg(PORT.to_string());
        command.arg(match self.kind {
            Kind::Channels => "channels",
            Kind::Streams => "streams",
        });
        command.arg(post.host.name());
        command.args(post.wants.iter().map(|first| format!("{first}/")));
        MessagingClient::of_program(command, &post.file("log"), hearing)
    }
}
