//! A listing and the directories here, side by side.

use fanfare_udp::os::fd::{AsFd, BorrowedFd};
use std::{cmp::Ordering, ffi::CString, io::Read};

use fanfare_node::disk::{name::bytes_of, placement::numbered};
use fanfare_udp::os::io::Errno;

use super::{
    Kind,
    extras::{Bounds, Extras, Obstacle, Place, visit},
    instead::DisplacedFiles,
    reader::{ListingReader, ReadError},
    tree::{self, Name},
};

impl From<ReadError> for Obstacle {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::Malformed => Self::Malformed,
            ReadError::Io(error) => {
                let errno = Errno::from_io_error(&error).unwrap_or(Errno::IO);
                Self::Disk("the listing".to_owned(), errno)
            }
        }
    }
}

/// One way through both.
pub(super) struct Comparison<'a, R> {
    listing: ListingReader<R>,
    bounds: Bounds<'a>,
    /// Files that a conflict has given a number stay beside the one whose name they have.
    keep_numbered: bool,
    /// Files that are kept aside, because something else has their names.
    instead: &'a DisplacedFiles,
    /// What is here and not listed.
    extras: &'a mut dyn Extras,
    found: ComparisonResult,
}

/// Result of one way through both.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct ComparisonResult {
    /// Directories that are listed, at the top.
    pub(super) roots: Vec<String>,
    /// Names that something of another kind has here.
    pub(super) in_the_way: Vec<InTheWay>,
}

/// A listed name that something of another kind has here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct InTheWay {
    pub(super) path: String,
    /// At the sender it is a directory.
    pub(super) is_directory_there: bool,
    /// Here it is a directory.
    pub(super) is_directory_here: bool,
}

/// The next thing that is listed in a directory.
enum Listed {
    /// The entry itself.
    Entry(Kind),
    /// A directory with entries in it.
    Within,
}

impl<'a, R: Read> Comparison<'a, R> {
    /// Goes through all that is beneath the roots in `target`.
    pub(super) fn run(
        input: R,
        target: BorrowedFd<'_>,
        bounds: Bounds<'a>,
        keep_numbered: bool,
        instead: &'a DisplacedFiles,
        extras: &'a mut dyn Extras,
    ) -> Result<ComparisonResult, Obstacle> {
        let listing = ListingReader::open(input)?;
        let found = ComparisonResult::default();
        let mut comparison = Self { listing, bounds, keep_numbered, instead, extras, found };
        while let Some((name, _)) = comparison.listing.present() {
            let root = name.split('/').next().unwrap_or_default().to_owned();
            comparison.enter(target, &root, &root)?;
            comparison.found.roots.push(root);
        }
        Ok(comparison.found)
    }

    /// Goes through the directory `name` in `parent`, which has entries.
    fn enter(&mut self, parent: BorrowedFd<'_>, name: &str, path: &str) -> Result<(), Obstacle> {
        self.bounds.check()?;
        let found = CString::new(&*bytes_of(name)).map_err(|_| Obstacle::Malformed)?;
        match tree::open(parent, &found, self.bounds.device) {
            Ok(opened) => self.compare(opened.as_fd(), path),
            Err(errno) => {
                let obstacle = Obstacle::of(path, errno);
                match obstacle {
                    Obstacle::NotADirectory(_) if self.instead.may_be_placed() => {
                        self.pass_listed(path)?;
                        self.visit_in_the_way(Place { parent, name: &found, path }, true)
                    }
                    obstacle => Err(obstacle),
                }
            }
        }
    }

    /// Goes on behind everything that is listed in a directory, all of which has to be kept aside.
    fn pass_listed(&mut self, path: &str) -> Result<(), Obstacle> {
        let prefix = format!("{path}/");
        while let Some((name, kind)) =
            self.listing.present().filter(|(name, _)| name.starts_with(&prefix))
        {
            if kind == Kind::File && !self.instead.holds(name) {
                return Err(Obstacle::NotADirectory(path.to_owned()));
            }
            self.listing.advance()?;
        }
        Ok(())
    }

