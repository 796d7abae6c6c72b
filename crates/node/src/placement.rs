//! What happens where a file of the same name is already.

use std::{fs::File, io, os::fd::BorrowedFd};

use rustix::{
    fs::{AtFlags, FileType, Mode, OFlags},
    io::Errno,
};

use crate::directory::{open_beneath, rename_new};

/// Tries to find a free `name.1`, `name.2`, … before giving up.
const SUFFIX_MAX: u32 = 9999;

/// Which file stays when another one of the same name comes. Where both are equal nothing is
/// written, whatever is chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Conflict {
    /// Both: the new one becomes `name.1`, or the next free number.
    #[default]
    KeepBoth,
    /// The new one.
    Overwrite,
    /// The one that is there. The object is then not held, and its sender is told so.
    Keep,
}

/// A finished file under a name of our own, to be placed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Finished<'a> {
    /// The directory it is in.
    pub(crate) directory: BorrowedFd<'a>,
    /// Its name there.
    pub(crate) part: &'a str,
    /// Bytes.
    pub(crate) size: u64,
    /// BLAKE3 hash of its content.
    pub(crate) hash: &'a [u8; 32],
}

/// Where a file ended up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Place {
    /// Under this name.
    New(String),
    /// An equal one is there under this name; the new one is still where it was.
    Equal(String),
    /// Another one is there and stays; the new one is still where it was.
    Taken,
}

impl Finished<'_> {
    /// Gives it the name `file` in `parent`, as far as `conflict` lets it.
    pub(crate) fn place(
        self,
        parent: BorrowedFd<'_>,
        file: &str,
        conflict: Conflict,
    ) -> io::Result<Place> {
        for number in 0..=SUFFIX_MAX {
            let candidate = if number == 0 { file.to_owned() } else { format!("{file}.{number}") };
            match rename_new(self.directory, self.part, parent, &candidate) {
                Err(Errno::EXIST) => {}
                done => return Ok(done.map(|()| Place::New(candidate))?),
            }
            if equals(parent, &candidate, self.size, self.hash) {
                return Ok(Place::Equal(candidate));
            }
            match conflict {
                Conflict::KeepBoth => {}
                Conflict::Keep => return Ok(Place::Taken),
                Conflict::Overwrite => {
                    match rustix::fs::renameat(self.directory, self.part, parent, &candidate) {
                        // A directory stands there: it is not what was meant to be replaced.
                        Err(Errno::ISDIR | Errno::EXIST | Errno::NOTEMPTY) => {}
                        done => return Ok(done.map(|()| Place::New(candidate))?),
                    }
                }
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }
}

/// Whether a regular file of this size is there.
pub(crate) fn has_size(parent: BorrowedFd<'_>, name: &str, size: u64) -> bool {
    rustix::fs::statat(parent, name, AtFlags::SYMLINK_NOFOLLOW).is_ok_and(|stat| {
        FileType::from_raw_mode(stat.st_mode).is_file() && u64::try_from(stat.st_size) == Ok(size)
    })
}

/// Whether a file with this content is there, and on disk.
pub(crate) fn equals(parent: BorrowedFd<'_>, name: &str, size: u64, hash: &[u8; 32]) -> bool {
    // Opening a pipe would wait for its other end.
    if !has_size(parent, name, size) {
        return false;
    }
    let flags = OFlags::RDONLY | OFlags::NONBLOCK;
    let Ok(fd) = open_beneath(parent, name, flags, Mode::empty()) else { return false };
    let mut file = File::from(fd);
    let equal = crate::source::hash(&mut file, &mut |_| {}).is_ok_and(|found| found.root == *hash);
    equal && file.sync_all().is_ok()
}
