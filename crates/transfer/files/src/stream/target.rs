//! Where a receiver puts a stream: a file in its directory, or what its user named.

use fanfare_udp::os::{
    device,
    fd::AsFd,
    file::{FileExt, FileTypeExt},
};
use std::{
    fmt,
    fs::File,
    io::{self, Read, Write},
    path::{Path, PathBuf},
    sync::Arc,
};

use crate::content::{
    placed::{Placed, unnamed},
    stream::piece::PIECE_MAX,
};
use fanfare_node::disk::{
    OwnFile,
    directory::{Directory, How, Settled, permissions},
    name::{NameError, SafeName},
    placement::Conflict,
};
use fanfare_proto::ObjectKey;
use fanfare_udp::os::{
    fs::{CWD, Mode, OFlags, mode_of},
    io::Errno,
};

use super::path::{PathKind, ResolvedPath, TargetKind};

/// A device is synced after so many bytes: what waits in memory stays short, and so does the last sync.
const SYNC_BYTES: u64 = 64 << 20;
/// Reading back, bytes at once.
const READ_BYTES: usize = 1 << 20;
/// By which memory, offsets and lengths must be divisible to go around the page cache: the longest
/// block of any disk.
const ALIGN: usize = 4096;

/// Where a stream goes, in place of a directory.
#[derive(Debug, Clone, Default)]
pub struct StreamTarget {
    /// A file, a pipe or a block device; `None`: standard output.
    pub path: Option<PathBuf>,
    /// Blocks of zeros are not written: what is there is known to be zeros.
    pub sparse: bool,
    /// Everything is read back in the end, and compared.
    pub verify: bool,
}

/// Why a stream cannot go there.
#[derive(Debug)]
pub enum TargetError {
    /// It cannot be opened.
    Open(PathBuf, io::Error),
    /// A directory.
    Directory(PathBuf),
    /// A pipe that nobody reads from.
    NoReader(PathBuf),
    /// A device that is mounted, or used otherwise; where, as far as it is known.
    InUse(PathBuf, Vec<String>),
    /// A file that a loop device shows as a disk.
    Attached(PathBuf, String),
    /// There is no such device, and where devices have their names nothing is made; names like it.
    NoDevice(PathBuf, Vec<String>),
    /// A file where devices have their names.
    NotDevice(PathBuf),
    /// What is written to a pipe cannot be read back.
    Unverifiable,
}

impl fmt::Display for TargetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Open(path, error) => {
                write!(f, "to ({}): cannot be written ({error}). Check its name", path.display())
            }
            Self::Directory(path) => {
                let path = path.display();
                write!(f, "to ({path}): a directory. Use 'fanfare recv {path}', or name a file")
            }
            Self::NoReader(path) => write!(
                f,
                "to ({}): nobody reads from this pipe. Start the program that reads it first",
                path.display()
            ),
            Self::InUse(path, at) if at.is_empty() => write!(
                f,
                "to ({}): this device is in use: by swap, a volume, or another program. Release it first",
                path.display()
            ),
            Self::InUse(path, at) => {
                let (path, at) = (path.display(), at.join(", "));
                write!(f, "to ({path}): it, or a part of it, is mounted at {at}. Unmount it first")
            }
            Self::Attached(path, disk) => write!(
                f,
                "to ({}): /dev/{disk} shows this file as a disk. Detach it first (losetup -d /dev/{disk}), \
                 or write to /dev/{disk}",
                path.display()
            ),
            Self::NoDevice(path, similar) => {
                let path = path.display();
                write!(f, "to ({path}): there is no such device, and no file is made there. ")?;
                match similar.is_empty() {
                    true => f.write_str("Check its name: lsblk lists all disks"),
                    false => write!(f, "Disks here: {}", similar.join(", ")),
                }
            }
            Self::NotDevice(path) => write!(
                f,
                "to ({}): a file in memory, and no device: somebody has made it by a mistyped name. Remove \
                 it, and check the name: lsblk lists all disks",
                path.display()
            ),
            Self::Unverifiable => write!(
                f,
                "verify (a pipe): what was written to a pipe cannot be read back. Leave out --verify"
            ),
        }
    }
}

