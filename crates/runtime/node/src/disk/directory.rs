//! The directory below which received files are put, and nothing outside it.
//!
//! Every step goes through directory descriptors and never follows a link, so that neither a name
//! from the network nor a link planted meanwhile leads out.

use std::{
    collections::BTreeSet,
    fmt,
    hash::{BuildHasher, RandomState},
    io,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use fanfare_udp::os::{
    fs::{CWD, Mode, OFlags, mode_of},
    io::Errno,
};

use crate::disk::{
    DirectoryHandle, FileHandle, Open, OwnFile, in_writable,
    name::{PART_PREFIX, SafeName},
    placement::{Conflict, Finished, Place},
};

/// Directories remembered as durable. Beyond it they are synced once more.
const DURABLE_MAX: usize = 4096;

/// How a file came to be under its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum How {
    /// Nothing had that name.
    #[default]
    New,
    /// It took the place of another file.
    Replaced,
    /// Another file keeps the name that was meant, and it has one with a number.
    Beside,
    /// An equal file was there, and nothing was written.
    Already,
}

/// What became of a file to be placed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Settled {
    /// It is there, under this name.
    Placed(SafeName, How),
    /// Another one of that name is there and stays.
    Taken,
}

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
pub struct Directory {
    handle: Box<dyn DirectoryHandle>,
    /// In the names of files under way, so that receivers in one directory do not share them.
    token: u32,
    /// Directories below it whose names are on disk for good: whoever made them, we have synced.
    durable: Mutex<BTreeSet<Vec<String>>>,
    /// A sync of a directory has failed: what is in it may be gone with the power, and no later
    /// sync will say so. Held while one runs, so that nobody else's succeeds before that is known.
    lost: Mutex<bool>,
    /// Files whose permissions this file system did not keep.
    without_mode: AtomicU64,
    folds_case: bool,
}

