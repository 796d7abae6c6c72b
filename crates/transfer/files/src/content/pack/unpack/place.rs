//! The files of a pack get their names, each as far as what is there already lets it.

use std::io;

use fanfare_node::disk::{
    directory::How,
    name::{NameError, SafeName},
    parents::Parents,
    placement::{Conflict, Finished, Place},
};

use super::{At, Staged, StagedFile, Unpacked};
use crate::content::{
    pack::{graft::Grafts, staging::Staging},
    placed::{Placed, displaced, is_in_the_way, unnamed},
    receipt::Reason,
};

impl Staged {
    /// Gives the files their names. To be called after a sync, and followed by one. With what
    /// became of them, what tells of the pack after a kill: to be dropped once it is on record.
    pub fn place(self, conflict: Conflict) -> (Unpacked, Staging) {
        let mut unpacked = Unpacked::default();
        let mut placer = Placer {
            grafted: self.grafts.place(&self.staging, &self.directory),
            grafts: &self.grafts,
            parents: Parents::created(&self.directory),
            inside: Parents::existing(self.staging.directory()),
            conflict,
        };
        for (number, file) in self.files.iter().enumerate() {
            let outcome = if file.is_directory() {
                make_directory(&mut placer.parents, file).map(|()| None)
            } else {
                placer.place(number, file).map(Some)
            };
            match outcome {
                Ok(placed) => unpacked.files.extend(placed),
                Err(reason) => unpacked.failures.push((file.entry.name.clone(), reason)),
            }
        }
        (unpacked, self.staging)
    }
}

/// A directory that cannot be made as it was named is no loss: nothing was in it.
fn make_directory(parents: &mut Parents<'_>, file: &StagedFile) -> Result<(), Reason> {
    let Ok(name) = &file.name else { return Ok(()) };
    let (directories, last) = name.split();
    let path = [directories, &[last.to_owned()]].concat();
    match parents.get(&path) {
        Err(error) if !is_in_the_way(&error) => Err(Reason::of_disk(&error)),
        _ => Ok(()),
    }
}

/// What the files of a pack have in common while they are placed.
struct Placer<'a> {
    grafts: &'a Grafts,
    /// Those that are in their place, with everything in them.
    grafted: Vec<bool>,
    parents: Parents<'a>,
    /// Directories in the staging directory.
    inside: Parents<'a>,
    conflict: Conflict,
}

impl Placer<'_> {
    fn place(&mut self, number: usize, file: &StagedFile) -> Result<Placed, Reason> {
        let name = match &file.name {
            Err(error) => {
                return self.rename(number, file, &unnamed(&file.hash), Some(*error));
            }
            Ok(name) => name,
        };
        match file.at {
            At::Place => return Ok(file.placed(name.clone(), How::Already, None)),
            At::Graft(graft) if self.grafted[graft] => {
                return Ok(file.placed(name.clone(), How::New, None));
            }
            At::Graft(_) | At::Number => {}
        }
        match self.try_rename(number, file, name) {
            // A link, or a file where the name needs a directory, stands in the way; or a directory.
            Err(error) if is_in_the_way(&error) => {
                let aside = displaced(name, &file.hash);
                self.rename(number, file, &aside, Some(NameError::InTheWay))
            }
            place => placed(file, name, place, None),
        }
    }

    fn rename(
        &mut self,
        number: usize,
        file: &StagedFile,
        name: &SafeName,
        rejected: Option<NameError>,
    ) -> Result<Placed, Reason> {
        let place = self.try_rename(number, file, name);
        placed(file, name, place, rejected)
    }

    fn try_rename(
        &mut self,
        number: usize,
        file: &StagedFile,
        name: &SafeName,
    ) -> io::Result<Place> {
        let (from, part) = match (file.at, &file.name) {
            (At::Graft(graft), Ok(own)) => self.grafts.inside(graft, own),
            _ => (Vec::new(), number.to_string()),
        };
        let folds_case = self.parents.folds_case();
        let directory = self.inside.get(&from)?;
        let (size, hash) = (file.entry.size, &file.hash);
        let finished = Finished { directory, part: &part, size, hash, folds_case };
        let (directories, last) = name.split();
        finished.place(self.parents.get(directories)?, last, self.conflict)
    }
}

fn placed(
    file: &StagedFile,
    name: &SafeName,
    place: io::Result<Place>,
    rejected: Option<NameError>,
) -> Result<Placed, Reason> {
    match place.map_err(|e| Reason::of_disk(&e))? {
        Place::New(last) => {
            let how = if last == name.split().1 { How::New } else { How::Beside };
            Ok(file.placed(name.with_file(last), how, rejected))
        }
        Place::Replaced(last) => Ok(file.placed(name.with_file(last), How::Replaced, rejected)),
        Place::Equal(last) => Ok(file.placed(name.with_file(last), How::Already, rejected)),
        Place::Taken => Err(Reason::Conflict),
    }
}
