//! Files with holes: what is zeros does not travel, and takes no room.

use std::{
    fs::File,
    os::unix::fs::{FileExt, MetadataExt},
    path::PathBuf,
};

use crate::support::Stage;

const GIB: u64 = 1 << 30;
const MIB: u64 = 1 << 20;

/// Bytes on disk.
fn room(path: &std::path::Path) -> u64 {
    std::fs::metadata(path).unwrap().blocks() * 512
}

#[test]
fn of_a_gibibyte_with_four_mebibytes_in_it_those_travel() {
    let stage = Stage::new();
    let data = std::fs::read(stage.file("data", 4 << 20)).unwrap();
    std::fs::create_dir_all(stage.path("out")).unwrap();
    let path = stage.path("out/image");
    let image = File::create(&path).unwrap();
    image.set_len(GIB).unwrap();
    let quarters = data.chunks(data.len() / 4).zip([3, 256, 257, 1023]);
    quarters.for_each(|(bytes, group)| image.write_all_at(bytes, group * MIB).unwrap());
    let receiver = stage.recv("in", &["--once"]);
    let sent = stage.send(&[path.as_os_str(), "--rate=100M".as_ref()]).expect(0);
    let wire = sent.result()["wire_bytes"].as_u64().unwrap();
    assert!(wire < 4 * MIB * 110 / 100 + 200_000, "{wire}");
    let mut hasher = blake3::Hasher::new();
    hasher.update_reader(File::open(&path).unwrap()).unwrap();
    let hash = hasher.finalize().to_hex().to_string();
    let received = receiver.end().expect(0);
    assert_eq!(received.all("file")[0]["hash"], hash);
    let copy = stage.path("in/image");
    assert_eq!(std::fs::metadata(&copy).unwrap().len(), GIB);
    // Where the file system has holes at all.
    if room(&path) <= 5 * MIB {
        assert!(room(&copy) <= 5 * MIB, "{}", room(&copy));
    }
    let mut there = vec![0; 1 << 20];
    File::open(&copy).unwrap().read_exact_at(&mut there, 257 * MIB).unwrap();
    assert!(there == data[2 << 20..3 << 20]);
}

#[test]
fn a_file_that_is_nothing_but_a_hole_arrives() {
    let stage = Stage::new();
    std::fs::create_dir_all(stage.path("out")).unwrap();
    let path = stage.path("out/hole");
    File::create(&path).unwrap().set_len(40 * MIB + 7).unwrap();
    let receiver = stage.recv("in", &["--once"]);
    let sent = stage.send(&[path.as_os_str(), "--rate=100M".as_ref()]).expect(0);
    assert!(sent.result()["wire_bytes"].as_u64().unwrap() < 100_000);
    receiver.end().expect(0);
    crate::support::assert_same(&path, &stage.path("in/hole"));
}

/// A file of 200 MiB with data of `len` bytes at each of these MiB, and holes elsewhere.
fn image(stage: &Stage, len: usize, places: &[u64]) -> PathBuf {
    std::fs::create_dir_all(stage.path("out")).unwrap();
    let path = stage.path("out/image");
    let image = File::create(&path).unwrap();
    image.set_len(200 * MIB).unwrap();
    let data = std::fs::read(stage.file("data", len)).unwrap();
    places.iter().for_each(|place| image.write_all_at(&data, place * MIB).unwrap());
    path
}

/// 2 MiB of data arrive in a directory that has room for 24.
fn arrives_on_a_small_disk(receiving: &[&str]) {
    let stage = Stage::new();
    let Some(_mount) = stage.file_system("in", "size=24m") else { return };
    let path = image(&stage, 1 << 20, &[3, 150]);
    let receiver = stage.recv("in", receiving);
    stage.send(&[path.as_os_str(), "--rate=100M".as_ref()]).expect(0);
    receiver.end().expect(0);
    crate::support::assert_same(&path, &stage.path("in/image"));
}

#[test]
fn a_file_with_holes_that_is_larger_than_the_disk_arrives_where_its_data_have_room() {
    arrives_on_a_small_disk(&["--once"]);
}

#[test]
fn a_file_with_holes_arrives_on_a_smaller_disk_also_where_its_manifest_is_lost_at_first() {
    for _ in 0..3 {
        arrives_on_a_small_disk(&["--once", "--test-drop=0.3"]);
    }
}

#[test]
fn a_file_whose_data_have_no_room_is_refused_as_a_full_disk() {
    let stage = Stage::new();
    let Some(_mount) = stage.file_system("in", "size=8m") else { return };
    let path = image(&stage, 12 << 20, &[3]);
    let receiver = stage.recv("in", &["--once"]);
    stage.send(&[path.as_os_str(), "--rate=100M".as_ref()]).expect(3);
    let received = receiver.end().expect(5);
    assert_eq!(received.all("failed")[0]["reason"], "disk-full");
    assert!(!stage.path("in/image").exists());
}
