//! Fanfare as a user runs it: `fanfare node`, and programs at its socket.

use super::{
    HostSlot, MessagingSoftware, Tools,
    client::{ArrivalLog, MessagingClient},
    station,
};
use crate::{
    error::LabError,
    host::{Host, INTERFACE},
    process::Process,
};
use std::{
    fs,
    io::{self, BufRead as _, BufReader},
    path::{Path, PathBuf},
    process::{ChildStdout, Command, Stdio},
    thread,
    time::Instant,
};

const GROUP: &str = "239.255.42.2:6004";
/// Rates of the simulated company (scenarios/files/company.toml). Nodes that find their rate deliver less here
/// (docs/explanation/congestion.md, known limits).
const RATES: [&str; 4] = ["--rate", "300k", "--repair-rate", "200k"];
/// In what a node prints when all of a message has been sent once.
const SENT: &str = "\"event\":\"sent\"";

#[derive(Debug)]
struct Nodes {
    tools: Tools,
    version: String,
}

pub(super) fn prepare(tools: &Tools) -> Result<Box<dyn MessagingSoftware>, LabError> {
    let version = crate::peer::fanfare_version(tools)?;
    Ok(Box::new(Nodes { tools: tools.clone(), version }))
}

impl MessagingSoftware for Nodes {
    fn version(&self) -> &str {
        &self.version
    }
    fn start(&self, post: HostSlot<'_>, hearing: ArrivalLog) -> Result<MessagingClient, LabError> {
        let cache = post.file("cache").display().to_string();
        let kept = ["--cache-dir", &cache];
        let options = [&RATES[..], if post.keeps { &kept[..] } else { &[] }].concat();
        let mut station = RunningNode::start(&self.tools, (post.host, post.directory), &options)?;
        // So that it never waits for somebody to read.
        thread::spawn(move || io::copy(&mut station.lines, &mut io::sink()));
        let filters: Vec<String> = post.wants.iter().map(|first| format!("{first}/#")).collect();
        let RunningNode { process, socket, .. } = station;
        MessagingClient::of_node(process, &socket, &filters, post.history, hearing)
    }
}

/// A node that has begun.
#[derive(Debug)]
struct RunningNode {
    process: Process,
    socket: PathBuf,
    lines: BufReader<ChildStdout>,
}

impl RunningNode {
    fn start(
        tools: &Tools,
        (host, directory): (&Host, &Path),
        rates: &[&str],
    ) -> Result<Self, LabError> {
        let (socket, log) = (station(directory, host, "sock"), station(directory, host, "log"));
        let failed =
            |error: io::Error| LabError::system(format_args!("file ({})", log.display()), &error);
        let mut command: Command = host.command(&tools.fanfare);
        command.args(["node", "--json", "--group", GROUP, "--interface", INTERFACE]).args(rates);
        command.arg("--socket").arg(&socket);
        let errors = fs::File::create(&log).map_err(failed)?;
        let mut process = Process::start(command, Stdio::piped(), errors).map_err(failed)?;
        let (output, _) = process.outputs();
        let output = output.ok_or_else(|| failed(io::ErrorKind::BrokenPipe.into()))?;
        // It says that it has begun when the socket is there.
        let mut lines = BufReader::new(output);
        lines.read_line(&mut String::new()).map_err(failed)?;
        Ok(Self { process, socket, lines })
    }
}

/// A node of the tactical test. It hears what `filters` name; what of its own it has sent once comes as
/// an arrival at its own host.
///
/// # Errors
/// It does not start.
pub(crate) fn node(
    tools: &Tools,
    place: (&Host, &Path),
    rates: &[&str],
    filters: &[String],
    hearing: ArrivalLog,
) -> Result<MessagingClient, LabError> {
    let mut station = RunningNode::start(tools, place, rates)?;
    let sent = hearing.clone();
    thread::spawn(move || {
        let (mut line, mut count) = (String::new(), 0);
        while station.lines.read_line(&mut line).is_ok_and(|length| length > 0) {
            if line.contains(SENT) {
                if sent.arrivals.send((sent.host, count, Instant::now())).is_err() {
                    break;
                }
                count += 1;
            }
            line.clear();
        }
        // Whoever counts no more must not hold it up.
        let _ = io::copy(&mut station.lines, &mut io::sink());
    });
    MessagingClient::of_node(station.process, &station.socket, filters, false, hearing)
}
