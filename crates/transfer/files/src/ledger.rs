//! What a directory has received, so that it is known again without being read: by root and name,
//! with the stamp that each file had when it was verified and on disk.
//!
//! A file counts as what it was while size, times of content and of inode, and inode are the same.
//! The time of the inode cannot be set by programs, so whoever changes a file and sets its time
//! back is noticed too. What does not match is simply read, or received, again. The ledger is a
//! text file of our own in the directory, appended to with one write for each object and never
//! synced: a record that the power takes away costs reading the file once more.
//!
//! ```text
//! o <key: BLAKE3 of root and name, 16 bytes> <root, 8 bytes> <life of the sender> <size> <files>
//! f <BLAKE3> <size> <mtime> <its ns> <ctime> <its ns> <inode> <name>
//! ```

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    io::Read,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use crate::content::{
    placed::Placed,
    root_set::{ROOTS_MAX, RootStart, start},
};
use fanfare_node::disk::{
    directory::{Directory, How},
    name::{PART_PREFIX, SafeName},
    parents::Parents,
    {FileHandle, Metadata, Reader},
};
use fanfare_proto::ObjectKey;

/// Objects remembered; the older half gives way. A hundred bytes of memory each.
const OBJECTS_MAX: usize = 1 << 16;
/// A ledger longer than this is begun anew: 40 million files.
const BYTES_MAX: u64 = 4 << 30;
/// Shorter ones are not worth rewriting when half of them is outdated.
const BYTES_WORTH_REWRITING: u64 = 1 << 20;

/// Root and announced name, hashed: equal content under two names is two files.
type Key = [u8; 16];

#[derive(Debug, Clone)]
struct Record {
    key: Key,
    root: RootStart,
    life: String,
    /// Of the object.
    size: u64,
    /// Where it stands in the file.
    offset: u64,
    len: usize,
}

/// The files of a directory that are known without being read.
#[derive(Debug)]
pub(crate) struct Ledger {
    directory: Arc<Directory>,
    /// `None` where it cannot be written: nothing is remembered then.
    file: Option<Arc<dyn FileHandle>>,
    end: u64,
    records: Vec<Record>,
    /// The latest record of each key.
    by_key: BTreeMap<Key, usize>,
    sizes: BTreeSet<u64>,
    /// Senders are told the roots from here on: those before have been passed.
    cursor: usize,
    /// Of the object recorded last that was new.
    life: String,
}

/// A ledger for the thread that verifies and the one that tells senders.
pub(crate) type SharedLedger = Arc<Mutex<Ledger>>;

pub(crate) fn share(ledger: Ledger) -> SharedLedger {
    Arc::new(Mutex::new(ledger))
}

/// A thread that panicked cannot have left it inconsistent: what it holds is checked when used.
pub(crate) fn lock(ledger: &SharedLedger) -> MutexGuard<'_, Ledger> {
    ledger.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Name of the ledger in its directory.
pub(crate) fn file_name() -> String {
    format!("{PART_PREFIX}ledger")
}

impl Ledger {
    /// Reads what earlier runs have recorded.
    pub(crate) fn open(directory: Arc<Directory>) -> Self {
        let mut ledger = Self {
            file: directory.open_to_append(&file_name()).ok(),
            directory,
            end: 0,
            records: Vec::new(),
            by_key: BTreeMap::new(),
            sizes: BTreeSet::new(),
            cursor: 0,
            life: String::new(),
        };
        let text = ledger.read_all();
        ledger.end = text.len() as u64;
        ledger.load(&text);
        ledger.rewrite_if_worth_it(&text);
        ledger
    }

    fn read_all(&mut self) -> String {
        let Some(file) = &self.file else { return String::new() };
        if file.metadata().is_ok_and(|meta| meta.len > BYTES_MAX) {
            let _ = file.set_len(0);
        }
        let mut bytes = Vec::new();
        let _ = Reader::new(&**file).read_to_end(&mut bytes);
        // A crash may have cut the last line.
        let end = bytes.len() as u64;
        if bytes.last().is_some_and(|byte| *byte != b'\n') && file.write_all_at(b"\n", end).is_ok()
        {
            bytes.push(b'\n');
        }
        String::from_utf8(bytes).unwrap_or_default()
    }

