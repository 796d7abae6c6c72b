//! Path of a target: where it leads, and what is there before it is opened.

use std::{
    fs::{self, File, FileType, Metadata},
    io::{Seek as _, SeekFrom},
    path::{Path, PathBuf},
};

use fanfare_udp::os::{device, file::FileTypeExt as _};

use super::target::TargetError;

/// Number of links that the system follows (path_resolution(7)).
const LINKS_MAX: usize = 40;
/// Disks named where one is mistyped.
const SIMILAR_MAX: usize = 4;
/// Unit in which statistics count blocks (stat(2)).
const BLOCK_BYTES: u64 = 512;

/// Kind of a target before it is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TargetKind {
    /// Nothing is there: a file is made.
    New,
    /// A file whose content is replaced.
    Replaced,
    /// A block device.
    Device,
    /// Something that takes one byte after the other: a pipe, a terminal.
    Pipe,
}

impl TargetKind {
    pub(crate) fn of(path: &Path) -> Self {
        match fs::metadata(path) {
            Err(_) => Self::New,
            Ok(meta) if meta.is_file() => Self::Replaced,
            Ok(meta) if meta.file_type().is_block_device() => Self::Device,
            Ok(_) => Self::Pipe,
        }
    }

    /// Bytes that fit there, as far as that is known.
    pub(crate) fn room(self, path: &Path) -> Option<u64> {
        match self {
            Self::Pipe => None,
            Self::Device => File::open(path).ok()?.seek(SeekFrom::End(0)).ok(),
            Self::New | Self::Replaced => {
                let above = path.parent()?;
                let above = if above == Path::new("") { Path::new(".") } else { above };
                let volume = if self == Self::New { above } else { path };
                let room = fanfare_udp::os::fs::statvfs(volume).ok()?;
                let taken = fs::metadata(path).map_or(0, |meta| taken(&meta));
                Some(room.f_bavail.saturating_mul(room.f_frsize).saturating_add(taken))
            }
        }
    }
}

/// Bytes of its volume that a file takes.
fn taken(meta: &Metadata) -> u64 {
    #[cfg(unix)]
    let blocks = std::os::unix::fs::MetadataExt::blocks(meta);
    #[cfg(not(unix))]
    let blocks = meta.len() / BLOCK_BYTES;
    blocks * BLOCK_BYTES
}

/// Kind of what stands at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PathKind {
    Nothing,
    File,
    Device,
    Fifo,
    Other,
}

/// A path without links, and what stands there.
#[derive(Debug)]
pub(super) struct ResolvedPath {
    pub(super) real: PathBuf,
    pub(super) found: PathKind,
}

impl ResolvedPath {
    /// Follows all links; refuses directories, and files where devices have their names.
    pub(super) fn of(path: &Path) -> Result<Self, TargetError> {
        let kind = match fs::metadata(path) {
            Ok(meta) => meta.file_type(),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Self::new(path),
            Err(error) => return Err(TargetError::Open(path.to_owned(), error)),
        };
        let is = |test: fn(&FileType) -> bool| test(&kind);
        if kind.is_dir() {
            return Err(TargetError::Directory(path.to_owned()));
        }
        let found = if kind.is_file() {
            PathKind::File
        } else if is(fanfare_udp::os::file::FileTypeExt::is_block_device) {
            PathKind::Device
        } else if is(fanfare_udp::os::file::FileTypeExt::is_fifo) {
            PathKind::Fifo
        } else {
            PathKind::Other
        };
        // What has no name any more is opened by the one it was given by.
        let real = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let above = real.parent().unwrap_or(&real);
        if found == PathKind::File && device::is_for_devices(above) {
            return Err(TargetError::NotDevice(path.to_owned()));
        }
        Ok(Self { real, found })
    }

    /// Follows links that lead to nothing, to where a file would be made.
    fn new(path: &Path) -> Result<Self, TargetError> {
        let refused = |error| TargetError::Open(path.to_owned(), error);
        let mut real = path.to_owned();
        for _ in 0..LINKS_MAX {
            let above = real.parent().filter(|above| *above != Path::new(""));
            let above = above.unwrap_or(Path::new("."));
            let above = fs::canonicalize(above).map_err(|error| {
                let mut there = above.ancestors().filter_map(|one| fs::canonicalize(one).ok());
                match there.next().is_some_and(|there| device::is_for_devices(&there)) {
                    true => TargetError::NoDevice(path.to_owned(), similar(path)),
                    false => refused(error),
                }
            })?;
            let Some(name) = real.file_name() else {
                return Err(TargetError::Directory(path.to_owned()));
            };
            let full = above.join(name);
            if let Ok(next) = fs::read_link(&full) {
                real = above.join(next);
                continue;
            }
            if device::is_for_devices(&above) {
                return Err(TargetError::NoDevice(path.to_owned(), similar(&full)));
            }
            return Ok(Self { real: full, found: PathKind::Nothing });
        }
        let error = std::io::Error::other("too many symbolic links");
        Err(refused(error))
    }
}

/// Disks of this machine, those first whose names begin as this one does.
fn similar(path: &Path) -> Vec<String> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let entries = fs::read_dir("/dev").into_iter().flatten().flatten();
    let disks = entries.filter(|entry| {
        entry.file_type().is_ok_and(|kind| kind.is_block_device())
            && File::open(entry.path())
                .and_then(|mut disk| disk.seek(SeekFrom::End(0)))
                .is_ok_and(|size| size > 0)
    });
    let mut names: Vec<String> =
        disks.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    let common = |other: &str| name.chars().zip(other.chars()).take_while(|(a, b)| a == b).count();
    names.sort_by_key(|other| (std::cmp::Reverse(common(other)), other.clone()));
    names.truncate(SIMILAR_MAX);
    names.into_iter().map(|name| format!("/dev/{name}")).collect()
}
