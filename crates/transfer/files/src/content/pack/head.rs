//! What stands ahead of the content of a pack: which files it has, and the hashes of its groups.

use std::io;

use fanfare_node::disk::FileHandle;

use super::{
    format::{GROUP_BYTES, GROUPS_MAX, HASH, HEADER_BYTES, parse_header},
    index::{self, Entry},
};

/// A head that was read.
#[derive(Debug)]
pub(super) struct Head {
    pub(super) entries: Vec<Entry>,
    /// BLAKE3 hashes of the groups of the content.
    pub(super) groups: Vec<[u8; HASH]>,
    /// Its own bytes: where the content begins.
    pub(super) bytes: u64,
}

/// Why there is none.
#[derive(Debug)]
pub(super) enum HeadError {
    /// It is not what it says.
    Malformed,
    /// It cannot be read.
    Io(io::Error),
}

impl From<io::Error> for HeadError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::UnexpectedEof => Self::Malformed,
            _ => Self::Io(error),
        }
    }
}

impl Head {
    /// Reads the head of a pack of `size` bytes. Nothing is believed but what fits together.
    pub(super) fn read(part: &dyn FileHandle, size: u64) -> Result<Self, HeadError> {
        let mut header = [0; HEADER_BYTES];
        part.read_exact_at(&mut header, 0)?;
        let (index, groups) = parse_header(&header).ok_or(HeadError::Malformed)?;
        let bytes = (HEADER_BYTES + index + groups * HASH) as u64;
        let content = size.checked_sub(bytes).ok_or(HeadError::Malformed)?;
        if content.div_ceil(GROUP_BYTES) != groups as u64 || groups > GROUPS_MAX {
            return Err(HeadError::Malformed);
        }
        let mut rest = vec![0; index + groups * HASH];
        part.read_exact_at(&mut rest, HEADER_BYTES as u64)?;
        let (index, hashes) = rest.split_at(index);
        let entries = index::parse(index, content).map_err(|_| HeadError::Malformed)?;
        Ok(Self { entries, groups: hashes.as_chunks().0.to_vec(), bytes })
    }
}
