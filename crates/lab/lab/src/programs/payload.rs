//! The file that is sent: random bytes of a seed, so that no system can compress them, and memory
//! for its copies.

use std::{
    fs::{self, File},
    io::{self, Read as _, Write as _},
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

/// Files in memory (linux/magic.h).
const TMPFS_MAGIC: u64 = 0x0102_1994;
/// Bytes written at a time.
const PIECE: usize = 256 << 10;
/// Less memory is touched within the time of a few packets.
const WORTHWHILE: u64 = 64 << 20;
/// What fast transfers take in this time is ahead of them.
const SHED_INTERVAL: Duration = Duration::from_millis(20);
const AHEAD: u64 = 64 << 20;

/// Writes `size` bytes of this seed.
pub fn write(path: &Path, seed: u64, size: u64) -> io::Result<()> {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&seed.to_le_bytes());
    copy(&mut hasher.finalize_xof().take(size), File::create(path)?)
}

/// By pieces as large as receivers write: in memory the pages of a file are as large as what is written.
fn copy(from: &mut impl io::Read, to: File) -> io::Result<()> {
    let mut to = io::BufWriter::with_capacity(PIECE, to);
    io::copy(from, &mut to)?;
    to.flush()
}

/// Has the machine's host hand out as much memory as files of so many bytes in this directory will
/// take. What a virtual machine has not used for some seconds may have been given back, and comes page
/// by page when it is touched: files in memory were then written at an eighth of the speed.
pub fn touch_memory(directory: &Path, bytes: u64) -> io::Result<()> {
    MemoryReserve::take(directory, bytes).map(drop)
}

/// Memory that was touched and is kept in use until others need it, so that it cannot be given back
/// while a transfer takes its time. A file that gets shorter as others below the same mount grow.
#[derive(Debug)]
pub struct MemoryReserve {
    path: PathBuf,
    shed: Option<(Arc<AtomicBool>, JoinHandle<()>)>,
}

impl MemoryReserve {
    /// Takes so many bytes, where files are in memory.
    fn take(directory: &Path, bytes: u64) -> io::Result<Self> {
        let path = directory.join("ballast");
        if in_memory(directory)? {
            copy(&mut io::repeat(0).take(bytes), File::create(&path)?)?;
        }
        Ok(Self { path, shed: None })
    }

    /// Takes so many, and sheds as many as others take from now on.
    pub fn shedding(directory: &Path, bytes: u64) -> io::Result<Self> {
        let mut reserve = Self::take(directory, bytes)?;
        if bytes < WORTHWHILE || !reserve.path.exists() {
            return Ok(reserve);
        }
        let file = File::options().write(true).open(&reserve.path)?;
        let (over, from) = (Arc::new(AtomicBool::new(false)), free(directory)?);
        let (until, directory) = (Arc::clone(&over), directory.to_path_buf());
        let shed = move || {
            let mut left = bytes;
            while left > 0 && !until.load(Ordering::Relaxed) {
                thread::sleep(SHED_INTERVAL);
                let Ok(now) = free(&directory) else { return };
                let taken = (from + bytes - left).saturating_sub(now);
                left = left.min(bytes.saturating_sub(taken + AHEAD));
                // It is only less exact when this fails.
                let _ = file.set_len(left);
            }
        };
        reserve.shed = Some((over, thread::spawn(shed)));
        Ok(reserve)
    }
}

impl Drop for MemoryReserve {
    fn drop(&mut self) {
        if let Some((over, thread)) = self.shed.take() {
            over.store(true, Ordering::Relaxed);
            let _ = thread.join();
        }
        // Not there where files are not in memory.
        let _ = fs::remove_file(&self.path);
    }
}

/// Whether files in this directory are in memory.
pub fn in_memory(directory: &Path) -> io::Result<bool> {
    Ok(rustix::fs::statfs(directory)?.f_type as u64 == TMPFS_MAGIC)
}

/// Free bytes of the mount.
pub fn free(directory: &Path) -> io::Result<u64> {
    let room = rustix::fs::statvfs(directory)?;
    Ok(room.f_bavail * room.f_frsize)
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
