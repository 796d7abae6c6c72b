//! What `std` tells of a file, under the names that it has for other systems.

use std::{
    fs::{DirBuilder, File, FileType, Metadata, OpenOptions, Permissions},
    io,
    os::windows::fs::{FileExt as _, MetadataExt as _},
};

use super::stat::{mode_bits, since_1970};

/// Opens as a file that has nothing and keeps nothing.
pub const NOTHING: &str = "NUL";
/// Owners have no numbers here.
pub const HAS_OWNERS: bool = false;

/// Reading and writing at offsets.
pub trait FileExt {
    /// Reads some bytes from `offset` on.
    fn read_at(&self, into: &mut [u8], offset: u64) -> io::Result<usize>;
    /// Writes some bytes to `offset`.
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize>;

    /// Fills all of `into`.
    fn read_exact_at(&self, mut into: &mut [u8], mut offset: u64) -> io::Result<()> {
        while !into.is_empty() {
            match self.read_at(into, offset) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(count) => {
                    into = &mut into[count..];
                    offset += count as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Writes all of `bytes`.
    fn write_all_at(&self, mut bytes: &[u8], mut offset: u64) -> io::Result<()> {
        while !bytes.is_empty() {
            match self.write_at(bytes, offset) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => {
                    bytes = &bytes[count..];
                    offset += count as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

impl FileExt for File {
    fn read_at(&self, into: &mut [u8], offset: u64) -> io::Result<usize> {
        self.seek_read(into, offset)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        self.seek_write(bytes, offset)
    }
}

/// What is known of a file by its path. Numbers of files and volumes take an open file here: they are
/// 0, and no file has two names.
#[expect(missing_docs, reason = "stat(2) says it")]
pub trait MetadataExt {
    fn dev(&self) -> u64;
    fn ino(&self) -> u64;
    fn nlink(&self) -> u64;
    fn mode(&self) -> u32;
    fn uid(&self) -> u32;
    fn gid(&self) -> u32;
    fn size(&self) -> u64;
    fn mtime(&self) -> i64;
    fn mtime_nsec(&self) -> i64;
    fn ctime(&self) -> i64;
    fn ctime_nsec(&self) -> i64;
}

impl MetadataExt for Metadata {
    fn dev(&self) -> u64 {
        0
    }
    fn ino(&self) -> u64 {
        0
    }
    fn nlink(&self) -> u64 {
        1
    }
    fn mode(&self) -> u32 {
        mode_bits(self)
    }
    fn uid(&self) -> u32 {
        0
    }
    fn gid(&self) -> u32 {
        0
    }
    fn size(&self) -> u64 {
        self.len()
    }
    fn mtime(&self) -> i64 {
        since_1970(self.last_write_time()).0
    }
    fn mtime_nsec(&self) -> i64 {
        since_1970(self.last_write_time()).1
    }
    fn ctime(&self) -> i64 {
        since_1970(self.last_write_time().max(self.creation_time())).0
    }
    fn ctime_nsec(&self) -> i64 {
        since_1970(self.last_write_time().max(self.creation_time())).1
    }
}

/// Kinds of things that have no name in a folder here.
pub trait FileTypeExt {
    /// A disk.
    fn is_block_device(&self) -> bool {
        false
    }
    /// A terminal and the like.
    fn is_char_device(&self) -> bool {
        false
    }
    /// A pipe.
    fn is_fifo(&self) -> bool {
        false
    }
    /// A socket.
    fn is_socket(&self) -> bool {
        false
    }
}

impl FileTypeExt for FileType {}

/// Who may use a new file. It is as its folder says here: a folder in a user's profile is that user's.
pub trait OpenOptionsExt {
    /// Changes nothing.
    fn mode(&mut self, mode: u32) -> &mut Self;
}

impl OpenOptionsExt for OpenOptions {
    fn mode(&mut self, _: u32) -> &mut Self {
        self
    }
}

/// The same of a new directory.
pub trait DirBuilderExt {
    /// Changes nothing.
    fn mode(&mut self, mode: u32) -> &mut Self;
}

impl DirBuilderExt for DirBuilder {
    fn mode(&mut self, _: u32) -> &mut Self {
        self
    }
}

/// Sets whether a file can be written to: who may use it is as its folder says here.
///
/// # Errors
/// What the system says.
pub fn set_mode(file: &File, mode: u32) -> io::Result<()> {
    let mut permissions = file.metadata()?.permissions();
    permissions.set_readonly(mode & 0o200 == 0);
    file.set_permissions(permissions)
}

/// The same of what is at a path.
///
/// # Errors
/// What the system says.
pub fn set_mode_at(path: &std::path::Path, mode: u32) -> io::Result<()> {
    let mut permissions = path.metadata()?.permissions();
    permissions.set_readonly(mode & 0o200 == 0);
    std::fs::set_permissions(path, permissions)
}

/// Permission bits, as far as they mean something here.
pub trait PermissionsExt {
    /// Whether it can be written to, in the bits of other systems.
    fn mode(&self) -> u32;
}

impl PermissionsExt for Permissions {
    fn mode(&self) -> u32 {
        if self.readonly() { 0o444 } else { 0o644 }
    }
}
