//! Systems that carry messages between many nodes, as programs on the hosts of a lab.
//!
//! Each host runs a program that takes "topic, text" and prints the texts that arrive. For Fanfare
//! that is `fanfare node` and its socket, for the others a small program over the system's own
//! library (under peers/). NATS and MQTT also need their server, on the first host.
//!
//! - `client`: one started program; `fanfare`, `nats`, `mqtt`, `zeromq`: the systems; `norm`:
//!   messages of one sender over libnorm

pub(crate) mod client;
pub(crate) mod fanfare;
mod mqtt;
mod nats;
pub(crate) mod norm;
mod zeromq;

use super::{Tools, build, program::Program};
use crate::{error::LabError, host::Host, name, wait::WakeEvent};
use client::{ArrivalLog, MessagingClient};
use std::{
    fmt, fs,
    path::{Path, PathBuf},
    str::FromStr,
    sync::Arc,
};

/// What carries messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum MessagingSystem {
    /// This program: `fanfare node` on each host.
    Fanfare,
    /// NATS with a stream of JetStream, its server on the first host.
    Nats,
    /// MQTT with quality of service 1 (mosquitto), its server on the first host.
    Mqtt,
    /// ZeroMQ's PUB and SUB over NORM.
    ZeroMq,
}

impl MessagingSystem {
    /// All of them, in the order of tables.
    pub const ALL: [Self; 4] = [Self::Fanfare, Self::Nats, Self::Mqtt, Self::ZeroMq];

    /// Its name in options and tables.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Fanfare => "fanfare",
            Self::Nats => "nats",
            Self::Mqtt => "mqtt",
            Self::ZeroMq => "zeromq-norm",
        }
    }

    /// Finds or compiles it.
    ///
    /// # Errors
    /// Which package is missing.
    pub(crate) fn prepare(self, tools: &Tools) -> Result<Box<dyn MessagingSoftware>, LabError> {
        match self {
            Self::Fanfare => fanfare::prepare(tools),
            Self::Nats => nats::prepare(tools),
            Self::Mqtt => mqtt::prepare(tools),
            Self::ZeroMq => zeromq::prepare(tools),
        }
    }
}

impl fmt::Display for MessagingSystem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for MessagingSystem {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        name::find(text, Self::ALL, Self::name, "carries no messages between many")
    }
}

/// Where a program on a host is to be started, and for what.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HostSlot<'a> {
    pub(crate) host: &'a Host,
    /// Its number, from 0.
    pub(crate) number: usize,
    /// The first host, on which servers are.
    pub(crate) server: &'a Host,
    /// First levels of the topics it wants, all of them below.
    pub(crate) wants: &'a [&'static str],
    /// For files and logs, of all hosts.
    pub(crate) directory: &'a Path,
}

impl HostSlot<'_> {
    /// The host's own file of this kind.
    pub(crate) fn file(&self, kind: &str) -> PathBuf {
        station(self.directory, self.host, kind)
    }
}

/// A host's own file of this kind.
fn station(directory: &Path, host: &Host, kind: &str) -> PathBuf {
    directory.join(format!("{}.{kind}", host.name()))
}

/// A system that can be started on many hosts.
pub(crate) trait MessagingSoftware: fmt::Debug + Send + Sync {
    /// Its version, as its package or its source has it, and a hash of how it is set.
    fn version(&self) -> &str;
    /// The server, if it needs one, on that host.
    ///
    /// # Errors
    /// It does not start.
    fn serve(
        &self,
        host: &Host,
        directory: &Path,
        wake_event: &Arc<WakeEvent>,
    ) -> Result<Option<Program>, LabError> {
        let _ = (host, directory, wake_event);
        Ok(None)
    }
    /// What takes and gives messages on a host.
    ///
    /// # Errors
    /// It does not start.
    fn start(&self, post: HostSlot<'_>, hearing: ArrivalLog) -> Result<MessagingClient, LabError>;
}

/// A client of ours over a system's C library, from peers/.
#[derive(Debug, Clone, Copy)]
struct Client {
    name: &'static str,
    text: &'static str,
    flags: &'static str,
    header: &'static str,
    package: &'static str,
}

impl Client {
    fn compiled(self, tools: &Tools) -> Result<PathBuf, LabError> {
        let Self { name, text, flags, header, package } = self;
        let (compiler, compiler_package) = ("cc", "gcc");
        tools.compiled(&build::Source {
            name,
            text,
            compiler,
            compiler_package,
            flags,
            header,
            package,
        })
    }
}

/// Starts a server on `host` with these settings.
fn server(
    name: &str,
    settings: &str,
    (host, directory): (&Host, &Path),
    wake_event: &Arc<WakeEvent>,
) -> Result<Option<Program>, LabError> {
    let file = directory.join(format!("{name}.conf"));
    let failed = |error| LabError::system(format_args!("file ({})", file.display()), &error);
    fs::write(&file, settings).map_err(failed)?;
    let mut command = host.command(name);
    command.arg("-c").arg(&file);
    Program::start(command, &directory.join("server.log"), wake_event).map(Some).map_err(failed)
}

/// A program on `host` learns within 7 s that a server does not answer its connection, instead of two
/// minutes: a vehicle that is out of sight for a while comes back sooner.
fn give_up_soon(host: &Host) -> Result<(), LabError> {
    /// After 1, 2 and 4 s.
    const ATTEMPTS: &str = "2";
    let setting = "/proc/sys/net/ipv4/tcp_syn_retries";
    host.enter(|| fs::write(setting, ATTEMPTS))?
        .map_err(|error| LabError::system(format!("host ({})", host.name()), &error))
}
