//! Flags of calls, by the names that Linux has for them.

use bitflags::bitflags;

bitflags! {
    /// How something is opened.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct OFlags: u32 {
        /// For reading.
        const RDONLY = 0;
        /// For writing.
        const WRONLY = 1;
        /// For both.
        const RDWR = 1 << 1;
        /// Made if it is not there.
        const CREATE = 1 << 2;
        /// Only if it is made.
        const EXCL = 1 << 3;
        /// Written at its end.
        const APPEND = 1 << 4;
        /// Only a directory.
        const DIRECTORY = 1 << 5;
        /// Not what a link leads to.
        const NOFOLLOW = 1 << 6;
        /// No child of this process has it: none has.
        const CLOEXEC = 1 << 7;
        /// Opening does not wait: it never does.
        const NONBLOCK = 1 << 8;
        /// Only to name it.
        const PATH = 1 << 9;
    }

    /// How a name is meant.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct AtFlags: u32 {
        /// The link, not what it leads to.
        const SYMLINK_NOFOLLOW = 1;
        /// A directory is removed.
        const REMOVEDIR = 1 << 1;
    }

    /// How something is renamed.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct RenameFlags: u32 {
        /// Only where nothing has that name.
        const NOREPLACE = 1;
    }

    /// How an attribute is set.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct XattrFlags: u32 {
        /// Only a new one.
        const CREATE = 1;
    }

    /// Permission bits. Only one of them means something here: the owner may write.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct Mode: u32 {
        /// The owner reads.
        const RUSR = 0o400;
        /// The owner writes.
        const WUSR = 0o200;
        /// The owner executes.
        const XUSR = 0o100;
        /// All of the owner.
        const RWXU = 0o700;
        /// All of the group.
        const RWXG = 0o070;
        /// All of others.
        const RWXO = 0o007;
        /// Whatever else.
        const _ = !0;
    }
}

impl Mode {
    /// These bits.
    #[must_use]
    pub const fn from_raw_mode(bits: u32) -> Self {
        Self::from_bits_retain(bits)
    }

    /// Their number.
    #[must_use]
    pub const fn as_raw_mode(self) -> u32 {
        self.bits()
    }
}

/// How a file is locked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FlockOperation {
    /// Against all others, or not at all.
    NonBlockingLockExclusive,
    /// Against all others, however long that takes.
    LockExclusive,
}
