//! Hosts as network namespaces, which only root may make.

use std::{ffi::OsStr, process::Command};

use super::Running;

/// Hosts `1` to `n` on one bridge, each with `eth0` at `10.77.0.n`.
pub(crate) struct Hosts {
    prefix: String,
    count: u8,
}

impl Hosts {
    pub(crate) fn new(name: &str, count: u8) -> Self {
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

    pub(crate) fn host(&self, n: u8) -> String {
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

    /// No multicast reaches this host any more, as behind a switch that has forgotten its members.
    pub(crate) fn deafen(&self, n: u8) {
        self.flood(n, "off");
    }

    /// Multicast reaches it again.
    pub(crate) fn undeafen(&self, n: u8) {
        self.flood(n, "on");
    }

    /// The switch carries packets of this length, at all ports.
    pub(crate) fn carry(&self, mtu: u32) {
        for n in 1..=self.count {
            self.carry_to(n, mtu);
        }
    }

    /// The same at the port of one host.
    pub(crate) fn carry_to(&self, n: u8, mtu: u32) {
        self.on_bridge(&["link", "set", &format!("p{n}"), "mtu", &mtu.to_string()]);
    }

    /// The hardware address of a host's interface.
    pub(crate) fn address_of(&self, n: u8) -> String {
        let inside = ["netns", "exec", &self.host(n), "cat", "/sys/class/net/eth0/address"];
        let read = Command::new("ip").args(inside).output().unwrap();
        String::from_utf8(read.stdout).unwrap().trim().to_owned()
    }

    /// Rules of a host's firewall.
    pub(crate) fn nft(&self, n: u8, rules: &str) {
        let done = Command::new("ip").args(["netns", "exec", &self.host(n), "nft", rules]).status();
        assert!(done.is_ok_and(|status| status.success()), "{}: nft {rules}", self.host(n));
    }

    /// This host passes on packets of others.
    pub(crate) fn forward(&self, n: u8) {
        self.sysctl(n, "net.ipv4.ip_forward=1");
    }

    /// A setting of a host's kernel.
    pub(crate) fn sysctl(&self, n: u8, setting: &str) {
        let host = self.host(n);
        let set = ["netns", "exec", &host, "sysctl", "-qw", setting];
        let done = Command::new("ip").args(set).status();
        assert!(done.is_ok_and(|status| status.success()), "{host}: {setting}");
    }

    fn flood(&self, n: u8, flood: &str) {
        let done = Command::new("ip")
            .args(["netns", "exec", &self.bridge(), "bridge", "link", "set"])
            .args(["dev", &format!("p{n}"), "mcast_flood", flood])
            .status();
        assert!(done.is_ok_and(|status| status.success()), "{}: bridge", self.prefix);
    }

    /// Changes something on a host.
    pub(crate) fn on(&self, n: u8, line: &str) {
        self.ip(&self.host(n), &line.split(' ').collect::<Vec<_>>());
    }

    /// `fanfare` on a host, by its `eth0`, speaking JSON.
    pub(crate) fn start(&self, n: u8, args: &[&OsStr]) -> Running {
        let there = ["--interface", "eth0"].map(OsStr::new);
        self.start_anywhere(n, &[args, &there[..]].concat())
    }

    /// The same by whichever interface it finds.
    pub(crate) fn start_anywhere(&self, n: u8, args: &[impl AsRef<OsStr>]) -> Running {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.host(n), crate::PROGRAM]).args(args).arg("--json");
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