    fn load(&mut self, text: &str) {
        let mut offset = 0;
        let mut lines = text.split_inclusive('\n').peekable();
        while let Some(line) = lines.next() {
            let at = offset;
            offset += line.len();
            let Some((mut record, files)) = parse_head(line) else { continue };
            let mut found = 0;
            while found < files && lines.peek().is_some_and(|line| line.starts_with("f ")) {
                offset += lines.next().map_or(0, str::len);
                found += 1;
            }
            if found == files {
                (record.offset, record.len) = (at as u64, offset - at);
                self.remember(record);
            }
        }
        // What the last sender sent is what it sends again when it was broken off.
        let last = self.records.last().map(|record| record.life.clone());
        let earlier = |record: &Record| Some(&record.life) != last.as_ref();
        self.cursor = self.records.iter().rposition(earlier).map_or(0, |before| before + 1);
    }

    fn remember(&mut self, record: Record) {
        if self.records.len() >= OBJECTS_MAX {
            self.records.drain(..OBJECTS_MAX / 2);
            self.cursor = self.cursor.saturating_sub(OBJECTS_MAX / 2);
            let keys = self.records.iter().enumerate().map(|(at, record)| (record.key, at));
            self.by_key = keys.collect();
        }
        self.sizes.insert(record.size);
        self.by_key.insert(record.key, self.records.len());
        self.records.push(record);
    }

    /// Drops what is outdated. Another receiver that has it open goes on writing to the old one:
    /// what it records is then read again, or received again.
    fn rewrite_if_worth_it(&mut self, text: &str) {
        let current = |at: &usize| self.by_key.get(&self.records[*at].key) == Some(at);
        let live: Vec<usize> = (0..self.records.len()).filter(current).collect();
        let bytes: usize = live.iter().map(|at| self.records[*at].len).sum();
        if self.end < BYTES_WORTH_REWRITING || bytes as u64 * 2 > self.end {
            return;
        }
        let span = |record: &Record| record.offset as usize..record.offset as usize + record.len;
        let kept: String = live.iter().map(|at| &text[span(&self.records[*at])]).collect();
        if self.directory.save(&file_name(), kept.as_bytes()).is_ok() {
            *self = Self::open(self.directory.clone());
        }
    }

    /// Beginnings of the roots that the next objects are likely to have, for the status.
    pub(crate) fn roots(&self) -> Vec<RootStart> {
        let from = self.cursor.min(self.records.len().saturating_sub(1));
        self.records.iter().skip(from).take(ROOTS_MAX).map(|record| record.root).collect()
    }

    /// Whether an object of so many bytes was received here: it may be the one that begins.
    pub(crate) fn has_size(&self, size: u64) -> bool {
        self.sizes.contains(&size)
    }

    /// Whether an object of this root and name was received here.
    pub(crate) fn lists(&self, root: &[u8; 32], name: &[u8]) -> bool {
        self.by_key.contains_key(&key_of(root, name))
    }

    /// What was recorded of this object.
    fn look_up(&self, root: &[u8; 32], name: &[u8]) -> Option<Listed> {
        let key = key_of(root, name);
        let record = self.records.get(*self.by_key.get(&key)?)?;
        let mut text = vec![0; record.len];
        self.file.as_ref()?.read_exact_at(&mut text, record.offset).ok()?;
        Some(Listed { key, text: String::from_utf8(text).ok()? })
    }

    /// Senders are told the roots from this object on.
    fn pass(&mut self, key: &Key) {
        self.cursor = self.by_key.get(key).copied().unwrap_or(self.cursor);
    }

    fn append(&mut self, New { head, text, is_new }: New) {
        let Some(file) = &self.file else { return };
        // Another receiver may have appended meanwhile: the record is where the file ended.
        if file.write_all_at(text.as_bytes(), self.end).is_err() {
            return;
        }
        let end = file.metadata().map_or(0, |meta| meta.len);
        let offset = end.saturating_sub(text.len() as u64);
        self.end = end;
        if is_new && self.life != head.life {
            // When it is broken off, this is where the next attempt begins.
            self.life.clone_from(&head.life);
            self.cursor = self.records.len();
        }
        self.remember(Record { offset, len: text.len(), ..head });
    }
}

