//! What is to be sent: paths walked, standard input spooled, every file hashed.
//!
//! - `options`: what of it is sent; `naming`: what receivers call it; `stamp`: how a change shows
//! - `hashing`: what reading a file tells of it; `error`: why something cannot be sent
//! - `survey`: the same without reading

mod error;
mod hashing;
mod naming;
mod options;
mod stamp;
mod survey;

use std::{
    collections::VecDeque,
    fs::File,
    io::{self, Read, Seek, Write},
    os::{
        fd::AsFd,
        unix::{ffi::OsStrExt, fs::MetadataExt},
    },
    path::{Path, PathBuf},
    sync::Arc,
};

pub use error::SourceError;
use fanfare_disk::name::{bytes_of, text_of};
use fanfare_proto::ObjectKind;
pub(crate) use hashing::{Hashed, hash, hash_part};
pub use naming::NamedPath;
pub use options::GatherOptions;
pub(crate) use stamp::Stamp;

use crate::{
    announcement::{Announcement, Details},
    gatherer::Gatherer,
    manifest::Manifest,
    pack::{Finished, Packed, PackedFiles},
    read_at::ReadAt,
    stream::feed::{Fed, StreamSource},
};

/// A file of which this share is zeros is sent on demand. That costs a few round trips, for the
/// requests; a quarter of a file that is long enough to have groups saves more.
const SPARSE_SHARE: u64 = 4;
/// What the listing is called in receipts.
const LISTING: &str = "listing";

/// A file that is ready to be sent: open, hashed and named.
#[derive(Debug, Clone)]
pub struct SourceFile {
    /// Where it is, for messages; `-` for standard input.
    pub path: PathBuf,
    /// Its name for receivers, relative, with `/` between parts.
    pub name: String,
    /// Bytes.
    pub size: u64,
    /// BLAKE3 hash of its content.
    pub root: [u8; 32],
    /// The hashes of its groups, when it has more than one.
    pub manifest: Option<Arc<Manifest>>,
    mode: Option<u32>,
    stamp: Stamp,
    content: Content,
}

/// Where the bytes of an object are.
#[derive(Debug, Clone)]
enum Content {
    /// In the file at its path.
    File,
    /// In a file that has no path to open again, and is kept open.
    Spooled(Arc<File>),
    /// In many files.
    Pack(Arc<Packed>),
    /// In memory: what the directories hold that are sent.
    Listing(Arc<Vec<u8>>),
    /// In memory: a piece of a stream.
    Piece(Box<Fed>),
}

impl SourceFile {
    /// What NORM_INFO says of it.
    #[must_use]
    pub fn announcement(&self) -> Announcement {
        if let Content::Piece(fed) = &self.content {
            let details = Details::of_piece(self.size, self.root, fed.piece.clone());
            return Announcement { name: Vec::new(), details: Some(details) };
        }
        if self.is_listing() {
            let details = Details::of_listing(self.size, self.root, None);
            return Announcement { name: Vec::new(), details: Some(details) };
        }
        if let Content::Pack(pack) = &self.content {
            let details = Details::of_pack(self.size, self.root, pack.files(), pack.head());
            return Announcement { name: Vec::new(), details: Some(details) };
        }
        let mtime = self.mode.map(|_| self.stamp.mtime().seconds);
        let details = Details::new(self.size, self.root, self.mode, mtime);
        Announcement {
            name: bytes_of(&self.name).into_owned(),
            details: Some(match mtime {
                Some(_) => details.at_nanoseconds(self.stamp.mtime().nanoseconds),
                None => details,
            }),
        }
    }

    /// The same where it is said of a pack that only what is asked for will come.
    pub(crate) fn announcement_sent(&self, on_demand: bool) -> Announcement {
        let mut announcement = self.announcement();
        if let Some(details) = announcement.details.as_mut().filter(|d| d.is_pack()) {
            details.on_demand = on_demand.then_some(true);
        }
        announcement
    }

    /// Files in it, when it is a pack.
    #[must_use]
    pub fn packed_files(&self) -> Option<u64> {
        match &self.content {
            Content::Pack(pack) => Some(pack.files()),
            Content::File | Content::Spooled(_) | Content::Listing(_) | Content::Piece(_) => None,
        }
    }

    /// Each of them.
    pub(crate) fn packed(&self) -> Option<PackedFiles> {
        match &self.content {
            Content::Pack(pack) => Some(PackedFiles(pack.clone())),
            Content::File | Content::Spooled(_) | Content::Listing(_) | Content::Piece(_) => None,
        }
    }

    /// A piece of a stream.
    pub(crate) fn piece_of(stream: &StreamSource, fed: Box<Fed>) -> Self {
        let size = fed.bytes.len() as u64;
        Self {
            path: stream.path.clone(),
            name: stream.name.clone(),
            size,
            root: fed.root,
            manifest: None,
            mode: None,
            stamp: Stamp::none(size),
            content: Content::Piece(fed),
        }
    }

    /// What a receipt says of it, bytes and hash; `None` for a piece in the middle of a stream.
    pub(crate) fn receipted(&self) -> Option<(u64, [u8; 32])> {
        match &self.content {
            Content::Piece(fed) => fed.piece.end.map(|end| (end.total, end.hash)),
            _ => Some((self.size, self.root)),
        }
    }

    /// Whether it is a piece of a stream.
    pub(crate) fn is_piece(&self) -> bool {
        matches!(self.content, Content::Piece(_))
    }

    /// Whether it is the listing, and no file.
    pub(crate) fn is_listing(&self) -> bool {
        matches!(self.content, Content::Listing(_))
    }

