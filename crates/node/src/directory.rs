//! The directory below which received files are put, and nothing outside it.
//!
//! Every step goes through directory descriptors and never follows a link, so that neither a name
//! from the network nor a link planted meanwhile leads out.

use std::{
    fmt,
    fs::File,
    hash::{BuildHasher, RandomState},
    io::{self, Write},
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    path::{Path, PathBuf},
};

use fanfare_proto::ObjectKey;
use rustix::{
    fs::{AtFlags, CWD, Mode, OFlags, RenameFlags, ResolveFlags},
    io::Errno,
};

use crate::{
    name::{PART_PREFIX, SafeName},
    placement::{Conflict, Finished, Place},
};

/// Why files cannot be received into a directory.
#[derive(Debug)]
pub enum DirectoryError {
    /// It does not exist.
    Missing(PathBuf),
    /// It is something else.
    NotADirectory(PathBuf),
    /// Files cannot be created in it.
    NotWritable(PathBuf, io::Error),
}

impl fmt::Display for DirectoryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing(path) => write!(
                f,
                "output directory ({}): no such directory. Create it or use --create-dirs",
                path.display()
            ),
            Self::NotADirectory(path) => {
                write!(f, "output directory ({}): not a directory. Name one", path.display())
            }
            Self::NotWritable(path, source) => write!(
                f,
                "output directory ({}): not writable ({source}). Use one that this user may write",
                path.display()
            ),
        }
    }
}

impl std::error::Error for DirectoryError {}

/// An open directory that takes files.
#[derive(Debug)]
pub(crate) struct Directory {
    fd: OwnedFd,
    /// In the names of files under way, so that receivers in one directory do not share them.
    token: u32,
}

impl Directory {
    /// Opens `path`, after creating it if asked to, and makes sure that files can be created.
    pub(crate) fn open(path: &Path, create: bool) -> Result<Self, DirectoryError> {
        let not_writable = |source| DirectoryError::NotWritable(path.to_owned(), source);
        if create {
            std::fs::create_dir_all(path).map_err(not_writable)?;
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let fd =
            rustix::fs::openat(CWD, path, flags, Mode::empty()).map_err(|errno| match errno {
                Errno::NOENT => DirectoryError::Missing(path.to_owned()),
                Errno::NOTDIR => DirectoryError::NotADirectory(path.to_owned()),
                other => not_writable(other.into()),
            })?;
        let directory = Self::from_own(fd);
        let probe = format!("{}probe-{}", PART_PREFIX, std::process::id());
        directory.create(&probe).map_err(not_writable)?;
        directory.remove(&probe);
        Ok(directory)
    }

    /// A directory of our own that is open already.
    pub(crate) fn from_own(fd: OwnedFd) -> Self {
        // The standard library seeds its hashes from the system.
        let token = RandomState::new().hash_one(std::process::id()) as u32;
        Self { fd, token }
    }

    /// The directory itself.
    pub(crate) fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    /// Bytes that this user may still write here.
    pub(crate) fn free(&self) -> u64 {
        rustix::fs::fstatvfs(&self.fd).map_or(0, |fs| fs.f_bavail.saturating_mul(fs.f_frsize))
    }

    /// The name of something under way that nobody else has.
    pub(crate) fn own_name(&self, key: ObjectKey, ending: &str) -> String {
        let ObjectKey { sender, instance, object } = key;
        format!("{PART_PREFIX}{:08x}-{sender}-{instance}-{object}{ending}", self.token)
    }

    /// Creates a file of our own directly in the directory, readable by nobody else. One left over
    /// by an earlier run gives way.
    pub(crate) fn create(&self, name: &str) -> io::Result<File> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL;
        let mode = Mode::RUSR | Mode::WUSR;
        let opened = match open_beneath(self.fd.as_fd(), name, flags, mode) {
            Err(Errno::EXIST) => {
                self.remove(name);
                open_beneath(self.fd.as_fd(), name, flags, mode)
            }
            other => other,
        };
        Ok(File::from(opened?))
    }

    /// Opens a file of our own that is there.
    pub(crate) fn open_own(&self, name: &str) -> io::Result<File> {
        Ok(File::from(open_beneath(self.fd.as_fd(), name, OFlags::RDWR, Mode::empty())?))
    }

