//! Why something cannot be sent, in words.

use fanfare_udp::os::text::OsStrExt;
use std::{
    fmt, io,
    path::{Path, PathBuf},
};

use fanfare_node::disk::name::{NameError, shown, text_of};

use crate::content::listing::ListingError;

/// Why something cannot be sent.
#[derive(Debug)]
pub enum SourceError {
    /// A path cannot be read.
    Unreadable(PathBuf, io::Error),
    /// Receivers do not take that name.
    Name(String, NameError),
    /// Two paths would be one at receivers, or one beneath the other: the name of the first.
    SameName(PathBuf, PathBuf, String),
    /// It is neither file nor directory.
    NotAFile(PathBuf),
    /// A directory cannot be sent as a stream.
    NotAStream(PathBuf),
    /// A link leads out of the directory that is sent: its path, and what it points to.
    LeadsOut(PathBuf, PathBuf),
    /// Directories and links have more bytes than receivers take.
    TreeTooLong(usize),
    /// Standard input could not be kept in a temporary file.
    Spool(io::Error),
    /// There is no file in what was named.
    Nothing,
    /// What is sent cannot say what receivers may remove.
    Listing(ListingError),
}

impl From<ListingError> for SourceError {
    fn from(error: ListingError) -> Self {
        Self::Listing(error)
    }
}

impl fmt::Display for SourceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable(path, error) if error.kind() == io::ErrorKind::NotFound => {
                write!(f, "file ({}): there is no such file. Check its name", path_shown(path))
            }
            Self::Unreadable(path, error) if error.kind() == io::ErrorKind::PermissionDenied => {
                write!(
                    f,
                    "file ({}): permission denied. Run as a user who may read it",
                    path_shown(path)
                )
            }
            Self::Unreadable(path, error) => {
                write!(f, "file ({}): cannot be read ({error}). Check it", path_shown(path))
            }
            Self::Name(name, why) => write!(
                f,
                "name ({}): receivers do not take it: {why}. Give another one, as PATH=NAME",
                shown(name)
            ),
            Self::SameName(a, b, name) => write!(
                f,
                "paths ('{}' and '{}'): receivers would call them '{}', or put one beneath the \
                 other. Give one another name, as PATH=NAME",
                path_shown(a),
                path_shown(b),
                shown(name)
            ),
            Self::NotAFile(path) => write!(
                f,
                "path ({}): neither a file nor a directory. Send a disk alone, and anything else \
                 by a pipe into 'fanfare send -'",
                path_shown(path)
            ),
            Self::NotAStream(path) => write!(
                f,
                "path ({}): is a directory, and no stream. Leave out --as-stream",
                path_shown(path)
            ),
            Self::LeadsOut(path, target) => write!(
                f,
                "link ('{}'): leads out of the directory, to '{}'. Choose what is done with such \
                 links: --links keep, follow or skip",
                path_shown(path),
                path_shown(target)
            ),
            Self::TreeTooLong(max) => write!(
                f,
                "tree (its names): directories and links have more than {} MiB of names. Send the \
                 directories in several parts",
                max >> 20
            ),
            Self::Spool(error) => write!(
                f,
                "standard input (-): cannot be kept ({error}). Make room in the directory for \
                 temporary files or set TMPDIR"
            ),
            Self::Nothing => write!(f, "paths (as given): there is no file in them. Name others"),
            Self::Listing(error) => error.fmt(f),
        }
    }
}

/// A path for people; of a very long one the middle is left out.
fn path_shown(path: &Path) -> String {
    shown(&text_of(path.as_os_str().as_bytes()))
}

impl std::error::Error for SourceError {}
