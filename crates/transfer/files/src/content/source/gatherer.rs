//! From what a user names to objects: trees walked, small files packed, the others taken one by one.
//! What the directories are beside their files is noted on the way.

use fanfare_udp::os::{file::MetadataExt, text::OsStrExt};
use std::{
    io::{self, Read},
    path::{Path, PathBuf},
    sync::Arc,
};

use super::{
    Extent, GatherOptions, Gathering, Links, NamedPath, Packing, SourceError, Sources, Stamp,
    walk::{Choice, Found, Walk},
};
use crate::content::{
    listing::{Kind, Lister},
    pack::{Packer, Rest, Root, Taken, alone, is_long},
    reach,
    selection::Selection,
    tree::{Collector, stays_inside},
};

/// Between two reports of small files, bytes: a report for each would cost more than hashing it.
const REPORT_BYTES: u64 = 1 << 20;

/// Gathers sources.
pub(super) struct Gatherer<'a> {
    sources: Sources,
    packer: Option<Packer>,
    lister: Option<Lister>,
    collector: Collector,
    links: Links,
    /// Directories that links led to, and in which it is now, by device and inode.
    following: Vec<(u64, u64)>,
    /// There is a link, or another name of a file.
    has_links: bool,
    report: &'a mut dyn FnMut(Gathering<'_>),
    selection: Selection,
    /// Bytes of small files not yet in a finished pack, and of those when they were last reported.
    pending: u64,
    reported: u64,
}

