//! How much a directory holds, and how much room there is.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use crate::tool::{self, ToolError};

/// What a directory holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Size {
    /// Files, directories, links and whatever else has a name.
    pub entries: u64,
    /// Bytes of the files; a file of several names counts once.
    pub bytes: u64,
}

impl Size {
    /// Walks through a directory.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn of(path: &Path) -> Result<Self, ToolError> {
        let mut size = Self::default();
        size.add(path, &mut BTreeSet::new())?;
        Ok(size)
    }

    fn add(&mut self, path: &Path, linked: &mut BTreeSet<(u64, u64)>) -> Result<(), ToolError> {
        let told = || tool::at(path.display());
        for entry in fs::read_dir(path).map_err(told())? {
            let entry = entry.map_err(told())?;
            let path = entry.path();
            let meta = fs::symlink_metadata(&path).map_err(tool::at(path.display()))?;
            self.entries += 1;
            if meta.is_dir() {
                self.add(&path, linked)?;
            } else if meta.is_file()
                && (meta.nlink() == 1 || linked.insert((meta.dev(), meta.ino())))
            {
                self.bytes += meta.len();
            }
        }
        Ok(())
    }
}

/// Bytes that are free where this is.
///
/// # Errors
/// When the system does not say.
pub(crate) fn room(path: &Path) -> Result<u64, ToolError> {
    let there =
        rustix::fs::statvfs(path).map_err(|errno| tool::at(path.display())(errno.into()))?;
    Ok(there.f_bavail.saturating_mul(there.f_frsize))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;

    #[test]
    fn a_file_of_two_names_counts_once_and_what_links_lead_to_does_not() {
        let scratch = Scratch::new().unwrap();
        let path = scratch.path();
        fs::create_dir(path.join("d")).unwrap();
        fs::write(path.join("d/one"), [1; 100]).unwrap();
        fs::hard_link(path.join("d/one"), path.join("two")).unwrap();
        std::os::unix::fs::symlink("d/one", path.join("three")).unwrap();
        assert_eq!(Size::of(path).unwrap(), Size { entries: 4, bytes: 100 });
    }
}
