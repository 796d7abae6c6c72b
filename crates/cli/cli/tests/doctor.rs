//! The doctor as people and programs run it: on loopback, with whatever rights the tests have.

use std::{collections::BTreeSet, ffi::OsStr, process::Command};

use crate::support::{Ended, Running, Stage, hosts::Hosts};
use serde_json::Value;

fn doctor(stage: &Stage, name: &str, wait: &str) -> Running {
    stage.start("doctor", &["--name", name, "--peer-wait", wait])
}

fn check<'a>(ended: &'a Ended, name: &str) -> &'a Value {
    let found: Vec<&Value> =
        ended.all("check").into_iter().filter(|line| line["check"] == name).collect();
    assert_eq!(found.len(), 1, "{name}: {:#?}", ended.events);
    found[0]
}

#[test]
fn two_doctors_on_one_machine_find_each_other_and_say_how_well() {
    let stage = Stage::new();
    let (one, two) = (doctor(&stage, "lab-01", "3s"), doctor(&stage, "lab-02", "3s"));
    for (ended, other) in [(one.end(), "lab-02"), (two.end(), "lab-01")] {
        let ended = ended.expect(0);
        let peers = ended.all("peer");
        assert_eq!(peers.len(), 1, "{:#?}", ended.events);
        assert_eq!(peers[0]["name"], other);
        let number = |name: &str| peers[0][name].as_u64().unwrap();
        assert!(number("heard") >= 5 && number("heard") <= number("of"), "{}", peers[0]);
        assert!(number("hears_us") >= 5 && number("hears_us") <= number("of_ours"), "{}", peers[0]);
        assert_eq!(number("duplicates"), 0);
        assert!(peers[0]["rtt_ms"].as_f64().is_some_and(|ms| ms < 1000.0), "{}", peers[0]);
        let sentence = check(&ended, "peers")["seen"].as_str().unwrap();
        assert!(sentence.starts_with(&format!("{other} (127.0.0.1): we hear ")), "{sentence}");
        assert_eq!(ended.result()["peers"], 1);
    }
}

#[test]
fn alone_it_says_that_it_tested_this_machine_only() {
    let stage = Stage::new();
    let ended = doctor(&stage, "alone", "1s").end().expect(0);
    let peers = check(&ended, "peers");
    assert_eq!((&peers["level"], &peers["code"]), (&"warn".into(), &"peers.none".into()));
    assert!(peers["seen"].as_str().unwrap().contains("this machine only"));
    assert!(peers["do"].as_str().unwrap().contains(&format!("--group {}", stage.group)));
    assert_eq!(check(&ended, "loop")["level"], "ok");
    assert_eq!(check(&ended, "interfaces")["code"], "interfaces.loopback");
}

#[test]
fn every_line_of_json_has_the_documented_fields_and_a_documented_code() {
    const DOCUMENT: &str = include_str!("../../../../docs/reference/doctor.md");
    let stage = Stage::new();
    let (one, two) = (doctor(&stage, "one", "2s"), doctor(&stage, "two", "2s"));
    let (ended, _) = (one.end().expect(0), two.end());
    for line in &ended.events {
        let event = line["event"].as_str().unwrap();
        let start = format!("{{\"event\":\"{event}\"");
        let example = DOCUMENT.lines().find(|line| line.starts_with(&start)).expect(event);
        let example: Value = serde_json::from_str(example).unwrap();
        let fields = |line: &Value| -> BTreeSet<String> {
            line.as_object().unwrap().keys().cloned().collect()
        };
        assert_eq!(fields(line), fields(&example), "{line}");
    }
    for line in ended.all("check") {
        let code = line["code"].as_str().unwrap();
        assert!(
            DOCUMENT.contains(&format!("`{code}`")),
            "{code} is not in docs/reference/doctor.md"
        );
        assert_eq!(line["check"], code.split('.').next().unwrap());
        let level = line["level"].as_str().unwrap();
        assert_eq!(level == "ok", line["do"].is_null(), "{line}");
    }
    let count = ended.all("check").len();
    assert_eq!(ended.result()["checks"], count);
}

