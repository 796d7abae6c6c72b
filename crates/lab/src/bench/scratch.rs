//! Where the files of a measurement are: a directory of our own, in memory by large pages where the
//! directory it is made in is in memory.

use crate::{error::LabError, payload};
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};
use std::{
    ffi::CString,
    fs, io,
    path::{Path, PathBuf},
};

/// Of each directory's name; behind it is who made it, as a process number.
const STEM: &str = "fanfare-bench-";

/// A directory of our own; gone with all that is in it when dropped.
#[derive(Debug)]
pub(super) struct Scratch(pub(super) PathBuf);

impl Scratch {
    /// Makes it below `above`, and takes away what processes left there that are gone.
    ///
    /// Files in memory come in pages of 4 KiB as systems are set up, each to be found, accounted for and
    /// put into its file, which takes longer than receiving its bytes. Disks' file systems have large
    /// pages by themselves (XFS, ext4). So where `above` is in memory, a mount with large pages lies
    /// over the directory, if the kernel has that (Linux 6.14).
    pub(super) fn make(above: &Path) -> Result<Self, LabError> {
        clear_leftovers(above);
        let path = above.join(format!("{STEM}{}", std::process::id()));
        let failed =
            |error: io::Error| LabError::system(format!("directory ({})", path.display()), &error);
        fs::create_dir_all(&path).map_err(failed)?;
        let scratch = Self(path.clone());
        if payload::in_memory(above).map_err(failed)? {
            let room = payload::free(above).map_err(failed)?;
            let options = CString::new(format!("huge=within_size,size={room}"))
                .map_err(|error| failed(error.into()))?;
            // Where it is refused files are in memory all the same.
            let _ = mount("fanfare-bench", &path, "tmpfs", MountFlags::empty(), &*options);
        }
        Ok(scratch)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        remove(&self.0);
    }
}

/// What is there is only ours, and of no use any more.
fn remove(path: &Path) {
    // Refused where nothing is mounted.
    let _ = unmount(path, UnmountFlags::DETACH);
    let _ = fs::remove_dir_all(path);
}

fn clear_leftovers(above: &Path) {
    for entry in fs::read_dir(above).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let maker = name.to_str().and_then(|name| name.strip_prefix(STEM)?.parse::<u32>().ok());
        if maker.is_some_and(|maker| !Path::new("/proc").join(maker.to_string()).exists()) {
            remove(&entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_gone_when_dropped_and_so_is_what_a_process_left_that_is_gone() {
        let above = std::env::temp_dir().join(format!("fanfare-scratch-{}", std::process::id()));
        // No process has such a number: Linux counts to 2^22.
        let left = above.join(format!("{STEM}4294967295"));
        let (living, others) = (above.join(format!("{STEM}1")), above.join("fanfare-bench-notes"));
        for directory in [&left, &living, &others] {
            fs::create_dir_all(directory).unwrap();
        }
        let scratch = Scratch::make(&above).unwrap();
        fs::write(scratch.0.join("file"), "bytes").unwrap();
        let path = scratch.0.clone();
        drop(scratch);
        assert!(!path.exists() && !left.exists() && living.exists() && others.exists());
        fs::remove_dir_all(above).unwrap();
    }
}
