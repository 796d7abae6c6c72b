//! Paths with a smaller MTU than the sender's: at its own interface, at the switch, at one receiver; from the
//! start or in the middle. `FANFARE_MTU_STEP=16` tries every MTU from 576 to 9,216 in such steps.

use std::{
    ffi::OsStr,
    time::{Duration, Instant},
};

use crate::support::{Running, Stage, assert_same, hosts::Hosts};

/// Nothing may take longer: a transfer that waits for what never arrives waits for ever.
const LONGEST: Duration = Duration::from_secs(30);
const RECEIVERS: u8 = 3;

/// Where the MTU is smaller.
#[derive(Debug, Clone, Copy)]
enum Place {
    Sender,
    /// At the sender's port of the switch: nobody is told.
    Switch,
    /// At the port of one receiver.
    OnePort,
    /// One receiver's own interface.
    Receiver,
}

impl Place {
    fn shorten(self, hosts: &Hosts, mtu: u32) {
        match self {
            Self::Sender => hosts.on(1, &format!("link set eth0 mtu {mtu}")),
            Self::Switch => hosts.carry_to(1, mtu),
            Self::OnePort => hosts.carry_to(3, mtu),
            Self::Receiver => hosts.on(3, &format!("link set eth0 mtu {mtu}")),
        }
    }
}

/// Host 1 sends, 2 to 4 receive; all interfaces and the switch have this MTU.
fn network(name: &str, mtu: u32) -> Hosts {
    let hosts = Hosts::new(name, 1 + RECEIVERS);
    hosts.carry(mtu);
    for n in 1..=1 + RECEIVERS {
        hosts.on(n, &format!("link set eth0 mtu {mtu}"));
    }
    hosts
}

fn start(hosts: &Hosts, n: u8, args: &[&str]) -> Running {
    hosts.start(n, &args.iter().map(OsStr::new).collect::<Vec<_>>())
}

fn receivers(stage: &Stage, hosts: &Hosts, more: &[&str]) -> Vec<Running> {
    (2..=1 + RECEIVERS)
        .map(|n| {
            let dir = stage.path(&format!("r{n}"));
            let args = ["recv", dir.to_str().unwrap(), "--create-dirs", "--once"];
            let mut running = start(hosts, n, &[&args[..], more].concat());
            running.wait_for("start");
            running
        })
        .collect()
}

/// A file to all, with the MTU of the place this one from the start, or while it is sent.
fn send(name: &str, base: u32, place: Place, mtu: u32, in_the_middle: bool) {
    let stage = Stage::new();
    let hosts = network(name, base);
    let file = stage.file("image", 1_500_000);
    if !in_the_middle {
        place.shorten(&hosts, mtu);
    }
    let running = receivers(&stage, &hosts, &[]);
    let begun = Instant::now();
    let path = file.to_str().unwrap();
    // Without the kernel's joined packets, which a virtual switch passes on whatever their length is.
    let args = ["send", path, "--expect", "3", "--no-gso", "--rate", "8M"];
    let mut sender = start(&hosts, 1, &args);
    if in_the_middle {
        sender.wait_for("progress");
        place.shorten(&hosts, mtu);
    }
    let ended = sender.end().expect(0);
    let took = begun.elapsed();
    assert!(took < LONGEST, "{place:?} {mtu} of {base}, middle {in_the_middle}: {took:?}");
    running.into_iter().for_each(|receiver| drop(receiver.end().expect(0)));
    for n in 2..=1 + RECEIVERS {
        assert_same(&file, &stage.path(&format!("r{n}/image")));
    }
    // What the system itself refuses is known at once. Otherwise people are told.
    let is_hidden = !matches!(place, Place::Sender);
    if is_hidden && mtu < base.min(1_464) {
        let told = ended.all("warning").iter().any(|line| line.to_string().contains("smaller MTU"));
        assert!(told || ended.stderr.contains("smaller MTU"), "{place:?} {mtu}: {}", ended.stderr);
    }
}

#[test]
fn files_pass_a_smaller_mtu_at_sender_switch_and_one_receiver() {
    for (place, base, mtu) in [
        (Place::Sender, 1_500, 576),
        (Place::Switch, 1_500, 1_280),
        (Place::OnePort, 1_500, 1_450),
        (Place::Receiver, 1_500, 576),
        (Place::Switch, 9_000, 1_500),
        (Place::Switch, 9_216, 576),
        (Place::OnePort, 9_216, 1_500),
    ] {
        send("ma", base, place, mtu, false);
    }
}

#[test]
fn files_pass_where_the_mtu_becomes_smaller_in_the_middle() {
    for (place, base, mtu) in [
        (Place::Sender, 1_500, 1_000),
        (Place::Switch, 1_500, 1_280),
        (Place::Receiver, 1_500, 1_400),
        (Place::OnePort, 9_000, 1_500),
    ] {
        send("mb", base, place, mtu, true);
    }
}

#[test]
fn every_mtu_is_passed_at_every_place() {
    let Some(step) = std::env::var_os("FANFARE_MTU_STEP") else { return };
    let step: usize = step.to_str().unwrap().parse().unwrap();
    for base in [1_500, 9_216] {
        for mtu in (576..base).step_by(step) {
            for place in [Place::Sender, Place::Switch, Place::OnePort, Place::Receiver] {
                send("mc", base, place, mtu, false);
                send("mc", base, place, mtu, true);
            }
        }
    }
}

#[test]
fn messages_and_hosts_by_name_pass_a_smaller_mtu() {
    let stage = Stage::new();
    let file = stage.file("map", 300_000);
    let path = file.to_str().unwrap();
    for (place, mtu) in [(Place::Switch, 1_280), (Place::OnePort, 1_400), (Place::Receiver, 576)] {
        let hosts = network("md", 1_500);
        place.shorten(&hosts, mtu);
        let running: Vec<Running> = (2..=4)
            .map(|n| {
                let mut running = start(&hosts, n, &["sub", "#", "--count", "1"]);
                running.wait_for("start");
                running
            })
            .collect();
        let begun = Instant::now();
        start(&hosts, 1, &["pub", "a/b", path, "--wait", "25s", "--no-gso"]).end().expect(0);
        assert!(begun.elapsed() < LONGEST, "{place:?} {mtu}");
        running.into_iter().for_each(|receiver| drop(receiver.end().expect(0)));
    }
    let hosts = network("me", 1_500);
    hosts.carry_to(3, 1_300);
    let running = receivers(&stage, &hosts, &[]);
    let to = "10.77.0.2,10.77.0.3,10.77.0.4";
    let begun = Instant::now();
    start(&hosts, 1, &["send", path, "--to", to, "--no-gso"]).end().expect(0);
    assert!(begun.elapsed() < LONGEST);
    running.into_iter().for_each(|receiver| drop(receiver.end().expect(0)));
}
