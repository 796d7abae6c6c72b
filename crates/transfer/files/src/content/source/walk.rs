//! A directory tree, depth first, in the order of names, the same whenever it is walked.

use std::{
    fs::File,
    io,
    path::{Path, PathBuf},
    vec::IntoIter,
};

use fanfare_node::disk::name::{PART_PREFIX, path_of};
use fanfare_udp::os::fs::FileType;

use super::SourceError;
use crate::content::{reach, selection::Selection};

/// Something in a tree, with its path here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Found {
    /// A file, and its name for receivers.
    File(PathBuf, String),
    /// A directory, before what is in it, and its name for receivers.
    Directory(PathBuf, String),
    /// A directory with nothing in it, and its name for receivers.
    EmptyDirectory(PathBuf, String),
    /// A symbolic link. It is not followed: it could lead out of the tree, or in circles.
    Link(PathBuf),
    /// A pipe, a socket, a device.
    Other(PathBuf),
    /// A directory in which nothing is sent. What it holds is not looked at.
    LeftOut(PathBuf),
}

impl Found {
    fn path(&self) -> &Path {
        match self {
            Self::File(path, _)
            | Self::Directory(path, _)
            | Self::EmptyDirectory(path, _)
            | Self::Link(path)
            | Self::Other(path)
            | Self::LeftOut(path) => path,
        }
    }

    pub(super) fn into_path(self) -> PathBuf {
        self.path().to_owned()
    }

    /// Whether it is among what is sent of the directory `root`.
    pub(super) fn is_taken(&self, root: &Path, selection: &Selection) -> bool {
        let below = below(self.path(), root);
        let is_directory = match self {
            Self::LeftOut(_) => return false,
            Self::Directory(..) | Self::EmptyDirectory(..) => true,
            Self::File(..) | Self::Link(_) | Self::Other(_) => false,
        };
        below == Path::new("") || selection.takes(below, is_directory)
    }
}

fn below<'a>(path: &'a Path, root: &Path) -> &'a Path {
    path.strip_prefix(root).unwrap_or(path)
}

/// A walk. Holds the names in each directory between the root and where it stands, and no more:
/// some 60 bytes for each entry of the largest directory.
#[derive(Debug)]
pub(super) struct Walk {
    levels: Vec<Level>,
    /// The root itself, until it has been told.
    root: Option<Found>,
    choice: Choice,
}

/// What is sent of a directory.
#[derive(Debug, Clone)]
pub(super) struct Choice {
    /// The directory that was named.
    pub(super) root: PathBuf,
    /// What is sent below it.
    pub(super) selection: Selection,
}

#[derive(Debug)]
struct Level {
    path: PathBuf,
    name: String,
    entries: IntoIter<(Box<str>, FileType)>,
}

impl Walk {
    /// Begins with the directory at `path`, called `name` at receivers.
    pub(super) fn new(path: &Path, name: &str, choice: Choice) -> Result<Self, SourceError> {
        let mut walk = Self { levels: Vec::new(), root: None, choice };
        walk.root = Some(walk.enter(path.to_owned(), name.to_owned())?);
        Ok(walk)
    }

    /// Goes down into a directory, unless there is nothing in it.
    fn enter(&mut self, path: PathBuf, name: String) -> Result<Found, SourceError> {
        let directory: io::Result<File> = reach::open(&path);
        let entries = directory.and_then(|directory| reach::entries(&directory));
        let mut entries = entries.map_err(|error| SourceError::Unreadable(path.clone(), error))?;
        // What a receiver in this directory keeps for itself; no other takes such a name.
        entries.retain(|(name, _)| !name.starts_with(PART_PREFIX));
        if entries.is_empty() {
            return Ok(Found::EmptyDirectory(path, name));
        }
        entries.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        let found = Found::Directory(path.clone(), name.clone());
        self.levels.push(Level { path, name, entries: entries.into_iter() });
        Ok(found)
    }

