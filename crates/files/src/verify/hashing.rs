//! A part read to its end, or as much of it as has not been hashed yet.

use std::io;

use fanfare_content::{
    manifest::unit::{self, UNIT, Unit},
    source::{Hashed, hash},
};
use fanfare_disk::{FileHandle, Reader};

use crate::file_storage::Units;

/// Root, length and manifest of a part of `size` bytes. Only those units are read whose hashes are not
/// known.
pub(super) fn hash_part(file: &dyn FileHandle, size: u64, units: &Units) -> io::Result<Hashed> {
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