impl Directory {
    /// Opens `path`, after creating it if asked to, and makes sure that files can be created.
    pub fn open(path: &Path, create: bool) -> Result<Self, DirectoryError> {
        let not_writable = |source| DirectoryError::NotWritable(path.to_owned(), source);
        if create {
            create_durably(path).map_err(not_writable)?;
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let fd = fanfare_udp::os::fs::openat(CWD, path, flags, Mode::empty()).map_err(|errno| {
            match errno {
                Errno::NOENT => DirectoryError::Missing(path.to_owned()),
                Errno::NOTDIR => DirectoryError::NotADirectory(path.to_owned()),
                other => not_writable(other.into()),
            }
        })?;
        let mut directory = Self::over(Box::new(fd));
        let probe = format!("{}probe-{}", PART_PREFIX, std::process::id());
        directory.create_own(&probe).map_err(not_writable)?;
        directory.folds_case = directory.handle.metadata_of(&probe.to_uppercase()).is_ok();
        directory.remove(&probe);
        Ok(directory)
    }

    /// A directory that is open already.
    pub fn over(handle: Box<dyn DirectoryHandle>) -> Self {
        // The standard library seeds its hashes from the system.
        let token = RandomState::new().hash_one(std::process::id()) as u32;
        let (durable, without_mode) = (Mutex::default(), AtomicU64::new(0));
        Self { handle, token, durable, lost: Mutex::new(false), without_mode, folds_case: false }
    }

    /// A file is in its place whose permissions this file system did not keep.
    pub fn note_without_mode(&self) {
        self.without_mode.fetch_add(1, Ordering::Relaxed);
    }

    /// How many such files there were.
    pub fn without_mode(&self) -> u64 {
        self.without_mode.load(Ordering::Relaxed)
    }

    /// Whether its file system takes names that differ in case alone for one: FAT, exFAT, and mostly those of
    /// macOS and Windows.
    pub fn folds_case(&self) -> bool {
        self.folds_case
    }

    /// The directory itself.
    pub fn handle(&self) -> &dyn DirectoryHandle {
        &*self.handle
    }

    /// Bytes that this user may still write here.
    pub fn free(&self) -> u64 {
        self.handle.free()
    }

    /// Bytes of the whole volume.
    pub fn capacity(&self) -> u64 {
        self.handle.capacity()
    }

    /// The name of something under way that nobody else has; `of` says which of ours it is.
    pub fn own_name(&self, of: impl fmt::Display, ending: &str) -> String {
        format!("{PART_PREFIX}{:08x}-{of}{ending}", self.token)
    }

    /// Creates a file of our own directly in the directory, readable by nobody else. One left over
    /// by an earlier run gives way.
    pub fn create_own(&self, name: &str) -> io::Result<Arc<OwnFile>> {
        let opened = match self.handle.open(name, Open::Create) {
            Err(Errno::EXIST) => {
                self.remove(name);
                self.handle.open(name, Open::Create)
            }
            other => other,
        };
        Ok(OwnFile::new(opened?))
    }

    /// Opens a file of our own for reading, and for writing at its end; creates it if need be.
    pub fn open_to_append(&self, name: &str) -> io::Result<Arc<dyn FileHandle>> {
        Ok(self.handle.open(name, Open::Append)?)
    }

    /// Opens a file of our own that is there.
    pub fn open_own(&self, name: &str) -> io::Result<Arc<OwnFile>> {
        Ok(OwnFile::new(self.handle.open(name, Open::Write)?))
    }

    /// Writes a file of our own, not for good yet: who reads it must be able to tell whether it is
    /// whole.
    pub fn put(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        Ok(self.create_own(name)?.handle().write_all_at(bytes, 0)?)
    }

    /// Writes a file of our own for good, or not at all.
    pub fn save(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let new = format!("{name}.new");
        let file = self.create_own(&new)?;
        let written = file.handle().write_all_at(bytes, 0).and_then(|()| file.sync());
        if let Err(errno) = written {
            self.remove(&new);
            return Err(errno.into());
        }
        self.rename_own(&new, name)?;
        self.sync()
    }

    /// Gives a file of our own another name of our own, durable with the next sync.
    pub fn rename_own(&self, from: &str, to: &str) -> io::Result<()> {
        Ok(self.handle.rename(from, &*self.handle, to)?)
    }

    /// Makes the names of our own files durable.
    pub fn sync(&self) -> io::Result<()> {
        self.sync_entries(&*self.handle)
    }

    /// Makes everything durable that is on its file system, with one sync. What was being written
    /// when one failed may have been lost with it, and the next one would not say so.
    pub fn sync_all(&self) -> io::Result<()> {
        self.sync_unless_lost(|| self.handle.sync_all())
    }

    fn sync_entries(&self, of: &dyn DirectoryHandle) -> io::Result<()> {
        self.sync_unless_lost(|| of.sync())
    }

    /// A directory whose sync has failed once is not believed again.
    fn sync_unless_lost(&self, sync: impl FnOnce() -> Result<(), Errno>) -> io::Result<()> {
        let mut lost = self.lost.lock().unwrap_or_else(PoisonError::into_inner);
        if *lost {
            return Err(Errno::IO.into());
        }
        let synced = sync();
        *lost = synced.is_err();
        Ok(synced?)
    }

    /// The same, unless somebody has that name already.
    pub fn rename_own_new(&self, from: &str, to: &str) -> io::Result<()> {
        Ok(crate::disk::rename_new(&*self.handle, from, &*self.handle, to)?)
    }

    /// Whether `file` has this name here.
    pub fn is_named(&self, file: &OwnFile, name: &str) -> bool {
        let found = self.handle.open(name, Open::Read).and_then(|found| found.metadata());
        matches!((found, file.handle().metadata()), (Ok(a), Ok(b)) if a.number == b.number)
    }

    /// Files of our own, and the bytes of each.
    pub fn own(&self) -> Vec<(String, u64)> {
        let mut names = self.handle.list().unwrap_or_default();
        names.retain(|name| name.starts_with(PART_PREFIX));
        let with_size = |name: String| Some((self.handle.file_size(&name)?, name));
        names.into_iter().filter_map(with_size).map(|(size, name)| (name, size)).collect()
    }

    /// A received file that has `size` bytes, for reading.
    pub fn open_received(&self, name: &SafeName, size: u64) -> Option<Arc<dyn FileHandle>> {
        let (directories, file) = name.split();
        let parent = self.enter(directories).ok()?;
        let file = self.or_self(parent.as_deref()).open(file, Open::Read).ok()?;
        file.metadata().is_ok_and(|meta| meta.is_file && meta.len == size).then_some(file)
    }

    /// A received file of whatever length, for reading.
    pub fn open_any(&self, name: &SafeName) -> Option<Arc<dyn FileHandle>> {
        let (directories, file) = name.split();
        let parent = self.enter(directories).ok()?;
        let file = self.or_self(parent.as_deref()).open(file, Open::Read).ok()?;
        file.metadata().is_ok_and(|meta| meta.is_file).then_some(file)
    }

    /// The names in it that are not our own.
    pub fn names(&self) -> Vec<String> {
        let mut names = self.handle.list().unwrap_or_default();
        names.retain(|name| !name.starts_with(PART_PREFIX) && name != "." && name != "..");
        names
    }

    /// Makes a received file durable that is there already: whoever put it there may have been
    /// killed before syncing it.
    pub fn make_durable(&self, name: &SafeName, file: &dyn FileHandle) -> io::Result<()> {
        file.sync()?;
        let parent = self.enter_durably(name.split().0, false)?;
        self.sync_entries(self.or_self(parent.as_deref()))
    }

    /// Removes a file of our own.
    pub fn remove(&self, name: &str) {
        // Gone already is as good.
        let _ = self.handle.unlink(name);
    }

    /// Gives the finished file `part` its final name and makes that durable. Where an equal file was
    /// there, or `conflict` says that another one stays, `part` is as it was.
    pub fn place(
        &self,
        part: &str,
        name: &SafeName,
        conflict: Conflict,
        (size, hash): (u64, &[u8; 32]),
    ) -> io::Result<Settled> {
        let (directories, file) = name.split();
        let parent = self.enter_durably(directories, true)?;
        let parent = self.or_self(parent.as_deref());
        let finished =
            Finished { directory: self.handle(), part, size, hash, folds_case: self.folds_case };
        let (file, how) = match finished.place(parent, file, conflict)? {
            Place::New(placed) if placed == file => (placed, How::New),
            Place::New(placed) => (placed, How::Beside),
            Place::Replaced(file) => (file, How::Replaced),
            Place::Equal(file) => (file, How::Already),
            Place::Taken => return Ok(Settled::Taken),
        };
        self.sync_entries(parent)?;
        Ok(Settled::Placed(name.with_file(file), how))
    }

    fn or_self<'a>(&'a self, below: Option<&'a dyn DirectoryHandle>) -> &'a dyn DirectoryHandle {
        below.unwrap_or(&*self.handle)
    }

    /// Opens directories one below the other, as long as they are there. `None`: there are none,
    /// it is this directory.
    fn enter(&self, directories: &[String]) -> Result<Option<Box<dyn DirectoryHandle>>, Errno> {
        let mut at: Option<Box<dyn DirectoryHandle>> = None;
        for name in directories {
            at = Some(self.or_self(at.as_deref()).enter(name)?);
        }
        Ok(at)
    }

    /// The same, making those that are missing if asked to, and the names of all of them durable:
    /// one that is there may have been made a moment ago by a process that was killed.
    fn enter_durably(
        &self,
        directories: &[String],
        create: bool,
    ) -> io::Result<Option<Box<dyn DirectoryHandle>>> {
        let mut at: Option<Box<dyn DirectoryHandle>> = None;
        for (depth, name) in directories.iter().enumerate() {
            let parent = self.or_self(at.as_deref());
            let made = create && make_directory(parent, name)?;
            let path = &directories[..=depth];
            if made || !self.durable().contains(path) {
                self.sync_entries(parent)?;
                self.note_durable(path);
            }
            at = Some(parent.enter(name)?);
        }
        Ok(at)
    }

    fn durable(&self) -> std::sync::MutexGuard<'_, BTreeSet<Vec<String>>> {
        self.durable.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note_durable(&self, path: &[String]) {
        let mut durable = self.durable();
        if durable.len() >= DURABLE_MAX {
            durable.clear();
        }
        durable.insert(path.to_vec());
    }
}

/// False when there was something of that name.
fn make_directory(parent: &dyn DirectoryHandle, name: &str) -> Result<bool, Errno> {
    match in_writable(parent, || parent.make_directory(name)) {
        Err(Errno::EXIST) => Ok(false),
        made => made.map(|()| true),
    }
}

/// Creates a directory and those above it that are missing, for good.
fn create_durably(path: &Path) -> io::Result<()> {
    if path.as_os_str().is_empty() || path.is_dir() {
        return Ok(());
    }
    let above = path.parent().unwrap_or(Path::new(""));
    create_durably(above)?;
    match std::fs::create_dir(path) {
        // Somebody else was faster.
        Err(_) if path.is_dir() => {}
        made => made?,
    }
    let above = if above.as_os_str().is_empty() { Path::new(".") } else { above };
    fanfare_udp::os::fs::sync_directory(above)
}

/// Permission bits for a received file: as announced; where nothing is, what this process's umask
/// leaves. Never set-user-id and the like.
pub fn permissions(announced: Option<u32>) -> Mode {
    let bits = announced.unwrap_or_else(|| (0o666 & !umask()) | 0o600);
    mode_of(bits & 0o777)
}

/// Which permissions new files of this process do not get.
pub fn umask() -> u32 {
    fanfare_udp::os::fs::umask_of_process()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::scratch::Scratch;

    fn part(directory: &Directory, content: &str) -> &'static str {
        let part = directory.create_own(".fanfare-x.part").unwrap();
        part.handle().write_all_at(content.as_bytes(), 0).unwrap();
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
        placed.map(|placed| match placed {
            Settled::Placed(name, _) => Some(name.to_string()),
            Settled::Taken => None,
        })
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
        let error = place(&directory, "new", "d", Conflict::Overwrite).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
        assert!(scratch.path().join("d/x").exists() && !scratch.path().join("d.1").exists());
        assert_eq!(placed(&directory, "new", "d", Conflict::KeepBoth), "d.1");
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
        use fanfare_udp::os::file::MetadataExt;
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
        assert_eq!(permissions(Some(0o1222)).as_raw_mode(), 0o222);
    }
}
