//! Random trees and patterns, against git itself.

use std::{
    collections::BTreeSet,
    ffi::OsStr,
    fs,
    path::Path,
    process::{Command, Stdio},
};

use fanfare_node::disk::{name::bytes_of, scratch::Scratch};
use fanfare_udp::os::text::OsStrExt;

use super::Selection;
use crate::content::source::{GatherOptions, NamedPath, Sources};

/// How many trees are tried: `FANFARE_TREES`, or these, which take about two seconds.
const TREES: u64 = 250;

/// Numbers that follow from a seed: SplitMix64, by Steele, Lea and Flood.
struct Draw(u64);

impl Draw {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % end as u64) as usize
    }

    fn one<'a>(&mut self, of: &[&'a [u8]]) -> &'a [u8] {
        of[self.below(of.len())]
    }
}

/// Parts of names: few, so that patterns meet them, and some with what has a meaning in a pattern.
const NAMES: [&[u8]; 18] = [
    b"a",
    b"b",
    b"ab",
    b"abc",
    b"a.log",
    b"keep.log",
    b"x.txt",
    b"private",
    b"logs",
    b"A",
    b"a b",
    b"a ",
    b"#a",
    b"!a",
    b"[a]",
    b"a*b",
    b"caf\xe9",
    b"-1",
];
/// Pieces of patterns.
const PIECES: [&[u8]; 40] = [
    b"a",
    b"b",
    b"c",
    b"a",
    b"b",
    b"*",
    b"*",
    b"**",
    b"?",
    b"/",
    b"/",
    b"**/",
    b"/**",
    b"/**/",
    b".log",
    b"keep",
    b"private",
    b"logs",
    b"x.txt",
    b"[ab]",
    b"[!a]",
    b"[^b-z]",
    b"[a-c",
    b"[]a]",
    b"[[:alpha:]]",
    b"[[:upper:]b]",
    b"\\",
    b"\\a",
    b"\\*",
    b" ",
    b"\\ ",
    b"#",
    b"!",
    b"{a,b}",
    b"***",
    b"\xe9",
    b"*.log",
    b"[a\\]]",
    b"\\/",
    b"-",
];

fn path(draw: &mut Draw) -> Vec<u8> {
    let parts: Vec<&[u8]> = (0..=draw.below(4)).map(|_| draw.one(&NAMES)).collect();
    parts.join(&b'/')
}

/// A pattern of pieces, or of parts of names.
fn line(draw: &mut Draw) -> Vec<u8> {
    let mut line: Vec<u8> = match draw.below(4) {
        0 => b"!".to_vec(),
        1 => b"/".to_vec(),
        _ => Vec::new(),
    };
    if draw.below(3) == 0 {
        line.extend(path(draw));
    } else {
        (0..=draw.below(4)).for_each(|_| line.extend(draw.one(&PIECES)));
    }
    if draw.below(4) == 0 {
        line.push(b'/');
    }
    line
}

fn make_tree(draw: &mut Draw, root: &Path) {
    fs::create_dir(root).unwrap();
    for _ in 0..=draw.below(20) {
        let file = root.join(OsStr::from_bytes(&path(draw)));
        // What stands in the way of another is left as it is.
        if fs::create_dir_all(file.parent().unwrap()).is_ok() && !file.exists() {
            fs::write(file, "x").unwrap();
        }
    }
}

fn git(scratch: &Path, tree: &Path) -> Command {
    let mut git = Command::new("git");
    git.env("GIT_DIR", scratch.join("git")).env("GIT_WORK_TREE", tree).current_dir(tree);
    git.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
    git.stdin(Stdio::null());
    git
}

/// What git would send of the tree.
fn wanted(scratch: &Path, tree: &Path, lines: &Path) -> BTreeSet<Vec<u8>> {
    let mut list = git(scratch, tree);
    list.args(["-c", "core.ignoreCase=false", "ls-files", "-z", "--others", "--exclude-from"]);
    let listed = list.arg(lines).output().unwrap();
    assert!(listed.status.success(), "{}", String::from_utf8_lossy(&listed.stderr));
    let names = listed.stdout.split(|byte| *byte == 0);
    names.filter(|name| !name.is_empty()).map(<[u8]>::to_vec).collect()
}

fn taken(tree: &Path, lines: &Path) -> BTreeSet<Vec<u8>> {
    let selection = Selection::new(&[lines.to_owned()], &[], &[]).unwrap();
    let options = GatherOptions { selection, ..GatherOptions::default() };
    let (mut names, named) = (BTreeSet::new(), [NamedPath::from(tree)]);
    Sources::survey(&named, &options, &mut |name, _| {
        names.insert(bytes_of(name.strip_prefix("t/").unwrap()).into_owned());
    })
    .unwrap();
    names
}

#[test]
fn of_random_trees_the_same_files_are_sent_that_git_lists() {
    let scratch = Scratch::new();
    let has_git = Command::new("git").arg("--version").output().is_ok();
    if !has_git {
        eprintln!("there is no git here: not tried");
        return;
    }
    let trees = std::env::var("FANFARE_TREES").ok().and_then(|text| text.parse().ok());
    let first = std::env::var("FANFARE_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(0);
    let (tree, lines) = (scratch.path().join("t"), scratch.path().join("lines"));
    fs::create_dir(&tree).unwrap();
    assert!(git(scratch.path(), &tree).args(["init", "-q"]).status().unwrap().success());
    for seed in first..first + trees.unwrap_or(TREES) {
        let mut draw = Draw(seed);
        fs::remove_dir_all(&tree).unwrap();
        make_tree(&mut draw, &tree);
        let end: &[u8] = if draw.below(8) == 0 { b"\r\n" } else { b"\n" };
        let text: Vec<Vec<u8>> = (0..=draw.below(6)).map(|_| line(&mut draw)).collect();
        let mark: &[u8] = if draw.below(8) == 0 { super::BYTE_ORDER_MARK } else { b"" };
        fs::write(&lines, [mark, &text.join(end)].concat()).unwrap();
        let (ours, theirs) = (taken(&tree, &lines), wanted(scratch.path(), &tree, &lines));
        let shown = |names: &[Vec<u8>]| {
            names.iter().map(|name| String::from_utf8_lossy(name).into_owned()).collect::<Vec<_>>()
        };
        let only = |a: &BTreeSet<Vec<u8>>, b: &BTreeSet<Vec<u8>>| {
            shown(&a.difference(b).cloned().collect::<Vec<_>>())
        };
        assert!(
            ours == theirs,
            "FANFARE_SEED={seed}: patterns {:?}: sent and not listed by git {:?}, listed and not sent {:?}",
            shown(&text),
            only(&ours, &theirs),
            only(&theirs, &ours),
        );
    }
}
