//! Into which part an object moves, once it is known what it is.

use std::io;

use crate::content::pack::pack_part_name;
use fanfare_proto::{ObjectKey, StorageError};

use super::{
    super::{error::storage_error, incoming::Incoming, kept::part_name},
    Part, Parts,
};

/// What was there of a root when its object began.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// Nothing.
    Nothing,
    /// A part from an earlier attempt, to be checked by its manifest.
    Part,
    /// A part that is being received as this object, too.
    Shared(ObjectKey),
}

/// What an object is the content of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum What<'a> {
    /// A file of this name: equal content under two names is two files.
    File(&'a [u8]),
    /// A pack, whose head tells what of it is right.
    Pack,
}

impl What<'_> {
    fn part_name(self, root: &[u8; 32]) -> String {
        match self {
            Self::File(_) => part_name(root),
            Self::Pack => pack_part_name(root),
        }
    }
}

impl Parts {
    /// Moves an object that has just begun into the part of `root`.
    pub(in crate::file_storage) fn identify(
        &mut self,
        key: ObjectKey,
        root: &[u8; 32],
        what: What<'_>,
    ) -> Result<Found, StorageError> {
        let name = what.part_name(root);
        let movable = |part: &mut Part| part.root.is_none() && part.incoming.can_move();
        if !self.part(key).is_some_and(movable) {
            return Ok(Found::Nothing);
        }
        if let Some(part) = self.parts.get(&name) {
            return match what {
                What::File(name_of_it) if part.file_name == name_of_it => {
                    self.share(key, &name).map_err(|error| storage_error(&error))
                }
                What::File(_) => Ok(Found::Nothing),
                // What becomes of a pack is many files, and not handed on.
                What::Pack => self.keep_own(key, root),
            };
        }
        let size = self.part(key).map_or(0, |part| part.incoming.size());
        let is_pack = what == What::Pack;
        let is_kept = self.kept.has(root) && (is_pack || self.kept.manifest(root).is_some());
        let found = match Incoming::resume(&self.directory, name.clone(), size) {
            Ok(incoming) if is_kept => {
                incoming.check_room(&self.directory, self.kept.zeros(root))?;
                self.resume(key, name, incoming).map_err(|e| storage_error(&e))?;
                Found::Part
            }
            // Another receiver in this directory has the same file under way: each has its own.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                return self.keep_own(key, root);
            }
            found => {
                if found.is_ok() {
                    self.directory.remove(&name);
                }
                if !self.rename(key, name, root).map_err(|e| storage_error(&e))? {
                    return self.keep_own(key, root);
                }
                Found::Nothing
            }
        };
        if let Some(part) = self.part(key) {
            if is_pack {
                // Without a manifest its length tells a later attempt whose part it is.
                part.incoming.extend().map_err(|e| storage_error(&e))?;
            }
            part.root = Some(*root);
            part.is_pack = is_pack;
            if let What::File(name) = what {
                part.file_name = name.to_vec();
            }
        }
        if is_pack || self.kept.manifest(root).is_some() {
            self.kept.keep(root, size);
        }
        Ok(found)
    }

    /// Its own part gives way to `name`, which is being received already.
    fn share(&mut self, key: ObjectKey, name: &str) -> io::Result<Found> {
        let Some(mut own) = self.take(key) else { return Ok(Found::Nothing) };
        let Some(part) = self.parts.get_mut(name) else { return Ok(Found::Nothing) };
        if !part.sealed {
            own.incoming.move_to(&mut part.incoming)?;
            // Both are examined by what the file has from its beginning to its end.
            part.incoming.flush()?;
            part.incoming.extend()?;
        }
        self.directory.remove(&own.incoming.name);
        part.sealed |= own.sealed;
        let other = part.keys.first().copied();
        part.keys.insert(key);
        self.of.insert(key, name.to_owned());
        Ok(other.map_or(Found::Nothing, Found::Shared))
    }

    fn resume(&mut self, key: ObjectKey, name: String, mut incoming: Incoming) -> io::Result<()> {
        let mut sealed = false;
        if let Some(mut own) = self.take(key) {
            sealed = own.sealed;
            own.incoming.move_to(&mut incoming)?;
            self.directory.remove(&own.incoming.name);
        }
        let part = Part { sealed, ..Part::new(incoming, key) };
        self.parts.insert(name.clone(), part);
        self.of.insert(key, name);
        Ok(())
    }

    /// A part that is of no use to a later attempt.
    fn keep_own(&mut self, key: ObjectKey, root: &[u8; 32]) -> Result<Found, StorageError> {
        self.check_room_of(key, Some(root))?;
        Ok(Found::Nothing)
    }

    /// False when somebody else was faster.
    fn rename(&mut self, key: ObjectKey, name: String, root: &[u8; 32]) -> io::Result<bool> {
        let Some(part) = self.part(key) else { return Ok(true) };
        let own = part.incoming.name.clone();
        match self.directory.rename_own_new(&own, &name) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(false),
            renamed => renamed?,
        }
        let Some(mut part) = self.take(key) else { return Ok(true) };
        // That was not asked where an earlier part might have taken its place.
        let room = part.incoming.check_room(&self.directory, self.kept.zeros(root));
        part.incoming.settle_as(name.clone());
        self.parts.insert(name.clone(), part);
        self.of.insert(key, name);
        room.map(|()| true).map_err(|error| match error {
            StorageError::Full => io::ErrorKind::StorageFull.into(),
            StorageError::Refused | StorageError::Failed => io::ErrorKind::Other.into(),
        })
    }
}
