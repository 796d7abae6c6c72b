//! Calls that Linux alone has. On other systems each says that there is none, and callers do without.

use std::path::Path;

use crate::os::{
    fd::{AsFd, OwnedFd},
    fs::{Mode, OFlags},
    io::Errno,
    text::Arg,
};

/// How [`openat2`] would follow a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResolveFlags;

#[expect(missing_docs, reason = "openat2(2) says it")]
impl ResolveFlags {
    pub const BENEATH: Self = Self;
    pub const NO_SYMLINKS: Self = Self;
    pub const NO_MAGICLINKS: Self = Self;
    pub const NO_XDEV: Self = Self;
}

impl std::ops::BitOr for ResolveFlags {
    type Output = Self;
    fn bitor(self, _: Self) -> Self {
        self
    }
}

/// Opens within a directory, and nowhere else. Without it callers go by `openat` and `NOFOLLOW`.
pub fn openat2(
    _: impl AsFd,
    _: impl Arg,
    _: OFlags,
    _: Mode,
    _: ResolveFlags,
) -> Result<OwnedFd, Errno> {
    Err(Errno::NOSYS)
}

/// Whether it lies in memory, where room is had by clearing it: none does.
pub fn is_in_memory(_: impl AsFd) -> Result<bool, Errno> {
    Ok(false)
}

/// Gives it room. macOS and Windows have room only together with length.
pub fn allocate(_: impl AsFd, _: u64) -> Result<(), Errno> {
    Err(Errno::OPNOTSUPP)
}

/// Makes a hole. macOS takes whole blocks, which callers do not know; Windows takes only files that were
/// made for it.
pub fn punch_hole(_: impl AsFd, _: u64, _: u64) -> Result<(), Errno> {
    Err(Errno::OPNOTSUPP)
}

/// Where data begins. What others tell of it has other forms; whoever asks then reads the hole.
pub fn next_data(_: impl AsFd, _: u64) -> Result<Option<u64>, Errno> {
    Err(Errno::OPNOTSUPP)
}

/// Makes zeros without writing them.
pub fn zero_range(_: impl AsFd, _: u64, _: u64) -> Result<(), Errno> {
    Err(Errno::OPNOTSUPP)
}

/// Nobody reads soon what has been written. Other systems find out by themselves.
pub fn advise_done(_: impl AsFd) {}

/// Opens for reading what the device holds, not what is in memory.
pub fn go_around_cache(_: &Path) -> Result<OwnedFd, Errno> {
    Err(Errno::OPNOTSUPP)
}

/// A file in a directory that has no name.
pub fn open_unnamed(_: &Path) -> Result<OwnedFd, Errno> {
    Err(Errno::OPNOTSUPP)
}