    fn step(&mut self) -> Result<Option<Found>, SourceError> {
        if let Some(root) = self.root.take() {
            return Ok(Some(root));
        }
        while let Some(level) = self.levels.last_mut() {
            let Some((part, kind)) = level.entries.next() else {
                self.levels.pop();
                continue;
            };
            let path = level.path.join(path_of(&part));
            if kind.is_symlink() {
                return Ok(Some(Found::Link(path)));
            }
            let name = format!("{}/{part}", level.name);
            if kind.is_file() {
                return Ok(Some(Found::File(path, name)));
            }
            if !kind.is_dir() {
                return Ok(Some(Found::Other(path)));
            }
            if !self.choice.selection.enters(below(&path, &self.choice.root)) {
                return Ok(Some(Found::LeftOut(path)));
            }
            return self.enter(path, name).map(Some);
        }
        Ok(None)
    }
}

impl Iterator for Walk {
    type Item = Result<Found, SourceError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.step().transpose()
    }
}

#[cfg(test)]
mod tests {
    use fanfare_node::disk::scratch::Scratch;

    use super::*;

    fn walk(root: &Path) -> Vec<Found> {
        let choice = Choice { root: root.to_owned(), selection: Selection::default() };
        Walk::new(root, "t", choice).unwrap().map(Result::unwrap).collect()
    }

    #[test]
    fn a_directory_that_is_left_out_is_not_looked_at() {
        let scratch = Scratch::new();
        let root = scratch.path();
        std::fs::create_dir_all(root.join("a/b")).unwrap();
        std::fs::write(root.join("a/b/c"), "").unwrap();
        let selection = Selection::new(&[], &["a/".to_owned()], &[]).unwrap();
        let choice = Choice { root: root.to_owned(), selection };
        let found: Vec<Found> =
            Walk::new(root, "t", choice.clone()).unwrap().map(Result::unwrap).collect();
        assert_eq!(found[1..], [Found::LeftOut(root.join("a"))]);
        assert!(!found[1].is_taken(root, &choice.selection));
    }

    #[test]
    fn a_tree_is_walked_in_the_order_of_names_and_links_are_not_followed() {
        let scratch = Scratch::new();
        let root = scratch.path();
        std::fs::create_dir_all(root.join("b/c")).unwrap();
        std::fs::create_dir_all(root.join("e")).unwrap();
        for file in ["z", "a", "b/2", "b/c/1"] {
            std::fs::write(root.join(file), "").unwrap();
        }
        std::os::unix::fs::symlink("/etc", root.join("link")).unwrap();
        let found = walk(root);
        let file = |part: &str| Found::File(root.join(part), format!("t/{part}"));
        let directory = |part: &str| Found::Directory(root.join(part), format!("t/{part}"));
        assert_eq!(
            found,
            [
                Found::Directory(root.to_owned(), "t".into()),
                file("a"),
                directory("b"),
                file("b/2"),
                directory("b/c"),
                file("b/c/1"),
                Found::EmptyDirectory(root.join("e"), "t/e".into()),
                Found::Link(root.join("link")),
                file("z"),
            ]
        );
    }

    #[test]
    fn what_a_receiver_keeps_for_itself_is_not_sent() {
        let scratch = Scratch::new();
        std::fs::write(scratch.path().join(".fanfare-0123.part"), "x").unwrap();
        std::fs::write(scratch.path().join(".fanfare"), "x").unwrap();
        let found = walk(scratch.path());
        let file = Found::File(scratch.path().join(".fanfare"), "t/.fanfare".into());
        assert_eq!(found[1..], [file]);
    }

    #[test]
    fn an_empty_root_is_an_empty_directory() {
        let scratch = Scratch::new();
        let found = walk(scratch.path());
        assert_eq!(found, [Found::EmptyDirectory(scratch.path().into(), "t".into())]);
    }
}
