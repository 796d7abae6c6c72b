//! What is right gets its name: synced before, its directory after.

use crate::content::{
    announcement::{Announcement, Details},
    placed::{Placed, displaced, is_in_the_way, unnamed},
    receipt::Reason,
    source::Hashed,
};
use fanfare_node::disk::{
    FileHandle,
    directory::{Directory, Settled, permissions},
    name::{NameError, SafeName},
};
use fanfare_proto::ObjectKey;

use super::{Fault, Held, Job, disk};
use crate::file_storage::PartFile;

/// Syncs a file and gives it its name.
pub(super) fn place(directory: &Directory, job: Job, hashed: &Hashed) -> Result<Held, Fault> {
    let Job {
        key, part: PartFile { file, name: part, .. }, announcement, conflict, manifest, ..
    } = job;
    let Hashed { root: hash, size, .. } = *hashed;
    let details = announcement.as_ref().and_then(|a| a.details.as_ref());
    if let Some(found) = hashed.manifest.as_ref().filter(|_| manifest.is_some()) {
        punch(file.handle(), &found.zero_runs());
    }
    let mode = permissions(details.and_then(|d| d.mode));
    let mtime = details.and_then(Details::changed_at);
    let set = file.handle().set_properties(mode, mtime);
    let kept = set.and_then(|kept| file.sync().map(|()| kept));
    if !kept.map_err(|errno| disk(&errno.into()))? {
        directory.note_without_mode();
    }
    let (name, name_rejected) = choose_name(key, announcement.as_ref(), &hash);
    let verified = details.is_some();
    let place = |name: &SafeName| directory.place(&part, name, conflict, (size, &hash));
    let (settled, name_rejected, displaced) = match place(&name) {
        Ok(settled) => (settled, name_rejected, None),
        // A link, or a file where the name needs a directory, stands in the way; or a directory.
        Err(error) if is_in_the_way(&error) => {
            let settled = place(&displaced(&name, &hash)).map_err(|e| disk(&e))?;
            (settled, Some(NameError::InTheWay), Some(name))
        }
        Err(error) => return Err(disk(&error)),
    };
    let Settled::Placed(name, how) = settled else {
        return Err(Fault::Failed(Reason::Conflict));
    };
    let placed = Placed { name, size, hash, verified, how, name_rejected, displaced };
    if let Some(details) = details.filter(|_| placed.is_already()) {
        adjust(directory, &placed, details);
    }
    Ok(placed.into())
}

/// Gives a file that was there the permissions and the time that are announced.
pub(super) fn adjust(directory: &Directory, placed: &Placed, details: &Details) {
    if let Some(file) = directory.open_received(&placed.name, placed.size) {
        let mode = details.mode.map(|mode| permissions(Some(mode)));
        // The content is right, whatever becomes of this.
        let _ = file.adjust(mode, details.changed_at());
    }
}

/// Makes holes where there is nothing but zeros. Where the file system has none, they take room.
fn punch(file: &dyn FileHandle, zeros: &[(u64, u64)]) {
    for (offset, len) in zeros {
        if file.punch(*offset, *len).is_err() {
            return;
        }
    }
}

fn choose_name(
    key: ObjectKey,
    announcement: Option<&Announcement>,
    hash: &[u8; 32],
) -> (SafeName, Option<NameError>) {
    let Some(announcement) = announcement.filter(|a| !a.name.is_empty()) else {
        return (SafeName::own(format!("object-{}", key.object)), None);
    };
    match SafeName::parse(&announcement.name) {
        Ok(name) => (name, None),
        Err(error) => (unnamed(hash), Some(error)),
    }
}
