//! How much of unfinished files stays for another attempt, and for how long.
//!
//! Each attempt that ends early leaves a part. Without a bound they would fill the volume: whoever can
//! send to the group can begin files and never end one.

use std::{
    path::Path,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use crate::content::pack::PACK_PART;
use fanfare_node::disk::{
    directory::{Directory, DirectoryError},
    name::PART_PREFIX,
};

use super::kept::{MANIFEST, PART, parse_hex, read_manifest};

/// Of its volume, parts take this share by default.
const SHARE: u64 = 10;
/// A transfer that nobody has tried again for a month will hardly be.
const AGE: Duration = Duration::from_secs(30 * 86_400);

/// How much of unfinished files stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PartLimits {
    /// Bytes on disk. `None`: a tenth of the volume, and the part written last even if it alone is
    /// more.
    pub space: Option<u64>,
    /// Since they were written last.
    pub age: Duration,
}

impl Default for PartLimits {
    fn default() -> Self {
        Self { space: None, age: AGE }
    }
}

/// An unfinished file that another attempt can begin from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptPart {
    /// The name of what is there.
    pub name: String,
    /// The first 8 bytes of the hash of the whole, in hexadecimal; `None`: it is of no use.
    pub hash: Option<String>,
    /// It is of many small files that travel together.
    pub is_pack: bool,
    /// Bytes of the whole, where that is known.
    pub size: Option<u64>,
    /// Bytes on disk.
    pub taken: u64,
    /// When it was written last.
    pub changed: SystemTime,
    /// A receiver is at work in it.
    pub in_use: bool,
}

/// The unfinished files in a directory that receives, oldest first.
///
/// # Errors
/// It is no directory, or cannot be opened.
pub fn list_parts(path: &Path) -> Result<Vec<KeptPart>, DirectoryError> {
    Ok(list(&Directory::open(path, false)?))
}

/// Removes what has not been written to for `age`, unless a receiver is at work in it. Returns what is
/// removed.
///
/// # Errors
/// It is no directory, or cannot be opened.
pub fn clean_parts(path: &Path, age: Duration) -> Result<Vec<KeptPart>, DirectoryError> {
    let directory = Directory::open(path, false)?;
    let old = |part: &KeptPart| age_of(part, SystemTime::now()) >= age;
    let mut parts = list(&directory);
    parts.retain(|part| !part.in_use && old(part));
    parts.iter().for_each(|part| remove(&directory, &part.name));
    Ok(parts)
}

pub(super) fn list(directory: &Directory) -> Vec<KeptPart> {
    let own = directory.own().into_iter().map(|(name, _)| name);
    let names = own.filter(|name| name.ends_with(PART));
    let mut parts: Vec<KeptPart> = names.filter_map(|name| look_at(directory, name)).collect();
    parts.sort_by(|a, b| (a.changed, &a.name).cmp(&(b.changed, &b.name)));
    parts
}

fn look_at(directory: &Directory, name: String) -> Option<KeptPart> {
    let file = directory.open_own(&name).ok()?;
    let found = file.handle().metadata().ok()?;
    let [seconds, nanoseconds, ..] = found.times;
    let since = Duration::new(
        u64::try_from(seconds).unwrap_or(0),
        u32::try_from(nanoseconds).unwrap_or(0).min(999_999_999),
    );
    let is_pack = name.ends_with(PACK_PART);
    let stem = name.strip_suffix(if is_pack { PACK_PART } else { PART }).unwrap_or(&name);
    let hash = stem.strip_prefix(PART_PREFIX).filter(|hex| parse_hex(hex).is_some());
    let size = match (hash, is_pack) {
        (Some(_), true) => Some(found.len),
        (Some(_), false) => {
            read_manifest(directory, &format!("{stem}{MANIFEST}")).map(|manifest| manifest.size())
        }
        (None, _) => None,
    };
    // Whoever writes to it has its lock; closing the file gives this one back.
    let in_use = file.handle().lock().is_err();
    let (hash, taken) = (hash.map(str::to_owned), found.taken);
    Some(KeptPart { name, hash, is_pack, size, taken, changed: UNIX_EPOCH + since, in_use })
}

