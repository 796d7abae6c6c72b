//! A pack that was received and verified as a whole becomes files on disk.
//!
//! First every file is written under a name of our own; then one sync for all of them; then each
//! gets its name; then one more sync. So a file under its final name is never wrong, whenever the
//! power fails, and packs share their syncs instead of having two for each of their files.
//!
//! - `write`: each under a name of our own; `place`: each under its own

mod place;
mod write;

use std::{io, sync::Arc};

pub use write::stage;

use super::{graft::Grafts, index::Entry, leftover::Note, staging::Staging};
use fanfare_node::disk::{
    FileHandle,
    directory::{Directory, How, permissions},
    name::{NameError, SafeName},
    parents::Parents,
    placement::open_equal,
};

use crate::content::{placed::Placed, receipt::Reason};

/// What became of the files of a pack.
#[derive(Debug, Default)]
pub struct Unpacked {
    /// Files in their place.
    pub files: Vec<Placed>,
    /// Files that are not, by the names they have in the pack.
    pub failures: Vec<(String, Reason)>,
}

/// A pack whose files are written, but neither synced nor named.
#[derive(Debug)]
pub struct Staged {
    directory: Arc<Directory>,
    staging: Staging,
    grafts: Grafts,
    files: Vec<StagedFile>,
    head_bytes: u64,
}

impl Staged {
    /// Notes beside the files which pack they are from: `part`, of this hash and size, is not
    /// needed then.
    pub fn note(&self, part: &dyn FileHandle, pack: ([u8; 32], u64)) -> io::Result<()> {
        Note::new(part, pack, self.head_bytes, &self.grafts)?.write(&self.staging)
    }
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

impl StagedFile {
    fn is_directory(&self) -> bool {
        self.entry.name.ends_with('/')
    }

    fn is_there_in(&self, existing: &mut Parents<'_>) -> bool {
        let Ok(name) = &self.name else { return false };
        let (directories, last) = name.split();
        let parent = existing.get(directories);
        // The sync that makes the others durable is for these, too.
        let equal = parent.ok().and_then(|p| open_equal(p, last, self.entry.size, &self.hash));
        let mode = Some(permissions(Some(self.entry.mode)));
        let equal = equal.filter(|file| !file.is_shared_as_another(mode, Some(self.entry.mtime)));
        equal.is_some_and(|file| file.adjust(mode, Some(self.entry.mtime)).is_ok())
    }

    fn placed(&self, name: SafeName, how: How, name_rejected: Option<NameError>) -> Placed {
        let (size, hash) = (self.entry.size, self.hash);
        let in_the_way = name_rejected == Some(NameError::InTheWay);
        let displaced = self.name.clone().ok().filter(|_| in_the_way);
        Placed { name, size, hash, verified: true, how, name_rejected, displaced }
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, fs::File, path::Path};

    use fanfare_node::disk::{OwnFile, placement::Conflict, scratch::Scratch};
    use fanfare_proto::{InstanceId, NodeId, ObjectKey, ObjectTransportId};

    use super::*;
    use crate::content::placed::{displaced, unnamed};

    const KEY: ObjectKey =
        ObjectKey { sender: NodeId(1), instance: InstanceId(1), object: ObjectTransportId(9) };

    fn pack(files: &[(&str, &str)]) -> Vec<u8> {
        let files: Vec<(&str, &[u8])> =
            files.iter().map(|(name, content)| (*name, content.as_bytes())).collect();
        crate::content::pack::samples::bytes_of(&files).0
    }

    /// A part with these bytes, already without a name.
    fn part_of(directory: &Directory, bytes: &[u8]) -> Arc<OwnFile> {
        let part = directory.create_own(".fanfare-t.part").unwrap();
        directory.remove(".fanfare-t.part");
        part.handle().write_all_at(bytes, 0).unwrap();
        part
    }

    fn try_run(scratch: &Scratch, pack: &[u8], conflict: Conflict) -> Result<Unpacked, Reason> {
        let directory = Arc::new(Directory::open(scratch.path(), false).unwrap());
        let part = part_of(&directory, pack);
        let size = pack.len() as u64;
        stage(&directory, KEY, part.handle(), size, &mut BTreeSet::new())
            .map(|staged| staged.place(conflict).0)
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
        use fanfare_udp::os::file::MetadataExt;
        let scratch = Scratch::new();
        let files = [("t/a", "one"), ("t/d/b", ""), ("t/e/", ""), ("z", "two")];
        let unpacked = run(&scratch, &files, Conflict::KeepBoth);
        assert_eq!(names(&unpacked), ["t/a", "t/d/b", "z"]);
        assert_eq!(entries(scratch.path()), ["t", "z"]);
        assert_eq!(entries(&scratch.path().join("t")), ["a", "d", "e"]);
        let meta = std::fs::metadata(scratch.path().join("t/a")).unwrap();
        assert_eq!((meta.size(), meta.mtime(), meta.mtime_nsec()), (3, 77, 5));
        assert_eq!(meta.mode() & 0o777, 0o640);
        assert_eq!(unpacked.files[0].hash, *blake3::hash(b"one").as_bytes());
        assert_eq!(std::fs::read(scratch.path().join("z")).unwrap(), b"two");
    }

