//! A listing, made while the directories to be sent are walked.

use std::{collections::BTreeMap, fmt};

use fanfare_node::disk::name::{NameError, SafeName, shared_bytes};

use super::{Kind, LISTING_MAX, MAGIC, VERSION};
use crate::content::varint;

/// Why what is sent cannot say what receivers may remove.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ListingError {
    /// No directory is sent.
    NoDirectory,
    /// A directory with nothing in it: all that receivers have beneath it would be removed.
    Empty(String),
    /// Two directories of one name are sent, or something else beneath that name.
    Twice(String),
    /// Receivers do not take a directory of that name.
    Name(String, NameError),
    /// The names have more bytes than receivers take.
    TooLong,
}

impl fmt::Display for ListingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoDirectory => write!(
                f,
                "delete (no directory): only beneath directories that are sent can something be \
                 removed, and none is. Name one"
            ),
            Self::Empty(root) => write!(
                f,
                "delete ({root}): it is empty, and receivers would remove all that they have \
                 beneath it. Make sure that it is the right one; to empty it on purpose, leave one \
                 file in it"
            ),
            Self::Twice(root) => write!(
                f,
                "delete ({root}): two of what is sent go beneath that name, and each would remove \
                 the other. Rename one, or leave out --delete"
            ),
            Self::Name(root, why) => {
                write!(f, "delete ({root}): receivers do not take that name: {why}. Rename it")
            }
            Self::TooLong => write!(
                f,
                "delete (names): are more than {} MiB. Send the directories in several parts",
                LISTING_MAX >> 20
            ),
        }
    }
}

impl std::error::Error for ListingError {}

/// One directory that is sent.
#[derive(Debug, Default)]
struct Root {
    entries: u64,
    /// Encoded.
    bytes: Vec<u8>,
    before: String,
}

/// Takes the names of everything that is found.
#[derive(Debug, Default)]
pub(crate) struct Lister {
    roots: BTreeMap<String, Root>,
    /// First parts of the names of files that are sent alone.
    alone: Vec<String>,
}

impl Lister {
    /// A directory begins, whose names follow in the order of a walk.
    pub(crate) fn begin(&mut self, root: &str) -> Result<(), ListingError> {
        let safe = SafeName::of_text(root);
        let safe = safe.map_err(|why| ListingError::Name(root.to_owned(), why))?;
        if !safe.split().0.is_empty() {
            return Err(ListingError::Name(root.to_owned(), NameError::Relative));
        }
        match self.roots.insert(root.to_owned(), Root::default()) {
            None => Ok(()),
            Some(_) => Err(ListingError::Twice(root.to_owned())),
        }
    }

    /// A file that is sent alone, or standard input.
    pub(crate) fn add_alone(&mut self, name: &str) {
        if let Some((first, _)) = name.split_once('/') {
            self.alone.push(first.to_owned());
        }
    }

    /// Something in the directory that was begun last.
    pub(crate) fn add(&mut self, name: &str, kind: Kind) {
        let (name, kind) = match unsafe_prefix(name) {
            None => (name, kind),
            // Receivers have what is beneath it elsewhere, if at all.
            Some(prefix) => (prefix, Kind::Other),
        };
        let root = name.split_once('/').and_then(|(root, _)| self.roots.get_mut(root));
        if let Some(root) = root.filter(|root| root.before != name) {
            root.push(name, kind);
        }
    }

    /// The bytes of its object.
    pub(crate) fn finish(self) -> Result<Vec<u8>, ListingError> {
        if let Some(root) = self.alone.iter().find(|first| self.roots.contains_key(*first)) {
            return Err(ListingError::Twice(root.clone()));
        }
        if self.roots.is_empty() {
            return Err(ListingError::NoDirectory);
        }
        if let Some((root, _)) = self.roots.iter().find(|(_, root)| root.entries == 0) {
            return Err(ListingError::Empty(root.clone()));
        }
        let mut bytes = MAGIC.to_vec();
        bytes.push(VERSION);
        varint::put(&mut bytes, self.roots.values().map(|root| root.entries).sum());
        self.roots.into_values().for_each(|root| bytes.extend_from_slice(&root.bytes));
        if bytes.len() > LISTING_MAX { Err(ListingError::TooLong) } else { Ok(bytes) }
    }
}

