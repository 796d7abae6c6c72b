//! Files being sent.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
};

use crate::content::read_at::ReadAt;
use fanfare_proto::{ObjectKey, StorageError};

use crate::streams::Room;

/// What a stream among others has at least to read through: what is read ahead of a file.
pub(crate) const WINDOW: usize = 256 << 10;
/// Windows kept: the block going out, the one being repaired, and the like in a second object.
const WINDOWS: usize = 4;
/// So much is not read ahead of: a block for its parity, whose neighbours nobody wants.
const BLOCK: usize = 64 << 10;

/// Files by object, and the parts of them read last.
#[derive(Debug, Default)]
pub(super) struct Outgoing {
    files: BTreeMap<ObjectKey, Arc<dyn ReadAt>>,
    /// Objects that no file holds: manifests.
    small: BTreeMap<ObjectKey, Vec<u8>>,
    /// Most recently used last.
    windows: VecDeque<Window>,
    /// What was read alone: a symbol that is sent again.
    apart: Option<Window>,
    failed: Option<ObjectKey>,
    /// Where the windows' memory comes from, when other streams want some, too.
    room: Option<Room>,
}

#[derive(Debug)]
struct Window {
    key: ObjectKey,
    offset: u64,
    bytes: Vec<u8>,
    /// What was taken for it.
    taken: usize,
}

impl Window {
    fn get(&self, key: ObjectKey, offset: u64, len: usize) -> Option<&[u8]> {
        let start = offset.checked_sub(self.offset).filter(|_| self.key == key)?;
        let start = usize::try_from(start).ok()?;
        self.bytes.get(start..start.checked_add(len)?)
    }

    /// What is wanted now goes on where it ends.
    fn is_read_through(&self, key: ObjectKey, offset: u64, len: usize) -> bool {
        let end = self.offset + self.bytes.len() as u64;
        self.key == key && (self.offset..=end).contains(&offset) && offset + len as u64 > end
    }
}

impl Outgoing {
    pub(super) fn add(&mut self, key: ObjectKey, file: Arc<dyn ReadAt>) {
        self.files.insert(key, file);
    }

    pub(super) fn add_bytes(&mut self, key: ObjectKey, bytes: Vec<u8>) {
        self.small.insert(key, bytes);
    }

    pub(super) fn remove(&mut self, key: ObjectKey) {
        self.small.remove(&key);
        self.files.remove(&key);
        let of_it = |window: &&Window| window.key == key;
        self.give(self.windows.iter().filter(of_it).map(|window| window.taken).sum());
        self.windows.retain(|window| window.key != key);
        self.apart.take_if(|window| window.key == key);
    }

    /// From now on memory comes from here.
    pub(super) fn share(&mut self, room: Room) {
        self.room = Some(room);
    }

    /// Gives windows up until `bytes` are free, but for the one used last. Tells how many are.
    pub(super) fn yield_windows(&mut self, bytes: usize) -> usize {
        let mut given = 0;
        while given < bytes && self.windows.len() > 1 {
            given += self.windows.pop_front().map_or(0, |window| window.taken);
        }
        self.give(given);
        given
    }

    fn take(&self, bytes: usize) -> bool {
        self.room.as_ref().is_none_or(|room| room.take(bytes))
    }

    fn give(&self, bytes: usize) {
        if let Some(room) = &self.room {
            room.give(bytes);
        }
    }

    pub(super) fn take_failed(&mut self) -> Option<ObjectKey> {
        self.failed.take()
    }

    /// Whether it is one of ours, in a file.
    pub(super) fn has(&self, key: ObjectKey) -> bool {
        self.files.contains_key(&key)
    }

    pub(super) fn append(
        &mut self,
        key: ObjectKey,
        offset: u64,
        len: usize,
        into: &mut Vec<u8>,
    ) -> Result<(), StorageError> {
        into.extend_from_slice(self.bytes(key, offset, len)?);
        Ok(())
    }

    /// What the window used last holds of these bytes, if it holds the first of them.
    pub(super) fn lend(&self, key: ObjectKey, offset: u64, len: usize) -> Option<&[u8]> {
        let window = self.windows.back()?;
        let start = offset.checked_sub(window.offset).filter(|_| window.key == key)?;
        let rest = window.bytes.get(usize::try_from(start).ok()?..)?;
        Some(&rest[..len.min(rest.len())])
    }

    pub(super) fn read(
        &mut self,
        key: ObjectKey,
        offset: u64,
        into: &mut [u8],
    ) -> Result<(), StorageError> {
        let here = self.windows.iter().any(|window| window.get(key, offset, into.len()).is_some());
        if into.len() < BLOCK || here || self.small.contains_key(&key) {
            into.copy_from_slice(self.bytes(key, offset, into.len())?);
            return Ok(());
        }
        let filled = self.read_file(key, offset, into)?;
        if filled < into.len() {
            self.failed = Some(key);
            return Err(StorageError::Failed);
        }
        Ok(())
    }

    fn bytes(&mut self, key: ObjectKey, offset: u64, len: usize) -> Result<&[u8], StorageError> {
        if self.small.contains_key(&key) {
            let start = usize::try_from(offset).ok();
            let bytes = self.small.get(&key).map(Vec::as_slice).unwrap_or_default();
            let wanted = start.and_then(|start| bytes.get(start..start.checked_add(len)?));
            return wanted.ok_or(StorageError::Failed);
        }
        let found = self.windows.iter().position(|w| w.get(key, offset, len).is_some());
        if found.is_none() && len < BLOCK && !self.goes_on(key, offset, len) {
            return self.bytes_apart(key, offset, len);
        }
        let window = match found {
            Some(last) if last + 1 == self.windows.len() => None,
            Some(at) => self.windows.remove(at),
            None => Some(self.fill(key, offset, len)?),
        };
        self.windows.extend(window);
        let bytes = self.windows.back().and_then(|window| window.get(key, offset, len));
        if bytes.is_none() {
            // Shorter than it was when announced: somebody cut it.
            self.failed = Some(key);
        }
        bytes.ok_or(StorageError::Failed)
    }

