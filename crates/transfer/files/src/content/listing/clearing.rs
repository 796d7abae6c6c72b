//! A directory that stands where a mirror has a link: it goes with everything in it.

use std::{collections::BTreeSet, ffi::CString, sync::atomic::AtomicBool};

use fanfare_udp::os::{fd::BorrowedFd, io::Errno};

use super::{
    extras::{Bounds, Count, Extras, Moment, Obstacle, Place, Remove, visit},
    removal::{Deleted, explain},
    tree,
};
use crate::content::receipt::Reason;

/// Limits of what may be cleared away, and what is gone.
#[derive(Debug)]
pub(crate) struct DirectoryClearing<'a> {
    /// Number of names at most.
    pub(crate) max: u64,
    /// Time since which no change is cleared away: what has changed since then stays.
    pub(crate) since: Moment,
    /// Somebody wants it to end.
    pub(crate) stop: &'a AtomicBool,
    /// Files that are gone.
    pub(crate) deleted: Vec<Deleted>,
}

impl DirectoryClearing<'_> {
    /// Removes the directory `name` in `parent` if all of it may go.
    pub(crate) fn clear(
        &mut self,
        parent: BorrowedFd<'_>,
        name: &[u8],
        path: &str,
    ) -> Result<(), Reason> {
        let mut count = Count::default();
        self.visit(parent, name, path, &mut count)?;
        if count.0 > self.max {
            return Err(Reason::DeleteTooMany);
        }
        let (mut gone, mut deleted) = (0, Vec::new());
        let mut tell = |path: &str, is_directory: bool| {
            gone += 1;
            deleted.push(Deleted { path: path.to_owned(), is_directory });
            true
        };
        let mut remove = Remove { touched: BTreeSet::new(), tell: &mut tell };
        let removed = self.visit(parent, name, path, &mut remove);
        self.max -= gone.min(self.max);
        self.deleted.extend(deleted);
        removed
    }

    fn visit(
        &self,
        parent: BorrowedFd<'_>,
        name: &[u8],
        path: &str,
        extras: &mut dyn Extras,
    ) -> Result<(), Reason> {
        let disk = |errno: Errno| Reason::of_disk(&errno.into());
        let device = tree::device(parent).map_err(disk)?;
        let bounds = Bounds { device, since: self.since, stop: self.stop };
        let name = CString::new(name).map_err(|_| Reason::NameRejected)?;
        let place = Place { parent, name: &name, path };
        visit(extras, place, bounds, 0).map_err(|obstacle: Obstacle| explain(obstacle).0)
    }
}
