//! What is to be sent: paths walked, standard input spooled, every file hashed.
//!
//! - `file`: one of them, ready to be sent; `options`: what of it is sent; `naming`: what receivers call it; `stamp`: how a change shows
//! - `hashing`: what reading a file tells of it; `error`: why something cannot be sent
//! - `links`: what becomes of symbolic links; `again`: what had changed; `streamed`: what is sent as it
//!   is read; `survey`: the same without reading

mod again;
mod error;
mod file;
mod hashing;
mod links;
mod naming;
mod options;
mod stamp;
mod streamed;
mod survey;

use std::{
    collections::VecDeque,
    fs::File,
    io::{self, Read, Seek, Write},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    sync::Arc,
};

pub use error::SourceError;
pub use file::SourceFile;
use file::{Content, Retaken};
pub(crate) use hashing::{Hashed, hash, hash_part};
pub use links::Links;
pub use naming::NamedPath;
pub use options::GatherOptions;
pub(crate) use stamp::Stamp;

use crate::{gatherer::Gatherer, pack::Finished, reach, stream::feed::StreamSource};

/// What the listing and the tree are called in receipts.
const LISTING: &str = "listing";
const TREE: &str = "tree";

/// What has been done while gathering, and what was left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gathering<'a> {
    /// A symbolic link that leads out of its directory, or nowhere, was left out.
    SkippedLink(&'a Path),
    /// Something that is no file was left out.
    SkippedOther(&'a Path),
    /// Bytes hashed so far, of all files known so far.
    Hashed(u64),
}

/// Objects to be sent, in order.
#[derive(Debug, Clone, Default)]
pub struct Sources {
    /// The objects: files, and packs of small ones.
    pub files: VecDeque<SourceFile>,
    /// Their bytes.
    pub bytes: u64,
    packs: u64,
    /// In their place: what is read and sent as it comes.
    pub(crate) stream: Option<StreamSource>,
}

/// Whether small files travel together. Plain NORM receivers cannot unpack them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Packing {
    /// Files below 64 KiB in packs, where there are at least 16 of them.
    #[default]
    Small,
    /// Every file is an object. Empty directories are not sent then.
    Never,
}

