//! NRL's NORM as a peer: our own small program over libnorm, compiled when first needed.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::lab::Host;
use crate::tool::{self, ToolError};

const SOURCE: &str = include_str!("../peer/norm_peer.cpp");
const STREAM_SOURCE: &str = include_str!("../peer/norm_stream.cpp");

/// The compiled peer program.
#[derive(Clone, Debug)]
pub struct Nrl {
    program: PathBuf,
    stream: PathBuf,
    /// The Debian package's version, or what is known of it.
    pub version: String,
}

impl Nrl {
    /// Compiles the peer beside the runner's own executable, unless it is there already.
    ///
    /// # Errors
    /// When the compiler or libnorm's header is missing, or compiling fails.
    pub fn build() -> Result<Self, ToolError> {
        tool::require("c++")?;
        let [program, stream] = [("norm_peer", SOURCE), ("norm_stream", STREAM_SOURCE)].map(build);
        let (program, stream) = (program?, stream?);
        let version = tool::output("dpkg-query", &["-W", "-f", "${Version}", "libnorm1"])
            .unwrap_or_else(|_| "unknown".into());
        Ok(Self { program, stream, version })
    }

    /// A command that runs the peer for streams in `host`.
    pub fn stream(&self, host: &Host, verb: &str, group: &str, port: u16) -> Command {
        let mut command = host.command(&self.stream);
        command.arg(verb).args(["--interface", "eth0", "--group", group]);
        command.args(["--port", &port.to_string()]);
        command
    }

    /// A command that runs the peer in `host`, with the options every run shares.
    pub fn command(&self, host: &Host, verb: &str, group: &str, port: u16) -> Command {
        let mut command = host.command(&self.program);
        command.arg(verb).args(["--interface", "eth0", "--group", group]);
        command.args(["--port", &port.to_string()]);
        command
    }
}

fn build((name, source): (&str, &str)) -> Result<PathBuf, ToolError> {
    let program = place(name, source)?;
    if !program.exists() {
        compile(&program, source)?;
    }
    Ok(program)
}

// The name carries a hash of the source, so an edit compiles anew.
fn place(name: &str, source: &str) -> Result<PathBuf, ToolError> {
    let own = std::env::current_exe().map_err(tool::at("the runner's own path"))?;
    let directory = own.parent().unwrap_or(Path::new(".")).join("interop-peer");
    std::fs::create_dir_all(&directory).map_err(tool::at(directory.display()))?;
    let hash = blake3::hash(source.as_bytes()).to_hex();
    Ok(directory.join(format!("{name}-{}", &hash[..16])))
}

fn compile(program: &Path, source: &str) -> Result<(), ToolError> {
    // To a temporary name first: another runner must never see half a program.
    let partial = program.with_extension(std::process::id().to_string());
    let out = partial.display().to_string();
    let arguments = ["-x", "c++", "-O2", "-Wall", "-o", &out, "-", "-lnorm"];
    tool::output_with_input("c++", &arguments, source).map_err(|error| match error {
        ToolError::Failed { why, .. } if why.contains("normApi.h") => ToolError::Failed {
            command: "c++ (the peer)".into(),
            why: "normApi.h not found: install package libnorm-dev".into(),
        },
        other => other,
    })?;
    std::fs::rename(&partial, program).map_err(tool::at(program.display()))
}
