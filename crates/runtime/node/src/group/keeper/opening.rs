//! What an earlier life has left in the directory of a cache, damaged or not.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use fanfare_proto::ObjectKey;

use super::{
    CacheError, DATABASE, Files, PAGES_BYTES,
    database::{Change, Identity, Kept, LIVES_MAX, OpenFailure, Tables},
    fault::Fault,
    record::{Record, now},
    salvage,
};

/// What is not as an earlier life had kept it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Damage {
    /// What is wrong with the database, where that is not single messages.
    pub database: Option<String>,
    /// Where it was put aside, to begin another.
    pub aside: Option<PathBuf>,
    /// Others' messages that were read from it.
    pub saved: u64,
    /// Others' messages that are gone.
    pub lost: u64,
    /// Messages of this node's own that are gone.
    pub own: u64,
    /// More may be gone than could be counted.
    pub is_partial: bool,
}

/// What was found.
pub(super) struct Found {
    pub(super) tables: Tables,
    pub(super) identity: Identity,
    pub(super) kept: Kept,
    pub(super) damage: Option<Damage>,
}

/// Opens the database in `path`, or begins one.
pub(super) fn open(path: &Path, new: Identity, files: &Files) -> Result<Found, CacheError> {
    let file = path.join(DATABASE);
    let before = fs::metadata(&file).map(|found| found.len()).ok();
    let (tables, identity, kept, mut damage) = match read(&file, new) {
        Ok((tables, identity, kept)) => (tables, identity, kept, Damage::default()),
        Err(OpenFailure::Broken(why, salvage)) => {
            let damage = Damage {
                database: Some(why.to_string()),
                own: salvage.own,
                lost: salvage.lost,
                is_partial: salvage.is_partial,
                ..Damage::default()
            };
            begin_anew(path, new, (salvage.into_others(), damage))?
        }
        Err(failure) => return Err(refused(path, failure)),
    };
    let checked = files.keep_only(kept).map_err(|error| directory(path, error))?;
    let (kept, strays) = (checked.kept, checked.strays);
    if !damage.is_partial {
        // Elsewhere it may be of a message that was removed with its file.
        damage.lost += kept.damaged;
    }
    if damage.aside.is_some() {
        damage.saved = kept.records.len() as u64;
    } else if before == Some(0) {
        damage.database = Some("it was empty".into());
    } else if before.is_none() && strays > 0 {
        damage.database = Some("it was not there".into());
    }
    if damage.database.is_some() && kept.records.is_empty() {
        // Files of long messages, of which nothing else is known.
        damage.lost = damage.lost.max(strays.saturating_sub(damage.own));
        damage.is_partial = true;
    }
    let damage = Some(damage).filter(|damage| *damage != Damage::default());
    Ok(Found { tables, identity, kept, damage })
}

type Read = (Tables, Identity, Kept);

fn read(file: &Path, new: Identity) -> Result<Read, OpenFailure> {
    let tables = Tables::open(file, PAGES_BYTES)?;
    let failed = |fault| match fault {
        // Nothing is wrong with it.
        Fault::Full => OpenFailure::Unusable(io::ErrorKind::StorageFull.into()),
        fault => match salvage::carve(file) {
            Ok(salvage) => OpenFailure::Broken(fault, salvage),
            Err(error) => OpenFailure::Unusable(error),
        },
    };
    let identity = tables.identity(new).map_err(failed)?;
    let mut kept = tables.load().map_err(failed)?;
    // Versions before had one id in all their lives, which is noted there.
    let is_noted = kept.lives.len() == LIVES_MAX || kept.lives.contains(&identity.node);
    if identity.node != new.node && !is_noted {
        kept.lives.push(identity.node);
    }
    // On a disk that refuses this others wait for the id as for one that went without good-bye.
    let _ = tables.begin_life(new.node, &kept.lives);
    Ok((tables, identity, kept))
}

/// Puts a broken database aside, and what was saved of it into another.
fn begin_anew(
    path: &Path,
    new: Identity,
    (records, mut damage): (Vec<(ObjectKey, Record)>, Damage),
) -> Result<(Tables, Identity, Kept, Damage), CacheError> {
    let file = path.join(DATABASE);
    let aside = path.join(format!("{DATABASE}.broken-{}", now()));
    fs::rename(&file, &aside).map_err(|error| directory(path, error))?;
    damage.aside = Some(aside);
    let (tables, identity, mut kept) =
        read(&file, new).map_err(|failure| refused(path, failure))?;
    let put = |(key, record): &(ObjectKey, Record)| Change::Put(*key, Box::new(record.clone()));
    for records in records.chunks(512) {
        let puts: Vec<Change> = records.iter().map(put).collect();
        let failed = |fault: Fault| CacheError::Failed(path.to_owned(), fault.to_string());
        tables.apply(&puts).map_err(failed)?;
    }
    kept.records = records;
    Ok((tables, identity, kept, damage))
}

fn directory(path: &Path, error: io::Error) -> CacheError {
    CacheError::Directory(path.to_owned(), error)
}

fn refused(path: &Path, failure: OpenFailure) -> CacheError {
    match failure {
        OpenFailure::InUse => CacheError::InUse(path.to_owned()),
        OpenFailure::Unusable(error) => directory(path, error),
        OpenFailure::Broken(why, _) => CacheError::Failed(path.to_owned(), why.to_string()),
    }
}
