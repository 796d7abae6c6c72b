//! Directories for a run's files, in the system's temporary directory.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::tool::{self, ToolError};

/// They are named this, the process id, and a number.
const SCRATCH: &str = "fanfare-interop-";
static NEXT: AtomicU32 = AtomicU32::new(0);

/// A directory of this run; removed when dropped.
#[derive(Debug)]
pub struct Scratch {
    path: PathBuf,
}

impl Scratch {
    /// Makes it in the temporary directory.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn new() -> Result<Self, ToolError> {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("{SCRATCH}{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::create_dir_all(&path).map_err(tool::at(path.display()))?;
        Ok(Self { path })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// Removes the directories of runs that are no longer alive; returns their paths.
///
/// # Errors
/// When the temporary directory can't be read.
pub fn cleanup() -> Result<Vec<PathBuf>, ToolError> {
    let base = std::env::temp_dir();
    let mut removed = Vec::new();
    for entry in fs::read_dir(&base).map_err(tool::at(base.display()))?.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let owner = name.strip_prefix(SCRATCH).and_then(|rest| rest.split_once('-'));
        let Some(pid) = owner.and_then(|(pid, _)| pid.parse::<u32>().ok()) else { continue };
        if !Path::new("/proc").join(pid.to_string()).exists() {
            fs::remove_dir_all(entry.path()).map_err(tool::at(entry.path().display()))?;
            removed.push(entry.path());
        }
    }
    Ok(removed)
}
