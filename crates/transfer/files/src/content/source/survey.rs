//! What would be sent, without reading it.

use fanfare_udp::os::{file::MetadataExt, text::OsStrExt};
use std::{collections::BTreeSet, path::Path};

use super::{
    Extent, GatherOptions, Links, NamedPath, SourceError, Sources, naming,
    walk::{Choice, Found, Walk},
};
use crate::content::{reach, tree::stays_inside};

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
            match named.extent {
                _ if named.is_stdin() => (survey.report)(&name, 0),
                Extent::Whole => survey.path(&named.path, &name)?,
                Extent::Found => survey.found(named, &name)?,
                Extent::Bare | Extent::Around => {}
            }
        }
        Ok(())
    }
}

impl Survey<'_> {
    fn path(&mut self, path: &Path, name: &str) -> Result<(), SourceError> {
        match reach::metadata(path).map_err(|error| unreadable(path, error))?.is_dir() {
            true => self.directory(path, path, name),
            false => self.file(path, name),
        }
    }

    fn found(&mut self, named: &NamedPath, name: &str) -> Result<(), SourceError> {
        let path = &*named.path;
        let meta = reach::symlink_metadata(path).map_err(|error| unreadable(path, error))?;
        if meta.is_symlink() {
            self.link(path, named.depth(), name.to_owned(), path)
        } else if meta.is_file() || meta.is_dir() {
            self.path(path, name)
        } else {
            Ok(())
        }
    }

    fn directory(&mut self, root: &Path, top: &Path, name: &str) -> Result<(), SourceError> {
        let choice = Choice { root: root.to_owned(), selection: self.options.selection.clone() };
        for found in Walk::new(top, name, choice)? {
            let found = found?;
            if !found.is_taken(root, &self.options.selection) {
                continue;
            }
            match &found {
                Found::File(at, name) => self.file(at, name)?,
                Found::Link(at) => {
                    let below = at.strip_prefix(top).unwrap_or(at);
                    let depth = below.components().count().saturating_sub(1);
                    let below = fanfare_node::disk::name::text_of(below.as_os_str().as_bytes());
                    self.link(root, depth, format!("{name}/{below}"), at)?;
                }
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

    /// A link, so many directories below the one that it may not lead out of.
    fn link(
        &mut self,
        root: &Path,
        depth: usize,
        name: String,
        at: &Path,
    ) -> Result<(), SourceError> {
        let target = reach::read_link(at).map_err(|error| unreadable(at, error))?;
        if stays_inside(depth, target.as_os_str().as_bytes()) {
            return Ok(());
        }
        match self.options.links {
            Links::Refuse => Err(SourceError::LeadsOut(at.to_owned(), target)),
            Links::Keep | Links::Skip => Ok(()),
            Links::Follow => {
                let Ok(meta) = reach::metadata(at) else { return Ok(()) };
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
