//! The file that is sent: random bytes of a seed, so that no system can make them fewer, and memory for
//! its copies.

use std::{
    fs::{self, File},
    io::{self, Read as _},
    path::Path,
};

/// Files in memory (linux/magic.h).
const TMPFS_MAGIC: u64 = 0x0102_1994;

/// Writes `size` bytes of this seed.
pub(crate) fn write(path: &Path, seed: u64, size: u64) -> io::Result<()> {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&seed.to_le_bytes());
    io::copy(&mut hasher.finalize_xof().take(size), &mut File::create(path)?)?;
    Ok(())
}

/// Has the machine's host hand out as much memory as files of so many bytes in this directory will
/// take. What a virtual machine has not used for some seconds may have been given back, and comes page
/// by page when it is touched: files in memory were then written at an eighth of the speed.
pub(crate) fn touch_memory(directory: &Path, bytes: u64) -> io::Result<()> {
    if rustix::fs::statfs(directory)?.f_type as u64 != TMPFS_MAGIC {
        return Ok(());
    }
    let path = directory.join("touched");
    io::copy(&mut io::repeat(0).take(bytes), &mut File::create(&path)?)?;
    fs::remove_file(&path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_is_a_file_and_another_is_another() {
        let name = format!("fanfare-payload-{}", std::process::id());
        let of = |seed| {
            let path = std::env::temp_dir().join(&name);
            write(&path, seed, 100_000).unwrap();
            let bytes = fs::read(&path).unwrap();
            fs::remove_file(path).unwrap();
            bytes
        };
        let (one, again, other) = (of(1), of(1), of(2));
        assert!(one.len() == 100_000 && one == again && one != other);
    }
}
