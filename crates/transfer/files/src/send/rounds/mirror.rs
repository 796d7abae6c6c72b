//! Mirrors: directories with links, hard links and everything else become at a receiver what they are at
//! the sender, at the first run and at every later one.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::{Path, PathBuf},
    time::Duration,
};

use crate::content::source::{GatherOptions, NamedPath, Sources};
use fanfare_node::disk::scratch::Scratch;
use fanfare_proto::rng::Rng;

use super::{Expect, SendOptions, World};
use crate::{
    event::{Outcome, ReceiveEvent},
    receive::ReceiveOptions,
};

/// An entry of a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
enum TreeEntry {
    /// Content, minutes of its time, permissions.
    File(Vec<u8>, u64, u32),
    Link(String),
    /// Another name of this file.
    HardLink(String),
    Directory(u32),
}

/// Names and what they are. A file stands before its other names in no certain order.
type NamedEntries = BTreeMap<String, TreeEntry>;

const DIRECTORIES: [&str; 4] = ["", "d/", "d/e/", "f/"];
const NAMES: [&str; 5] = ["a", "b", "c", "x", "z"];

fn below(rng: &mut Rng, end: usize) -> usize {
    (rng.next_u64() % end as u64) as usize
}

fn random_tree(rng: &mut Rng) -> NamedEntries {
    let mut tree = NamedEntries::new();
    // Not all directories are in each tree, and some are empty.
    let depth = 1 + below(rng, 4);
    for directory in &DIRECTORIES[1..depth.max(1)] {
        let mode = if rng.random_bool(0.3) { 0o700 } else { 0o755 };
        tree.insert(directory.trim_end_matches('/').to_owned(), TreeEntry::Directory(mode));
    }
    let mut files: Vec<String> = Vec::new();
    for directory in &DIRECTORIES[..depth] {
        for name in NAMES {
            let path = format!("{directory}{name}");
            match below(rng, 8) {
                0..=2 => {
                    let content = vec![b'0' + below(rng, 3) as u8; below(rng, 3)];
                    let (minute, mode) =
                        (below(rng, 3) as u64, if rng.random_bool(0.5) { 0o644 } else { 0o600 });
                    files.push(path.clone());
                    tree.insert(path, TreeEntry::File(content, minute, mode));
                }
                3 => {
                    let to = NAMES[below(rng, NAMES.len())];
                    tree.insert(path, TreeEntry::Link(to.to_owned()));
                }
                4 | 5 if !files.is_empty() => {
                    let of = files[below(rng, files.len())].clone();
                    tree.insert(path, TreeEntry::HardLink(of));
                }
                _ => {}
            }
        }
    }
    if files.is_empty() {
        tree.insert("always".to_owned(), TreeEntry::File(b"here".to_vec(), 0, 0o644));
    }
    tree
}

fn make(tree: &NamedEntries, at: &Path) {
    fs::create_dir(at).unwrap();
    let of_kind = |directory: bool| {
        tree.iter().filter(move |(_, node)| matches!(node, TreeEntry::Directory(_)) == directory)
    };
    for (name, _) in of_kind(true) {
        fs::create_dir(at.join(name)).unwrap();
    }
    let time =
        |minute: u64| std::time::UNIX_EPOCH + Duration::from_secs(1_700_000_000 + 60 * minute);
    for (name, node) in of_kind(false) {
        let path = at.join(name);
        match node {
            TreeEntry::File(content, minute, mode) => {
                fs::write(&path, content).unwrap();
                fs::set_permissions(&path, fs::Permissions::from_mode(*mode)).unwrap();
                fs::File::open(&path).unwrap().set_modified(time(*minute)).unwrap();
            }
            TreeEntry::Link(to) => std::os::unix::fs::symlink(to, &path).unwrap(),
            TreeEntry::HardLink(_) | TreeEntry::Directory(_) => {}
        }
    }
    for (name, node) in tree {
        if let TreeEntry::HardLink(of) = node {
            fs::hard_link(at.join(of), at.join(name)).unwrap();
        }
    }
    for (name, node) in of_kind(true) {
        let TreeEntry::Directory(mode) = node else { continue };
        fs::set_permissions(at.join(name), fs::Permissions::from_mode(*mode)).unwrap();
        fs::File::open(at.join(name)).unwrap().set_modified(time(9)).unwrap();
    }
}

