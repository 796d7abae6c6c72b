//! Objects in files: [`fanfare_proto::Storage`] on a real disk.
//!
//! - `outgoing`: files being sent, read through a few large windows.
//! - `incoming`: files being received, written in large pieces under names of our own.
//! - `parts`: which object is received into which of them; `kept`: those that stay for next time.
//! - `budget`: how much of them stays, and for how long.
//! - `syncer`: makes them durable while they grow; `error`: what a disk's errors are to the protocol.

mod budget;
mod error;
mod incoming;
mod kept;
mod outgoing;
mod parts;
mod syncer;
mod units;

use std::{collections::BTreeMap, sync::Arc};

use crate::content::{
    manifest::{MANIFEST_MAX, Manifest},
    read_at::ReadAt,
};
use fanfare_proto::{DataBatch, NodeId, ObjectKey, ObjectKind, Storage, StorageError, Time};

pub use budget::{KeptPart, PartLimits, clean_parts, list_parts};
use fanfare_node::disk::directory::Directory;
pub(crate) use incoming::PartFile;
pub(crate) use kept::discard_parts;
use outgoing::Outgoing;
pub(crate) use outgoing::WINDOW;
use parts::Parts;
pub(crate) use parts::{Found, What};
use syncer::Syncer;
#[cfg(test)]
pub(crate) use syncer::inline::Backlog;
pub(crate) use units::{UNITS_MAX, Units};

use crate::{
    ledger::{self, SharedLedger},
    streams::Room,
};

/// The store of one node.
#[derive(Debug, Default)]
pub(crate) struct FileStorage {
    outgoing: Outgoing,
    parts: Option<Parts>,
    /// Data objects short enough to be manifests, in memory until it is known what they are.
    small: BTreeMap<ObjectKey, Small>,
    only_from: Option<NodeId>,
    /// Files are not taken.
    only_streams: bool,
    ledger: Option<SharedLedger>,
}

#[derive(Debug)]
struct Small {
    size: u64,
    bytes: Vec<u8>,
}

impl FileStorage {
    /// A store that receives into `directory`, from one sender only if one is named.
    pub(crate) fn receiving(directory: Arc<Directory>, only_from: Option<NodeId>) -> Self {
        let syncer = Syncer::start(directory.clone());
        Self::receiving_by(directory, only_from, syncer)
    }

    /// The same, synced by `syncer`.
    pub(crate) fn receiving_by(
        directory: Arc<Directory>,
        only_from: Option<NodeId>,
        syncer: Syncer,
    ) -> Self {
        Self { parts: Some(Parts::new(directory, syncer)), only_from, ..Self::default() }
    }

    /// Takes no files from now on, only what may be a piece of a stream.
    pub(crate) fn take_only_streams(&mut self) {
        self.only_streams = true;
    }

    /// What is here whole already needs no room a second time.
    pub(crate) fn consult(&mut self, ledger: SharedLedger) {
        self.ledger = Some(ledger);
    }

    /// Makes a file, or a pack, readable under `key`.
    pub(crate) fn add_source(&mut self, key: ObjectKey, file: Arc<dyn ReadAt>) {
        self.outgoing.add(key, file);
    }

    /// Makes bytes that are in no file readable under `key`.
    pub(crate) fn add_bytes(&mut self, key: ObjectKey, bytes: Vec<u8>) {
        self.outgoing.add_bytes(key, bytes);
    }

    /// What is read ahead takes its memory from here from now on.
    pub(crate) fn share(&mut self, room: Room) {
        self.outgoing.share(room);
    }

    /// Gives up so much of what was read ahead, if there is as much; tells how much.
    pub(crate) fn yield_windows(&mut self, bytes: usize) -> usize {
        self.outgoing.yield_windows(bytes)
    }

    /// A source that could not be read as announced, if there was one since the last call.
    pub(crate) fn take_unreadable(&mut self) -> Option<ObjectKey> {
        self.outgoing.take_failed()
    }

