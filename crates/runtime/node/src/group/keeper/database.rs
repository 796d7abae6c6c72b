//! The tables of a durable cache: records of messages, this node's numbers, and who it is.

use fanfare_udp::os::file::{OpenOptionsExt, set_mode};
use std::{
    cell::Cell,
    collections::BTreeMap,
    fs::{File, OpenOptions},
    io,
    panic::{self, AssertUnwindSafe},
    path::Path,
    sync::Once,
};

use fanfare_proto::{InstanceId, NodeId, ObjectKey};
use fanfare_wire::ext::ExtFormer;
use redb::{
    Database, ReadTransaction, ReadableDatabase, ReadableTable, ReadableTableMetadata,
    TableDefinition, WriteTransaction, backends::FileBackend,
};

use super::{
    fault::{Fault, is_full},
    record::{self, Record},
    salvage::{self, Salvage},
};

const RECORDS: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("records");
/// What this node's next message on a topic is numbered.
const NUMBERS: TableDefinition<'_, &str, u64> = TableDefinition::new("numbers");
/// Under the names below.
const SELF: TableDefinition<'_, &str, u64> = TableDefinition::new("self");
const NODE: &str = "node";
const INSTANCE: &str = "instance";
/// The next object's id.
const NEXT: &str = "next";
/// Ids of lives, the newest first: this name, and a digit.
const LIFE: &str = "life";
/// Number of lives that are told to others.
pub(crate) const LIVES_MAX: usize = ExtFormer::MAX;
/// Nobody else reads what others have said to each other.
const FILE_MODE: u32 = 0o600;

/// A node in one of its lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Identity {
    pub(crate) node: NodeId,
    pub(crate) instance: InstanceId,
}

/// What is to be changed, all of it or nothing.
#[derive(Debug)]
pub(crate) enum Change {
    Put(ObjectKey, Box<Record>),
    /// A message of this node's own: with it, its topic, and that topic's next number.
    PutOwn(ObjectKey, Box<Record>, (String, u64)),
    /// And then its file.
    Remove(ObjectKey, Option<String>),
}

impl Change {
    pub(crate) fn key(&self) -> ObjectKey {
        match self {
            Self::Put(key, _) | Self::PutOwn(key, ..) | Self::Remove(key, _) => *key,
        }
    }

    /// What is to be kept by it.
    pub(crate) fn record(&self) -> Option<&Record> {
        match self {
            Self::Put(_, record) | Self::PutOwn(_, record, _) => Some(record),
            Self::Remove(..) => None,
        }
    }

    pub(crate) fn is_own(&self) -> bool {
        matches!(self, Self::PutOwn(..))
    }
}

/// What an earlier life has left.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    /// In the order of their keys.
    pub(crate) records: Vec<(ObjectKey, Record)>,
    pub(crate) numbers: BTreeMap<String, u64>,
    /// Ids that this node had, the newest first.
    pub(crate) lives: Vec<NodeId>,
    /// Version 0.1.0 goes on with it.
    pub(crate) next: u16,
    /// Records that were not what had been written.
    pub(crate) damaged: u64,
}

/// An open database.
#[derive(Debug)]
pub(crate) struct Tables {
    /// Until it is dropped.
    database: Option<Database>,
}

/// Of a database that was not built for such pages, and panics.
const CONTRADICTION: &str = "its pages contradict each other";

/// What comes from the network is in its pages: whatever it makes of damaged ones, the process goes
/// on.
fn guarded<T>(run: impl FnOnce() -> Result<T, redb::Error>) -> Result<T, Fault> {
    match caught(run) {
        Some(result) => result.map_err(Fault::from),
        None => Err(Fault::Other(CONTRADICTION.into())),
    }
}

thread_local! {
    /// A panic in this thread would be caught, and is told in other words.
    static CATCHING: Cell<bool> = const { Cell::new(false) };
}

/// What `run` gives; `None` when it panics, which nobody is shown.
fn caught<T>(run: impl FnOnce() -> T) -> Option<T> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let others = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !CATCHING.get() {
                others(info);
            }
        }));
    });
    CATCHING.set(true);
    let result = panic::catch_unwind(AssertUnwindSafe(run));
    CATCHING.set(false);
    result.ok()
}

impl Drop for Tables {
    fn drop(&mut self) {
        // Closing writes, too.
        let database = self.database.take();
        caught(|| drop(database));
    }
}

/// Why a database is not there to be read.
#[derive(Debug)]
pub(crate) enum OpenFailure {
    /// Another process has it.
    InUse,
    /// It may not be touched, or has no room for what opening writes.
    Unusable(io::Error),
    /// It is none any more; what of it is certainly right, since each record has a check.
    Broken(Fault, Salvage),
}