/// The files of this object, if every one of them is as it was. A pack has thousands: they are looked at
/// while nobody waits for the ledger. Senders take a receiver for gone that says nothing meanwhile.
pub(crate) fn find(ledger: &SharedLedger, root: &[u8; 32], name: &[u8]) -> Option<Vec<Placed>> {
    let (listed, directory) = {
        let ledger = lock(ledger);
        (ledger.look_up(root, name)?, ledger.directory.clone())
    };
    let files = listed.files(&directory)?;
    lock(ledger).pass(&listed.key);
    Some(files)
}

/// These files are in their place, verified and on disk: all of an object that was announced with this
/// root and name.
pub(crate) fn record(
    ledger: &SharedLedger,
    key: ObjectKey,
    what: (&[u8; 32], &[u8], u64),
    files: &[Placed],
) {
    let directory = lock(ledger).directory.clone();
    if let Some(new) = New::of(&directory, key, what, files) {
        lock(ledger).append(new);
    }
}

/// A record, read.
struct Listed {
    key: Key,
    text: String,
}

impl Listed {
    fn files(&self, directory: &Directory) -> Option<Vec<Placed>> {
        let mut parents = Parents::existing(directory);
        self.text.lines().skip(1).map(|line| find_file(&mut parents, line)).collect()
    }
}

fn find_file(parents: &mut Parents<'_>, line: &str) -> Option<Placed> {
    let mut fields = line.strip_prefix("f ")?.splitn(3, ' ');
    let hash = blake3::Hash::from_hex(fields.next()?).ok()?;
    let size: u64 = fields.next()?.parse().ok()?;
    let (times, name) = split_name(fields.next()?)?;
    let name = SafeName::of_text(&unescape(name)?).ok()?;
    let meta = look_at(parents, &name, size)?;
    (times == stamp(&meta)).then_some(Placed {
        name,
        size,
        hash: *hash.as_bytes(),
        verified: true,
        how: How::Already,
        name_rejected: None,
        displaced: None,
    })
}

/// The received file that has `size` bytes, as it is now.
fn look_at(parents: &mut Parents<'_>, name: &SafeName, size: u64) -> Option<Metadata> {
    let (directories, file) = name.split();
    let meta = parents.get(directories).ok()?.metadata_of(file).ok()?;
    (meta.is_file && meta.len == size).then_some(meta)
}

/// A record to be added.
struct New {
    head: Record,
    text: String,
    /// Something of it was not here before.
    is_new: bool,
}

impl New {
    fn of(
        directory: &Directory,
        key: ObjectKey,
        (root, name, size): (&[u8; 32], &[u8], u64),
        files: &[Placed],
    ) -> Option<Self> {
        let life = format!("{}-{}", key.sender, key.instance);
        let is_new = files.iter().any(|placed| !placed.is_already());
        let key = key_of(root, name);
        let head = Record { key, root: start(root), life, size, offset: 0, len: 0 };
        let text = text_of(directory, &head, files)?;
        Some(Self { head, text, is_new })
    }
}

fn text_of(directory: &Directory, head: &Record, files: &[Placed]) -> Option<String> {
    let Record { key, root, life, size, .. } = head;
    let mut text = format!("o {} {} {life} {size} {}\n", hex(key), hex(root), files.len());
    if files.is_empty() {
        return None;
    }
    let mut parents = Parents::existing(directory);
    for placed in files {
        // A file under another name than its own is to be reported each time.
        if placed.name_rejected.is_some() {
            return None;
        }
        let meta = look_at(&mut parents, &placed.name, placed.size)?;
        let (hash, times) = (blake3::Hash::from_bytes(placed.hash).to_hex(), stamp(&meta));
        let name = escape(&placed.name.to_string());
        // Writing into memory cannot fail.
        let _ = writeln!(text, "f {hash} {} {times} {name}", placed.size);
    }
    Some(text)
}

fn key_of(root: &[u8; 32], name: &[u8]) -> Key {
    let mut hasher = blake3::Hasher::new();
    hasher.update(root).update(name);
    hasher.finalize().as_bytes().first_chunk().copied().unwrap_or_default()
}

/// What no program can change without leaving a trace in it.
fn stamp(meta: &Metadata) -> String {
    let [mtime, mtime_ns, ctime, ctime_ns] = meta.times;
    format!("{mtime} {mtime_ns} {ctime} {ctime_ns} {}", meta.number)
}

/// A name on one line.
fn escape(name: &str) -> String {
    name.replace('\\', "\\\\").replace('\n', "\\n").replace('\r', "\\r")
}

