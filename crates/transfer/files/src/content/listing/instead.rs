//! Files that are here under names of our own, because something of another kind has theirs.

use std::{collections::BTreeMap, io};

use fanfare_node::disk::{
    directory::{Directory, How, Settled},
    name::SafeName,
    placement::Conflict,
};

use crate::content::placed::Placed;

/// Files that are kept aside until what has their names is gone.
#[derive(Debug, Default)]
pub struct DisplacedFiles {
    /// Files by the name that each is to have, as text.
    files: BTreeMap<String, Placed>,
    may_be_placed: bool,
}

impl DisplacedFiles {
    /// Takes what was placed elsewhere. `may_be_placed`: what has the names may go.
    pub fn new<'a>(files: impl Iterator<Item = &'a Placed>, may_be_placed: bool) -> Self {
        let named =
            |placed: &Placed| Some((placed.displaced.as_ref()?.to_string(), placed.clone()));
        Self { files: files.filter_map(named).collect(), may_be_placed }
    }

    /// True if something else may go for what is kept aside.
    pub(super) fn may_be_placed(&self) -> bool {
        self.may_be_placed
    }

    /// True if the file of this name is kept aside, and something else may go for it.
    pub(super) fn holds(&self, name: &str) -> bool {
        self.may_be_placed && self.files.contains_key(name)
    }

    /// Gives the files their names. Returns those that have them now, and the first that has not.
    pub(super) fn place(&self, directory: &Directory) -> (Vec<Placed>, Option<SafeName>) {
        let (mut placed, mut left) = (Vec::new(), None);
        for file in self.files.values() {
            match place(directory, file) {
                Ok(Some(file)) => placed.push(file),
                Ok(None) | Err(_) => left = left.or_else(|| file.displaced.clone()),
            }
        }
        (placed, left)
    }
}

fn place(directory: &Directory, file: &Placed) -> io::Result<Option<Placed>> {
    let Some(wanted) = &file.displaced else { return Ok(None) };
    // It stands directly in the directory.
    let (_, aside) = file.name.split();
    let what = (file.size, &file.hash);
    let settled = directory.place(aside, wanted, Conflict::Overwrite, what)?;
    let Settled::Placed(name, how) = settled else { return Ok(None) };
    if how == How::Already {
        directory.remove(aside);
    }
    let file = file.clone();
    Ok(Some(Placed { name, how: How::Replaced, name_rejected: None, displaced: None, ..file }))
}