#[test]
fn for_people_it_is_one_line_per_check_and_a_verdict() {
    let stage = Stage::new();
    let args = ["doctor", "--interface", "lo", "--peer-wait", "1s", "--group", &stage.group];
    let output = Command::new(crate::PROGRAM).args(args).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{text}");
    let (verdict, checks) = text.lines().rev().collect::<Vec<_>>().split_first().map_or_else(
        || panic!("it says nothing"),
        |(verdict, checks)| ((*verdict).to_owned(), checks.to_vec()),
    );
    assert!(verdict.starts_with("verdict: multicast works on this machine"), "{text}");
    for line in checks {
        let level = line.split_whitespace().next().unwrap();
        assert!(["ok", "warn"].contains(&level), "{line}");
    }
    let quiet = Command::new(crate::PROGRAM).args(args).arg("-q").output().unwrap();
    assert_eq!((quiet.stdout.len(), quiet.stderr.len()), (0, 0));
}

#[test]
fn what_cannot_be_examined_is_a_usage_error_of_one_line() {
    for (args, code, begin) in [
        (&["--group", "10.0.0.1:6003"][..], "group.not_multicast", "error: group (10.0.0.1): "),
        (&["--group", "nonsense"], "group.invalid", "error: group (nonsense): "),
        (&["--peer-wait", "soon"], "time.invalid", "error: peer wait (soon): "),
        (&["--ttl", "256"], "ttl.invalid", "error: ttl (256): "),
        (&["--rate", "fast"], "rate.invalid", "error: rate (fast): "),
        (&["--interface", "no-such-if"], "interface.unknown", "error: interface (no-such-if): "),
    ] {
        let args: Vec<&OsStr> = ["doctor", "--json"].iter().chain(args).map(OsStr::new).collect();
        let ended = Running::start(&args, None).end().expect(2);
        let error = ended.error();
        assert!(error.starts_with(begin), "{error}");
        assert_eq!(ended.all("error")[0]["code"], code);
    }
    let unknown = Command::new(crate::PROGRAM).args(["doctor", "--heal"]).output();
    assert_eq!(unknown.unwrap().status.code(), Some(2));
}

/// The doctor of a host, told to look at another.
fn with(hosts: &Hosts, n: u8, other: &str, wait: &str) -> Running {
    let args = ["doctor", "--with", other, "--peer-wait", wait].map(OsStr::new);
    hosts.start_anywhere(n, &args)
}

#[test]
fn two_machines_test_the_way_between_them() {
    let hosts = Hosts::new("w", 2);
    let (one, two) = (with(&hosts, 1, "10.77.0.2", "40s"), with(&hosts, 2, "10.77.0.1", "40s"));
    for (ended, other) in [(one.end(), "10.77.0.2"), (two.end(), "10.77.0.1")] {
        let ended = ended.expect(0);
        let peers = check(&ended, "peers");
        assert_eq!(peers["code"], "peers.ok", "{peers}");
        assert!(peers["seen"].as_str().unwrap().contains(other), "{peers}");
        assert_eq!(check(&ended, "wire")["code"], "wire.ok");
        assert_eq!(check(&ended, "link")["code"], "link.ok");
        assert!(check(&ended, "membership")["seen"].as_str().unwrap().contains("IGMPv3"));
    }
}

