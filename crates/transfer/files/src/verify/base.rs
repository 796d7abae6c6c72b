//! An older version of a file, where the new one is to be put: what of it is right need not travel.

use std::io;

use crate::content::manifest::Manifest;
use fanfare_node::disk::{FileHandle, directory::Directory, name::SafeName};

use super::Job;

/// Copies the groups that are right, and stay where they are, from the file of that name into the
/// part. The runs of bytes (offset, length) that are lacking then; `None` where there is no such file,
/// or nothing by which to tell.
pub(super) fn fill(directory: &Directory, job: &Job) -> Option<io::Result<Vec<(u64, u64)>>> {
    let manifest = job.manifest.as_ref()?;
    let name = SafeName::parse(&job.announcement.as_ref()?.name).ok()?;
    let base = directory.open_any(&name)?;
    Some(copy(&*base, job.part.file.handle(), manifest))
}

fn copy(
    base: &dyn FileHandle,
    part: &dyn FileHandle,
    manifest: &Manifest,
) -> io::Result<Vec<(u64, u64)>> {
    let mut buffer = Vec::new();
    let mut lacking = Vec::new();
    for number in 0..manifest.group_count() {
        let (offset, len) = manifest.group(number);
        buffer.resize(len as usize, 0);
        // What is zeros is taken to be there already.
        let right = manifest.is_zero(number)
            || (base.read_exact_at(&mut buffer, offset).is_ok()
                && manifest.is_group(number, &buffer));
        if !right {
            lacking.push(number);
        } else if !manifest.is_zero(number) {
            // Should it arrive at the same time, it is the same.
            part.write_all_at(&buffer, offset)?;
        }
    }
    Ok(manifest.runs(lacking.into_iter()))
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use crate::content::manifest::GroupHasher;
    use fanfare_node::disk::scratch::Scratch;

    use super::*;

    const GROUP: usize = 64 << 10;

    fn file(scratch: &Scratch, name: &str, bytes: &[u8]) -> File {
        let path = scratch.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        File::options().read(true).write(true).open(path).unwrap()
    }

    #[test]
    fn of_an_older_version_only_what_has_changed_is_lacking() {
        let scratch = Scratch::new();
        let old: Vec<u8> = (0..40 * GROUP).map(|n| (n % 251) as u8 ^ (n >> 16) as u8).collect();
        let mut new = old.clone();
        new[5 * GROUP] ^= 1;
        new[20 * GROUP..22 * GROUP].fill(0);
        new.extend(b"more");
        let mut hasher = GroupHasher::default();
        hasher.update(&new);
        let manifest = hasher.finish().2.unwrap();
        let (base, part) = (file(&scratch, "base", &old), file(&scratch, "part", b""));
        let lacking = copy(&base, &part, &manifest).unwrap();
        let group = GROUP as u64;
        assert_eq!(lacking, [(5 * group, group), (40 * group, 4)]);
        let mut there = std::fs::read(scratch.path().join("part")).unwrap();
        assert_eq!(there.len(), old.len());
        there[5 * GROUP..6 * GROUP].copy_from_slice(&new[5 * GROUP..6 * GROUP]);
        assert!(there[..] == new[..old.len()]);
        // A shorter one has what it has.
        let shorter = file(&scratch, "shorter", &old[..5 * GROUP + 9]);
        let lacking = copy(&shorter, &part, &manifest).unwrap();
        assert_eq!(lacking, [(5 * group, 15 * group), (22 * group, 18 * group + 4)]);
    }
}
