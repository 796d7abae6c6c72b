//! Trees made by chance: whatever Linux can hold arrives as it was, at once and after a change.

use std::{
    ffi::OsStr,
    fs::{self, File},
    os::unix::{
        ffi::OsStrExt,
        fs::{FileExt, symlink},
    },
    path::{Path, PathBuf},
};

use super::{assert_nothing_left, pass, set_mode, set_time};
use crate::support::Stage;

/// Trees that are tried. Each is sent twice.
const TREES: u64 = 6;
/// Names in a tree, at most.
const NAMES: u64 = 60;

/// xorshift64*: Vigna, "An experimental exploration of Marsaglia's xorshift generators, scrambled".
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    /// A name of any bytes that a file may have.
    fn name(&mut self) -> Vec<u8> {
        let longest = if self.below(5) == 0 { 200 } else { 12 };
        let len = 1 + self.below(longest);
        let mut name: Vec<u8> = (0..len).map(|_| (1 + self.below(255)) as u8).collect();
        name.iter_mut().filter(|byte| **byte == b'/').for_each(|byte| *byte = b'-');
        // `.` and `..` are no names, and our own are not sent.
        if name[0] == b'.' { [b"_", &name[..]].concat() } else { name }
    }

    fn bytes(&mut self, len: u64) -> Vec<u8> {
        let seed = self.next().to_be_bytes();
        let mut bytes = vec![0; len as usize];
        blake3::Hasher::new().update(&seed).finalize_xof().fill(&mut bytes);
        bytes
    }
}

/// A tree under way: its directories, with how deep they are, and its files.
struct Tree {
    chance: Chance,
    directories: Vec<(PathBuf, usize)>,
    files: Vec<PathBuf>,
}

impl Tree {
    fn make(root: &Path, seed: u64) -> Self {
        fs::create_dir_all(root).unwrap();
        let chance = Chance(seed * 2 + 1);
        let directories = vec![(root.to_owned(), 0)];
        let mut tree = Self { chance, directories, files: Vec::new() };
        fs::write(root.join("a file"), "there is one").unwrap();
        tree.files.push(root.join("a file"));
        let names = 5 + tree.chance.below(NAMES);
        (0..names).for_each(|_| tree.add());
        tree.finish();
        tree
    }

    fn add(&mut self) {
        let at = self.chance.below(self.directories.len() as u64) as usize;
        let (parent, depth) = self.directories[at].clone();
        let path = parent.join(OsStr::from_bytes(&self.chance.name()));
        if fs::symlink_metadata(&path).is_ok() {
            return;
        }
        match self.chance.below(10) {
            0..3 => {
                fs::create_dir(&path).unwrap();
                self.directories.push((path, depth + 1));
            }
            3 => {
                let ups = self.chance.below(depth as u64 + 1) as usize;
                let rest = self.chance.name();
                let target = [b"../".repeat(ups), rest].concat();
                symlink(OsStr::from_bytes(&target), &path).unwrap();
            }
            4 => {
                let of = self.chance.below(self.files.len() as u64) as usize;
                fs::hard_link(&self.files[of], &path).unwrap();
            }
            5 => {
                let file = File::create(&path).unwrap();
                file.set_len(self.chance.below(5 << 20)).unwrap();
                file.write_all_at(b"x", self.chance.below(5 << 20)).unwrap();
                self.files.push(path);
            }
            kind => {
                let size = match kind {
                    6 => 0,
                    7 => self.chance.below(200_000),
                    _ => self.chance.below(3000),
                };
                fs::write(&path, self.chance.bytes(size)).unwrap();
                self.files.push(path);
            }
        }
    }

    /// Modes and times, from the bottom up.
    fn finish(&mut self) {
        for path in self.files.clone() {
            let (mode, time) = (0o400 | self.chance.below(0o1000), self.chance.below(1 << 31));
            set_time(&path, time, self.chance.below(1_000_000_000) as u32);
            set_mode(&path, mode as u32 & 0o777);
        }
        for (path, _) in self.directories.clone().into_iter().rev() {
            let (mode, time) = (0o700 | self.chance.below(0o1000), self.chance.below(1 << 31));
            set_time(&path, time, self.chance.below(1_000_000_000) as u32);
            set_mode(&path, mode as u32 & 0o777);
        }
    }

    /// Some content changes, some names come and go.
    fn change(&mut self) {
        for _ in 0..4 {
            let at = self.chance.below(self.files.len() as u64) as usize;
            let path = self.files[at].clone();
            set_mode(&path, 0o600);
            fs::write(&path, self.chance.bytes(500)).unwrap();
        }
        (0..8).for_each(|_| self.add());
        self.finish();
    }
}

#[test]
fn a_tree_made_by_chance_arrives_as_it_was_at_once_and_after_a_change() {
    for seed in 1..=TREES {
        eprintln!("seed {seed}");
        let stage = Stage::new();
        let mut tree = Tree::make(&stage.path("out/t"), seed);
        let options: &[&str] = if seed % 3 == 0 { &["--no-pack"] } else { &[] };
        let (sent, received) = pass(&stage, options, &[]);
        sent.expect(0);
        received.expect(0);
        assert_nothing_left(&stage);
        tree.change();
        let (sent, received) = pass(&stage, options, &[]);
        sent.expect(0);
        received.expect(0);
        assert_nothing_left(&stage);
    }
}
