//! The files that travel: made from a seed, checked by BLAKE3.

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};

use crate::tool::{self, ToolError};

/// A file that was made for a run.
#[derive(Clone, Debug)]
pub struct Payload {
    /// Where the sender finds it.
    pub path: PathBuf,
    /// The name that receivers must give it.
    pub name: String,
    /// Bytes.
    pub size: u64,
    hash: blake3::Hash,
}

/// How a received copy compares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Same name, size and hash.
    Same,
    /// No file of that name.
    Absent,
    /// A file of that name with other content.
    Differs {
        /// Its size in bytes.
        size: u64,
    },
}

impl Payload {
    /// Makes `directory/name` with `size` bytes that depend on the name only.
    ///
    /// # Errors
    /// When the file can't be written.
    pub fn make(directory: &Path, name: &str, size: u64) -> Result<Self, ToolError> {
        let path = directory.join(name);
        let context = path.display().to_string();
        let mut source = blake3::Hasher::new().update(name.as_bytes()).finalize_xof();
        let mut hasher = blake3::Hasher::new();
        let mut file = BufWriter::new(File::create(&path).map_err(tool::at(&context))?);
        let mut chunk = vec![0; 1 << 16];
        let mut left = size;
        while left > 0 {
            let take = chunk.len().min(usize::try_from(left).unwrap_or(usize::MAX));
            source.fill(&mut chunk[..take]);
            hasher.update(&chunk[..take]);
            file.write_all(&chunk[..take]).map_err(tool::at(&context))?;
            left -= take as u64;
        }
        file.flush().map_err(tool::at(&context))?;
        Ok(Self { path, name: name.to_owned(), size, hash: hasher.finalize() })
    }

    /// Compares the copy below `directory`.
    pub fn check(&self, directory: &Path) -> Verdict {
        let copy = directory.join(&self.name);
        let Ok(meta) = copy.metadata() else { return Verdict::Absent };
        // Hashing only at full size keeps polling cheap while a file grows.
        if meta.len() == self.size && hash_of(&copy) == Some(self.hash) {
            Verdict::Same
        } else {
            Verdict::Differs { size: meta.len() }
        }
    }
}

/// Every entry directly below `directory` but a receiver's ledger, sorted; an unreadable directory
/// has none.
pub fn names_below(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let mut names: Vec<String> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.retain(|name| name != ".fanfare-ledger");
    names.sort();
    names
}

fn hash_of(path: &Path) -> Option<blake3::Hash> {
    let mut hasher = blake3::Hasher::new();
    hasher.update_reader(File::open(path).ok()?).ok()?;
    Some(hasher.finalize())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_is_the_same_only_with_the_same_bytes() {
        let base = std::env::temp_dir().join(format!("fanfare-payload-{}", std::process::id()));
        let (from, to) = (base.join("from"), base.join("to"));
        std::fs::create_dir_all(&from).unwrap();
        std::fs::create_dir_all(&to).unwrap();
        let payload = Payload::make(&from, "a.bin", 70_000).unwrap();
        assert_eq!(payload.check(&to), Verdict::Absent);
        std::fs::copy(&payload.path, to.join("a.bin")).unwrap();
        assert_eq!(payload.check(&to), Verdict::Same);
        std::fs::write(to.join("a.bin"), vec![0; 70_000]).unwrap();
        assert_eq!(payload.check(&to), Verdict::Differs { size: 70_000 });
        std::fs::remove_dir_all(base).unwrap();
    }
}
