//! From a received file to a file one can rely on: hashed, synced, named.
//!
//! Hashing and syncing take as long as the disk likes, so they have a thread of their own. Only
//! what comes out of it as [`Placed`] may be acknowledged.

use std::{
    io,
    sync::{
        Arc,
        mpsc::{Receiver, SyncSender, TrySendError, sync_channel},
    },
    thread::JoinHandle,
};

use fanfare_proto::{ObjectKey, StorageError};

use crate::{
    announcement::{Announcement, Details, PackHead},
    directory::{Directory, permissions},
    disk::{FileHandle, Reader},
    file_storage::PartFile,
    ledger::{self, SharedLedger},
    manifest::Manifest,
    name::{NameError, SafeName},
    pack::{self, Unpacker},
    placement::Conflict,
    receipt::Reason,
    source::{self, Hashed},
    waker::Waker,
};

/// Files handed over but not yet begun. More wait with whoever hands them over.
const QUEUE: usize = 16;

/// A received file and what its sender said of it.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) key: ObjectKey,
    pub(crate) size: u64,
    pub(crate) part: PartFile,
    pub(crate) announcement: Option<Announcement>,
    pub(crate) conflict: Conflict,
    /// By which wrong groups are named.
    pub(crate) manifest: Option<Arc<Manifest>>,
    pub(crate) origin: Origin,
}

impl Job {
    /// The head of a pack, which tells what of it is wrong.
    fn head(&self) -> Option<PackHead> {
        self.announcement.as_ref()?.details.as_ref()?.pack_head()
    }
}

/// Where the content of a part comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    /// From the network, all of it.
    Received,
    /// From an earlier attempt, none of it checked, and more may be written meanwhile: it is only
    /// examined, and gets its name when it has been received.
    Kept,
    /// There is none: the file may be in its place already.
    Elsewhere,
    /// The head of a pack has come: its files may be in their place already.
    Head,
}

/// Why a file is not in its place.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// These bytes (offset, length) are not what was announced.
    Wrong(Vec<(u64, u64)>),
    /// It cannot be had.
    Failed(Reason),
}

/// A file in its final place, on disk for good.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placed {
    /// Its name below the directory.
    pub name: SafeName,
    /// Bytes.
    pub size: u64,
    /// BLAKE3 hash of its content.
    pub hash: [u8; 32],
    /// Whether the sender announced that hash; plain NORM senders announce none.
    pub verified: bool,
    /// It was in its place before; nothing was written.
    pub already: bool,
    /// Why the file does not have the name its sender gave.
    pub name_rejected: Option<NameError>,
}

/// An object on disk: a file, or the files of a pack.
#[derive(Debug)]
pub(crate) struct Held {
    /// BLAKE3 hash of the object.
    pub(crate) hash: [u8; 32],
    /// Its bytes.
    pub(crate) size: u64,
    pub(crate) files: Vec<Placed>,
    /// Files of a pack that are not in their place, by the names they have in it.
    pub(crate) failures: Vec<(String, Reason)>,
}

impl From<Placed> for Held {
    fn from(placed: Placed) -> Self {
        let (hash, size) = (placed.hash, placed.size);
        Self { hash, size, files: vec![placed], failures: Vec::new() }
    }
}

/// What has the right hash.
enum Verified {
    /// A file, in its place.
    Held(Held),
    /// A pack, whose files are still to be written.
    Pack(PackJob),
}

/// A pack whose hash is right.
#[derive(Debug)]
pub(crate) struct PackJob {
    pub(crate) key: ObjectKey,
    pub(crate) part: PartFile,
    /// The name it was announced with: mostly none.
    pub(crate) announced: Vec<u8>,
    pub(crate) hash: [u8; 32],
    pub(crate) size: u64,
    pub(crate) conflict: Conflict,
}

/// Hands a pack to whoever unpacks.
type Unpack<'a> = &'a mut dyn FnMut(PackJob) -> Result<(), Reason>;

