//! A file without a name, for what is too long for memory.

use std::{fs::File, io};

use rustix::fs::{CWD, Mode, OFlags};

/// A file in the directory for temporary files that vanishes when closed.
pub fn unnamed_file() -> io::Result<File> {
    let directory = std::env::temp_dir();
    let mode = Mode::RUSR | Mode::WUSR;
    let flags = OFlags::RDWR | OFlags::CLOEXEC;
    if let Ok(fd) = rustix::fs::openat(CWD, &directory, flags | OFlags::TMPFILE, mode) {
        return Ok(File::from(fd));
    }
    // Some file systems cannot: create it under a name and take the name away.
    let path = directory.join(format!(".fanfare-spool-{}", std::process::id()));
    let file = rustix::fs::openat(CWD, &path, flags | OFlags::CREATE | OFlags::EXCL, mode)?;
    std::fs::remove_file(&path)?;
    Ok(File::from(file))
}
