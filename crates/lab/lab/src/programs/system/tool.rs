//! Runs `ip` and `tc`, and waits for their end.

use crate::programs::error::{LabError, Refusal};
use std::{
    io::{self, Write as _},
    process::{Command, Stdio},
};

/// Runs `ip` with these arguments and this standard input; gives what it printed.
pub fn ip(arguments: &[&str], input: &str) -> Result<String, LabError> {
    output("ip", arguments, input)
}
/// Runs `tc` with these arguments.
pub fn tc(arguments: &[&str]) -> Result<(), LabError> {
    output("tc", arguments, "").map(drop)
}

fn output(program: &str, arguments: &[&str], input: &str) -> Result<String, LabError> {
    let command = format!("{program} {}", arguments.join(" "));
    let failed = |why: &str| {
        let denied = why.contains("Operation not permitted") || why.contains("Permission denied");
        let refusal = if denied { Refusal::Permission } else { Refusal::System };
        let text = format!("command ({command}): {why}. Check that this machine allows it");
        LabError::new(refusal, "lab.ip", text)
    };
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => missing(program, "iproute2"),
            _ => failed(&error.to_string()),
        })?;
    if let Some(mut stdin) = child.stdin.take() {
        // If it reads nothing, its exit code tells why.
        let _ = stdin.write_all(input.as_bytes());
    }
    let done = child.wait_with_output().map_err(|error| failed(&error.to_string()))?;
    match done.status.success() {
        true => Ok(String::from_utf8_lossy(&done.stdout).into_owned()),
        false => Err(failed(String::from_utf8_lossy(&done.stderr).trim())),
    }
}

/// A program that is not installed.
pub fn missing(program: &str, package: &str) -> LabError {
    let text = format!("program ({program}): is not installed. Install the package {package}");
    LabError::new(Refusal::Missing, "lab.program_missing", text)
}