/// What became of a [`Job`].
#[derive(Debug)]
pub(crate) struct Verdict {
    pub(crate) key: ObjectKey,
    pub(crate) result: Result<Held, Fault>,
}

/// Who verifies.
#[derive(Debug)]
pub(crate) struct Verifier {
    lane: Lane,
}

#[derive(Debug)]
enum Lane {
    /// A thread.
    Thread {
        jobs: Option<SyncSender<Job>>,
        verdicts: Receiver<Verdict>,
        thread: Option<JoinHandle<()>>,
    },
    /// Whoever asks for the next verdict.
    #[cfg(test)]
    Inline {
        directory: Arc<Directory>,
        ledger: SharedLedger,
        jobs: std::collections::VecDeque<Job>,
    },
}

impl Verifier {
    /// Starts the thread; it wakes the driver for each verdict.
    pub(crate) fn start(
        directory: Arc<Directory>,
        ledger: SharedLedger,
        waker: Waker,
    ) -> io::Result<Self> {
        let (jobs, queue) = sync_channel::<Job>(QUEUE);
        // Verdicts are small, and no more of them wait than objects were in view.
        let (results, verdicts) = std::sync::mpsc::channel();
        let mut unpacker =
            Unpacker::start(directory.clone(), ledger.clone(), results.clone(), waker.clone())?;
        let thread =
            std::thread::Builder::new().name("fanfare-verify".into()).spawn(move || {
                let mut unpack = |pack| unpacker.unpack(pack);
                for job in queue {
                    let Some(verdict) = judge(&directory, &ledger, &mut unpack, job) else {
                        continue;
                    };
                    if results.send(verdict).is_err() {
                        return;
                    }
                    waker.wake();
                }
            })?;
        Ok(Self { lane: Lane::Thread { jobs: Some(jobs), verdicts, thread: Some(thread) } })
    }

    /// The same without a thread: a job is done when its verdict is asked for.
    #[cfg(test)]
    pub(crate) fn inline(directory: Arc<Directory>, ledger: SharedLedger) -> Self {
        let jobs = std::collections::VecDeque::new();
        Self { lane: Lane::Inline { directory, ledger, jobs } }
    }

    /// Hands a job over, and back when the queue is full.
    pub(crate) fn submit(&mut self, job: Job) -> Option<Job> {
        match &mut self.lane {
            Lane::Thread { jobs, .. } => match jobs.as_ref()?.try_send(job) {
                Ok(()) => None,
                Err(TrySendError::Full(job) | TrySendError::Disconnected(job)) => Some(job),
            },
            #[cfg(test)]
            Lane::Inline { jobs, .. } if jobs.len() >= QUEUE => Some(job),
            #[cfg(test)]
            Lane::Inline { jobs, .. } => {
                jobs.push_back(job);
                None
            }
        }
    }

    /// The next verdict, if there is one.
    pub(crate) fn poll(&mut self) -> Option<Verdict> {
        match &mut self.lane {
            Lane::Thread { verdicts, .. } => verdicts.try_recv().ok(),
            #[cfg(test)]
            Lane::Inline { directory, ledger, jobs } => {
                // No pack comes here.
                let unpack: Unpack<'_> = &mut |_| Err(Reason::Refused);
                jobs.pop_front().and_then(|job| judge(directory, ledger, unpack, job))
            }
        }
    }
}

impl Drop for Verifier {
    /// Files handed over are still finished: they are whole.
    fn drop(&mut self) {
        match &mut self.lane {
            Lane::Thread { jobs, thread, .. } => {
                *jobs = None;
                if let Some(thread) = thread.take() {
                    let _ = thread.join();
                }
            }
            #[cfg(test)]
            Lane::Inline { .. } => while self.poll().is_some() {},
        }
    }
}

