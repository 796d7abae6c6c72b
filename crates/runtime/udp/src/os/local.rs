//! Sockets that have a place among files, for programs of this machine.

use std::{io, path::Path};

#[cfg(unix)]
pub use std::os::unix::net::{UnixListener, UnixStream};
#[cfg(windows)]
pub use uds_windows::{UnixListener, UnixStream};

/// Whether a socket stands there, whoever listens.
#[must_use]
pub fn is_socket(path: &Path) -> bool {
    let Ok(found) = std::fs::symlink_metadata(path) else { return false };
    #[cfg(unix)]
    return std::os::unix::fs::FileTypeExt::is_socket(&found.file_type());
    // A socket is a "reparse point", as links are, which it is not.
    #[cfg(windows)]
    {
        use std::os::windows::fs::MetadataExt as _;
        use windows_sys::Win32::Storage::FileSystem::FILE_ATTRIBUTE_REPARSE_POINT;
        found.file_attributes() & FILE_ATTRIBUTE_REPARSE_POINT != 0
            && !found.file_type().is_symlink()
    }
}

/// Says who may use a socket.
///
/// # Errors
/// What the system says.
#[cfg(unix)]
pub fn restrict(path: &Path, mode: u32) -> io::Result<()> {
    crate::os::file::set_mode_at(path, mode)
}

/// A socket is for those who may use its folder: a user's own is for that user.
///
/// # Errors
/// None.
#[cfg(windows)]
pub fn restrict(_: &Path, _: u32) -> io::Result<()> {
    Ok(())
}