impl std::error::Error for TargetError {}

impl StreamTarget {
    /// Describes it for people, before anything is opened.
    #[must_use]
    pub fn kind(&self) -> TargetKind {
        self.path.as_deref().map_or(TargetKind::Pipe, TargetKind::of)
    }

    /// Bytes that it has room for, as far as that is known. It is the size of a device. Of a file it is what its
    /// volume has free beside what the file takes now.
    #[must_use]
    pub fn free(&self) -> Option<u64> {
        let path = self.path.as_deref()?;
        let kind = TargetKind::of(path);
        // Zeros take no room in a file, and its user says that there are many.
        kind.room(path).filter(|_| !self.sparse || kind == TargetKind::Device)
    }

    /// Opens it, and changes nothing yet.
    pub(crate) fn open(&self) -> Result<Sink, TargetError> {
        let Some(path) = &self.path else {
            let error = |error| TargetError::Open(PathBuf::from("standard output"), error);
            let out = io::stdout().as_fd().try_clone_to_owned().map_err(error)?;
            return self.pipe(File::from(out));
        };
        let ResolvedPath { real, found } = ResolvedPath::of(path)?;
        let (is_device, is_fifo) = (found == PathKind::Device, found == PathKind::Fifo);
        let more = match found {
            // Refused where it, or a part of it, is mounted (open(2)).
            PathKind::Device => OFlags::EXCL,
            // Otherwise this would wait until somebody reads.
            PathKind::Fifo => OFlags::NONBLOCK,
            // Nothing may have come in its place meanwhile.
            PathKind::Nothing => OFlags::CREATE | OFlags::EXCL,
            PathKind::File | PathKind::Other => OFlags::empty(),
        };
        let flags = OFlags::CLOEXEC | more;
        let mode = mode_of(0o666);
        let open = |access: OFlags| fanfare_udp::os::fs::openat(CWD, &real, flags | access, mode);
        // What an earlier attempt has left is read, where that is allowed.
        let readable = if is_fifo { None } else { open(OFlags::RDWR).ok() };
        let is_readable = readable.is_some();
        let fd =
            readable.map_or_else(|| open(OFlags::WRONLY), Ok).map_err(|errno| match errno {
                Errno::NXIO => TargetError::NoReader(path.clone()),
                Errno::BUSY => TargetError::InUse(path.clone(), mounted(path)),
                other => TargetError::Open(path.clone(), other.into()),
            })?;
        if is_fifo {
            let blocking = fanfare_udp::os::fs::fcntl_setfl(&fd, OFlags::empty());
            blocking.map_err(|errno| TargetError::Open(path.clone(), errno.into()))?;
        }
        let file = File::from(fd);
        let is_file = file.metadata().is_ok_and(|meta| meta.is_file());
        if !is_device && !is_file {
            return self.pipe(file);
        }
        if let Some(disk) = device::loop_over(&file).filter(|_| is_file) {
            return Err(TargetError::Attached(path.clone(), disk));
        }
        let (sparse, verify) = (self.sparse, self.verify);
        let has_some = is_device || file.metadata().is_ok_and(|meta| meta.len() > 0);
        Ok(Sink::Raw(Raw {
            file,
            path: real,
            is_device,
            is_new: found == PathKind::Nothing,
            has_begun: false,
            may_hold: is_readable && has_some,
            is_kept: is_device,
            sparse,
            verify,
            unsynced: 0,
        }))
    }

    fn pipe(&self, file: File) -> Result<Sink, TargetError> {
        if self.verify {
            return Err(TargetError::Unverifiable);
        }
        Ok(Sink::Pipe(file))
    }
}

/// Directories at which this device, or a part of it, is mounted.
fn mounted(path: &Path) -> Vec<String> {
    let mounts = File::open(path).map(|file| device::mounts(&file)).unwrap_or_default();
    mounts.into_iter().map(|mounted| mounted.at).collect()
}

/// An open target. Bytes come in the order of the stream.
#[derive(Debug)]
pub(crate) enum Sink {
    /// What can only be written one byte after the other.
    Pipe(File),
    /// A file or a device that is written in place.
    Raw(Raw),
    /// A file of our own in a directory, which gets its name in the end.
    Part(Part),
}

