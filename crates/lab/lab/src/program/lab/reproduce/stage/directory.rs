//! Where the programs of a run have their files.

use std::{
    fs::{self, File},
    io::{self, Read as _},
    path::{Path, PathBuf},
};

use fanfare_command::{Exit, Failure};

/// A directory; gone with all that is in it when it is dropped.
#[derive(Debug)]
pub(in super::super) struct Directory(PathBuf);

impl Directory {
    /// A new one. Runs side by side of one process have different names.
    pub(in super::super) fn make(name: &str) -> Result<Self, Failure> {
        let path = std::env::temp_dir().join(format!("fanfare-{}-{name}", std::process::id()));
        let directory = Self(path);
        fs::create_dir_all(&directory.0).map_err(|error| directory.refused(&error))?;
        Ok(directory)
    }
    /// Where a file of it is.
    pub(in super::super) fn of(&self, name: impl AsRef<Path>) -> PathBuf {
        self.0.join(name)
    }
    /// A directory in it, made if it is not there.
    pub(in super::super) fn folder(&self, name: &str) -> Result<PathBuf, Failure> {
        let path = self.of(name);
        fs::create_dir_all(&path).map_err(|error| self.refused(&error))?;
        Ok(path)
    }
    /// A file of so many bytes by chance: zeros would not be sent.
    pub(in super::super) fn fill(
        &self,
        name: impl AsRef<Path>,
        bytes: u64,
    ) -> Result<PathBuf, Failure> {
        let path = self.of(name);
        let write = || -> io::Result<()> {
            let mut noise = File::open("/dev/urandom")?.take(bytes);
            io::copy(&mut noise, &mut File::create(&path)?).map(drop)
        };
        write().map_err(|error| self.refused(&error))?;
        Ok(path)
    }
    fn refused(&self, error: &io::Error) -> Failure {
        let text = format!("directory ({}): {error}", self.0.display());
        Failure::new(Exit::Resource, "lab.directory", text)
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_is_gone_with_its_files() {
        let directory = Directory::make("test-directory").unwrap();
        let folder = directory.folder("inbox").unwrap();
        let file = directory.fill(folder.join("noise"), 100).unwrap();
        assert_eq!(fs::metadata(&file).unwrap().len(), 100);
        drop(directory);
        assert!(!folder.exists());
    }
}
