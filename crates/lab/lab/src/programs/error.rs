//! Why the laboratory failed.

use std::{fmt, io};

/// What kind of refusal it is: callers end differently for each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// The system does not let this user do it.
    Permission,
    /// A program, a device or a place on this machine is missing.
    Missing,
    /// It was asked for something that cannot be.
    Usage,
    /// The system failed.
    System,
}

/// A refusal: `<what> (<value>): <why>. <what to do>`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LabError {
    /// Its kind.
    pub refusal: Refusal,
    /// Stable name for programs.
    pub code: &'static str,
    text: String,
}

impl LabError {
    /// Of this kind, with the name for programs and the text for people.
    pub fn new(refusal: Refusal, code: &'static str, text: impl Into<String>) -> Self {
        Self { refusal, code, text: text.into() }
    }
    /// The system said no to something that is not a matter of rights alone.
    pub fn system(what: impl fmt::Display, error: &io::Error) -> Self {
        let refusal = match error.kind() {
            io::ErrorKind::PermissionDenied => Refusal::Permission,
            _ => Refusal::System,
        };
        let text = format!("{what}: {error}. Check that this machine allows it");
        Self::new(refusal, "lab.system", text)
    }
}

impl fmt::Display for LabError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for LabError {}