    #[test]
    fn hostile_names_stay_inside_under_names_of_their_content_and_the_others_go_on() {
        let hostile = ["../../etc/passwd", "/abs", "a/..", "a//b", "", ".fanfare-x"];
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
            use fanfare_udp::os::file::MetadataExt;
            let before = std::fs::metadata(scratch.path().join("same")).unwrap();
            let unpacked = run(&scratch, &files, conflict);
            assert_eq!(
                (names(&unpacked), entries(scratch.path())),
                (strings(placed), strings(there))
            );
            assert_eq!(std::fs::read_to_string(scratch.path().join("other")).unwrap(), content);
            let after = std::fs::metadata(scratch.path().join("same")).unwrap();
            // It is not written again, and has the time that is announced.
            assert_eq!((after.ino(), after.mtime()), (before.ino(), 77));
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
        let file = part_of(&directory, &part);
        let size = part.len() as u64;
        let staged = stage(&directory, KEY, file.handle(), size, &mut BTreeSet::new()).unwrap();
        std::fs::create_dir_all(scratch.path().join("d/e")).unwrap();
        std::fs::write(scratch.path().join("d/e/f"), "old").unwrap();
        let unpacked = staged.place(Conflict::KeepBoth).0;
        assert_eq!(names(&unpacked), ["d/e/f.1", "d/e/g", "d/h"]);
        assert_eq!(std::fs::read(scratch.path().join("d/e/f")).unwrap(), b"old");
        assert_eq!(entries(scratch.path()), ["d"]);
    }

    #[test]
    fn one_name_twice_in_a_new_directory_is_two_files() {
        let scratch = Scratch::new();
        let files = [("d/f", "1"), ("d/f", "2"), ("d/f/x", "3")];
        let unpacked = run(&scratch, &files, Conflict::KeepBoth);
        let wanted = SafeName::parse(b"d/f/x").unwrap();
        let own = displaced(&wanted, blake3::hash(b"3").as_bytes()).to_string();
        assert_eq!(names(&unpacked), ["d/f", "d/f.1", &own]);
        assert_eq!(unpacked.files[2].displaced, Some(wanted));
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
        let part = part_of(&directory, &bytes);
        let size = bytes.len() as u64;
        let crashed = stage(&directory, KEY, part.handle(), size, &mut BTreeSet::new()).unwrap();
        let there = entries(scratch.path());
        assert!(there.len() == 1 && there[0].ends_with(".pack"), "{there:?}");
        // Its process is alive: another receiver in this directory lets it be.
        crate::content::pack::recover(&directory);
        assert_eq!(entries(scratch.path()), there);
        // As a kill does, without a destructor.
        std::mem::forget(crashed);
        let again = stage(&directory, KEY, part.handle(), size, &mut BTreeSet::new()).unwrap();
        assert_eq!(names(&again.place(Conflict::KeepBoth).0), ["d/e/f", "g"]);
        assert_eq!(entries(scratch.path()), ["d", "g"]);
        std::fs::create_dir_all(scratch.path().join(".fanfare-1-2-3.pack/d0/x")).unwrap();
        crate::content::pack::recover(&directory);
        assert_eq!(entries(scratch.path()), ["d", "g"]);
    }

    #[test]
    fn a_directory_that_a_pack_before_brings_is_not_brought_twice() {
        let scratch = Scratch::new();
        let directory = Arc::new(Directory::open(scratch.path(), false).unwrap());
        let mut promised = BTreeSet::new();
        let mut stage_next = |number: u16, files: &[(&str, &str)]| {
            let bytes = pack(files);
            let part = part_of(&directory, &bytes);
            let key = ObjectKey { object: ObjectTransportId(number), ..KEY };
            stage(&directory, key, part.handle(), bytes.len() as u64, &mut promised).unwrap()
        };
        let first = stage_next(1, &[("t/a/1", "1"), ("t/b/2", "2")]);
        let second = stage_next(2, &[("t/b/3", "3"), ("t/c/4", "4")]);
        let at: Vec<At> = second.files.iter().map(|file| file.at).collect();
        assert_eq!(at, [At::Number, At::Graft(0)], "t/c as a whole, into t");
        first.place(Conflict::KeepBoth);
        assert_eq!(names(&second.place(Conflict::KeepBoth).0), ["t/b/3", "t/c/4"]);
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
        fanfare_udp::os::fs::flock(&busy, fanfare_udp::os::fs::FlockOperation::LockExclusive)
            .unwrap();
        let directory = Directory::open(scratch.path(), false).unwrap();
        crate::content::pack::recover(&directory);
        assert_eq!(entries(scratch.path()), [".fanfare-1-2-4.pack"]);
        drop(busy);
        crate::content::pack::recover(&directory);
        assert_eq!(entries(scratch.path()), Vec::<String>::new());
    }
}
