//! Hosts behind bad roads: relays that alter, drop or flood, home routers, tunnels, IPv6 alone.

use std::{
    ffi::OsStr,
    net::UdpSocket,
    path::PathBuf,
    process::{Command, Stdio},
};

use crate::support::{
    Stage, assert_same,
    hosts::Hosts,
    road::{Habit, Road},
};

/// The file by a road with this habit, to one receiver that has it right in the end.
fn by_road(habit: Habit) {
    let stage = Stage::new();
    let file = stage.file("model", 1_500_000);
    let free = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let group = format!("239.255.42.8:{}", free.port());
    let receiver = stage.recv_from(&group, "one", &["--once", "--from", Road::BACK]);
    let road = Road::to(free, habit);
    let to = road.address.to_string();
    let args = ["--to", &to, "--cc=fixed", "--rate=20M"].map(OsStr::new);
    let sent = Stage::start_in(&group, "send", &[&[file.as_os_str()], &args[..]].concat());
    let sent = sent.end().expect(0);
    assert_eq!(sent.result()["complete"].as_u64(), Some(1), "{habit:?}");
    receiver.end().expect(0);
    assert_same(&file, &stage.path("one/model"));
}

#[test]
fn what_a_relay_alters_is_found_by_its_hash_and_asked_for_again() {
    by_road(Habit::Alters(400));
}

#[test]
fn what_a_relay_drops_is_asked_for_again() {
    by_road(Habit::Drops(5));
}

#[test]
fn what_a_relay_sends_ten_times_counts_once() {
    by_road(Habit::Floods(10));
}

#[test]
fn a_home_router_that_takes_another_port_in_the_middle_stops_nothing() {
    by_road(Habit::ChangesPort(300));
}

/// `fanfare` on hosts, from words.
fn start(hosts: &Hosts, n: u8, args: &[&str]) -> crate::support::Running {
    hosts.start(n, &args.iter().map(OsStr::new).collect::<Vec<_>>())
}

/// A receiver on host `n` that is ready, and where its files are.
fn receiver(
    stage: &Stage,
    hosts: &Hosts,
    n: u8,
    more: &[&str],
) -> (crate::support::Running, PathBuf) {
    let dir = stage.path(&format!("in{n}"));
    let args = ["recv", dir.to_str().unwrap(), "--create-dirs", "--once"];
    let mut running = start(hosts, n, &[&args[..], more].concat());
    running.wait_for("start");
    (running, dir)
}

#[test]
fn a_host_behind_a_tunnel_of_1280_bytes_has_the_file() {
    let stage = Stage::new();
    let file = stage.file("model", 1_000_000);
    let hosts = Hosts::new("mt", 3);
    // Host 3 leads to host 2's other network, by short packets: longer ones are dropped.
    hosts.on(3, "addr add 10.78.0.3/24 dev eth0");
    hosts.on(2, "addr flush dev eth0");
    hosts.on(2, "addr add 10.78.0.2/24 dev eth0");
    hosts.on(2, "route add default via 10.78.0.3");
    hosts.on(1, "route add 10.78.0.0/24 via 10.77.0.3");
    hosts.on(3, "route add 10.78.0.2/32 dev eth0 mtu lock 1280");
    hosts.forward(3);
    let (receiver, dir) = receiver(&stage, &hosts, 2, &[]);
    let args = ["send", file.to_str().unwrap(), "--to", "10.78.0.2", "--rate=20M"];
    start(&hosts, 1, &args).end().expect(0);
    receiver.end().expect(0);
    assert_same(&file, &dir.join("model"));
}

#[test]
fn hosts_with_ipv6_alone_are_reached_by_link_local_addresses_with_their_interface() {
    let stage = Stage::new();
    let file = stage.file("model", 300_000);
    let hosts = Hosts::new("v6", 2);
    for n in [1, 2] {
        hosts.on(n, "addr flush dev eth0");
        hosts.on(n, &format!("addr add fe80::{n}/64 dev eth0 nodad"));
    }
    let group = ["--group", "[ff05::42]:6003"];
    let (receiver, dir) = receiver(&stage, &hosts, 2, &group);
    let file_text = file.to_str().unwrap();
    let wrong = ["send", file_text, "--to", "fe80::2%eth9", "--group", "[ff05::42]:6003"];
    let refused = start(&hosts, 1, &wrong).end().expect(2);
    assert!(refused.error().contains("no interface is called eth9"), "{}", refused.error());
    let right = ["send", file_text, "--to", "fe80::2%eth0", "--group", "[ff05::42]:6003"];
    start(&hosts, 1, &right).end().expect(0);
    receiver.end().expect(0);
    assert_same(&file, &dir.join("model"));
}

#[test]
fn of_a_group_those_that_hear_no_multicast_are_found_named_and_served_without_an_option() {
    let stage = Stage::new();
    let file = stage.file("model", 2_000_000);
    let hosts = Hosts::new("fd", 3);
    hosts.deafen(2);
    let receivers = [2, 3].map(|n| receiver(&stage, &hosts, n, &[]));
    let mut sender = start(&hosts, 1, &["send", file.to_str().unwrap(), "--expect=2"]);
    let told = sender.wait_for_warning("reach.deaf");
    assert_eq!(told, "host 10.77.0.2 does not hear the group: it is sent copies");
    let ended = sender.end().expect(0);
    let deaf = |line: &&serde_json::Value| line["code"] == "reach.deaf";
    let count = ended.all("warning").into_iter().filter(deaf).count();
    assert_eq!(count, 1, "the other one hears it");
    for (receiver, dir) in receivers {
        receiver.end().expect(0);
        assert_same(&file, &dir.join("model"));
    }
}

#[test]
fn a_call_to_all_hosts_that_is_sealed_for_another_group_is_no_mistake_of_keys() {
    let stage = Stage::new();
    let file = stage.file("model", 2_000_000);
    let hosts = Hosts::new("ck", 2);
    let keys = ["one", "two"].map(|name| {
        let path = stage.path(name);
        let mut made = Command::new(crate::PROGRAM);
        made.args(["key", "new"]).arg(&path).stderr(Stdio::null());
        assert!(made.status().unwrap().success());
        ["--key".to_owned(), path.to_str().unwrap().to_owned()]
    });
    for (sending, receiving) in [(&keys[0][..], &keys[1][..]), (&keys[0], &[]), (&[], &keys[1])] {
        let [here, there] =
            [sending, receiving].map(|words| words.iter().map(String::as_str).collect::<Vec<_>>());
        let waits = ["--start-timeout=5s", "--group=239.255.42.1:6003"];
        let (receiver, dir) = receiver(&stage, &hosts, 2, &[&waits[..], &there].concat());
        let args = ["send", file.to_str().unwrap(), "--rate=5M", "--wait=3s"];
        let group = ["--group=239.255.42.2:6003"];
        start(&hosts, 1, &[&args[..], &group, &here].concat()).end().expect(6);
        let received = receiver.end().expect(6);
        assert!(received.all("warning").is_empty(), "{:?}", received.events);
        assert!(crate::support::entries(&dir).is_empty());
    }
}