#[derive(Debug)]
pub(crate) struct Raw {
    file: File,
    path: PathBuf,
    is_device: bool,
    /// It was made when it was opened: it goes away again if nothing comes.
    is_new: bool,
    has_begun: bool,
    /// It can be read, and something was there when it was opened.
    may_hold: bool,
    /// What was there is there until something else is written over it.
    is_kept: bool,
    sparse: bool,
    verify: bool,
    unsynced: u64,
}

#[derive(Debug)]
pub(crate) struct Part {
    directory: Arc<Directory>,
    file: Arc<OwnFile>,
    name: String,
}

/// What a whole stream is.
#[derive(Debug)]
pub(crate) struct Whole<'a> {
    pub(crate) name: &'a str,
    pub(crate) size: u64,
    pub(crate) hash: [u8; 32],
    pub(crate) conflict: Conflict,
}

/// Why a whole stream is not in its place.
#[derive(Debug)]
pub(crate) enum Unfinished {
    Io(io::Error),
    /// Something else was read back.
    Differs,
    /// Another file of that name stays.
    Taken,
}

impl From<io::Error> for Unfinished {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<Errno> for Unfinished {
    fn from(errno: Errno) -> Self {
        Self::Io(errno.into())
    }
}

impl Sink {
    /// A file of our own in this directory.
    pub(crate) fn part(directory: &Arc<Directory>, key: ObjectKey) -> io::Result<Self> {
        let ObjectKey { sender, instance, .. } = key;
        let name = directory.own_name(format_args!("{sender}-{instance}-stream"), ".part");
        let file = directory.create_own(&name)?;
        // Tells another receiver in this directory that it is in use.
        let _ = file.handle().lock();
        Ok(Self::Part(Part { directory: directory.clone(), file, name }))
    }

    /// Whether something of the stream may be there, from an earlier attempt, and can be read.
    pub(crate) fn may_hold(&self) -> bool {
        matches!(self, Self::Raw(raw) if raw.may_hold)
    }

    /// Bytes that it has room for, as far as that is known.
    pub(crate) fn room(&self) -> Option<u64> {
        match self {
            // Zeros take no room in a file, and its user says that there are many.
            Self::Raw(raw) if raw.sparse && !raw.is_device => None,
            Self::Raw(raw) => {
                let kind = if raw.is_device { TargetKind::Device } else { TargetKind::Replaced };
                kind.room(&raw.path)
            }
            Self::Pipe(_) | Self::Part(_) => None,
        }
    }

    /// Before the first byte: a file that was there is empty from now on, unless some of it is kept.
    pub(crate) fn begin(&mut self, keep: bool) -> io::Result<()> {
        if let Self::Raw(raw) = self {
            raw.has_begun = true;
        }
        match self {
            Self::Raw(raw) if !raw.is_device && !keep => raw.file.set_len(0),
            Self::Raw(raw) => {
                raw.is_kept = true;
                Ok(())
            }
            Self::Pipe(_) | Self::Part(_) => Ok(()),
        }
    }

    /// The bytes that are there now; false where there are none.
    pub(crate) fn read(&self, offset: u64, into: &mut [u8]) -> bool {
        matches!(self, Self::Raw(raw) if raw.file.read_exact_at(into, offset).is_ok())
    }

    pub(crate) fn write(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::Pipe(file) => file.write_all(bytes),
            Self::Raw(raw) => raw.write(offset, bytes),
            Self::Part(part) => Ok(part.file.handle().write_all_at(bytes, offset)?),
        }
    }

    /// Zeros, which did not travel.
    pub(crate) fn write_zeros(&mut self, offset: u64, len: u64) -> io::Result<()> {
        match self {
            Self::Pipe(file) => zeros(len, |_, bytes| file.write_all(bytes)),
            Self::Raw(raw) => raw.write_zeros(offset, len),
            // A new file: there is nothing else.
            Self::Part(_) => Ok(()),
        }
    }

