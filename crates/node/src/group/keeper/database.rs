//! The tables of a durable cache: records of messages, this node's numbers, and who it is.

use std::{
    cell::Cell,
    collections::BTreeMap,
    panic::{self, AssertUnwindSafe},
    path::Path,
    sync::Once,
};

use fanfare_proto::{InstanceId, NodeId, ObjectKey};
use redb::{
    Database, ReadTransaction, ReadableDatabase, ReadableTable, TableDefinition, WriteTransaction,
};

use super::record::{self, Record};

const RECORDS: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("records");
/// What this node's next message on a topic is numbered.
const NUMBERS: TableDefinition<'_, &str, u64> = TableDefinition::new("numbers");
/// Under the names below.
const SELF: TableDefinition<'_, &str, u64> = TableDefinition::new("self");
const NODE: &str = "node";
const INSTANCE: &str = "instance";
/// The next object's id.
const NEXT: &str = "next";

/// Who this node is, whatever process it runs in.
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
    Remove(ObjectKey),
}

/// What an earlier life has left.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    /// In the order of their keys.
    pub(crate) records: Vec<(ObjectKey, Record)>,
    pub(crate) numbers: BTreeMap<String, u64>,
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

/// Why it failed, in the database's words.
pub(crate) type Why = String;

/// Of a database that was not built for such pages, and panics.
const CONTRADICTION: &str = "its pages contradict each other";

/// What comes from the network is in its pages: whatever it makes of damaged ones, the process goes
/// on.
fn guarded<T>(run: impl FnOnce() -> Result<T, redb::Error>) -> Result<T, Why> {
    match caught(run) {
        Some(result) => result.map_err(|error| error.to_string()),
        None => Err(CONTRADICTION.into()),
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
    /// It may not be touched.
    Denied(std::io::Error),
    /// It is none any more; what of it is certainly right, since each record has a check.
    Broken(Why, Vec<(ObjectKey, Record)>),
}

impl Tables {
    /// The database in `file`, which is made when it is not there.
    pub(crate) fn open(file: &Path, pages: usize) -> Result<Self, OpenFailure> {
        let mut builder = redb::Builder::new();
        builder.set_cache_size(pages);
        match caught(|| builder.create(file)) {
            Some(Ok(database)) => Self { database: Some(database) }.examined(),
            Some(Err(redb::DatabaseError::DatabaseAlreadyOpen)) => Err(OpenFailure::InUse),
            Some(Err(redb::DatabaseError::Storage(redb::StorageError::Io(error))))
                if error.kind() == std::io::ErrorKind::PermissionDenied =>
            {
                Err(OpenFailure::Denied(error))
            }
            Some(Err(error)) => Err(OpenFailure::Broken(error.to_string(), Vec::new())),
            None => Err(OpenFailure::Broken(CONTRADICTION.into(), Vec::new())),
        }
    }

    /// If all its pages are what they should be: a database that was closed is not looked at when
    /// it is opened.
    fn examined(mut self) -> Result<Self, OpenFailure> {
        let database = self.database.as_mut();
        let whole = guarded(|| Ok(database.is_some_and(|d| d.check_integrity().is_ok_and(|w| w))));
        let why = match whole {
            Ok(true) => return Ok(self),
            Ok(false) => String::from("its checksums are wrong"),
            Err(why) => why,
        };
        Err(OpenFailure::Broken(why, self.salvage()))
    }

    #[cfg(test)]
    pub(crate) fn over(
        open: impl FnOnce() -> Result<Database, redb::DatabaseError>,
    ) -> Result<Self, Why> {
        let database = guarded(|| Ok(open()?))?;
        Ok(Self { database: Some(database) })
    }

    /// A transaction that is whole on disk, or not there at all: two phases, since values come from
    /// the network, and a checksum alone could be forged (redb's design document).
    fn write(
        &self,
        run: impl FnOnce(&WriteTransaction) -> Result<(), redb::Error>,
    ) -> Result<(), Why> {
        guarded(|| {
            let Some(database) = &self.database else { return Ok(()) };
            let mut transaction = database.begin_write()?;
            transaction.set_two_phase_commit(true);
            run(&transaction)?;
            Ok(transaction.commit()?)
        })
    }

    /// Who this node is: as it was, or as `new` says when there was none.
    pub(crate) fn identity(&self, new: Identity) -> Result<Identity, Why> {
        let mut identity = new;
        self.write(|transaction| {
            // A reader finds only tables that are there.
            transaction.open_table(RECORDS)?;
            transaction.open_table(NUMBERS)?;
            let mut own = transaction.open_table(SELF)?;
            let get = |name| Ok::<_, redb::Error>(own.get(name)?.map(|value| value.value()));
            if let (Some(node), Some(instance)) = (get(NODE)?, get(INSTANCE)?) {
                identity =
                    Identity { node: NodeId(node as u32), instance: InstanceId(instance as u16) };
            }
            own.insert(NODE, u64::from(identity.node.0))?;
            own.insert(INSTANCE, u64::from(identity.instance.0))?;
            Ok(())
        })?;
        Ok(identity)
    }

    /// Everything that is there; damaged records are left out.
    pub(crate) fn load(&self) -> Result<Kept, Why> {
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
            Ok(())
        })?;
        Ok(kept)
    }

    /// Records that are right, as far as they can be reached.
    fn salvage(&self) -> Vec<(ObjectKey, Record)> {
        let mut records = Vec::new();
        // Where it breaks off, what was found before stays.
        let _ = self.read(|transaction| {
            for row in transaction.open_table(RECORDS)?.iter()? {
                let (number, bytes) = row?;
                let record = Record::decode(bytes.value());
                records.extend(record.map(|record| (record::key(number.value()), record)));
            }
            Ok(())
        });
        records
    }

    fn read(
        &self,
        run: impl FnOnce(&ReadTransaction) -> Result<(), redb::Error>,
    ) -> Result<(), Why> {
        guarded(|| {
            let Some(database) = &self.database else { return Ok(()) };
            run(&database.begin_read()?)
        })
    }

    /// Makes all changes, for good.
    pub(crate) fn apply(&self, changes: &[Change]) -> Result<(), Why> {
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
                        own.insert(NEXT, u64::from(key.object.0.wrapping_add(1)))?;
                    }
                    Change::Remove(key) => {
                        records.remove(record::number(*key))?;
                    }
                }
            }
            Ok(())
        })
    }
}
