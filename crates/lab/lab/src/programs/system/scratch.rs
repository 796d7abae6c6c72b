//! The directory for the files of a measurement, in memory where possible, so that no system is
//! slowed down by a disk.

use crate::programs::{
    error::{LabError, Refusal},
    payload,
};
use rustix::{
    fs::{FlockOperation, flock},
    mount::{MountFlags, UnmountFlags, mount, unmount},
};
use std::{
    ffi::CString,
    fs::{self, File},
    io,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

/// Of each directory's name; behind it is who made it, as a process number.
const STEM: &str = "fanfare-scratch-";

/// A directory of our own; gone with all that is in it when dropped.
#[derive(Debug)]
pub struct Scratch {
    path: PathBuf,
    /// Held while somebody is here: of the directory, and of the mount over it.
    locks: Vec<File>,
}

impl Scratch {
    /// Makes it below `above`, and takes away what processes left there that are gone.
    pub fn make(above: &Path) -> Result<Self, LabError> {
        fs::create_dir_all(above)
            .and_then(|()| {
                clear_leftovers(above);
                let path = above.join(format!("{STEM}{}", std::process::id()));
                // Not what somebody else has put there.
                fs::create_dir(&path)?;
                let locks = vec![lock(&path)?];
                Ok(Self { path, locks })
            })
            .map_err(|error| LabError::system(format!("directory ({})", above.display()), &error))
    }

    /// The same, and its files in large pages if they are in memory.
    ///
    /// Files in memory come in pages of 4 KiB as systems are set up, each to be found, accounted for and
    /// put into its file, which takes longer than receiving its bytes. Disks' file systems have large
    /// pages by themselves (XFS, ext4). So a mount with large pages lies over the directory, if the
    /// kernel has that (Linux 6.14).
    pub fn with_large_pages(above: &Path) -> Result<Self, LabError> {
        let mut scratch = Self::make(above)?;
        let path = scratch.path.clone();
        let failed =
            |error: io::Error| LabError::system(format_args!("file ({})", path.display()), &error);
        if payload::in_memory(&path).map_err(failed)? {
            let room = payload::free(&path).map_err(failed)?;
            let options = CString::new(format!("huge=within_size,size={room}"))
                .map_err(|error| failed(error.into()))?;
            // Where it is refused files are in memory all the same.
            if mount("fanfare", &path, "tmpfs", MountFlags::empty(), &*options).is_ok() {
                scratch.locks.push(lock(&path).map_err(failed)?);
            }
        }
        Ok(scratch)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether the file that is sent fits, a copy for each receiver, and the memory that is kept in use
    /// for these until they take it, with which each still finds the room for its own.
    pub fn check_room(&self, size: u64, receivers: usize) -> Result<(), LabError> {
        let copies = receivers as u64 + 2;
        let at = self.path.parent().unwrap_or(&self.path).display();
        let failed =
            |error: io::Error| LabError::system("directory (for files of the run)", &error);
        let (free, need) = (payload::free(&self.path).map_err(failed)?, copies * size);
        if free >= need {
            return Ok(());
        }
        let text = format!(
            "directory ({at}): {free} bytes are free, {need} are needed for {copies} copies of {size}. Use \
             a smaller file, or a directory with more room"
        );
        Err(LabError::new(Refusal::Missing, "lab.room", text))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        remove(&self.path);
    }
}

/// What is there is only ours, and of no use any more.
fn remove(path: &Path) {
    // Refused where nothing is mounted.
    let _ = unmount(path, UnmountFlags::DETACH | UnmountFlags::NOFOLLOW);
    let _ = fs::remove_dir_all(path);
}

/// Takes away directories of ours whose makers are gone: nobody holds their locks.
fn clear_leftovers(above: &Path) {
    let own = rustix::process::geteuid().as_raw();
    for entry in fs::read_dir(above).into_iter().flatten().flatten() {
        let (name, path) = (entry.file_name(), entry.path());
        let is_named = name.to_str().is_some_and(|name| name.starts_with(STEM));
        let is_own = path.symlink_metadata().is_ok_and(|it| it.is_dir() && it.uid() == own);
        if is_named && is_own && lock(&path).is_ok() {
            remove(&path);
        }
    }
}

/// Until it is dropped. `WouldBlock` when somebody else has it.
fn lock(path: &Path) -> io::Result<File> {
    let directory = File::open(path)?;
    flock(&directory, FlockOperation::NonBlockingLockExclusive)?;
    Ok(directory)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_gone_when_dropped_and_so_is_what_a_process_left_that_is_gone() {
        let above = std::env::temp_dir().join(format!("fanfare-above-{}", std::process::id()));
        let place = |name: &str| above.join(format!("{STEM}{name}"));
        let (left, living, link) = (place("1"), place("2"), place("3"));
        let others = above.join("fanfare-notes");
        for directory in [&left, &living, &others] {
            fs::create_dir_all(directory).unwrap();
        }
        std::os::unix::fs::symlink(&others, &link).unwrap();
        let _held = lock(&living).unwrap();
        let scratch = Scratch::make(&above).unwrap();
        fs::write(scratch.path().join("file"), "bytes").unwrap();
        let path = scratch.path().to_owned();
        assert!(scratch.check_room(1, 1).is_ok() && scratch.check_room(1 << 60, 1).is_err());
        drop(scratch);
        assert!(!path.exists() && !left.exists());
        assert!([&living, &others, &link].iter().all(|path| path.exists()));
        fs::remove_dir_all(above).unwrap();
    }
}
