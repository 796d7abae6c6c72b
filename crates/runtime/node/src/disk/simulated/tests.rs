//! The simulated disk is as bad as it says.

use super::*;

fn fs() -> (SimFs, Box<dyn DirectoryHandle>) {
    let fs = SimFs::new(State::new(1));
    let root = fs.root();
    (fs, root)
}

fn write(root: &dyn DirectoryHandle, name: &str, bytes: &[u8]) -> Arc<dyn FileHandle> {
    let file = root.open(name, Open::Create).unwrap();
    file.write_all_at(bytes, 0).unwrap();
    file
}

fn after(fs: &SimFs, survives: impl FnMut(usize) -> bool) -> Vec<(String, Vec<u8>)> {
    let paths = fs.state().crash(512, survives).seen.paths();
    paths.into_iter().map(|(name, bytes)| (name, bytes.to_vec())).collect()
}

#[test]
fn what_was_not_synced_may_be_gone_and_a_synced_file_needs_its_name_synced_too() {
    let (fs, root) = fs();
    let file = write(&*root, "f", b"x");
    assert_eq!(after(&fs, |_| false), []);
    file.sync().unwrap();
    assert_eq!(after(&fs, |_| false), []);
    root.sync().unwrap();
    assert_eq!(after(&fs, |_| false), [("f".to_owned(), b"x".to_vec())]);
}

#[test]
fn a_name_may_survive_without_the_content_and_a_length_without_the_data() {
    let (fs, root) = fs();
    write(&*root, "f", b"x");
    // In order: the name, the length, the data.
    assert_eq!(after(&fs, |n| n == 0), [("f".to_owned(), vec![])]);
    assert_eq!(after(&fs, |n| n < 2), [("f".to_owned(), vec![0])]);
    assert_eq!(after(&fs, |_| true), [("f".to_owned(), b"x".to_vec())]);
}

#[test]
fn data_is_torn_at_sectors() {
    let (fs, root) = fs();
    write(&*root, "f", &[7; 1025]);
    assert_eq!(fs.state().loose_ends(512), 2 + 3);
    assert_eq!(fs.state().loose_ends(4096), 2 + 1);
    let torn = after(&fs, |n| n != 3);
    assert_eq!(torn[0].1, [vec![7; 512], vec![0; 512], vec![7]].concat());
}

#[test]
fn a_rename_replaces_in_one_step_but_only_for_good_once_its_directory_is_synced() {
    let (fs, root) = fs();
    for (name, bytes) in [("old", b"1"), ("new", b"2")] {
        write(&*root, name, bytes).sync().unwrap();
    }
    root.sync().unwrap();
    root.rename("new", &*root, "old").unwrap();
    assert_eq!(after(&fs, |_| false).len(), 2);
    assert_eq!(after(&fs, |_| true), [("old".to_owned(), b"2".to_vec())]);
    root.sync().unwrap();
    assert_eq!(after(&fs, |_| false), [("old".to_owned(), b"2".to_vec())]);
}

#[test]
fn a_failed_sync_is_told_once_to_each_opening_and_the_data_are_gone_though_they_are_read() {
    let (fs, root) = fs();
    let file = write(&*root, "f", &[7; 4096]);
    let other = root.open("f", Open::Write).unwrap();
    root.sync().unwrap();
    fs.with(|state| state.faults.sync = Some(0));
    assert_eq!((file.sync(), file.sync()), (Err(Errno::IO), Ok(())));
    assert_eq!((other.sync(), other.sync()), (Err(Errno::IO), Ok(())));
    assert_eq!(root.open("f", Open::Read).unwrap().sync(), Ok(()));
    let mut seen = [0; 1];
    assert_eq!((file.read_at(&mut seen, 9), seen), (Ok(1), [7]));
    assert_ne!(after(&fs, |_| true)[0].1, [7; 4096]);
}

#[test]
fn a_full_disk_takes_what_fits_and_a_read_only_one_nothing() {
    let (fs, root) = fs();
    fs.with(|state| state.faults.room = 10);
    let file = write(&*root, "f", b"12345");
    assert_eq!((file.write_at(b"6789012", 5), file.write_at(b"1", 10)), (Ok(5), Err(Errno::NOSPC)));
    assert_eq!(file.reserve(11), Err(Errno::NOSPC));
    fs.with(|state| state.faults.read_only = true);
    assert_eq!(file.write_at(b"1", 0), Err(Errno::ROFS));
    assert!(root.open("g", Open::Create).is_err() && root.unlink("f").is_err());
}
