//! Where peers are found and made.

use std::path::{Path, PathBuf};

/// Where peers are found and made.
#[derive(Debug, Clone)]
pub struct Tools {
    /// Our own program.
    pub fanfare: PathBuf,
    /// Where compiled and fetched peers are kept.
    pub cache: PathBuf,
}

impl Tools {
    /// With peers in the user's cache.
    pub fn of(fanfare: &Path) -> Self {
        let home = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache"));
        let base = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from).or_else(home);
        let cache = base.unwrap_or_else(std::env::temp_dir).join("fanfare/peers");
        Self { fanfare: fanfare.to_owned(), cache }
    }
}
