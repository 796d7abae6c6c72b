//! Hashes of 64 KiB each, of which a file's root and its manifest can be made without reading it once
//! more: what is hashed on its way to the disk is still in the processor's cache.

use blake3::{
    Hasher,
    hazmat::{ChainingValue, HasherExt},
};

use super::{
    GROUP_LOG2_MIN, GROUPS_MAX, Head, KIND, Manifest, VERSION, WITHOUT_MAX, is_zero, merge,
    merge_all,
};

/// Bytes of a unit: of the smallest group.
pub const UNIT: u64 = 1 << GROUP_LOG2_MIN;

/// The hash of one unit of a file that has more of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unit {
    value: ChainingValue,
    is_zero: bool,
}

impl Unit {
    /// Hashes the `number`th unit.
    pub fn of(number: u64, bytes: &[u8]) -> Self {
        let mut hasher = Hasher::new();
        hasher.set_input_offset(number * UNIT);
        hasher.update(bytes);
        Self { value: hasher.finalize_non_root(), is_zero: is_zero(bytes) }
    }

    /// True if all of its bytes are zeros.
    #[must_use]
    pub fn is_zero(&self) -> bool {
        self.is_zero
    }
}

/// Root and manifest of a file of `size` bytes, as [`super::GroupHasher`] makes them of its bytes.
///
/// # Panics
/// If these are not all of its units, or less than two.
pub fn join(units: &[Unit], size: u64) -> ([u8; 32], Option<Manifest>) {
    assert!(units.len() >= 2 && units.len() as u64 == size.div_ceil(UNIT), "all units of a file");
    let mut doublings = 0;
    while units.len().div_ceil(1 << doublings) > GROUPS_MAX {
        doublings += 1;
    }
    let of_group = |units: &[Unit]| {
        let values: Vec<ChainingValue> = units.iter().map(|unit| unit.value).collect();
        (merge(&values), units.iter().all(|unit| unit.is_zero))
    };
    let (groups, zeros): (Vec<ChainingValue>, Vec<bool>) =
        units.chunks(1 << doublings).map(of_group).unzip();
    let root = merge_all(&groups).unwrap_or_default();
    if size <= WITHOUT_MAX {
        return (root, None);
    }
    let any = zeros.contains(&true);
    let head = Head {
        version: VERSION,
        kind: KIND.to_owned(),
        root,
        size,
        group_log2: GROUP_LOG2_MIN + doublings,
        zeros: any.then_some(true),
        turn: None,
        nonce: None,
        signer: None,
        session: None,
        of: None,
    };
    (root, Some(Manifest { head, groups, zeros: if any { zeros } else { Vec::new() } }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::content::manifest::GroupHasher;

    fn units(content: &[u8]) -> Vec<Unit> {
        let chunks = content.chunks(UNIT as usize);
        (0..).zip(chunks).map(|(number, bytes)| Unit::of(number, bytes)).collect()
    }

    #[test]
    fn units_tell_what_the_whole_file_tells() {
        for (size, zeros) in [(65_537, 0), (1 << 20, 0), (3_000_001, 65_536), (2 << 20, 2 << 20)] {
            let mut content: Vec<u8> = (0..size).map(|n: u32| (n % 249) as u8 | 1).collect();
            content[size as usize - zeros..].fill(0);
            let mut hasher = GroupHasher::default();
            hasher.update(&content);
            let (root, length, manifest) = hasher.finish();
            assert_eq!(join(&units(&content), length), (root, manifest), "{size}");
            assert_eq!(root, *blake3::hash(&content).as_bytes());
        }
    }

    #[test]
    fn more_units_than_a_manifest_has_groups_are_joined_by_twos() {
        let size = (GROUPS_MAX as u64 + 1) * UNIT + 5;
        let mut hasher = GroupHasher::default();
        let mut all = Vec::new();
        for number in 0..size.div_ceil(UNIT) {
            let len = UNIT.min(size - number * UNIT) as usize;
            let bytes = vec![number as u8; len];
            hasher.update(&bytes);
            all.push(Unit::of(number, &bytes));
        }
        let (root, _, manifest) = hasher.finish();
        assert_eq!(join(&all, size), (root, manifest));
    }
}
