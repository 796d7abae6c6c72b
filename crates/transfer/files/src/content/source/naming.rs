//! What receivers call what is sent, and that no two things have one name.

use fanfare_udp::os::text::{OsStrExt, OsStringExt};
use std::{
    collections::BTreeSet,
    ffi::OsStr,
    io,
    path::{Path, PathBuf},
};

use fanfare_node::disk::name::{PART_PREFIX, SafeName, path_of, text_of};

use super::SourceError;
use crate::content::reach;

/// A path to be sent, and what receivers call it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedPath {
    /// The path; `-` is standard input.
    pub path: PathBuf,
    /// Its name at receivers, relative; `None`: its own.
    pub name: Option<String>,
    /// How much of it is sent.
    pub extent: Extent,
}

/// How much of a path is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Extent {
    /// The file that it leads to, or the directory with all that it holds.
    #[default]
    Whole,
    /// The same, but a link is not followed, and what is no file is passed over: as in a directory.
    Found,
    /// A directory without what it holds.
    Bare,
    /// A directory of which other paths name what is sent.
    Around,
}

impl NamedPath {
    /// `PATH`, or `PATH=NAME` where nothing of that whole name is here. The last `=` counts.
    #[must_use]
    pub fn parse(argument: &OsStr) -> Self {
        let whole = || Self::from(argument);
        if Path::new(argument).symlink_metadata().is_ok() {
            return whole();
        }
        let bytes = argument.as_bytes();
        let Some(at) = bytes.iter().rposition(|byte| *byte == b'=') else { return whole() };
        let (path, name) = (&bytes[..at], &bytes[at + 1..]);
        let path = PathBuf::from(std::ffi::OsString::from_vec(path.to_vec()));
        let is_there = path == Path::new("-") || path.symlink_metadata().is_ok();
        if is_there { Self { name: Some(text_of(name)), ..Self::from(path) } } else { whole() }
    }

    /// The paths that a list names, each relative to `base`. A directory stands for all that it holds,
    /// unless the list names something beneath it or a directory above it, as lists of `find` do: then
    /// it stands for itself. An empty path alone is all that `base` holds.
    ///
    /// # Errors
    /// `base` cannot be read.
    pub fn listed(base: &Path, list: Vec<PathBuf>) -> io::Result<Vec<Self>> {
        let mut all: BTreeSet<PathBuf> = list.into_iter().collect();
        let names_base = all.remove(Path::new(""));
        if all.is_empty() && names_base {
            let entries = reach::entries(&reach::open(base)?)?;
            let mut names: Vec<PathBuf> = entries
                .iter()
                .filter(|(name, _)| !name.starts_with(PART_PREFIX))
                .map(|(name, _)| path_of(name))
                .collect();
            names.sort_unstable();
            return Ok(names.iter().map(|name| Self::found(base, name, Extent::Found)).collect());
        }
        let mut named = Vec::with_capacity(all.len());
        let mut rest = all.iter().peekable();
        while let Some(path) = rest.next() {
            // In the order of a walk what is beneath a path comes next.
            let has_beneath = rest.peek().is_some_and(|next| next.starts_with(path));
            let is_beneath =
                names_base || path.ancestors().skip(1).any(|above| all.contains(above));
            let is_directory = (has_beneath || is_beneath)
                && reach::symlink_metadata(&base.join(path)).is_ok_and(|meta| meta.is_dir());
            let extent = match (is_directory, has_beneath) {
                (true, true) => Extent::Around,
                (true, false) => Extent::Bare,
                (false, _) => Extent::Found,
            };
            named.push(Self::found(base, path, extent));
        }
        Ok(named)
    }

    fn found(base: &Path, path: &Path, extent: Extent) -> Self {
        let name = text_of(path.as_os_str().as_bytes());
        Self { path: base.join(path), name: Some(name), extent }
    }

    /// How many directories there are between it and the directory that it was found in.
    pub(super) fn depth(&self) -> usize {
        self.name.as_ref().map_or(0, |name| name.matches('/').count())
    }

    pub(super) fn is_stdin(&self) -> bool {
        self.path == Path::new("-")
    }

    /// The name that receivers see, as text.
    fn shown_to_receivers(
        &self,
        stdin_name: &str,
        prefix: Option<&str>,
    ) -> Result<String, SourceError> {
        let name = match &self.name {
            Some(name) => name.clone(),
            None if self.is_stdin() => stdin_name.to_owned(),
            None => own_name(&self.path)?,
        };
        let name = match prefix {
            Some(prefix) => format!("{}/{name}", prefix.trim_end_matches('/')),
            None => name,
        };
        match SafeName::check(&name) {
            // Standard input may be called anything: receivers refuse what they must.
            Err(_) if self.is_stdin() && prefix.is_none() => Ok(name),
            Err(why) => Err(SourceError::Name(name, why)),
            Ok(()) => Ok(name),
        }
    }
}

impl<P: Into<PathBuf>> From<P> for NamedPath {
    fn from(path: P) -> Self {
        Self { path: path.into(), name: None, extent: Extent::Whole }
    }
}

