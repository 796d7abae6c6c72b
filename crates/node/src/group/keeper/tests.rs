//! A durable cache on disks that lose power, fill up, and rot.

use std::{
    collections::BTreeMap,
    io,
    sync::{Arc, Mutex, PoisonError},
};

use fanfare_proto::{InstanceId, NodeId, ObjectTransportId, rng::Rng};
use redb::StorageBackend;

use super::*;
use crate::scratch::Scratch;

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
        hash: blake3::hash(&content).into(),
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
                if rng.chance(0.5) {
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

fn tables(disk: &Disk) -> Result<Tables, Why> {
    Tables::over(|| redb::Builder::new().create_with_backend(disk.clone()))
}

/// Writes one message after the other until the disk fails; gives those that it took.
fn publish_until_it_fails(disk: &Disk, from: u16) -> u16 {
    let Ok(tables) = tables(disk) else { return from };
    let mut taken = from;
    while taken < from + 12 && tables.apply(&[own(taken), Change::Remove(key(taken / 2))]).is_ok() {
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

#[test]
fn a_full_disk_refuses_what_comes_and_keeps_what_is_there() {
    let disk = Disk::default();
    let tables = tables(&disk).unwrap();
    tables.identity(SELF).unwrap();
    tables.apply(&[own(0)]).unwrap();
    {
        let mut platter = disk.0.lock().unwrap();
        (platter.left, platter.full) = (Some(0), true);
    }
    assert!(tables.apply(&[own(1)]).is_err());
    drop(tables);
    disk.0.lock().unwrap().left = None;
    let again = self::tables(&disk).unwrap();
    assert_eq!(again.load().unwrap().next, 1);
    again.apply(&[own(1)]).unwrap();
    assert_eq!(again.load().unwrap().records.len(), 2);
}

/// A cache with ten messages, closed.
fn prepare(scratch: &Scratch) -> PathBuf {
    let path = scratch.path().join("cache");
    let mut opened = Keeper::open(&path, SELF, Waker::new().unwrap()).unwrap();
    for object in 0..10 {
        let number = ("topic".to_owned(), u64::from(object) + 1);
        opened.keeper.put_own(key(object), record(object), number).unwrap();
        let others = ObjectKey { sender: NodeId(8), ..key(object) };
        opened.keeper.put(others, Record { own: false, ..record(object) });
    }
    path
}

#[test]
fn a_node_is_the_same_when_it_comes_back_and_goes_on_with_its_numbers() {
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
fn a_damaged_cache_is_put_aside_or_read_as_far_as_it_is_right_and_never_wrong() {
    let scratch = Scratch::new();
    let path = prepare(&scratch);
    let (file, good) = (path.join(DATABASE), std::fs::read(path.join(DATABASE)).unwrap());
    let mut rng = Rng::new(2);
    let (mut aside, mut saved) = (0, 0);
    for round in 0..60 {
        let mut bytes = good.clone();
        if round % 3 == 0 {
            bytes.truncate(rng.below(good.len() as u64) as usize);
        } else {
            for _ in 0..1 + round {
                let at = rng.below(bytes.len() as u64) as usize;
                bytes[at] ^= 1 << rng.below(8);
            }
        }
        std::fs::write(&file, bytes).unwrap();
        let mut opened = Keeper::open(&path, SELF, Waker::new().unwrap()).unwrap();
        for (key, kept) in &opened.kept.records {
            assert_eq!(kept.content, record(key.object.0).content, "round {round}");
        }
        if opened.quarantined.is_some() {
            aside += 1;
            saved += usize::from(!opened.kept.records.is_empty());
            assert_eq!(opened.kept.next, 0);
        }
        opened.keeper.put(key(50), record(50));
        drop(opened);
    }
    assert!(aside > 10 && saved > 5, "{aside}, {saved}");
}

#[test]
fn a_file_that_no_record_names_goes_and_a_record_without_its_file_counts_as_damaged() {
    let scratch = Scratch::new();
    let path = scratch.path().join("cache");
    let mut opened = Keeper::open(&path, SELF, Waker::new().unwrap()).unwrap();
    let mut names = Vec::new();
    for object in 0..3 {
        let (file, name) = opened.files.create().unwrap();
        file.set_len(700).unwrap();
        let long = Record { content: Vec::new(), file: Some(name.clone()), ..record(object) };
        // The last one is under way.
        if object < 2 {
            opened.keeper.put(key(object), long);
        }
        names.push(name);
    }
    drop(opened);
    std::fs::remove_file(path.join("content").join(&names[1])).unwrap();
    let opened = Keeper::open(&path, SELF, Waker::new().unwrap()).unwrap();
    assert_eq!((opened.kept.records.len(), opened.kept.damaged), (1, 1));
    let left = std::fs::read_dir(path.join("content")).unwrap();
    let left: Vec<String> = left.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    assert_eq!(left, names[..1]);
}
