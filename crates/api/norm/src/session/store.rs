//! Where bytes of objects are: in memory, in files, in the rings of streams.

use std::{
    collections::HashMap,
    fs::{File, OpenOptions},
    os::unix::fs::{FileExt as _, OpenOptionsExt as _},
    path::PathBuf,
};

use fanfare_proto::{ObjectKey, ObjectKind, SlotRing, Storage, StorageError};

use crate::edge::heap::{HeapBuffer, Hooks};

/// Mode of the files that NRL's library makes (1.5.9).
const FILE_MODE: u32 = 0o640;
/// Digits behind NRL's prefix (mkstemp). Its names are what programs look for when they clean up.
const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// Name of a received file until the program gives it another: `normTemp` and six digits. It is another
/// one for each number of a process, up to a billion.
fn temporary_name(process: u32, number: u64) -> String {
    // Processes that follow each other begin far from each other.
    let mut rest = u64::from(process).wrapping_mul(0x9e37_79b9).wrapping_add(number);
    let mut name = String::from("normTemp");
    for _ in 0..6 {
        name.push(char::from(DIGITS[(rest % 62) as usize]));
        rest /= 62;
    }
    name
}

/// The bytes of an object.
#[derive(Debug)]
pub(crate) enum Body {
    Ring(SlotRing),
    /// Copied when they were enqueued.
    Sent(Vec<u8>),
    SentFile(File),
    Received(HeapBuffer),
    ReceivedFile(File, PathBuf),
}

/// All bytes of a session.
#[derive(Debug, Default)]
pub(crate) struct Store {
    bodies: HashMap<ObjectKey, Body>,
    /// What the engine has done with, until the program is told.
    ended: HashMap<ObjectKey, Body>,
    /// Where received files go; none are received without it.
    pub(crate) cache: Option<PathBuf>,
    pub(crate) hooks: Hooks,
    /// Distinguishes names of files of one process.
    files: u64,
}

impl Store {
    pub(crate) fn put(&mut self, key: ObjectKey, body: Body) {
        self.bodies.insert(key, body);
    }

    pub(crate) fn new(cache: Option<PathBuf>, hooks: Hooks) -> Self {
        Self { cache, hooks, ..Self::default() }
    }

    pub(crate) fn remove(&mut self, key: ObjectKey) -> Option<Body> {
        self.bodies.remove(&key).or_else(|| self.ended.remove(&key))
    }

    /// What the engine has done with.
    pub(crate) fn take_ended(&mut self, key: ObjectKey) -> Option<Body> {
        self.ended.remove(&key)
    }

    /// What nobody was told of goes.
    pub(crate) fn drop_ended(&mut self) {
        self.ended.clear();
    }

    /// Bytes under way.
    pub(crate) fn get(&self, key: ObjectKey) -> Option<&Body> {
        self.bodies.get(&key)
    }

    /// Where a received file is, under way or whole: a small one is whole before the program is told
    /// that it begins.
    pub(crate) fn path(&self, key: ObjectKey) -> Option<&PathBuf> {
        match self.bodies.get(&key).or_else(|| self.ended.get(&key))? {
            Body::ReceivedFile(_, path) => Some(path),
            _ => None,
        }
    }

    /// Everything is forgotten.
    pub(crate) fn clear(&mut self) {
        self.bodies.clear();
        self.ended.clear();
    }

    fn create_file(&mut self) -> Result<(File, PathBuf), StorageError> {
        let cache = self.cache.as_ref().ok_or(StorageError::Refused)?;
        // Another process may have left files of the same names.
        for _ in 0..1000 {
            self.files += 1;
            let name = temporary_name(std::process::id(), self.files);
            let path = cache.join(name);
            let mut options = OpenOptions::new();
            match options.read(true).write(true).create_new(true).mode(FILE_MODE).open(&path) {
                Ok(file) => return Ok((file, path)),
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(_) => return Err(StorageError::Failed),
            }
        }
        Err(StorageError::Failed)
    }
}

impl Body {
    /// Where received bytes are in memory.
    pub(crate) fn address(&self) -> Option<usize> {
        match self {
            Self::Received(buffer) => Some(buffer.address()),
            _ => None,
        }
    }
}

