//! A directory for one test, gone with it.

use std::{
    path::{Path, PathBuf},
    sync::atomic::{AtomicU32, Ordering},
};

static NEXT: AtomicU32 = AtomicU32::new(0);
/// Files in memory are synced as fast on any machine. There are at most so many at a time, bytes.
const MEMORY: &str = "/dev/shm";
const ROOM: u64 = 1 << 30;

fn place() -> PathBuf {
    let room =
        fanfare_udp::os::fs::statvfs(MEMORY).is_ok_and(|at| at.f_bavail * at.f_frsize >= ROOM);
    if room { PathBuf::from(MEMORY) } else { std::env::temp_dir() }
}

/// The directory; dropped, it is gone.
#[derive(Debug)]
pub struct Scratch(PathBuf);

impl Scratch {
    /// A new one, in memory where there is room.
    #[must_use]
    pub fn new() -> Self {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = place().join(format!("fanfare-test-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Default for Scratch {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
