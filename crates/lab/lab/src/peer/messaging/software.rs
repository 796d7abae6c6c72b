//! What a system of messages is to a lab: how it starts on many hosts.

use std::{
    fmt, fs,
    net::{SocketAddr, TcpStream},
    path::{Path, PathBuf},
    process::Command,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use super::{
    super::{Tools, build, program::Program},
    client::{ArrivalLog, MessagingClient},
};
use crate::{
    error::{LabError, Refusal},
    host::Host,
    wait::WakeEvent,
};

/// Where a program on a host is to be started, and for what.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HostSlot<'a> {
    pub(crate) host: &'a Host,
    /// Its number, from 0.
    pub(crate) number: usize,
    /// The first host, on which servers are.
    pub(crate) server: &'a Host,
    /// All hosts.
    pub(crate) hosts: &'a [Host],
    /// First levels of the topics it wants, all of them below.
    pub(crate) wants: &'a [&'static str],
    /// For files and logs, of all hosts.
    pub(crate) directory: &'a Path,
    /// What is to be there after a crash is kept on disk.
    pub(crate) keeps: bool,
    /// It wants what was published before, if the system can.
    pub(crate) history: bool,
}

/// Where a server is to be started.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ServerSlot<'a> {
    pub(crate) host: &'a Host,
    /// For files and logs: the same when it is started again.
    pub(crate) directory: &'a Path,
    pub(crate) wake_event: &'a Arc<WakeEvent>,
    /// What is to be there after a crash is kept on disk.
    pub(crate) keeps: bool,
}

impl HostSlot<'_> {
    /// The addresses of all hosts, with commas.
    pub(super) fn addresses(&self) -> String {
        let all: Vec<String> = self.hosts.iter().map(|host| host.address().to_string()).collect();
        all.join(",")
    }

    /// The host's own file of this kind.
    pub(crate) fn file(&self, kind: &str) -> PathBuf {
        station(self.directory, self.host, kind)
    }
}

/// A host's own file of this kind.
pub(super) fn station(directory: &Path, host: &Host, kind: &str) -> PathBuf {
    directory.join(format!("{}.{kind}", host.name()))
}

/// A system that can be started on many hosts.
pub(crate) trait MessagingSoftware: fmt::Debug + Send + Sync {
    /// Its version, as its package or its source has it, and a hash of how it is set.
    fn version(&self) -> &str;
    /// The server, if it needs one.
    ///
    /// # Errors
    /// It does not start.
    fn serve(&self, _: ServerSlot<'_>) -> Result<Option<Program>, LabError> {
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
pub(super) struct Client {
    pub(super) name: &'static str,
    pub(super) text: &'static str,
    pub(super) flags: &'static str,
    pub(super) header: &'static str,
    pub(super) package: &'static str,
}

impl Client {
    pub(super) fn compiled(self, tools: &Tools) -> Result<PathBuf, LabError> {
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
pub(super) fn server(
    name: &str,
    settings: &str,
    ServerSlot { host, directory, wake_event, .. }: ServerSlot<'_>,
) -> Result<Option<Program>, LabError> {
    let file = directory.join(format!("{name}.conf"));
    let failed = |error| LabError::system(format_args!("file ({})", file.display()), &error);
    fs::write(&file, settings).map_err(failed)?;
    let mut command = host.command(name);
    command.arg("-c").arg(&file);
    Program::start(command, &directory.join("server.log"), wake_event).map(Some).map_err(failed)
}

/// Starts a server that is not told of its settings by `-c`.
pub(super) fn start_server(
    (file, settings): (&Path, &str),
    command: impl FnOnce() -> Command,
    ServerSlot { directory, wake_event, .. }: ServerSlot<'_>,
) -> Result<Option<Program>, LabError> {
    let failed = |error| LabError::system(format_args!("file ({})", file.display()), &error);
    fs::write(file, settings).map_err(failed)?;
    Program::start(command(), &directory.join("server.log"), wake_event).map(Some).map_err(failed)
}

/// Waits until a started server listens at this port of its host.
///
/// # Errors
/// It has ended, or does not after so long.
pub(super) fn listening(
    (name, port): (&str, u16),
    host: &Host,
    server: Option<Program>,
) -> Result<Option<Program>, LabError> {
    /// On a busy machine; whoever does not listen by then does not start.
    const PATIENCE: Duration = Duration::from_secs(90);
    const LOOK: Duration = Duration::from_millis(200);
    let (address, end) = (SocketAddr::from((host.address(), port)), Instant::now() + PATIENCE);
    // Within its namespace, and so from a thread that enters it.
    while host.enter(|| TcpStream::connect(address).is_err())? {
        if Instant::now() > end || server.as_ref().is_some_and(Program::has_closed) {
            let said = server.as_ref().map(Program::last_line).unwrap_or_default();
            let text = format!("peer ({name}): its server does not start ({said})");
            return Err(LabError::new(Refusal::System, "lab.peer", text));
        }
        thread::sleep(LOOK);
    }
    Ok(server)
}

/// Java on `host`, as small as it goes: two cores are shared by all hosts, and compiler and collector threads
/// would fight for them.
pub(super) fn small_java(host: &Host, class_path: &str) -> Command {
    let mut command = host.command("java");
    command.args(["-Xmx96m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto"]);
    command.args(["-Djava.net.preferIPv4Stack=true", "-cp", class_path]);
    command
}

/// A program on `host` learns within 7 s that a server does not answer its connection, instead of two
/// minutes: a vehicle that is out of sight for a while comes back sooner.
pub(super) fn give_up_soon(host: &Host) -> Result<(), LabError> {
    /// After 1, 2 and 4 s.
    const ATTEMPTS: &str = "2";
    let setting = "/proc/sys/net/ipv4/tcp_syn_retries";
    host.enter(|| fs::write(setting, ATTEMPTS))?
        .map_err(|error| LabError::system(format!("host ({})", host.name()), &error))
}