/// `.` and `..` have a name only once resolved.
fn own_name(path: &Path) -> Result<String, SourceError> {
    let unreadable = |error| SourceError::Unreadable(path.to_owned(), error);
    let named = match path.file_name() {
        Some(name) => name.to_owned(),
        None => path.canonicalize().map_err(unreadable)?.file_name().unwrap_or_default().to_owned(),
    };
    Ok(text_of(named.as_bytes()))
}

/// The names of all, none of which is another's, or beneath another's.
pub(super) fn names(
    paths: &[NamedPath],
    stdin_name: &str,
    prefix: Option<&str>,
) -> Result<Vec<String>, SourceError> {
    let names = paths.iter().map(|path| path.shown_to_receivers(stdin_name, prefix));
    let names: Vec<String> = names.collect::<Result<_, _>>()?;
    let parts = |at: usize| names[at].split('/');
    let mut order: Vec<usize> = (0..names.len()).collect();
    order.sort_by(|a, b| parts(*a).cmp(parts(*b)));
    for pair in order.windows(2) {
        let (first, second) = (pair[0], pair[1]);
        if paths[first].extent == Extent::Around && names[first] != names[second] {
            continue;
        }
        if parts(second).take(parts(first).count()).eq(parts(first)) {
            let path = |at: usize| paths[at].path.clone();
            let (a, b) = (first.min(second), first.max(second));
            return Err(SourceError::SameName(path(a), path(b), names[first].clone()));
        }
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use fanfare_node::disk::scratch::Scratch;

    use super::*;

    fn named(path: &str, name: &str) -> NamedPath {
        NamedPath { name: Some(name.to_owned()), ..NamedPath::from(path) }
    }

    fn clash(paths: &[NamedPath]) -> Option<String> {
        names(paths, "stdin", None).err().map(|error| error.to_string())
    }

    #[test]
    fn two_sources_of_one_name_are_refused_and_both_are_named() {
        let same = clash(&["q1/cfg".into(), "x".into(), "q2/cfg".into()]).unwrap();
        assert!(same.contains("'q1/cfg' and 'q2/cfg'") && same.contains("'cfg'"), "{same}");
        assert!(clash(&[named("a", "t"), named("b", "t/x")]).is_some(), "one beneath the other");
        assert!(clash(&["stdin".into(), "-".into()]).is_some());
        assert_eq!(clash(&[named("a", "t"), named("b", "t-x"), named("c", "t.x")]), None);
        assert_eq!(clash(&[named("q1/cfg", "q1"), "q2/cfg".into()]), None);
    }

    #[test]
    fn a_prefix_stands_before_every_name() {
        let paths = ["a/f".into(), named("b/f", "g/h")];
        assert_eq!(names(&paths, "", Some("site/")).unwrap(), ["site/f", "site/g/h"]);
        assert!(names(&paths, "", Some("../up")).is_err());
    }

    #[test]
    fn an_equals_sign_gives_a_name_unless_a_file_has_it_in_its_own() {
        let scratch = Scratch::new();
        let file = scratch.path().join("a=b");
        let given = format!("{}=c", file.display());
        let parse = |text: &str| NamedPath::parse(OsStr::new(text));
        assert_eq!(parse(&given).name, None, "nothing of either name is here");
        std::fs::write(&file, "").unwrap();
        assert_eq!(parse(&given), NamedPath { name: Some("c".into()), ..NamedPath::from(&*file) });
        assert_eq!(parse(file.to_str().unwrap()), NamedPath::from(file));
    }

    fn extents(list: &[&str]) -> Vec<(String, Extent)> {
        let scratch = Scratch::new();
        for file in ["a", "d/x", "d/e/y", "f/z"] {
            let file = scratch.path().join(file);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, "").unwrap();
        }
        let list = list.iter().map(PathBuf::from).collect();
        let named = NamedPath::listed(scratch.path(), list).unwrap();
        assert!(clash(&named).is_none());
        named.into_iter().map(|named| (named.name.unwrap(), named.extent)).collect()
    }

    #[test]
    fn a_listed_directory_stands_for_all_that_it_holds_unless_the_list_names_what_is_in_it() {
        let is = |list: &[&str], wanted: &[(&str, Extent)]| {
            let wanted: Vec<_> = wanted.iter().map(|(n, e)| ((*n).to_owned(), *e)).collect();
            assert_eq!(extents(list), wanted, "{list:?}");
        };
        use Extent::{Around, Bare, Found};
        is(&["d", "a", "a"], &[("a", Found), ("d", Found)]);
        is(&["d/x", "d"], &[("d", Around), ("d/x", Found)]);
        is(&["d", "d/e", "f"], &[("d", Around), ("d/e", Bare), ("f", Found)]);
        is(&["", "d", "a"], &[("a", Found), ("d", Bare)]);
        is(&[""], &[("a", Found), ("d", Found), ("f", Found)]);
    }
}
