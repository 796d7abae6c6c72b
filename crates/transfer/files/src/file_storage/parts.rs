//! Which object is received into which part.
//!
//! An object begins in a part of its own. Once its NORM_INFO names a root, it moves into the part
//! of that root: what an earlier attempt, an earlier life of the sender or another sender brought
//! of the same file is there already. Several objects may share a part; once one of them is whole,
//! nothing is written to it until it proves wrong.
//!
//! - `identity`: into which part an object moves

mod identity;

pub(crate) use identity::{Found, What};

use std::{
    collections::{BTreeMap, BTreeSet},
    io,
    sync::Arc,
    time::{Duration, SystemTime},
};

use crate::content::{
    manifest::{Manifest, WITHOUT_MAX},
    pack::pack_part_name,
};
use fanfare_proto::{DataBatch, ObjectKey, StorageError, Time};

use super::{
    budget::{self, PartLimits},
    error::storage_error,
    incoming::{Incoming, PartFile},
    kept::{Kept, part_name, remove_unless_in_use},
    syncer::{Syncer, Task},
};
use fanfare_node::disk::directory::Directory;

/// So much of time may be lost with the power.
const SYNC_INTERVAL: Duration = Duration::from_secs(1);

#[derive(Debug)]
struct Part {
    incoming: Incoming,
    keys: BTreeSet<ObjectKey>,
    /// Once its object's NORM_INFO has come.
    root: Option<[u8; 32]>,
    /// As announced with the root.
    file_name: Vec<u8>,
    is_pack: bool,
    /// Whole as far as one of its objects can tell: it is being verified.
    sealed: bool,
    /// The disk has no room for all of it, and it is not known yet how much of it is zeros.
    short: bool,
}

impl Part {
    fn new(incoming: Incoming, key: ObjectKey) -> Self {
        let (keys, file_name) = (BTreeSet::from([key]), Vec::new());
        Self { incoming, keys, root: None, file_name, is_pack: false, sealed: false, short: false }
    }
}

/// All parts under way, by name.
#[derive(Debug)]
pub(super) struct Parts {
    directory: Arc<Directory>,
    kept: Kept,
    syncer: Syncer,
    parts: BTreeMap<String, Part>,
    of: BTreeMap<ObjectKey, String>,
    keep_partials: bool,
    limits: Option<PartLimits>,
    /// A part stays that was not there when the limits were looked at last.
    has_more: bool,
    next_sync: Time,
}

impl Parts {
    pub(super) fn new(directory: Arc<Directory>, syncer: Syncer) -> Self {
        Self {
            kept: Kept::scan(directory.clone()),
            syncer,
            directory,
            parts: BTreeMap::new(),
            of: BTreeMap::new(),
            keep_partials: false,
            limits: None,
            has_more: false,
            next_sync: Time::ZERO,
        }
    }

    pub(super) fn has(&self, key: ObjectKey) -> bool {
        self.of.contains_key(&key)
    }

    /// Bytes of an object.
    pub(super) fn size(&self, key: ObjectKey) -> Option<u64> {
        Some(self.parts.get(self.of.get(&key)?)?.incoming.size())
    }

    /// Whether a part of that size is kept, or under way.
    pub(super) fn has_size(&self, size: u64) -> bool {
        self.kept.has_size(size)
    }

    pub(super) fn roots(&self) -> Vec<u8> {
        self.kept.roots()
    }

    pub(super) fn manifest(&self, root: &[u8; 32]) -> Option<Arc<Manifest>> {
        self.kept.manifest(root)
    }

    fn part(&mut self, key: ObjectKey) -> Option<&mut Part> {
        self.parts.get_mut(self.of.get(&key)?)
    }

    /// Opens a part when there is room for `size` bytes, so that a full disk shows now and not after an
    /// hour. That is not asked where one that is here already may take its place (`known`: it may well be
    /// here whole), and is asked later where its manifest may tell of zeros ([`Self::is_short`]).
    pub(super) fn open(
        &mut self,
        key: ObjectKey,
        size: u64,
        known: bool,
    ) -> Result<(), StorageError> {
        let may_be_there = known || self.kept.has_size(size);
        let free = self.directory.free();
        let needs = if free < size { self.kept.needs(size) } else { Some(size) };
        let short = !may_be_there && free < needs.unwrap_or(size);
        if short && (needs.is_some() || size <= WITHOUT_MAX) {
            return Err(StorageError::Full);
        }
        let incoming = Incoming::create(&self.directory, key, size)?;
        let name = incoming.name.clone();
        self.of.insert(key, name.clone());
        self.parts.insert(name, Part { short, ..Part::new(incoming, key) });
        Ok(())
    }

