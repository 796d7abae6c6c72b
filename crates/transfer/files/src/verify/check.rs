//! What is in its place already, what is right, and which bytes are wrong.

use crate::content::{
    announcement::Details,
    pack,
    placed::Placed,
    receipt::Reason,
    source::{Hashed, hash},
};
use fanfare_node::disk::{
    Reader,
    directory::{Directory, How, permissions},
    name::SafeName,
};

use super::{
    Fault, Held, Job, Origin, PackJob, Unpack, Verdict, base, disk,
    hashing::hash_part,
    place::{adjust, place},
};
use crate::ledger::{self, SharedLedger};

/// What has the right hash.
enum Verified {
    /// A file, in its place.
    Held(Held),
    /// A pack, whose files are still to be written.
    Pack(PackJob),
}

/// What becomes of a job; `None`: it is a pack, whose verdict comes from the unpacker.
pub(super) fn judge(
    directory: &Directory,
    ledger: &SharedLedger,
    unpack: Unpack<'_>,
    job: Job,
) -> Option<Verdict> {
    let key = job.key;
    verify(directory, ledger, unpack, job).map(|result| Verdict { key, result })
}

/// Hash, compare, sync, rename, sync the directory: in this order, so that a file under its final
/// name is never wrong, whenever the power fails.
///
/// `None`: it is a pack, whose verdict comes from the unpacker.
fn verify(
    directory: &Directory,
    ledger: &SharedLedger,
    unpack: Unpack<'_>,
    job: Job,
) -> Option<Result<Held, Fault>> {
    let (part, lasting, file) = (job.part.name.clone(), job.part.lasting, job.part.file.clone());
    // What is only examined is being received.
    let examined = job.origin != Origin::Received;
    let (key, announcement) = (job.key, job.announcement.clone());
    let held = match try_verify(directory, ledger, job) {
        Ok(Verified::Pack(pack)) => match unpack(pack) {
            Ok(()) => return None,
            Err(reason) => Err(Fault::Failed(reason)),
        },
        Ok(Verified::Held(held)) => Ok(held),
        Err(fault) => Err(fault),
    };
    if let (Ok(held), Some(announcement)) = (&held, &announcement)
        && let (Some(details), true) = (&announcement.details, held.failures.is_empty())
    {
        let what = (&details.root, &announcement.name[..], held.size);
        ledger::record(ledger, key, what, &held.files);
    }
    let given_up = match &held {
        Ok(held) => held.files.iter().all(Placed::is_already),
        Err(Fault::Wrong(..)) => false,
        Err(Fault::Failed(Reason::Conflict | Reason::Refused)) => true,
        Err(Fault::Failed(_)) => (!lasting && !examined) || file.is_lost(),
    };
    if given_up {
        directory.remove(&part);
    }
    Some(held)
}

fn try_verify(directory: &Directory, ledger: &SharedLedger, job: Job) -> Result<Verified, Fault> {
    if let Some(error) = job.part.failed {
        return Err(Fault::Failed(Reason::of_storage(error)));
    }
    if job.origin != Origin::Received
        && let Some(held) = find_listed(ledger, &job)
    {
        let details = job.announcement.as_ref().and_then(|a| a.details.as_ref());
        if let ([placed], Some(details)) = (&held.files[..], details.filter(|d| !d.is_pack())) {
            adjust(directory, placed, details);
        }
        return Ok(Verified::Held(held));
    }
    if job.origin != Origin::Received
        && let Some(placed) = find_placed(directory, &job)
    {
        return Ok(Verified::Held(placed.into()));
    }
    if job.origin == Origin::Elsewhere
        && let Some(lacking) = base::fill(directory, &job)
    {
        return Err(Fault::Wrong(lacking.map_err(|error| disk(&error))?, None));
    }
    let details = job.announcement.as_ref().and_then(|a| a.details.clone());
    match (job.origin, job.head()) {
        (Origin::Claimed, Some(head)) => {
            return Err(Fault::Wrong(vec![(0, head.bytes.min(job.size))], None));
        }
        (Origin::Claimed | Origin::Elsewhere, _) => {
            return Err(Fault::Wrong(vec![(0, job.size)], None));
        }
        _ => {}
    }
    if let (Origin::Head, Some(head)) = (job.origin, job.head()) {
        let lacking = pack::fill(directory, job.part.file.handle(), job.size, &head);
        let lacking = lacking.map_err(Fault::Failed)?;
        if !lacking.is_empty() {
            return Err(Fault::Wrong(lacking, None));
        }
    }
    let handle = job.part.file.handle();
    let hashed = hash_part(handle, job.size, &job.part.units).map_err(|e| disk(&e))?;
    if details.as_ref().is_some_and(|d| d.root != hashed.root || d.size != hashed.size) {
        return Err(wrong(&job, &hashed));
    }
    if job.origin == Origin::Kept {
        return Err(Fault::Wrong(Vec::new(), None));
    }
    if details.as_ref().is_some_and(Details::is_pack) {
        let Job { key, part, conflict, .. } = job;
        let (hash, size) = (hashed.root, hashed.size);
        let announced = job.announcement.map_or_else(Vec::new, |announcement| announcement.name);
        return Ok(Verified::Pack(PackJob { key, part, announced, hash, size, conflict }));
    }
    if job.origin == Origin::Received
        && let Some(placed) = find_placed(directory, &job)
    {
        return Ok(Verified::Held(placed.into()));
    }
    place(directory, job, &hashed).map(Verified::Held)
}

