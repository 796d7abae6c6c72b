//! Directories that nobody made for a test.

use std::fs;
use std::path::{Path, PathBuf};

use super::RECEIVERS;
use super::size::{Size, room};
use crate::tool::{self, ToolError};

/// Of what is free, so much stays free: this machine has other work.
const SPARE: u64 = 2 << 30;
/// What a file takes beside its bytes: its inode and what its last block has left over.
const PER_ENTRY: u64 = 4096;
/// Debian's package that depends on the newest source.
const PACKAGE: &str = "linux-source";

/// Unpacks the source of Linux, from Debian's package; nothing is installed.
pub(super) fn kernel(scratch: &Path) -> Result<PathBuf, ToolError> {
    for program in ["apt-get", "apt-cache", "dpkg-deb", "tar", "xz"] {
        tool::require(program)?;
    }
    let depends = tool::output("apt-cache", &["depends", PACKAGE])?;
    let package = depends.split_whitespace().find(|word| word.starts_with("linux-source-"));
    let package = package.ok_or_else(|| ToolError::Failed {
        command: format!("apt-cache depends {PACKAGE}"),
        why: "no source is named; `apt-get update` may help".into(),
    })?;
    let (into, text) = (scratch.join("package"), |path: &Path| path.display().to_string());
    fs::create_dir_all(&into).map_err(tool::at(into.display()))?;
    // apt-get puts it where it is started.
    let fetch = r#"cd "$1" && apt-get download -qq "$2" && dpkg-deb -x ./*.deb . && rm ./*.deb"#;
    tool::output("sh", &["-c", fetch, "sh", &text(&into), package])?;
    let archive = into.join(format!("usr/src/{package}.tar.xz"));
    tool::output("tar", &["-xJf", &text(&archive), "-C", &text(scratch)])?;
    fs::remove_dir_all(&into).map_err(tool::at(into.display()))?;
    Ok(scratch.join(package))
}

/// This directory, or its largest part of which all receivers have room for a copy.
pub(super) fn fitting(path: &Path, scratch: &Path) -> Result<PathBuf, ToolError> {
    let room = room(scratch)?.saturating_sub(SPARE);
    let mut path = path.canonicalize().map_err(tool::at(path.display()))?;
    while needed(Size::of(&path)?) > room {
        let mut largest = None;
        for entry in fs::read_dir(&path).map_err(tool::at(path.display()))?.flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                let size = Size::of(&entry.path())?.bytes;
                largest = largest.max(Some((size, entry.path())));
            }
        }
        path = largest.map(|(_, path)| path).ok_or_else(|| ToolError::Failed {
            command: format!("copy {}", path.display()),
            why: format!("there is no room for {RECEIVERS} copies in {}", scratch.display()),
        })?;
    }
    Ok(path)
}

fn needed(size: Size) -> u64 {
    RECEIVERS as u64 * (size.bytes + size.entries * PER_ENTRY)
}
