//! Transfers go on when interfaces and addresses change. Hosts are network namespaces, which only root
//! may make.

use std::{ffi::OsStr, process::Command};

use crate::support::{Running, Stage, assert_same};

/// Hosts `1` to `n` on one bridge, each with `eth0` at `10.77.0.n`.
struct Hosts {
    prefix: String,
    count: u8,
}

impl Hosts {
    fn new(name: &str, count: u8) -> Self {
        let hosts = Self { prefix: format!("ff{}{name}", std::process::id()), count };
        hosts.ip("", &["netns", "add", &hosts.bridge()]);
        hosts.on_bridge(&["link", "add", "br0", "type", "bridge", "mcast_snooping", "0"]);
        hosts.on_bridge(&["link", "set", "br0", "up"]);
        for n in 1..=count {
            let (host, port) = (hosts.host(n), format!("p{n}"));
            hosts.ip("", &["netns", "add", &host]);
            let peer = ["peer", "name", "eth0", "netns", &host];
            hosts.on_bridge(&[&["link", "add", &port, "type", "veth"][..], &peer].concat());
            hosts.on_bridge(&["link", "set", &port, "master", "br0", "up"]);
            hosts.on(n, "link set lo up");
            hosts.on(n, &format!("addr add 10.77.0.{n}/24 dev eth0"));
            hosts.on(n, "link set eth0 up");
        }
        hosts
    }

    fn bridge(&self) -> String {
        format!("{}sw", self.prefix)
    }

    fn host(&self, n: u8) -> String {
        format!("{}{n}", self.prefix)
    }

    fn ip(&self, namespace: &str, words: &[&str]) {
        let mut command = Command::new("ip");
        if !namespace.is_empty() {
            command.args(["-n", namespace]);
        }
        let done = command.args(words).status();
        assert!(done.is_ok_and(|status| status.success()), "{}: ip {words:?}", self.prefix);
    }

    fn on_bridge(&self, words: &[&str]) {
        self.ip(&self.bridge(), words);
    }

    /// Changes something on a host.
    fn on(&self, n: u8, line: &str) {
        self.ip(&self.host(n), &line.split(' ').collect::<Vec<_>>());
    }

    /// `fanfare` on a host, speaking JSON.
    fn start(&self, n: u8, args: &[&OsStr]) -> Running {
        let host = self.host(n);
        let inside = ["netns", "exec", &host, crate::PROGRAM].map(OsStr::new);
        let mut command = Command::new("ip");
        command.args(inside).args(args).args(["--json", "--interface", "eth0"]);
        Running::run(&mut command, None)
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        let names = (1..=self.count).map(|n| self.host(n)).chain([self.bridge()]);
        for name in names {
            let _ = Command::new("ip").args(["netns", "del", &name]).status();
        }
    }
}

/// Two seconds of a transfer pass, something happens, and it goes on to the end.
fn goes_on_while(name: &str, happens: impl FnOnce(&Hosts)) {
    let (stage, hosts) = (Stage::new(), Hosts::new(name, 2));
    let file = stage.file("out/f", 4_000_000);
    std::fs::create_dir_all(stage.path("in")).unwrap();
    let dir = stage.path("in");
    let mut receiver = hosts.start(2, &[OsStr::new("recv"), dir.as_os_str(), OsStr::new("--once")]);
    receiver.wait_for("start");
    let options = ["--expect", "1", "--rate", "8M", "--wait", "60s"].map(OsStr::new);
    let mut sender =
        hosts.start(1, &[&[OsStr::new("send"), file.as_os_str()], &options[..]].concat());
    sender.wait_for_progress("sent_bytes", 1_000_000);
    happens(&hosts);
    let sent = sender.end().expect(0);
    receiver.end().expect(0);
    assert_same(&file, &dir.join("f"));
    let wire = sent.result()["wire_bytes"].as_u64().unwrap();
    assert!(wire < 8_000_000, "{wire}");
}

#[test]
fn a_transfer_goes_on_when_the_senders_address_changes() {
    goes_on_while("a", |hosts| {
        hosts.on(1, "addr del 10.77.0.1/24 dev eth0");
        hosts.on(1, "addr add 10.77.0.101/24 dev eth0");
    });
}

#[test]
fn a_transfer_goes_on_when_the_receivers_address_changes() {
    goes_on_while("b", |hosts| {
        hosts.on(2, "addr del 10.77.0.2/24 dev eth0");
        hosts.on(2, "addr add 10.77.0.102/24 dev eth0");
    });
}

#[test]
fn a_receiver_that_was_begun_before_its_interface_was_up_joins_when_it_comes() {
    let (stage, hosts) = (Stage::new(), Hosts::new("c", 2));
    hosts.on(2, "link set eth0 down");
    let file = stage.file("out/f", 100_000);
    std::fs::create_dir_all(stage.path("in")).unwrap();
    let dir = stage.path("in");
    let mut receiver = hosts.start(2, &[OsStr::new("recv"), dir.as_os_str(), OsStr::new("--once")]);
    receiver.wait_for_warning("interface.awaited");
    hosts.on(2, "link set eth0 up");
    receiver.wait_for_warning("interface.back");
    let options = ["--expect", "1"].map(OsStr::new);
    let sender = hosts.start(1, &[&[OsStr::new("send"), file.as_os_str()], &options[..]].concat());
    sender.end().expect(0);
    receiver.end().expect(0);
    assert_same(&file, &dir.join("f"));
}