impl<'a> Gatherer<'a> {
    pub(super) fn new(options: &GatherOptions, report: &'a mut dyn FnMut(Gathering<'_>)) -> Self {
        let packer = (options.packing == Packing::Small).then(Packer::default);
        let lister = options.listed.then(Lister::default);
        let (sources, selection) = (Sources::default(), options.selection.clone());
        Self {
            sources,
            packer,
            lister,
            collector: Collector::new(options.carried),
            links: options.links,
            following: Vec::new(),
            has_links: false,
            report,
            selection,
            pending: 0,
            reported: 0,
        }
    }

    /// Everything from `input`, called `name`.
    pub(super) fn take_input(
        &mut self,
        name: &str,
        input: &mut dyn Read,
    ) -> Result<(), SourceError> {
        self.lister.iter_mut().for_each(|lister| lister.add_alone(name));
        self.sources.push_spooled(name, input, self.report)
    }

    /// What was named, as far as it is to be sent.
    pub(super) fn take_named(
        &mut self,
        named: &NamedPath,
        name: String,
    ) -> Result<(), SourceError> {
        let path = &*named.path;
        match named.extent {
            Extent::Whole => return self.take_path(path, name),
            Extent::Around => return self.note_directory(path, &name),
            Extent::Bare => return self.take_directory(path, &name),
            Extent::Found => {}
        }
        let meta = reach::symlink_metadata(path);
        let meta = meta.map_err(|error| SourceError::Unreadable(path.to_owned(), error))?;
        if meta.is_file() || meta.is_dir() {
            return self.take_path(path, name);
        }
        let root = Arc::new(Root { path: path.to_owned(), name: name.clone() });
        let found = match meta.is_symlink() {
            true => self.take_link(&root, named.depth(), path.to_owned(), name)?,
            false => Some(Found::Other(path.to_owned())),
        };
        match found {
            Some(Found::File(path, name)) => self.take_file(&root, &path, name)?,
            Some(Found::Other(path)) => (self.report)(Gathering::SkippedOther(&path)),
            _ => {}
        }
        Ok(())
    }

    /// A file or a directory, whose name becomes the first part of the names in it.
    fn take_path(&mut self, path: &Path, name: String) -> Result<(), SourceError> {
        let unreadable = |error| SourceError::Unreadable(path.to_owned(), error);
        let meta = reach::metadata(path).map_err(unreadable)?;
        let root = Arc::new(Root { path: path.to_owned(), name: name.clone() });
        if meta.is_file() {
            self.take_file(&root, path, name)
        } else if meta.is_dir() {
            self.lister.as_mut().map_or(Ok(()), |lister| lister.begin(&name))?;
            self.walk(&root, path, &name)?
                .try_for_each(|found| self.take_found(&root, &name, found?))
        } else {
            Err(SourceError::NotAFile(path.to_owned()))
        }
    }

    fn walk(&self, root: &Root, path: &Path, name: &str) -> Result<Walk, SourceError> {
        let choice = Choice { root: root.path.clone(), selection: self.selection.clone() };
        Walk::new(path, name, choice)
    }

    /// `top`: the name of the directory that links may not lead out of.
    fn take_found(&mut self, root: &Arc<Root>, top: &str, found: Found) -> Result<(), SourceError> {
        let selected = found.is_taken(&root.path, &self.selection);
        if let Found::Directory(path, name) = &found {
            return if selected { self.note_directory(path, name) } else { Ok(()) };
        }
        let found = match found {
            Found::Link(path) if selected => {
                let Some(name) = root.name_of(&path) else { return Ok(()) };
                let depth = name.matches('/').count() - top.matches('/').count() - 1;
                match self.take_link(root, depth, path, name)? {
                    Some(found) => found,
                    None => return Ok(()),
                }
            }
            other => other,
        };
        // What is left out is there: receivers do not remove theirs for it.
        let found = if selected { found } else { Found::Other(found.into_path()) };
        let sends_directories = self.packer.is_some();
        if let Some(lister) = &mut self.lister {
            let late = sends_directories && is_hard_link(&self.collector, &found);
            list(lister, root, &found, sends_directories, late);
        }
        match found {
            Found::File(path, name) => self.take_file(root, &path, name)?,
            Found::EmptyDirectory(path, name) => self.take_directory(&path, &name)?,
            Found::Directory(..) | Found::Link(_) | Found::LeftOut(_) => {}
            Found::Other(path) if selected => (self.report)(Gathering::SkippedOther(&path)),
            Found::Other(_) => {}
        }
        Ok(())
    }

    /// A symbolic link, so many directories below the one that it may not lead out of. What is to be taken in its place, or noted of it.
    fn take_link(
        &mut self,
        root: &Arc<Root>,
        depth: usize,
        path: PathBuf,
        name: String,
    ) -> Result<Option<Found>, SourceError> {
        let unreadable = |error| SourceError::Unreadable(path.clone(), error);
        let target = reach::read_link(&path).map_err(unreadable)?;
        let leads_out = !stays_inside(depth, target.as_os_str().as_bytes());
        match self.links {
            Links::Refuse if leads_out => Err(SourceError::LeadsOut(path, target)),
            Links::Skip if leads_out => {
                (self.report)(Gathering::SkippedLink(&path));
                Ok(Some(Found::Link(path)))
            }
            Links::Follow if leads_out => self.follow(root, path, name),
            _ => {
                let meta = reach::symlink_metadata(&path).map_err(unreadable)?;
                let target = target.into_os_string().into_encoded_bytes();
                self.collector.add_link(&meta, &name, target);
                self.has_links = true;
                Ok(Some(Found::Link(path)))
            }
        }
    }

    /// What a link leads to, in its place.
    fn follow(
        &mut self,
        root: &Arc<Root>,
        path: PathBuf,
        name: String,
    ) -> Result<Option<Found>, SourceError> {
        let Ok(meta) = reach::metadata(&path) else {
            // It leads nowhere.
            (self.report)(Gathering::SkippedLink(&path));
            return Ok(Some(Found::Link(path)));
        };
        let inode = (meta.dev(), meta.ino());
        if meta.is_file() {
            return Ok(Some(Found::File(path, name)));
        } else if !meta.is_dir() {
            return Ok(Some(Found::Other(path)));
        } else if self.following.contains(&inode) {
            // In circles.
            (self.report)(Gathering::SkippedLink(&path));
            return Ok(Some(Found::Link(path)));
        }
        self.following.push(inode);
        let mut walk = self.walk(root, &path, &name)?;
        let taken = walk.try_for_each(|found| self.take_found(root, &name, found?));
        self.following.pop();
        taken.map(|()| None)
    }

    fn note_directory(&mut self, path: &Path, name: &str) -> Result<(), SourceError> {
        let directory = reach::open(path);
        let noted = directory.and_then(|open| self.collector.add_directory(&open, name));
        noted.map_err(|error| SourceError::Unreadable(path.to_owned(), error))
    }

    /// Whether a file of the tree has been taken under another name. Otherwise what it has beside its
    /// content is noted.
    fn is_noted(&mut self, path: &Path, name: &str) -> io::Result<bool> {
        let meta = reach::metadata(path)?;
        if let Some(first) = self.collector.first_name(&meta, name).map(str::to_owned) {
            self.collector.add_hard_link(&meta, name, first);
            self.has_links = true;
            // Plain NORM receivers have no other way to get it.
            return Ok(self.packer.is_some());
        }
        if self.collector.wants_files() {
            self.collector.add_file(&reach::open(path)?, name)?;
        }
        Ok(false)
    }

    fn take_directory(&mut self, path: &Path, name: &str) -> Result<(), SourceError> {
        self.note_directory(path, name)?;
        if let Some(packer) = &mut self.packer {
            let meta = reach::metadata(path);
            let meta = meta.map_err(|error| SourceError::Unreadable(path.to_owned(), error))?;
            packer.take_directory(name, meta.mode() & 0o777, Stamp::of(&meta).mtime());
            self.take_full();
        }
        Ok(())
    }

    fn take_file(
        &mut self,
        root: &Arc<Root>,
        path: &Path,
        name: String,
    ) -> Result<(), SourceError> {
        let is_noted = self.is_noted(path, &name);
        if is_noted.map_err(|error| SourceError::Unreadable(path.to_owned(), error))? {
            return Ok(());
        }
        let taken = match &mut self.packer {
            Some(packer) => packer.take(root, path, &name),
            None => Ok(Taken::No),
        };
        match taken.map_err(|error| SourceError::Unreadable(path.to_owned(), error))? {
            Taken::Yes(bytes) => {
                self.pending += bytes;
                let hashed = self.sources.bytes + self.pending;
                if hashed >= self.reported + REPORT_BYTES {
                    self.reported = hashed;
                    (self.report)(Gathering::Hashed(hashed));
                }
                self.take_full();
                Ok(())
            }
            Taken::No if self.packer.is_some() && is_long(&name) => {
                let pack = alone(root, path, &name);
                match pack.map_err(|error| SourceError::Unreadable(path.to_owned(), error))? {
                    Some(finished) => self.sources.push_pack(finished),
                    None => self.sources.push_file(path, name, self.report)?,
                }
                Ok(())
            }
            Taken::No => self.sources.push_file(path, name, self.report),
        }
    }

    fn take_full(&mut self) {
        if let Some(finished) = self.packer.as_mut().and_then(Packer::full) {
            self.pending = 0;
            self.sources.push_pack(finished);
        }
    }

    /// What was gathered. Empty directories alone are nothing.
    pub(super) fn finish(mut self) -> Result<Sources, SourceError> {
        let last = match self.packer.take().map(Packer::finish) {
            None => None,
            Some(Rest::Pack(last)) => last,
            Some(Rest::Files(files, directories)) => {
                for (root, name) in files {
                    self.sources.push_file(&root.path_of(&name), name.into(), self.report)?;
                }
                directories.filter(|_| !self.sources.files.is_empty())
            }
        };
        if let Some(finished) = last {
            self.sources.push_pack(finished);
        }
        let listing = self.lister.take().map(Lister::finish).transpose()?;
        if self.sources.files.is_empty() && !self.has_links {
            return Err(SourceError::Nothing);
        }
        let tree = self.collector.finish().map_err(SourceError::TreeTooLong)?;
        listing.into_iter().for_each(|listing| self.sources.push_listing(listing));
        tree.into_iter().for_each(|(tree, links)| self.sources.push_tree(tree, links));
        Ok(self.sources)
    }
}

