//! Which files of a directory are sent.

use std::{
    ffi::OsStr,
    os::unix::{ffi::OsStrExt as _, fs::symlink},
    path::Path,
};

use crate::support::{Ended, Stage, entries};

fn tree(stage: &Stage) -> String {
    for name in ["a.o", "a.c", "keep.o", "target/x", "deep/target/y", "deep/b.c"] {
        stage.file(&format!("out/t/{name}"), 1000);
    }
    stage.path("out/t").to_str().unwrap().to_owned()
}

fn planned(ended: &Ended) -> Vec<String> {
    let names = ended.all("planned");
    names.iter().map(|line| line["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn what_matches_a_pattern_stays_here_unless_it_is_included() {
    let stage = Stage::new();
    let tree = tree(&stage);
    let patterns = stage.text("patterns", "# made\n/target/\n");
    let receiver = stage.recv("in", &["--once"]);
    let chosen = ["--exclude=*.o", "--include=keep.o", "--exclude-from"];
    let args = [&[tree.as_ref()], &chosen.map(OsStr::new)[..], &[patterns.as_os_str()]].concat();
    stage.send(&args).expect(0);
    receiver.end().expect(0);
    assert_eq!(entries(&stage.path("in/t")), ["a.c", "deep", "keep.o"]);
    assert_eq!(entries(&stage.path("in/t/deep")), ["b.c", "target"]);
}

#[test]
fn what_is_left_out_is_not_deleted_at_receivers() {
    let stage = Stage::new();
    let tree = tree(&stage);
    stage.file("in/t/a.o", 7);
    stage.file("in/t/old.c", 7);
    stage.file("in/t/target/mine", 7);
    let receiver = stage.recv("in", &["--once", "--allow-delete"]);
    stage.send(&[&tree, "--exclude=*.o", "--exclude=/target/", "--delete"]).expect(0);
    receiver.end().expect(0);
    assert_eq!(entries(&stage.path("in/t")), ["a.c", "a.o", "deep", "target"]);
    assert_eq!(entries(&stage.path("in/t/target")), ["mine"]);
}

#[test]
fn a_list_names_the_files_that_are_sent_and_their_names() {
    let stage = Stage::new();
    let tree = tree(&stage);
    let lists = [("lines", "a.c\ndeep/b.c\n"), ("nul", "a.c\0deep/b.c\0")];
    for (name, list) in lists {
        let list = stage.text(name, list);
        let dir = format!("in-{name}");
        let receiver = stage.recv(&dir, &["--once"]);
        stage.send(&[&tree, "--files-from", list.to_str().unwrap()]).expect(0);
        receiver.end().expect(0);
        assert_eq!(entries(&stage.path(&dir)), ["a.c", "deep"]);
        assert_eq!(entries(&stage.path(&dir).join("deep")), ["b.c"]);
    }
    let list = stage.text("wrong", "../a.c\n");
    let refused = stage.send(&[&tree, "--files-from", list.to_str().unwrap()]).expect(2);
    assert!(refused.error().contains("../a.c"));
}

#[test]
fn a_dry_run_says_what_would_go_and_how_long_it_takes_and_sends_nothing() {
    let stage = Stage::new();
    let tree = tree(&stage);
    let told = stage.send(&[&tree, "--dry-run", "--exclude=target", "--rate=32k"]).expect(0);
    assert_eq!(planned(&told), ["t/a.c", "t/a.o", "t/deep/b.c", "t/keep.o"]);
    let result = told.result();
    assert_eq!((&result["files"], &result["would_send"]), (&4.into(), &4000.into()));
    assert_eq!(result["seconds"], 1.0);
    assert!(told.all("start").is_empty());
}

#[test]
fn a_pattern_that_cannot_be_is_refused_before_anything_is_sent() {
    let stage = Stage::new();
    let tree = tree(&stage);
    for pattern in ["a[b", "[[:none:]]", "x\\"] {
        let refused = stage.send(&[&tree, &format!("--exclude={pattern}")]).expect(2);
        assert!(refused.error().contains(pattern), "{}", refused.stderr);
    }
}

/// Lists as find prints them, beside what else is there: none of it may come.
#[test]
fn a_list_of_find_sends_what_it_names_and_nothing_else() {
    let stage = Stage::new();
    let tree = tree(&stage);
    let latin = OsStr::from_bytes(b"caf\xe9");
    std::fs::write(Path::new(&tree).join(latin), "x").unwrap();
    symlink("a.c", Path::new(&tree).join("link")).unwrap();
    let top = format!("{tree}\0{tree}/deep\0{tree}/deep/b.c\0{tree}/target\0");
    let lists: [(&str, &[u8], &[&str]); 4] = [
        (
            "all",
            b".\0./a.c\0./caf\xe9\0./deep\0./deep/b.c\0./link\0",
            &["a.c", "caf\u{10ffe9}", "deep/b.c"],
        ),
        ("absolute", top.as_bytes(), &["deep/b.c"]),
        ("beside", b"deep\ndeep/b.c\na.c\na.c\n", &["a.c", "deep/b.c"]),
        ("windows", b"\xef\xbb\xbfa.c\r\ndeep/b.c\r\n", &["a.c", "deep/b.c"]),
    ];
    for (name, list, wanted) in lists {
        let file = stage.path(name);
        std::fs::write(&file, list).unwrap();
        let receiver = stage.recv(&format!("in-{name}"), &["--once"]);
        let sent = stage.send(&[&tree, "--files-from", file.to_str().unwrap()]).expect(0);
        receiver.end().expect(0);
        let planned =
            planned(&stage.send(&[&tree, "--dry-run", "--files-from", file.to_str().unwrap()]));
        assert_eq!(planned, wanted, "{name}: {}", sent.stderr);
        let there = stage.path(&format!("in-{name}"));
        assert!(!there.join("deep/target").exists() && !there.join("keep.o").exists(), "{name}");
        assert!(there.join("deep/b.c").exists() && !there.join("target/x").exists(), "{name}");
    }
    assert!(stage.path("in-all").join(latin).exists());
    assert!(stage.path("in-all/link").is_symlink());
    assert!(stage.path("in-absolute/target").is_dir());
}

#[test]
fn a_list_that_names_its_directory_alone_sends_all_that_it_holds() {
    let stage = Stage::new();
    let tree = tree(&stage);
    let list = stage.text("dot", ".\n");
    let told = stage.send(&[&tree, "--dry-run", "--files-from", list.to_str().unwrap()]).expect(0);
    let all = ["a.c", "a.o", "deep/b.c", "deep/target/y", "keep.o", "target/x"];
    assert_eq!(planned(&told), all);
}
