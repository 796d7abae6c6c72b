//! From paths to sources.

use std::{io, path::PathBuf};

use super::{
    Extent, GatherOptions, Gathering, NamedPath, Packing, SourceError, Sources, gatherer::Gatherer,
    naming,
};
use crate::content::reach;

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
    /// use fanfare_files::content::source::Sources;
    /// let sources = Sources::of([concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")])?;
    /// assert_eq!(sources.file_count(), 1);
    /// # Ok::<(), fanfare_files::content::source::SourceError>(())
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
                gatherer.take_named(path, name)?;
            }
        }
        gatherer.finish()
    }

    /// Makes sure that all that is named is there, before anything is read or hashed.
    ///
    /// # Errors
    /// Something is not.
    pub fn check(paths: &[NamedPath]) -> Result<(), SourceError> {
        paths.iter().filter(|path| !path.is_stdin()).try_for_each(check_readable)
    }
}

fn named(paths: &[PathBuf]) -> Vec<NamedPath> {
    paths.iter().map(NamedPath::from).collect()
}

fn check_readable(named: &NamedPath) -> Result<(), SourceError> {
    let (path, is_found) = (&*named.path, named.extent != Extent::Whole);
    let unreadable = |error| SourceError::Unreadable(path.to_owned(), error);
    let meta = if is_found { reach::symlink_metadata(path) } else { reach::metadata(path) };
    let meta = meta.map_err(unreadable)?;
    // Opening a pipe would wait for its other end.
    if !meta.is_file() && !meta.is_dir() {
        if is_found {
            return Ok(());
        }
        return Err(SourceError::NotAFile(path.to_owned()));
    }
    reach::open(path).map(|_| ()).map_err(unreadable)
}

#[cfg(test)]
mod tests {
    use fanfare_node::disk::scratch::Scratch;

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
        fanfare_udp::os::fs::mknodat(
            fanfare_udp::os::fs::CWD,
            root.join("pipe"),
            fanfare_udp::os::fs::FileType::Fifo,
            fanfare_udp::os::fs::Mode::RUSR,
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
}
