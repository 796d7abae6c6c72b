//! Parts that stay from one attempt to the next: of a file with the manifest that it is checked by,
//! of a pack alone, for its head does that. A part of a file without a manifest is not trusted, and
//! not kept.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::Read,
    sync::Arc,
};

use crate::content::{
    manifest::{MANIFEST_MAX, Manifest},
    pack::PACK_PART,
};
use fanfare_node::disk::{Reader, directory::Directory, name::PART_PREFIX};

pub(super) const PART: &str = ".part";
pub(super) const MANIFEST: &str = ".manifest";
/// A manifest that was being saved.
const UNSAVED: &str = ".manifest.new";
/// A manifest's head and its length, on disk: more than they take.
const HEAD_MAX: u64 = 256;
/// Manifests in memory; others are read again from disk.
const FRESH_MAX: usize = 64;

/// The parts kept in one directory.
#[derive(Debug)]
pub(super) struct Kept {
    directory: Arc<Directory>,
    /// By the beginning of their root: bytes of the file, of which a part may have fewer.
    parts: BTreeMap<[u8; 8], u64>,
    /// Beginnings of roots of which there is a manifest and no part: their files had got their
    /// names when a receiver was killed, and nobody has put it on record.
    placed: BTreeSet<[u8; 8]>,
    /// Manifests that came lately.
    fresh: BTreeMap<[u8; 32], Arc<Manifest>>,
}

impl Kept {
    /// What an earlier run has left.
    pub(super) fn scan(directory: Arc<Directory>) -> Self {
        let own: BTreeMap<String, u64> = directory.own().into_iter().collect();
        let (mut parts, mut placed) = (BTreeMap::new(), BTreeSet::new());
        for (name, _) in own.iter().filter(|(name, _)| name.ends_with(MANIFEST)) {
            let stem = name.trim_end_matches(MANIFEST);
            let root = stem.strip_prefix(PART_PREFIX).and_then(parse_hex);
            match (root, own.get(&format!("{stem}{PART}"))) {
                (Some(root), Some(len)) => {
                    parts.insert(root, read_manifest(&directory, name).map_or(*len, |m| m.size()));
                }
                // Its part has become a file, which is looked for when it is announced.
                (root, _) => {
                    placed.extend(root);
                    directory.remove(name);
                }
            }
        }
        parts.extend(own.iter().filter_map(|(name, size)| Some((pack_root(name)?, *size))));
        let untrusted = |name: &&String| {
            let stem = name.strip_suffix(PART).filter(|_| pack_root(name).is_none());
            let alone = stem.is_some_and(|stem| !own.contains_key(&format!("{stem}{MANIFEST}")));
            alone || name.ends_with(UNSAVED)
        };
        own.keys().filter(untrusted).for_each(|name| remove_unless_in_use(&directory, name));
        Self { directory, parts, placed, fresh: BTreeMap::new() }
    }

    /// Whether a part is of a file of just so many bytes: it may be the object's that begins.
    pub(super) fn has_size(&self, size: u64) -> bool {
        self.parts.values().any(|part| *part == size)
    }

    pub(super) fn has(&self, root: &[u8; 32]) -> bool {
        self.parts.contains_key(&start(root))
    }

    /// Beginnings of roots, for the status.
    pub(super) fn roots(&self) -> Vec<u8> {
        self.parts.keys().chain(&self.placed).flatten().copied().collect()
    }

    /// A manifest has come. Returns what to save, and under which name, when it is new.
    pub(super) fn learn(&mut self, manifest: Arc<Manifest>) -> Option<(String, Vec<u8>)> {
        let root = manifest.root();
        if self.manifest(&root).is_some() {
            return None;
        }
        if self.fresh.len() >= FRESH_MAX {
            self.fresh.pop_first();
        }
        let save = (manifest_name(&root), manifest.to_disk());
        self.fresh.insert(root, manifest);
        Some(save)
    }

    /// The manifest of a root, if there is one.
    pub(super) fn manifest(&self, root: &[u8; 32]) -> Option<Arc<Manifest>> {
        if let Some(manifest) = self.fresh.get(root) {
            return Some(manifest.clone());
        }
        let manifest = read_manifest(&self.directory, &manifest_name(root));
        manifest.filter(|manifest| manifest.root() == *root).map(Arc::new)
    }

    /// Bytes of a file of this size that are no zeros, at least, by the manifests that came lately; `None`
    /// if there is none of that size.
    pub(super) fn needs(&self, size: u64) -> Option<u64> {
        let known = self.fresh.values().filter(|manifest| manifest.size() == size);
        known.map(|manifest| size.saturating_sub(zeros_of(manifest))).min()
    }

    /// Bytes of the file of a root that are zeros, as far as its manifest is known.
    pub(super) fn zeros(&self, root: &[u8; 32]) -> u64 {
        self.manifest(root).map_or(0, |manifest| zeros_of(&manifest))
    }

    /// A part of this root is there from now on.
    pub(super) fn keep(&mut self, root: &[u8; 32], size: u64) {
        self.parts.insert(start(root), size);
    }

    /// The part of that name has been removed.
    pub(super) fn on_removed(&mut self, name: &str) {
        let stem = name.strip_suffix(PACK_PART).or_else(|| name.strip_suffix(PART));
        if let Some(root) = stem.and_then(|stem| parse_hex(stem.strip_prefix(PART_PREFIX)?)) {
            self.parts.remove(&root);
        }
    }

