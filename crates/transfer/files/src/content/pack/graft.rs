//! Directories that are not there yet, built while staging and put in their place as a whole.
//!
//! Giving each of a thousand files its name costs as much as writing it. Where the directory is
//! missing, it is filled with its files aside, and one rename brings them all.

use std::{
    collections::{BTreeMap, BTreeSet},
    io,
};

use fanfare_node::disk::{directory::Directory, in_writable, name::SafeName, parents::Parents};
use fanfare_udp::os::io::Errno;

use super::staging::Staging;

/// Directories under way, by number. Nothing in them is looked at before it is in its place.
#[derive(Debug, Default)]
pub(super) struct Grafts {
    /// Where each belongs: its parent is there, it is not.
    paths: Vec<Vec<String>>,
    numbers: BTreeMap<Vec<String>, usize>,
}

impl Grafts {
    /// The directory being built that `name` belongs into, begun if it is time for it. `None` where
    /// its directory is there already, is brought by a pack before, or cannot be made.
    pub(super) fn of(
        &mut self,
        name: &SafeName,
        existing: &mut Parents<'_>,
        promised: &BTreeSet<Vec<String>>,
    ) -> Option<usize> {
        let (directories, _) = name.split();
        // Most files have neighbours: their directory is there, or the one that was tried last.
        if existing.get(directories).is_ok() || promised.contains(directories) {
            return None;
        }
        let mut prefixes = prefixes(directories);
        self.begun(name).or_else(|| {
            let missing = |path: &&[String]| {
                !promised.contains(*path) && existing.get(path).is_err_and(|e| is(&e, Errno::NOENT))
            };
            let path = prefixes.find(missing)?.to_vec();
            self.numbers.insert(path.clone(), self.paths.len());
            self.paths.push(path);
            Some(self.paths.len() - 1)
        })
    }

    /// Those that a killed receiver had begun.
    pub(super) fn again(paths: Vec<Vec<String>>) -> Self {
        let numbered = paths.iter().cloned().enumerate();
        Self { numbers: numbered.map(|(number, path)| (path, number)).collect(), paths }
    }

    /// Where each belongs, by number.
    pub(super) fn paths(&self) -> &[Vec<String>] {
        &self.paths
    }

    /// The one that `name` belongs into, if it has been begun.
    pub(super) fn begun(&self, name: &SafeName) -> Option<usize> {
        prefixes(name.split().0).find_map(|prefix| self.numbers.get(prefix).copied())
    }

    /// Where a file of graft `number` is while it is being built: the directories from the staging
    /// directory on, and its own name.
    pub(super) fn inside(&self, number: usize, name: &SafeName) -> (Vec<String>, String) {
        let (directories, last) = name.split();
        let rest = directories.get(self.paths[number].len()..).unwrap_or_default();
        let own = format!("d{number}");
        (std::iter::once(own).chain(rest.iter().cloned()).collect(), last.to_owned())
    }

    /// Whether any was begun.
    pub(super) fn is_empty(&self) -> bool {
        self.paths.is_empty()
    }

    /// Puts all into their places; says of each whether it is there. One is not when somebody made
    /// a directory of that name meanwhile: its files have to be placed one by one.
    pub(super) fn place(&self, staging: &Staging, target: &Directory) -> Vec<bool> {
        let mut parents = Parents::existing(target);
        let place = |(number, path): (usize, &Vec<String>)| -> io::Result<()> {
            let (last, directories) = path.split_last().ok_or(Errno::INVAL)?;
            let parent = parents.get(directories)?;
            let from = format!("d{number}");
            let from_directory = staging.directory().handle();
            Ok(in_writable(parent, || from_directory.rename_new(&from, parent, last))?)
        };
        self.paths.iter().enumerate().map(place).map(|placed| placed.is_ok()).collect()
    }
}

/// The directories above a file, and that it is in, from the top.
fn prefixes(directories: &[String]) -> impl Iterator<Item = &[String]> {
    (1..=directories.len()).map(|len| &directories[..len])
}

fn is(error: &io::Error, errno: Errno) -> bool {
    Errno::from_io_error(error) == Some(errno)
}
