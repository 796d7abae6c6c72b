//! The place of a stream in a chain: scripts send and receive the partitions of a disk one after the
//! other, each by the same command line. Both ends count, and the receiver takes no other image than
//! the one that belongs there.
//!
//! What a script has run is in a directory of that script, a file for each run. It is named by
//! the process of the script and by the start of the machine. So a machine that was started anew
//! begins anew, and so does a copy of its disk.
//!
//! - `process`, `owner`: which script; `runs`: what comes next

mod owner;
mod process;
mod runs;

use std::{
    fmt::Write as _,
    fs,
    io::{self, Write as _},
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use crate::{Exit, Failure};
use fanfare_udp::os::file::{DirBuilderExt, FileTypeExt, MetadataExt};
use owner::ScriptOwner;
use process::ProcessInfo;
use runs::{ChainRun, NextStream};

/// A program that is no shell may run things that do not belong together: what it runs so long after
/// the last one is another chain. The longest pause between two partitions that is expected is a
/// minute.
const PAUSE_MAX: Duration = Duration::from_secs(120);
/// Says with `off` that the images of a script do not belong together.
const SWITCH: &str = "FANFARE_CHAIN";

/// Side of a transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TransferSide {
    /// `udp-sender`.
    Sender,
    /// `udp-receiver`.
    Receiver,
}

/// Object that is sent, or the place where it goes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct ChainObject {
    name: String,
    is_device: bool,
}

impl ChainObject {
    /// Finds what stands at this path, or what standard input or output is.
    pub(crate) fn find(role: TransferSide, file: Option<&str>) -> Self {
        let own = match role {
            TransferSide::Sender => "/proc/self/fd/0",
            TransferSide::Receiver => "/proc/self/fd/1",
        };
        let path = Path::new(file.unwrap_or(own));
        let Ok(meta) = fs::metadata(path) else {
            // A target that is to be made: its name is what there is.
            let name = file.and_then(|file| std::path::absolute(file).ok());
            let name = name.map_or_else(String::new, |path| format!("new:{}", path.display()));
            return Self { name, is_device: false };
        };
        let is_device = meta.file_type().is_block_device();
        let name = match role {
            _ if is_device => match fs::canonicalize(path) {
                Ok(path) => format!("device:{}", path.display()),
                Err(_) => String::new(),
            },
            // The same name may be another image by now.
            TransferSide::Sender if meta.is_file() => {
                let (dev, ino, size) = (meta.dev(), meta.ino(), meta.len());
                format!("file:{dev}:{ino}:{size}:{}.{}", meta.mtime(), meta.mtime_nsec())
            }
            TransferSide::Receiver if meta.is_file() => match fs::canonicalize(path) {
                Ok(path) => format!("new:{}", path.display()),
                Err(_) => String::new(),
            },
            TransferSide::Sender | TransferSide::Receiver => String::new(),
        };
        Self { name: name.replace(char::is_control, "?"), is_device }
    }
}

/// Words for `fanfare` that say which place it is, if this is part of a chain; and notes that it runs.
///
/// # Errors
/// Where it cannot be known which image is to be received.
pub(crate) fn words(
    role: TransferSide,
    group: &str,
    object: &ChainObject,
) -> Result<Vec<String>, Failure> {
    if std::env::var_os(SWITCH).is_some_and(|value| value == "off") {
        return Ok(Vec::new());
    }
    let Some(chain) = ScriptChain::find(role, group) else { return Ok(Vec::new()) };
    let runs = chain.runs();
    let (place, word) = match role {
        TransferSide::Sender => {
            let place = runs::next_sent(&runs, &object.name);
            (place, format!("{place}:{:016x}", chain.id))
        }
        TransferSide::Receiver => {
            match runs::next_received(&runs, &object.name, object.is_device) {
                NextStream::Place { place, after: None } => (place, place.to_string()),
                NextStream::Place { place, after: Some(after) } => {
                    (place, format!("{place}:{after:016x}"))
                }
                NextStream::Unknown { place } => return Err(unknown(place)),
            }
        }
    };
    let Ok(record) = chain.begin(place, object) else { return Ok(Vec::new()) };
    let record = record.display().to_string();
    Ok(vec!["--chain".to_owned(), word, "--chain-record".to_owned(), record])
}

