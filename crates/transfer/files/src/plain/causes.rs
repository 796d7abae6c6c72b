//! Errors of the library as failures of a command: exit code, stable name, one line.

use std::io::{self, ErrorKind};

use crate::{LayeredError, SourceError, TargetError, TransferError};
use fanfare_node::{
    DirectoryError, JoinError, OpenError,
    group::{BodyError, CacheError, GroupError},
};

use crate::plain::exit::{Exit, Failure};

impl From<SourceError> for Failure {
    fn from(error: SourceError) -> Self {
        let denied = ErrorKind::PermissionDenied;
        let (exit, code) = match &error {
            SourceError::Unreadable(_, why) if why.kind() == denied => {
                (Exit::Permission, "source.permission")
            }
            SourceError::Unreadable(..) => (Exit::Usage, "source.unreadable"),
            SourceError::Name(..) => (Exit::Usage, "source.name"),
            SourceError::SameName(..) => (Exit::Usage, "source.same_name"),
            SourceError::NotAFile(_) | SourceError::NotAStream(_) => (Exit::Usage, "source.kind"),
            SourceError::Spool(_) => (Exit::Resource, "source.spool"),
            SourceError::Nothing => (Exit::Usage, "source.nothing"),
            SourceError::Listing(_) => (Exit::Usage, "delete.invalid"),
            SourceError::LeadsOut(..) => (Exit::Usage, "link.leads_out"),
            SourceError::TreeTooLong(_) => (Exit::Usage, "tree.too_long"),
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
            TransferError::Target(error) => target_failure(&error),
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

/// Of what a stream cannot be written to.
fn target_failure(error: &TargetError) -> Failure {
    let (exit, code) = match error {
        TargetError::Open(_, why) if why.kind() == ErrorKind::PermissionDenied => {
            (Exit::Permission, "target.permission")
        }
        TargetError::Open(..) => (Exit::Resource, "target.not_writable"),
        TargetError::InUse(..) | TargetError::Attached(..) | TargetError::NoReader(_) => {
            (Exit::Resource, "target.in_use")
        }
        TargetError::NoDevice(..) | TargetError::NotDevice(_) => (Exit::Usage, "target.no_device"),
        TargetError::Directory(_) | TargetError::Unverifiable => (Exit::Usage, "target.kind"),
    };
    Failure::new(exit, code, format!("{error}"))
}

/// Of a directory that cannot be used.
pub fn directory_failure(error: &DirectoryError) -> Failure {
    let (exit, code) = match error {
        DirectoryError::Missing(_) => (Exit::Usage, "directory.missing"),
        DirectoryError::NotADirectory(_) => (Exit::Usage, "directory.kind"),
        DirectoryError::NotWritable(_, error) if error.kind() == ErrorKind::PermissionDenied => {
            (Exit::Permission, "directory.not_writable")
        }
        DirectoryError::NotWritable(..) => (Exit::Resource, "directory.not_writable"),
    };
    Failure::new(exit, code, error.to_string())
}

fn open_exit(error: &OpenError) -> Exit {
    let source = std::error::Error::source(error).and_then(|s| s.downcast_ref::<io::Error>());
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

impl From<GroupError> for Failure {
    fn from(error: GroupError) -> Self {
        let code = match &error {
            GroupError::Publish(_) => "message.refused",
            GroupError::TooLarge { .. } => "message.too_large",
            GroupError::NotDurable(why) => return unwritten(why),
            GroupError::Cache(ErrorKind::StorageFull | ErrorKind::QuotaExceeded, _) => {
                return unwritten("the disk is full");
            }
            GroupError::Cache(_, why) => return unwritten(why),
            GroupError::Ended => {
                let text = "group (left): this member has ended. Start it again";
                return Self::new(Exit::Failed, "group.ended", text);
            }
        };
        Self::usage(code, error.to_string())
    }
}

fn unwritten(why: &str) -> Failure {
    let text = format!(
        "cache ({why}): the message could not be written to the cache directory, and was not published. \
         Make room there, and publish it again"
    );
    Failure::new(Exit::Resource, "cache.unwritten", text)
}

impl From<BodyError> for Failure {
    fn from(error: BodyError) -> Self {
        match error {
            BodyError::TooLarge { .. } => Self::usage("message.too_large", error.to_string()),
            BodyError::Unreadable(why) => {
                let text = format!("message ({why}): cannot be read. Give another file");
                Self::usage("message.unreadable", text)
            }
            BodyError::Spool(why) => {
                let text = format!(
                    "message ({why}): cannot be kept in the directory for temporary files. Make room \
                     there, or set TMPDIR"
                );
                Self::new(Exit::Resource, "message.spool", text)
            }
        }
    }
}