    /// All of it was written: makes it durable, reads it back when that is wanted, names it.
    pub(crate) fn finish(&mut self, whole: &Whole<'_>) -> Result<Placed, Unfinished> {
        let name = SafeName::parse(whole.name.as_bytes());
        let placed = |name: SafeName| Placed {
            name,
            size: whole.size,
            hash: whole.hash,
            verified: true,
            how: How::New,
            name_rejected: None,
            displaced: None,
        };
        match self {
            Self::Part(part) => part.finish(whole, name),
            Self::Pipe(file) => {
                file.flush()?;
                settle(file)?;
                Ok(placed(name.unwrap_or_else(|_| unnamed(&whole.hash))))
            }
            Self::Raw(raw) => {
                raw.finish(whole)?;
                Ok(placed(name.unwrap_or_else(|_| unnamed(&whole.hash))))
            }
        }
    }

    /// It will not be whole.
    pub(crate) fn abandon(&mut self) {
        if let Self::Part(part) = self {
            part.directory.remove(&part.name);
        }
    }
}

impl Raw {
    fn write(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all_at(bytes, offset)?;
        self.unsynced += bytes.len() as u64;
        if self.unsynced >= SYNC_BYTES && self.is_device {
            self.unsynced = 0;
            self.file.sync_data()?;
            // Nobody reads it soon: other programs need the memory.
            fanfare_udp::os::fs::advise_done(&self.file);
        }
        Ok(())
    }

    fn write_zeros(&mut self, offset: u64, len: u64) -> io::Result<()> {
        // A new file is zeros where nothing is written.
        if self.sparse && self.is_device || !self.is_kept {
            return Ok(());
        }
        if fanfare_udp::os::fs::zero_range(&self.file, offset, len).is_ok() {
            return Ok(());
        }
        zeros(len, |at, bytes| self.write(offset + at, bytes))
    }

    fn finish(&mut self, whole: &Whole<'_>) -> Result<(), Unfinished> {
        if !self.is_device {
            self.file.set_len(whole.size)?;
        }
        self.file.sync_all()?;
        if let Some(directory) = self.path.parent().filter(|_| !self.is_device) {
            // Its name, too: whoever made it may not have synced it.
            fanfare_udp::os::fs::sync_directory(directory)?;
        }
        if self.verify && read_back(&self.path, self.is_device, whole.size)? != whole.hash {
            return Err(Unfinished::Differs);
        }
        Ok(())
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        if self.is_new && !self.has_begun {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// Waits until everything written counts: what a pipe holds, when its reader has taken it. Standard output may be a
/// file or a device, where it counts when it is on disk.
fn settle(file: &File) -> io::Result<()> {
    let kind = file.metadata()?.file_type();
    if kind.is_file() || kind.is_block_device() {
        return file.sync_all();
    }
    device::drained(file)
}

impl Part {
    fn finish(
        &self,
        whole: &Whole<'_>,
        name: Result<SafeName, NameError>,
    ) -> Result<Placed, Unfinished> {
        let Whole { size, hash, conflict, .. } = *whole;
        let file = self.file.handle();
        file.set_len(size)?;
        file.set_properties(permissions(None), None)?;
        self.file.sync()?;
        let (wanted, name_rejected) = match name {
            Ok(name) => (name, None),
            Err(error) => (unnamed(&hash), Some(error)),
        };
        let found = self.directory.place(&self.name, &wanted, conflict, (size, &hash))?;
        let Settled::Placed(name, how) = found else { return Err(Unfinished::Taken) };
        if how == How::Already {
            self.directory.remove(&self.name);
        }
        Ok(Placed { name, size, hash, verified: true, how, name_rejected, displaced: None })
    }
}

/// Writes zeros by pieces.
fn zeros(len: u64, mut write: impl FnMut(u64, &[u8]) -> io::Result<()>) -> io::Result<()> {
    let block = vec![0; len.min(PIECE_MAX as u64) as usize];
    let mut at = 0;
    while at < len {
        let now = (len - at).min(PIECE_MAX as u64);
        write(at, &block[..now as usize])?;
        at += now;
    }
    Ok(())
}

/// The hash of what is on the device, or as near to that as the system lets us look.
fn read_back(path: &Path, is_device: bool, size: u64) -> io::Result<[u8; 32]> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    let direct = fanfare_udp::os::fs::go_around_cache(path);
    let direct = direct.ok().filter(|_| is_device).map(File::from);
    let mut file = match direct {
        Some(file) => file,
        None => {
            let file = File::from(fanfare_udp::os::fs::openat(CWD, path, flags, Mode::empty())?);
            fanfare_udp::os::fs::advise_done(&file);
            file
        }
    };
    let mut memory = vec![0_u8; READ_BYTES + ALIGN];
    let start = memory.as_ptr().align_offset(ALIGN);
    let buffer = &mut memory[start..start + READ_BYTES];
    let mut hasher = blake3::Hasher::new();
    while hasher.count() < size {
        let count = match file.read(buffer) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        let rest = usize::try_from(size - hasher.count()).unwrap_or(usize::MAX);
        hasher.update(&buffer[..count.min(rest)]);
    }
    Ok(*hasher.finalize().as_bytes())
}

#[cfg(test)]
mod tests {
    use fanfare_node::disk::scratch::Scratch;

    use super::*;

    fn target(path: PathBuf) -> StreamTarget {
        StreamTarget { path: Some(path), sparse: false, verify: true }
    }

    fn whole(bytes: &[u8]) -> Whole<'static> {
        let (size, hash) = (bytes.len() as u64, *blake3::hash(bytes).as_bytes());
        Whole { name: "s", size, hash, conflict: Conflict::KeepBoth }
    }

    #[test]
    fn a_file_holds_the_stream_and_nothing_of_what_was_there() {
        let scratch = Scratch::new();
        let path = scratch.path().join("image");
        std::fs::write(&path, vec![9; 50_000]).unwrap();
        let mut sink = target(path.clone()).open().unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().len(), 50_000, "nothing has come yet");
        sink.begin(false).unwrap();
        sink.write(0, b"one").unwrap();
        sink.write_zeros(3, 9997).unwrap();
        let mut bytes = b"one".to_vec();
        bytes.resize(10_000, 0);
        sink.finish(&whole(&bytes)).unwrap();
        assert!(std::fs::read(&path).unwrap() == bytes);
    }

