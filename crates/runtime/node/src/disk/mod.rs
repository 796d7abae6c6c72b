//! What receiving asks of a file system, and nothing else of it.
//!
//! A received file is promised to be on disk for good. That promise rests on a few calls and on
//! their order. They are written down here, so that the same code runs on a real disk and on a
//! simulated one that loses power between any two of them.
//!
//! # Map, in reading order
//! - here: the two traits, [`DirectoryHandle`] and [`FileHandle`]; `os`: the real file system, which
//!   follows no link
//! - `own_file`: a file of our own, whose failed sync is never forgotten; `unnamed_file`: one
//!   without a name
//! - [`name`]: which names from the network may become files
//! - [`placement`]: what happens where a file of the same name is already
//! - [`directory`]: the directory that takes received files, and nothing outside it; [`parents`]:
//!   directories below it, of which the last one is kept open
//! - `simulated`: the disk that loses power, and `scratch`: a directory for one test (both only with
//!   the feature `simulated`)

pub mod directory;
pub mod name;
mod os;
mod own_file;
pub mod parents;
pub mod placement;
#[cfg(any(test, feature = "simulated"))]
pub mod scratch;
#[cfg(any(test, feature = "simulated"))]
pub mod simulated;
mod unnamed_file;

use fanfare_udp::os::fd::BorrowedFd;
use std::{
    fmt::Debug,
    fs::File,
    io::{self, Read, Seek as _, SeekFrom},
    sync::Arc,
};

use fanfare_udp::os::{
    fs::{Mode, mode_of},
    io::Errno,
};
pub use os::descriptor;
pub use own_file::OwnFile;
pub use unnamed_file::unnamed_file;

/// An open directory. Names are one part, without a slash; nothing follows links.
pub trait DirectoryHandle: Debug + Send + Sync {
    /// By which its file system knows it.
    fn id(&self) -> DirectoryId<'_>;
    /// Opens a file in it.
    fn open(&self, name: &str, how: Open) -> Result<Arc<dyn FileHandle>, Errno>;
    /// Opens a directory in it.
    fn enter(&self, name: &str) -> Result<Box<dyn DirectoryHandle>, Errno>;
    /// Makes a directory in it.
    fn make_directory(&self, name: &str) -> Result<(), Errno>;
    /// The same, and nobody else may enter it.
    fn make_own_directory(&self, name: &str) -> Result<(), Errno>;
    /// Lets its owner write to it again, where a sender's directory was one that nobody may write to. An
    /// error where that was not why.
    fn make_writable(&self) -> Result<(), Errno> {
        Err(Errno::ACCESS)
    }
    /// Removes a directory that is empty.
    fn remove_directory(&self, name: &str) -> Result<(), Errno>;
    /// Locks it against other openings, as long as it is open; an error when it is locked.
    fn lock(&self) -> Result<(), Errno>;
    /// Gives the file `from` the name `name` in `to`, in place of what has it.
    fn rename(&self, from: &str, to: &dyn DirectoryHandle, name: &str) -> Result<(), Errno>;
    /// The same where nothing has that name, of a directory too. INVAL or NOSYS: this file system
    /// cannot.
    fn rename_new(&self, from: &str, to: &dyn DirectoryHandle, name: &str) -> Result<(), Errno>;
    /// Gives the file one more name, where nothing has it.
    fn link(&self, from: &str, to: &dyn DirectoryHandle, name: &str) -> Result<(), Errno>;
    /// Takes a name from a file.
    fn unlink(&self, name: &str) -> Result<(), Errno>;
    /// Names in it.
    fn list(&self) -> Result<Vec<String>, Errno>;
    /// What has that name, without opening it.
    fn metadata_of(&self, name: &str) -> Result<Metadata, Errno>;
    /// Bytes that this user may still write.
    fn free(&self) -> u64;
    /// Bytes of its whole volume, used ones among them.
    fn capacity(&self) -> u64;
    /// Makes its entries durable.
    fn sync(&self) -> Result<(), Errno>;
    /// Makes everything durable that is on its file system.
    fn sync_all(&self) -> Result<(), Errno>;
}

/// How a file system knows an open directory, where two of them take part in a call.
#[derive(Debug, Clone, Copy)]
pub enum DirectoryId<'a> {
    /// The system's descriptor.
    Descriptor(BorrowedFd<'a>),
    /// A simulated one's number.
    #[cfg(any(test, feature = "simulated"))]
    Number(u64),
}

