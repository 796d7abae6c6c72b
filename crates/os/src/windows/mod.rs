//! Windows under the names of Linux's calls.
//!
//! An open directory is held by a handle that lets nobody rename or remove it. So its path stays what
//! it is, and calls that take a path are as good as calls that take a descriptor: no link can come
//! between. Paths are written verbatim (`\\?\…`), which has no limit of 260 characters, no names that
//! mean devices and no `..`. All unsafe code is in `call`.

mod call;
mod errno;
mod flags;
pub mod file;
pub mod fs;
mod stat;
pub mod text;

/// Open files and directories.
pub mod fd {
    pub use std::os::windows::io::{
        AsHandle as AsFd, BorrowedHandle as BorrowedFd, OwnedHandle as OwnedFd,
    };
}

/// Errors of calls.
pub mod io {
    pub use super::errno::Errno;
}