    /// Opens a file of our own for reading, and for writing at its end; creates it if need be.
    pub(crate) fn open_to_append(&self, name: &str) -> io::Result<File> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::APPEND;
        let mode = Mode::RUSR | Mode::WUSR;
        Ok(File::from(open_beneath(self.fd.as_fd(), name, flags, mode)?))
    }

    /// Writes a file of our own for good, or not at all.
    pub(crate) fn save(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let new = format!("{name}.new");
        let mut file = self.create(&new)?;
        file.write_all(bytes)?;
        rustix::fs::fsync(&file)?;
        self.rename_own(&new, name)?;
        Ok(rustix::fs::fsync(&self.fd)?)
    }

    /// Gives a file of our own another name of our own.
    pub(crate) fn rename_own(&self, from: &str, to: &str) -> io::Result<()> {
        Ok(rustix::fs::renameat(&self.fd, from, &self.fd, to)?)
    }

    /// The same, unless somebody has that name already.
    pub(crate) fn rename_own_new(&self, from: &str, to: &str) -> io::Result<()> {
        Ok(rename_new(self.fd.as_fd(), from, self.fd.as_fd(), to)?)
    }

    /// Whether `file` has this name here.
    pub(crate) fn is_named(&self, file: &File, name: &str) -> bool {
        let found = rustix::fs::statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW);
        let own = rustix::fs::fstat(file);
        matches!((found, own), (Ok(a), Ok(b)) if (a.st_dev, a.st_ino) == (b.st_dev, b.st_ino))
    }

    /// Files of our own, and the bytes of each.
    pub(crate) fn own(&self) -> Vec<(String, u64)> {
        let Ok(entries) = rustix::fs::Dir::read_from(&self.fd) else { return Vec::new() };
        let own = |entry: rustix::fs::DirEntry| {
            let name = entry.file_name().to_str().ok()?.to_owned();
            let ours = name.starts_with(PART_PREFIX);
            let stat = rustix::fs::statat(&self.fd, &name, AtFlags::SYMLINK_NOFOLLOW);
            Some((name, u64::try_from(stat.ok()?.st_size).ok()?)).filter(|_| ours)
        };
        entries.filter_map(Result::ok).filter_map(own).collect()
    }

    /// A received file that has `size` bytes, for reading.
    pub(crate) fn open_received(&self, name: &SafeName, size: u64) -> Option<File> {
        let (directories, file) = name.split();
        let parent = match directories {
            [] => None,
            directories => Some(self.find(directories).ok()?),
        };
        let parent = parent.as_ref().map_or(self.fd.as_fd(), AsFd::as_fd);
        // A pipe under that name must not hold us up.
        let flags = OFlags::RDONLY | OFlags::NONBLOCK;
        let file = File::from(open_beneath(parent, file, flags, Mode::empty()).ok()?);
        file.metadata().is_ok_and(|meta| meta.is_file() && meta.len() == size).then_some(file)
    }

    /// Removes a file of our own.
    pub(crate) fn remove(&self, name: &str) {
        // Gone already is as good.
        let _ = rustix::fs::unlinkat(&self.fd, name, AtFlags::empty());
    }

    /// Gives the finished file `part` its final name and makes that durable; with it, whether an
    /// equal file was there. `None`: `conflict` says that another one of that name stays. In the
    /// last two cases `part` is as it was.
    pub(crate) fn place(
        &self,
        part: &str,
        name: &SafeName,
        conflict: Conflict,
        (size, hash): (u64, &[u8; 32]),
    ) -> io::Result<Option<(SafeName, bool)>> {
        let (directories, file) = name.split();
        let parent = self.descend(directories, true)?;
        let parent = parent.as_ref().map_or(self.fd.as_fd(), AsFd::as_fd);
        let finished = Finished { directory: self.fd.as_fd(), part, size, hash };
        let (file, already) = match finished.place(parent, file, conflict)? {
            Place::New(file) => (file, false),
            Place::Equal(file) => (file, true),
            Place::Taken => return Ok(None),
        };
        rustix::fs::fsync(parent)?;
        Ok(Some((name.with_file(file), already)))
    }

    /// Opens the directories one below the other, creating those that are missing, `durable` or
    /// until the next sync only. `None`: there are none, it is this directory.
    pub(crate) fn descend(
        &self,
        directories: &[String],
        durable: bool,
    ) -> io::Result<Option<OwnedFd>> {
        let mut at: Option<OwnedFd> = None;
        for name in directories {
            let parent = at.as_ref().map_or(self.fd.as_fd(), AsFd::as_fd);
            let mode = Mode::RWXU | Mode::RWXG | Mode::RWXO;
            match rustix::fs::mkdirat(parent, name.as_str(), mode) {
                Ok(()) if durable => rustix::fs::fsync(parent)?,
                Ok(()) => {}
                Err(Errno::EXIST) => {}
                Err(errno) => return Err(errno.into()),
            }
            let flags = OFlags::RDONLY | OFlags::DIRECTORY;
            at = Some(open_beneath(parent, name, flags, Mode::empty())?);
        }
        Ok(at)
    }

    /// Opens directories one below the other, as long as they are there.
    pub(crate) fn find(&self, directories: &[String]) -> Result<OwnedFd, Errno> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY;
        let (first, rest) = directories.split_first().ok_or(Errno::INVAL)?;
        let first = open_beneath(self.fd.as_fd(), first, flags, Mode::empty());
        rest.iter()
            .try_fold(first?, |at, name| open_beneath(at.as_fd(), name, flags, Mode::empty()))
    }
}