    /// Something of another kind has a listed name: it goes with everything in it.
    fn visit_in_the_way(
        &mut self,
        place: Place<'_>,
        is_directory_there: bool,
    ) -> Result<(), Obstacle> {
        let path = place.path.to_owned();
        let is_directory_here = !is_directory_there;
        self.found.in_the_way.push(InTheWay { path, is_directory_there, is_directory_here });
        visit(self.extras, place, self.bounds, 0)
    }

    fn compare(&mut self, directory: BorrowedFd<'_>, path: &str) -> Result<(), Obstacle> {
        let prefix = format!("{path}/");
        let disk = |errno| Obstacle::Disk(path.to_owned(), errno);
        let names = tree::names(directory).map_err(disk)?;
        let mut matched = vec![false; names.len()];
        let (mut at, mut met_extras) = (0, false);
        loop {
            let listed = self.next_in(&prefix);
            let here = names.get(at);
            let order = match (&listed, here) {
                (None, None) => break,
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some((name, _)), Some(here)) => name.cmp(&here.text),
            };
            match (order, listed, here) {
                (Ordering::Less, Some((name, listed)), _) => {
                    self.lack(&format!("{prefix}{name}"), &listed)?;
                }
                (Ordering::Equal, Some((name, listed)), Some(here)) => {
                    matched[at] =
                        self.meet(directory, here, &format!("{prefix}{name}"), &listed)?;
                    at += 1;
                }
                (_, _, Some(here)) => {
                    let stays = self.keep_numbered && is_numbered(here, &names, &matched);
                    if !(stays && here.is_file(directory)) {
                        met_extras = true;
                        self.visit(directory, here, &prefix)?;
                    }
                    at += 1;
                }
                (_, _, None) => break,
            }
        }
        if met_extras { self.extras.leave(directory, path) } else { Ok(()) }
    }

    /// The name of what is listed next, in the directory whose entries begin with `prefix`.
    fn next_in(&self, prefix: &str) -> Option<(String, Listed)> {
        let (name, kind) = self.listing.present()?;
        let rest = name.strip_prefix(prefix)?;
        Some(match rest.split_once('/') {
            Some((first, _)) => (first.to_owned(), Listed::Within),
            None => (rest.to_owned(), Listed::Entry(kind)),
        })
    }

    /// It is listed, and nothing of that name is here.
    fn lack(&mut self, path: &str, listed: &Listed) -> Result<(), Obstacle> {
        match listed {
            Listed::Entry(Kind::UnsentDirectory | Kind::Other) => Ok(self.listing.advance()?),
            Listed::Entry(Kind::File | Kind::Directory) => Err(Obstacle::Missing(path.to_owned())),
            Listed::Within => self.lack_all(path),
        }
    }

    /// A directory is not here: nothing in it was sent so far, or something is missing.
    fn lack_all(&mut self, path: &str) -> Result<(), Obstacle> {
        let prefix = format!("{path}/");
        while let Some((_, kind)) =
            self.listing.present().filter(|(name, _)| name.starts_with(&prefix))
        {
            if matches!(kind, Kind::File | Kind::Directory) {
                return Err(Obstacle::Missing(path.to_owned()));
            }
            self.listing.advance()?;
        }
        Ok(())
    }

    /// Something of a listed name is here; returns whether it is a file that is listed.
    fn meet(
        &mut self,
        parent: BorrowedFd<'_>,
        here: &Name,
        path: &str,
        listed: &Listed,
    ) -> Result<bool, Obstacle> {
        let name = here.text.as_str();
        match listed {
            Listed::Within => self.enter(parent, name, path)?,
            Listed::Entry(Kind::Directory | Kind::UnsentDirectory) => {
                self.listing.advance()?;
                self.enter(parent, name, path)?;
            }
            Listed::Entry(Kind::Other) => self.listing.advance()?,
            Listed::Entry(Kind::File) if here.is_file(parent) => {
                self.listing.advance()?;
                return Ok(true);
            }
            Listed::Entry(Kind::File) if self.instead.holds(path) => {
                self.listing.advance()?;
                self.visit_in_the_way(Place { parent, name: &here.name, path }, false)?;
            }
            Listed::Entry(Kind::File) => return Err(Obstacle::Missing(path.to_owned())),
        }
        Ok(false)
    }

    fn visit(&mut self, parent: BorrowedFd<'_>, here: &Name, prefix: &str) -> Result<(), Obstacle> {
        let path = format!("{prefix}{}", here.text);
        let place = Place { parent, name: &here.name, path: &path };
        visit(self.extras, place, self.bounds, 0)
    }
}

