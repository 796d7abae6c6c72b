//! What would be sent, without reading it.

use fanfare_os::{file::MetadataExt, text::OsStrExt};
use std::{collections::BTreeSet, path::Path};

use super::{
    GatherOptions, Links, NamedPath, SourceError, Sources, naming,
    walk::{Choice, Found, Walk},
};
use crate::{reach, tree::stays_inside};

/// What has been found so far.
struct Survey<'a> {
    options: &'a GatherOptions,
    /// Directories that links led to, and files with several names, by device and inode.
    following: Vec<(u64, u64)>,
    linked: BTreeSet<(u64, u64)>,
    report: &'a mut dyn FnMut(&str, u64),
}

impl Sources {
    /// Names and sizes of all files that [`Self::gather_as`] would find. Standard input has no size.
    ///
    /// # Errors
    /// A path cannot be read, two have one name, or a link leads out and is not allowed to.
    pub fn survey(
        paths: &[NamedPath],
        options: &GatherOptions,
        report: &mut dyn FnMut(&str, u64),
    ) -> Result<(), SourceError> {
        let names = naming::names(paths, &options.stdin_name, options.prefix.as_deref())?;
        let (following, linked) = (Vec::new(), BTreeSet::new());
        let mut survey = Survey { options, following, linked, report };
        for (named, name) in paths.iter().zip(names) {
            let path = &named.path;
            if named.is_stdin() {
                (survey.report)(&name, 0);
            } else if reach::metadata(path).map_err(|error| unreadable(path, error))?.is_dir() {
                survey.directory(path, path, &name)?;
            } else {
                survey.file(path, &name)?;
            }
        }
        Ok(())
    }
}

impl Survey<'_> {
    fn directory(&mut self, root: &Path, top: &Path, name: &str) -> Result<(), SourceError> {
        let choice = Choice { root: root.to_owned(), selection: self.options.selection.clone() };
        for found in Walk::new(top, name, choice)? {
            let found = found?;
            if !found.is_taken(root, &self.options.selection) {
                continue;
            }
            match &found {
                Found::File(at, name) => self.file(at, name)?,
                Found::Link(at) => self.link(root, top, name, at)?,
                _ => {}
            }
        }
        Ok(())
    }

    fn file(&mut self, path: &Path, name: &str) -> Result<(), SourceError> {
        let meta = reach::metadata(path).map_err(|error| unreadable(path, error))?;
        let is_first = meta.nlink() < 2 || self.linked.insert((meta.dev(), meta.ino()));
        if is_first {
            (self.report)(name, meta.size());
        }
        Ok(())
    }

    /// `name`: that of `top`, out of which links may not lead.
    fn link(&mut self, root: &Path, top: &Path, name: &str, at: &Path) -> Result<(), SourceError> {
        let target = reach::read_link(at).map_err(|error| unreadable(at, error))?;
        let below = at.strip_prefix(top).unwrap_or(at);
        let depth = below.components().count().saturating_sub(1);
        if stays_inside(depth, target.as_os_str().as_bytes()) {
            return Ok(());
        }
        match self.options.links {
            Links::Refuse => Err(SourceError::LeadsOut(at.to_owned(), target)),
            Links::Keep | Links::Skip => Ok(()),
            Links::Follow => {
                let Ok(meta) = reach::metadata(at) else { return Ok(()) };
                let name =
                    format!("{name}/{}", fanfare_disk::name::text_of(below.as_os_str().as_bytes()));
                let inode = (meta.dev(), meta.ino());
                if meta.is_file() {
                    return self.file(at, &name);
                }
                if meta.is_dir() && !self.following.contains(&inode) {
                    self.following.push(inode);
                    self.directory(root, at, &name)?;
                    self.following.pop();
                }
                Ok(())
            }
        }
    }
}

fn unreadable(path: &Path, error: std::io::Error) -> SourceError {
    SourceError::Unreadable(path.to_owned(), error)
}
