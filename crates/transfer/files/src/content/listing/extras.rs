//! What stands here and is not listed: counted, or removed.

use fanfare_udp::os::fd::{AsFd, BorrowedFd};
use std::{
    collections::BTreeSet,
    ffi::CStr,
    sync::atomic::{AtomicBool, Ordering},
};

use fanfare_udp::os::{
    fs::{AtFlags, Stat, kind_of},
    io::Errno,
};

use super::tree;

/// Deepest tree that is gone through. Each level keeps a directory open, and a process has 1024
/// descriptors by default.
const DEPTH_MAX: usize = 256;

/// Why it does not go on. What has been removed until then is gone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Obstacle {
    /// The listing is not what it says.
    Malformed,
    /// This is listed and not here, or something else is here.
    Missing(String),
    /// This is a link, or a file, where a directory is listed.
    NotADirectory(String),
    /// Something is mounted there.
    Mounted(String),
    /// It goes deeper than anybody would go.
    TooDeep(String),
    /// The disk, or permissions.
    Disk(String, Errno),
    /// The process is to end.
    Stopped,
}

impl Obstacle {
    /// What it means that this cannot be opened as a directory.
    pub(super) fn of(path: &str, errno: Errno) -> Self {
        let path = path.to_owned();
        match errno {
            Errno::NOENT => Self::Missing(path),
            Errno::NOTDIR | Errno::LOOP => Self::NotADirectory(path),
            Errno::XDEV => Self::Mounted(path),
            errno => Self::Disk(path, errno),
        }
    }
}

/// When something was last changed, by the file system's clock: seconds and nanoseconds.
pub(crate) type Moment = (i64, i64);

/// Device and number of a file, whatever its names.
type InodeKey = (u64, u64);

/// By what all steps are bound.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds<'a> {
    /// The only file system that is touched.
    pub(super) device: u64,
    /// Time at which the work began. Whatever was changed since is somebody's who is at work here now: it stays. The
    /// clock of a file system ticks in milliseconds. What has changed in the same tick was changed before, such as a
    /// file of which we have replaced another name a moment ago.
    pub(super) since: Moment,
    /// Somebody wants it to end.
    pub(super) stop: &'a AtomicBool,
}

impl Bounds<'_> {
    pub(super) fn check(&self) -> Result<(), Obstacle> {
        if self.stop.load(Ordering::Relaxed) { Err(Obstacle::Stopped) } else { Ok(()) }
    }

    fn is_recent(&self, stat: &Stat) -> bool {
        // Their types differ from one architecture to the other.
        #[allow(clippy::useless_conversion, clippy::cast_possible_wrap)]
        let changed: Moment = (i64::from(stat.st_ctime), stat.st_ctime_nsec as i64);
        changed > self.since
    }
}

/// A name in an open directory.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place<'a> {
    pub(super) parent: BorrowedFd<'a>,
    pub(super) name: &'a CStr,
    /// From the receiver's directory on, as well as it can be shown.
    pub(super) path: &'a str,
}

