//! A pack that was received and verified as a whole becomes files on disk.
//!
//! First every file is written under a name of our own; then one sync for all of them; then each
//! gets its name; then one more sync. So a file under its final name is never wrong, whenever the
//! power fails, and packs share their syncs instead of having two for each of their files.

use std::{
    collections::BTreeSet,
    fs::File,
    io::{self, Write},
    os::unix::fs::FileExt,
    sync::Arc,
};

use fanfare_proto::ObjectKey;

use super::{
    graft::Grafts,
    head::{Head, HeadError},
    index::Entry,
    parents::Parents,
    staging::{Staging, set_mtime},
};
use crate::{
    directory::Directory,
    name::{NameError, SafeName},
    placement::{Conflict, Finished, Place, open_equal},
    receipt::Reason,
    verify::{Placed, disk_reason as disk, is_in_the_way, unnamed},
};

/// Bytes copied at once.
const COPY_BYTES: u64 = 1 << 20;

/// What became of the files of a pack.
#[derive(Debug, Default)]
pub(crate) struct Unpacked {
    /// Files in their place.
    pub(crate) files: Vec<Placed>,
    /// Files that are not, by the names they have in the pack.
    pub(crate) failures: Vec<(String, Reason)>,
}

/// A pack whose files are written, but neither synced nor named.
#[derive(Debug)]
pub(crate) struct Staged {
    directory: Arc<Directory>,
    staging: Staging,
    grafts: Grafts,
    files: Vec<StagedFile>,
}

/// Where a file is until it is placed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum At {
    /// In the staging directory, its name its number.
    Number,
    /// In this directory under way, under its own name.
    Graft(usize),
    /// An equal one is in its place already, and nothing was written.
    Place,
}

#[derive(Debug)]
struct StagedFile {
    entry: Entry,
    name: Result<SafeName, NameError>,
    hash: [u8; 32],
    at: At,
}

/// Writes the files of the pack `part`, of `size` bytes, whose hash is right. `promised` are the
/// directories that packs before this one will bring, and this one then.
pub(crate) fn stage(
    directory: &Arc<Directory>,
    key: ObjectKey,
    part: &File,
    size: u64,
    promised: &mut BTreeSet<Vec<String>>,
) -> Result<Staged, Reason> {
    let head = Head::read(part, size).map_err(|error| match error {
        HeadError::Malformed => Reason::Refused,
        HeadError::Io(error) => disk(&error),
    })?;
    let (entries, mut offset) = (head.entries, head.bytes);
    let staging = Staging::create(directory, key).map_err(|e| disk(&e))?;
    let mut stager = Stager {
        existing: Parents::existing(directory),
        promised,
        grafts: Grafts::default(),
        inside: Parents::created(staging.directory()),
        window: Window { part, end: size, start: 0, bytes: Vec::new() },
    };
    let mut files = Vec::with_capacity(entries.len());
    for (number, entry) in entries.into_iter().enumerate() {
        let source = Source { offset, size: entry.size };
        offset += entry.size;
        let name = SafeName::parse(entry.name.trim_end_matches('/').as_bytes());
        let mut file = StagedFile { entry, name, hash: [0; 32], at: At::Number };
        if !file.is_directory() {
            stager.stage(&source, number, &mut file).map_err(|e| disk(&e))?;
        }
        files.push(file);
    }
    let grafts = stager.grafts;
    promise(&grafts, &files, promised);
    Ok(Staged { directory: directory.clone(), staging, grafts, files })
}

/// Adds the directories that come with the grafts.
fn promise(grafts: &Grafts, files: &[StagedFile], promised: &mut BTreeSet<Vec<String>>) {
    if grafts.is_empty() {
        return;
    }
    let grafted = files.iter().filter(|file| matches!(file.at, At::Graft(_)));
    for name in grafted.filter_map(|file| file.name.as_ref().ok()) {
        let (mut directories, _) = name.split();
        // Whatever is below one that is known is known.
        while !directories.is_empty() && !promised.contains(directories) {
            promised.insert(directories.to_vec());
            directories = &directories[..directories.len() - 1];
        }
    }
}

/// Where the bytes of a file are in the pack.
struct Source {
    offset: u64,
    size: u64,
}

/// A stretch of the pack in memory: its files are mostly much shorter.
struct Window<'a> {
    part: &'a File,
    /// Bytes of the pack.
    end: u64,
    /// Where the stretch begins.
    start: u64,
    bytes: Vec<u8>,
}

