//! Where it goes, in words.

use fanfare_udp::os::text::OsStrExt;
use std::{
    fmt,
    path::{Path, PathBuf},
};

use fanfare_command::units;
use fanfare_files::{
    Placed, StreamTarget, TargetKind,
    name::{self, SafeName},
};

/// A directory, or what a stream is written to.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) dir: PathBuf,
    pub(super) target: Option<StreamTarget>,
}

impl Place {
    pub(super) fn new(dir: PathBuf, target: Option<&StreamTarget>) -> Self {
        Self { dir, target: target.cloned() }
    }

    /// Place that it goes to, and what becomes of what is there. To be asked before it is opened.
    pub(super) fn in_full(&self) -> String {
        let Some(target) = &self.target else { return self.to_string() };
        let size =
            || target.free().map_or_else(String::new, |size| format!(" of {}", units::size(size)));
        match target.kind() {
            TargetKind::New => format!("{self}, a new file,"),
            TargetKind::Replaced => format!("{self}, a file that is replaced,"),
            TargetKind::Device => format!("{self}, a device{},", size()),
            TargetKind::Pipe => self.to_string(),
        }
    }

    /// Where a file is.
    pub(super) fn of(&self, placed: &Placed) -> String {
        match &self.target {
            Some(_) => self.to_string(),
            None => shown(&placed.name.below(&self.dir)),
        }
    }

    /// Reason why a file does not get its own name, and what to do about it.
    pub(super) fn obstacle(&self, wanted: &SafeName) -> String {
        let path = wanted.below(&self.dir);
        let mut above: Vec<&Path> = path.ancestors().skip(1).take(wanted.split().0.len()).collect();
        above.reverse();
        let is_directory = |path: &Path| path.symlink_metadata().is_ok_and(|meta| meta.is_dir());
        let (at, here, there) = match above.into_iter().find(|above| !is_directory(above)) {
            Some(above) if above.is_symlink() => (above, "a link", "a directory"),
            Some(above) => (above, "a file", "a directory"),
            None => (&*path, "a directory", "a file"),
        };
        let at = shown(at);
        format!(
            "'{at}' is {here} here and {there} at the sender. Move it away; or let a mirror replace \
             it, with 'send --delete' and 'recv --allow-delete'"
        )
    }

    /// Whether standard output is for lines, and not for the stream itself.
    pub(super) fn tells(&self) -> bool {
        self.target.as_ref().is_none_or(|target| target.path.is_some())
    }
}

fn shown(path: &Path) -> String {
    name::escaped(&name::text_of(path.as_os_str().as_bytes()))
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.target {
            Some(StreamTarget { path: Some(path), .. }) => path.display().fmt(f),
            Some(_) => f.write_str("standard output"),
            None => self.dir.display().fmt(f),
        }
    }
}
