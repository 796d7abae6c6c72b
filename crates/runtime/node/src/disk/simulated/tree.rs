//! Names and contents, and what changes them.

use std::{collections::BTreeMap, sync::Arc};

/// The directory that everything is in.
pub(super) const ROOT: u64 = 0;

/// Directories and files by number. What no name leads to is still there: somebody may have it
/// open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tree {
    pub(super) directories: BTreeMap<u64, BTreeMap<String, u64>>,
    pub(super) files: BTreeMap<u64, Arc<Vec<u8>>>,
}

/// One change.
#[derive(Debug, Clone)]
pub(super) enum Change {
    /// Names (directory, name, file or directory) set or, by `None`, taken away; all or none.
    Entries(Vec<(u64, String, Option<u64>)>),
    /// Bytes of a file, as far as its length goes.
    Data { file: u64, at: u64, bytes: Arc<Vec<u8>> },
    /// The length of a file.
    Length { file: u64, len: u64 },
}

impl Change {
    /// The file whose sync makes it durable.
    pub(super) fn file(&self) -> Option<u64> {
        match self {
            Self::Entries(_) => None,
            Self::Data { file, .. } | Self::Length { file, .. } => Some(*file),
        }
    }

    /// The directory whose sync makes it durable: where a name is given, or else taken.
    pub(super) fn directory(&self) -> Option<u64> {
        match self {
            Self::Entries(entries) => entries.last().map(|(directory, ..)| *directory),
            _ => None,
        }
    }

    /// What of it survives or not on its own: data by sectors.
    pub(super) fn pieces(&self, sector: u64) -> Vec<Self> {
        let Self::Data { file, at, bytes } = self else { return vec![self.clone()] };
        let (mut pieces, mut start) = (Vec::new(), 0);
        while start < bytes.len() {
            let at = at + start as u64;
            let end = bytes.len().min(start + (sector - at % sector) as usize);
            let bytes = Arc::new(bytes[start..end].to_vec());
            pieces.push(Self::Data { file: *file, at, bytes });
            start = end;
        }
        pieces
    }
}

impl Tree {
    pub(super) fn new() -> Self {
        Self { directories: BTreeMap::from([(ROOT, BTreeMap::new())]), files: BTreeMap::new() }
    }

    pub(super) fn child(&self, directory: u64, name: &str) -> Option<u64> {
        self.directories.get(&directory)?.get(name).copied()
    }

    /// Names that a file has.
    pub(super) fn links(&self, file: u64) -> u64 {
        let names = self.directories.values().flat_map(BTreeMap::values);
        names.filter(|number| **number == file).count() as u64
    }

    pub(super) fn apply(&mut self, change: &Change) {
        match change {
            Change::Entries(entries) => {
                for (directory, name, number) in entries {
                    let names = self.directories.entry(*directory).or_default();
                    match number {
                        Some(number) => names.insert(name.clone(), *number),
                        None => names.remove(name),
                    };
                }
            }
            Change::Data { file, at, bytes } => {
                let content = Arc::make_mut(self.files.entry(*file).or_default());
                let start = content.len().min(*at as usize);
                let end = content.len().min(*at as usize + bytes.len());
                content[start..end].copy_from_slice(&bytes[..end - start]);
            }
            Change::Length { file, len } => {
                Arc::make_mut(self.files.entry(*file).or_default()).resize(*len as usize, 0);
            }
        }
    }

    /// All files by path, from the root.
    pub fn paths(&self) -> BTreeMap<String, Arc<Vec<u8>>> {
        let mut paths = BTreeMap::new();
        self.collect(ROOT, "", &mut paths);
        paths
    }

    fn collect(&self, directory: u64, prefix: &str, into: &mut BTreeMap<String, Arc<Vec<u8>>>) {
        for (name, number) in &self.directories[&directory] {
            if let Some(content) = self.files.get(number) {
                into.insert(format!("{prefix}{name}"), content.clone());
            } else {
                self.collect(*number, &format!("{prefix}{name}/"), into);
            }
        }
    }

    /// Forgets what no name leads to.
    pub(super) fn forget_nameless(&mut self) {
        let (mut named, mut next) = (vec![ROOT], 0);
        while let Some(at) = named.get(next) {
            named.extend(self.directories.get(at).into_iter().flat_map(BTreeMap::values));
            next += 1;
        }
        self.directories.retain(|number, _| named.contains(number));
        self.files.retain(|number, _| named.contains(number));
    }
}