/// What the ledger knows to be here, unless its sender wants it read.
fn find_listed(ledger: &SharedLedger, job: &Job) -> Option<Held> {
    let announcement = job.announcement.as_ref()?;
    let details = announcement.details.as_ref().filter(|details| !details.asks_to_read())?;
    let files = ledger::find(ledger, &details.root, &announcement.name)?;
    Some(Held { hash: details.root, size: job.size, files, failures: Vec::new() })
}

/// The same file, where it would be put.
fn find_placed(directory: &Directory, job: &Job) -> Option<Placed> {
    let announcement = job.announcement.as_ref()?;
    let details = announcement.details.as_ref()?;
    let name = SafeName::parse(&announcement.name).ok()?;
    let file = directory.open_received(&name, details.size)?;
    let mode = details.mode.map(|mode| permissions(Some(mode)));
    if file.is_shared_as_another(mode, details.changed_at()) {
        return None;
    }
    let hashed = hash(&mut Reader::new(&*file), &mut |_| {}).ok()?;
    if hashed.root != details.root {
        return None;
    }
    // It will be acknowledged as on disk for good.
    directory.make_durable(&name, &*file).ok()?;
    let (size, hash) = (hashed.size, hashed.root);
    let placed = Placed {
        name,
        size,
        hash,
        verified: true,
        how: How::Already,
        name_rejected: None,
        displaced: None,
    };
    adjust(directory, &placed, details);
    Some(placed)
}

fn wrong(job: &Job, found: &Hashed) -> Fault {
    if let Some(head) = job.head() {
        return match pack::wrong(job.part.file.handle(), job.size, &head) {
            Ok(runs) if runs.is_empty() => Fault::Failed(Reason::HashMismatch),
            // Without its head nothing that is kept of it can be told right.
            Ok(runs)
                if job.origin == Origin::Kept && runs.first().is_some_and(|run| run.0 == 0) =>
            {
                Fault::Wrong(vec![(0, job.size)], None)
            }
            Ok(runs) => Fault::Wrong(runs, Some(found.root)),
            Err(reason) => Fault::Failed(reason),
        };
    }
    let root = found.root;
    match (&job.manifest, &found.manifest) {
        (Some(manifest), Some(found)) => Fault::Wrong(manifest.wrong(found), Some(root)),
        (Some(manifest), None) => Fault::Wrong(vec![(0, manifest.size())], Some(root)),
        // It is short: all of it is asked for.
        (None, _) if job.origin == Origin::Received => {
            Fault::Wrong(vec![(0, job.size)], Some(root))
        }
        (None, _) => Fault::Failed(Reason::HashMismatch),
    }
}

#[cfg(test)]
mod tests {
    use std::{io, sync::Arc};

    use crate::content::announcement::Announcement;
    use fanfare_node::disk::{placement::Conflict, scratch::Scratch};
    use fanfare_proto::{InstanceId, NodeId, ObjectKey, ObjectTransportId};

    use super::*;
    use crate::file_storage::{PartFile, Units};

    const KEY: ObjectKey =
        ObjectKey { sender: NodeId(1), instance: InstanceId(1), object: ObjectTransportId(9) };

    fn run(
        scratch: &Scratch,
        name: &[u8],
        content: &[u8],
        root: Option<[u8; 32]>,
    ) -> Result<Placed, Fault> {
        let directory = Directory::open(scratch.path(), false).unwrap();
        let part = ".fanfare-t.part".to_owned();
        let file = directory.create_own(&part).unwrap();
        file.handle().write_all_at(content, 0).unwrap();
        let details = root.map(|root| Details::new(content.len() as u64, root, None, Some(1)));
        let directory = Arc::new(directory);
        let ledger = ledger::share(ledger::Ledger::open(directory.clone()));
        verify(
            &directory,
            &ledger,
            &mut |_| Err(Reason::Refused),
            Job {
                key: KEY,
                part: PartFile {
                    file,
                    name: part,
                    units: Units::default(),
                    failed: None,
                    lasting: false,
                },
                size: content.len() as u64,
                manifest: None,
                origin: Origin::Received,
                announcement: Some(Announcement { name: name.to_vec(), details }),
                conflict: Conflict::KeepBoth,
            },
        )
        .expect("a file's verdict")
        .map(|held| held.files[0].clone())
    }