/// An entry that is there, so that two trees can be compared: kind, permissions, time, content, and the first
/// of its names.
type SeenEntry = (char, u32, i64, Vec<u8>, PathBuf);

fn seen(top: &Path) -> BTreeMap<PathBuf, SeenEntry> {
    let (mut all, mut firsts) = (BTreeMap::new(), BTreeMap::new());
    let mut waiting = vec![PathBuf::new()];
    while let Some(directory) = waiting.pop() {
        let entries = fs::read_dir(top.join(&directory)).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        for name in names.into_iter().filter(|name| !name.to_string_lossy().starts_with(".fanfare"))
        {
            let path = directory.join(name);
            let meta = fs::symlink_metadata(top.join(&path)).unwrap();
            let (kind, content) = if meta.is_dir() {
                waiting.push(path.clone());
                ('d', Vec::new())
            } else if meta.is_symlink() {
                let to = fs::read_link(top.join(&path)).unwrap();
                ('l', to.to_string_lossy().into_owned().into_bytes())
            } else {
                ('f', fs::read(top.join(&path)).unwrap())
            };
            let first = match kind {
                'f' => firsts.entry(meta.ino()).or_insert_with(|| path.clone()).clone(),
                _ => path.clone(),
            };
            let mode = if kind == 'l' { 0 } else { meta.mode() & 0o777 };
            all.insert(path, (kind, mode, meta.mtime(), content, first));
        }
    }
    all
}

/// Sends the tree to a receiver that has what is in `has`, and gives back what it has then.
#[track_caller]
fn mirror(tree: &NamedEntries, has: Scratch, seed: u64) -> Scratch {
    let scratch = Scratch::new();
    make(tree, &scratch.path().join("t"));
    let options = GatherOptions { listed: true, ..GatherOptions::default() };
    let named = [NamedPath::from(scratch.path().join("t"))];
    let sources = Sources::gather_as(&named, &options, &mut |_| {}).unwrap();
    let wanted = seen(&scratch.path().join("t"));
    let options = SendOptions { expect: Expect::Count(1), ..SendOptions::default() };
    let mut world = World::from(sources, scratch, options, 0.0, seed);
    let receiving = ReceiveOptions { allow_delete: true, ..ReceiveOptions::default() };
    world.join_in(has, false, receiving);
    world.run_until(usize::MAX);
    let outcomes: Vec<Outcome> =
        world.report().receivers.into_iter().map(|result| result.outcome).collect();
    let deletions = world.told[0].iter().filter_map(|event| match event {
        ReceiveEvent::Deletion { refused, .. } => Some(refused.clone()),
        _ => None,
    });
    let deletions: Vec<_> = deletions.collect();
    assert_eq!(outcomes, [Outcome::Complete], "seed {seed}: {deletions:?} {tree:?}");
    assert_eq!(deletions, [None], "seed {seed}");
    let has = world.scratches.pop().unwrap();
    let here = seen(&has.path().join("t"));
    assert_eq!(here, wanted, "seed {seed}");
    has
}

#[test]
fn a_receiver_has_the_senders_links_hard_links_and_files_after_the_first_run_and_after_each_other()
{
    // 150 chains of three random trees, seeds 0 to 149; every run completes.
    for seed in 0..150 {
        let mut rng = Rng::new(seed);
        let mut has = Scratch::new();
        for _ in 0..3 {
            let tree = random_tree(&mut rng);
            has = mirror(&tree, has, seed);
        }
    }
}
