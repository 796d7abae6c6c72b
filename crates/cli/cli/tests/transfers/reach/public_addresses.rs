//! Hosts with public addresses: strangers are not heard, and who was named, has the key or the code is.

use std::{ffi::OsStr, path::PathBuf, process::Command};

use crate::support::{Ended, Running, Stage, assert_same, hosts::Hosts};

/// A sender at 198.51.100.1 and a receiver at 198.51.100.2 (RFC 5737), without multicast.
struct PublicHosts {
    stage: Stage,
    hosts: Hosts,
    file: PathBuf,
}

impl PublicHosts {
    fn new(name: &str) -> Self {
        let (stage, hosts) = (Stage::new(), Hosts::new(name, 2));
        for n in 1..=2 {
            hosts.deafen(n);
            hosts.on(n, "addr flush dev eth0");
            hosts.on(n, &format!("addr add 198.51.100.{n}/24 dev eth0"));
        }
        let file = stage.file("model", 300_000);
        Self { stage, hosts, file }
    }

    fn start(&self, n: u8, args: &[&str]) -> Running {
        self.hosts.start(n, &args.iter().map(OsStr::new).collect::<Vec<_>>())
    }

    fn receive(&self, first: &[&str], more: &[&str]) -> Running {
        let dir = self.stage.path("r").to_str().unwrap().to_owned();
        self.start(
            2,
            &[&["recv"], first, &[&dir, "--create-dirs", "--timeout", "10s"], more].concat(),
        )
    }

    fn send(&self, more: &[&str]) -> Running {
        let file = self.file.to_str().unwrap();
        self.start(1, &[&["send", file, "--wait", "4s"], more].concat())
    }

    /// The sender of a transfer to the other host by its address.
    fn sent_to(&self, receiver: &[&str], sender: &[&str]) -> (Ended, Running) {
        let mut receiver = self.receive(&[], &[&["--once"], receiver].concat());
        receiver.wait_for("start");
        (self.send(&[&["--to", "198.51.100.2"], sender].concat()).end(), receiver)
    }

    fn assert_has_it(&self, sent: Ended, receiver: Running) {
        sent.expect(0);
        receiver.end().expect(0);
        assert_same(&self.file, &self.stage.path("r/model"));
    }
}

#[test]
fn a_stranger_is_not_heard_and_its_sender_says_what_would_help() {
    let hosts = PublicHosts::new("pa");
    let (sent, receiver) = hosts.sent_to(&[], &[]);
    let error = sent.expect(6).error();
    assert!(error.contains("fanfare recv --source THIS-ADDRESS' or a key"), "{error}");
    receiver.interrupt();
}

#[test]
fn a_sender_whose_address_was_named_is_heard() {
    let hosts = PublicHosts::new("pb");
    for named in ["--source", "--from"] {
        let (sent, receiver) = hosts.sent_to(&[named, "198.51.100.1"], &[]);
        hosts.assert_has_it(sent, receiver);
    }
}

#[test]
fn who_has_the_key_is_heard() {
    let hosts = PublicHosts::new("pc");
    let key = hosts.stage.path("group.key").to_str().unwrap().to_owned();
    let made = Command::new(crate::PROGRAM).args(["key", "new", &key]).output().unwrap();
    assert!(made.status.success(), "{made:?}");
    let (sent, receiver) = hosts.sent_to(&["--key", &key], &["--key", &key]);
    hosts.assert_has_it(sent, receiver);
}

#[test]
fn who_has_the_code_is_met_at_its_address() {
    let hosts = PublicHosts::new("pd");
    let mut sender = hosts.send(&["--code", "--expect", "1", "--for", "10s"]);
    let code = sender.wait_for("code")["code"].as_str().unwrap().to_owned();
    let receiver = hosts.receive(&[&code], &["--at", "198.51.100.1"]);
    hosts.assert_has_it(sender.end(), receiver);
}
