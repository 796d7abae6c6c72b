//! One file being received.

use std::{io, sync::Arc};

use crate::content::received::Received;
use fanfare_node::disk::{OwnFile, directory::Directory};
use fanfare_proto::{DataBatch, ObjectKey, StorageError};
use fanfare_udp::os::io::Errno;

use super::{error::storage_error, syncer::Task, units::Units};

/// Consecutive bytes gathered before they are written, up to a multiple of as many in the file. Writes below 64 KiB cost a third of the
/// disk's rate; above 256 KiB nothing is gained.
const GATHER_BYTES: usize = 256 << 10;
/// So much may be lost with the power.
const SYNC_BYTES: u64 = 8 << 20;
/// Runs remembered until it is known whose part it is. Nobody's NORM_INFO takes that long.
const RUNS_MAX: usize = 4096;
/// Room is taken for what is written and as much again, so that the file is laid out in few pieces
/// and a full disk shows early: for so much at least, and so much at most. What is only announced
/// takes none: nine announcements of 8 GiB took 75 GB.
const AHEAD_MIN: u64 = 1 << 20;
const AHEAD_MAX: u64 = 64 << 20;
/// Copied at once.
const COPY_BYTES: u64 = 1 << 20;

/// One of the two places where bytes are gathered.
#[derive(Debug, Clone, Copy)]
enum Place {
    Front,
    Behind,
}

/// A file under a name of our own, and the bytes that wait to be written to it.
#[derive(Debug)]
pub(super) struct Incoming {
    pub(super) name: String,
    file: Arc<OwnFile>,
    size: u64,
    /// Where most is written, in order.
    front: Gathered,
    /// What comes to places before it, by repair: it does not tear apart what goes on there.
    behind: Gathered,
    /// Hashes of what has been written.
    units: Units,
    /// What has been written (start, end), until it is known whose part it is.
    runs: Option<Vec<(u64, u64)>>,
    unsynced: u64,
    /// Bytes that have been written, those written twice counted twice.
    written: u64,
    /// Up to here room has been taken.
    reserved: u64,
    /// Its name is durable, or need not be: what is not known to be anybody's is not kept.
    named: bool,
    /// Bytes could not be written: they are gone, and it will not be whole.
    failed: Option<Errno>,
}

/// Consecutive bytes that wait to be written.
#[derive(Debug, Default)]
struct Gathered {
    at: u64,
    bytes: Vec<u8>,
}

impl Gathered {
    fn end(&self) -> u64 {
        self.at + self.bytes.len() as u64
    }

    fn overlaps(&self, offset: u64, len: u64) -> bool {
        offset < self.end() && offset.saturating_add(len) > self.at
    }
}

/// A file that was received whole, not yet under its final name.
#[derive(Debug)]
pub(crate) struct PartFile {
    /// The file.
    pub(crate) file: Arc<OwnFile>,
    /// Its name in the directory.
    pub(crate) name: String,
    /// What of it was hashed as it was written.
    pub(crate) units: Units,
    /// Some bytes could not be written.
    pub(crate) failed: Option<StorageError>,
    /// It stays on disk when it proves wrong: there is a manifest to mend it by.
    pub(crate) lasting: bool,
}

impl PartFile {
    /// What is left of it when it is no file: nobody keeps it or mends it.
    pub(crate) fn into_received(self) -> Received {
        let Self { file, name, failed, .. } = self;
        Received { file, name, failed }
    }
}

impl Incoming {
    /// Creates the file, which takes no room yet.
    pub(super) fn create(
        directory: &Directory,
        key: ObjectKey,
        size: u64,
    ) -> Result<Self, StorageError> {
        let ObjectKey { sender, instance, object } = key;
        let of = format_args!("{sender}-{instance}-{object}");
        let name = directory.own_name(of, ".part");
        let file = directory.create_own(&name).map_err(|error| storage_error(&error))?;
        // Tells another receiver in this directory that it is in use; where there are no locks,
        // they had better not share one.
        let _ = file.handle().lock();
        Ok(Self::new(name, file, size, Some(Vec::new())))
    }

