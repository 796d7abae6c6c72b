//! What happens where a file of the same name is already.

use std::{
    io::{self, Read},
    sync::Arc,
};

use fanfare_udp::os::io::Errno;

use crate::disk::{
    AsDirectory, DirectoryHandle, FileHandle, Metadata, Mtime, Open, Reader, in_writable, mode_of,
    rename_new,
};

/// Tries to find a free `name.1`, `name.2`, … before giving up.
const SUFFIX_MAX: u32 = 9999;
/// Bytes read at once for comparing: enough for BLAKE3's widest kernel, no more than a small file has.
const READ_BYTES: u64 = 1 << 20;

/// Which file stays when another one of the same name comes. Where both are equal nothing is
/// written, whatever is chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Conflict {
    /// Both: the new one becomes `name.1`, or the next free number.
    KeepBoth,
    /// The new one, which takes the place of the old one in one step.
    #[default]
    Overwrite,
    /// The one that is there. The object is then not held, and its sender is told so.
    Keep,
}

/// A finished file under a name of our own, to be placed.
#[derive(Debug, Clone, Copy)]
pub struct Finished<'a, D> {
    /// The directory it is in.
    pub directory: D,
    /// Its name there.
    pub part: &'a str,
    /// Bytes.
    pub size: u64,
    /// BLAKE3 hash of its content.
    pub hash: &'a [u8; 32],
    /// Names that differ in case alone are one there.
    pub folds_case: bool,
}

/// Where a file ended up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// Under this name, which was free.
    New(String),
    /// Under this name, in place of another file.
    Replaced(String),
    /// An equal one is there under this name; the new one is still where it was.
    Equal(String),
    /// Another one is there and stays; the new one is still where it was.
    Taken,
}

impl<D: AsDirectory> Finished<'_, D> {
    /// Gives it the name `file` in `parent`, as far as `conflict` lets it.
    pub fn place(
        self,
        parent: impl AsDirectory,
        file: &str,
        conflict: Conflict,
    ) -> io::Result<Place> {
        let (from, parent) = (self.directory.as_directory(), parent.as_directory());
        for number in 0..=SUFFIX_MAX {
            let candidate = if number == 0 { file.to_owned() } else { format!("{file}.{number}") };
            match in_writable(parent, || rename_new(from, self.part, parent, &candidate)) {
                Err(Errno::EXIST) => {}
                // Gone: another object of the same part has become this file, or the next one.
                Err(Errno::NOENT) if parent.file_size(&candidate).is_some() => {}
                done => return Ok(done.map(|()| Place::New(candidate))?),
            }
            let equal = equals(parent, &candidate, self.size, self.hash);
            // What shares an equal file with another name, and is another, must not change that.
            let replaces =
                conflict == Conflict::Overwrite && self.is_shared(from, parent, &candidate);
            if equal && !replaces {
                return Ok(Place::Equal(candidate));
            }
            match conflict {
                // Another name to the sender, and one name here: neither may take the other's place.
                Conflict::Overwrite if self.folds_case && !is_listed(parent, &candidate) => {}
                Conflict::KeepBoth => {}
                Conflict::Keep => return Ok(Place::Taken),
                Conflict::Overwrite => {
                    match in_writable(parent, || from.rename(self.part, parent, &candidate)) {
                        // A directory stands there: it is not what was meant to be replaced. Beside it
                        // may be the name of another file that is sent.
                        Err(Errno::ISDIR | Errno::EXIST | Errno::NOTEMPTY) => {
                            return Err(io::ErrorKind::AlreadyExists.into());
                        }
                        done => return Ok(done.map(|()| Place::Replaced(candidate))?),
                    }
                }
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }
}

impl<D: AsDirectory> Finished<'_, D> {
    /// Tells whether the file that is there has another name, too, and other permissions or another time.
    fn is_shared(
        &self,
        from: &dyn DirectoryHandle,
        parent: &dyn DirectoryHandle,
        name: &str,
    ) -> bool {
        let (Some(new), Some(here)) =
            (open_sized(from, self.part, self.size), open_sized(parent, name, self.size))
        else {
            return false;
        };
        let Ok(Metadata { mode, times: [seconds, nanoseconds, ..], .. }) = new.metadata() else {
            return false;
        };
        let nanoseconds = u32::try_from(nanoseconds).unwrap_or(0);
        here.is_shared_as_another(mode.map(mode_of), Some(Mtime { seconds, nanoseconds }))
    }
}

/// Whether a directory has exactly this name. Where the same file is found under it all the same, it has
/// another one there.
fn is_listed(parent: &dyn DirectoryHandle, name: &str) -> bool {
    parent.list().map_or(true, |names| names.iter().any(|listed| listed == name))
}

/// Of a name with a number that [`Conflict::KeepBoth`] may have given it, the name without it.
pub fn numbered(name: &str) -> Option<&str> {
    let (of, number) = name.rsplit_once('.')?;
    let value: u32 = number.parse().ok()?;
    let is_given = (1..=SUFFIX_MAX).contains(&value) && value.to_string() == number;
    is_given.then_some(of)
}

/// Whether a regular file of this size is there.
pub fn has_size(parent: impl AsDirectory, name: &str, size: u64) -> bool {
    parent.as_directory().file_size(name) == Some(size)
}

/// The regular file of this size that is there, for reading.
pub fn open_sized(parent: impl AsDirectory, name: &str, size: u64) -> Option<Arc<dyn FileHandle>> {
    let parent = parent.as_directory();
    if !has_size(parent, name, size) {
        return None;
    }
    parent.open(name, Open::Read).ok()
}

/// Whether a file with this content is there, and on disk.
pub fn equals(parent: impl AsDirectory, name: &str, size: u64, hash: &[u8; 32]) -> bool {
    open_equal(parent, name, size, hash).is_some_and(|file| file.sync().is_ok())
}

/// The file with this content that is there; whether it is on disk is for the caller to see to.
pub fn open_equal(
    parent: impl AsDirectory,
    name: &str,
    size: u64,
    hash: &[u8; 32],
) -> Option<Arc<dyn FileHandle>> {
    let file = open_sized(parent, name, size)?;
    let mut reader = Reader::new(&*file);
    let mut hasher = blake3::Hasher::new();
    let mut buffer = vec![0; size.clamp(1, READ_BYTES) as usize];
    loop {
        match reader.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => {
                hasher.update(&buffer[..count]);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return None,
        }
    }
    (hasher.count() == size && hasher.finalize() == *hash).then_some(file)
}
