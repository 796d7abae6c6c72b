//! A gateway's rules in the kernel: set by `nft` and `ip`, and taken back however the program ends.

use std::{
    io::Write as _,
    os::unix::process::CommandExt as _,
    process::{Child, Command, Stdio},
};

use fanfare_command::{Exit, Failure};
use fanfare_link::proxy::gateway::Rules;

/// The rules as long as this is there. A shell of its own waits for the end of this process, also when
/// that was killed, and takes them back.
#[derive(Debug)]
pub(super) struct Applied {
    guard: Child,
}

fn failed(what: &str, why: impl std::fmt::Display) -> Failure {
    let text = format!("{what}: {why}. A gateway needs 'nft' and 'ip', and the right to use them");
    Failure::new(Exit::Permission, "rules.failed", text)
}

/// Runs this with `sh`, or gives this to `nft`; what it said when it failed.
fn run(program: &str, words: &[&str], input: &str) -> Result<(), String> {
    let mut child = Command::new(program)
        .args(words)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| format!("{program} cannot be started ({error})"))?;
    if let Some(mut stdin) = child.stdin.take() {
        // If it ends before it has read all, its exit code tells.
        let _ = stdin.write_all(input.as_bytes());
    }
    let output = child.wait_with_output().map_err(|error| error.to_string())?;
    match output.status.success() {
        true => Ok(()),
        false => {
            let said = String::from_utf8_lossy(&output.stderr);
            Err(said.lines().next().unwrap_or("it failed").trim().to_owned())
        }
    }
}

impl Applied {
    /// Sets the rules, after those that an earlier run of the same port has left.
    pub(super) fn apply(rules: &Rules) -> Result<Self, Failure> {
        run("sh", &["-s"], &rules.undo()).map_err(|why| failed("old rules", why))?;
        let script = format!("trap '' HUP INT TERM; cat >/dev/null\n{}", rules.undo());
        let guard = Command::new("sh")
            .args(["-c", &script])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // Ctrl-C in a terminal is for this process, not for the guard.
            .process_group(0)
            .spawn()
            .map_err(|error| failed("guard of the rules", error))?;
        let applied = Self { guard };
        run("sh", &["-s"], &rules.apply()).map_err(|why| failed("rules", why))?;
        Ok(applied)
    }
}

impl Drop for Applied {
    fn drop(&mut self) {
        // The end of its input is what the guard waits for.
        drop(self.guard.stdin.take());
        let _ = self.guard.wait();
    }
}

/// Gives this to `nft`.
pub(super) fn nft(text: &str) -> Result<(), String> {
    run("nft", &["-f", "-"], text)
}