fn unescape(text: &str) -> Option<String> {
    let (mut name, mut chars) = (String::with_capacity(text.len()), text.chars());
    while let Some(c) = chars.next() {
        name.push(match c {
            '\\' => match chars.next()? {
                'n' => '\n',
                'r' => '\r',
                '\\' => '\\',
                _ => return None,
            },
            c => c,
        });
    }
    Some(name)
}

/// Five numbers, and the rest of the line: a name may have spaces.
fn split_name(rest: &str) -> Option<(&str, &str)> {
    let (space, _) = rest.match_indices(' ').nth(4)?;
    Some((&rest[..space], &rest[space + 1..]))
}

fn parse_head(line: &str) -> Option<(Record, usize)> {
    let mut fields = line.strip_suffix('\n')?.strip_prefix("o ")?.split(' ');
    let (key, root) = (parse_hex(fields.next()?)?, parse_hex(fields.next()?)?);
    let life = fields.next()?.to_owned();
    let size = fields.next()?.parse().ok()?;
    let files = fields.next()?.parse().ok()?;
    Some((Record { key, root, life, size, offset: 0, len: 0 }, files))
}

fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        // Writing into memory cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

fn parse_hex<const N: usize>(text: &str) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    if text.len() != 2 * N || !text.is_ascii() {
        return None;
    }
    for (at, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&text[2 * at..2 * at + 2], 16).ok()?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use fanfare_udp::os::file::MetadataExt;
    use std::fs::File;

    use fanfare_node::disk::scratch::Scratch;
    use fanfare_proto::{InstanceId, NodeId, ObjectTransportId};

    use super::*;

    impl Ledger {
        fn find(&mut self, root: &[u8; 32], name: &[u8]) -> Option<Vec<Placed>> {
            let listed = self.look_up(root, name)?;
            let files = listed.files(&self.directory)?;
            self.pass(&listed.key);
            Some(files)
        }

        fn record(&mut self, key: ObjectKey, what: (&[u8; 32], &[u8], u64), files: &[Placed]) {
            let new = New::of(&self.directory, key, what, files);
            new.into_iter().for_each(|new| self.append(new));
        }
    }

    fn directory(scratch: &Scratch) -> Arc<Directory> {
        Arc::new(Directory::open(scratch.path(), false).unwrap())
    }

    fn key(instance: u16) -> ObjectKey {
        let object = ObjectTransportId(1);
        ObjectKey { sender: NodeId(1), instance: InstanceId(instance), object }
    }

    /// A file that has just been placed.
    fn place(scratch: &Scratch, name: &str, content: &str) -> Placed {
        std::fs::write(scratch.path().join(name), content).unwrap();
        Placed {
            name: SafeName::parse(name.as_bytes()).unwrap(),
            size: content.len() as u64,
            hash: *blake3::hash(content.as_bytes()).as_bytes(),
            verified: true,
            how: How::New,
            name_rejected: None,
            displaced: None,
        }
    }

    fn root(number: u32) -> [u8; 32] {
        *blake3::hash(&number.to_be_bytes()).as_bytes()
    }

    fn record(ledger: &mut Ledger, scratch: &Scratch, name: &str) -> Placed {
        let placed = place(scratch, name, name);
        ledger.record(
            key(1),
            (&placed.hash, name.as_bytes(), placed.size),
            std::slice::from_ref(&placed),
        );
        placed
    }

    #[test]
    fn what_was_recorded_is_found_by_the_next_run_while_it_is_unchanged() {
        let scratch = Scratch::new();
        let placed = record(&mut Ledger::open(directory(&scratch)), &scratch, "a file");
        let mut ledger = Ledger::open(directory(&scratch));
        let found = ledger.find(&placed.hash, b"a file").unwrap();
        assert_eq!(found, [Placed { how: How::Already, ..placed.clone() }]);
        assert!(ledger.find(&placed.hash, b"another name").is_none());
        assert_eq!(ledger.roots(), [start(&placed.hash)]);
        assert!(ledger.has_size(6) && !ledger.has_size(7));
        // The same bytes, the same time of content: only the inode's own time tells.
        let path = scratch.path().join("a file");
        let before = std::fs::metadata(&path).unwrap();
        std::fs::write(&path, "A FILE").unwrap();
        let file = File::options().write(true).open(&path).unwrap();
        file.set_modified(before.modified().unwrap()).unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().mtime_nsec(), before.mtime_nsec());
        assert!(ledger.find(&placed.hash, b"a file").is_none());
        assert!(ledger.lists(&placed.hash, b"a file"));
    }

    #[test]
    fn an_object_of_many_files_is_found_only_when_all_of_them_are_unchanged() {
        let scratch = Scratch::new();
        let mut ledger = Ledger::open(directory(&scratch));
        let files = ["x", "y", "z"].map(|name| place(&scratch, name, name));
        ledger.record(key(1), (&root(1), b"", 1), &files);
        assert_eq!(ledger.find(&root(1), b"").unwrap().len(), 3);
        std::fs::remove_file(scratch.path().join("y")).unwrap();
        assert!(ledger.find(&root(1), b"").is_none());
    }

    #[test]
    fn a_ledger_cut_or_damaged_anywhere_is_read_as_far_as_it_goes() {
        let scratch = Scratch::new();
        let placed = record(&mut Ledger::open(directory(&scratch)), &scratch, "f");
        let path = scratch.path().join(file_name());
        let whole = std::fs::read(&path).unwrap();
        // All but the end of the last line.
        for cut in 0..whole.len() - 1 {
            std::fs::write(&path, &whole[..cut]).unwrap();
            assert!(Ledger::open(directory(&scratch)).find(&placed.hash, b"f").is_none());
            // What is appended to a torn ledger counts.
            let mut ledger = Ledger::open(directory(&scratch));
            ledger.record(key(1), (&placed.hash, b"f", 1), std::slice::from_ref(&placed));
            assert!(Ledger::open(directory(&scratch)).find(&placed.hash, b"f").is_some(), "{cut}");
        }
        let mut rng = fanfare_proto::rng::Rng::new(1);
        for _ in 0..2_000 {
            let mut bytes = whole.clone();
            let at = rng.below(bytes.len() as u64) as usize;
            bytes[at] = rng.next_u64() as u8;
            std::fs::write(&path, &bytes).unwrap();
            let _ = Ledger::open(directory(&scratch)).find(&placed.hash, b"f");
        }
    }

    #[test]
    fn senders_are_told_what_the_last_one_sent_and_then_what_comes_next() {
        let scratch = Scratch::new();
        let placed = place(&scratch, "f", "f");
        let mut ledger = Ledger::open(directory(&scratch));
        for n in 0..2000 {
            let life = key(if n < 500 { 1 } else { 2 });
            ledger.record(life, (&root(n), b"f", 1), std::slice::from_ref(&placed));
        }
        let mut ledger = Ledger::open(directory(&scratch));
        let told = |ledger: &Ledger| (ledger.roots()[0], ledger.roots().len());
        assert_eq!(told(&ledger), (start(&root(500)), ROOTS_MAX));
        ledger.find(&root(1900), b"f").unwrap();
        assert_eq!(told(&ledger), (start(&root(1900)), 100));
    }

    #[test]
    fn two_receivers_in_one_directory_find_each_others_records_later() {
        let scratch = Scratch::new();
        let mut ledgers = [(); 2].map(|()| Ledger::open(directory(&scratch)));
        let names = ["a", "b", "c", "d"];
        for (n, name) in names.iter().enumerate() {
            let placed = record(&mut ledgers[n % 2], &scratch, name);
            assert!(ledgers[n % 2].find(&placed.hash, name.as_bytes()).is_some());
        }
        let mut ledger = Ledger::open(directory(&scratch));
        for name in names {
            let hash = *blake3::hash(name.as_bytes()).as_bytes();
            assert!(ledger.find(&hash, name.as_bytes()).is_some());
        }
    }

    #[test]
    fn what_is_outdated_is_dropped_once_it_is_most_of_it() {
        let scratch = Scratch::new();
        let mut ledger = Ledger::open(directory(&scratch));
        let placed = place(&scratch, "f", "f");
        while ledger.end < BYTES_WORTH_REWRITING {
            ledger.record(key(1), (&root(1), b"f", 1), std::slice::from_ref(&placed));
        }
        let mut ledger = Ledger::open(directory(&scratch));
        assert!(ledger.end < 1000 && ledger.find(&root(1), b"f").is_some());
    }
}