#[test]
fn a_machine_that_hears_no_multicast_is_found_by_its_neighbour_and_by_itself() {
    let hosts = Hosts::new("x", 2);
    // What a switch that lost the membership does.
    let rules = ["netns", "exec", &hosts.host(2), "nft"];
    let nft = |line: &str| {
        let done = Command::new("ip").args(rules).args(line.split(' ')).status();
        assert!(done.unwrap().success(), "nft {line}");
    };
    nft("add table netdev t");
    nft("add chain netdev t in { type filter hook ingress device eth0 priority 0 ; }");
    nft("add rule netdev t in ip daddr 224.0.0.0/4 drop");
    let (one, two) = (with(&hosts, 1, "10.77.0.2", "40s"), with(&hosts, 2, "10.77.0.1", "40s"));
    let (one, two) = (one.end().expect(1), two.end().expect(1));
    assert_eq!(check(&one, "peers")["code"], "peers.one_way");
    assert_eq!(check(&two, "peers")["code"], "peers.deaf");
}

#[test]
fn two_machines_of_which_one_has_a_smaller_mtu_are_told_so() {
    let hosts = Hosts::new("v", 2);
    // The cards differ, and the switch carries both.
    hosts.on(1, "link set eth0 mtu 9000");
    hosts.carry(9_000);
    let (one, two) = (with(&hosts, 1, "10.77.0.2", "40s"), with(&hosts, 2, "10.77.0.1", "40s"));
    let (one, two) = (one.end().expect(0), two.end().expect(0));
    assert_eq!(check(&one, "peers")["code"], "peers.ok");
    assert_eq!(check(&two, "peers")["code"], "peers.mtu");
    assert!(check(&two, "peers")["seen"].as_str().unwrap().contains("packets of 9000 bytes"));
}

#[test]
fn a_firewall_that_keeps_what_is_sent_here_is_found_at_the_output() {
    let hosts = Hosts::new("u", 1);
    hosts.nft(1, "table inet f { chain o { type filter hook output priority 0; policy drop; }; }");
    let args = ["doctor", "--peer-wait", "1s"].map(OsStr::new);
    let ended = hosts.start_anywhere(1, &args).end().expect(1);
    assert_eq!(check(&ended, "firewall")["code"], "firewall.drops_own");
    assert_eq!(check(&ended, "unicast")["code"], "unicast.dropped");
    assert_eq!(check(&ended, "unicast")["level"], "warn");
}

#[test]
fn a_machine_with_ipv6_alone_is_examined_in_the_group_of_ipv6() {
    let hosts = Hosts::new("t", 1);
    hosts.on(1, "addr flush dev eth0");
    hosts.on(1, "addr add fd00::1/64 dev eth0 nodad");
    let args = ["doctor", "--peer-wait", "1s"].map(OsStr::new);
    let ended = hosts.start_anywhere(1, &args).end().expect(0);
    assert!(check(&ended, "interfaces")["seen"].as_str().unwrap().contains("fd00::1"));
}

#[test]
fn a_machine_that_does_not_answer_is_bad() {
    let hosts = Hosts::new("y", 2);
    let ended = with(&hosts, 1, "10.77.0.2", "2s").end().expect(1);
    let peers = check(&ended, "peers");
    assert_eq!(peers["code"], "peers.absent");
    assert!(peers["do"].as_str().unwrap().contains("fanfare doctor --with 10.77.0.1"), "{peers}");
}

#[test]
fn an_interface_that_is_down_is_bad_without_being_named_and_one_without_the_flag_is_warned_of() {
    let hosts = Hosts::new("z", 1);
    let look = || {
        let args = ["doctor", "--peer-wait", "1s"].map(OsStr::new);
        hosts.start_anywhere(1, &args).end()
    };
    look().expect(0);
    // Linux carries groups there all the same, where a route leads there.
    hosts.on(1, "link set eth0 multicast off");
    let ended = look().expect(1);
    assert_eq!(check(&ended, "interfaces")["code"], "interfaces.no_multicast");
    hosts.on(1, "route add default dev eth0");
    let ended = look().expect(0);
    assert_eq!(check(&ended, "interfaces")["code"], "interfaces.no_multicast");
    hosts.on(1, "link set eth0 multicast on");
    hosts.on(1, "link set eth0 down");
    let ended = look().expect(1);
    assert_eq!(check(&ended, "interfaces")["code"], "interfaces.down");
}
