//! The memory behind a stream: symbols lie in it one after another, and wrap.

use crate::types::storage_error::StorageError;
use alloc::{vec, vec::Vec};

/// A ring of slots. Offsets only grow; each stands for its remainder.
#[derive(Debug)]
pub struct SlotRing {
    bytes: Vec<u8>,
}

impl SlotRing {
    /// A ring of `slots` slots of `slot` bytes. The system gives the memory as it is written.
    ///
    /// # Errors
    /// [`StorageError::Refused`] for a ring of nothing or of more than can be counted.
    pub fn new(slot: usize, slots: u64) -> Result<Self, StorageError> {
        let slots = usize::try_from(slots).map_err(|_| StorageError::Refused)?;
        let bytes = slot.checked_mul(slots).filter(|bytes| *bytes > 0);
        Ok(Self { bytes: vec![0; bytes.ok_or(StorageError::Refused)?] })
    }

    fn place(&self, offset: u64, len: usize) -> Result<usize, StorageError> {
        if len > self.bytes.len() {
            return Err(StorageError::Failed);
        }
        Ok((offset % self.bytes.len() as u64) as usize)
    }

    /// Puts bytes in their place.
    ///
    /// # Errors
    /// [`StorageError::Failed`] for more bytes than the ring has.
    pub fn write(&mut self, offset: u64, bytes: &[u8]) -> Result<(), StorageError> {
        let at = self.place(offset, bytes.len())?;
        let first = bytes.len().min(self.bytes.len() - at);
        self.bytes[at..at + first].copy_from_slice(&bytes[..first]);
        self.bytes[..bytes.len() - first].copy_from_slice(&bytes[first..]);
        Ok(())
    }

    /// Copies bytes out.
    ///
    /// # Errors
    /// As [`Self::write`].
    pub fn read(&self, offset: u64, into: &mut [u8]) -> Result<(), StorageError> {
        let at = self.place(offset, into.len())?;
        let first = into.len().min(self.bytes.len() - at);
        let (head, tail) = into.split_at_mut(first);
        head.copy_from_slice(&self.bytes[at..at + first]);
        tail.copy_from_slice(&self.bytes[..tail.len()]);
        Ok(())
    }

    /// The same at the end of `into`.
    ///
    /// # Errors
    /// As [`Self::write`].
    pub fn append(&self, offset: u64, len: usize, into: &mut Vec<u8>) -> Result<(), StorageError> {
        let at = self.place(offset, len)?;
        let first = len.min(self.bytes.len() - at);
        into.extend_from_slice(&self.bytes[at..at + first]);
        into.extend_from_slice(&self.bytes[..len - first]);
        Ok(())
    }

    /// Bytes as they stand, up to `len` of them or to where the ring begins again.
    #[must_use]
    pub fn lend(&self, offset: u64, len: usize) -> Option<&[u8]> {
        let at = self.place(offset, 0).ok()?;
        self.bytes.get(at..at + len.min(self.bytes.len() - at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_wrap_around_the_end() {
        let mut ring = SlotRing::new(4, 3).unwrap();
        ring.write(10, b"abcde").unwrap();
        let mut out = [0; 5];
        ring.read(10 + 12, &mut out).unwrap();
        assert_eq!(&out, b"abcde");
        assert_eq!(ring.lend(10, 5), Some(&b"ab"[..]));
        let mut all = Vec::new();
        ring.append(10, 5, &mut all).unwrap();
        assert_eq!(all, b"abcde");
    }

    #[test]
    fn a_ring_of_nothing_and_more_bytes_than_it_has_are_refused() {
        assert!(SlotRing::new(0, 3).is_err() && SlotRing::new(9, u64::MAX).is_err());
        let mut ring = SlotRing::new(4, 1).unwrap();
        assert!(ring.write(0, b"abcde").is_err() && ring.read(0, &mut [0; 5]).is_err());
    }
}
