//! From a received listing to what came of it: checked, counted, perhaps removed.

use fanfare_udp::os::fd::BorrowedFd;
use std::{
    collections::BTreeSet,
    io::{self, BufReader, Read},
    sync::{Arc, atomic::AtomicBool},
};

use fanfare_node::disk::{FileHandle, Reader, directory::Directory, name::shown};
use fanfare_udp::os::{fs::Mode, io::Errno};

use super::{
    LISTING_MAX,
    comparison::{Comparison, ComparisonResult, InTheWay},
    extras::{Bounds, Count, Extras, Moment, Obstacle, Remove},
    instead::DisplacedFiles,
    tree,
};
use crate::content::{placed::Placed, receipt::Reason, received::Received, source};

/// Names told at once.
const BATCH: usize = 256;

/// What may be removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Anything at all.
    pub allowed: bool,
    /// So many names at most.
    pub max: Option<u64>,
    /// Files that a conflict may have given a number stay.
    pub keep_numbered: bool,
}

/// A name that is gone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deleted {
    /// From the receiver's directory on; where it was not UTF-8, as near to it as can be shown.
    pub path: String,
    /// It was a directory.
    pub is_directory: bool,
}

/// What came of a listing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Outcome {
    /// Directories that it lists.
    pub roots: Vec<String>,
    /// Names beneath them that it does not have; `None` when that was not found out.
    pub extra: Option<u64>,
    /// Those that are gone.
    pub deleted: u64,
    /// Files that have taken the place of something of another kind.
    pub replaced: Vec<Placed>,
    /// Why the others are not, for the sender and for people.
    pub refused: Option<(Reason, String)>,
}

impl Outcome {
    /// Nothing was done.
    pub fn refused(reason: Reason, why: String) -> Self {
        Self { refused: Some((reason, why)), ..Self::default() }
    }
}

/// What is told while it runs.
#[derive(Debug)]
pub enum Step {
    /// These are gone.
    Deleted(Vec<Deleted>),
    /// It has ended.
    Done(Outcome),
}

/// A listing that has come, and what may be done about it.
#[derive(Debug)]
pub struct Removal {
    /// Where files are received.
    pub directory: Arc<Directory>,
    /// The listing.
    pub part: Received,
    /// Its bytes.
    pub size: u64,
    /// BLAKE3 hash, as announced.
    pub root: [u8; 32],
    /// What may be removed.
    pub limits: Limits,
    /// Files that are kept aside until something else has made room for them.
    pub instead: DisplacedFiles,
}

impl Removal {
    /// Does it. `tell` says whether anybody listens.
    pub fn run(self, stop: &AtomicBool, tell: &mut dyn FnMut(Step) -> bool) {
        let mut outcome = Outcome::default();
        outcome.refused = self.try_run(stop, &mut outcome, tell).err();
        self.directory.remove(&self.part.name);
        tell(Step::Done(outcome));
    }

    fn try_run(
        &self,
        stop: &AtomicBool,
        outcome: &mut Outcome,
        tell: &mut dyn FnMut(Step) -> bool,
    ) -> Result<(), (Reason, String)> {
        self.verify()?;
        let place = |errno| refusal(errno, "the directory");
        let target = fanfare_node::disk::descriptor(self.directory.handle()).map_err(place)?;
        let bounds = self.bounds(target, stop).map_err(place)?;
        let mut count = Count::default();
        let found = self.compare(target, bounds, &mut count)?;
        outcome.roots = found.roots;
        outcome.extra = Some(count.0);
        let Limits { allowed, max, .. } = self.limits;
        match (count.0, max) {
            (0, _) => return self.place(outcome),
            (_, _) if !allowed => {
                let mut why = "this receiver was started without --allow-delete".to_owned();
                if let Some(first) = found.in_the_way.first() {
                    why = format!("{}, and {why}, which would replace it", first.describe());
                }
                return Err((Reason::DeleteNotAllowed, why));
            }
            (extra, Some(max)) if extra > max => {
                let why = format!("--max-delete lets it remove {max}");
                return Err((Reason::DeleteTooMany, why));
            }
            _ => {}
        }
        let mut batch = Vec::new();
        let deleted = &mut outcome.deleted;
        let removed = self.compare(
            target,
            bounds,
            &mut Remove {
                touched: BTreeSet::new(),
                tell: &mut |path, is_directory| {
                    *deleted += 1;
                    batch.push(Deleted { path: path.to_owned(), is_directory });
                    batch.len() < BATCH || tell(Step::Deleted(std::mem::take(&mut batch)))
                },
            },
        );
        if !batch.is_empty() {
            tell(Step::Deleted(batch));
        }
        removed?;
        self.place(outcome)
    }