impl Window<'_> {
    /// As many of the bytes from `offset` on as are at hand, at least one.
    fn get(&mut self, offset: u64, len: u64) -> io::Result<&[u8]> {
        let loaded = self.start..self.start + self.bytes.len() as u64;
        if offset < loaded.start || offset + len.min(COPY_BYTES) > loaded.end {
            self.bytes.resize((self.end - offset).min(COPY_BYTES) as usize, 0);
            self.start = offset;
            self.part.read_exact_at(&mut self.bytes, offset)?;
        }
        let from = (offset - self.start) as usize;
        let len = len.min(COPY_BYTES) as usize;
        Ok(&self.bytes[from..from + len])
    }
}

/// What the files of a pack have in common while they are written.
struct Stager<'a> {
    existing: Parents<'a>,
    promised: &'a BTreeSet<Vec<String>>,
    grafts: Grafts,
    /// Directories in the staging directory.
    inside: Parents<'a>,
    window: Window<'a>,
}

impl Stager<'_> {
    fn stage(&mut self, source: &Source, number: usize, file: &mut StagedFile) -> io::Result<()> {
        if self.may_be_there(file) {
            file.hash = source.copy(None, &mut self.window)?;
            if file.is_there_in(&mut self.existing) {
                file.at = At::Place;
                return Ok(());
            }
        }
        let mut out = self.create(number, file)?;
        file.hash = source.copy(Some(&mut out), &mut self.window)?;
        set_mtime(&out, file.entry.mtime);
        Ok(())
    }

    fn may_be_there(&mut self, file: &StagedFile) -> bool {
        file.name.as_ref().is_ok_and(|name| {
            let (directories, last) = name.split();
            let parent = self.existing.get(directories);
            parent.is_ok_and(|parent| crate::placement::has_size(parent, last, file.entry.size))
        })
    }

    /// In a new directory where there is to be one; but two files of one name, and whatever else
    /// fails there, are a matter for placing them one by one.
    fn create(&mut self, number: usize, file: &mut StagedFile) -> io::Result<File> {
        let mode = file.entry.mode;
        let name = file.name.as_ref().ok();
        if let Some((name, graft)) = name
            .and_then(|name| Some((name, self.grafts.of(name, &mut self.existing, self.promised)?)))
        {
            let (directories, last) = self.grafts.inside(graft, name);
            let out = self.inside.get(&directories);
            if let Ok(out) = out.and_then(|parent| Staging::file(parent, &last, mode)) {
                file.at = At::Graft(graft);
                return Ok(out);
            }
        }
        Staging::file(self.inside.get(&[])?, &number.to_string(), mode)
    }
}

impl Source {
    /// Hashes, and writes where there is something to write to.
    fn copy(&self, mut out: Option<&mut File>, window: &mut Window<'_>) -> io::Result<[u8; 32]> {
        let mut hasher = blake3::Hasher::new();
        let mut done = 0;
        while done < self.size {
            let bytes = window.get(self.offset + done, self.size - done)?;
            hasher.update(bytes);
            if let Some(out) = &mut out {
                out.write_all(bytes)?;
            }
            done += bytes.len() as u64;
        }
        Ok(hasher.finalize().into())
    }
}

impl StagedFile {
    fn is_directory(&self) -> bool {
        self.entry.name.ends_with('/')
    }

    fn is_there_in(&self, existing: &mut Parents<'_>) -> bool {
        let Ok(name) = &self.name else { return false };
        let (directories, last) = name.split();
        let parent = existing.get(directories);
        // The sync that makes the others durable is for these, too.
        parent.is_ok_and(|p| open_equal(p, last, self.entry.size, &self.hash).is_some())
    }

    fn placed(&self, name: SafeName, already: bool, name_rejected: Option<NameError>) -> Placed {
        let (size, hash) = (self.entry.size, self.hash);
        Placed { name, size, hash, verified: true, already, name_rejected }
    }
}

impl Staged {
    /// Gives the files their names. To be called after a sync, and followed by one.
    pub(crate) fn place(self, conflict: Conflict) -> Unpacked {
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
        unpacked
    }
}