/// Whether it has the name of a file that is listed and here, and a number that a conflict gives.
fn is_numbered(here: &Name, names: &[Name], matched: &[bool]) -> bool {
    let of = numbered(&here.text);
    let at = of.and_then(|of| names.binary_search_by(|n| n.text.as_str().cmp(of)).ok());
    at.is_some_and(|at| matched[at])
}

#[cfg(test)]
mod tests {
    use std::{
        collections::{BTreeMap, BTreeSet},
        fs,
        path::Path,
        sync::atomic::AtomicBool,
    };

    use fanfare_node::disk::scratch::Scratch;

    use super::{
        super::{
            Lister,
            extras::{Count, Moment, Remove},
        },
        *,
    };

    /// Nothing has changed since then.
    const NEVER: Moment = (i64::MAX, 0);
    const F: Kind = Kind::File;

    fn list(names: &[(&str, Kind)]) -> Vec<u8> {
        let mut lister = Lister::default();
        let roots: BTreeMap<&str, ()> =
            names.iter().map(|(name, _)| (name.split('/').next().unwrap(), ())).collect();
        for root in roots.keys() {
            lister.begin(root).unwrap();
            let prefix = format!("{root}/");
            let within = names.iter().filter(|(name, _)| name.starts_with(&prefix));
            within.for_each(|(name, kind)| lister.add(name, *kind));
        }
        lister.finish().unwrap()
    }

    fn make(scratch: &Scratch, names: &[&str]) {
        for name in names {
            let path = scratch.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            if name.ends_with('/') { fs::create_dir_all(path) } else { fs::write(path, "x") }
                .unwrap();
        }
    }

    fn run(
        scratch: &Scratch,
        listing: &[u8],
        since: Moment,
        keep_numbered: bool,
    ) -> Result<Vec<String>, Obstacle> {
        let target = fs::File::open(scratch.path()).unwrap();
        let (device, stop) = (tree::device(target.as_fd()).unwrap(), AtomicBool::new(false));
        let bounds = Bounds { device, since, stop: &stop };
        let (mut count, mut gone) = (Count::default(), Vec::new());
        let none = DisplacedFiles::default();
        Comparison::run(listing, target.as_fd(), bounds, keep_numbered, &none, &mut count)?;
        let mut tell = |path: &str, directory: bool| {
            gone.push(if directory { format!("{path}/") } else { path.to_owned() });
            true
        };
        let mut remove = Remove { touched: BTreeSet::new(), tell: &mut tell };
        Comparison::run(listing, target.as_fd(), bounds, keep_numbered, &none, &mut remove)?;
        assert_eq!(count.0, gone.len() as u64, "what was counted is what was removed");
        Ok(gone)
    }

    fn all(path: &Path) -> Vec<String> {
        let mut found = Vec::new();
        for entry in fs::read_dir(path).unwrap().map(Result::unwrap) {
            let name = entry.file_name().into_string().unwrap();
            if entry.file_type().unwrap().is_dir() {
                found.extend(all(&entry.path()).iter().map(|below| format!("{name}/{below}")));
                found.push(format!("{name}/"));
            } else {
                found.push(name);
            }
        }
        found.sort();
        found
    }

    #[test]
    fn what_is_not_listed_goes_and_the_rest_of_the_directory_stays_as_it_is() {
        let scratch = Scratch::new();
        make(
            &scratch,
            &["t/a", "t/b/1", "t/b/2", "t/old/x/y", "t/old/z", "t/zz", "u/mine", "mine"],
        );
        let listing = list(&[("t/a", F), ("t/b/1", F), ("t/e", Kind::UnsentDirectory)]);
        let gone = run(&scratch, &listing, NEVER, false).unwrap();
        assert_eq!(gone, ["t/b/2", "t/old/x/y", "t/old/x/", "t/old/z", "t/old/", "t/zz"]);
        assert_eq!(all(scratch.path()), ["mine", "t/", "t/a", "t/b/", "t/b/1", "u/", "u/mine"]);
        assert_eq!(run(&scratch, &listing, NEVER, false).unwrap(), Vec::<String>::new());
    }

