//! Fanfare as a user has it: `fanfare node`, and programs at its socket.

use super::{
    Fleet, Post, Tools,
    voice::{Hearing, Voice},
};
use crate::{error::LabError, host::INTERFACE, process::Process};
use std::{
    fs,
    io::{self, BufRead as _, BufReader},
    process::{Command, Stdio},
};

const GROUP: &str = "239.255.42.2:6004";
/// What the simulated company has (scenarios/files/company.toml).
const RATES: [&str; 4] = ["--rate", "300k", "--repair-rate", "200k"];

#[derive(Debug)]
struct Nodes {
    tools: Tools,
    version: String,
}

pub(super) fn prepare(tools: &Tools) -> Result<Box<dyn Fleet>, LabError> {
    let version = crate::peer::fanfare_version(tools)?;
    Ok(Box::new(Nodes { tools: tools.clone(), version }))
}

impl Fleet for Nodes {
    fn version(&self) -> &str {
        &self.version
    }
    fn start(&self, post: Post<'_>, hearing: Hearing) -> Result<Voice, LabError> {
        let (socket, log) = (post.file("sock"), post.file("log"));
        let failed = |error: io::Error| LabError::system(log.display(), &error);
        let mut command: Command = post.host.command(&self.tools.fanfare);
        command.args(["node", "--json", "--group", GROUP, "--interface", INTERFACE]).args(RATES);
        command.arg("--socket").arg(&socket);
        let errors = fs::File::create(&log).map_err(failed)?;
        let mut process = Process::start(command, Stdio::piped(), errors).map_err(failed)?;
        let (output, _) = process.outputs();
        let output = output.ok_or_else(|| failed(io::ErrorKind::BrokenPipe.into()))?;
        // It says that it has begun when the socket is there.
        let mut lines = BufReader::new(output);
        lines.read_line(&mut String::new()).map_err(failed)?;
        // So that it never waits for somebody to read.
        std::thread::spawn(move || io::copy(&mut lines, &mut io::sink()));
        let filters: Vec<String> = post.wants.iter().map(|first| format!("{first}/#")).collect();
        Voice::of_node(process, &socket, &filters, hearing)
    }
}