/// Tells whether it is another name of a file of the tree. Receivers make it after they have acted on the
/// listing, as all links.
fn is_hard_link(collector: &Collector, found: &Found) -> bool {
    let Found::File(path, name) = found else { return false };
    // What cannot be read is told where it is taken.
    reach::metadata(path).is_ok_and(|meta| collector.has_other_name(&meta, name))
}

/// `late`: it comes with the tree, as another name of a file.
fn list(lister: &mut Lister, root: &Root, found: &Found, sends_directories: bool, late: bool) {
    let (name, kind) = match found {
        Found::File(_, name) if late => (name.clone(), Kind::Other),
        Found::File(_, name) => (name.clone(), Kind::File),
        Found::EmptyDirectory(_, name) if sends_directories => (name.clone(), Kind::Directory),
        Found::EmptyDirectory(_, name) => (name.clone(), Kind::UnsentDirectory),
        Found::Directory(..) => return,
        Found::Link(path) | Found::Other(path) | Found::LeftOut(path) => match root.name_of(path) {
            Some(name) => (name, Kind::Other),
            None => return,
        },
    };
    lister.add(&name, kind);
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use fanfare_node::disk::scratch::Scratch;

    use super::*;
    use crate::content::{listing::ListingError, read_at::ReadAt};

    fn tree(files: usize, size: impl Fn(usize) -> usize) -> (Scratch, PathBuf) {
        let scratch = Scratch::new();
        let root = scratch.path().join("t");
        for n in 0..files {
            let directory = root.join(format!("d{}", n % 3));
            std::fs::create_dir_all(&directory).unwrap();
            std::fs::write(directory.join(format!("{n:04}")), vec![n as u8; size(n)]).unwrap();
        }
        (scratch, root)
    }

    fn gather(root: &Path, packing: Packing) -> Sources {
        Sources::gather_with(&[root.to_owned()], "", packing, &mut |_| {}).unwrap()
    }

    fn read(content: &dyn ReadAt, piece: usize) -> io::Result<Vec<u8>> {
        let (mut all, mut buffer) = (Vec::new(), vec![0; piece]);
        loop {
            match content.read_at(&mut buffer, all.len() as u64)? {
                0 => return Ok(all),
                count => all.extend_from_slice(&buffer[..count]),
            }
        }
    }

    #[test]
    fn from_sixteen_small_files_on_they_travel_together() {
        let (_scratch, root) = tree(15, |n| n);
        assert!(!gather(&root, Packing::Small).has_packs());
        let (_scratch, root) = tree(16, |n| n);
        let sources = gather(&root, Packing::Small);
        assert_eq!((sources.files.len(), sources.file_count()), (2, 16));
        assert_eq!(gather(&root, Packing::Never).files.len(), 17);
    }

    #[test]
    fn files_of_64_kib_are_objects_of_their_own() {
        let (_scratch, root) = tree(20, |n| if n == 7 { 65_536 } else { 65_535 });
        let sources = gather(&root, Packing::Small);
        let names: Vec<&str> = sources.files.iter().map(|file| file.name.as_str()).collect();
        assert_eq!((names, sources.file_count()), (vec!["t/d1/0007", "pack 1", "tree"], 20));
    }

    #[test]
    fn a_pack_holds_at_most_four_mib_and_4096_files() {
        let (_scratch, root) = tree(200, |_| 60_000);
        let sources = gather(&root, Packing::Small);
        assert!((4..8).contains(&sources.files.len()), "{}", sources.files.len());
        assert!(sources.files.iter().all(|pack| pack.size < (4 << 20) + 100_000));
        let (_scratch, root) = tree(4100, |_| 1);
        let sources = gather(&root, Packing::Small);
        let files: Vec<Option<u64>> = sources.files.iter().map(|f| f.packed_files()).collect();
        assert!(files.iter().flatten().all(|files| *files <= 4096), "{files:?}");
        assert_eq!(files.iter().flatten().sum::<u64>(), 4100);
    }

    #[test]
    fn a_file_that_comes_or_goes_changes_few_packs() {
        let (_scratch, root) = tree(600, |n| 20_000 + n);
        let before = gather(&root, Packing::Small).files;
        std::fs::write(root.join("d0/0000-new"), "new").unwrap();
        std::fs::remove_file(root.join("d1/0301")).unwrap();
        let after = gather(&root, Packing::Small).files;
        let roots: Vec<[u8; 32]> = before.iter().map(|pack| pack.root).collect();
        let others = after.iter().filter(|pack| !roots.contains(&pack.root)).count();
        // Two packs, and the tree.
        assert!(others <= 3 && after.len() > 4, "{others} of {}", after.len());
    }

    #[test]
    fn what_is_read_is_what_was_hashed_in_pieces_of_any_length() {
        let (_scratch, root) = tree(50, |n| n % 7 * 300);
        let sources = gather(&root, Packing::Small);
        let pack = &sources.files[0];
        let content = pack.open().unwrap();
        for piece in [1, 1400, 1 << 20] {
            let bytes = read(&*content, piece).unwrap();
            assert_eq!(
                (bytes.len() as u64, *blake3::hash(&bytes).as_bytes()),
                (pack.size, pack.root)
            );
        }
    }

    #[test]
    fn a_file_that_changes_before_it_is_sent_is_named() {
        let (_scratch, root) = tree(50, |_| 100);
        let sources = gather(&root, Packing::Small);
        let changed = root.join("d1/0004");
        std::fs::write(&changed, vec![0; 100]).unwrap();
        let pack = &sources.files[0];
        assert!(read(&*pack.open().unwrap(), 1400).is_err());
        assert_eq!((pack.is_unchanged(), pack.changed_path()), (false, changed));
    }

    fn listed(paths: &[PathBuf], packing: Packing) -> Result<Sources, SourceError> {
        Sources::gather_listed(paths, "t/stdin", packing, &mut |_| {})
    }

    #[test]
    fn a_listing_comes_after_the_files_and_names_links_and_whatever_else_is_there() {
        let (_scratch, root) = tree(3, |_| 1);
        std::fs::create_dir(root.join("e")).unwrap();
        std::os::unix::fs::symlink("e", root.join("link")).unwrap();
        for packing in [Packing::Small, Packing::Never] {
            let sources = listed(std::slice::from_ref(&root), packing).unwrap();
            let last = &sources.files[sources.files.len() - 2];
            assert!(sources.files.back().unwrap().is_tree());
            assert!(last.is_listing() && sources.file_count() == 3, "{last:?}");
            assert_eq!(last.kind(), fanfare_proto::ObjectKind::Data);
            let bytes = read(&*last.open().unwrap(), 1000).unwrap();
            assert_eq!(*blake3::hash(&bytes).as_bytes(), last.root);
            let text = String::from_utf8_lossy(&bytes);
            assert!(text.starts_with("FNLS") && text.contains("link") && text.contains("0002"));
        }
    }

    #[test]
    fn without_a_directory_or_with_an_empty_one_there_is_no_listing() {
        let (scratch, root) = tree(3, |_| 1);
        let alone = root.join("d0/0000");
        let why = |paths: &[PathBuf]| match listed(paths, Packing::Small) {
            Err(SourceError::Listing(why)) => why,
            other => panic!("{other:?}"),
        };
        assert_eq!(why(std::slice::from_ref(&alone)), ListingError::NoDirectory);
        let empty = scratch.path().join("empty");
        std::fs::create_dir(&empty).unwrap();
        assert_eq!(why(&[root, empty]), ListingError::Empty("empty".into()));
    }

    #[test]
    fn empty_directories_travel_in_a_pack_even_where_files_do_not() {
        let (_scratch, root) = tree(2, |_| 1);
        std::fs::create_dir(root.join("empty")).unwrap();
        let sources = gather(&root, Packing::Small);
        let files: Vec<Option<u64>> = sources.files.iter().map(|f| f.packed_files()).collect();
        assert_eq!(files, [None, None, Some(0), None]);
        assert_eq!(gather(&root, Packing::Never).files.len(), 3);
    }
}
