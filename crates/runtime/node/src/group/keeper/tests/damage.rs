//! Disks that rot.

use super::*;

/// Copies a cache as it is while somebody writes to it: what a kill leaves.
fn killed(scratch: &Scratch, path: &Path) -> PathBuf {
    let copy = scratch.path().join("copy");
    let _ = std::fs::remove_dir_all(&copy);
    std::fs::create_dir_all(&copy).unwrap();
    std::fs::copy(path.join(DATABASE), copy.join(DATABASE)).unwrap();
    copy
}

fn open(path: &Path) -> Opened {
    Keeper::open(path, SELF, Waker::new().unwrap()).unwrap()
}

fn expect_right(opened: &Opened, round: u64) {
    for (key, kept) in &opened.kept.records {
        assert_eq!(kept.content, record(key.object.0).content, "round {round}");
    }
}

#[test]
fn a_damaged_cache_is_put_aside_or_read_as_far_as_it_is_right_and_never_wrong() {
    let scratch = Scratch::new();
    let path = prepare(&scratch);
    let (file, good) = (path.join(DATABASE), std::fs::read(path.join(DATABASE)).unwrap());
    let mut rng = Rng::new(2);
    let (mut aside, mut saved) = (0, 0);
    for round in 0..60 {
        let mut bytes = good.clone();
        if round % 3 == 0 {
            bytes.truncate(rng.below(good.len() as u64) as usize);
        } else {
            for _ in 0..1 + round {
                let at = rng.below(bytes.len() as u64) as usize;
                bytes[at] ^= 1 << rng.below(8);
            }
        }
        std::fs::write(&file, bytes).unwrap();
        let mut opened = open(&path);
        expect_right(&opened, round);
        if opened.damage.as_ref().is_some_and(|damage| damage.aside.is_some()) {
            aside += 1;
            saved += opened.kept.records.len();
            assert_eq!(opened.kept.next, 0);
        }
        opened.keeper.put(key(50), record(50));
        drop(opened);
    }
    assert!(aside > 40 && saved > 200, "{aside}, {saved}");
}

#[test]
fn one_byte_that_changes_costs_next_to_nothing_after_a_kill_as_after_an_end() {
    let scratch = Scratch::new();
    let path = scratch.path().join("cache");
    let opened = filled(&path);
    let unclean = std::fs::read(killed(&scratch, &path).join(DATABASE)).unwrap();
    drop(opened);
    let clean = std::fs::read(path.join(DATABASE)).unwrap();
    let (mut rng, copy) = (Rng::new(3), scratch.path().join("copy"));
    for (good, kind) in [(unclean, "killed"), (clean, "closed")] {
        let (mut damaged, mut told) = (0, 0);
        for round in 0..100 {
            let mut bytes = good.clone();
            // Most of a new database is empty.
            let at = loop {
                let at = rng.below(bytes.len() as u64) as usize;
                if bytes[at] != 0 {
                    break at;
                }
            };
            bytes[at] ^= 1 << rng.below(8);
            std::fs::write(copy.join(DATABASE), bytes).unwrap();
            let opened = open(&copy);
            expect_right(&opened, round);
            let others = opened.kept.records.iter().filter(|(_, record)| !record.own).count();
            let Some(damage) = &opened.damage else {
                assert_eq!(opened.kept.records.len(), 20, "{kind} {round}: in a free page");
                continue;
            };
            damaged += 1;
            // A leaf of this cache has five messages at most.
            assert!(others >= 5, "{kind} {round} at {at}: {others}, {damage:?}");
            assert_eq!(damage.saved, others as u64, "{kind} {round}");
            let lost = damage.lost + damage.own;
            told += u64::from(lost >= 10 && damage.own >= 5);
            assert!(
                damage.is_partial || damage.lost + damage.saved + damage.own >= 20,
                "{damage:?}"
            );
        }
        assert!(damaged > 10 && told > damaged / 2, "{kind}: {damaged}, {told}");
    }
}

