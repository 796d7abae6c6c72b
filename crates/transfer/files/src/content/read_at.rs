//! What an object to be sent is read from: a file, the files of a pack, or memory.

use fanfare_udp::os::file::FileExt;
use std::{fmt::Debug, fs::File, io};

/// Bytes at offsets.
pub trait ReadAt: Debug + Send + Sync {
    /// Reads some bytes from `offset` on, none at the end; an error when they are no longer those
    /// that were hashed.
    fn read_at(&self, into: &mut [u8], offset: u64) -> io::Result<usize>;

    /// Bytes to be read at once: more than a block of 128 segments, so that a block costs one call.
    fn read_ahead(&self) -> usize {
        256 << 10
    }
}

impl ReadAt for Vec<u8> {
    fn read_at(&self, into: &mut [u8], offset: u64) -> io::Result<usize> {
        let from = usize::try_from(offset).ok().and_then(|offset| self.get(offset..));
        let from = from.unwrap_or_default();
        let len = into.len().min(from.len());
        into[..len].copy_from_slice(&from[..len]);
        Ok(len)
    }
}

impl ReadAt for File {
    fn read_at(&self, into: &mut [u8], offset: u64) -> io::Result<usize> {
        FileExt::read_at(self, into, offset)
    }
}