    /// Whether what is wanted begins a file, or goes on where something that was read ends.
    fn goes_on(&self, key: ObjectKey, offset: u64, len: usize) -> bool {
        let mut read = self.windows.iter().chain(&self.apart).filter(|w| w.key == key).peekable();
        read.peek().is_none() || read.any(|window| window.is_read_through(key, offset, len))
    }

    /// What lies elsewhere than what is read through: just that. A window for each symbol that is sent
    /// again would be read in vain, and in the place of the one that is being sent.
    fn bytes_apart(
        &mut self,
        key: ObjectKey,
        offset: u64,
        len: usize,
    ) -> Result<&[u8], StorageError> {
        let mut bytes = self.apart.take().map(|window| window.bytes).unwrap_or_default();
        bytes.resize(len, 0);
        let filled = self.read_file(key, offset, &mut bytes)?;
        bytes.truncate(filled);
        let apart = self.apart.insert(Window { key, offset, bytes, taken: 0 });
        let bytes = apart.get(key, offset, len);
        if bytes.is_none() {
            self.failed = Some(key);
        }
        bytes.ok_or(StorageError::Failed)
    }

    /// Reads on from `offset`: in the memory of the window that it goes on from, which the processor still has in its
    /// cache, or of the one that was used longest ago.
    fn fill(&mut self, key: ObjectKey, offset: u64, len: usize) -> Result<Window, StorageError> {
        let file = self.files.get(&key).ok_or(StorageError::Failed)?;
        let ahead = file.read_ahead().max(len);
        let goes_on = |last: &mut Window| {
            last.is_read_through(key, offset, len) && last.bytes.capacity() >= ahead
        };
        let (mut bytes, taken) = match self.windows.pop_back_if(goes_on) {
            Some(last) => (last.bytes, last.taken),
            None => self.memory(ahead),
        };
        bytes.resize(ahead, 0);
        let filled = self.read_file(key, offset, &mut bytes);
        bytes.truncate(filled.inspect_err(|_| self.give(taken))?);
        Ok(Window { key, offset, bytes, taken })
    }

    /// For a window: more than there was, or that of the windows used longest ago. One is there in any
    /// case: whoever shares memory has [`WINDOW`] for it, which is not taken again.
    fn memory(&mut self, ahead: usize) -> (Vec<u8>, usize) {
        if ahead <= WINDOW && self.windows.iter().all(|window| window.taken > 0) {
            return (Vec::new(), 0);
        }
        if self.windows.len() < WINDOWS && self.take(ahead) {
            return (Vec::new(), ahead);
        }
        let (mut bytes, mut taken) = (Vec::new(), 0);
        while taken < ahead
            && let Some(oldest) = self.windows.pop_front()
        {
            taken += oldest.taken;
            if oldest.bytes.capacity() > bytes.capacity() {
                bytes = oldest.bytes;
            }
            if oldest.taken == 0 && ahead <= WINDOW {
                self.give(taken);
                return (bytes, 0);
            }
            if taken < ahead && self.take(ahead - taken) {
                taken = ahead;
            }
        }
        (bytes, taken)
    }

    /// Reads as much as there is.
    fn read_file(
        &mut self,
        key: ObjectKey,
        offset: u64,
        into: &mut [u8],
    ) -> Result<usize, StorageError> {
        let file = self.files.get(&key).ok_or(StorageError::Failed)?;
        let mut filled = 0;
        while filled < into.len() {
            match file.read_at(&mut into[filled..], offset + filled as u64) {
                Ok(0) => break,
                Ok(count) => filled += count,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(_) => {
                    self.failed = Some(key);
                    return Err(StorageError::Failed);
                }
            }
        }
        Ok(filled)
    }
}

#[cfg(test)]
mod tests {
    use std::{
        io,
        sync::atomic::{AtomicUsize, Ordering},
    };

    use fanfare_proto::{InstanceId, NodeId, ObjectTransportId};

    use super::*;

    /// Counts what is read of it.
    #[derive(Debug)]
    struct Counted(Vec<u8>, AtomicUsize);

    impl ReadAt for Counted {
        fn read_at(&self, into: &mut [u8], offset: u64) -> io::Result<usize> {
            let count = self.0.read_at(into, offset)?;
            self.1.fetch_add(count, Ordering::Relaxed);
            Ok(count)
        }
    }

    #[test]
    fn a_symbol_that_is_sent_again_is_read_alone_and_what_is_read_through_is_read_once() {
        const LEN: usize = 1000;
        let size = 4 * WINDOW;
        let file = Arc::new(Counted((0..size).map(|n| (n % 251) as u8).collect(), 0.into()));
        let key =
            ObjectKey { sender: NodeId(1), instance: InstanceId(1), object: ObjectTransportId(0) };
        let mut outgoing = Outgoing::default();
        outgoing.add(key, file.clone());
        let mut again = 0;
        for symbol in 0..size / LEN {
            let mut read = |symbol: usize| {
                let mut bytes = Vec::new();
                outgoing.append(key, (symbol * LEN) as u64, LEN, &mut bytes).unwrap();
                assert_eq!(bytes, file.0[symbol * LEN..][..LEN]);
            };
            read(symbol);
            if symbol > 600 && symbol % 10 == 0 {
                read(symbol - 600);
                again += LEN;
            }
        }
        let read = file.1.load(Ordering::Relaxed);
        assert!(read <= size + again + 4 * LEN, "{read} of {size}, {again} again");
    }
}