    /// True if the disk has no room for all of it: its manifest is to tell how much of it is zeros.
    pub(super) fn is_short(&self, key: ObjectKey) -> bool {
        let part = self.of.get(&key).and_then(|name| self.parts.get(name));
        part.is_some_and(|part| part.short)
    }

    pub(super) fn check_room(&mut self, key: ObjectKey) -> Result<(), StorageError> {
        let root = self.part(key).and_then(|part| part.root);
        self.check_room_of(key, root.as_ref())
    }

    /// Checks that there is room for all of an object of this root, but for what its manifest says is zeros.
    pub(super) fn check_room_of(
        &mut self,
        key: ObjectKey,
        root: Option<&[u8; 32]>,
    ) -> Result<(), StorageError> {
        let zeros = root.map_or(0, |root| self.kept.zeros(root));
        let directory = self.directory.clone();
        let Some(part) = self.part(key) else { return Ok(()) };
        part.incoming.check_room(&directory, zeros)
    }

    /// What is not written is to count as zeros.
    pub(super) fn extend(&mut self, key: ObjectKey) -> Result<(), StorageError> {
        self.part(key).map_or(Ok(()), |part| part.incoming.extend()).map_err(|e| storage_error(&e))
    }

    pub(super) fn write(
        &mut self,
        key: ObjectKey,
        offset: u64,
        bytes: &[u8],
    ) -> Result<(), StorageError> {
        self.write_by(key, |incoming| incoming.write(offset, bytes))
    }

    pub(super) fn write_batch(
        &mut self,
        key: ObjectKey,
        offset: u64,
        row: DataBatch<'_>,
    ) -> Result<(), StorageError> {
        self.write_by(key, |incoming| incoming.write_batch(offset, row))
    }

    fn write_by(
        &mut self,
        key: ObjectKey,
        write: impl FnOnce(&mut Incoming) -> io::Result<()>,
    ) -> Result<(), StorageError> {
        let part = self.of.get(&key).and_then(|name| self.parts.get_mut(name));
        let part = part.ok_or(StorageError::Failed)?;
        if part.sealed {
            // Whole already. Should it be wrong here, its manifest tells.
            return Ok(());
        }
        write(&mut part.incoming).map_err(|error| storage_error(&error))?;
        if part.incoming.wants_sync() && !part.is_pack {
            part.incoming.sync_by(|task| self.syncer.submit(task));
        }
        Ok(())
    }

    pub(super) fn read(
        &mut self,
        key: ObjectKey,
        offset: u64,
        into: &mut [u8],
    ) -> Result<(), StorageError> {
        let part = self.part(key).ok_or(StorageError::Failed)?;
        part.incoming.read(offset, into).map_err(|error| storage_error(&error))
    }

    fn take(&mut self, key: ObjectKey) -> Option<Part> {
        self.of.remove(&key).and_then(|name| self.parts.remove(&name))
    }

    pub(super) fn learn(&mut self, manifest: Arc<Manifest>) {
        let (root, size) = (manifest.root(), manifest.size());
        let save = self.kept.learn(manifest);
        // The syncer may be waiting for the disk, and this process may be killed meanwhile.
        if let Some((name, bytes)) = &save {
            let _ = self.directory.put(name, bytes);
        }
        if let Some((name, bytes)) = save
            && !self.syncer.submit(Task::Save(name.clone(), bytes.clone()))
        {
            // Without it the part is of no use later; now it still is.
            let _ = self.directory.save(&name, &bytes);
        }
        if self.parts.contains_key(&part_name(&root)) {
            self.kept.keep(&root, size);
        }
    }

    pub(super) fn finished(&mut self, key: ObjectKey) -> Option<PartFile> {
        let (root, is_pack) = self.part(key).map(|part| (part.root, part.is_pack))?;
        let lasting = root.is_some_and(|root| is_pack || self.kept.manifest(&root).is_some());
        Some(self.part(key)?.incoming.part_file(lasting, is_pack))
    }

    pub(super) fn reopen(&mut self, key: ObjectKey) {
        if let Some(part) = self.part(key) {
            part.sealed = false;
        }
    }

    /// The core is done with the object, for now when `complete`.
    pub(super) fn close(&mut self, key: ObjectKey, complete: bool) {
        if complete {
            if let Some(part) = self.part(key) {
                part.incoming.close();
                part.sealed = true;
            }
        } else {
            self.settle(key, false);
        }
    }

