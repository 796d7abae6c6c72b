//! A file read once to its end: root, length and manifest.

use std::io::{self, Read};

use fanfare_disk::{FileHandle, Reader};

use crate::{
    file_storage::Units,
    manifest::{
        GroupHasher, Manifest,
        unit::{self, UNIT, Unit},
    },
};

/// Bytes read at once: enough for BLAKE3's widest kernel.
const READ_BYTES: usize = 1 << 20;

/// What reading a file to its end tells of it.
#[derive(Debug)]
pub(crate) struct Hashed {
    pub(crate) root: [u8; 32],
    pub(crate) size: u64,
    /// When it has more than one group.
    pub(crate) manifest: Option<Manifest>,
}

/// BLAKE3, length and manifest of what is left to read, reported as it goes.
pub(crate) fn hash(file: &mut impl Read, report: &mut dyn FnMut(u64)) -> io::Result<Hashed> {
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

/// The same of a part of `size` bytes, of which only those units are read whose hashes are not known.
pub(crate) fn hash_part(file: &dyn FileHandle, size: u64, units: &Units) -> io::Result<Hashed> {
    let count = size.div_ceil(UNIT);
    let whole = file.metadata()?.len == size;
    if count < 2 || !whole || (0..count).all(|number| units.get(number).is_none()) {
        return hash(&mut Reader::new(file), &mut |_| {});
    }
    let mut buffer = vec![0; UNIT as usize];
    let mut read = |number: u64| {
        let offset = number * UNIT;
        let bytes = &mut buffer[..UNIT.min(size - offset) as usize];
        file.read_exact_at(bytes, offset).map(|()| Unit::of(number, bytes))
    };
    let all = (0..count).map(|number| units.get(number).map_or_else(|| read(number), Ok));
    let all = all.collect::<io::Result<Vec<Unit>>>()?;
    let (root, manifest) = unit::join(&all, size);
    Ok(Hashed { root, size, manifest })
}
