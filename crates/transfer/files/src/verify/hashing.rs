//! A part read to its end, or as much of it as has not been hashed yet.

use std::io;

use crate::content::{
    manifest::unit::{self, UNIT, Unit},
    source::{Hashed, hash},
};
use fanfare_node::disk::{FileHandle, Reader};

use crate::file_storage::{UNITS_MAX, Units};

/// Root, length and manifest of a part of `size` bytes. Only those units are read whose hashes are not
/// known, and of these only what is no hole.
pub(super) fn hash_part(file: &dyn FileHandle, size: u64, units: &Units) -> io::Result<Hashed> {
    let count = size.div_ceil(UNIT);
    let whole = file.metadata()?.len == size;
    // Of a larger file most are not known, and there is no room for all.
    let joined = 2..=UNITS_MAX;
    if !joined.contains(&count) || !whole || (0..count).all(|number| units.get(number).is_none()) {
        return hash(&mut Reader::new(file), &mut |_| {});
    }
    let mut buffer = vec![0; UNIT as usize];
    let mut hole_end = 0;
    let mut read = |number: u64| {
        let offset = number * UNIT;
        let end = size.min(offset + UNIT);
        let bytes = &mut buffer[..(end - offset) as usize];
        if end <= hole_end {
            bytes.fill(0);
            return Ok(Unit::of(number, bytes));
        }
        file.read_exact_at(bytes, offset)?;
        let unit = Unit::of(number, bytes);
        if unit.is_zero() {
            hole_end = end + file.hole_at(end);
        }
        Ok(unit)
    };
    let all = (0..count).map(|number| units.get(number).map_or_else(|| read(number), Ok));
    let all = all.collect::<io::Result<Vec<Unit>>>()?;
    let (root, manifest) = unit::join(&all, size);
    Ok(Hashed { root, size, manifest })
}