/// Opens one name in a directory without following links.
pub(crate) fn open_beneath(
    directory: BorrowedFd<'_>,
    name: &str,
    flags: OFlags,
    mode: Mode,
) -> Result<OwnedFd, Errno> {
    let flags = flags | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    match rustix::fs::openat2(directory, name, flags, mode, resolve) {
        // Kernels before 5.6 and some sandboxes lack it. The name is one part without a slash, so
        // that O_NOFOLLOW alone says the same.
        Err(Errno::NOSYS | Errno::PERM) => rustix::fs::openat(directory, name, flags, mode),
        other => other,
    }
}

/// Renames without replacing; by a hard link where the file system cannot.
pub(crate) fn rename_new(
    from_directory: BorrowedFd<'_>,
    from: &str,
    to_directory: BorrowedFd<'_>,
    to: &str,
) -> Result<(), Errno> {
    let flags = RenameFlags::NOREPLACE;
    match rustix::fs::renameat_with(from_directory, from, to_directory, to, flags) {
        Err(Errno::INVAL | Errno::NOSYS) => {
            rustix::fs::linkat(from_directory, from, to_directory, to, AtFlags::empty())?;
            rustix::fs::unlinkat(from_directory, from, AtFlags::empty())
        }
        other => other,
    }
}

/// Renames a directory without replacing anything, not even an empty one. Fails where the file
/// system cannot say so.
pub(crate) fn rename_directory_new(
    from_directory: BorrowedFd<'_>,
    from: &str,
    to_directory: BorrowedFd<'_>,
    to: &str,
) -> Result<(), Errno> {
    rustix::fs::renameat_with(from_directory, from, to_directory, to, RenameFlags::NOREPLACE)
}

/// Permission bits for a received file: as announced, less what this process's umask takes away
/// and always readable and writable by its owner. Never set-user-id and the like.
pub(crate) fn permissions(announced: Option<u32>) -> Mode {
    Mode::from_bits_truncate((announced.unwrap_or(0o666) & 0o777 & !umask()) | 0o600)
}

