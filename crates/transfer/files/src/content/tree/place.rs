//! Links get their names, in one step each, and whatever else has such a name is never followed.

use fanfare_udp::os::fd::BorrowedFd;

use fanfare_node::disk::{
    DirectoryHandle, FileHandle, Mtime, Open, Reader, descriptor,
    directory::Directory,
    in_writable, is_beyond,
    name::bytes_of,
    placement::{Conflict, open_sized},
};
use fanfare_udp::os::{
    fs::{AtFlags, RenameFlags, kind_of, mode_of},
    io::Errno,
};

use crate::content::{listing::DirectoryClearing, receipt::Reason};

/// Tries to find a free `name.1`, `name.2`, … before giving up.
const SUFFIX_MAX: u32 = 9999;

/// Bytes copied at once.
const COPY_BYTES: usize = 1 << 20;

/// What a name becomes another name of, or points to.
pub(super) enum New<'a> {
    Link(&'a [u8]),
    HardLink(BorrowedFd<'a>, &'a str),
}

impl New<'_> {
    fn make(&self, parent: BorrowedFd<'_>, name: &[u8]) -> Result<(), Errno> {
        match self {
            Self::Link(target) => fanfare_udp::os::fs::symlinkat(*target, parent, name),
            Self::HardLink(directory, file) => {
                let flags = AtFlags::empty();
                fanfare_udp::os::fs::linkat(directory, &*bytes_of(file), parent, name, flags)
            }
        }
    }

    /// Whether what has this name has the same content: a copy, where there can be no second name.
    fn is_equal(&self, top: &Directory, parent: &dyn DirectoryHandle, name: &str) -> bool {
        let Self::HardLink(directory, file) = self else { return false };
        let of: &dyn DirectoryHandle = directory;
        let open = |parent: &dyn DirectoryHandle, name: &str| {
            let size = parent.file_size(name)?;
            Some((open_sized(parent, name, size)?, size))
        };
        let (Some((a, size)), Some((b, len))) = (open(of, file), open(parent, name)) else {
            return false;
        };
        let same = |a: &dyn FileHandle, b: &dyn FileHandle| {
            let hash = |file| crate::content::source::hash(&mut Reader::new(file), &mut |_| {});
            matches!((hash(a), hash(b)), (Ok(a), Ok(b)) if a.root == b.root)
        };
        size == len && !self.can_be_made(top) && same(&*a, &*b)
    }

    /// Whether this file system has what it is.
    fn can_be_made(&self, top: &Directory) -> bool {
        let Ok(own) = descriptor(top.handle()) else { return false };
        let name = top.own_name("link", ".try");
        let made = self.make(own, name.as_bytes());
        let _ = fanfare_udp::os::fs::unlinkat(own, name.as_str(), AtFlags::empty());
        made.is_ok()
    }

    /// Whether it has this name already.
    fn is(&self, parent: BorrowedFd<'_>, name: &[u8]) -> bool {
        match self {
            Self::Link(target) => fanfare_udp::os::fs::readlinkat(parent, name, Vec::new())
                .is_ok_and(|here| here.as_bytes() == *target),
            Self::HardLink(directory, file) => {
                let of = fanfare_udp::os::fs::statat(
                    directory,
                    &*bytes_of(file),
                    AtFlags::SYMLINK_NOFOLLOW,
                );
                let here = fanfare_udp::os::fs::statat(parent, name, AtFlags::SYMLINK_NOFOLLOW);
                matches!((of, here), (Ok(a), Ok(b)) if (a.st_dev, a.st_ino) == (b.st_dev, b.st_ino))
            }
        }
    }
}

/// Place of a link.
pub(super) struct LinkPlace<'a> {
    /// The receiver's directory.
    pub(super) top: &'a Directory,
    pub(super) parent: &'a dyn DirectoryHandle,
    /// All of its name, for people.
    pub(super) path: &'a str,
}

/// Gives it the name `name` there, as far as `conflict` lets it. The name that it has got.
pub(super) fn place(
    room: &LinkPlace<'_>,
    name: &str,
    new: &New<'_>,
    conflict: Conflict,
    mut clearing: Option<&mut DirectoryClearing<'_>>,
) -> Result<String, Reason> {
    let LinkPlace { top, parent, path } = *room;
    let fd = descriptor(parent).map_err(disk)?;
    for number in 0..=SUFFIX_MAX {
        let candidate = if number == 0 { name.to_owned() } else { format!("{name}.{number}") };
        let bytes = bytes_of(&candidate);
        if new.is(fd, &bytes) {
            return Ok(candidate);
        }
        match in_writable(parent, || make(top, parent, &candidate, new)) {
            Err(Errno::EXIST) if new.is_equal(top, parent, &candidate) => return Ok(candidate),
            Err(Errno::EXIST) => {}
            done => return done.map(|()| candidate).map_err(refused),
        }
        match conflict {
            Conflict::KeepBoth => {}
            Conflict::Keep => return Err(Reason::Conflict),
            Conflict::Overwrite => {
                match in_writable(parent, || replace(top, fd, &bytes, new)) {
                    Err(Errno::EXIST) => {
                        let clearing = clearing.as_mut().ok_or(Reason::InTheWay)?;
                        let aside = TemporaryLink::make(top, new).map_err(refused)?;
                        clearing.clear(fd, &bytes, path)?;
                        in_writable(parent, || aside.rename(fd, &bytes)).map_err(disk)?;
                    }
                    replaced => replaced.map_err(refused)?,
                }
                return Ok(candidate);
            }
        }
    }
    Err(Reason::DiskError)
}

