//! What the sender finds beside its files, noted while the directories are walked.

use fanfare_udp::os::{
    fd::AsFd,
    file::{HAS_OWNERS, MetadataExt},
};
use std::{
    collections::HashMap,
    fs::{File, Metadata},
    io,
};

use super::{
    TREE_MAX, attributes,
    entry::{Carried, Entry, First, Kind, Owner, Properties},
    writer::Writer,
};
use crate::content::source::Stamp;

/// Notes directories, links and, where they have more to say than their content, files.
#[derive(Debug)]
pub(crate) struct Collector {
    carried: Carried,
    writer: Writer,
    /// Files with several names, by device and inode: the first name that was met.
    linked: HashMap<(u64, u64), Box<str>>,
    links: u64,
}

impl Collector {
    pub(crate) fn new(carried: Carried) -> Self {
        Self { carried, writer: Writer::new(carried), linked: HashMap::new(), links: 0 }
    }

    /// A directory that is open.
    pub(crate) fn add_directory(&mut self, directory: &File, name: &str) -> io::Result<()> {
        let properties = self.properties(directory, &directory.metadata()?, true)?;
        self.push(name, Kind::Directory, properties);
        Ok(())
    }

    /// A symbolic link, and what it points to.
    pub(crate) fn add_link(&mut self, meta: &Metadata, name: &str, target: Vec<u8>) {
        let owner = self.owner_of(meta);
        let mtime = Some(Stamp::of(meta).mtime());
        let properties = Properties { mtime, owner, ..Properties::default() };
        self.links += 1;
        self.push(name, Kind::Link(target), properties);
    }

    /// A file. The name that it has already been met with, if it has several.
    pub(crate) fn first_name(&mut self, meta: &Metadata, name: &str) -> Option<&str> {
        if meta.nlink() < 2 {
            return None;
        }
        let first = self.linked.entry((meta.dev(), meta.ino())).or_insert_with(|| name.into());
        (**first != *name).then_some(&**first)
    }

    /// Tells whether a file has been met with another name than this one.
    pub(crate) fn has_other_name(&self, meta: &Metadata, name: &str) -> bool {
        let first = self.linked.get(&(meta.dev(), meta.ino()));
        meta.nlink() > 1 && first.is_some_and(|first| **first != *name)
    }

    /// Another name of a file that is sent under its first one.
    pub(crate) fn add_hard_link(&mut self, meta: &Metadata, name: &str, first: String) {
        self.links += 1;
        let (size, mtime) = (meta.size(), Stamp::of(meta).mtime());
        let kind = Kind::HardLink(First { name: first, size, mtime });
        self.push(name, kind, Properties::default());
    }

    /// Whether files have an entry.
    pub(crate) fn wants_files(&self) -> bool {
        self.carried.any()
    }

    /// A file that is sent.
    pub(crate) fn add_file(&mut self, file: &File, name: &str) -> io::Result<()> {
        let properties = self.properties(file, &file.metadata()?, false)?;
        self.push(name, Kind::File, properties);
        Ok(())
    }

    fn properties(&self, file: &File, meta: &Metadata, has_time: bool) -> io::Result<Properties> {
        Ok(Properties {
            mode: Some(meta.mode() & self.carried.mode_mask()),
            mtime: has_time.then(|| Stamp::of(meta).mtime()),
            owner: self.owner_of(meta),
            attributes: attributes::of(file.as_fd(), self.carried)?,
        })
    }

    fn owner_of(&self, meta: &Metadata) -> Option<Owner> {
        (self.carried.owner && HAS_OWNERS).then(|| Owner { user: meta.uid(), group: meta.gid() })
    }

    fn push(&mut self, name: &str, kind: Kind, properties: Properties) {
        self.writer.push(&Entry { name: name.to_owned(), kind, properties });
    }

    /// The bytes of its object and the links in it; `None` where there is nothing to say.
    ///
    /// # Errors
    /// It is longer than receivers take.
    pub(crate) fn finish(self) -> Result<Option<(Vec<u8>, u64)>, usize> {
        if self.writer.len() > TREE_MAX {
            return Err(TREE_MAX);
        }
        Ok(self.writer.finish().map(|bytes| (bytes, self.links)))
    }
}
