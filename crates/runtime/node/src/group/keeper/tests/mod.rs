//! A durable cache on disks that lose power; `full`: that fill up, `damage`: that rot.

mod damage;
mod full;

use std::{
    collections::BTreeMap,
    io,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};

use crate::disk::scratch::Scratch;
use fanfare_proto::{InstanceId, NodeId, ObjectTransportId, rng::Rng};
use fanfare_wire::{
    FecId, GroupSize, Info, ObjectFlags, QuantizedRtt, Sequence, ext::Extensions,
    header::SenderFields,
};
use redb::StorageBackend;

use super::{database::OpenFailure, *};

const SELF: Identity = Identity { node: NodeId(7), instance: InstanceId(3) };

fn key(object: u16) -> ObjectKey {
    ObjectKey { sender: NodeId(7), instance: InstanceId(3), object: ObjectTransportId(object) }
}

fn record(object: u16) -> Record {
    let content = vec![object as u8; 700];
    Record {
        heard: now(),
        own: true,
        size: 700,
        hash: blake3::hash(&content).as_bytes().to_vec(),
        description: vec![9; 40],
        content,
        file: None,
    }
}

fn own(object: u16) -> Change {
    let number = (format!("topic/{}", object % 3), u64::from(object));
    Change::PutOwn(key(object), Box::new(record(object)), number)
}

/// What a disk holds for good, and what was written since its last sync.
#[derive(Debug, Default)]
struct Platter {
    durable: Vec<u8>,
    now: Vec<u8>,
    pending: Vec<(u64, Vec<u8>)>,
    /// Writes and syncs left before the power goes, or before the disk is full.
    left: Option<u64>,
    full: bool,
}

#[derive(Debug, Clone, Default)]
struct Disk(Arc<Mutex<Platter>>);

impl Disk {
    fn with<T>(&self, run: impl FnOnce(&mut Platter) -> io::Result<T>) -> io::Result<T> {
        let mut platter = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        run(&mut platter)
    }

    /// What is found when the power is back: any of what was not synced, in pieces of 512 bytes.
    fn after_power_loss(&self, rng: &mut Rng) -> Self {
        let platter = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut bytes = platter.durable.clone();
        for (offset, data) in &platter.pending {
            for (number, piece) in data.chunks(512).enumerate() {
                if rng.random_bool(0.5) {
                    let at = *offset as usize + number * 512;
                    bytes.resize(bytes.len().max(at + piece.len()), 0);
                    bytes[at..at + piece.len()].copy_from_slice(piece);
                }
            }
        }
        let found = Platter { durable: bytes.clone(), now: bytes, ..Platter::default() };
        Self(Arc::new(Mutex::new(found)))
    }
}

impl Platter {
    fn step(&mut self) -> io::Result<()> {
        match &mut self.left {
            Some(0) if self.full => Err(io::ErrorKind::StorageFull.into()),
            Some(0) => Err(io::Error::other("no power")),
            Some(left) => {
                *left -= 1;
                Ok(())
            }
            None => Ok(()),
        }
    }
}

impl StorageBackend for Disk {
    fn len(&self) -> io::Result<u64> {
        self.with(|platter| Ok(platter.now.len() as u64))
    }
    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.with(|platter| {
            let start = offset as usize;
            let bytes = platter.now.get(start..start + out.len());
            out.copy_from_slice(bytes.ok_or(io::ErrorKind::UnexpectedEof)?);
            Ok(())
        })
    }
    fn set_len(&self, len: u64) -> io::Result<()> {
        self.with(|platter| {
            platter.step()?;
            platter.now.resize(len as usize, 0);
            // Lengths are the file system's, which has a journal.
            platter.durable.resize(len as usize, 0);
            Ok(())
        })
    }
    fn sync_data(&self) -> io::Result<()> {
        self.with(|platter| {
            platter.step()?;
            platter.durable = platter.now.clone();
            platter.pending.clear();
            Ok(())
        })
    }
    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.with(|platter| {
            platter.step()?;
            let start = offset as usize;
            platter.now[start..start + data.len()].copy_from_slice(data);
            platter.pending.push((offset, data.to_vec()));
            Ok(())
        })
    }
}

fn tables(disk: &Disk) -> Result<Tables, Fault> {
    Tables::over(|| redb::Builder::new().create_with_backend(disk.clone()))
}

/// Writes one message after the other until the disk fails; gives those that it took.
fn publish_until_it_fails(disk: &Disk, from: u16) -> u16 {
    let Ok(tables) = tables(disk) else { return from };
    let mut taken = from;
    while taken < from + 12
        && tables.apply(&[own(taken), Change::Remove(key(taken / 2), None)]).is_ok()
    {
        taken += 1;
    }
    taken
}

