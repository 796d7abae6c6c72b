//! Caches that were copied, as with a golden image, or set back, as by a snapshot.

use std::{
    fs::File,
    io::Write,
    path::Path,
    process::Command,
    time::{Duration, Instant},
};

use super::node::{run, text, texts};
use crate::support::Stage;

/// Groups in an ordinary run; `FANFARE_CLONES` asks for more.
const GROUPS: usize = KINDS.len();

fn copy(from: &Path, to: &Path) {
    let _ = std::fs::remove_dir_all(to);
    assert!(Command::new("cp").arg("-a").args([from, to]).status().unwrap().success());
}

/// Output of a publisher each time: so many lines, of so many bytes, with a key or without. All that a subscriber
/// prints fits into a pipe.
#[derive(Clone, Copy)]
struct OutputKind {
    lines: usize,
    bytes: usize,
    sealed: bool,
}

const KINDS: [OutputKind; 6] = [
    OutputKind { lines: 1, bytes: 40, sealed: false },
    OutputKind { lines: 1, bytes: 9_000, sealed: false },
    OutputKind { lines: 1, bytes: 40, sealed: true },
    OutputKind { lines: 20, bytes: 100, sealed: false },
    OutputKind { lines: 1, bytes: 9_000, sealed: true },
    OutputKind { lines: 20, bytes: 100, sealed: true },
];

/// Two clones, and one that is set back, publish one after the other under one subscriber.
fn clones_are_heard(kind: OutputKind) {
    let stage = Stage::new();
    let content = |seed: u8| {
        let line = |n: usize| format!("{seed} {n} {}", "x".repeat(kind.bytes));
        (0..kind.lines).map(line).collect::<Vec<String>>()
    };
    let key = text(&stage.path("key"));
    let sealed: &[&str] = if kind.sealed { &["--key", &key] } else { &[] };
    if kind.sealed {
        run(&["key", "new", &key]).end().expect(0);
    }
    let publish = |topic: &str, seed: u8, cache: &str, more: &[&str]| {
        let path = text(&stage.path(&format!("content-{seed}")));
        std::fs::write(&path, content(seed).join("\n") + "\n").unwrap();
        let args = [topic, &path, "--lines", "--cache-dir", cache];
        stage.start("pub", &[&args, sealed, more].concat()).end().expect(0);
    };
    let image = stage.path("image");
    publish("t/first", 1, &text(&image), &["--one-way"]);
    let wanted = (3 * kind.lines).to_string();
    let sub = ["t/y", "--count", &wanted];
    let mut sub = stage.start("sub", &[&sub, sealed].concat());
    sub.wait_for("start");
    for (place, seed) in [("one", 2), ("two", 3), ("one", 4)] {
        // The second time "one" is set back to what it was when it was cloned.
        copy(&image, &stage.path(place));
        publish("t/y", seed, &text(&stage.path(place)), &[]);
    }
    // It ends with the last one, and the publisher learns of it all the same.
    let mut found = texts(&sub.end().expect(0).all("message"));
    let mut sent: Vec<String> = [2, 3, 4].into_iter().flat_map(content).collect();
    found.sort();
    sent.sort();
    assert!(found == sent, "what was acknowledged was taken: {found:?}");
}

#[test]
fn what_clones_of_a_publisher_are_told_is_held_was_taken() {
    let asked = std::env::var("FANFARE_CLONES").ok().and_then(|count| count.parse().ok());
    for group in 0..asked.unwrap_or(GROUPS) {
        clones_are_heard(KINDS[group % KINDS.len()]);
    }
}

#[test]
fn a_clone_still_gives_late_subscribers_what_its_original_had_published() {
    let stage = Stage::new();
    let (image, copied) = (stage.path("image"), stage.path("copied"));
    let publish = |content: &str| {
        let cache = text(&image);
        let args = ["t", "--message", content, "--one-way", "--cache-dir", &cache];
        stage.start("pub", &args).end().expect(0);
    };
    ["first", "second"].into_iter().for_each(publish);
    copy(&image, &copied);
    let (socket, cache) = (text(&stage.path("socket")), text(&copied));
    let mut node =
        stage.start("node", &["--socket", &socket, "--cache-dir", &cache, "--topic", "#"]);
    node.wait_for("start");
    let late = stage.start("sub", &["t", "--count", "2"]).end().expect(0);
    assert_eq!(texts(&late.all("message")), ["first", "second"]);
    let near = run(&["sub", "t", "--via", &socket, "--count", "2"]).end().expect(0);
    assert_eq!(texts(&near.all("message")), ["first", "second"]);
}

#[test]
fn a_publisher_does_not_wait_for_what_a_subscriber_was_before_it_was_killed_and_started_again() {
    let stage = Stage::new();
    let (lines, cache) = (text(&stage.path("lines")), text(&stage.path("cache")));
    assert!(Command::new("mkfifo").arg(&lines).status().unwrap().success());
    let subscribe = || {
        let mut sub = stage.start("sub", &["t", "--cache-dir", &cache]);
        let start = sub.wait_for("start");
        (sub, start["node_id"].clone())
    };
    let (mut first, before) = subscribe();
    let publisher = stage.start("pub", &["t", &lines, "--lines", "--wait", "20s"]);
    let mut input = File::options().write(true).open(&lines).unwrap();
    writeln!(input, "first").unwrap();
    first.wait_for("message");
    first.kill();
    let (second, after) = subscribe();
    assert_ne!(before, after);
    writeln!(input, "second").unwrap();
    drop(input);
    let began = Instant::now();
    publisher.end().expect(0);
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
    second.interrupt();
    let ended = second.end().expect(130);
    // The first one may come again: that life has not been given it.
    assert!(texts(&ended.all("message")).ends_with(&["second".to_owned()]));
}
