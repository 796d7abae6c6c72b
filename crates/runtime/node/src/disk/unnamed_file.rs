//! A file without a name, for what is too long for memory.

use std::{fs::File, io};

use fanfare_udp::os::fs::{CWD, Mode, OFlags};

/// A file in the directory for temporary files that vanishes when closed.
pub fn unnamed_file() -> io::Result<File> {
    let directory = std::env::temp_dir();
    if let Ok(fd) = fanfare_udp::os::fs::open_unnamed(&directory) {
        return Ok(File::from(fd));
    }
    let mode = Mode::RUSR | Mode::WUSR;
    let flags = OFlags::RDWR | OFlags::CLOEXEC;
    // Some file systems cannot: create it under a name and take the name away.
    let path = directory.join(format!(".fanfare-spool-{}", std::process::id()));
    let file =
        fanfare_udp::os::fs::openat(CWD, &path, flags | OFlags::CREATE | OFlags::EXCL, mode)?;
    std::fs::remove_file(&path)?;
    Ok(File::from(file))
}
