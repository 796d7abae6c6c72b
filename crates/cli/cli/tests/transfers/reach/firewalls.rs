//! Firewalls and routers that translate addresses, between a sender and the hosts that it names.

use std::ffi::OsStr;

use crate::support::{Running, Stage, assert_same, hosts::Hosts};

fn start(hosts: &Hosts, n: u8, args: &[&str]) -> Running {
    hosts.start(n, &args.iter().map(OsStr::new).collect::<Vec<_>>())
}

/// Lets in answers, and nothing that was not asked for: Fedora's and ufw's defaults.
const STATEFUL: &str = "table inet f { chain i { type filter hook input priority 0; policy drop; \
     iif lo accept; ct state established,related accept; ip protocol icmp accept; }; }";
/// The same that lets in what is sent to the port of receivers.
const STATEFUL_OPEN: &str = "table inet f { chain i { type filter hook input priority 0; policy drop; \
     iif lo accept; ct state established,related accept; udp dport 6003 accept; }; }";
/// Lets out what goes to the port of receivers, and answers.
const STRICT_OUT: &str = "table inet f { chain o { type filter hook output priority 0; policy drop; \
     ct state established,related accept; udp dport 6003 accept; }; }";

/// Host 1 sends a file to these, by name; whether all have it, and how the sender ended.
fn send(stage: &Stage, hosts: &Hosts, receivers: &[u8], to: &str) {
    let file = stage.file("model", 1_000_000);
    let running: Vec<Running> = receivers
        .iter()
        .map(|n| {
            let dir = stage.path(&format!("r{n}"));
            let args = ["recv", dir.to_str().unwrap(), "--create-dirs", "--once"];
            let mut running = start(hosts, *n, &args);
            running.wait_for("start");
            running
        })
        .collect();
    start(hosts, 1, &["send", file.to_str().unwrap(), "--to", to, "--wait", "15s"]).end().expect(0);
    running.into_iter().for_each(|receiver| drop(receiver.end().expect(0)));
    for n in receivers {
        let got = stage.path(&format!("r{n}/model"));
        assert_same(&file, &got);
        std::fs::remove_file(got).unwrap();
    }
}

#[test]
fn stateful_firewalls_at_the_sender_at_receivers_and_at_both_let_hosts_by_name_through() {
    for (sender, receiver) in [
        (Some(STATEFUL), None),
        (Some(STATEFUL), Some(STATEFUL_OPEN)),
        (Some(STRICT_OUT), Some(STATEFUL_OPEN)),
    ] {
        let (stage, hosts) = (Stage::new(), Hosts::new("fa", 4));
        sender.into_iter().for_each(|rules| hosts.nft(1, rules));
        for n in 2..=4 {
            receiver.into_iter().for_each(|rules| hosts.nft(n, rules));
        }
        send(&stage, &hosts, &[2, 3, 4], "10.77.0.2,10.77.0.3,10.77.0.4");
    }
}

/// Host 1 is behind host 2, which translates its address for host 3's network; `rules`: how.
fn behind_a_router(name: &str, rules: &str) -> Hosts {
    let hosts = Hosts::new(name, 3);
    hosts.forward(2);
    hosts.on(2, "addr add 10.66.0.1/24 dev eth0");
    hosts.on(1, "addr flush dev eth0");
    hosts.on(1, "addr add 10.66.0.2/24 dev eth0");
    hosts.on(1, "route add default via 10.66.0.1");
    hosts.nft(2, rules);
    hosts
}

#[test]
fn routers_that_translate_addresses_by_cone_port_or_symmetric_rules_let_a_host_by_name_through() {
    for how in ["masquerade", "masquerade random", "masquerade fully-random", "snat to 10.77.0.2"] {
        let rules = format!(
            "table ip n {{ chain p {{ type nat hook postrouting priority 100; \
             ip saddr 10.66.0.0/24 ip daddr 10.77.0.0/24 {how}; }}; \
             chain f {{ type filter hook forward priority 0; policy drop; \
             ip saddr 10.66.0.0/24 accept; ct state established,related accept; }}; }}"
        );
        let (stage, hosts) = (Stage::new(), behind_a_router("fb", &rules));
        send(&stage, &hosts, &[3], "10.77.0.3");
    }
}
