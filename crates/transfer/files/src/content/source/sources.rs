//! Objects to be sent, in order, and how each is added.

use fanfare_udp::os::file::MetadataExt;
use std::{
    collections::VecDeque,
    fs::File,
    io::{self, Read, Seek, Write},
    path::{Path, PathBuf},
    sync::Arc,
};

use super::{Gathering, SourceError, SourceFile, Stamp, file::Content, hashing::hash};
use crate::content::{pack::Finished, reach, stream::StreamSource};

/// What the listing and the tree are called in receipts.
const LISTING: &str = "listing";
const TREE: &str = "tree";

/// Objects to be sent, in order.
#[derive(Debug, Clone, Default)]
pub struct Sources {
    /// The objects: files, and packs of small ones.
    pub files: VecDeque<SourceFile>,
    /// Their bytes.
    pub bytes: u64,
    packs: u64,
    /// In their place: what is read and sent as it comes.
    pub stream: Option<StreamSource>,
}

impl Sources {
    /// How many files are sent, those in packs counted each.
    #[must_use]
    pub fn file_count(&self) -> u64 {
        let files = self.files.iter().filter(|file| !file.comes_last());
        let files: u64 = files.map(|file| file.packed_files().unwrap_or(1)).sum();
        files + u64::from(self.is_stream())
    }

    /// Whether there are packs, which plain NORM receivers cannot unpack.
    #[must_use]
    pub fn has_packs(&self) -> bool {
        self.packs > 0
    }

    /// Adds a pack after the others.
    pub(crate) fn push_pack(&mut self, finished: Finished) {
        let Finished { pack, size, root } = finished;
        self.packs += 1;
        self.bytes += size;
        self.files.push_back(SourceFile {
            path: pack.first_path(),
            name: format!("pack {}", self.packs),
            size,
            root,
            manifest: None,
            mode: None,
            stamp: Stamp::none(size),
            content: Content::Pack(Arc::new(pack)),
            again: None,
        });
    }

    /// Adds the listing, after everything else.
    pub(crate) fn push_listing(&mut self, bytes: Vec<u8>) {
        self.push_last(LISTING, Content::Listing(Arc::new(bytes)));
    }

    /// Adds the tree, with so many links, after everything else and the listing.
    pub(crate) fn push_tree(&mut self, bytes: Vec<u8>, links: u64) {
        self.push_last(TREE, Content::Tree(Arc::new(bytes), links));
    }

    fn push_last(&mut self, name: &str, content: Content) {
        let (Content::Listing(bytes) | Content::Tree(bytes, _)) = &content else { return };
        let (size, root) = (bytes.len() as u64, *blake3::hash(bytes).as_bytes());
        self.bytes += size;
        let (path, name, stamp) = (PathBuf::from(name), name.to_owned(), Stamp::none(size));
        let (manifest, mode, again) = (None, None, None);
        let last = SourceFile { path, name, size, root, manifest, mode, stamp, content, again };
        self.files.push_back(last);
    }

    /// Adds a file as an object of its own.
    pub(crate) fn push_file(
        &mut self,
        path: &Path,
        name: String,
        report: &mut dyn FnMut(Gathering<'_>),
    ) -> Result<(), SourceError> {
        let unreadable = |error| SourceError::Unreadable(path.to_owned(), error);
        let file = reach::open(path).map_err(unreadable)?;
        let mode = Some(file.metadata().map_err(unreadable)?.mode() & 0o777);
        self.push_open(path, name, file, mode, report).map_err(unreadable)
    }

    /// Keeps everything from `input` in a temporary file that has no name, and takes that.
    pub(crate) fn push_spooled(
        &mut self,
        name: &str,
        input: &mut dyn Read,
        report: &mut dyn FnMut(Gathering<'_>),
    ) -> Result<(), SourceError> {
        let spool = |input: &mut dyn Read| -> io::Result<File> {
            let mut file = fanfare_node::disk::unnamed_file()?;
            io::copy(input, &mut file)?;
            file.flush()?;
            file.rewind()?;
            Ok(file)
        };
        let file = spool(input).map_err(SourceError::Spool)?;
        self.push_open(Path::new("-"), name.to_owned(), file, None, report)
            .map_err(SourceError::Spool)
    }

    fn push_open(
        &mut self,
        path: &Path,
        name: String,
        mut file: File,
        mode: Option<u32>,
        report: &mut dyn FnMut(Gathering<'_>),
    ) -> io::Result<()> {
        let stamp = Stamp::of(&file.metadata()?);
        let before = self.bytes;
        let hashed = hash(&mut file, &mut |read| report(Gathering::Hashed(before + read)))?;
        let (root, size, manifest) = (hashed.root, hashed.size, hashed.manifest.map(Arc::new));
        let path = path.to_owned();
        // Only what was spooled has no permissions of its own, and no path.
        let content = if mode.is_none() { Content::Spooled(Arc::new(file)) } else { Content::File };
        // A file that grew while it was hashed is noticed by its stamp at the end.
        let again = None;
        let file = SourceFile { path, name, size, root, manifest, mode, stamp, content, again };
        self.files.push_back(file);
        self.bytes += size;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn input_is_spooled_and_hashed() {
        let mut sources = Sources::default();
        sources.push_spooled("log", &mut &b"some input"[..], &mut |_| {}).unwrap();
        let file = &sources.files[0];
        assert_eq!((file.name.as_str(), file.size), ("log", 10));
        assert_eq!(file.root, *blake3::hash(b"some input").as_bytes());
        assert!(file.is_unchanged() && file.announcement().details.unwrap().mode.is_none());
    }
}