fn unknown(place: u32) -> Failure {
    let text = format!(
        "chain (image {place}): the udp-receiver before this one, of the same script, ended without \
         its image, and so it is not known which image is to come here. Nothing was written. Start \
         the sender and all receivers anew. If these images do not belong together, set {SWITCH}=off"
    );
    Failure::new(Exit::Failed, "chain.unknown", text)
}

/// Notes that an image has come whole, of the chain that its sender named.
pub fn note_received(record: &Path, chain: Option<u64>) {
    let line = match chain {
        Some(chain) => format!("complete {chain:016x}\n"),
        None => "complete\n".to_owned(),
    };
    append(record, &line);
}

/// Notes that a sender has ended.
pub fn note_sent(record: &Path) {
    append(record, "complete\n");
}

fn append(record: &Path, line: &str) {
    // Where the record has gone, the script has ended.
    if let Ok(mut file) = fs::OpenOptions::new().append(true).open(record) {
        let _ = file.write_all(line.as_bytes());
    }
}

/// One script's chain at one group and port.
#[derive(Debug)]
struct ScriptChain {
    dir: PathBuf,
    id: u64,
}

impl ScriptChain {
    /// The chain to which this process belongs; none where there is none, and where nothing can be
    /// kept.
    fn find(role: TransferSide, group: &str) -> Option<Self> {
        let base = base()?;
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
        let boot = boot.trim();
        let name = |owner: ScriptOwner| dir_name(boot, role, group, owner);
        let is_known = |owner: ScriptOwner| base.join(name(owner)).is_dir();
        clear_up(&base, boot);
        let owner = owner::find(std::process::id(), &ProcessInfo::read, &is_known)?;
        let name = name(owner);
        let dir = base.join(&name);
        let chain = Self { dir, id: hash(&name) };
        if !owner.is_shell && chain.has_paused() {
            let _ = fs::remove_dir_all(&chain.dir);
        }
        make_private(&chain.dir).ok()?;
        Some(chain)
    }

    fn files(&self) -> impl Iterator<Item = fs::DirEntry> + use<> {
        fs::read_dir(&self.dir).into_iter().flatten().flatten()
    }

    /// True if everything has ended, and longer ago than two partitions are apart.
    fn has_paused(&self) -> bool {
        let now = SystemTime::now();
        let is_recent = |file: fs::DirEntry| {
            let changed = file.metadata().and_then(|meta| meta.modified());
            let age = changed.ok().and_then(|changed| now.duration_since(changed).ok());
            age.is_none_or(|age| age < PAUSE_MAX) || parse_run(&file).is_some_and(|r| r.is_alive)
        };
        !self.files().any(is_recent)
    }

    fn runs(&self) -> Vec<ChainRun> {
        self.files().filter_map(|file| parse_run(&file)).collect()
    }

    /// Notes that this process is at that place.
    fn begin(&self, place: u32, object: &ChainObject) -> io::Result<PathBuf> {
        let own = ProcessInfo::read(std::process::id()).ok_or(io::ErrorKind::NotFound)?;
        let path = self.dir.join(format!("{place}-{}-{}", own.id, own.start));
        fs::write(&path, format!("{}\n", object.name))?;
        Ok(path)
    }
}

/// Reads one file: place, process and start are its name.
fn parse_run(file: &fs::DirEntry) -> Option<ChainRun> {
    let name = file.file_name();
    let mut parts = name.to_str()?.split('-');
    let place = parts.next()?.parse().ok().filter(|place| *place > 0)?;
    let (id, start) = (parts.next()?.parse().ok()?, parts.next()?.parse::<u64>().ok()?);
    let text = fs::read_to_string(file.path()).ok()?;
    let mut lines = text.lines();
    let object = lines.next().unwrap_or_default().to_owned();
    let complete = lines.find_map(|line| line.strip_prefix("complete"));
    let chain = complete.and_then(|chain| u64::from_str_radix(chain.trim(), 16).ok());
    let is_alive = is_running(id, start);
    Some(ChainRun { place, is_alive, is_complete: complete.is_some(), chain, object })
}