    pub(super) fn settle(&mut self, key: ObjectKey, placed: bool) -> Vec<ObjectKey> {
        let Some(name) = self.of.remove(&key) else { return Vec::new() };
        let Some(part) = self.parts.get_mut(&name) else { return Vec::new() };
        part.keys.remove(&key);
        if placed {
            // The file has its final name now: nobody writes to it under another.
            part.sealed = true;
        }
        let others: Vec<ObjectKey> = part.keys.iter().copied().collect();
        if !others.is_empty() {
            return if placed { others } else { Vec::new() };
        }
        if let Some(part) = self.parts.remove(&name) {
            self.leave(part, placed);
        }
        Vec::new()
    }

    /// Keeps no more than this of what is not under way, from now on.
    pub(super) fn limit(&mut self, limits: PartLimits) {
        self.limits = Some(limits);
        self.hold_to_limits();
    }

    fn hold_to_limits(&mut self) {
        self.has_more = false;
        let Some(limits) = self.limits else { return };
        let mut parts = budget::list(&self.directory);
        // Its own lock does not keep this receiver out.
        parts.retain(|part| !self.parts.contains_key(&part.name));
        let there = (SystemTime::now(), self.directory.capacity());
        for name in budget::excess(&parts, limits, there) {
            budget::remove(&self.directory, &name);
            self.kept.on_removed(&name);
        }
    }

    /// Nobody receives into this part any more.
    fn leave(&mut self, mut part: Part, placed: bool) {
        self.has_more |= !placed;
        let lost = part.incoming.is_lost();
        let lasting = part.root.filter(|root| !lost && self.kept.has(root));
        if lost {
            // Read back from memory it looks right; nobody may trust it.
            part.root.iter().for_each(|root| self.forget(root));
        }
        match (lasting, placed) {
            (_, true) => part.root.iter().for_each(|root| self.forget(root)),
            // Its files were being placed: it is not here any more.
            (Some(root), false) if self.directory.open_own(&part.incoming.name).is_err() => {
                self.forget(&root);
            }
            (Some(_), false) if part.is_pack => drop(part.incoming.flush()),
            (Some(_), false) => {
                part.incoming.sync_by(|task| self.syncer.submit(task));
            }
            (None, false) if self.keep_partials && !lost => drop(part.incoming.flush()),
            (None, false) => self.directory.remove(&part.incoming.name),
        }
    }

    pub(super) fn distrust(&mut self, key: ObjectKey) {
        let part = self.part(key).and_then(|part| Some((part.root?, part.incoming.name.clone())));
        if let Some((root, name)) = part {
            self.directory.remove(&name);
            self.forget(&root);
        }
    }

    /// A file of this root is in its place. Its manifest is of no more use, unless it is for a part.
    /// `found`: it was there before, and what a crash may have left of a part is not wanted.
    pub(super) fn forget_manifest(&mut self, root: &[u8; 32], found: bool) {
        // A short pack is not received into its part where that has lost its length.
        let (part, of_pack) = (part_name(root), pack_part_name(root));
        for (name, wanted) in [(&part, !found), (&of_pack, false)] {
            if !wanted && !self.parts.contains_key(name) {
                remove_unless_in_use(&self.directory, name);
            }
        }
        if self.directory.open_own(&part).is_err() {
            self.forget(root);
        }
    }

    fn forget(&mut self, root: &[u8; 32]) {
        let manifest = self.kept.forget(root);
        if !self.syncer.submit(Task::Remove(manifest.clone())) {
            self.directory.remove(&manifest);
        }
    }

    pub(super) fn keep_partials(&mut self) {
        self.keep_partials = true;
        self.parts.values_mut().for_each(|part| drop(part.incoming.flush()));
    }

    pub(super) fn sync(&mut self, now: Time) {
        if now < self.next_sync {
            return;
        }
        self.next_sync = now + SYNC_INTERVAL;
        if self.has_more {
            self.hold_to_limits();
        }
        for part in self.parts.values_mut() {
            if part.is_pack {
                // What becomes of it is synced: its files. A kill leaves what was written.
                let _ = part.incoming.flush();
            } else {
                part.incoming.sync_by(|task| self.syncer.submit(task));
            }
        }
    }
}

impl Drop for Parts {
    fn drop(&mut self) {
        for (_, part) in std::mem::take(&mut self.parts) {
            // The verifier has ended before: what it placed has another name now.
            self.leave(part, false);
        }
        if self.limits.is_some() {
            // It has parts open, and so in use, until it is done with them.
            drop(std::mem::replace(&mut self.syncer, Syncer::none()));
            self.hold_to_limits();
        }
    }
}
