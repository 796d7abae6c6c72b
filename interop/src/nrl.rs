//! NRL's NORM as a peer: our own small program over libnorm, compiled when first needed.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::lab::Host;
use crate::tool::{self, ToolError};

const SOURCE: &str = include_str!("../peer/norm_peer.cpp");

/// The compiled peer program.
#[derive(Clone, Debug)]
pub struct Nrl {
    program: PathBuf,
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
        let program = place()?;
        if !program.exists() {
            compile(&program)?;
        }
        let version = tool::output("dpkg-query", &["-W", "-f", "${Version}", "libnorm1"])
            .unwrap_or_else(|_| "unknown".into());
        Ok(Self { program, version })
    }

    /// A command that runs the peer in `host`, with the options every run shares.
    pub fn command(&self, host: &Host, verb: &str, group: &str, port: u16) -> Command {
        let mut command = host.command(&self.program);
        command.arg(verb).args(["--interface", "eth0", "--group", group]);
        command.args(["--port", &port.to_string()]);
        command
    }
}

// The name carries a hash of the source, so an edit compiles anew.
fn place() -> Result<PathBuf, ToolError> {
    let own = std::env::current_exe().map_err(tool::at("the runner's own path"))?;
    let directory = own.parent().unwrap_or(Path::new(".")).join("interop-peer");
    std::fs::create_dir_all(&directory).map_err(tool::at(directory.display()))?;
    let hash = blake3::hash(SOURCE.as_bytes()).to_hex();
    Ok(directory.join(format!("norm_peer-{}", &hash[..16])))
}

fn compile(program: &Path) -> Result<(), ToolError> {
    // To a temporary name first: another runner must never see half a program.
    let partial = program.with_extension(std::process::id().to_string());
    let out = partial.display().to_string();
    let arguments = ["-x", "c++", "-O2", "-Wall", "-o", &out, "-", "-lnorm"];
    tool::output_with_input("c++", &arguments, SOURCE).map_err(|error| match error {
        ToolError::Failed { why, .. } if why.contains("normApi.h") => ToolError::Failed {
            command: "c++ norm_peer.cpp".into(),
            why: "normApi.h not found: install package libnorm-dev".into(),
        },
        other => other,
    })?;
    std::fs::rename(&partial, program).map_err(tool::at(program.display()))
}
