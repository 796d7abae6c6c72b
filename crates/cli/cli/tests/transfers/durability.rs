//! Nodes whose disk fills up, or rots.

use std::path::Path;

use crate::{
    messages::node::{node, run, text, texts},
    support::{Running, Stage},
};
use serde_json::Value;

fn status(socket: &str) -> Value {
    run(&["node", "status", "--socket", socket]).end().expect(0).all("status")[0].clone()
}

/// Warnings of a node that is told to end.
fn warnings(node: Running) -> Vec<(String, String)> {
    node.interrupt();
    let ended = node.end().expect(130);
    assert!(ended.all("lost").is_empty());
    let text = |warning: &Value, field| warning[field].as_str().unwrap().to_owned();
    let all = ended.all("warning").into_iter();
    all.map(|warning| (text(warning, "code"), text(warning, "message"))).collect()
}

/// Takes all room that there is.
fn fill(path: &Path) {
    let mut file = std::fs::File::create(path).unwrap();
    let full = std::io::copy(&mut std::io::repeat(1), &mut file).unwrap_err();
    assert_eq!(full.kind(), std::io::ErrorKind::StorageFull);
}

#[test]
fn a_full_disk_that_is_given_room_takes_everything_again_and_each_is_told_once() {
    let stage = Stage::new();
    let Some(_mount) = stage.file_system("cache", "size=8m") else { return };
    let (mut first, _) = node(&stage);
    let socket = text(&stage.path("socket"));
    fill(&stage.path("cache/filler"));
    let middling = text(&stage.file("middling", 60_000));
    let publish = |topic: &str| run(&["pub", topic, &middling, "--via", &socket]).end();
    let mut published = 0;
    let refused = loop {
        match publish("own") {
            ended if ended.code == Some(0) => published += 1,
            ended => break ended.expect(5),
        }
    };
    assert!(
        refused.error().starts_with("error: cache (the disk is full): "),
        "{}",
        refused.error()
    );
    publish("own").expect(5);
    // Others' messages are kept in memory, long ones too.
    let long = text(&stage.file("long", 300_000));
    for path in [&middling, &long, &middling] {
        stage.start("pub", &["others", path]).end().expect(0);
    }
    let heard = run(&["sub", "others", "--via", &socket, "--count", "3"]).end().expect(0);
    assert_eq!(heard.all("message").len(), 3);
    std::fs::remove_file(stage.path("cache/filler")).unwrap();
    publish("own").expect(0);
    first.wait_for_warning("cache.written");
    let told = warnings(first);
    let codes: Vec<&str> = told.iter().map(|(code, _)| code.as_str()).collect();
    assert_eq!(codes, ["cache.unwritten", "cache.written"], "{told:?}");
    assert!(told[0].1.contains("the disk is full"), "{told:?}");
    let (second, _) = node(&stage);
    let status = status(&socket);
    // What the life before has published is kept for others.
    assert_eq!((&status["own"], &status["kept"]), (&0.into(), &(published + 1 + 3).into()));
    assert_eq!(warnings(second), []);
}

#[test]
fn a_node_starts_on_a_full_disk_with_all_that_it_had() {
    let stage = Stage::new();
    let Some(_mount) = stage.file_system("cache", "size=8m") else { return };
    let (first, start) = node(&stage);
    let socket = text(&stage.path("socket"));
    let publish = || run(&["pub", "own", "--message", "x", "--via", &socket]).end();
    publish().expect(0);
    first.kill();
    fill(&stage.path("cache/filler"));
    for _ in 0..2 {
        let (second, again) = node(&stage);
        assert_ne!(start["node_id"], again["node_id"], "another life");
        assert_eq!(status(&socket)["kept"], 1);
        // What this life says is for as long as it lives, and that is told.
        let told = warnings(second);
        assert!(told.iter().all(|(code, _)| code == "cache.unwritten"), "{told:?}");
    }
    std::fs::remove_file(stage.path("cache/filler")).unwrap();
    let (_third, _) = node(&stage);
    publish().expect(0);
    let status = status(&socket);
    assert_eq!((&status["own"], &status["kept"]), (&1.into(), &1.into()));
}

#[test]
fn one_changed_byte_in_a_killed_nodes_cache_costs_that_message_and_is_told() {
    let stage = Stage::new();
    let (first, _) = node(&stage);
    let socket = text(&stage.path("socket"));
    // Longer than a batch: shorter ones would travel, and be kept, together.
    let lines: String =
        (0..100).map(|number| format!("line {number:03}{:.<50000}\n", "")).collect();
    let lines = text(&stage.text("lines", &lines));
    stage.start("pub", &["log", &lines, "--lines"]).end().expect(0);
    while status(&socket)["kept"] != 100 {}
    // Its own is written after what came before.
    run(&["pub", "own", "--message", "mine", "--via", &socket]).end().expect(0);
    first.kill();
    let database = stage.path("cache/messages.redb");
    let mut bytes = std::fs::read(&database).unwrap();
    let word = b"line 050";
    let places: Vec<usize> =
        (0..bytes.len() - word.len()).filter(|at| bytes[*at..].starts_with(word)).collect();
    assert!(!places.is_empty());
    places.iter().for_each(|at| bytes[*at] ^= 1);
    std::fs::write(&database, bytes).unwrap();
    let (mut second, _) = node(&stage);
    let text = second.wait_for_warning("cache.damaged");
    let expected =
        "; 1 messages of others and 1 of this node's own are gone, 99 of others are saved";
    assert!(text.contains(expected), "{text}");
    let kept = run(&["sub", "log", "--via", &socket, "--count", "99"]).end().expect(0);
    assert!(!texts(&kept.all("message")).iter().any(|text| text.starts_with("line 050")));
}

#[test]
fn a_long_message_whose_file_was_changed_is_told_whose_ever_it_is() {
    let stage = Stage::new();
    let (first, _) = node(&stage);
    let socket = text(&stage.path("socket"));
    let long = text(&stage.file("long", 200_000));
    stage.start("pub", &["others", &long]).end().expect(0);
    run(&["pub", "own", &long, "--via", &socket]).end().expect(0);
    first.kill();
    let files: Vec<_> = std::fs::read_dir(stage.path("cache/content")).unwrap().collect();
    assert_eq!(files.len(), 2);
    for file in files {
        let path = file.unwrap().path();
        let mut bytes = std::fs::read(&path).unwrap();
        bytes[100_000] ^= 1;
        std::fs::write(&path, bytes).unwrap();
    }
    // Others' are looked at by a thread of its own, and may be told later.
    let (second, _) = node(&stage);
    while status(&socket)["wrong"] != 1 {}
    let told: Vec<String> = warnings(second).into_iter().map(|(_, text)| text).collect();
    let told = told.join("\n");
    assert!(
        told.contains("1 of this node's own") && told.contains("1 messages of others"),
        "{told}"
    );
}

#[test]
fn an_emptied_database_is_told() {
    let stage = Stage::new();
    let (first, _) = node(&stage);
    first.interrupt();
    first.end().expect(130);
    stage.text("cache/messages.redb", "");
    let (mut second, _) = node(&stage);
    let told = second.wait_for_warning("cache.damaged");
    assert!(told.contains("its database is damaged (it was empty)"), "{told}");
}
