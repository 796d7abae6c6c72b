//! Fanfare's own program as a peer.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::lab::Host;

/// The `fanfare` executable under test.
#[derive(Clone, Debug)]
pub struct Fanfare {
    program: PathBuf,
}

impl Fanfare {
    /// Finds it: `FANFARE_BIN`, or beside the runner's own executable. `None` when there is none.
    pub fn find() -> Option<Self> {
        let program = match std::env::var_os("FANFARE_BIN") {
            Some(path) => PathBuf::from(path),
            None => std::env::current_exe().ok()?.with_file_name("fanfare"),
        };
        program.is_file().then_some(Self { program })
    }

    /// The executable at this path. `None` when there is none.
    pub fn at(path: &Path) -> Option<Self> {
        let program = path.canonicalize().ok()?;
        program.is_file().then_some(Self { program })
    }

    /// The executable.
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// `fanfare <verb>` in `host`, with the options every run shares.
    pub fn command(&self, host: &Host, verb: &str, group: &str, port: u16) -> Command {
        let mut command = host.command(&self.program);
        command.arg(verb).args(["--interface", "eth0", "--json"]);
        command.args(["--group", &format!("{group}:{port}")]);
        command
    }
}
