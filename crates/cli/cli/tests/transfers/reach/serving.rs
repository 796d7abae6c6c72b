//! Receivers of a unicast transfer that pass it on to each other, on hosts that no multicast joins.

use std::{ffi::OsStr, fs, path::PathBuf, process::Command};

use crate::support::{Ended, Running, Stage, assert_same, hosts::Hosts};

const BYTES: usize = 6_000_000;

/// A sender, and receivers on hosts of their own; `more` are options of the first of these.
struct Trial {
    stage: Stage,
    hosts: Hosts,
    file: PathBuf,
    receivers: Vec<Running>,
}

impl Trial {
    fn new(name: &str, receivers: u8, more: &[&str]) -> Self {
        let (stage, hosts) = (Stage::new(), Hosts::new(name, receivers + 1));
        (1..=receivers + 1).for_each(|n| hosts.deafen(n));
        let file = stage.file("model", BYTES);
        let start = |n: u8| {
            let dir = stage.path(&format!("in{n}"));
            let own = if n == 2 { more } else { &[] };
            let mut args = vec![OsStr::new("recv"), dir.as_os_str()];
            args.extend(
                ["--create-dirs", "--once"].into_iter().chain(own.iter().copied()).map(OsStr::new),
            );
            let mut running = hosts.start(n, &args);
            running.wait_for("start");
            running
        };
        let receivers = (2..=receivers + 1).map(start).collect();
        Self { stage, hosts, file, receivers }
    }

    /// Bytes that have left the sender's host.
    fn left(&self) -> f64 {
        let words = ["-n", &self.hosts.host(1), "-s", "-j", "link", "show", "eth0"];
        let told = Command::new("ip").args(words).output().unwrap().stdout;
        let told: serde_json::Value = serde_json::from_slice(&told).unwrap();
        told[0]["stats64"]["tx"]["bytes"].as_f64().unwrap()
    }

    /// What the sender told, and how often the file left its host.
    fn send(&self, more: &[&str]) -> (Ended, f64) {
        let count = self.receivers.len();
        let hosts: Vec<String> = (2..count + 2).map(|n| format!("10.77.0.{n}")).collect();
        let (to, expect) = (hosts.join(","), count.to_string());
        let args = ["--to", &to, "--expect", &expect, "--cc=fixed", "--rate=16M"];
        let mut all = vec![OsStr::new("send"), self.file.as_os_str()];
        all.extend(args.iter().chain(more).map(OsStr::new));
        let before = self.left();
        let ended = self.hosts.start(1, &all).end();
        (ended, (self.left() - before) / BYTES as f64)
    }

    fn check(self) {
        let count = self.receivers.len();
        self.receivers.into_iter().for_each(|receiver| drop(receiver.end().expect(0)));
        for n in 2..count + 2 {
            assert_same(&self.file, &self.stage.path(&format!("in{n}")).join("model"));
        }
    }
}

#[test]
fn five_receivers_have_the_file_and_it_has_left_the_sender_about_once() {
    let trial = Trial::new("sv", 5, &["--test-drop=0.01"]);
    let (sent, times) = trial.send(&[]);
    assert_eq!(sent.expect(0).all("receipt").len(), 5);
    // Headers are 4.5 %, and a busy machine drops some.
    assert!(times < 2.0, "{times}");
    trial.check();
}

#[test]
fn with_no_serve_the_file_leaves_the_sender_once_for_each() {
    let trial = Trial::new("sn", 3, &[]);
    let (sent, times) = trial.send(&["--no-serve"]);
    assert_eq!(sent.expect(0).all("receipt").len(), 3);
    assert!(times > 3.0, "{times}");
    trial.check();
}

#[test]
fn a_receiver_that_passes_on_wrong_bytes_is_found_and_named_and_all_have_the_right_file() {
    let trial = Trial::new("sa", 4, &["--test-alter"]);
    let (sent, _) = trial.send(&[]);
    let sent = sent.expect(0);
    let of_it = |line: &&serde_json::Value| line["code"] == "serve.wrong";
    let named: Vec<_> = sent.all("warning").into_iter().filter(of_it).collect();
    assert_eq!(named.len(), 1, "{named:?}");
    assert!(
        named[0]["message"]
            .as_str()
            .unwrap()
            .starts_with("host 10.77.0.2 has passed on wrong bytes")
    );
    trial.check();
}

#[test]
fn a_receiver_that_serves_nobody_has_the_file_too() {
    let trial = Trial::new("ss", 3, &["--no-serve"]);
    let (sent, times) = trial.send(&[]);
    assert_eq!(sent.expect(0).all("receipt").len(), 3);
    assert!(times < 2.0, "{times}");
    trial.check();
}

#[test]
fn a_receiver_that_is_killed_in_the_middle_holds_up_nobody() {
    let mut trial = Trial::new("sk", 4, &[]);
    let count = trial.receivers.len();
    let hosts: Vec<String> = (2..count + 2).map(|n| format!("10.77.0.{n}")).collect();
    let file = trial.file.clone();
    let args =
        ["send", file.to_str().unwrap(), "--to", &hosts.join(","), "--cc=fixed", "--rate=16M"];
    let args = args.iter().map(OsStr::new).chain(["--slow=evict", "--min-rate=1M"].map(OsStr::new));
    let mut sender = trial.hosts.start(1, &args.collect::<Vec<_>>());
    sender.wait_for_progress("sent_bytes", BYTES as u64 / 3);
    trial.receivers.remove(0).kill();
    let ended = sender.end().expect(3);
    assert_eq!(ended.all("receipt").len(), 3);
    trial.receivers.drain(..).for_each(|receiver| drop(receiver.end().expect(0)));
    for n in 3..count + 2 {
        let got = fs::read(trial.stage.path(&format!("in{n}")).join("model")).unwrap();
        assert!(got == fs::read(&file).unwrap(), "{n}");
    }
}