    #[test]
    fn a_name_that_sorts_between_a_directory_and_its_entries_is_told_apart() {
        let scratch = Scratch::new();
        make(&scratch, &["t/a/x", "t/a.x", "t/a-x", "t/a0"]);
        let listing = list(&[("t/a/x", F), ("t/a.x", F)]);
        assert_eq!(run(&scratch, &listing, NEVER, false).unwrap(), ["t/a-x", "t/a0"]);
    }

    #[test]
    fn an_empty_directory_at_the_sender_is_emptied_and_stays() {
        let scratch = Scratch::new();
        make(&scratch, &["t/a", "t/e/1", "t/f/2"]);
        let listing = list(&[("t/a", F), ("t/e", Kind::Directory), ("t/f", Kind::UnsentDirectory)]);
        assert_eq!(run(&scratch, &listing, NEVER, false).unwrap(), ["t/e/1", "t/f/2"]);
        assert_eq!(all(&scratch.path().join("t")), ["a", "e/", "f/"]);
    }

    #[test]
    fn where_something_listed_is_not_here_nothing_is_removed() {
        for (name, kind) in [("t/b", F), ("t/d", Kind::Directory), ("t/e/f", F), ("v/x", F)] {
            let scratch = Scratch::new();
            make(&scratch, &["t/a", "t/old", "u/old"]);
            let listing = list(&[("t/a", F), (name, kind)]);
            let missing = run(&scratch, &listing, NEVER, false).unwrap_err();
            let first = if name.starts_with('v') { "v" } else { &name[..3] };
            assert_eq!(missing, Obstacle::Missing(first.to_owned()));
            assert_eq!(all(scratch.path()), ["t/", "t/a", "t/old", "u/", "u/old"]);
        }
    }

    #[test]
    fn a_link_in_the_place_of_a_directory_is_not_followed() {
        let scratch = Scratch::new();
        make(&scratch, &["mine/1", "t/a", "t/old"]);
        let link = |to: &str, name: &str| {
            std::os::unix::fs::symlink(scratch.path().join(to), scratch.path().join(name)).unwrap();
        };
        link("mine", "u");
        link("mine", "t/b");
        let root = run(&scratch, &list(&[("u/1", F)]), NEVER, false).unwrap_err();
        assert_eq!(root, Obstacle::NotADirectory("u".into()));
        let inner = run(&scratch, &list(&[("t/a", F), ("t/b/1", F)]), NEVER, false).unwrap_err();
        assert_eq!(inner, Obstacle::NotADirectory("t/b".into()));
        assert!(scratch.path().join("t/old").exists());
        // One that is not listed goes, and what it leads to stays.
        let gone = run(&scratch, &list(&[("t/a", F)]), NEVER, false).unwrap();
        assert_eq!(gone, ["t/b", "t/old"]);
        assert!(scratch.path().join("mine/1").exists());
    }

    #[test]
    fn a_link_or_a_directory_in_the_place_of_a_file_is_no_such_file() {
        let scratch = Scratch::new();
        make(&scratch, &["t/a/", "t/old"]);
        let listing = list(&[("t/a", F)]);
        assert_eq!(run(&scratch, &listing, NEVER, false), Err(Obstacle::Missing("t/a".into())));
        fs::remove_dir(scratch.path().join("t/a")).unwrap();
        std::os::unix::fs::symlink("old", scratch.path().join("t/a")).unwrap();
        assert_eq!(run(&scratch, &listing, NEVER, false), Err(Obstacle::Missing("t/a".into())));
    }

    #[test]
    fn what_is_at_the_sender_but_not_sent_stays_with_everything_in_it() {
        let scratch = Scratch::new();
        make(&scratch, &["t/a", "t/c/deep/x", "t/d"]);
        let listing = list(&[("t/a", F), ("t/b", Kind::Other), ("t/c", Kind::Other)]);
        assert_eq!(run(&scratch, &listing, NEVER, false).unwrap(), ["t/d"]);
    }