/// How to open a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Open {
    /// A new one, readable by nobody else, to read and write.
    Create,
    /// A new one with these permissions, less what the umask takes away.
    CreateAs(Mode),
    /// One of our own, new or not, to read, and to write at its end, wherever that is by then.
    Append,
    /// One that is there, to read and write.
    Write,
    /// One that is there, to read. What is no file must not hold us up.
    Read,
}

/// An open file.
pub trait FileHandle: Debug + Send + Sync {
    /// Reads some bytes from `offset` on, none at the end.
    fn read_at(&self, into: &mut [u8], offset: u64) -> Result<usize, Errno>;
    /// Writes some bytes to `offset`.
    fn write_at(&self, bytes: &[u8], offset: u64) -> Result<usize, Errno>;
    /// Cuts it, or lengthens it with a hole.
    fn set_len(&self, len: u64) -> Result<(), Errno>;
    /// Gives it at least that length and the room for it. OPNOTSUPP: this file system cannot.
    fn reserve(&self, len: u64) -> Result<(), Errno>;
    /// Makes a hole where there is nothing but zeros. OPNOTSUPP: this file system cannot.
    fn punch(&self, offset: u64, len: u64) -> Result<(), Errno>;
    /// Bytes of the hole that `offset` is in, from there on; 0: there is none, or this file system does not tell.
    fn hole_at(&self, offset: u64) -> u64;
    /// Makes content, length and properties durable, but not its name.
    fn sync(&self) -> Result<(), Errno>;
    /// Makes content and length durable.
    fn sync_data(&self) -> Result<(), Errno>;
    /// What it is.
    fn metadata(&self) -> Result<Metadata, Errno>;
    /// Locks it against other openings, as long as it is open; an error when it is locked.
    fn lock(&self) -> Result<(), Errno>;
    /// Sets permissions and the time of last change, as far as this file system can hold them. False:
    /// it keeps no such permissions.
    fn set_properties(&self, mode: Mode, mtime: Option<Mtime>) -> Result<bool, Errno>;
    /// Sets the time of last change, where this file system can hold it.
    fn set_mtime(&self, mtime: Mtime);
}

/// A time of last change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Mtime {
    /// Since 1970.
    pub seconds: i64,
    /// Beyond that.
    pub nanoseconds: u32,
}

/// What an open file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Metadata {
    /// It is a regular file.
    pub is_file: bool,
    /// Bytes.
    pub len: u64,
    /// Bytes that it takes on the disk: holes take none.
    pub taken: u64,
    /// Permission bits; `None`: this file system has none.
    pub mode: Option<u32>,
    /// It has another name besides.
    pub is_linked_twice: bool,
    /// By which its file system knows it, whatever its name.
    pub number: u64,
    /// When its content and when anything of it was last changed: seconds and nanoseconds of each.
    pub times: [i64; 4],
}

impl Metadata {
    /// Tells whether it has these permissions and this time, where its file system has permissions at all.
    fn has(&self, mode: Option<Mode>, mtime: Option<Mtime>) -> bool {
        let Some(has) = self.mode.map(mode_of) else { return true };
        let [seconds, nanoseconds, ..] = self.times;
        let same_time = mtime.is_none_or(|mtime| {
            (mtime.seconds, i64::from(mtime.nanoseconds)) == (seconds, nanoseconds)
        });
        mode.is_none_or(|mode| mode == has) && same_time
    }
}

impl dyn DirectoryHandle + '_ {
    /// Bytes of the regular file of that name; `None`: there is none.
    pub fn file_size(&self, name: &str) -> Option<u64> {
        self.metadata_of(name).ok().filter(|meta| meta.is_file).map(|meta| meta.len)
    }
}

impl dyn FileHandle + '_ {
    /// Gives a file that is there these permissions and this time, where it has others, and makes
    /// that durable. What the system does not allow stays as it is: the content is right.
    pub fn adjust(&self, mode: Option<Mode>, mtime: Option<Mtime>) -> Result<(), Errno> {
        let now = self.metadata()?;
        let Some(has) = now.mode.map(mode_of) else { return Ok(()) };
        if now.has(mode, mtime) {
            return Ok(());
        }
        let _ = self.set_properties(mode.unwrap_or(has), mtime);
        self.sync()
    }

    /// Tells whether it has another name besides, and other permissions or another time than these: it cannot
    /// have them without the other name having them, too.
    pub fn is_shared_as_another(&self, mode: Option<Mode>, mtime: Option<Mtime>) -> bool {
        self.metadata().is_ok_and(|now| now.is_linked_twice && !now.has(mode, mtime))
    }

    /// Writes all of `bytes`.
    pub fn write_all_at(&self, mut bytes: &[u8], mut offset: u64) -> Result<(), Errno> {
        while !bytes.is_empty() {
            match self.write_at(bytes, offset) {
                Ok(0) => return Err(Errno::IO),
                Ok(count) => {
                    bytes = &bytes[count..];
                    offset += count as u64;
                }
                Err(Errno::INTR) => {}
                Err(errno) => return Err(errno),
            }
        }
        Ok(())
    }

    /// Fills all of `into`.
    pub fn read_exact_at(&self, into: &mut [u8], offset: u64) -> io::Result<()> {
        let mut filled = 0;
        while filled < into.len() {
            match self.read_at(&mut into[filled..], offset + filled as u64) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(count) => filled += count,
                Err(Errno::INTR) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
        Ok(())
    }
}

