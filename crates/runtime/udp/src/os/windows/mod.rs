//! Windows under the names of Linux's calls.
//!
//! An open directory is held by a handle that lets nobody rename or remove it. So its path stays what
//! it is, and calls that take a path are as good as calls that take a descriptor: no link can come
//! between. Paths are written verbatim (`\\?\…`), which has no limit of 260 characters, no names that
//! mean devices and no `..`. All unsafe code is in `call` and `console`.

mod call;
pub(crate) mod console;
mod directory;
mod errno;
pub mod file;
mod flags;
pub mod fs;
mod properties;
mod stat;
pub mod text;

pub(crate) use call::is_readable;

/// Open files and directories.
pub mod fd {
    use std::os::windows::io::AsHandle;
    pub use std::os::windows::io::{BorrowedHandle as BorrowedFd, OwnedHandle as OwnedFd};

    /// Something open.
    pub trait AsFd: AsHandle {
        /// Its handle.
        fn as_fd(&self) -> BorrowedFd<'_>;
    }

    impl<T: AsHandle> AsFd for T {
        fn as_fd(&self) -> BorrowedFd<'_> {
            self.as_handle()
        }
    }
}

/// Errors of calls.
pub mod io {
    use std::{fs::File, os::windows::fs::FileExt as _};

    pub use super::errno::Errno;

    /// Reads some bytes from `offset` on.
    pub fn pread(file: &File, into: &mut [u8], offset: u64) -> Result<usize, Errno> {
        file.seek_read(into, offset).map_err(|error| Errno::of(&error))
    }

    /// Writes some bytes to `offset`.
    pub fn pwrite(file: &File, bytes: &[u8], offset: u64) -> Result<usize, Errno> {
        file.seek_write(bytes, offset).map_err(|error| Errno::of(&error))
    }
}