    #[test]
    fn our_own_files_stay_and_so_does_the_directory_they_are_in() {
        let scratch = Scratch::new();
        make(&scratch, &["t/a", "t/.fanfare-1.part", "t/old/.fanfare-ledger", "t/old/x", "t/.fan"]);
        let target = fs::File::open(scratch.path()).unwrap();
        let (device, stop) = (tree::device(target.as_fd()).unwrap(), AtomicBool::new(false));
        let bounds = Bounds { device, since: NEVER, stop: &stop };
        let mut remove = Remove { touched: BTreeSet::new(), tell: &mut |_, _| true };
        let listing = list(&[("t/a", F)]);
        let none = DisplacedFiles::default();
        Comparison::run(&listing[..], target.as_fd(), bounds, false, &none, &mut remove).unwrap();
        let left = [".fanfare-1.part", "a", "old/", "old/.fanfare-ledger"];
        assert_eq!(all(&scratch.path().join("t")), left);
    }

    #[test]
    fn numbers_that_a_conflict_gives_stay_beside_the_file_unless_all_is_to_be_exact() {
        let scratch = Scratch::new();
        let kept = ["t/a", "t/a.1", "t/a.9999"];
        make(&scratch, &[&kept[..], &["t/a.0", "t/a.01", "t/a.x", "t/b.1", "t/a.2/"]].concat());
        let listing = list(&[("t/a", F)]);
        let mut gone = run(&scratch, &listing, NEVER, true).unwrap();
        gone.sort();
        assert_eq!(gone, ["t/a.0", "t/a.01", "t/a.2/", "t/a.x", "t/b.1"]);
        assert_eq!(run(&scratch, &listing, NEVER, false).unwrap(), ["t/a.1", "t/a.9999"]);
    }

    #[test]
    fn what_changes_while_it_runs_stays() {
        let scratch = Scratch::new();
        make(&scratch, &["t/a", "t/old/x"]);
        let listing = list(&[("t/a", F)]);
        assert_eq!(run(&scratch, &listing, (0, 0), false).unwrap(), Vec::<String>::new());
        assert!(scratch.path().join("t/old/x").exists());
    }

    #[test]
    fn a_stop_in_the_middle_leaves_all_that_is_listed_and_the_next_run_finishes() {
        let scratch = Scratch::new();
        make(&scratch, &["t/a", "t/b/1", "t/old/1", "t/old/2", "t/z"]);
        let listing = list(&[("t/a", F), ("t/b/1", F)]);
        let target = fs::File::open(scratch.path()).unwrap();
        let (device, stop) = (tree::device(target.as_fd()).unwrap(), AtomicBool::new(false));
        let bounds = Bounds { device, since: NEVER, stop: &stop };
        for left in [3, 2, 1] {
            // Killed after the first name.
            let mut remove = Remove { touched: BTreeSet::new(), tell: &mut |_, _| false };
            let none = DisplacedFiles::default();
            let run =
                Comparison::run(&listing[..], target.as_fd(), bounds, false, &none, &mut remove);
            assert_eq!(run, Err(Obstacle::Stopped));
            let there = all(&scratch.path().join("t"));
            assert!(
                there.iter().filter(|name| !["a", "b/", "b/1"].contains(&&name[..])).count()
                    == left
            );
            assert!(there.contains(&"a".to_owned()) && there.contains(&"b/1".to_owned()));
        }
        assert_eq!(run(&scratch, &listing, NEVER, false).unwrap(), ["t/z"]);
    }

    #[test]
    fn a_tree_deeper_than_anybody_would_make_is_refused_as_a_whole() {
        let scratch = Scratch::new();
        make(&scratch, &["t/a", "t/old/x"]);
        let mut at = fs::File::open(scratch.path().join("t/old")).unwrap();
        for _ in 0..300 {
            fanfare_udp::os::fs::mkdirat(&at, "d", fanfare_udp::os::fs::Mode::RWXU).unwrap();
            let flags = fanfare_udp::os::fs::OFlags::DIRECTORY;
            let next =
                fanfare_udp::os::fs::openat(&at, "d", flags, fanfare_udp::os::fs::Mode::empty())
                    .unwrap();
            at = fs::File::from(next);
        }
        let refused = run(&scratch, &list(&[("t/a", F)]), NEVER, false);
        assert!(matches!(refused, Err(Obstacle::TooDeep(_))));
        assert!(scratch.path().join("t/old/x").exists());
    }
}