    /// The bytes of a short data object that was received whole.
    pub(crate) fn take_small(&mut self, key: ObjectKey) -> Option<Vec<u8>> {
        if let Some(small) = self.small.remove(&key) {
            return Some(small.bytes);
        }
        // It might have been a pack of which there is a part.
        let parts = self.parts.as_mut()?;
        let size = parts.size(key).filter(|size| *size <= MANIFEST_MAX)?;
        let mut bytes = vec![0; size as usize];
        let read = parts.read(key, 0, &mut bytes);
        parts.settle(key, false);
        read.is_ok().then_some(bytes)
    }

    /// A small object that [`Self::take_small`] took comes once more.
    pub(crate) fn ask_small(&mut self, key: ObjectKey, size: u64) {
        self.small.insert(key, Small { size, bytes: Vec::new() });
    }

    /// The file of an object that was received whole; it may be asked for again after mending.
    pub(crate) fn finished(&mut self, key: ObjectKey) -> Option<PartFile> {
        if let Some(Small { size, bytes }) = self.small.remove(&key) {
            // Data that is no manifest: a plain sender's, or a short pack, of which some may lack.
            let parts = self.parts.as_mut()?;
            parts.open(key, size, false).ok()?;
            if parts.is_short(key) {
                parts.settle(key, false);
                return None;
            }
            self.parts.as_mut()?.write(key, 0, &bytes).ok()?;
            self.parts.as_mut()?.close(key, true);
        }
        self.parts.as_mut()?.finished(key)
    }

    /// It is known which root `key` has, and so whose part it is.
    pub(crate) fn identify(
        &mut self,
        key: ObjectKey,
        root: &[u8; 32],
        what: What<'_>,
    ) -> Result<Found, StorageError> {
        self.parts.as_mut().map_or(Ok(Found::Nothing), |parts| parts.identify(key, root, what))
    }

    /// Whether `key` may be the file of which a part is here, judged by its size.
    pub(crate) fn may_resume(&self, key: ObjectKey, size: u64) -> bool {
        self.parts.as_ref().is_some_and(|parts| parts.has(key) && parts.has_size(size))
    }

    /// Checks that there is room for all of an object, but for what its manifest says is zeros.
    pub(crate) fn check_room(&mut self, key: ObjectKey) -> Result<(), StorageError> {
        self.parts.as_mut().map_or(Ok(()), |parts| parts.check_room(key))
    }

    /// True if the disk has no room for all of an object, unless its manifest tells of enough zeros.
    pub(crate) fn is_short(&self, key: ObjectKey) -> bool {
        self.parts.as_ref().is_some_and(|parts| parts.is_short(key))
    }

    /// Keeps no more of unfinished files than this, from now on.
    pub(crate) fn limit_parts(&mut self, limits: PartLimits) {
        if let Some(parts) = &mut self.parts {
            parts.limit(limits);
        }
    }

    /// What is not written of an object counts as zeros.
    pub(crate) fn extend(&mut self, key: ObjectKey) -> Result<(), StorageError> {
        self.parts.as_mut().map_or(Ok(()), |parts| parts.extend(key))
    }

    /// A manifest has come: parts of its root are kept from now on.
    pub(crate) fn learn(&mut self, manifest: Manifest) {
        if let Some(parts) = &mut self.parts {
            parts.learn(Arc::new(manifest));
        }
    }

    /// The manifest of a root.
    pub(crate) fn manifest(&self, root: &[u8; 32]) -> Option<Arc<Manifest>> {
        self.parts.as_ref()?.manifest(root)
    }

    /// Beginnings of the roots of all parts that are kept, for the status.
    pub(crate) fn part_roots(&self) -> Vec<u8> {
        self.parts.as_ref().map(Parts::roots).unwrap_or_default()
    }

    /// A file of this root is in its place, and was there before when it was `found`.
    pub(crate) fn forget_manifest(&mut self, root: &[u8; 32], found: bool) {
        if let Some(parts) = &mut self.parts {
            parts.forget_manifest(root, found);
        }
    }

    /// Not all of it was right: it is written to again.
    pub(crate) fn reopen(&mut self, key: ObjectKey) {
        if let Some(parts) = &mut self.parts {
            parts.reopen(key);
        }
    }

