//! A file that may be relied on, as text.

use fanfare_udp::os::file::MetadataExt;
use std::{
    fs::{self, File, Metadata},
    io::{ErrorKind, Read},
    path::Path,
};

use crate::{Exit, Failure, text_file};

/// Far more than all options with all their values.
const BYTES_MAX: u64 = 1 << 20;
/// Write permission of those who are neither its owner nor of its group (`S_IWOTH` of POSIX).
const OTHERS_MAY_WRITE: u32 = 0o002;

/// Its text; `option` named it.
pub(super) fn read(option: &str, path: &Path) -> Result<String, Failure> {
    let wrong =
        |code, why: &str| Failure::usage(code, format!("{option} ({}): {why}", path.display()));
    let unreadable = |error: std::io::Error| unreadable(option, path, &error);
    // Looked at before it is opened: opening a pipe would wait for its other end.
    let found = fs::metadata(path).map_err(unreadable)?;
    if found.is_dir() {
        return Err(wrong("config.kind", "is a directory. Name a file in it"));
    }
    if !found.is_file() {
        return Err(wrong("config.kind", "is not a file. Name a file"));
    }
    let file = File::open(path).map_err(unreadable)?;
    // Looked at again: another may stand there by now.
    let found = file.metadata().map_err(unreadable)?;
    if is_open_to_others(&found) {
        let why = format!(
            "others may write to it (mode {:o}). Take that from them: chmod o-w",
            found.mode() & 0o7777
        );
        return Err(wrong("config.writable", &why));
    }
    let mut bytes = Vec::new();
    file.take(BYTES_MAX + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > BYTES_MAX {
        return Err(wrong("config.kind", "is longer than 1 MiB. Name a configuration file"));
    }
    text_file::decode(bytes).map_err(|_| wrong("config.kind", "is not UTF-8. Save it as UTF-8"))
}

fn is_open_to_others(found: &Metadata) -> bool {
    found.mode() & OTHERS_MAY_WRITE != 0
}

fn unreadable(option: &str, path: &Path, error: &std::io::Error) -> Failure {
    let shown = path.display();
    match error.kind() {
        ErrorKind::NotFound => Failure::usage(
            "config.missing",
            format!("{option} ({shown}): there is no such file. Name one that is there"),
        ),
        ErrorKind::PermissionDenied => Failure::new(
            Exit::Permission,
            "config.permission",
            format!("{option} ({shown}): may not be read. Let this user read it"),
        ),
        _ => Failure::usage(
            "config.unreadable",
            format!("{option} ({shown}): cannot be read ({error}). Name another"),
        ),
    }
}
