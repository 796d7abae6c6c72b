//! A file read once to its end: root, length and manifest.

use std::io;

use fanfare_node::disk::SkipHole;

use crate::content::manifest::{GroupHasher, Manifest, is_zero};

/// Bytes read at once: enough for BLAKE3's widest kernel.
const READ_BYTES: usize = 1 << 20;

/// Bytes of a hole between two reports: some seconds of hashing.
const HOLE_STEP: u64 = 8 << 30;

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
///
/// A hole is hashed as the zeros that it stands for, and not read: reading one costs more than hashing it. Files
/// without zeros are not asked for holes.
pub fn hash(file: &mut impl SkipHole, report: &mut dyn FnMut(u64)) -> io::Result<Hashed> {
    let mut hasher = GroupHasher::default();
    let mut buffer = vec![0; READ_BYTES];
    loop {
        match file.read(&mut buffer) {
            Ok(0) => {
                let (root, size, manifest) = hasher.finish();
                return Ok(Hashed { root, size, manifest });
            }
            Ok(count) => {
                let bytes = &buffer[..count];
                hasher.update(bytes);
                report(hasher.count());
                let mut hole = if is_zero(bytes) { file.skip_hole()? } else { 0 };
                while hole > 0 {
                    let step = hole.min(HOLE_STEP);
                    hasher.update_zeros(step);
                    report(hasher.count());
                    hole -= step;
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fanfare_node::disk::{FileHandle as _, Reader, scratch::Scratch};
    use std::{
        fs::File,
        io::{Read, Seek as _},
    };

    const MIB: u64 = 1 << 20;

    /// A file that counts what is read of it.
    struct Counted {
        file: File,
        read: u64,
    }

    impl Read for Counted {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            let count = self.file.read(into)?;
            self.read += count as u64;
            Ok(count)
        }
    }

    impl SkipHole for Counted {
        fn skip_hole(&mut self) -> io::Result<u64> {
            self.file.skip_hole()
        }
    }

    #[test]
    fn a_hole_is_hashed_as_zeros_wherever_it_is_and_however_long() {
        let scratch = Scratch::new();
        let mut rng = fanfare_proto::rng::Rng::new(7);
        for round in 0..40 {
            let size = 1 + rng.below(40 * MIB);
            let path = scratch.path().join(round.to_string());
            let mut file =
                File::options().read(true).write(true).create_new(true).open(path).unwrap();
            file.set_len(size).unwrap();
            for _ in 0..rng.below(5) {
                let (at, len) = (rng.below(size), 1 + rng.below(70_000));
                let bytes = vec![rng.below(2) as u8; len.min(size - at) as usize];
                fanfare_node::disk::FileHandle::write_at(&file, &bytes, at).unwrap();
            }
            let mut content = Vec::new();
            file.read_to_end(&mut content).unwrap();
            file.rewind().unwrap();
            let (root, mut whole) = (*blake3::hash(&content).as_bytes(), GroupHasher::default());
            whole.update(&content);
            let manifest = whole.finish().2;
            let by_file = hash(&mut file, &mut |_| {}).unwrap();
            let by_reader = hash(&mut Reader::new(&file), &mut |_| {}).unwrap();
            for found in [by_file, by_reader] {
                assert_eq!((found.root, found.size), (root, size), "round {round}");
                assert_eq!(found.manifest, manifest, "round {round}");
            }
        }
    }

    #[test]
    fn of_a_gigabyte_with_a_few_bytes_in_it_a_few_megabytes_are_read() {
        let scratch = Scratch::new();
        let path = scratch.path().join("disk");
        let mut file = File::options().read(true).write(true).create_new(true).open(path).unwrap();
        file.set_len(1 << 30).unwrap();
        for at in [0, 300 * MIB + 5, 800 * MIB] {
            fanfare_node::disk::FileHandle::write_at(&file, b"data", at).unwrap();
        }
        // A file system that keeps no holes has nothing to leave out.
        let has_holes = file.hole_at(10 * MIB) > 0;
        file.rewind().unwrap();
        let mut counted = Counted { file, read: 0 };
        let mut reported = Vec::new();
        let hashed = hash(&mut counted, &mut |bytes| reported.push(bytes)).unwrap();
        assert_eq!((hashed.size, reported.last()), (1 << 30, Some(&(1 << 30))));
        assert!(!has_holes || counted.read < 16 * MIB, "{} bytes were read", counted.read);
        assert!(hashed.manifest.unwrap().zero_runs().len() >= 3);
    }
}