fn age_of(part: &KeptPart, now: SystemTime) -> Duration {
    // A clock that was set back makes nothing old.
    now.duration_since(part.changed).unwrap_or_default()
}

pub(super) fn remove(directory: &Directory, name: &str) {
    directory.remove(name);
    if let Some(stem) = name.strip_suffix(PART).filter(|_| !name.ends_with(PACK_PART)) {
        directory.remove(&format!("{stem}{MANIFEST}"));
    }
}

/// Which of `parts`, oldest first, are too many at `now`, on a volume of `capacity` bytes.
pub(super) fn excess(
    parts: &[KeptPart],
    limits: PartLimits,
    (now, capacity): (SystemTime, u64),
) -> Vec<String> {
    let space = limits.space.unwrap_or(capacity / SHARE);
    let idle: Vec<&KeptPart> = parts.iter().filter(|part| !part.in_use).collect();
    let mut taken: u64 = idle.iter().map(|part| part.taken).sum();
    let last = idle.len().saturating_sub(1);
    let mut removed = Vec::new();
    for (number, part) in idle.into_iter().enumerate() {
        let is_spared = limits.space.is_none() && number == last;
        let is_too_much = taken > space && !is_spared;
        if is_too_much || age_of(part, now) > limits.age {
            taken -= part.taken;
            removed.push(part.name.clone());
        }
    }
    removed
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(name: &str, taken: u64, day: u64) -> KeptPart {
        KeptPart {
            name: name.to_owned(),
            hash: None,
            is_pack: false,
            size: None,
            taken,
            changed: UNIX_EPOCH + Duration::from_secs(day * 86_400),
            in_use: false,
        }
    }

    fn excess_of(parts: &[KeptPart], space: Option<u64>, day: u64) -> Vec<String> {
        let limits = PartLimits { space, ..PartLimits::default() };
        excess(parts, limits, (UNIX_EPOCH + Duration::from_secs(day * 86_400), 1000))
    }

    #[test]
    fn the_oldest_parts_go_until_the_others_fit() {
        let parts = [part("a", 50, 1), part("b", 50, 2), part("c", 50, 3)];
        assert_eq!(excess_of(&parts, Some(150), 4), [""; 0]);
        assert_eq!(excess_of(&parts, Some(149), 4), ["a"]);
        assert_eq!(excess_of(&parts, Some(0), 4), ["a", "b", "c"]);
    }

    #[test]
    fn by_default_a_tenth_of_the_volume_is_for_parts_and_the_last_one_stays() {
        let parts = [part("a", 60, 1), part("b", 500, 2)];
        assert_eq!(excess_of(&parts, None, 3), ["a"]);
        assert_eq!(excess_of(&parts[..1], None, 3), [""; 0]);
    }

    #[test]
    fn what_nobody_has_written_to_for_a_month_goes() {
        let parts = [part("a", 1, 1), part("b", 1, 2)];
        assert_eq!(excess_of(&parts, None, 31), [""; 0]);
        assert_eq!(excess_of(&parts, None, 32), ["a"]);
        assert_eq!(excess_of(&parts, None, 0), [""; 0], "a clock that was set back");
    }

    #[test]
    fn what_a_receiver_works_in_stays_and_does_not_count() {
        let busy = KeptPart { in_use: true, ..part("a", 500, 1) };
        assert_eq!(excess_of(&[busy, part("b", 50, 2)], Some(50), 60), ["b"], "a month");
        let busy = KeptPart { in_use: true, ..part("a", 500, 1) };
        assert_eq!(excess_of(&[busy, part("b", 50, 2)], Some(50), 3), [""; 0]);
    }
}