impl Storage for Store {
    fn open(&mut self, key: ObjectKey, kind: ObjectKind, size: u64) -> Result<(), StorageError> {
        let body = match kind {
            ObjectKind::Data => {
                let bytes = usize::try_from(size).map_err(|_| StorageError::Full)?;
                // Programs ask for the length with 32 bits in places.
                let fits = u32::try_from(size).is_ok();
                let buffer = fits.then(|| HeapBuffer::new(bytes, self.hooks)).flatten();
                Body::Received(buffer.ok_or(StorageError::Full)?)
            }
            ObjectKind::File => {
                let (file, path) = self.create_file()?;
                Body::ReceivedFile(file, path)
            }
            ObjectKind::Stream => return Err(StorageError::Refused),
        };
        self.bodies.insert(key, body);
        Ok(())
    }

    fn open_ring(&mut self, key: ObjectKey, slot: usize, slots: u64) -> Result<(), StorageError> {
        self.bodies.insert(key, Body::Ring(SlotRing::new(slot, slots)?));
        Ok(())
    }

    fn write(&mut self, key: ObjectKey, offset: u64, bytes: &[u8]) -> Result<(), StorageError> {
        match self.bodies.get_mut(&key).ok_or(StorageError::Failed)? {
            Body::Ring(ring) => ring.write(offset, bytes),
            Body::Received(buffer) => {
                let start = usize::try_from(offset).map_err(|_| StorageError::Failed)?;
                let end = start.checked_add(bytes.len()).ok_or(StorageError::Failed)?;
                let place = buffer.as_mut_slice().get_mut(start..end);
                place.ok_or(StorageError::Failed)?.copy_from_slice(bytes);
                Ok(())
            }
            Body::ReceivedFile(file, _) => {
                file.write_all_at(bytes, offset).map_err(|_| StorageError::Failed)
            }
            Body::Sent(_) | Body::SentFile(_) => Err(StorageError::Failed),
        }
    }

    fn read(&mut self, key: ObjectKey, offset: u64, into: &mut [u8]) -> Result<(), StorageError> {
        let slice = |bytes: &[u8], into: &mut [u8]| {
            let start = usize::try_from(offset).map_err(|_| StorageError::Failed)?;
            let end = start.checked_add(into.len()).ok_or(StorageError::Failed)?;
            into.copy_from_slice(bytes.get(start..end).ok_or(StorageError::Failed)?);
            Ok(())
        };
        match self.bodies.get(&key).ok_or(StorageError::Failed)? {
            Body::Ring(ring) => ring.read(offset, into),
            Body::Sent(bytes) => slice(bytes, into),
            Body::Received(buffer) => slice(buffer.as_slice(), into),
            Body::SentFile(file) | Body::ReceivedFile(file, _) => {
                file.read_exact_at(into, offset).map_err(|_| StorageError::Failed)
            }
        }
    }

    fn append(
        &mut self,
        key: ObjectKey,
        offset: u64,
        len: usize,
        into: &mut Vec<u8>,
    ) -> Result<(), StorageError> {
        if let Some(Body::Ring(ring)) = self.bodies.get(&key) {
            return ring.append(offset, len, into);
        }
        let start = into.len();
        into.resize(start + len, 0);
        self.read(key, offset, &mut into[start..])
    }

    fn lend(&mut self, key: ObjectKey, offset: u64, len: usize) -> Option<&[u8]> {
        match self.bodies.get(&key)? {
            Body::Ring(ring) => ring.lend(offset, len),
            Body::Sent(bytes) => {
                let rest = bytes.get(usize::try_from(offset).ok()?..)?;
                Some(&rest[..len.min(rest.len())])
            }
            Body::SentFile(_) | Body::Received(_) | Body::ReceivedFile(..) => None,
        }
    }

    fn close(&mut self, key: ObjectKey, complete: bool) {
        match self.bodies.remove(&key) {
            Some(Body::ReceivedFile(file, path)) => {
                if !complete {
                    // Half a file is of no use; that it stays does no harm.
                    let _ = std::fs::remove_file(&path);
                }
                self.ended.insert(key, Body::ReceivedFile(file, path));
            }
            // The program may be looking at it until it is told.
            Some(body @ Body::Received(_)) => drop(self.ended.insert(key, body)),
            Some(Body::Ring(_) | Body::Sent(_) | Body::SentFile(_)) | None => {}
        }
    }
}
