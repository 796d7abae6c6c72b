//! Which packs an interrupted run has unpacked, so that they need not travel again: a file of our
//! own with their roots one after the other, gone when the run has ended well.
//!
//! It is a hint for the sender and trusted by nobody: what is claimed is read again and hashed.

use std::io::{Read, Write};

use rustix::fs::{Mode, OFlags};

use super::HASH;
use crate::directory::{Directory, open_beneath};

/// Its name.
const NAME: &str = ".fanfare-packs";
/// Roots that are read at most: more than a status has room for.
const READ_MAX: u64 = 256 * HASH as u64;

/// Adds the roots of packs that are in their place; durable with the next sync. Without it they
/// would travel again, no more.
pub(super) fn add(directory: &Directory, roots: &[[u8; HASH]]) {
    let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE;
    let mode = Mode::RUSR | Mode::WUSR;
    if let Ok(fd) = open_beneath(directory.as_fd(), NAME, flags, mode) {
        let _ = std::fs::File::from(fd).write_all(roots.as_flattened());
    }
}

/// Beginnings of the roots, each of 8 bytes, in the order in which the packs came.
pub(crate) fn held(directory: &Directory) -> Vec<u8> {
    let mut bytes = Vec::new();
    if let Ok(file) = directory.open_own(NAME) {
        // A last one that a crash cut short is none.
        let _ = file.take(READ_MAX).read_to_end(&mut bytes);
    }
    bytes.as_chunks::<HASH>().0.iter().flat_map(|root| &root[..8]).copied().collect()
}

/// Nothing will be resumed.
pub(crate) fn forget(directory: &Directory) {
    directory.remove(NAME);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;

    #[test]
    fn roots_are_found_again_until_they_are_forgotten() {
        let scratch = Scratch::new();
        let directory = Directory::open(scratch.path(), false).unwrap();
        assert!(held(&directory).is_empty());
        add(&directory, &[[1; HASH], [2; HASH]]);
        add(&directory, &[[3; HASH]]);
        assert_eq!(held(&directory), [[1; 8], [2; 8], [3; 8]].as_flattened());
        let path = scratch.path().join(NAME);
        std::fs::write(&path, &std::fs::read(&path).unwrap()[..70]).unwrap();
        assert_eq!(held(&directory), [[1; 8], [2; 8]].as_flattened(), "the third is torn");
        forget(&directory);
        assert!(held(&directory).is_empty() && directory.own().is_empty());
    }
}
