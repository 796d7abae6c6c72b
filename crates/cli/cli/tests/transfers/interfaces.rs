//! Transfers go on when interfaces and addresses change. Hosts are network namespaces, which only root
//! may make.

use std::ffi::OsStr;

use crate::support::{Stage, assert_same, hosts::Hosts};

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