fn expect_kept(kept: &Kept, taken: u16) {
    let objects: Vec<u16> = kept.records.iter().map(|(key, _)| key.object.0).collect();
    // The one under way when it failed may be there, too.
    let first = |count: u16| if count == 0 { 0 } else { (count - 1) / 2 + 1 };
    let all = |count: u16| (first(count)..count).collect::<Vec<u16>>();
    assert!(objects == all(taken) || objects == all(taken + 1), "{objects:?} of {taken}");
    assert!(kept.next == taken || kept.next == taken + 1);
    for (key, kept) in &kept.records {
        assert_eq!(kept.content, record(key.object.0).content);
    }
    assert_eq!(kept.damaged, 0);
}

#[test]
fn a_loss_of_power_at_any_write_costs_nothing_that_was_acknowledged() {
    let mut rng = Rng::new(1);
    let (mut left, mut taken) = (0, 0);
    // Until the power lasts for all twelve.
    while taken < 12 {
        let disk = Disk::default();
        let prepared = tables(&disk).and_then(|tables| tables.identity(SELF)).is_ok();
        assert!(prepared);
        disk.0.lock().unwrap().left = Some(left);
        taken = publish_until_it_fails(&disk, 0);
        for _ in 0..4 {
            let found = disk.after_power_loss(&mut rng);
            let tables = tables(&found).unwrap();
            assert_eq!(tables.identity(Identity { node: NodeId(1), ..SELF }), Ok(SELF));
            expect_kept(&tables.load().unwrap(), taken);
        }
        left += 1;
    }
    assert!(left > 50, "there was something to interrupt: {left}");
}

/// Another's message, under the key that it names itself.
fn others(object: u16) -> (ObjectKey, Record) {
    let key = ObjectKey { sender: NodeId(8), ..key(object) };
    let sender = SenderFields {
        sequence: Sequence(0),
        source_id: key.sender,
        instance_id: key.instance,
        grtt: QuantizedRtt(0),
        backoff: 4,
        gsize: GroupSize::from_receivers(10),
    };
    let info = Info {
        sender,
        flags: ObjectFlags(ObjectFlags::INFO),
        fec_id: FecId::ReedSolomon8,
        object_transport_id: key.object,
        extensions: Extensions::default(),
        payload: b"about",
    };
    let mut description = Vec::new();
    info.encode(None, &mut description);
    (key, Record { own: false, description, ..record(object) })
}

/// A cache with ten messages of its own and ten of others, open.
fn filled(path: &Path) -> Opened {
    let mut opened = Keeper::open(path, SELF, Waker::new().unwrap()).unwrap();
    for object in 0..10 {
        let number = ("topic".to_owned(), u64::from(object) + 1);
        let (key_of_others, of_others) = others(object);
        opened.keeper.put(key_of_others, of_others);
        opened.keeper.put_own(key(object), record(object), number).unwrap();
    }
    opened
}

/// The same, closed.
fn prepare(scratch: &Scratch) -> PathBuf {
    let path = scratch.path().join("cache");
    drop(filled(&path));
    path
}

#[test]
fn what_versions_before_go_on_with_is_there_when_a_cache_is_opened_again() {
    let scratch = Scratch::new();
    let path = prepare(&scratch);
    let other = Identity { node: NodeId(99), instance: InstanceId(99) };
    let opened = Keeper::open(&path, other, Waker::new().unwrap()).unwrap();
    assert_eq!((opened.identity, opened.kept.next), (SELF, 10));
    assert_eq!(opened.kept.numbers, BTreeMap::from([("topic".to_owned(), 10)]));
    assert_eq!(opened.kept.records.len(), 20);
    let second = Keeper::open(&path, other, Waker::new().unwrap());
    assert!(matches!(second, Err(CacheError::InUse(_))));
}

#[test]
fn the_ids_of_the_last_lives_are_found_the_newest_first() {
    let scratch = Scratch::new();
    let path = scratch.path().join("cache");
    let ids = |lives: &[NodeId]| lives.iter().map(|life| life.0).collect::<Vec<_>>();
    for (node, earlier) in
        [(1, vec![]), (2, vec![1]), (2, vec![2, 1]), (3, vec![2, 1]), (4, vec![3, 2, 1])]
    {
        let life = Identity { node: NodeId(node), instance: InstanceId(9) };
        let opened = Keeper::open(&path, life, Waker::new().unwrap()).unwrap();
        assert_eq!(ids(&opened.kept.lives), earlier);
    }
    for node in [5, 6] {
        let life = Identity { node: NodeId(node), instance: InstanceId(9) };
        let opened = Keeper::open(&path, life, Waker::new().unwrap()).unwrap();
        assert_eq!(ids(&opened.kept.lives)[..2], [node - 1, node - 2]);
        assert_eq!(opened.kept.lives.len(), 4);
    }
}

#[test]
fn the_id_that_versions_before_had_in_all_their_lives_is_an_earlier_one() {
    let disk = Disk::default();
    tables(&disk).unwrap().identity(SELF).unwrap();
    assert_eq!(tables(&disk).unwrap().load().unwrap().lives, []);
    let scratch = Scratch::new();
    let path = prepare(&scratch);
    let next = Identity { node: NodeId(99), instance: InstanceId(99) };
    let opened = Keeper::open(&path, next, Waker::new().unwrap()).unwrap();
    assert_eq!(opened.kept.lives, [SELF.node]);
}