    /// It is in its place (`placed`), or will not be had. Returns other objects that had the same
    /// part, which is now whole.
    pub(crate) fn settle(&mut self, key: ObjectKey, placed: bool) -> Vec<ObjectKey> {
        self.small.remove(&key);
        self.parts.as_mut().map(|parts| parts.settle(key, placed)).unwrap_or_default()
    }

    /// What was received of `key` was wrong time and again: none of it is kept.
    pub(crate) fn distrust(&mut self, key: ObjectKey) {
        if let Some(parts) = &mut self.parts {
            parts.distrust(key);
        }
    }

    /// From now on, what was received of unfinished objects stays on disk.
    pub(crate) fn keep_partials(&mut self) {
        if let Some(parts) = &mut self.parts {
            parts.keep_partials();
        }
    }

    /// Makes durable what has been written for a second or more.
    pub(crate) fn sync(&mut self, now: Time) {
        if let Some(parts) = &mut self.parts {
            parts.sync(now);
        }
    }
}

impl Storage for FileStorage {
    fn open(&mut self, key: ObjectKey, kind: ObjectKind, size: u64) -> Result<(), StorageError> {
        let parts = self.parts.as_mut().ok_or(StorageError::Refused)?;
        if self.only_from.is_some_and(|from| from != key.sender) {
            return Err(StorageError::Refused);
        }
        if kind == ObjectKind::Data && size <= MANIFEST_MAX && !parts.has_size(size) {
            // Grown on write: a header's promise allocates nothing.
            self.small.insert(key, Small { size, bytes: Vec::new() });
            return Ok(());
        }
        if self.only_streams {
            return Err(StorageError::Refused);
        }
        let known = self.ledger.as_ref().is_some_and(|known| ledger::lock(known).has_size(size));
        parts.open(key, size, known)
    }

    fn write(&mut self, key: ObjectKey, offset: u64, bytes: &[u8]) -> Result<(), StorageError> {
        match self.small.get_mut(&key) {
            Some(small) => small.write(offset, bytes),
            None => self.parts.as_mut().ok_or(StorageError::Failed)?.write(key, offset, bytes),
        }
    }

    fn write_batch(
        &mut self,
        key: ObjectKey,
        offset: u64,
        row: DataBatch<'_>,
    ) -> Result<(), StorageError> {
        match self.small.get_mut(&key) {
            Some(small) => (offset..)
                .step_by(row.symbol_size().max(1))
                .zip(row.symbols())
                .try_for_each(|(offset, symbol)| small.write(offset, symbol)),
            None => self.parts.as_mut().ok_or(StorageError::Failed)?.write_batch(key, offset, row),
        }
    }

    fn read(&mut self, key: ObjectKey, offset: u64, into: &mut [u8]) -> Result<(), StorageError> {
        if let Some(small) = self.small.get(&key) {
            return small.read(offset, into);
        }
        match self.parts.as_mut().filter(|parts| parts.has(key)) {
            Some(parts) => parts.read(key, offset, into),
            None => self.outgoing.read(key, offset, into),
        }
    }

    fn append(
        &mut self,
        key: ObjectKey,
        offset: u64,
        len: usize,
        into: &mut Vec<u8>,
    ) -> Result<(), StorageError> {
        if self.outgoing.has(key) {
            return self.outgoing.append(key, offset, len, into);
        }
        let start = into.len();
        into.resize(start + len, 0);
        self.read(key, offset, &mut into[start..])
    }

    fn lend(&mut self, key: ObjectKey, offset: u64, len: usize) -> Option<&[u8]> {
        self.outgoing.lend(key, offset, len)
    }

    fn close(&mut self, key: ObjectKey, complete: bool) {
        if self.small.contains_key(&key) {
            if !complete {
                self.small.remove(&key);
            }
            return;
        }
        match self.parts.as_mut().filter(|parts| parts.has(key)) {
            Some(parts) => parts.close(key, complete),
            None => self.outgoing.remove(key),
        }
    }
}

impl Small {
    fn write(&mut self, offset: u64, bytes: &[u8]) -> Result<(), StorageError> {
        let end = offset.saturating_add(bytes.len() as u64);
        if end > self.size {
            return Err(StorageError::Failed);
        }
        let (start, end) = (offset as usize, end as usize);
        if self.bytes.len() < end {
            self.bytes.resize(end, 0);
        }
        self.bytes[start..end].copy_from_slice(bytes);
        Ok(())
    }