    /// The file is whole, or not wanted. Returns the name of the manifest, to be removed after it
    /// may have been saved. The part is not removed: once it is a file, another receiver in this
    /// directory may have begun one of that name.
    pub(super) fn forget(&mut self, root: &[u8; 32]) -> String {
        self.parts.remove(&start(root));
        self.placed.remove(&start(root));
        self.fresh.remove(root);
        manifest_name(root)
    }
}

fn zeros_of(manifest: &Manifest) -> u64 {
    manifest.zero_runs().iter().map(|(_, len)| len).sum()
}

pub(super) fn read_manifest(directory: &Directory, name: &str) -> Option<Manifest> {
    let file = directory.open_own(name).ok()?;
    let mut bytes = Vec::new();
    let reader = Reader::new(file.handle());
    reader.take(MANIFEST_MAX + HEAD_MAX).read_to_end(&mut bytes).ok()?;
    Manifest::from_disk(&bytes)
}

/// What a crash has left without a manifest is of no use. Another receiver may be at work in the
/// same directory: whoever writes to a part holds its lock.
pub(super) fn remove_unless_in_use(directory: &Directory, name: &str) {
    let Ok(file) = directory.open_own(name) else { return };
    if file.handle().lock().is_ok() {
        directory.remove(name);
    }
}

/// Removes all parts that earlier runs have left, unless another receiver is at work in them.
pub(crate) fn discard_parts(directory: &Directory) {
    let own = || directory.own().into_iter().map(|(name, _)| name);
    own().filter(|name| name.ends_with(PART)).for_each(|name| {
        remove_unless_in_use(directory, &name);
    });
    let left: BTreeSet<String> = own().collect();
    let alone = |name: &&String| {
        let stem = name.strip_suffix(MANIFEST);
        stem.is_some_and(|stem| !left.contains(&format!("{stem}{PART}")))
    };
    left.iter().filter(alone).for_each(|name| directory.remove(name));
}

fn start(root: &[u8; 32]) -> [u8; 8] {
    root.first_chunk().copied().unwrap_or_default()
}

fn stem(root: &[u8; 32]) -> String {
    let hex = blake3::Hash::from_bytes(*root).to_hex();
    format!("{PART_PREFIX}{}", &hex[..16])
}

pub(super) fn part_name(root: &[u8; 32]) -> String {
    stem(root) + PART
}

/// The beginning of the root of the pack that this is the part of, if it is one.
fn pack_root(name: &str) -> Option<[u8; 8]> {
    parse_hex(name.strip_prefix(PART_PREFIX)?.strip_suffix(PACK_PART)?)
}

fn manifest_name(root: &[u8; 32]) -> String {
    stem(root) + MANIFEST
}

pub(super) fn parse_hex(hex: &str) -> Option<[u8; 8]> {
    let number = u64::from_str_radix(hex, 16).ok().filter(|_| hex.len() == 16);
    number.map(u64::to_be_bytes)
}

#[cfg(test)]
mod tests {
    use crate::content::manifest::GroupHasher;
    use fanfare_node::disk::scratch::Scratch;

    use super::*;

    fn manifest() -> Arc<Manifest> {
        let mut hasher = GroupHasher::default();
        hasher.update(&vec![5; 3 << 20]);
        Arc::new(hasher.finish().2.unwrap())
    }

    #[test]
    fn a_part_that_cannot_be_trusted_is_removed_unless_somebody_writes_to_it() {
        let scratch = Scratch::new();
        let directory = Arc::new(Directory::open(scratch.path(), false).unwrap());
        let left = [".fanfare-1-2-3.part", ".fanfare-00000000000000ff.manifest.new"];
        left.iter().for_each(|name| std::fs::write(scratch.path().join(name), "x").unwrap());
        let busy = directory.create_own(".fanfare-1-2-4.part").unwrap();
        busy.handle().lock().unwrap();
        Kept::scan(directory.clone());
        let names: Vec<String> = directory.own().into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, [".fanfare-1-2-4.part"]);
    }

    #[test]
    fn a_part_with_its_manifest_is_found_again_and_a_manifest_alone_tells_of_a_file() {
        let scratch = Scratch::new();
        let directory = Arc::new(Directory::open(scratch.path(), false).unwrap());
        let manifest = manifest();
        let root = manifest.root();
        let mut kept = Kept::scan(directory.clone());
        let (name, bytes) = kept.learn(manifest.clone()).unwrap();
        directory.save(&name, &bytes).unwrap();
        assert!(kept.learn(manifest.clone()).is_none());
        std::fs::write(scratch.path().join(part_name(&root)), vec![0; 3 << 20]).unwrap();
        let kept = Kept::scan(directory.clone());
        assert!(kept.has(&root) && kept.has_size(3 << 20));
        assert_eq!((kept.manifest(&root), kept.roots()), (Some(manifest), root[..8].to_vec()));
        directory.remove(&part_name(&root));
        let mut kept = Kept::scan(directory.clone());
        assert!(!kept.has(&root) && directory.own().is_empty());
        assert_eq!(kept.roots(), root[..8], "its file may be in its place");
        kept.forget(&root);
        assert!(kept.roots().is_empty());
    }
}