/// Read from the system's account of this process: asking with umask(2) would change it for a
/// moment, under the feet of other threads.
fn umask() -> u32 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("Umask:"));
    line.and_then(|octal| u32::from_str_radix(octal.trim(), 8).ok()).unwrap_or(0o022)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;

    fn part(directory: &Directory, content: &str) -> &'static str {
        directory.create(".fanfare-x.part").unwrap().write_all(content.as_bytes()).unwrap();
        ".fanfare-x.part"
    }

    fn place(
        directory: &Directory,
        content: &str,
        text: &str,
        conflict: Conflict,
    ) -> io::Result<Option<String>> {
        let part = part(directory, content);
        let hash = *blake3::hash(content.as_bytes()).as_bytes();
        let what = (content.len() as u64, &hash);
        let placed = directory.place(part, &name(text), conflict, what);
        directory.remove(part);
        placed.map(|placed| placed.map(|(name, _)| name.to_string()))
    }

    fn placed(directory: &Directory, content: &str, name: &str, conflict: Conflict) -> String {
        place(directory, content, name, conflict).unwrap().unwrap()
    }

    fn name(text: &str) -> SafeName {
        SafeName::parse(text.as_bytes()).unwrap()
    }

    #[test]
    fn a_missing_directory_is_created_only_when_asked() {
        let scratch = Scratch::new();
        let path = scratch.path().join("a/b");
        assert!(matches!(Directory::open(&path, false), Err(DirectoryError::Missing(_))));
        assert!(Directory::open(&path, true).is_ok());
        std::fs::write(scratch.path().join("file"), "").unwrap();
        let error = Directory::open(&scratch.path().join("file"), false).unwrap_err();
        assert!(matches!(error, DirectoryError::NotADirectory(_)));
    }

    #[test]
    fn a_directory_that_takes_no_files_is_refused_before_anything_else() {
        let error = Directory::open(Path::new("/proc"), false).unwrap_err();
        assert!(matches!(error, DirectoryError::NotWritable(..)), "{error}");
    }

    #[test]
    fn an_existing_file_stays_and_the_new_one_gets_a_number() {
        let scratch = Scratch::new();
        let directory = Directory::open(scratch.path(), false).unwrap();
        let placed: Vec<String> = ["one", "two", "three"]
            .map(|content| placed(&directory, content, "d/f", Conflict::KeepBoth))
            .into();
        assert_eq!(placed, ["d/f", "d/f.1", "d/f.2"]);
        assert_eq!(std::fs::read_to_string(scratch.path().join("d/f")).unwrap(), "one");
        assert_eq!(std::fs::read_to_string(scratch.path().join("d/f.2")).unwrap(), "three");
    }

    #[test]
    fn overwriting_replaces_a_file_but_no_directory() {
        let scratch = Scratch::new();
        let directory = Directory::open(scratch.path(), false).unwrap();
        std::fs::write(scratch.path().join("f"), "old").unwrap();
        std::fs::create_dir_all(scratch.path().join("d/x")).unwrap();
        placed(&directory, "new", "f", Conflict::Overwrite);
        assert_eq!(std::fs::read_to_string(scratch.path().join("f")).unwrap(), "new");
        assert_eq!(placed(&directory, "new", "d", Conflict::Overwrite), "d.1");
    }

    #[test]
    fn an_equal_file_is_left_alone_whatever_the_policy() {
        let scratch = Scratch::new();
        let directory = Directory::open(scratch.path(), false).unwrap();
        std::fs::write(scratch.path().join("f"), "same").unwrap();
        let before = std::fs::metadata(scratch.path().join("f")).unwrap();
        for conflict in [Conflict::KeepBoth, Conflict::Overwrite, Conflict::Keep] {
            assert_eq!(placed(&directory, "same", "f", conflict), "f");
        }
        let after = std::fs::metadata(scratch.path().join("f")).unwrap();
        use std::os::unix::fs::MetadataExt;
        assert_eq!((before.ino(), before.mtime_nsec()), (after.ino(), after.mtime_nsec()));
        assert_eq!(std::fs::read_dir(scratch.path()).unwrap().count(), 1);
    }

    #[test]
    fn what_is_there_stays_when_it_is_to_be_kept() {
        let scratch = Scratch::new();
        let directory = Directory::open(scratch.path(), false).unwrap();
        std::fs::write(scratch.path().join("f"), "old").unwrap();
        assert_eq!(place(&directory, "new", "f", Conflict::Keep).unwrap(), None);
        assert_eq!(std::fs::read_to_string(scratch.path().join("f")).unwrap(), "old");
        assert_eq!(std::fs::read_dir(scratch.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_planted_link_leads_nowhere() {
        let (scratch, outside) = (Scratch::new(), Scratch::new());
        let directory = Directory::open(scratch.path(), false).unwrap();
        std::os::unix::fs::symlink(outside.path(), scratch.path().join("d")).unwrap();
        assert!(place(&directory, "x", "d/f", Conflict::Overwrite).is_err());
        assert_eq!(std::fs::read_dir(outside.path()).unwrap().count(), 0);
        // A link in the file's own place is replaced or kept, never followed.
        let target = outside.path().join("target");
        std::fs::write(&target, "kept").unwrap();
        std::os::unix::fs::symlink(&target, scratch.path().join("f")).unwrap();
        assert_eq!(placed(&directory, "x", "f", Conflict::KeepBoth), "f.1");
        assert_eq!(placed(&directory, "y", "f", Conflict::Overwrite), "f");
        assert_eq!(std::fs::read_to_string(&target).unwrap(), "kept");
    }

    #[test]
    fn permissions_never_include_special_bits() {
        assert_eq!(permissions(Some(0o7777)).as_raw_mode() & 0o7000, 0);
        assert_eq!(permissions(Some(0)).as_raw_mode(), 0o600);
    }
}