    #[test]
    fn a_file_of_which_some_is_kept_has_zeros_where_the_stream_has_them() {
        let scratch = Scratch::new();
        let path = scratch.path().join("image");
        std::fs::write(&path, vec![9; 50_000]).unwrap();
        let mut sink = target(path.clone()).open().unwrap();
        let mut there = [0; 3];
        assert!(sink.may_hold() && sink.read(7, &mut there) && !sink.read(49_998, &mut there));
        assert_eq!(there, [9; 3]);
        sink.begin(true).unwrap();
        sink.write_zeros(10, 20_000).unwrap();
        let mut bytes = vec![9; 10];
        bytes.resize(20_010, 0);
        sink.finish(&whole(&bytes)).unwrap();
        assert!(std::fs::read(&path).unwrap() == bytes);
    }

    #[test]
    fn what_is_read_back_and_differs_is_not_finished() {
        let scratch = Scratch::new();
        let mut sink = target(scratch.path().join("image")).open().unwrap();
        sink.begin(false).unwrap();
        sink.write(0, b"two").unwrap();
        assert!(matches!(sink.finish(&whole(b"one")), Err(Unfinished::Differs)));
    }

    #[test]
    fn a_pipe_without_a_reader_and_a_directory_are_refused() {
        let scratch = Scratch::new();
        let fifo = scratch.path().join("pipe");
        fanfare_udp::os::fs::mknodat(
            CWD,
            &fifo,
            fanfare_udp::os::fs::FileType::Fifo,
            Mode::RWXU,
            0,
        )
        .unwrap();
        let target = StreamTarget { path: Some(fifo), ..StreamTarget::default() };
        assert!(matches!(target.open(), Err(TargetError::NoReader(_))));
        let directory = StreamTarget { path: Some(scratch.path().into()), ..target };
        assert!(matches!(directory.open(), Err(TargetError::Directory(_))));
    }
}
