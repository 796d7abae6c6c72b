//! Errors: the system's numbers under the names of Linux.

use std::{fmt, io};

use windows_sys::Win32::Foundation as w;

/// An error of a call.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Errno(u32);

#[expect(missing_docs, reason = "errno(3) says it")]
impl Errno {
    pub const ACCESS: Self = Self(w::ERROR_ACCESS_DENIED);
    pub const BUSY: Self = Self(w::ERROR_SHARING_VIOLATION);
    pub const DQUOT: Self = Self(w::ERROR_DISK_QUOTA_EXCEEDED);
    pub const EXIST: Self = Self(w::ERROR_FILE_EXISTS);
    pub const INTR: Self = Self(w::ERROR_OPERATION_ABORTED);
    pub const INVAL: Self = Self(w::ERROR_INVALID_PARAMETER);
    pub const IO: Self = Self(w::ERROR_IO_DEVICE);
    pub const ISDIR: Self = Self(w::ERROR_DIRECTORY_NOT_SUPPORTED);
    pub const LOOP: Self = Self(w::ERROR_STOPPED_ON_SYMLINK);
    pub const MLINK: Self = Self(w::ERROR_TOO_MANY_LINKS);
    pub const NAMETOOLONG: Self = Self(w::ERROR_FILENAME_EXCED_RANGE);
    pub const NODATA: Self = Self(w::ERROR_NO_DATA);
    pub const NOENT: Self = Self(w::ERROR_FILE_NOT_FOUND);
    pub const NOSPC: Self = Self(w::ERROR_DISK_FULL);
    pub const NOSYS: Self = Self(w::ERROR_CALL_NOT_IMPLEMENTED);
    pub const NOTDIR: Self = Self(w::ERROR_DIRECTORY);
    pub const NOTEMPTY: Self = Self(w::ERROR_DIR_NOT_EMPTY);
    pub const NXIO: Self = Self(w::ERROR_PIPE_NOT_CONNECTED);
    pub const OPNOTSUPP: Self = Self(w::ERROR_NOT_SUPPORTED);
    pub const PERM: Self = Self(w::ERROR_PRIVILEGE_NOT_HELD);
    pub const RANGE: Self = Self(w::ERROR_MORE_DATA);
    pub const ROFS: Self = Self(w::ERROR_WRITE_PROTECT);
    pub const WOULDBLOCK: Self = Self(w::ERROR_LOCK_VIOLATION);
    pub const XDEV: Self = Self(w::ERROR_NOT_SAME_DEVICE);

    /// What an error of the system was; `None`: it did not come from the system.
    #[must_use]
    pub fn from_io_error(error: &io::Error) -> Option<Self> {
        let number = error.raw_os_error()?.cast_unsigned();
        Some(match number {
            w::ERROR_ALREADY_EXISTS => Self::EXIST,
            w::ERROR_PATH_NOT_FOUND => Self::NOENT,
            w::ERROR_HANDLE_DISK_FULL => Self::NOSPC,
            w::ERROR_INVALID_NAME => Self::INVAL,
            w::ERROR_INVALID_FUNCTION => Self::OPNOTSUPP,
            other => Self(other),
        })
    }

    /// The same; what did not come from the system is an error of the device.
    #[must_use]
    pub(super) fn of(error: &io::Error) -> Self {
        Self::from_io_error(error).unwrap_or(match error.kind() {
            io::ErrorKind::WouldBlock => Self::WOULDBLOCK,
            io::ErrorKind::InvalidInput => Self::INVAL,
            io::ErrorKind::Unsupported => Self::OPNOTSUPP,
            io::ErrorKind::NotFound => Self::NOENT,
            _ => Self::IO,
        })
    }

    /// The system's number.
    #[must_use]
    pub const fn raw_os_error(self) -> i32 {
        self.0.cast_signed()
    }
}

impl From<Errno> for io::Error {
    fn from(errno: Errno) -> Self {
        Self::from_raw_os_error(errno.raw_os_error())
    }
}

impl fmt::Display for Errno {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        io::Error::from(*self).fmt(f)
    }
}

impl fmt::Debug for Errno {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Errno({})", self.0)
    }
}

impl std::error::Error for Errno {}
