//! A file read once to its end: root, length and manifest.

use std::io::{self, Read};

use crate::manifest::{GroupHasher, Manifest};

/// Bytes read at once: enough for BLAKE3's widest kernel.
const READ_BYTES: usize = 1 << 20;

/// What reading a file to its end tells of it.
#[derive(Debug)]
pub struct Hashed {
    /// BLAKE3 hash of all of it.
    pub root: [u8; 32],
    /// Bytes.
    pub size: u64,
    /// When it has more than one group.
    pub manifest: Option<Manifest>,
}

/// BLAKE3, length and manifest of what is left to read, reported as it goes.
pub fn hash(file: &mut impl Read, report: &mut dyn FnMut(u64)) -> io::Result<Hashed> {
    let mut hasher = GroupHasher::default();
    let mut buffer = vec![0; READ_BYTES];
    loop {
        match file.read(&mut buffer) {
            Ok(0) => {
                let (root, size, manifest) = hasher.finish();
                return Ok(Hashed { root, size, manifest });
            }
            Ok(count) => {
                hasher.update(&buffer[..count]);
                report(hasher.count());
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}
