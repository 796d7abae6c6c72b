//! Transfers by code: who knows it gets the file, who guesses does not.

use std::{ffi::OsStr, path::PathBuf};

use crate::support::{Running, Stage, assert_same, hosts::Hosts};

/// A sender with a code that only this test's receivers look for, and its code.
fn sender(stage: &Stage, more: &[&str]) -> (Running, String, PathBuf) {
    let file = stage.file("holiday", 1_500_000);
    let meet = place(stage);
    let args = [&[file.to_str().unwrap(), "--code", "--meet", &meet], more].concat();
    let mut sender = stage.start("send", &args);
    let code = sender.wait_for("code")["code"].as_str().unwrap().to_owned();
    (sender, code, file)
}

fn place(stage: &Stage) -> String {
    format!("239.255.42.6:{}", stage.group.rsplit_once(':').unwrap().1)
}

/// Receivers are told the group by the sender: this is another one.
fn receiver(stage: &Stage, code: &str, dir: &str, more: &[&str]) -> Running {
    let (meet, path) = (place(stage), stage.path(dir));
    let path = path.to_str().unwrap();
    let args = [&[code, path, "--create-dirs", "--name", dir, "--meet", &meet], more].concat();
    Stage::start_in("239.255.42.9:1", "recv", &args)
}

/// The same code with another last word.
fn other(code: &str) -> String {
    let (head, last) = code.rsplit_once('-').unwrap();
    format!("{head}-{}", if last == "zebra" { "acorn" } else { "zebra" })
}

#[test]
fn two_receivers_with_the_code_have_the_file_sealed_and_the_third_is_too_late() {
    let stage = Stage::new();
    let (sender, code, file) = sender(&stage, &["--expect=2"]);
    let one = receiver(&stage, &code, "one", &["--test-drop=0.02"]);
    let two = receiver(&stage, &code.to_uppercase(), "two", &[]);
    let ended = sender.end().expect(0);
    assert_eq!((ended.all("met").len(), ended.all("receipt").len()), (2, 2));
    for receiver in [one, two] {
        let met = receiver.end().expect(0);
        assert!(met.all("met")[0]["name"].is_string());
    }
    assert_same(&file, &stage.path("one/holiday"));
    assert_same(&file, &stage.path("two/holiday"));
    let late = receiver(&stage, &code, "three", &["--timeout=2s"]);
    assert!(late.end().expect(6).error().contains("no sender with it answered"));
}

#[test]
fn a_wrong_code_is_shown_on_both_sides_and_five_of_them_end_it() {
    let stage = Stage::new();
    let (mut sender, code, _) = sender(&stage, &[]);
    for left in (0..5).rev() {
        let guess = receiver(&stage, &other(&code), "in", &["--timeout=3s"]).end().expect(4);
        assert!(guess.error().contains("has another one"), "{}", guess.error());
        let told = sender.wait_for("warning")["message"].as_str().unwrap().to_owned();
        let many = ["no guess is left", "1 guess is left"];
        let left = many.get(left).map_or(format!("{left} guesses are left"), ToString::to_string);
        assert_eq!(told, format!("a wrong code came from 127.0.0.1: {left}"));
    }
    let ended = sender.end().expect(4);
    assert!(ended.error().contains("so many wrong codes were given"), "{}", ended.error());
    assert!(!stage.path("in/holiday").exists());
}

#[test]
fn a_wrong_code_and_one_that_nobody_uses_end_without_a_timeout() {
    let stage = Stage::new();
    let (_sender, code, _) = sender(&stage, &[]);
    let wrong = receiver(&stage, &other(&code), "in", &[]);
    // A place where no sender is.
    let args = ["7-otter-granite-river", "--meet", "239.255.42.5:6009"];
    let unused = Stage::start_in("239.255.42.9:1", "recv", &args);
    let ended = wrong.end().expect(4);
    assert!(ended.error().contains("has another one"), "{}", ended.error());
    let ended = unused.end().expect(4);
    assert!(ended.error().contains("no sender with it answered in 30 s"), "{}", ended.error());
}

#[test]
fn a_mistyped_code_and_one_that_nobody_uses_are_told() {
    let stage = Stage::new();
    let ended = receiver(&stage, "7-oter-granite-river", "in", &[]).end().expect(2);
    assert!(ended.error().contains("Perhaps it is 'otter'"), "{}", ended.error());
    let (sender, ..) = sender(&stage, &["--for=1s"]);
    let ended = sender.end().expect(6);
    assert!(ended.error().contains("no receiver came with the code"), "{}", ended.error());
}

#[test]
fn a_host_that_no_multicast_reaches_finds_the_sender_at_its_address() {
    let stage = Stage::new();
    let file = stage.file("holiday", 1_500_000);
    let hosts = Hosts::new("cd", 2);
    hosts.deafen(2);
    let start = |n, args: &[&str]| hosts.start(n, &args.iter().map(OsStr::new).collect::<Vec<_>>());
    let mut sender = start(1, &["send", file.to_str().unwrap(), "--code"]);
    let code = sender.wait_for("code")["code"].as_str().unwrap().to_owned();
    let dir = stage.path("in");
    let dir = dir.to_str().unwrap();
    let receiver = start(2, &["recv", &code, dir, "--create-dirs", "--at", "10.77.0.1"]);
    sender.end().expect(0);
    receiver.end().expect(0);
    assert_same(&file, &stage.path("in/holiday"));
}