    /// Opens a part that an earlier attempt has left; `WouldBlock` when another receiver is at work
    /// in it.
    pub(super) fn resume(directory: &Directory, name: String, size: u64) -> io::Result<Self> {
        let file = directory.open_own(&name)?;
        let busy = file.handle().lock() == Err(Errno::WOULDBLOCK);
        // Before it was locked it may have become a file.
        if busy || !directory.is_named(&file, &name) {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let found = file.handle().metadata()?;
        if found.is_linked_twice {
            // A crash between giving it its final name and taking this one: it is in its place,
            // and writing to it would change what is there.
            directory.remove(&name);
            return Err(io::ErrorKind::NotFound.into());
        }
        if found.len != size {
            file.handle().set_len(size)?;
        }
        Ok(Self { named: false, ..Self::new(name, file, size, None) })
    }

    fn new(name: String, file: Arc<OwnFile>, size: u64, runs: Option<Vec<(u64, u64)>>) -> Self {
        Self {
            name,
            file,
            size,
            front: Gathered::default(),
            behind: Gathered::default(),
            units: Units::default(),
            runs,
            unsynced: 0,
            written: 0,
            reserved: 0,
            named: true,
            failed: None,
        }
    }

    /// Bytes of the whole file.
    pub(super) fn size(&self) -> u64 {
        self.size
    }

    /// Checks that there is room for what of it takes none yet. `zeros`: bytes of it that never do.
    pub(super) fn check_room(&self, directory: &Directory, zeros: u64) -> Result<(), StorageError> {
        let taken = self.file.handle().metadata().map_or(0, |found| found.taken);
        let fits = directory.free() >= self.size.saturating_sub(zeros).saturating_sub(taken);
        if fits { Ok(()) } else { Err(StorageError::Full) }
    }

    /// `len` bytes up to `end` are about to be written: takes room for them and for what follows.
    fn reserve_ahead(&mut self, end: u64, len: u64) -> Result<(), Errno> {
        self.written += len;
        let ahead = self.written.clamp(AHEAD_MIN, AHEAD_MAX);
        // Symbols far apart take no more than others.
        let most = self.written.saturating_mul(2).saturating_add(AHEAD_MIN);
        let wanted = end.saturating_add(ahead).min(most).min(self.size);
        if end <= self.reserved || wanted <= self.reserved {
            return Ok(());
        }
        self.reserved = wanted;
        fanfare_node::disk::reserve(self.file.handle(), wanted)
    }

    /// Gives it its whole length: what has not been written is zeros.
    pub(super) fn extend(&self) -> io::Result<()> {
        if self.file.handle().metadata()?.len < self.size {
            self.file.handle().set_len(self.size)?;
        }
        Ok(())
    }

    /// A sync of it has failed: what memory shows of it may not be on the disk, now or ever.
    pub(super) fn is_lost(&self) -> bool {
        self.file.is_lost()
    }

    pub(super) fn write(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let place = self.place(offset, bytes.len() as u64)?;
        self.gather(place, bytes)
    }

    /// Symbols that came in a row.
    pub(super) fn write_batch(&mut self, offset: u64, row: DataBatch<'_>) -> io::Result<()> {
        let place = self.place(offset, (row.len() * row.symbol_size()) as u64)?;
        row.symbols().try_for_each(|symbol| self.gather(place, symbol))
    }

    /// Where `len` bytes at `offset` are gathered, behind what is there already.
    fn place(&mut self, offset: u64, len: u64) -> io::Result<Place> {
        if offset.saturating_add(len) > self.size {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        if let Some(errno) = self.failed.or(self.is_lost().then_some(Errno::IO)) {
            return Err(errno.into());
        }
        let place = match offset < self.front.end() {
            true => Place::Behind,
            false => Place::Front,
        };
        let other = match place {
            Place::Front => &self.behind,
            Place::Behind => &self.front,
        };
        // What was written last counts.
        if other.overlaps(offset, len) {
            self.flush()?;
        }
        if offset != self.gathered(place).end() {
            self.flush_place(place)?;
            self.gathered(place).at = offset;
        }
        Ok(place)
    }

    fn gathered(&mut self, place: Place) -> &mut Gathered {
        match place {
            Place::Front => &mut self.front,
            Place::Behind => &mut self.behind,
        }
    }

    /// Appends to what is gathered, and writes it at a boundary.
    fn gather(&mut self, place: Place, bytes: &[u8]) -> io::Result<()> {
        let mut rest = bytes;
        while !rest.is_empty() {
            let gathered = self.gathered(place);
            let room = GATHER_BYTES - (gathered.end() % GATHER_BYTES as u64) as usize;
            let (now, later) = rest.split_at(room.min(rest.len()));
            gathered.bytes.extend_from_slice(now);
            rest = later;
            if now.len() == room {
                self.flush_place(place)?;
            }
        }
        Ok(())
    }

    pub(super) fn read(&mut self, offset: u64, into: &mut [u8]) -> io::Result<()> {
        for place in [Place::Front, Place::Behind] {
            if self.gathered(place).overlaps(offset, into.len() as u64) {
                self.flush_place(place)?;
            }
        }
        self.file.handle().read_exact_at(into, offset)
    }

    pub(super) fn flush(&mut self) -> io::Result<()> {
        let behind = self.flush_place(Place::Behind);
        self.flush_place(Place::Front).and(behind)
    }

    fn flush_place(&mut self, place: Place) -> io::Result<()> {
        let mut gathered = std::mem::take(self.gathered(place));
        if !gathered.bytes.is_empty() {
            let written = self.write_out(&gathered);
            gathered.at = gathered.end();
            gathered.bytes.clear();
            *self.gathered(place) = gathered;
            return written;
        }
        *self.gathered(place) = gathered;
        Ok(())
    }

    fn write_out(&mut self, gathered: &Gathered) -> io::Result<()> {
        let (start, end) = (gathered.at, gathered.end());
        let room = self.reserve_ahead(end, end - start);
        let written = room.and_then(|()| self.file.handle().write_all_at(&gathered.bytes, start));
        self.failed = self.failed.or(written.err());
        self.units.on_written(start, &gathered.bytes, self.size);
        if self.failed.is_none() {
            let file = self.file.handle();
            self.units.hash_whole(self.size, |into, at| file.read_exact_at(into, at));
        }
        self.unsynced += end - start;
        self.note(start, end);
        Ok(written?)
    }

    fn note(&mut self, start: u64, end: u64) {
        let Some(runs) = &mut self.runs else { return };
        if let Some(last) = runs.last_mut().filter(|last| last.1 == start) {
            last.1 = end;
        } else if runs.len() < RUNS_MAX {
            runs.push((start, end));
        } else {
            self.runs = None;
        }
    }

    /// Whether it is still known what has been written; then it can become part of another.
    pub(super) fn can_move(&self) -> bool {
        self.runs.is_some()
    }

    /// It is known whose part it is: what was written needs no more noting.
    pub(super) fn settle_as(&mut self, name: String) {
        self.name = name;
        self.runs = None;
        self.named = false;
    }

    /// Copies what has been written to another part of the same file.
    pub(super) fn move_to(&mut self, other: &mut Self) -> io::Result<()> {
        self.flush()?;
        for (start, end) in self.runs.take().unwrap_or_default() {
            let mut at = start;
            while at < end {
                let len = COPY_BYTES.min(end - at);
                let mut bytes = vec![0; len as usize];
                self.file.handle().read_exact_at(&mut bytes, at)?;
                other.file.handle().write_all_at(&bytes, at)?;
                at += len;
            }
            other.units.forget(start, end - start);
            other.unsynced += end - start;
        }
        Ok(())
    }

    /// Whether enough has been written since the last sync to ask for another.
    pub(super) fn wants_sync(&self) -> bool {
        self.unsynced >= SYNC_BYTES
    }

    /// Hands what has been written to `submit`, if there is anything.
    pub(super) fn sync_by(&mut self, submit: impl FnOnce(Task) -> bool) {
        // A failure shows again when the object is written or closed.
        let _ = self.flush();
        if self.unsynced == 0 && self.named {
            return;
        }
        let (file, part) = (self.file.clone(), self.name.clone());
        if submit(Task::Sync { file, part, name: !self.named }) {
            self.unsynced = 0;
            self.named = true;
        }
    }

    /// All has been received.
    pub(super) fn close(&mut self) {
        // A failure is remembered.
        let _ = self.flush();
    }

    /// The file for the verifier.
    /// `is_pack`: files that are here already are filled into it by others.
    pub(super) fn part_file(&self, lasting: bool, is_pack: bool) -> PartFile {
        let failed = self.failed.map(|errno| storage_error(&errno.into()));
        let units = if is_pack { Units::default() } else { self.units.clone() };
        PartFile { file: self.file.clone(), name: self.name.clone(), units, failed, lasting }
    }
}