/// Makes it where nothing has that name. A file system without hard links gets a copy: the content is
/// what was sent.
fn make(
    top: &Directory,
    parent: &dyn DirectoryHandle,
    name: &str,
    new: &New<'_>,
) -> Result<(), Errno> {
    let fd = descriptor(parent)?;
    match (new.make(fd, &bytes_of(name)), new) {
        (Err(errno), New::HardLink(..)) if is_beyond(errno) || errno == Errno::MLINK => {
            let copy = TemporaryLink::make(top, new)?;
            fanfare_node::disk::rename_new(top.handle(), &copy.name, parent, name)
        }
        (done, _) => done,
    }
}

/// Takes the place of a file or link. A directory stays.
fn replace(
    top: &Directory,
    parent: BorrowedFd<'_>,
    name: &[u8],
    new: &New<'_>,
) -> Result<(), Errno> {
    let here = fanfare_udp::os::fs::statat(parent, name, AtFlags::SYMLINK_NOFOLLOW)?;
    if kind_of(&here).is_dir() {
        return Err(Errno::EXIST);
    }
    TemporaryLink::make(top, new)?.rename(parent, name)
}

/// A link under a name of our own, which goes unless it gets its own.
struct TemporaryLink<'a> {
    own: BorrowedFd<'a>,
    name: String,
}

impl<'a> TemporaryLink<'a> {
    fn make(top: &'a Directory, new: &New<'_>) -> Result<Self, Errno> {
        let (own, name) = (descriptor(top.handle())?, top.own_name("link", ".new"));
        let _ = fanfare_udp::os::fs::unlinkat(own, name.as_str(), AtFlags::empty());
        let link = Self { own, name };
        match (new.make(own, link.name.as_bytes()), new) {
            (Err(errno), New::HardLink(directory, file))
                if is_beyond(errno) || errno == Errno::MLINK =>
            {
                copy(*directory, file, top.handle(), &link.name)?;
            }
            (done, _) => done?,
        }
        Ok(link)
    }

    fn rename(&self, parent: BorrowedFd<'_>, name: &[u8]) -> Result<(), Errno> {
        let flags = RenameFlags::empty();
        fanfare_udp::os::fs::renameat_with(self.own, self.name.as_str(), parent, name, flags)
    }
}

impl Drop for TemporaryLink<'_> {
    fn drop(&mut self) {
        let _ = fanfare_udp::os::fs::unlinkat(self.own, self.name.as_str(), AtFlags::empty());
    }
}

/// The same content, permissions and time under a new name, on disk.
fn copy(
    from: BorrowedFd<'_>,
    file: &str,
    to: &dyn DirectoryHandle,
    name: &str,
) -> Result<(), Errno> {
    let from: &dyn DirectoryHandle = &from;
    let (source, out) = (from.open(file, Open::Read)?, to.open(name, Open::Create)?);
    let meta = source.metadata()?;
    let (mut buffer, mut offset) = (vec![0; COPY_BYTES], 0);
    while offset < meta.len {
        let count = source.read_at(&mut buffer, offset)?;
        if count == 0 {
            return Err(Errno::IO);
        }
        out.write_all_at(&buffer[..count], offset)?;
        offset += count as u64;
    }
    let [seconds, nanoseconds, ..] = meta.times;
    let mtime = Mtime { seconds, nanoseconds: u32::try_from(nanoseconds).unwrap_or(0) };
    if let Some(mode) = meta.mode {
        out.set_properties(mode_of(mode), Some(mtime))?;
    }
    out.sync()
}

/// What it is to the sender that a link cannot be made.
fn refused(errno: Errno) -> Reason {
    if is_beyond(errno) { Reason::Unsupported } else { disk(errno) }
}

/// What a failed call is to the sender.
pub(super) fn disk(errno: Errno) -> Reason {
    let error = errno.into();
    if matches!(errno, Errno::ISDIR | Errno::NOTEMPTY)
        || crate::content::placed::is_in_the_way(&error)
    {
        Reason::InTheWay
    } else {
        Reason::of_disk(&error)
    }
}
