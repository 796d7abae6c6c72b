//! What receivers call what is sent, and that no two things have one name.

use fanfare_os::text::{OsStrExt, OsStringExt};
use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
};

use fanfare_disk::name::{SafeName, text_of};

use super::SourceError;

/// A path to be sent, and what receivers call it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedPath {
    /// The path; `-` is standard input.
    pub path: PathBuf,
    /// Its name at receivers, relative; `None`: its own.
    pub name: Option<String>,
}

impl NamedPath {
    /// `PATH`, or `PATH=NAME` where nothing of that whole name is here. The last `=` counts.
    #[must_use]
    pub fn parse(argument: &OsStr) -> Self {
        let whole = || Self { path: argument.into(), name: None };
        if Path::new(argument).symlink_metadata().is_ok() {
            return whole();
        }
        let bytes = argument.as_bytes();
        let Some(at) = bytes.iter().rposition(|byte| *byte == b'=') else { return whole() };
        let (path, name) = (&bytes[..at], &bytes[at + 1..]);
        let path = PathBuf::from(std::ffi::OsString::from_vec(path.to_vec()));
        let is_there = path == Path::new("-") || path.symlink_metadata().is_ok();
        if is_there { Self { path, name: Some(text_of(name)) } } else { whole() }
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
        Self { path: path.into(), name: None }
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
    use fanfare_disk::scratch::Scratch;

    use super::*;

    fn named(path: &str, name: &str) -> NamedPath {
        NamedPath { path: path.into(), name: Some(name.to_owned()) }
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
        assert_eq!(parse(&given), NamedPath { path: file.clone(), name: Some("c".into()) });
        assert_eq!(parse(file.to_str().unwrap()), NamedPath::from(file));
    }
}
