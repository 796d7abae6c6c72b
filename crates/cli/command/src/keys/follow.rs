//! Key files that change while a program runs: `fanfare group keep` writes the group's new key where the
//! old one was.

use fanfare_udp::os::file::MetadataExt as _;
use std::{
    fs,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};

use crate::Failure;
use fanfare_node::{
    KeySource, Keys,
    seal::{Form, Key},
};

use crate::keys::file;

/// What tells that a file is another one than before: device, inode, length, and when it was changed.
type Stamp = Option<(u64, u64, u64, i64, i64)>;

/// The keys in these files, now and later.
pub fn keys(paths: &[PathBuf], form: Form) -> Result<Keys, Failure> {
    let files = KeyFiles::open(paths)?;
    let keys = files.lock().keys.clone();
    Ok(Keys::new(keys, form).following(Arc::new(files)))
}

#[derive(Debug)]
struct State {
    /// Counts changes.
    number: u64,
    keys: Vec<Key>,
    /// Of the files as they were read.
    stamps: Vec<Stamp>,
}

#[derive(Debug)]
struct KeyFiles {
    paths: Vec<PathBuf>,
    state: Mutex<State>,
}

impl KeyFiles {
    fn open(paths: &[PathBuf]) -> Result<Self, Failure> {
        // Stamps first: what is written meanwhile is read again.
        let stamps = stamps(paths);
        let keys = read(paths)?;
        let state = Mutex::new(State { number: 0, keys, stamps });
        Ok(Self { paths: paths.to_vec(), state })
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn read(paths: &[PathBuf]) -> Result<Vec<Key>, Failure> {
    paths.iter().map(|path| file::read(path)).collect()
}

fn stamps(paths: &[PathBuf]) -> Vec<Stamp> {
    let stamp = |path: &PathBuf| {
        let meta = fs::metadata(path).ok()?;
        Some((meta.dev(), meta.ino(), meta.len(), meta.mtime(), meta.mtime_nsec()))
    };
    paths.iter().map(stamp).collect()
}

impl KeySource for KeyFiles {
    /// A file that cannot be read or is no key changes nothing, and is looked at again.
    fn newer(&self, known: u64) -> Option<(u64, Vec<Key>)> {
        let mut state = self.lock();
        let stamps = stamps(&self.paths);
        if stamps != state.stamps
            && let Ok(keys) = read(&self.paths)
        {
            state.stamps = stamps;
            if keys != state.keys {
                state.number += 1;
                state.keys = keys;
            }
        }
        (state.number != known).then(|| (state.number, state.keys.clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(path: &PathBuf, key: &Key) {
        let new = path.with_extension("new");
        let _ = fs::remove_file(&new);
        file::write_private("key", &new, &key.to_text()).unwrap();
        fs::rename(&new, path).unwrap();
    }

    #[test]
    fn a_key_that_is_written_in_place_of_another_is_found_by_each_who_asks_and_a_broken_file_is_not()
     {
        let directory = std::env::temp_dir().join(format!("fanfare-follow-{}", std::process::id()));
        fs::create_dir_all(&directory).unwrap();
        let path = directory.join("key");
        let [one, two] = [1, 2].map(|n| Key::from_secret([n; 32], u32::from(n)));
        write(&path, &one);
        let files = KeyFiles::open(std::slice::from_ref(&path)).unwrap();
        assert_eq!(files.newer(0), None);
        fs::remove_file(&path).unwrap();
        assert_eq!(files.newer(0), None, "it is gone");
        file::write_private("key", &path, "fanfare-key 1\nepo").unwrap();
        assert_eq!(files.newer(0), None, "it is cut");
        write(&path, &two);
        for _ in 0..2 {
            assert_eq!(files.newer(0), Some((1, vec![two.clone()])), "each socket asks");
        }
        assert_eq!(files.newer(1), None);
        fs::remove_dir_all(&directory).unwrap();
    }
}
