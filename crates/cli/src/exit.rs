//! How the command ends: codes for programs, one line for people.

use std::{fmt, io::ErrorKind, net::SocketAddr, process::ExitCode};

use fanfare_files::{LayeredError, SourceError, TransferError};
use fanfare_node::{DirectoryError, JoinError, OpenError, group::CacheError, proto::NodeId};

use crate::printable::Printable;

/// Exit codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
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
    pub(crate) fn worst(self, other: Self) -> Self {
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
pub(crate) struct Failure {
    pub(crate) exit: Exit,
    /// Stable name for programs.
    pub(crate) code: &'static str,
    /// `<what> (<value>): <why>. <what to do>`.
    pub(crate) text: String,
}

impl Failure {
    pub(crate) fn new(exit: Exit, code: &'static str, text: impl Into<String>) -> Self {
        Self { exit, code, text: text.into() }
    }

    /// The same of one of several streams.
    pub(crate) fn of_stream(&self, stream: &str) -> Self {
        Self { text: format!("stream ({stream}): {}", self.text), ..self.clone() }
    }

    /// The same of one of several groups of a node.
    pub(crate) fn of_group(&self, name: &str) -> Self {
        Self { text: format!("group ({name}): {}", self.text), ..self.clone() }
    }

    pub(crate) fn usage(code: &'static str, text: impl Into<String>) -> Self {
        Self::new(Exit::Usage, code, text)
    }
}

/// What to say of an interface that has come back.
pub(crate) fn rejoined(interface: &str) -> String {
    format!("interface {interface} had gone and is there again: this node goes on there")
}

/// What to say of two nodes with one id.
pub(crate) fn id_taken(
    id: NodeId,
    own: SocketAddr,
    other: SocketAddr,
    new: Option<NodeId>,
) -> String {
    let so = match new {
        Some(new) => format!("this one is {} now", new.0),
        None => "give one of them another --node-id, or none".to_owned(),
    };
    format!("node id {} is borne by {own} (this node) and by {other}: {so}", id.0)
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // One line, whatever a path or the system's text contains.
        write!(f, "error: {}", Printable(&self.text))
    }
}

impl From<SourceError> for Failure {
    fn from(error: SourceError) -> Self {
        let denied = ErrorKind::PermissionDenied;
        let (exit, code) = match &error {
            SourceError::Unreadable(_, why) if why.kind() == denied => {
                (Exit::Permission, "source.permission")
            }
            SourceError::Unreadable(..) => (Exit::Usage, "source.unreadable"),
            SourceError::NotUtf8(_) => (Exit::Usage, "source.name"),
            SourceError::NotAFile(_) => (Exit::Usage, "source.kind"),
            SourceError::Spool(_) => (Exit::Resource, "source.spool"),
            SourceError::Nothing => (Exit::Usage, "source.nothing"),
            SourceError::Listing(_) => (Exit::Usage, "delete.invalid"),
        };
        Self::new(exit, code, error.to_string())
    }
}

impl From<JoinError> for Failure {
    fn from(error: JoinError) -> Self {
        let text = error.to_string();
        match &error {
            JoinError::Open(open) => Self::new(open_exit(open), open.code(), text),
            JoinError::SegmentTooLong { .. } | JoinError::SegmentRefused { .. } => {
                Self::usage("segment.too_long", text)
            }
            JoinError::Cache(cache) => match cache {
                CacheError::OtherNode { .. } => Self::usage("cache.other_node", text),
                CacheError::InUse(_) => Self::new(Exit::Resource, "cache.in_use", text),
                CacheError::Directory(_, why) if why.kind() == ErrorKind::PermissionDenied => {
                    Self::new(Exit::Permission, "cache.permission", text)
                }
                _ => Self::new(Exit::Resource, "cache.unusable", text),
            },
            JoinError::System(_) => Self::new(Exit::Resource, "system", text),
        }
    }
}

impl From<TransferError> for Failure {
    fn from(error: TransferError) -> Self {
        let text = error.to_string();
        match error {
            TransferError::NothingToDo => Self::usage("node.nothing", text),
            TransferError::Join(error) => error.into(),
            TransferError::Directory(error) => directory_failure(&error),
            TransferError::Enqueue(_) => Self::usage("source.refused", text),
            TransferError::Layers(error) => {
                let (exit, code) = match error {
                    LayeredError::Unreadable(..) => (Exit::Failed, "source.changed"),
                    _ => (Exit::Usage, "layers.invalid"),
                };
                Self::new(exit, code, text)
            }
        }
    }
}

/// Of a directory that cannot be used.
pub(crate) fn directory_failure(error: &DirectoryError) -> Failure {
    let (exit, code) = match error {
        DirectoryError::Missing(_) => (Exit::Usage, "directory.missing"),
        DirectoryError::NotADirectory(_) => (Exit::Usage, "directory.kind"),
        DirectoryError::NotWritable(..) => (Exit::Resource, "directory.not_writable"),
    };
    Failure::new(exit, code, error.to_string())
}

fn open_exit(error: &OpenError) -> Exit {
    let source = std::error::Error::source(error).and_then(|s| s.downcast_ref::<std::io::Error>());
    if source.is_some_and(|io| io.kind() == ErrorKind::PermissionDenied) {
        return Exit::Permission;
    }
    match error {
        OpenError::Enumerate { .. }
        | OpenError::Socket { .. }
        | OpenError::Bind { .. }
        | OpenError::Join { .. }
        | OpenError::Configure { .. } => Exit::Resource,
        _ => Exit::Usage,
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