    #[test]
    fn of_a_kept_pack_its_head_tells_what_is_right_and_without_it_nothing_is() {
        let content = [3; 200_000];
        let (mut bytes, head) =
            pack::samples::bytes_of(&[("a", &content[..60_000]), ("b", &content)]);
        let (size, root) = (bytes.len() as u64, *blake3::hash(&bytes).as_bytes());
        let (group, start) = (64 << 10, head.bytes);
        bytes[(start + group) as usize] ^= 1;
        let examine = |bytes: &[u8]| {
            let scratch = Scratch::new();
            let directory = Arc::new(Directory::open(scratch.path(), false).unwrap());
            let name = ".fanfare-t.part".to_owned();
            let file = directory.create_own(&name).unwrap();
            file.handle().write_all_at(bytes, 0).unwrap();
            let units = Units::default();
            let part = PartFile { file, name, units, failed: None, lasting: true };
            let details = Some(Details::of_pack(size, root, 2, head));
            let announcement = Some(Announcement { name: Vec::new(), details });
            let (key, conflict) = (KEY, Conflict::KeepBoth);
            let origin = Origin::Kept;
            let job = Job { key, part, size, manifest: None, origin, announcement, conflict };
            let ledger = ledger::share(ledger::Ledger::open(directory.clone()));
            let result = verify(&directory, &ledger, &mut |_| Err(Reason::Refused), job);
            assert_eq!(entries(&scratch).len(), 1, "it stays");
            result.expect("a verdict").map(|_| ())
        };
        let found = Some(*blake3::hash(&bytes).as_bytes());
        assert_eq!(examine(&bytes), Err(Fault::Wrong(vec![(start + group, group)], found)));
        bytes[20] ^= 1;
        assert_eq!(examine(&bytes), Err(Fault::Wrong(vec![(0, size)], None)));
    }

    fn entries(scratch: &Scratch) -> Vec<String> {
        let entry =
            |e: io::Result<std::fs::DirEntry>| e.unwrap().file_name().into_string().unwrap();
        let names = std::fs::read_dir(scratch.path()).unwrap().map(entry);
        names.filter(|name| *name != ledger::file_name()).collect()
    }

    #[test]
    fn a_file_whose_hash_is_right_gets_its_name() {
        let scratch = Scratch::new();
        let placed = run(&scratch, b"d/f", b"x", Some(*blake3::hash(b"x").as_bytes())).unwrap();
        assert!(placed.verified && placed.name_rejected.is_none());
        assert_eq!(
            (placed.name.to_string().as_str(), entries(&scratch)),
            ("d/f", vec!["d".into()])
        );
    }

    #[test]
    fn a_file_whose_hash_is_wrong_gets_no_name_and_is_asked_for_again() {
        let scratch = Scratch::new();
        let found = Some(*blake3::hash(b"x").as_bytes());
        let wrong = Fault::Wrong(vec![(0, 1)], found);
        assert_eq!(run(&scratch, b"f", b"x", Some([0; 32])), Err(wrong));
        assert_eq!(entries(&scratch), [".fanfare-t.part"]);
    }

    #[test]
    fn a_file_that_is_there_already_is_recognised_and_another_one_kept() {
        let scratch = Scratch::new();
        std::fs::write(scratch.path().join("f"), "x").unwrap();
        std::fs::write(scratch.path().join("g"), "y").unwrap();
        let root = Some(*blake3::hash(b"x").as_bytes());
        assert!(run(&scratch, b"f", b"x", root).unwrap().is_already());
        let beside = run(&scratch, b"g", b"x", root).unwrap();
        assert_eq!((beside.how, beside.name.to_string().as_str()), (How::Beside, "g.1"));
        let mut names = entries(&scratch);
        names.sort();
        assert_eq!(names, ["f", "g", "g.1"]);
    }

    #[test]
    fn a_plain_senders_file_is_taken_but_not_called_verified() {
        let scratch = Scratch::new();
        let placed = run(&scratch, b"readme", b"x", None).unwrap();
        assert!(!placed.verified);
        assert_eq!(placed.hash, *blake3::hash(b"x").as_bytes());
    }

    #[test]
    fn a_hostile_name_is_replaced_by_the_hash() {
        for name in [&b"../../etc/passwd"[..], b"/abs", b"a//b", &[b'a'; 300], b".fanfare-x"] {
            let scratch = Scratch::new();
            let placed = run(&scratch, name, b"x", None).unwrap();
            assert!(placed.name_rejected.is_some());
            let hex = blake3::hash(b"x").to_hex();
            assert_eq!(placed.name.to_string(), format!("unnamed-{}", &hex[..16]));
            assert_eq!(entries(&scratch), [placed.name.to_string()]);
        }
    }

    #[test]
    fn an_object_without_a_name_is_named_by_its_number() {
        let scratch = Scratch::new();
        assert_eq!(run(&scratch, b"", b"x", None).unwrap().name.to_string(), "object-9");
    }

    #[test]
    fn a_file_where_a_directory_is_needed_keeps_its_place() {
        let scratch = Scratch::new();
        std::fs::write(scratch.path().join("d"), "kept").unwrap();
        let placed = run(&scratch, b"d/f", b"x", None).unwrap();
        assert!(placed.name.to_string().starts_with("unnamed-"));
        assert_eq!(std::fs::read(scratch.path().join("d")).unwrap(), b"kept");
    }
}
