//! System programs: runs one, and says which package has it when it is missing.

use std::fmt;
use std::io;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use fanfare_lab::LabError;

/// Program and the Debian package that brings it.
pub const PACKAGES: &[(&str, &str)] = &[
    ("ip", "iproute2"),
    ("nft", "nftables"),
    ("ethtool", "ethtool"),
    ("uname", "coreutils"),
    ("c++", "g++ and libnorm-dev"),
    ("cc", "gcc"),
    ("dumpcap", "wireshark-common"),
    ("tshark", "tshark"),
    ("dpkg-query", "dpkg"),
    ("mount", "mount"),
    ("mkfs.ext4", "e2fsprogs"),
    ("date", "coreutils"),
];

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// Makes Ctrl-C and SIGTERM end the run at its next step, so that labs are still torn down.
pub fn stop_on_signal() {
    // A second handler can't be set; the first one does the same.
    let _ = ctrlc::set_handler(|| INTERRUPTED.store(true, Ordering::SeqCst));
}

/// True once the user has asked to stop.
pub fn interrupted() -> bool {
    INTERRUPTED.load(Ordering::SeqCst)
}

/// Why a step of a run could not be done.
#[derive(Debug)]
pub enum ToolError {
    /// The program is not installed.
    Missing {
        /// What was to be run.
        program: String,
    },
    /// The program ran and said no.
    Failed {
        /// The command line.
        command: String,
        /// Its standard error, or what was wrong with its answer.
        why: String,
    },
    /// A file of the run could not be read or written.
    Io {
        /// The path.
        path: String,
        /// The system's reason.
        source: io::Error,
    },
    /// A namespace could not be made or entered.
    Lab(LabError),
    /// The user pressed Ctrl-C.
    Interrupted,
}

impl fmt::Display for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing { program } => match package_of(program) {
                Some(package) => write!(f, "{program} not found: install package {package}"),
                None => write!(f, "{program} not found"),
            },
            Self::Failed { command, why } => write!(f, "`{command}` failed: {}", why.trim()),
            Self::Io { path, source } => write!(f, "{path}: {source}"),
            Self::Lab(error) => write!(f, "{error}"),
            Self::Interrupted => write!(f, "interrupted"),
        }
    }
}

impl std::error::Error for ToolError {}

impl From<LabError> for ToolError {
    fn from(error: LabError) -> Self {
        Self::Lab(error)
    }
}

/// Looks for a program in PATH (and the system directories that a plain user's PATH lacks):
/// `ip netns exec` hides a missing one behind its own exit code.
///
/// # Errors
/// [`ToolError::Missing`] when it is nowhere.
pub fn require(program: &str) -> Result<(), ToolError> {
    let path = std::env::var("PATH").unwrap_or_default();
    let found = path
        .split(':')
        .chain(["/usr/sbin", "/sbin"])
        .any(|directory| Path::new(directory).join(program).is_file());
    if found { Ok(()) } else { Err(ToolError::Missing { program: program.to_owned() }) }
}

/// The Debian package of a program, where the table knows it.
pub fn package_of(program: &str) -> Option<&'static str> {
    PACKAGES.iter().find(|(name, _)| *name == program).map(|(_, package)| *package)
}

/// Turns an I/O error about `path` into a [`ToolError`].
pub fn at(path: impl fmt::Display) -> impl FnOnce(io::Error) -> ToolError {
    move |source| ToolError::Io { path: path.to_string(), source }
}

/// Runs `program` to its end and returns its standard output.
///
/// # Errors
/// [`ToolError::Missing`] when it is not installed, [`ToolError::Failed`] when it exits non-zero.
pub fn output(program: &str, arguments: &[&str]) -> Result<String, ToolError> {
    output_with_input(program, arguments, "")
}

/// As [`output`], with `input` on its standard input.
///
/// # Errors
/// As [`output`].
pub fn output_with_input(
    program: &str,
    arguments: &[&str],
    input: &str,
) -> Result<String, ToolError> {
    let command = format!("{program} {}", arguments.join(" "));
    let failed = |why: String| ToolError::Failed { command: command.clone(), why };
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|source| not_started(program, source))?;
    if let Some(mut stdin) = child.stdin.take() {
        // A program that reads nothing may be gone already; its exit code tells the rest.
        let _ = stdin.write_all(input.as_bytes());
    }
    let done = child.wait_with_output().map_err(|source| failed(source.to_string()))?;
    if done.status.success() {
        Ok(String::from_utf8_lossy(&done.stdout).into_owned())
    } else {
        Err(failed(format!("{} ({})", String::from_utf8_lossy(&done.stderr).trim(), done.status)))
    }
}

/// The error for a program that could not be started.
pub fn not_started(program: &str, source: io::Error) -> ToolError {
    if source.kind() == io::ErrorKind::NotFound {
        ToolError::Missing { program: program.to_owned() }
    } else {
        ToolError::Failed { command: program.to_owned(), why: source.to_string() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_tool_names_its_package() {
        let error = ToolError::Missing { program: "nft".into() };
        assert_eq!(error.to_string(), "nft not found: install package nftables");
    }

    #[test]
    fn a_program_that_does_not_exist_is_missing_and_not_failed() {
        let error = output("no-such-program-here", &[]).unwrap_err();
        assert!(matches!(error, ToolError::Missing { .. }));
    }
}