/// A directory that cannot be made as it was named is no loss: nothing was in it.
fn make_directory(parents: &mut Parents<'_>, file: &StagedFile) -> Result<(), Reason> {
    let Ok(name) = &file.name else { return Ok(()) };
    let (directories, last) = name.split();
    let path = [directories, &[last.to_owned()]].concat();
    match parents.get(&path) {
        Err(error) if !is_in_the_way(&error) => Err(disk(&error)),
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
        let own = || unnamed(&file.hash);
        let name = match &file.name {
            Err(error) => return self.rename(number, file, &own(), Some(*error)),
            Ok(name) => name,
        };
        match file.at {
            At::Place => return Ok(file.placed(name.clone(), true, None)),
            At::Graft(graft) if self.grafted[graft] => {
                return Ok(file.placed(name.clone(), false, None));
            }
            At::Graft(_) | At::Number => {}
        }
        match self.try_rename(number, file, name) {
            // A link, or a file where the name needs a directory, stands in the way.
            Err(error) if is_in_the_way(&error) => {
                self.rename(number, file, &own(), Some(NameError::Relative))
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
        let directory = self.inside.get(&from)?;
        let (size, hash) = (file.entry.size, &file.hash);
        let finished = Finished { directory, part: &part, size, hash };
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
    match place.map_err(|e| disk(&e))? {
        Place::New(last) => Ok(file.placed(name.with_file(last), false, rejected)),
        Place::Equal(last) => Ok(file.placed(name.with_file(last), true, rejected)),
        Place::Taken => Err(Reason::Conflict),
    }
}

#[cfg(test)]
mod tests {
    use std::{io::Seek, path::Path};

    use fanfare_proto::{InstanceId, NodeId, ObjectTransportId};

    use super::*;
    use crate::{
        pack::{header, index::Writer},
        scratch::Scratch,
    };

    const KEY: ObjectKey =
        ObjectKey { sender: NodeId(1), instance: InstanceId(1), object: ObjectTransportId(9) };

    fn pack(files: &[(&str, &str)]) -> Vec<u8> {
        let mut index = Writer::default();
        files.iter().for_each(|(name, content)| index.push(name, content.len() as u64, 0o640, 77));
        let index = index.finish();
        let content: String = files.iter().map(|(_, content)| *content).collect();
        let hash = blake3::hash(content.as_bytes());
        let groups: &[u8] = if content.is_empty() { &[] } else { hash.as_bytes() };
        let header = header(index.len(), groups.len() / 32);
        [&header[..], &index, groups, content.as_bytes()].concat()
    }

    fn try_run(scratch: &Scratch, pack: &[u8], conflict: Conflict) -> Result<Unpacked, Reason> {
        let directory = Arc::new(Directory::open(scratch.path(), false).unwrap());
        let mut part = directory.create(".fanfare-t.part").unwrap();
        directory.remove(".fanfare-t.part");
        part.write_all(pack).unwrap();
        part.rewind().unwrap();
        stage(&directory, KEY, &part, pack.len() as u64, &mut BTreeSet::new())
            .map(|staged| staged.place(conflict))
    }

    fn run(scratch: &Scratch, files: &[(&str, &str)], conflict: Conflict) -> Unpacked {
        try_run(scratch, &pack(files), conflict).unwrap()
    }

    fn names(unpacked: &Unpacked) -> Vec<String> {
        unpacked.files.iter().map(|file| file.name.to_string()).collect()
    }

    fn entries(path: &Path) -> Vec<String> {
        let name = |e: io::Result<std::fs::DirEntry>| e.unwrap().file_name().into_string().unwrap();
        let mut names: Vec<String> = std::fs::read_dir(path).unwrap().map(name).collect();
        names.sort();
        names
    }

    #[test]
    fn files_and_empty_directories_come_out_with_their_permissions_and_times() {
        use std::os::unix::fs::MetadataExt;
        let scratch = Scratch::new();
        let files = [("t/a", "one"), ("t/d/b", ""), ("t/e/", ""), ("z", "two")];
        let unpacked = run(&scratch, &files, Conflict::KeepBoth);
        assert_eq!(names(&unpacked), ["t/a", "t/d/b", "z"]);
        assert_eq!(entries(scratch.path()), ["t", "z"]);
        assert_eq!(entries(&scratch.path().join("t")), ["a", "d", "e"]);
        let meta = std::fs::metadata(scratch.path().join("t/a")).unwrap();
        assert_eq!((meta.size(), meta.mtime(), meta.mode() & 0o777), (3, 77, 0o640));
        assert_eq!(unpacked.files[0].hash, *blake3::hash(b"one").as_bytes());
        assert_eq!(std::fs::read(scratch.path().join("z")).unwrap(), b"two");
    }

    #[test]
    fn hostile_names_stay_inside_under_names_of_their_content_and_the_others_go_on() {
        let hostile = ["../../etc/passwd", "/abs", "CON", "a\u{202e}b", "a//b", "", ".fanfare-x"];
        for name in hostile {
            let scratch = Scratch::new();
            let unpacked =
                run(&scratch, &[("fine", "1"), (name, "bad"), ("too", "2")], Conflict::Overwrite);
            let own = unnamed(blake3::hash(b"bad").as_bytes()).to_string();
            assert_eq!(names(&unpacked), ["fine", &own, "too"]);
            assert!(unpacked.files[1].name_rejected.is_some() && unpacked.failures.is_empty());
            assert_eq!(entries(scratch.path()), ["fine", "too", own.as_str()]);
        }
        let scratch = Scratch::new();
        run(&scratch, &[("../up/", ""), ("//", "")], Conflict::Overwrite);
        assert_eq!(entries(scratch.path()), Vec::<String>::new());
    }

    #[test]
    fn a_planted_link_leads_nowhere() {
        let (scratch, outside) = (Scratch::new(), Scratch::new());
        std::os::unix::fs::symlink(outside.path(), scratch.path().join("d")).unwrap();
        let unpacked = run(&scratch, &[("d/f", "x"), ("d/e/", "")], Conflict::Overwrite);
        assert!(unpacked.files[0].name_rejected.is_some());
        assert_eq!(entries(outside.path()), Vec::<String>::new());
    }

    #[test]
    fn a_pack_that_is_not_what_it_says_is_refused_and_leaves_nothing() {
        let scratch = Scratch::new();
        let whole = pack(&[("a", "one"), ("b", "two")]);
        for broken in [&whole[..whole.len() - 1], &[&whole[..], b"x"].concat(), &whole[..5], b""] {
            let result = try_run(&scratch, broken, Conflict::KeepBoth);
            assert_eq!(result.unwrap_err(), Reason::Refused);
        }
        let mut endless = whole.clone();
        endless[8..12].copy_from_slice(&u32::MAX.to_be_bytes());
        assert_eq!(try_run(&scratch, &endless, Conflict::KeepBoth).unwrap_err(), Reason::Refused);
        assert_eq!(entries(scratch.path()), Vec::<String>::new());
    }

    #[test]
    fn each_file_follows_the_policy_and_equal_ones_are_left_alone() {
        let files = [("other", "new"), ("same", "same")];
        let cases: [(Conflict, &[&str], &[&str], &str); 3] = [
            (Conflict::KeepBoth, &["other.1", "same"], &["other", "other.1", "same"], "old"),
            (Conflict::Overwrite, &["other", "same"], &["other", "same"], "new"),
            (Conflict::Keep, &["same"], &["other", "same"], "old"),
        ];
        for (conflict, placed, there, content) in cases {
            let scratch = Scratch::new();
            std::fs::write(scratch.path().join("other"), "old").unwrap();
            std::fs::write(scratch.path().join("same"), "same").unwrap();
            let before = std::fs::metadata(scratch.path().join("same")).unwrap();
            let unpacked = run(&scratch, &files, conflict);
            assert_eq!(
                (names(&unpacked), entries(scratch.path())),
                (strings(placed), strings(there))
            );
            assert_eq!(std::fs::read_to_string(scratch.path().join("other")).unwrap(), content);
            let after = std::fs::metadata(scratch.path().join("same")).unwrap();
            assert_eq!(before.modified().unwrap(), after.modified().unwrap());
            let kept: &[(String, Reason)] = &[("other".to_owned(), Reason::Conflict)];
            assert_eq!(unpacked.failures, if conflict == Conflict::Keep { kept } else { &[] });
        }
    }

    fn strings(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn a_directory_that_appears_meanwhile_keeps_what_it_has() {
        let scratch = Scratch::new();
        let directory = Arc::new(Directory::open(scratch.path(), false).unwrap());
        let part = pack(&[("d/e/f", "new"), ("d/e/g", "new"), ("d/h", "new")]);
        let mut file = directory.create(".fanfare-t.part").unwrap();
        directory.remove(".fanfare-t.part");
        file.write_all(&part).unwrap();
        let staged =
            stage(&directory, KEY, &file, part.len() as u64, &mut BTreeSet::new()).unwrap();
        std::fs::create_dir_all(scratch.path().join("d/e")).unwrap();
        std::fs::write(scratch.path().join("d/e/f"), "old").unwrap();
        let unpacked = staged.place(Conflict::KeepBoth);
        assert_eq!(names(&unpacked), ["d/e/f.1", "d/e/g", "d/h"]);
        assert_eq!(std::fs::read(scratch.path().join("d/e/f")).unwrap(), b"old");
        assert_eq!(entries(scratch.path()), ["d"]);
    }

    #[test]
    fn one_name_twice_in_a_new_directory_is_two_files() {
        let scratch = Scratch::new();
        let files = [("d/f", "1"), ("d/f", "2"), ("d/f/x", "3")];
        let unpacked = run(&scratch, &files, Conflict::KeepBoth);
        let own = unnamed(blake3::hash(b"3").as_bytes()).to_string();
        assert_eq!(names(&unpacked), ["d/f", "d/f.1", &own]);
        assert_eq!(entries(scratch.path()), ["d", &own]);
    }

    #[test]
    fn one_name_twice_in_a_pack_is_two_files() {
        let scratch = Scratch::new();
        let unpacked = run(&scratch, &[("f", "1"), ("f", "2"), ("f", "1")], Conflict::KeepBoth);
        assert_eq!(names(&unpacked), ["f", "f.1", "f"]);
    }

    #[test]
    fn until_a_pack_is_placed_nothing_of_it_has_its_name_and_a_crash_then_costs_nothing() {
        let scratch = Scratch::new();
        let directory = Arc::new(Directory::open(scratch.path(), false).unwrap());
        let bytes = pack(&[("d/e/f", "new"), ("g", "new")]);
        let mut part = directory.create(".fanfare-t.part").unwrap();
        directory.remove(".fanfare-t.part");
        part.write_all(&bytes).unwrap();
        let size = bytes.len() as u64;
        let crashed = stage(&directory, KEY, &part, size, &mut BTreeSet::new()).unwrap();
        let there = entries(scratch.path());
        assert!(there.len() == 1 && there[0].ends_with(".pack"), "{there:?}");
        // Its process is alive: another receiver in this directory lets it be.
        crate::pack::staging::remove_left_over(&directory);
        assert_eq!(entries(scratch.path()), there);
        // As a kill does, without a destructor.
        std::mem::forget(crashed);
        let again = stage(&directory, KEY, &part, size, &mut BTreeSet::new()).unwrap();
        assert_eq!(names(&again.place(Conflict::KeepBoth)), ["d/e/f", "g"]);
        assert_eq!(entries(scratch.path()), ["d", "g"]);
        std::fs::create_dir_all(scratch.path().join(".fanfare-1-2-3.pack/d0/x")).unwrap();
        crate::pack::staging::remove_left_over(&directory);
        assert_eq!(entries(scratch.path()), ["d", "g"]);
    }

    #[test]
    fn a_directory_that_a_pack_before_brings_is_not_brought_twice() {
        let scratch = Scratch::new();
        let directory = Arc::new(Directory::open(scratch.path(), false).unwrap());
        let mut promised = BTreeSet::new();
        let mut stage_next = |number: u16, files: &[(&str, &str)]| {
            let bytes = pack(files);
            let mut part = directory.create(".fanfare-t.part").unwrap();
            part.write_all(&bytes).unwrap();
            directory.remove(".fanfare-t.part");
            let key = ObjectKey { object: ObjectTransportId(number), ..KEY };
            stage(&directory, key, &part, bytes.len() as u64, &mut promised).unwrap()
        };
        let first = stage_next(1, &[("t/a/1", "1"), ("t/b/2", "2")]);
        let second = stage_next(2, &[("t/b/3", "3"), ("t/c/4", "4")]);
        let at: Vec<At> = second.files.iter().map(|file| file.at).collect();
        assert_eq!(at, [At::Number, At::Graft(0)], "t/c as a whole, into t");
        first.place(Conflict::KeepBoth);
        assert_eq!(names(&second.place(Conflict::KeepBoth)), ["t/b/3", "t/c/4"]);
        assert_eq!(entries(&scratch.path().join("t/b")), ["2", "3"]);
        assert_eq!(entries(&scratch.path().join("t")), ["a", "b", "c"]);
    }

    #[test]
    fn what_a_crash_left_behind_is_removed_unless_somebody_is_at_work_in_it() {
        let scratch = Scratch::new();
        let left = [".fanfare-1-2-3.pack", ".fanfare-1-2-4.pack"].map(|n| scratch.path().join(n));
        for left in &left {
            std::fs::create_dir_all(left.join("d0/e")).unwrap();
            std::fs::write(left.join("0"), "old").unwrap();
            std::fs::write(left.join("d0/e/f"), "old").unwrap();
        }
        let busy = File::open(&left[1]).unwrap();
        rustix::fs::flock(&busy, rustix::fs::FlockOperation::LockExclusive).unwrap();
        let directory = Directory::open(scratch.path(), false).unwrap();
        crate::pack::remove_left_over(&directory);
        assert_eq!(entries(scratch.path()), [".fanfare-1-2-4.pack"]);
        drop(busy);
        crate::pack::remove_left_over(&directory);
        assert_eq!(entries(scratch.path()), Vec::<String>::new());
    }
}
