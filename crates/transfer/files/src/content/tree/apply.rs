//! A tree, entry by entry. Directories come last and from the bottom up: what is put into one changes
//! its time, and one that nobody may write to takes nothing any more.

use fanfare_udp::os::fd::BorrowedFd;
use std::{
    io::{self, Read},
    sync::atomic::{AtomicBool, Ordering},
};

use fanfare_node::disk::{
    descriptor,
    directory::Directory,
    name::{SafeName, bytes_of},
    parents::Parents,
};
use fanfare_udp::os::{
    fs::{AtFlags, Mode, OFlags, ResolveFlags, Stat, kind_of},
    io::Errno,
};

use super::{
    entry::{Carried, Entry, First, Kind, Properties},
    place::{LinkPlace, New, disk, place},
    properties,
    reader::TreeReader,
    restoration::{Restored, Rules},
    stays_inside,
};
use crate::content::{listing::DirectoryClearing, receipt::Reason};

/// Most names that are told with what became of them.
const TOLD_MAX: usize = 1000;

/// Goes through a tree.
pub(super) struct Applier<'a> {
    directory: &'a Directory,
    rules: Rules,
    /// Limits of what may go for a link.
    clearing: Option<DirectoryClearing<'a>>,
    /// What the sender carries and this receiver takes.
    carried: Carried,
    parents: Parents<'a>,
    /// Of hard links, which are made of what is there.
    existing: Parents<'a>,
    directories: Vec<(SafeName, Properties)>,
    /// Directories made.
    made: u64,
    restored: Restored,
}

impl<'a> Applier<'a> {
    pub(super) fn new(
        directory: &'a Directory,
        rules: Rules,
        clearing: Option<DirectoryClearing<'a>>,
    ) -> Self {
        Self {
            directory,
            rules,
            clearing,
            carried: Carried::default(),
            parents: Parents::created(directory),
            existing: Parents::existing(directory),
            directories: Vec::new(),
            made: 0,
            restored: Restored::default(),
        }
    }

    /// Does it, as far as it can. An error: the tree is not what it says, or was stopped.
    pub(super) fn run(mut self, input: impl Read, stop: &AtomicBool) -> io::Result<Restored> {
        let mut reader = TreeReader::open(input)?;
        self.carried = reader.carried().and(self.rules.carried);
        if self.carried != reader.carried() {
            self.note("owners and attributes", Reason::MetadataRefused);
        }
        while let Some(entry) = reader.next()? {
            check(stop)?;
            let name = entry.name.clone();
            if let Err(reason) = self.apply(entry) {
                self.note(&name, reason);
            }
        }
        while let Some((name, properties)) = self.directories.pop() {
            check(stop)?;
            match self.finish_directory(&name, &properties) {
                Ok(true) => {}
                Ok(false) => self.note(&name.to_string(), Reason::MetadataRefused),
                Err(reason) => self.note(&name.to_string(), reason),
            }
        }
        self.restored.deleted = self.clearing.map_or_else(Vec::new, |clearing| clearing.deleted);
        Ok(self.restored)
    }

    fn note(&mut self, name: &str, reason: Reason) {
        if self.restored.failures.len() < TOLD_MAX {
            self.restored.failures.push((name.to_owned(), reason));
        }
    }

    fn apply(&mut self, entry: Entry) -> Result<(), Reason> {
        let Entry { name, kind, properties } = entry;
        let safe = SafeName::of_text(&name).map_err(|_| Reason::NameRejected)?;
        match kind {
            Kind::Directory => {
                self.restored.directories += 1;
                let (parts, last) = safe.split();
                let path = [parts, &[last.to_owned()]].concat();
                if self.existing.get(&path).is_err() {
                    self.made += 1;
                    if self.made > self.rules.directories_max {
                        return Err(Reason::Refused);
                    }
                }
                let made = self.parents.get(&path).map(drop);
                made.map_err(|error| reason_of(&error))?;
                self.directories.push((safe, properties));
                Ok(())
            }
            Kind::Link(target) => self.link(&safe, &target, &properties),
            Kind::HardLink(of) => self.hard_link(&safe, &of),
            Kind::File => self.file(&safe, &properties),
        }
    }

    fn link(
        &mut self,
        name: &SafeName,
        target: &[u8],
        properties: &Properties,
    ) -> Result<(), Reason> {
        let (parts, last) = name.split();
        self.count_link()?;
        if !self.rules.outside_links && !stays_inside(parts.len(), target) {
            return Err(Reason::LinkRefused);
        }
        let parent = self.parents.get(parts).map_err(|error| reason_of(&error))?;
        let room = LinkPlace { top: self.directory, parent, path: &name.to_string() };
        let new = New::Link(target);
        let placed = place(&room, last, &new, self.rules.conflict, self.clearing.as_mut())?;
        let parent = descriptor(parent).map_err(disk)?;
        let set = properties::set_link(parent, &bytes_of(&placed), self.carried, properties);
        self.restored.links += 1;
        judge(&placed, last, set)
    }

