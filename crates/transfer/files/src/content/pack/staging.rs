//! Where the files of a pack wait until they are synced: a directory of our own, gone afterwards.

use std::{io, sync::Arc};

use fanfare_node::disk::{
    directory::Directory,
    name::PART_PREFIX,
    {DirectoryHandle, FileHandle, Open},
};
use fanfare_proto::ObjectKey;
use fanfare_udp::os::{fs::mode_of, io::Errno};

/// Ends the name of such a directory.
const ENDING: &str = ".pack";
/// Deepest tree in it: no name is deeper.
const DEPTH_MAX: usize = 16;

/// A directory that nobody else may enter.
#[derive(Debug)]
pub struct Staging {
    /// Closed before it is removed: Windows removes nothing that is open.
    own: Directory,
    #[expect(dead_code, reason = "what counts is when it is dropped")]
    removal: Removal,
}

/// Removes it when dropped.
#[derive(Debug)]
struct Removal {
    parent: Arc<Directory>,
    name: String,
}

impl Staging {
    /// Creates it for this object.
    pub(super) fn create(parent: &Arc<Directory>, key: ObjectKey) -> io::Result<Self> {
        let ObjectKey { sender, instance, object } = key;
        let of = format_args!("{sender}-{instance}-{object}");
        let name = parent.own_name(of, ENDING);
        let left_over = match parent.handle().make_own_directory(&name) {
            Err(Errno::EXIST) => true,
            made => made.map(|()| false)?,
        };
        let own = parent.handle().enter(&name)?;
        // Tells other receivers in this directory that it is in use.
        let _ = own.lock();
        let removal = Removal { parent: parent.clone(), name };
        let staging = Self { own: Directory::over(own), removal };
        if left_over {
            staging.empty();
        }
        Ok(staging)
    }

    /// The directory itself.
    pub(super) fn directory(&self) -> &Directory {
        &self.own
    }

    /// Creates a file with these permissions, less what the umask takes away, in a directory
    /// within this one.
    pub(super) fn file(
        parent: &dyn DirectoryHandle,
        name: &str,
        mode: u32,
    ) -> io::Result<Arc<dyn FileHandle>> {
        let mode = mode_of((mode & 0o777) | 0o600);
        Ok(parent.open(name, Open::CreateAs(mode))?)
    }

    fn empty(&self) {
        empty(self.own.handle(), DEPTH_MAX);
    }
}

/// What crashes have left, by name, unless another receiver is at work in it.
pub(super) fn left_over(directory: &Directory) -> Vec<(String, Box<dyn DirectoryHandle>)> {
    let ours = |name: &String| name.starts_with(PART_PREFIX) && name.ends_with(ENDING);
    let names = directory.handle().list().unwrap_or_default().into_iter().filter(ours);
    let idle = |name: String| {
        let left = directory.handle().enter(&name).ok()?;
        left.lock().is_ok().then_some((name, left))
    };
    names.filter_map(idle).collect()
}

/// Removes what a crash has left.
pub(super) fn remove(directory: &Directory, name: &str, left: &dyn DirectoryHandle) {
    empty(left, DEPTH_MAX);
    let _ = directory.handle().remove_directory(name);
}

/// Removes everything in a directory that only we write to.
fn empty(directory: &dyn DirectoryHandle, depth: usize) {
    for name in directory.list().unwrap_or_default() {
        if name == "." || name == ".." || directory.unlink(&name).is_ok() || depth == 0 {
            continue;
        }
        if let Ok(inner) = directory.enter(&name) {
            empty(&*inner, depth - 1);
            drop(inner);
            let _ = directory.remove_directory(&name);
        }
    }
}

impl Drop for Removal {
    fn drop(&mut self) {
        let parent = self.parent.handle();
        let remove = || parent.remove_directory(&self.name);
        if remove().is_err() {
            if let Ok(own) = parent.enter(&self.name) {
                empty(&*own, DEPTH_MAX);
            }
            let _ = remove();
        }
    }
}
