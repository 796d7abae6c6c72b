//! The directory of a receiver that takes a stream and no files: nothing can be put into it.

use fanfare_udp::os::fd::AsFd as _;
use std::{fs::File, sync::Arc};

use fanfare_node::disk::{
    DirectoryHandle, DirectoryId, FileHandle, Metadata, Open, directory::Directory,
};
use fanfare_udp::os::{file::NOTHING, io::Errno};

#[derive(Debug)]
struct Nowhere {
    /// Stands for it where the system wants a descriptor.
    stand_in: File,
    /// What its receivers say that they have room for.
    free: u64,
}

/// A directory that refuses everything, and has so many bytes free.
pub(crate) fn nowhere(free: u64) -> std::io::Result<Arc<Directory>> {
    let stand_in = File::open(NOTHING)?;
    Ok(Arc::new(Directory::over(Box::new(Nowhere { stand_in, free }))))
}

impl DirectoryHandle for Nowhere {
    fn id(&self) -> DirectoryId<'_> {
        DirectoryId::Descriptor(self.stand_in.as_fd())
    }

    fn open(&self, _: &str, how: Open) -> Result<Arc<dyn FileHandle>, Errno> {
        Err(if matches!(how, Open::Read | Open::Write) { Errno::NOENT } else { Errno::ROFS })
    }

    fn enter(&self, _: &str) -> Result<Box<dyn DirectoryHandle>, Errno> {
        Err(Errno::NOENT)
    }

    fn make_directory(&self, _: &str) -> Result<(), Errno> {
        Err(Errno::ROFS)
    }

    fn make_own_directory(&self, _: &str) -> Result<(), Errno> {
        Err(Errno::ROFS)
    }

    fn remove_directory(&self, _: &str) -> Result<(), Errno> {
        Err(Errno::NOENT)
    }

    fn lock(&self) -> Result<(), Errno> {
        Ok(())
    }

    fn rename(&self, _: &str, _: &dyn DirectoryHandle, _: &str) -> Result<(), Errno> {
        Err(Errno::ROFS)
    }

    fn rename_new(&self, _: &str, _: &dyn DirectoryHandle, _: &str) -> Result<(), Errno> {
        Err(Errno::ROFS)
    }

    fn link(&self, _: &str, _: &dyn DirectoryHandle, _: &str) -> Result<(), Errno> {
        Err(Errno::ROFS)
    }

    fn unlink(&self, _: &str) -> Result<(), Errno> {
        Err(Errno::NOENT)
    }

    fn list(&self) -> Result<Vec<String>, Errno> {
        Ok(Vec::new())
    }

    fn metadata_of(&self, _: &str) -> Result<Metadata, Errno> {
        Err(Errno::NOENT)
    }

    fn free(&self) -> u64 {
        self.free
    }

    fn capacity(&self) -> u64 {
        self.free
    }

    fn sync(&self) -> Result<(), Errno> {
        Ok(())
    }

    fn sync_all(&self) -> Result<(), Errno> {
        Ok(())
    }
}