#[test]
fn a_message_that_was_given_another_key_is_not_taken() {
    let mut salvage = salvage::Salvage::default();
    let (right, message) = others(1);
    let (wrong, _) = others(2);
    salvage.take(record::number(wrong), &message.encode());
    assert_eq!(salvage.lost, 1);
    salvage.take(record::number(right), &message.encode());
    salvage.take(record::number(key(3)), &record(3).encode());
    assert_eq!((salvage.lost, salvage.own), (1, 1));
    assert_eq!(salvage.into_others(), [(right, message)]);
}

#[test]
fn a_long_message_in_the_database_is_found_behind_a_broken_header() {
    let scratch = Scratch::new();
    let path = scratch.path().join("cache");
    let mut opened = open(&path);
    let (key, short) = others(1);
    let content = vec![7; 300_000];
    let hash = blake3::hash(&content).as_bytes().to_vec();
    let long = Record { size: 300_000, hash, content, ..short };
    opened.keeper.put(key, long.clone());
    drop(opened);
    let mut bytes = std::fs::read(path.join(DATABASE)).unwrap();
    bytes[..512].fill(0);
    std::fs::write(path.join(DATABASE), bytes).unwrap();
    let opened = open(&path);
    assert_eq!(opened.kept.records, [(key, long)]);
    assert_eq!(opened.damage.unwrap().saved, 1);
}

#[test]
fn an_empty_database_and_one_that_is_gone_are_told_when_something_was_there() {
    let scratch = Scratch::new();
    let path = scratch.path().join("cache");
    let file = path.join(DATABASE);
    assert_eq!(open(&path).damage, None, "a cache begins");
    for (take_away, why) in [
        ((&|file: &Path| std::fs::write(file, b"").unwrap()) as &dyn Fn(&Path), "it was empty"),
        (&|file: &Path| std::fs::remove_file(file).unwrap(), "it was not there"),
    ] {
        let opened = open(&path);
        for _ in 0..3 {
            opened.files.create().unwrap();
        }
        drop(opened);
        take_away(&file);
        let damage = open(&path).damage.unwrap();
        assert_eq!((damage.database.as_deref(), damage.lost, damage.own), (Some(why), 3, 0));
        assert!(damage.is_partial && damage.aside.is_none());
        assert_eq!(open(&path).damage, None, "told once");
    }
}

#[test]
fn a_database_is_readable_by_its_user_alone_also_one_of_an_earlier_version() {
    use fanfare_udp::os::file::PermissionsExt;
    let scratch = Scratch::new();
    let path = scratch.path().join("cache");
    let mode = || std::fs::metadata(path.join(DATABASE)).unwrap().permissions().mode() & 0o777;
    drop(open(&path));
    assert_eq!(mode(), 0o600);
    let readable = std::fs::Permissions::from_mode(0o644);
    std::fs::set_permissions(path.join(DATABASE), readable).unwrap();
    drop(open(&path));
    assert_eq!(mode(), 0o600);
}

#[test]
fn a_file_that_no_record_names_goes_and_a_record_without_its_file_counts_as_damaged() {
    let scratch = Scratch::new();
    let path = scratch.path().join("cache");
    let mut opened = open(&path);
    let mut names = Vec::new();
    for object in 0..3 {
        let (file, name) = opened.files.create().unwrap();
        file.set_len(700).unwrap();
        let long = Record { content: Vec::new(), file: Some(name.clone()), ..record(object) };
        // The last one is under way.
        if object < 2 {
            opened.keeper.put(key(object), long);
        }
        names.push(name);
    }
    drop(opened);
    std::fs::remove_file(path.join("content").join(&names[1])).unwrap();
    let opened = open(&path);
    assert_eq!((opened.kept.records.len(), opened.damage.unwrap().lost), (1, 1));
    let left = std::fs::read_dir(path.join("content")).unwrap();
    let left: Vec<String> = left.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    assert_eq!(left, names[..1]);
}