    fn read(&self, offset: u64, into: &mut [u8]) -> Result<(), StorageError> {
        let start = usize::try_from(offset).map_err(|_| StorageError::Failed)?;
        let bytes = start.checked_add(into.len()).and_then(|end| self.bytes.get(start..end));
        into.copy_from_slice(bytes.ok_or(StorageError::Failed)?);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use fanfare_node::disk::{
        scratch::Scratch,
        {
            Open,
            simulated::{SimFs, State},
        },
    };
    use fanfare_proto::{InstanceId, ObjectTransportId};

    use super::*;

    fn key(object: u16) -> ObjectKey {
        ObjectKey { sender: NodeId(7), instance: InstanceId(1), object: ObjectTransportId(object) }
    }

    fn store(scratch: &Scratch) -> FileStorage {
        let directory = Arc::new(Directory::open(scratch.path(), false).unwrap());
        FileStorage::receiving(directory, None)
    }

    fn entries(scratch: &Scratch) -> usize {
        std::fs::read_dir(scratch.path()).unwrap().count()
    }

    #[test]
    fn an_object_written_in_any_order_is_whole_on_disk_when_closed() {
        let scratch = Scratch::new();
        let mut store = store(&scratch);
        let content: Vec<u8> = (0..300_000_u32).map(|n| (n % 251) as u8).collect();
        store.open(key(1), ObjectKind::File, content.len() as u64).unwrap();
        let mut segments: Vec<(usize, &[u8])> =
            content.chunks(1400).enumerate().map(|(n, bytes)| (n * 1400, bytes)).collect();
        segments.sort_by_key(|(offset, _)| offset % 17);
        for (offset, bytes) in segments {
            store.write(key(1), offset as u64, bytes).unwrap();
        }
        store.close(key(1), true);
        let part = store.finished(key(1)).unwrap();
        assert!(part.failed.is_none());
        let mut reader = fanfare_node::disk::Reader::new(part.file.handle());
        let hashed = crate::content::source::hash(&mut reader, &mut |_| {}).unwrap();
        assert_eq!((hashed.root, hashed.size), (*blake3::hash(&content).as_bytes(), 300_000));
    }

    #[test]
    fn bytes_not_yet_on_disk_can_be_read_back() {
        let scratch = Scratch::new();
        let mut store = store(&scratch);
        store.open(key(1), ObjectKind::File, 20).unwrap();
        store.write(key(1), 0, b"0123456789").unwrap();
        let mut back = [0; 4];
        store.read(key(1), 3, &mut back).unwrap();
        assert_eq!(&back, b"3456");
        assert!(store.write(key(1), 15, b"0123456789").is_err(), "beyond the announced size");
    }

    #[test]
    fn a_repair_of_what_lies_behind_does_not_tear_apart_what_goes_on() {
        const UNIT: usize = 64 << 10;
        let scratch = Scratch::new();
        let mut store = store(&scratch);
        let content: Vec<u8> = (0..5 * UNIT).map(|n| (n % 251) as u8).collect();
        store.open(key(1), ObjectKind::File, content.len() as u64).unwrap();
        let write = |store: &mut FileStorage, piece: usize| {
            let (start, end) = (piece * 1024, (piece + 1) * 1024);
            store.write(key(1), start as u64, &content[start..end]).unwrap();
        };
        // The third piece is lost, and comes again in the middle of the third unit.
        (0..160).filter(|piece| *piece != 2).for_each(|piece| write(&mut store, piece));
        write(&mut store, 2);
        (160..320).for_each(|piece| write(&mut store, piece));
        let mut back = vec![0; content.len()];
        store.read(key(1), 0, &mut back).unwrap();
        assert_eq!(back, content);
        store.close(key(1), true);
        let units = store.finished(key(1)).unwrap().units;
        let known: Vec<bool> = (0..5).map(|number| units.get(number).is_some()).collect();
        assert_eq!((known, units.torn), (vec![true; 5], 1));
    }

    /// A store on a disk with room for 5 MiB, which knows the manifest of a file whose first so many of 8
    /// MiB are zeros; and its root.
    fn store_that_knows(zeros: usize) -> (FileStorage, [u8; 32]) {
        let mut hasher = crate::content::manifest::GroupHasher::default();
        hasher.update(&vec![0; zeros * MIB]);
        hasher.update(&vec![5; (8 - zeros) * MIB]);
        let (root, _, manifest) = hasher.finish();
        let fs = SimFs::new(State::new(1));
        fs.with(|state| state.faults.room = 5 * MIB as u64);
        let mut store = FileStorage::receiving(Arc::new(Directory::over(fs.root())), None);
        store.learn(manifest.unwrap());
        (store, root)
    }

    const MIB: usize = 1 << 20;

    #[test]
    fn a_file_needs_room_for_what_its_manifest_does_not_call_zeros() {
        let size = 8 * MIB as u64;
        let (mut store, root) = store_that_knows(7);
        store.open(key(1), ObjectKind::File, size).unwrap();
        assert!(!store.is_short(key(1)), "there is room for the eighth");
        assert_eq!(store.identify(key(1), &root, What::File(b"f")), Ok(Found::Nothing));
        assert_eq!(store.check_room(key(1)), Ok(()));

        let (mut store, _) = store_that_knows(1);
        let opened = store.open(key(1), ObjectKind::File, size);
        assert_eq!(opened, Err(StorageError::Full), "at once");
    }

    #[test]
    fn a_file_larger_than_the_free_space_waits_for_its_manifest_and_is_refused_without_one() {
        let (mut store, _) = store_that_knows(7);
        store.open(key(1), ObjectKind::File, 9 * MIB as u64).unwrap();
        assert!(store.is_short(key(1)));
        assert_eq!(store.check_room(key(1)), Err(StorageError::Full));
        let found = store.identify(key(1), &[7; 32], What::File(b"f"));
        assert_eq!(found, Err(StorageError::Full));
    }

    #[test]
    fn an_object_too_short_for_a_manifest_is_refused_at_once_where_it_has_no_room() {
        let fs = SimFs::new(State::new(1));
        fs.with(|state| state.faults.room = 10);
        let mut store = FileStorage::receiving(Arc::new(Directory::over(fs.root())), None);
        assert_eq!(store.open(key(1), ObjectKind::File, MIB as u64), Err(StorageError::Full));
    }

    #[test]
    fn what_is_announced_takes_no_room_before_it_comes() {
        const SIZE: u64 = 8 << 30;
        let scratch = Scratch::new();
        let mut store = store(&scratch);
        let taken = || {
            use fanfare_udp::os::file::MetadataExt as _;
            let entries = std::fs::read_dir(scratch.path()).unwrap();
            entries.map(|entry| entry.unwrap().metadata().unwrap().blocks() * 512).sum::<u64>()
        };
        for object in 0..9 {
            // Room for one is room for each: none takes what the others might.
            store.open(key(object), ObjectKind::File, SIZE).unwrap();
            store.write(key(object), u64::from(object) << 28, &[7; 1400]).unwrap();
            store.read(key(object), u64::from(object) << 28, &mut [0; 1400]).unwrap();
        }
        assert!(taken() < 20 << 20, "{}", taken());
    }

    #[test]
    fn an_object_given_up_leaves_nothing_unless_partials_are_kept() {
        let scratch = Scratch::new();
        let mut store = store(&scratch);
        store.open(key(1), ObjectKind::File, 10).unwrap();
        store.close(key(1), false);
        assert_eq!(entries(&scratch), 0);
        store.open(key(2), ObjectKind::File, 10).unwrap();
        store.write(key(2), 0, b"kept").unwrap();
        store.keep_partials();
        drop(store);
        assert_eq!(entries(&scratch), 1);
    }

    #[test]
    fn a_part_that_is_a_second_name_of_a_finished_file_is_not_written_to() {
        // What a crash leaves where files are renamed by a link and an unlink.
        let content = vec![5; 2 << 20];
        let mut hasher = crate::content::manifest::GroupHasher::default();
        hasher.update(&content);
        let (root, size, manifest) = hasher.finish();
        let fs = SimFs::new(State::new(1));
        let (disk, part) = (fs.root(), kept::part_name(&root));
        disk.open("f", Open::Create).unwrap().write_all_at(&content, 0).unwrap();
        disk.link("f", &*disk, &part).unwrap();
        let saved = part.replace(".part", ".manifest");
        let saved = disk.open(&saved, Open::Create).unwrap();
        saved.write_all_at(&manifest.unwrap().to_disk(), 0).unwrap();

        let directory = Arc::new(Directory::over(fs.root()));
        let mut store = FileStorage::receiving(directory, None);
        assert!(store.manifest(&root).is_some());
        store.open(key(1), ObjectKind::File, size).unwrap();
        store.write(key(1), 0, b"wrong").unwrap();
        assert_eq!(store.identify(key(1), &root, What::File(b"f")), Ok(Found::Nothing));
        store.settle(key(1), false);
        assert_eq!(*fs.state().seen.paths()["f"], content);
    }

    #[test]
    fn what_came_of_a_pack_is_found_again_though_nothing_was_said_of_its_content() {
        let scratch = Scratch::new();
        let (root, size) = ([7; 32], MANIFEST_MAX + 1);
        let mut first = store(&scratch);
        first.open(key(1), ObjectKind::Data, size).unwrap();
        first.write(key(1), 0, b"a head").unwrap();
        assert_eq!(first.identify(key(1), &root, What::Pack), Ok(Found::Nothing));
        first.write(key(1), 100, b"and more").unwrap();
        first.sync(Time::ZERO + std::time::Duration::from_secs(2));
        // As a kill does, without a destructor: but for the lock.
        first.open(key(2), ObjectKind::Data, size).unwrap();
        assert_eq!(first.identify(key(2), &root, What::Pack), Ok(Found::Nothing), "its own");
        drop(first);
        let mut second = store(&scratch);
        assert_eq!(second.part_roots(), root[..8]);
        second.open(key(1), ObjectKind::Data, size).unwrap();
        assert_eq!(second.identify(key(1), &root, What::Pack), Ok(Found::Part));
        let mut back = [0; 8];
        second.read(key(1), 100, &mut back).unwrap();
        assert_eq!(&back, b"and more");
        second.settle(key(1), true);
        assert!(second.part_roots().is_empty());
    }

    #[test]
    fn only_the_named_sender_is_heard() {
        let scratch = Scratch::new();
        let directory = Arc::new(Directory::open(scratch.path(), false).unwrap());
        let mut store = FileStorage::receiving(directory, Some(NodeId(8)));
        assert_eq!(store.open(key(1), ObjectKind::File, 1), Err(StorageError::Refused));
        assert!(store.open(ObjectKey { sender: NodeId(8), ..key(1) }, ObjectKind::File, 1).is_ok());
    }

    #[test]
    fn a_source_is_read_anywhere_and_one_that_shrank_is_reported() {
        let scratch = Scratch::new();
        let path = scratch.path().join("f");
        let content: Vec<u8> = (0..1_000_000_u32).map(|n| (n % 241) as u8).collect();
        std::fs::write(&path, &content).unwrap();
        let mut store = FileStorage::default();
        store.add_source(key(1), Arc::new(std::fs::File::open(&path).unwrap()));
        for offset in [0, 999_000, 262_143, 500_000, 1] {
            let mut bytes = [0; 1000];
            store.read(key(1), offset, &mut bytes).unwrap();
            assert_eq!(bytes, content[offset as usize..][..1000]);
        }
        let mut block = vec![0; 200_000];
        store.read(key(1), 300_000, &mut block).unwrap();
        assert_eq!(block, content[300_000..500_000]);
        assert_eq!(store.take_unreadable(), None);
        assert!(store.read(key(1), 900_000, &mut block).is_err());
        assert_eq!(store.take_unreadable(), Some(key(1)));
        assert!(store.read(key(1), 999_500, &mut [0; 1000]).is_err());
        assert_eq!(store.take_unreadable(), Some(key(1)));
        store.close(key(1), false);
        assert!(store.read(key(1), 0, &mut [0]).is_err());
    }
}