fn life(number: usize) -> String {
    format!("{LIFE}{number}")
}

fn contradiction() -> redb::DatabaseError {
    redb::StorageError::Corrupted(CONTRADICTION.into()).into()
}

/// Whether it may not be touched, or is broken.
fn why_not(error: redb::DatabaseError) -> OpenFailure {
    use io::ErrorKind::{PermissionDenied, ReadOnlyFilesystem};
    match error {
        redb::DatabaseError::DatabaseAlreadyOpen => OpenFailure::InUse,
        redb::DatabaseError::Storage(redb::StorageError::Io(error))
            if is_full(&error) || matches!(error.kind(), PermissionDenied | ReadOnlyFilesystem) =>
        {
            OpenFailure::Unusable(error)
        }
        error => OpenFailure::Broken(Fault::Other(error.to_string()), Salvage::default()),
    }
}

impl From<io::Error> for OpenFailure {
    fn from(error: io::Error) -> Self {
        Self::Unusable(error)
    }
}

impl Tables {
    /// The database in `file`, which is made when it is not there, or empty.
    pub(crate) fn open(file: &Path, pages: usize) -> Result<Self, OpenFailure> {
        match Self::reopen(file, pages) {
            Ok(tables) => tables.examined(file),
            Err(OpenFailure::Broken(why, _)) => {
                Err(OpenFailure::Broken(why, salvage::carve(file)?))
            }
            Err(other) => Err(other),
        }
    }

    /// The same of one that was examined in this process: after an error of the disk the database
    /// takes nothing more until it is opened anew. Opening writes its header and waits until that
    /// is on disk, so that nothing is built on a write that failed.
    pub(crate) fn reopen(file: &Path, pages: usize) -> Result<Self, OpenFailure> {
        let mut builder = redb::Builder::new();
        builder.set_cache_size(pages);
        let file = private(file)?;
        let opened = caught(|| {
            let backend = FileBackend::new(file)?;
            builder.create_with_backend(backend)
        });
        let database = opened.unwrap_or_else(|| Err(contradiction()));
        Ok(Self { database: Some(database.map_err(why_not)?) })
    }

    /// If all its pages are what they should be: a database that was closed is not looked at when
    /// it is opened.
    fn examined(mut self, file: &Path) -> Result<Self, OpenFailure> {
        let Some(database) = &mut self.database else { return Ok(self) };
        let checked = caught(|| database.check_integrity());
        let why = match checked.unwrap_or_else(|| Err(contradiction())).map_err(why_not) {
            Ok(true) => return Ok(self),
            Ok(false) => Fault::Other("its checksums are wrong".into()),
            Err(OpenFailure::Broken(why, _)) => why,
            Err(refused) => return Err(refused),
        };
        // Before it is closed: closing writes.
        let salvage = self.salvage().map_or_else(|| salvage::carve(file), Ok)?;
        Err(OpenFailure::Broken(why, salvage))
    }

    #[cfg(test)]
    pub(crate) fn over(
        open: impl FnOnce() -> Result<Database, redb::DatabaseError>,
    ) -> Result<Self, Fault> {
        let database = guarded(|| Ok(open()?))?;
        Ok(Self { database: Some(database) })
    }

    /// A transaction that is whole on disk, or not there at all: two phases, since values come from
    /// the network, and a checksum alone could be forged (redb's design document). With quick repair a
    /// database that was not closed is opened without a look at its pages, so that one damaged page
    /// does not hide all others.
    fn write(
        &self,
        run: impl FnOnce(&WriteTransaction) -> Result<(), redb::Error>,
    ) -> Result<(), Fault> {
        guarded(|| {
            let Some(database) = &self.database else { return Ok(()) };
            let mut transaction = database.begin_write()?;
            transaction.set_two_phase_commit(true);
            transaction.set_quick_repair(true);
            run(&transaction)?;
            Ok(transaction.commit()?)
        })
    }