impl Root {
    fn push(&mut self, name: &str, kind: Kind) {
        let shared = shared_bytes(&self.before, name);
        let rest = &name[shared..];
        varint::put(&mut self.bytes, (shared as u64) << 2 | kind.bits());
        varint::put(&mut self.bytes, rest.len() as u64);
        self.bytes.extend_from_slice(rest.as_bytes());
        name.clone_into(&mut self.before);
        self.entries += 1;
    }
}

/// The shortest beginning of a name, whole parts, that receivers do not take.
fn unsafe_prefix(name: &str) -> Option<&str> {
    if SafeName::check(name).is_ok() {
        return None;
    }
    let ends = name.match_indices('/').map(|(at, _)| at).chain([name.len()]);
    ends.map(|end| &name[..end]).find(|prefix| SafeName::check(prefix).is_err())
}

#[cfg(test)]
mod tests {
    use super::{super::reader::read_all, *};

    fn list(names: &[(&str, Kind)]) -> Result<Vec<u8>, ListingError> {
        let mut lister = Lister::default();
        lister.begin("t")?;
        names.iter().for_each(|(name, kind)| lister.add(name, *kind));
        lister.finish()
    }

    #[test]
    fn a_listing_comes_back_as_it_was_with_its_roots_in_order() {
        let mut lister = Lister::default();
        let names = ["z/ä", "z/ö/x", "a/e", "a/l"];
        let kinds = [Kind::File, Kind::Directory, Kind::UnsentDirectory, Kind::Other];
        for (name, kind) in names.into_iter().zip(kinds) {
            if name.ends_with(['ä', 'e']) {
                lister.begin(&name[..1]).unwrap();
            }
            lister.add(name, kind);
        }
        let read = read_all(&lister.finish().unwrap()).unwrap();
        let expected = [2, 3, 0, 1].map(|n| (names[n].to_owned(), kinds[n]));
        assert_eq!(read, expected);
    }

    #[test]
    fn a_million_names_cost_less_than_thirteen_bytes_each() {
        let mut lister = Lister::default();
        lister.begin("archive").unwrap();
        for n in 0..1_000_000 {
            lister.add(&format!("archive/{:03}/image-{n:07}.jpg", n / 1000), Kind::File);
        }
        let bytes = lister.finish().unwrap().len();
        assert!(bytes < 13_000_000, "{bytes}");
    }

    #[test]
    fn what_has_a_name_that_receivers_do_not_take_is_listed_once_as_something_else() {
        let deep = format!("t/{}", ["d"; 5000].join("/"));
        let names = [
            ("t/.fanfare-b/1", Kind::File),
            ("t/.fanfare-b/2", Kind::Directory),
            (&deep, Kind::File),
        ];
        let read = read_all(&list(&names).unwrap()).unwrap();
        let cut = format!("t/{}", ["d"; 4096].join("/"));
        assert_eq!(read, [("t/.fanfare-b".to_owned(), Kind::Other), (cut, Kind::Other)]);
    }

    #[test]
    fn an_empty_directory_and_one_name_twice_are_no_reason_to_remove_anything() {
        assert_eq!(list(&[]), Err(ListingError::Empty("t".into())));
        assert_eq!(Lister::default().finish(), Err(ListingError::NoDirectory));
        let mut lister = Lister::default();
        lister.begin("t").unwrap();
        assert_eq!(lister.begin("t"), Err(ListingError::Twice("t".into())));
        assert!(matches!(lister.begin(".fanfare-b"), Err(ListingError::Name(..))));
        assert!(matches!(lister.begin(""), Err(ListingError::Name(..))));
    }

    #[test]
    fn a_file_that_goes_beneath_a_root_without_being_in_it_is_refused() {
        let mut lister = Lister::default();
        lister.begin("t").unwrap();
        lister.add("t/f", Kind::File);
        lister.add_alone("other");
        lister.add_alone("t/from-a-pipe");
        assert_eq!(lister.finish(), Err(ListingError::Twice("t".into())));
    }
}