/// Reads a file from one end to the other.
#[derive(Debug)]
pub struct Reader<'a> {
    file: &'a dyn FileHandle,
    at: u64,
}

impl<'a> Reader<'a> {
    /// From its beginning.
    pub fn new(file: &'a dyn FileHandle) -> Self {
        Self { file, at: 0 }
    }
}

impl Read for Reader<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read_at(into, self.at)?;
        self.at += count as u64;
        Ok(count)
    }
}

/// Reader of a file from its beginning that can leave out holes.
pub trait SkipHole: Read {
    /// Passes over the hole that comes next, if one does, and gives its bytes: they would be read as zeros. 0: there
    /// is none, or the file system does not tell.
    ///
    /// # Errors
    /// The system's, when the file cannot be read on behind it.
    fn skip_hole(&mut self) -> io::Result<u64>;
}

impl SkipHole for Reader<'_> {
    fn skip_hole(&mut self) -> io::Result<u64> {
        let hole = self.file.hole_at(self.at);
        self.at += hole;
        Ok(hole)
    }
}

impl SkipHole for File {
    fn skip_hole(&mut self) -> io::Result<u64> {
        let at = self.stream_position()?;
        let hole = self.hole_at(at);
        // Asking has moved it.
        self.seek(SeekFrom::Start(at + hole))?;
        Ok(hole)
    }
}

/// What is, or stands for, an open directory.
pub trait AsDirectory {
    /// The directory.
    fn as_directory(&self) -> &dyn DirectoryHandle;
}

impl AsDirectory for BorrowedFd<'_> {
    fn as_directory(&self) -> &dyn DirectoryHandle {
        self
    }
}

impl AsDirectory for &dyn DirectoryHandle {
    fn as_directory(&self) -> &dyn DirectoryHandle {
        *self
    }
}

/// Makes a change in a directory, which is made writable for it if need be. Its permissions are set again
/// once everything is in it.
pub fn in_writable<T>(
    directory: &dyn DirectoryHandle,
    change: impl Fn() -> Result<T, Errno>,
) -> Result<T, Errno> {
    match change() {
        Err(Errno::ACCESS) => {
            directory.make_writable()?;
            change()
        }
        done => done,
    }
}

/// Whether a call failed since the file system has no such thing: permissions or links on FAT, exFAT, many
/// network and user-space file systems. They say so in different words.
#[must_use]
pub fn is_beyond(errno: Errno) -> bool {
    matches!(errno, Errno::PERM | Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL)
}

/// Renames without replacing; by a hard link where the file system cannot. Where it has no links either,
/// the name is looked at first.
pub fn rename_new(
    from_directory: &dyn DirectoryHandle,
    from: &str,
    to_directory: &dyn DirectoryHandle,
    to: &str,
) -> Result<(), Errno> {
    match from_directory.rename_new(from, to_directory, to) {
        Err(Errno::INVAL | Errno::NOSYS) => match from_directory.link(from, to_directory, to) {
            Ok(()) => from_directory.unlink(from),
            Err(errno) if is_beyond(errno) => match to_directory.metadata_of(to) {
                Ok(_) => Err(Errno::EXIST),
                Err(Errno::NOENT) => from_directory.rename(from, to_directory, to),
                Err(errno) => Err(errno),
            },
            Err(errno) => Err(errno),
        },
        other => other,
    }
}

/// Reserves room where the file system can. Elsewhere the file grows as it is written: what never had room
/// may be filled with zeros first (FAT), and in memory (tmpfs) large pages below a file's length are cleared
/// before they are written to.
pub fn reserve(file: &dyn FileHandle, size: u64) -> Result<(), Errno> {
    if size == 0 {
        return Ok(());
    }
    match file.reserve(size) {
        Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) => Ok(()),
        other => other,
    }
}
