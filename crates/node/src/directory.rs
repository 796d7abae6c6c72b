//! The directory below which received files are put, and nothing outside it.
//!
//! Every step goes through directory descriptors and never follows a link, so that neither a name
//! from the network nor a link planted meanwhile leads out.

use std::{
    fmt,
    fs::File,
    io::{self, Write},
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    path::{Path, PathBuf},
};

use rustix::{
    fs::{AtFlags, CWD, Mode, OFlags, RenameFlags, ResolveFlags},
    io::Errno,
};

use crate::name::SafeName;

/// Tries to find a free `name.1`, `name.2`, … before giving up.
const SUFFIX_MAX: u32 = 9999;

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
        let directory = Self { fd };
        let probe = format!("{}probe-{}", crate::name::PART_PREFIX, std::process::id());
        directory.create(&probe).map_err(not_writable)?;
        directory.remove(&probe);
        Ok(directory)
    }

    /// Bytes that this user may still write here.
    pub(crate) fn free(&self) -> u64 {
        rustix::fs::fstatvfs(&self.fd).map_or(0, |fs| fs.f_bavail.saturating_mul(fs.f_frsize))
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

    /// Files of our own, and the bytes of each.
    pub(crate) fn own(&self) -> Vec<(String, u64)> {
        let Ok(entries) = rustix::fs::Dir::read_from(&self.fd) else { return Vec::new() };
        let own = |entry: rustix::fs::DirEntry| {
            let name = entry.file_name().to_str().ok()?.to_owned();
            let ours = name.starts_with(crate::name::PART_PREFIX);
            let stat = rustix::fs::statat(&self.fd, &name, AtFlags::SYMLINK_NOFOLLOW);
            Some((name, u64::try_from(stat.ok()?.st_size).ok()?)).filter(|_| ours)
        };
        entries.filter_map(Result::ok).filter_map(own).collect()
    }

    /// A received file that has `size` bytes, for reading.
    pub(crate) fn open_received(&self, name: &SafeName, size: u64) -> Option<File> {
        let (directories, file) = name.split();
        let mut at: Option<OwnedFd> = None;
        for directory in directories {
            let parent = at.as_ref().map_or(self.fd.as_fd(), AsFd::as_fd);
            let flags = OFlags::RDONLY | OFlags::DIRECTORY;
            at = Some(open_beneath(parent, directory, flags, Mode::empty()).ok()?);
        }
        let parent = at.as_ref().map_or(self.fd.as_fd(), AsFd::as_fd);
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

    /// Gives the finished file `part` its final name and makes that durable. Unless `overwrite`, a
    /// file of that name stays and the new one becomes `name.1` or the next free number.
    pub(crate) fn place(
        &self,
        part: &str,
        name: &SafeName,
        overwrite: bool,
    ) -> io::Result<SafeName> {
        let (directories, file) = name.split();
        let parent = self.descend(directories)?;
        let parent = parent.as_ref().map_or(self.fd.as_fd(), AsFd::as_fd);
        if overwrite {
            match rustix::fs::renameat(&self.fd, part, parent, file) {
                // A directory stands there: it is not what was meant to be replaced.
                Err(Errno::ISDIR | Errno::EXIST | Errno::NOTEMPTY) => {}
                done => return durable(parent, done).map(|()| name.clone()),
            }
        }
        for number in 0..=SUFFIX_MAX {
            let candidate = if number == 0 { file.to_owned() } else { format!("{file}.{number}") };
            match rename_new(self.fd.as_fd(), part, parent, &candidate) {
                Err(Errno::EXIST) => {}
                done => return durable(parent, done).map(|()| name.with_file(candidate)),
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    /// Opens the directories one below the other, creating those that are missing.
    fn descend(&self, directories: &[String]) -> io::Result<Option<OwnedFd>> {
        let mut at: Option<OwnedFd> = None;
        for name in directories {
            let parent = at.as_ref().map_or(self.fd.as_fd(), AsFd::as_fd);
            let mode = Mode::RWXU | Mode::RWXG | Mode::RWXO;
            match rustix::fs::mkdirat(parent, name.as_str(), mode) {
                Ok(()) => rustix::fs::fsync(parent)?,
                Err(Errno::EXIST) => {}
                Err(errno) => return Err(errno.into()),
            }
            let flags = OFlags::RDONLY | OFlags::DIRECTORY;
            at = Some(open_beneath(parent, name, flags, Mode::empty())?);
        }
        Ok(at)
    }
}

/// Opens one name in a directory without following links.
fn open_beneath(
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
fn rename_new(
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

fn durable(directory: BorrowedFd<'_>, renamed: Result<(), Errno>) -> io::Result<()> {
    renamed?;
    rustix::fs::fsync(directory)?;
    Ok(())
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
            .map(|content| {
                let part = part(&directory, content);
                directory.place(part, &name("d/f"), false).unwrap().to_string()
            })
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
        directory.place(part(&directory, "new"), &name("f"), true).unwrap();
        assert_eq!(std::fs::read_to_string(scratch.path().join("f")).unwrap(), "new");
        let placed = directory.place(part(&directory, "new"), &name("d"), true).unwrap();
        assert_eq!(placed.to_string(), "d.1");
    }

    #[test]
    fn a_planted_link_leads_nowhere() {
        let (scratch, outside) = (Scratch::new(), Scratch::new());
        let directory = Directory::open(scratch.path(), false).unwrap();
        std::os::unix::fs::symlink(outside.path(), scratch.path().join("d")).unwrap();
        assert!(directory.place(part(&directory, "x"), &name("d/f"), true).is_err());
        assert_eq!(std::fs::read_dir(outside.path()).unwrap().count(), 0);
        // A link in the file's own place is replaced or kept, never followed.
        let target = outside.path().join("target");
        std::fs::write(&target, "kept").unwrap();
        std::os::unix::fs::symlink(&target, scratch.path().join("f")).unwrap();
        let placed = directory.place(part(&directory, "x"), &name("f"), false).unwrap();
        assert_eq!(placed.to_string(), "f.1");
        directory.place(part(&directory, "x"), &name("f"), true).unwrap();
        assert_eq!(std::fs::read_to_string(&target).unwrap(), "kept");
    }

    #[test]
    fn permissions_never_include_special_bits() {
        assert_eq!(permissions(Some(0o7777)).as_raw_mode() & 0o7000, 0);
        assert_eq!(permissions(Some(0)).as_raw_mode(), 0o600);
    }
}