    /// Whether so much of it is zeros, by whole groups, that receivers had better ask for the rest.
    pub(crate) fn is_sparse(&self) -> bool {
        let runs = self.manifest.as_ref().map(|manifest| manifest.zero_runs()).unwrap_or_default();
        let zeros: u64 = runs.iter().map(|(_, len)| len).sum();
        zeros >= self.size / SPARSE_SHARE && zeros > 0
    }

    /// Files are files on the wire; a pack or a listing is data, so that plain receivers of files let
    /// it be.
    pub(crate) fn kind(&self) -> ObjectKind {
        match self.content {
            Content::Pack(_) | Content::Listing(_) | Content::Piece(_) => ObjectKind::Data,
            Content::File | Content::Spooled(_) => ObjectKind::File,
        }
    }

    /// The file that changed, when [`Self::is_unchanged`] says so: itself, or one in the pack.
    #[must_use]
    pub fn changed_path(&self) -> PathBuf {
        match &self.content {
            Content::Pack(pack) => pack.changed().unwrap_or(&self.path).clone(),
            Content::File | Content::Spooled(_) | Content::Listing(_) | Content::Piece(_) => {
                self.path.clone()
            }
        }
    }

    /// Whether the file is still what was hashed, as far as size and times tell. The files of a
    /// pack are looked at whenever they are read.
    #[must_use]
    pub fn is_unchanged(&self) -> bool {
        let meta = match &self.content {
            Content::Pack(pack) => return pack.changed().is_none(),
            Content::Listing(_) | Content::Piece(_) => return true,
            Content::Spooled(file) => file.metadata(),
            Content::File => std::fs::metadata(&self.path),
        };
        meta.is_ok_and(|meta| Stamp::of(&meta) == self.stamp)
    }

    /// The content for reading; `None` when it is no longer what was hashed.
    pub(crate) fn open(&self) -> Option<Arc<dyn ReadAt>> {
        match &self.content {
            Content::Pack(pack) => return Some(pack.clone()),
            Content::Spooled(file) => return Some(file.clone()),
            Content::Listing(bytes) => return Some(bytes.clone()),
            Content::Piece(fed) => return Some(fed.bytes.clone()),
            Content::File => {}
        }
        let file = File::open(&self.path).ok()?;
        let unchanged = Stamp::of(&file.metadata().ok()?) == self.stamp;
        unchanged.then(|| Arc::new(file) as Arc<dyn ReadAt>)
    }
}

/// What has been done while gathering, and what was left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gathering<'a> {
    /// A symbolic link in a directory was not followed.
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
    /// names in them; entries sorted, links skipped) and `-`, standard input under `stdin_name`.
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

    /// What `input` gives, read and sent as it comes, and called `name` at receivers. `path` is for
    /// messages.
    #[must_use]
    pub fn stream(input: File, path: &Path, name: &str) -> Self {
        let (path, name) = (path.to_owned(), name.to_owned());
        let stream = Some(StreamSource { path, name, input: Arc::new(input) });
        Self { stream, ..Self::default() }
    }

    /// What is at `path`, or standard input for `-`, read and sent as it comes: a file, a block device
    /// or a pipe. Standard input is called `stdin_name` at receivers.
    ///
    /// # Errors
    /// It cannot be opened, or is a directory.
    pub fn open_stream(path: &Path, stdin_name: &str) -> Result<Self, SourceError> {
        let unreadable = |error| SourceError::Unreadable(path.to_owned(), error);
        if path == Path::new("-") {
            let input = io::stdin().as_fd().try_clone_to_owned().map_err(unreadable)?;
            return Ok(Self::stream(File::from(input), path, stdin_name));
        }
        let input = File::open(path).map_err(unreadable)?;
        if input.metadata().map_err(unreadable)?.is_dir() {
            return Err(SourceError::NotAStream(path.to_owned()));
        }
        let name = text_of(path.file_name().unwrap_or_default().as_bytes());
        Ok(Self::stream(input, path, &name))
    }

    /// Whether it is sent as it is read, and how much there is will be known in the end.
    #[must_use]
    pub fn is_stream(&self) -> bool {
        self.stream.is_some()
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
        let files = self.files.iter().filter(|file| !file.is_listing());
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
        });
    }

    /// Adds the listing, after everything else.
    pub(crate) fn push_listing(&mut self, bytes: Vec<u8>) {
        let size = bytes.len() as u64;
        self.bytes += size;
        self.files.push_back(SourceFile {
            path: PathBuf::from(LISTING),
            name: LISTING.to_owned(),
            size,
            root: *blake3::hash(&bytes).as_bytes(),
            manifest: None,
            mode: None,
            stamp: Stamp::none(size),
            content: Content::Listing(Arc::new(bytes)),
        });
    }

    /// Adds a file as an object of its own.
    pub(crate) fn push_file(
        &mut self,
        path: &Path,
        name: String,
        report: &mut dyn FnMut(Gathering<'_>),
    ) -> Result<(), SourceError> {
        let unreadable = |error| SourceError::Unreadable(path.to_owned(), error);
        let file = File::open(path).map_err(unreadable)?;
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
        let file = SourceFile { path, name, size, root, manifest, mode, stamp, content };
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
    fn a_directory_gives_its_files_sorted_under_its_own_name_without_links() {
        let scratch = Scratch::new();
        let root = scratch.path().join("photos");
        std::fs::create_dir_all(root.join("b/c")).unwrap();
        for file in ["z", "a", "b/2", "b/c/1"] {
            std::fs::write(root.join(file), file).unwrap();
        }
        std::os::unix::fs::symlink("/etc", root.join("link")).unwrap();
        let (names, skipped) = gather(&[root]).unwrap();
        assert_eq!(names, ["photos/a", "photos/b/2", "photos/b/c/1", "photos/z"]);
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