/// What is done with each.
pub(super) trait Extras {
    /// Something that is no directory. `linked`: it has other names.
    fn file(&mut self, place: Place<'_>, linked: Option<InodeKey>) -> Result<(), Obstacle>;
    /// Tells whether another name of this file has been removed, which has changed it.
    fn has_touched(&self, inode: InodeKey) -> bool {
        let _ = inode;
        false
    }
    /// A directory, after all that was in it. False: it stays, since something is in it.
    fn directory(&mut self, place: Place<'_>) -> Result<bool, Obstacle>;
    /// A directory that stays, after what was to be done in it.
    fn leave(&mut self, directory: BorrowedFd<'_>, path: &str) -> Result<(), Obstacle>;
}

/// Does it with `place` and everything beneath it.
pub(super) fn visit(
    extras: &mut dyn Extras,
    place: Place<'_>,
    bounds: Bounds<'_>,
    depth: usize,
) -> Result<(), Obstacle> {
    bounds.check()?;
    let disk = |errno| Obstacle::Disk(place.path.to_owned(), errno);
    let stat = match tree::stat(place.parent, place.name) {
        Err(Errno::NOENT) => return Ok(()),
        stat => stat.map_err(disk)?,
    };
    let recent = bounds.is_recent(&stat);
    if !kind_of(&stat).is_dir() {
        let inode = inode(&stat);
        if recent && !extras.has_touched(inode) {
            return Ok(());
        }
        // Of two names the last one to go finds the file with one.
        #[allow(clippy::useless_conversion)]
        let linked = u64::from(stat.st_nlink) > 1;
        return extras.file(place, linked.then_some(inode));
    }
    if depth >= DEPTH_MAX {
        return Err(Obstacle::TooDeep(place.path.to_owned()));
    }
    let open = tree::open(place.parent, place.name, bounds.device);
    let directory = open.map_err(|errno| Obstacle::of(place.path, errno))?;
    for name in tree::names(directory.as_fd()).map_err(disk)? {
        let path = format!("{}/{}", place.path, name.text);
        let within = Place { parent: directory.as_fd(), name: &name.name, path: &path };
        visit(extras, within, bounds, depth + 1)?;
    }
    // Windows removes nothing that is open.
    let directory = Some(directory).filter(|_| !cfg!(windows));
    if (recent || !extras.directory(place)?)
        && let Some(directory) = directory
    {
        extras.leave(directory.as_fd(), place.path)?;
    }
    Ok(())
}

fn inode(stat: &Stat) -> InodeKey {
    // Their types differ from one architecture to the other.
    #[allow(clippy::useless_conversion)]
    (u64::from(stat.st_dev), u64::from(stat.st_ino))
}

/// How many there are.
#[derive(Debug, Default)]
pub(super) struct Count(pub(super) u64);

impl Extras for Count {
    fn file(&mut self, _: Place<'_>, _: Option<InodeKey>) -> Result<(), Obstacle> {
        self.0 += 1;
        Ok(())
    }

    fn directory(&mut self, _: Place<'_>) -> Result<bool, Obstacle> {
        self.0 += 1;
        Ok(true)
    }

    fn leave(&mut self, _: BorrowedFd<'_>, _: &str) -> Result<(), Obstacle> {
        Ok(())
    }
}

/// Removes them, and tells each.
pub(super) struct Remove<'a> {
    /// Of each that is gone, its path, and whether it was a directory. False: nobody listens any
    /// more.
    pub(super) tell: &'a mut dyn FnMut(&str, bool) -> bool,
    /// Files of which a name was removed, and others may be left. Removing one sets the file's time of
    /// change, which does not mean that somebody is at work on it.
    pub(super) touched: BTreeSet<InodeKey>,
}

impl Remove<'_> {
    fn unlink(&mut self, place: Place<'_>, flags: AtFlags) -> Result<bool, Obstacle> {
        match fanfare_udp::os::fs::unlinkat(place.parent, place.name, flags) {
            // Somebody was faster.
            Err(Errno::NOENT) => return Ok(true),
            // Something has come into it, or what stays is in it.
            Err(Errno::NOTEMPTY | Errno::EXIST) => return Ok(false),
            done => done.map_err(|errno| Obstacle::Disk(place.path.to_owned(), errno))?,
        }
        let listened = (self.tell)(place.path, flags.contains(AtFlags::REMOVEDIR));
        if listened { Ok(true) } else { Err(Obstacle::Stopped) }
    }
}

impl Extras for Remove<'_> {
    fn file(&mut self, place: Place<'_>, linked: Option<InodeKey>) -> Result<(), Obstacle> {
        self.touched.extend(linked);
        self.unlink(place, AtFlags::empty()).map(|_| ())
    }

    fn has_touched(&self, inode: InodeKey) -> bool {
        self.touched.contains(&inode)
    }

    fn directory(&mut self, place: Place<'_>) -> Result<bool, Obstacle> {
        self.unlink(place, AtFlags::REMOVEDIR)
    }

    /// So that nothing comes back with the power.
    fn leave(&mut self, directory: BorrowedFd<'_>, path: &str) -> Result<(), Obstacle> {
        let synced = fanfare_udp::os::fs::fsync(directory);
        synced.map_err(|errno| Obstacle::Disk(path.to_owned(), errno))
    }
}