fn judge(
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
    let mendable = examined || job.manifest.is_some() || job.head().is_some();
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
        ledger::lock(ledger).record(key, what, &held.files);
    }
    let given_up = match &held {
        Ok(held) => held.files.iter().all(|placed| placed.already),
        Err(Fault::Wrong(_)) => !mendable,
        Err(Fault::Failed(Reason::Conflict)) => true,
        Err(Fault::Failed(_)) => (!lasting && !examined) || file.is_lost(),
    };
    if given_up {
        directory.remove(&part);
    }
    Some(held)
}

fn try_verify(directory: &Directory, ledger: &SharedLedger, job: Job) -> Result<Verified, Fault> {
    if let Some(error) = job.part.failed {
        return Err(Fault::Failed(reason(error)));
    }
    if job.origin != Origin::Received
        && let Some(held) = find_listed(ledger, &job)
    {
        return Ok(Verified::Held(held));
    }
    if job.origin != Origin::Received
        && let Some(placed) = find_placed(directory, &job)
    {
        return Ok(Verified::Held(placed.into()));
    }
    let details = job.announcement.as_ref().and_then(|a| a.details.clone());
    if job.origin == Origin::Elsewhere {
        let lacking = job.head().map_or(job.size, |head| head.bytes.min(job.size));
        return Err(Fault::Wrong(vec![(0, lacking)]));
    }
    if let (Origin::Head, Some(head)) = (job.origin, job.head()) {
        let lacking = pack::fill(directory, job.part.file.handle(), job.size, &head);
        let lacking = lacking.map_err(Fault::Failed)?;
        if !lacking.is_empty() {
            return Err(Fault::Wrong(lacking));
        }
    }
    let mut reader = Reader::new(job.part.file.handle());
    let hashed = source::hash(&mut reader, &mut |_| {}).map_err(|e| disk(&e))?;
    if details.as_ref().is_some_and(|d| d.root != hashed.root || d.size != hashed.size) {
        return Err(wrong(&job, &hashed));
    }
    if job.origin == Origin::Kept {
        return Err(Fault::Wrong(Vec::new()));
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
    let files = ledger::lock(ledger).find(&details.root, &announcement.name)?;
    Some(Held { hash: details.root, size: job.size, files, failures: Vec::new() })
}

/// The same file, where it would be put.
fn find_placed(directory: &Directory, job: &Job) -> Option<Placed> {
    let announcement = job.announcement.as_ref()?;
    let details = announcement.details.as_ref()?;
    let name = SafeName::parse(&announcement.name).ok()?;
    let file = directory.open_received(&name, details.size)?;
    let hashed = source::hash(&mut Reader::new(&*file), &mut |_| {}).ok()?;
    if hashed.root != details.root {
        return None;
    }
    // It will be acknowledged as on disk for good.
    directory.make_durable(&name, &*file).ok()?;
    let (size, hash) = (hashed.size, hashed.root);
    Some(Placed { name, size, hash, verified: true, already: true, name_rejected: None })
}

fn wrong(job: &Job, found: &Hashed) -> Fault {
    if let Some(head) = job.head() {
        return match pack::wrong(job.part.file.handle(), job.size, &head) {
            Ok(runs) if runs.is_empty() => Fault::Failed(Reason::HashMismatch),
            Ok(runs) => Fault::Wrong(runs),
            Err(reason) => Fault::Failed(reason),
        };
    }
    match (&job.manifest, &found.manifest) {
        (Some(manifest), Some(found)) => Fault::Wrong(manifest.wrong(found)),
        (Some(manifest), None) => Fault::Wrong(vec![(0, manifest.size())]),
        (None, _) => Fault::Failed(Reason::HashMismatch),
    }
}

fn place(directory: &Directory, job: Job, hashed: &Hashed) -> Result<Held, Fault> {
    let Job {
        key, part: PartFile { file, name: part, .. }, announcement, conflict, manifest, ..
    } = job;
    let Hashed { root: hash, size, .. } = *hashed;
    let details = announcement.as_ref().and_then(|a| a.details.as_ref());
    if let Some(found) = hashed.manifest.as_ref().filter(|_| manifest.is_some()) {
        punch(file.handle(), &found.zero_runs());
    }
    let mode = permissions(details.and_then(|d| d.mode));
    let set = file.handle().set_properties(mode, details.and_then(|d| d.mtime));
    set.and_then(|()| file.sync()).map_err(|errno| disk(&errno.into()))?;
    let (name, name_rejected) = choose_name(key, announcement.as_ref(), &hash);
    let verified = details.is_some();
    let place = |name: &SafeName| directory.place(&part, name, conflict, (size, &hash));
    let (name, name_rejected) = match place(&name) {
        Ok(name) => (name, name_rejected),
        // A link, or a file where the name needs a directory, stands in the way.
        Err(error) if is_in_the_way(&error) => {
            (place(&unnamed(&hash)).map_err(|e| disk(&e))?, Some(NameError::Relative))
        }
        Err(error) => return Err(disk(&error)),
    };
    let (name, already) = name.ok_or(Fault::Failed(Reason::Conflict))?;
    Ok(Placed { name, size, hash, verified, already, name_rejected }.into())
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

pub(crate) fn unnamed(hash: &[u8; 32]) -> SafeName {
    let hex = blake3::Hash::from_bytes(*hash).to_hex();
    SafeName::own(format!("unnamed-{}", &hex[..16]))
}

pub(crate) fn is_in_the_way(error: &io::Error) -> bool {
    use rustix::io::Errno;
    // openat2 says XDEV where a path would leave the directory.
    let in_the_way = [Errno::NOTDIR, Errno::LOOP, Errno::EXIST, Errno::NAMETOOLONG, Errno::XDEV];
    error.kind() == io::ErrorKind::AlreadyExists
        || Errno::from_io_error(error).is_some_and(|errno| in_the_way.contains(&errno))
}

/// What the protocol's storage error is to the sender.
pub(crate) fn reason(error: StorageError) -> Reason {
    match error {
        StorageError::Refused => Reason::Refused,
        StorageError::Full => Reason::DiskFull,
        StorageError::Failed => Reason::DiskError,
    }
}

fn disk(error: &io::Error) -> Fault {
    Fault::Failed(disk_reason(error))
}

pub(crate) fn disk_reason(error: &io::Error) -> Reason {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Reason::DiskFull,
        _ => Reason::DiskError,
    }
}

#[cfg(test)]
mod tests {
    use fanfare_proto::{InstanceId, NodeId, ObjectTransportId};

    use super::*;
    use crate::scratch::Scratch;

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
                key: ObjectKey {
                    sender: NodeId(1),
                    instance: InstanceId(1),
                    object: ObjectTransportId(9),
                },
                part: PartFile { file, name: part, failed: None, lasting: false },
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
    fn a_file_whose_hash_is_wrong_leaves_nothing() {
        let scratch = Scratch::new();
        assert_eq!(
            run(&scratch, b"f", b"x", Some([0; 32])),
            Err(Fault::Failed(Reason::HashMismatch))
        );
        assert_eq!(entries(&scratch), Vec::<String>::new());
    }

    #[test]
    fn a_file_that_is_there_already_is_recognised_and_another_one_kept() {
        let scratch = Scratch::new();
        std::fs::write(scratch.path().join("f"), "x").unwrap();
        std::fs::write(scratch.path().join("g"), "y").unwrap();
        let root = Some(*blake3::hash(b"x").as_bytes());
        assert!(run(&scratch, b"f", b"x", root).unwrap().already);
        let beside = run(&scratch, b"g", b"x", root).unwrap();
        assert_eq!((beside.already, beside.name.to_string().as_str()), (false, "g.1"));
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
        for name in
            [&b"../../etc/passwd"[..], b"/abs", b"CON", &[b'a'; 300], "a\u{202e}b".as_bytes()]
        {
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