    fn hard_link(&mut self, name: &SafeName, first: &First) -> Result<(), Reason> {
        self.count_link()?;
        let of = SafeName::of_text(&first.name).map_err(|_| Reason::Refused)?;
        let (of_parts, of_last) = of.split();
        // What it is one with did not come, or is not where it was meant to be.
        let missing = |_| Reason::Aborted;
        let of_parent = self.existing.get(of_parts).map_err(missing)?;
        let of_parent = descriptor(of_parent).map_err(disk)?;
        let stat =
            fanfare_udp::os::fs::statat(of_parent, &*bytes_of(of_last), AtFlags::SYMLINK_NOFOLLOW);
        if !is_first(&stat.map_err(|_| Reason::Aborted)?, first) {
            return Err(Reason::Conflict);
        }
        let (parts, last) = name.split();
        let parent = self.parents.get(parts).map_err(|error| reason_of(&error))?;
        let new = New::HardLink(of_parent, of_last);
        let room = LinkPlace { top: self.directory, parent, path: &name.to_string() };
        let placed = place(&room, last, &new, self.rules.conflict, self.clearing.as_mut())?;
        self.restored.hard_links += 1;
        judge(&placed, last, Ok(true))
    }

    /// A sender that announces fewer than there are goes beyond what its user takes.
    fn count_link(&mut self) -> Result<(), Reason> {
        let so_far = &mut self.restored.met;
        *so_far += 1;
        if *so_far > self.rules.links_max { Err(Reason::Refused) } else { Ok(()) }
    }

    fn file(&mut self, name: &SafeName, properties: &Properties) -> Result<(), Reason> {
        if !self.carried.any() {
            return Ok(());
        }
        let (parts, last) = name.split();
        let parent = self.existing.get(parts).map_err(|_| Reason::Aborted)?;
        let file = open(descriptor(parent).map_err(disk)?, last);
        let file = file.map_err(|errno| match errno {
            Errno::NOENT => Reason::Aborted,
            other => disk(other),
        })?;
        let stat = fanfare_udp::os::fs::fstat(&file).map_err(disk)?;
        if !kind_of(&stat).is_file() {
            return Err(Reason::InTheWay);
        }
        let set =
            properties::set(fanfare_udp::os::fd::AsFd::as_fd(&file), self.carried, properties);
        judge(last, last, set)
    }

    fn finish_directory(
        &mut self,
        name: &SafeName,
        properties: &Properties,
    ) -> Result<bool, Reason> {
        let (parts, last) = name.split();
        let path = [parts, &[last.to_owned()]].concat();
        let directory = self.existing.get(&path).map_err(|error| reason_of(&error))?;
        let directory = descriptor(directory).map_err(disk)?;
        properties::set(directory, self.carried, properties).map_err(disk)
    }
}

fn check(stop: &AtomicBool) -> io::Result<()> {
    if stop.load(Ordering::Relaxed) { Err(io::ErrorKind::Interrupted.into()) } else { Ok(()) }
}

/// What is said of a name that is there.
fn judge(placed: &str, wanted: &str, set: Result<bool, Errno>) -> Result<(), Reason> {
    if placed != wanted {
        return Err(Reason::KeptBeside);
    }
    if set.map_err(disk)? { Ok(()) } else { Err(Reason::MetadataRefused) }
}

/// Whether a file is the one that was sent. Its time may have been rounded: FAT has every other second.
fn is_first(stat: &Stat, first: &First) -> bool {
    let size = u64::try_from(stat.st_size) == Ok(first.size);
    let time = stat.st_mtime.abs_diff(first.mtime.seconds) <= 2;
    kind_of(stat).is_file() && size && time
}

fn reason_of(error: &io::Error) -> Reason {
    disk(Errno::from_io_error(error).unwrap_or(Errno::IO))
}

/// A file itself, not what it may link to; and what is no file must not hold us up.
fn open(parent: BorrowedFd<'_>, name: &str) -> Result<fanfare_udp::os::fd::OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let name = &*bytes_of(name);
    match fanfare_udp::os::fs::openat2(parent, name, flags, Mode::empty(), resolve) {
        // Kernels before 5.6 and some sandboxes lack it; the name is one part.
        Err(Errno::NOSYS | Errno::PERM) => {
            fanfare_udp::os::fs::openat(parent, name, flags, Mode::empty())
        }
        other => other,
    }
}