    /// Gives what was kept aside its names, which nothing else has any more.
    fn place(&self, outcome: &mut Outcome) -> Result<(), (Reason, String)> {
        if !self.instead.may_be_placed() {
            return Ok(());
        }
        let (replaced, left) = self.instead.place(&self.directory);
        outcome.replaced = replaced;
        let Some(left) = left else { return Ok(()) };
        let name = shown(&left.to_string());
        Err((Reason::DeleteUnsafe, format!("'{name}' has no room: something else stays there")))
    }

    /// Nothing of it is believed before its hash is right.
    fn verify(&self) -> Result<(), (Reason, String)> {
        if let Some(error) = self.part.failed {
            return Err((Reason::of_storage(error), "it could not be kept on disk".to_owned()));
        }
        if self.size > LISTING_MAX as u64 {
            return Err((Reason::Refused, "it is too long".to_owned()));
        }
        let mut reader = Reader::new(self.part.file.handle());
        let hashed = source::hash(&mut reader, &mut |_| {});
        let hashed = hashed.map_err(|error| (Reason::of_disk(&error), error.to_string()))?;
        if hashed.root == self.root && hashed.size == self.size {
            Ok(())
        } else {
            Err((Reason::HashMismatch, "it is not what was announced".to_owned()))
        }
    }

    fn bounds<'a>(
        &self,
        target: BorrowedFd<'_>,
        stop: &'a AtomicBool,
    ) -> Result<Bounds<'a>, Errno> {
        Ok(Bounds { device: tree::device(target)?, since: now(self.part.file.handle())?, stop })
    }

    fn compare(
        &self,
        target: BorrowedFd<'_>,
        bounds: Bounds<'_>,
        extras: &mut dyn Extras,
    ) -> Result<ComparisonResult, (Reason, String)> {
        let input = BufReader::new(Reader::new(self.part.file.handle())).take(self.size);
        let keep_numbered = self.limits.keep_numbered;
        Comparison::run(input, target, bounds, keep_numbered, &self.instead, extras)
            .map_err(explain)
    }
}

/// Time by the file system's clock: a change of a file's permissions sets it. `file` is one of ours.
pub(crate) fn now(file: &dyn FileHandle) -> Result<Moment, Errno> {
    file.set_properties(Mode::RUSR | Mode::WUSR, None)?;
    let [.., seconds, nanoseconds] = file.metadata()?.times;
    Ok((seconds, nanoseconds))
}

impl InTheWay {
    /// Says both things.
    fn describe(&self) -> String {
        let kind = |is_directory| if is_directory { "a directory" } else { "no directory" };
        let (here, there) = (kind(self.is_directory_here), kind(self.is_directory_there));
        format!("'{}' is {here} here and {there} at the sender", shown(&self.path))
    }
}

fn refusal(errno: Errno, what: &str) -> (Reason, String) {
    let error = io::Error::from(errno);
    (Reason::of_disk(&error), format!("'{what}': {error}"))
}

pub(super) fn explain(obstacle: Obstacle) -> (Reason, String) {
    let why = match obstacle {
        Obstacle::Malformed => {
            return (Reason::Refused, "it is not a listing of this version".to_owned());
        }
        Obstacle::Disk(path, errno) => return refusal(errno, &path),
        Obstacle::Stopped => return (Reason::Aborted, "it was stopped".to_owned()),
        Obstacle::Missing(path) => format!("'{path}' is at the sender and not here"),
        Obstacle::NotADirectory(path) => format!("'{path}' is no directory here"),
        Obstacle::Mounted(path) => format!("something is mounted at '{path}'"),
        Obstacle::TooDeep(path) => format!("'{path}' goes too deep"),
    };
    (Reason::DeleteUnsafe, why)
}