impl Sources {
    /// Walks and hashes `paths`: files, directories (whose own name becomes the first part of the
    /// names in them; entries sorted) and `-`, standard input under `stdin_name`.
    /// Many small files are packed.
    pub fn gather(
        paths: &[PathBuf],
        stdin_name: &str,
        report: &mut dyn FnMut(Gathering<'_>),
    ) -> Result<Self, SourceError> {
        Self::gather_with(paths, stdin_name, Packing::default(), report)
    }

    /// Files and directories to be sent, as [`Self::gather`] finds them, and nothing said meanwhile.
    ///
    /// ```
    /// use fanfare_files::Sources;
    /// let sources = Sources::of([concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")])?;
    /// assert_eq!(sources.file_count(), 1);
    /// # Ok::<(), fanfare_files::SourceError>(())
    /// ```
    ///
    /// # Errors
    /// A path cannot be read, or there is nothing to send.
    pub fn of(paths: impl IntoIterator<Item: Into<PathBuf>>) -> Result<Self, SourceError> {
        let paths: Vec<PathBuf> = paths.into_iter().map(Into::into).collect();
        Self::gather(&paths, "stdin", &mut |_| {})
    }

    /// As [`Self::gather`], with or without packs.
    pub fn gather_with(
        paths: &[PathBuf],
        stdin_name: &str,
        packing: Packing,
        report: &mut dyn FnMut(Gathering<'_>),
    ) -> Result<Self, SourceError> {
        let options = GatherOptions { packing, ..GatherOptions::called(stdin_name) };
        Self::gather_as(&named(paths), &options, report)
    }

    /// As [`Self::gather_with`], and at the end, as an object of its own, a listing of all that the
    /// directories among `paths` hold: receivers that allow it remove what else they have beneath
    /// them.
    pub fn gather_listed(
        paths: &[PathBuf],
        stdin_name: &str,
        packing: Packing,
        report: &mut dyn FnMut(Gathering<'_>),
    ) -> Result<Self, SourceError> {
        let options = GatherOptions { packing, listed: true, ..GatherOptions::called(stdin_name) };
        Self::gather_as(&named(paths), &options, report)
    }

    /// Walks and hashes all, each under the name that receivers are to give it.
    ///
    /// # Errors
    /// A path cannot be read, two have one name, or there is nothing to send.
    pub fn gather_as(
        paths: &[NamedPath],
        options: &GatherOptions,
        report: &mut dyn FnMut(Gathering<'_>),
    ) -> Result<Self, SourceError> {
        Self::check(paths)?;
        let names = naming::names(paths, &options.stdin_name, options.prefix.as_deref())?;
        let mut gatherer = Gatherer::new(options, report);
        for (path, name) in paths.iter().zip(names) {
            if path.is_stdin() {
                gatherer.take_input(&name, &mut io::stdin().lock())?;
            } else {
                gatherer.take_path(&path.path, name)?;
            }
        }
        gatherer.finish()
    }

    /// Makes sure that all that is named is there, before anything is read or hashed.
    ///
    /// # Errors
    /// Something is not.
    pub fn check(paths: &[NamedPath]) -> Result<(), SourceError> {
        let paths = paths.iter().filter(|path| !path.is_stdin());
        paths.map(|path| path.path.as_path()).try_for_each(check_readable)
    }

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
            let mut file = fanfare_disk::unnamed_file()?;
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

fn named(paths: &[PathBuf]) -> Vec<NamedPath> {
    paths.iter().map(NamedPath::from).collect()
}

fn check_readable(path: &Path) -> Result<(), SourceError> {
    let unreadable = |error| SourceError::Unreadable(path.to_owned(), error);
    let meta = std::fs::metadata(path).map_err(unreadable)?;
    // Opening a pipe would wait for its other end.
    if !meta.is_file() && !meta.is_dir() {
        return Err(SourceError::NotAFile(path.to_owned()));
    }
    File::open(path).map(|_| ()).map_err(unreadable)
}

#[cfg(test)]
mod tests {
    use fanfare_disk::scratch::Scratch;

    use super::*;

    fn gather(paths: &[PathBuf]) -> Result<(Vec<String>, usize), SourceError> {
        let mut skipped = 0;
        let mut report =
            |g: Gathering<'_>| skipped += usize::from(!matches!(g, Gathering::Hashed(_)));
        let sources = Sources::gather(paths, "stdin", &mut report)?;
        Ok((sources.files.iter().map(|file| file.name.clone()).collect(), skipped))
    }

    #[test]
    fn a_directory_gives_its_files_sorted_under_its_own_name_and_then_its_tree() {
        let scratch = Scratch::new();
        let root = scratch.path().join("photos");
        std::fs::create_dir_all(root.join("b/c")).unwrap();
        for file in ["z", "a", "b/2", "b/c/1"] {
            std::fs::write(root.join(file), file).unwrap();
        }
        std::os::unix::fs::symlink("b", root.join("link")).unwrap();
        rustix::fs::mknodat(
            rustix::fs::CWD,
            root.join("pipe"),
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RUSR,
            0,
        )
        .unwrap();
        let (names, skipped) = gather(&[root]).unwrap();
        assert_eq!(names, ["photos/a", "photos/b/2", "photos/b/c/1", "photos/z", "tree"]);
        assert_eq!(skipped, 1);
    }

    #[test]
    fn a_missing_file_is_named_before_anything_is_read() {
        let error = gather(&["/etc/hostname".into(), "x.bin".into()]).unwrap_err();
        assert_eq!(error.to_string(), "file (x.bin): there is no such file. Check its name");
    }

    #[test]
    fn an_empty_directory_is_nothing_to_send() {
        let scratch = Scratch::new();
        assert!(matches!(gather(&[scratch.path().into()]), Err(SourceError::Nothing)));
    }

    #[test]
    fn a_changed_file_is_noticed() {
        let scratch = Scratch::new();
        let path = scratch.path().join("f");
        std::fs::write(&path, "before").unwrap();
        let sources = Sources::gather(std::slice::from_ref(&path), "", &mut |_| {}).unwrap();
        assert!(sources.files[0].is_unchanged());
        std::fs::write(&path, "after it").unwrap();
        assert!(!sources.files[0].is_unchanged());
    }

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