fn is_running(id: u32, start: u64) -> bool {
    ProcessInfo::read(id).is_some_and(|process| process.start == start && !process.has_ended)
}

/// Directory of the chains: this user's alone, in memory where there is one.
fn base() -> Option<PathBuf> {
    let uid = fs::metadata("/proc/self").ok()?.uid();
    let own = |dir: PathBuf| dir.join(format!("fanfare-chains-{uid}"));
    let run = (uid == 0).then(|| PathBuf::from("/run"));
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").filter(|_| uid != 0).map(PathBuf::from);
    let all = [run, runtime, Some(std::env::temp_dir())];
    let mut all = all.into_iter().flatten().filter(|dir| dir.is_absolute()).map(own);
    all.find(|dir| make_private(dir).is_ok() && is_private(dir, uid))
}

fn make_private(dir: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.mode(0o700);
    match builder.create(dir) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        made => made,
    }
}

/// True if nobody else can have put something there.
fn is_private(dir: &Path, uid: u32) -> bool {
    let is_ours =
        |meta: fs::Metadata| meta.is_dir() && meta.uid() == uid && meta.mode() & 0o22 == 0;
    fs::symlink_metadata(dir).is_ok_and(is_ours)
}

/// The name of a chain's directory. Machines that are namespaces of one kernel are apart, too.
fn dir_name(boot: &str, role: TransferSide, group: &str, owner: ScriptOwner) -> String {
    let role = if role == TransferSide::Sender { "send" } else { "recv" };
    let space = |name: &str| {
        let link = fs::read_link(format!("/proc/self/ns/{name}")).unwrap_or_default();
        link.to_string_lossy().chars().filter(char::is_ascii_digit).collect::<String>()
    };
    let ScriptOwner { id, start, .. } = owner;
    let group = group.replace(|c: char| !c.is_ascii_alphanumeric(), "_");
    let mut name = format!("{}_{id}_{start}_{role}_", prefix(boot));
    let _ = write!(name, "{}_{}", space("net"), group);
    name
}

/// Beginning of the names of chains since this start of the machine, in this space of process ids.
fn prefix(boot: &str) -> String {
    let space = fs::read_link("/proc/self/ns/pid").unwrap_or_default();
    let space: String = space.to_string_lossy().chars().filter(char::is_ascii_digit).collect();
    format!("{boot}_{space}")
}

/// Removes the chains of scripts that have ended.
fn clear_up(base: &Path, boot: &str) {
    let prefix = format!("{}_", prefix(boot));
    for entry in fs::read_dir(base).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let Some(owner) = name.to_str().and_then(|name| name.strip_prefix(&prefix)) else {
            continue;
        };
        let mut parts = owner.split('_');
        let id = parts.next().and_then(|id| id.parse().ok());
        let start = parts.next().and_then(|start| start.parse().ok());
        if let (Some(id), Some(start)) = (id, start)
            && !is_running(id, start)
        {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// FNV-1a, 64 bits (RFC 9923): it tells chains apart, and keeps no secret. The boot id in it is random.
fn hash(text: &str) -> u64 {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    text.bytes().fold(0xcbf2_9ce4_8422_2325, step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chains_of_other_scripts_groups_roles_and_starts_of_the_machine_are_apart() {
        let owner = |id| ScriptOwner { id, start: 9, is_shell: true };
        let all = [
            dir_name("boot", TransferSide::Sender, "239.0.0.1:9000", owner(5)),
            dir_name("boot", TransferSide::Receiver, "239.0.0.1:9000", owner(5)),
            dir_name("boot", TransferSide::Sender, "239.0.0.1:9002", owner(5)),
            dir_name("boot", TransferSide::Sender, "239.0.0.1:9000", owner(6)),
            dir_name("other", TransferSide::Sender, "239.0.0.1:9000", owner(5)),
        ];
        let ids: std::collections::BTreeSet<u64> = all.iter().map(|name| hash(name)).collect();
        assert_eq!(ids.len(), all.len());
    }

    #[test]
    fn the_hash_is_the_published_one() {
        assert_eq!((hash(""), hash("a")), (0xcbf2_9ce4_8422_2325, 0xaf63_dc4c_8601_ec8c));
    }
}