    /// Identity that wrote last, or `new` where nobody has. No node takes it again: it is there for versions before.
    /// Writes only where nobody has: on a full disk what is there can still be read.
    pub(crate) fn identity(&self, new: Identity) -> Result<Identity, Fault> {
        let mut known = None;
        self.read(|transaction| {
            let own = match transaction.open_table(SELF) {
                Err(redb::TableError::TableDoesNotExist(_)) => return Ok(()),
                own => own?,
            };
            let get = |name| Ok::<_, redb::Error>(own.get(name)?.map(|value| value.value()));
            if let (Some(node), Some(instance)) = (get(NODE)?, get(INSTANCE)?) {
                let (node, instance) = (NodeId(node as u32), InstanceId(instance as u16));
                known = Some(Identity { node, instance });
            }
            Ok(())
        })?;
        if let Some(identity) = known {
            return Ok(identity);
        }
        self.write(|transaction| {
            // A reader finds only tables that are there.
            transaction.open_table(RECORDS)?;
            transaction.open_table(NUMBERS)?;
            let mut own = transaction.open_table(SELF)?;
            own.insert(NODE, u64::from(new.node.0))?;
            own.insert(INSTANCE, u64::from(new.instance.0))?;
            Ok(())
        })?;
        Ok(new)
    }

    /// Everything that is there; damaged records are left out.
    pub(crate) fn load(&self) -> Result<Kept, Fault> {
        let mut kept = Kept::default();
        self.read(|transaction| {
            for row in transaction.open_table(RECORDS)?.iter()? {
                let (number, bytes) = row?;
                match Record::decode(bytes.value()) {
                    Some(record) => kept.records.push((record::key(number.value()), record)),
                    None => kept.damaged += 1,
                }
            }
            for row in transaction.open_table(NUMBERS)?.iter()? {
                let (topic, next) = row?;
                kept.numbers.insert(topic.value().to_owned(), next.value());
            }
            let own = transaction.open_table(SELF)?;
            kept.next = own.get(NEXT)?.map_or(0, |next| next.value() as u16);
            for number in 0..LIVES_MAX {
                let life = own.get(&life(number)[..])?;
                kept.lives.extend(life.map(|life| NodeId(life.value() as u32)));
            }
            Ok(())
        })?;
        Ok(kept)
    }

    /// A life begins: those after it have its id before those of `earlier` ones.
    pub(crate) fn begin_life(&self, node: NodeId, earlier: &[NodeId]) -> Result<(), Fault> {
        let earlier = earlier.iter().filter(|life| **life != node);
        let lives = core::iter::once(&node).chain(earlier).take(LIVES_MAX);
        self.write(|transaction| {
            let mut own = transaction.open_table(SELF)?;
            for (number, node) in lives.enumerate() {
                own.insert(&life(number)[..], u64::from(node.0))?;
            }
            Ok(())
        })
    }

    /// Records that are right, when all of them can be reached.
    fn salvage(&self) -> Option<Salvage> {
        let mut salvage = Salvage::default();
        let read = self.read(|transaction| {
            let records = transaction.open_table(RECORDS)?;
            let mut left = records.len()?;
            for row in records.iter()? {
                let (number, bytes) = row?;
                salvage.take(number.value(), bytes.value());
                left = left.saturating_sub(1);
            }
            salvage.lost += left;
            Ok(())
        });
        read.is_ok().then_some(salvage)
    }

    fn read(
        &self,
        run: impl FnOnce(&ReadTransaction) -> Result<(), redb::Error>,
    ) -> Result<(), Fault> {
        guarded(|| {
            let Some(database) = &self.database else { return Ok(()) };
            run(&database.begin_read()?)
        })
    }

    /// Makes all changes, for good.
    pub(crate) fn apply(&self, changes: &[Change]) -> Result<(), Fault> {
        self.write(|transaction| {
            let mut records = transaction.open_table(RECORDS)?;
            let mut numbers = transaction.open_table(NUMBERS)?;
            let mut own = transaction.open_table(SELF)?;
            for change in changes {
                match change {
                    Change::Put(key, record) => {
                        records.insert(record::number(*key), &record.encode()[..])?;
                    }
                    Change::PutOwn(key, record, (topic, next)) => {
                        records.insert(record::number(*key), &record.encode()[..])?;
                        numbers.insert(&topic[..], next)?;
                        // Versions before continue that life, and must not begin an older one again.
                        own.insert(NODE, u64::from(key.sender.0))?;
                        own.insert(INSTANCE, u64::from(key.instance.0))?;
                        own.insert(NEXT, u64::from(key.object.0.wrapping_add(1)))?;
                    }
                    Change::Remove(key, _) => {
                        records.remove(record::number(*key))?;
                    }
                }
            }
            Ok(())
        })
    }
}

/// Opens the file of a database, for its user alone.
fn private(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(FILE_MODE);
    let file = options.open(path)?;
    // Earlier versions made it readable. Who is not its owner leaves it as it is.
    let _ = set_mode(&file, FILE_MODE);
    Ok(file)
}
