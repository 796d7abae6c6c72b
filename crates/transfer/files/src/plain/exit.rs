//! How the command ends: codes for programs, one line for people.

use std::{fmt, process::ExitCode};

use crate::plain::printable::Printable;

/// Exit codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Every expected receiver has every byte.
    Done = 0,
    /// Something failed.
    Failed = 1,
    /// The command was not understood, or asks for what cannot be.
    Usage = 2,
    /// Some receivers, or some files, but not all.
    Partial = 3,
    /// Permission was denied.
    Permission = 4,
    /// This machine lacks disk, memory, a port, or the time to measure anything.
    Resource = 5,
    /// Nobody answered.
    Nobody = 6,
    /// Ctrl-C.
    Interrupted = 130,
}

impl Exit {
    /// Of several that have ended, how all of them have.
    pub fn worst(self, other: Self) -> Self {
        const BEST_FIRST: [Exit; 8] = [
            Exit::Done,
            Exit::Partial,
            Exit::Nobody,
            Exit::Failed,
            Exit::Resource,
            Exit::Permission,
            Exit::Usage,
            Exit::Interrupted,
        ];
        let rank = |exit: Self| BEST_FIRST.iter().position(|one| *one == exit);
        if rank(other) > rank(self) { other } else { self }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// Why the command ends early.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// How the command ends.
    pub exit: Exit,
    /// Stable name for programs.
    pub code: &'static str,
    /// `<what> (<value>): <why>. <what to do>`.
    pub text: String,
}

impl Failure {
    /// How it ends, its stable name, and what people read.
    pub fn new(exit: Exit, code: &'static str, text: impl Into<String>) -> Self {
        Self { exit, code, text: text.into() }
    }

    /// The same of one of several streams.
    pub fn of_stream(&self, stream: &str) -> Self {
        Self { text: format!("stream ({stream}): {}", self.text), ..self.clone() }
    }

    /// The same of one of several groups of a node.
    pub fn of_group(&self, name: &str) -> Self {
        Self { text: format!("group ({name}): {}", self.text), ..self.clone() }
    }

    /// A command that was not understood, or asks for what cannot be.
    pub fn usage(code: &'static str, text: impl Into<String>) -> Self {
        Self::new(Exit::Usage, code, text)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // One line, whatever a path or the system's text contains.
        write!(f, "error: {}", Printable(&self.text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_of_several_ends_is_the_end_of_all() {
        let all = [Exit::Done, Exit::Nobody, Exit::Partial, Exit::Done];
        assert_eq!(all.into_iter().fold(Exit::Done, Exit::worst), Exit::Nobody);
        assert_eq!(Exit::Interrupted.worst(Exit::Failed), Exit::Interrupted);
        assert_eq!(Exit::Done.worst(Exit::Done), Exit::Done);
    }
}
