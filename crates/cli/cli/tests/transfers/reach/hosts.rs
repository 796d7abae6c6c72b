//! Files to single hosts, where multicast does not reach them.

use std::{ffi::OsStr, net::UdpSocket};

use crate::support::{Running, Stage, assert_same, hosts::Hosts};

/// A port that nobody has now. A receiver takes it for datagrams to this machine alone.
fn free_port() -> u16 {
    UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// Receivers of the sender's group, each at a port of its own, and these ports.
fn receivers(stage: &Stage, names: &[&str]) -> (Vec<Running>, Vec<u16>) {
    let (group, _) = stage.group.rsplit_once(':').unwrap();
    let start = |name: &&str| {
        let port = free_port();
        let group = format!("{group}:{port}");
        (stage.recv_from(&group, name, &["--once", "--test-drop", "0.02"]), port)
    };
    names.iter().map(start).unzip()
}

#[test]
fn hosts_that_no_multicast_reaches_have_the_file_and_give_receipts() {
    let stage = Stage::new();
    let file = stage.file("model", 1_500_000);
    let names = ["one", "two", "three"];
    let (running, ports) = receivers(&stage, &names);
    let hosts: Vec<String> = ports.iter().map(|port| format!("127.0.0.1:{port}")).collect();
    let sent = stage.send(&[file.as_os_str(), "--to".as_ref(), hosts.join(",").as_ref()]).expect(0);
    assert_eq!((sent.result()["complete"].as_u64(), sent.all("receipt").len()), (Some(3), 3));
    for receiver in running {
        receiver.end().expect(0);
    }
    for name in names {
        assert_same(&file, &stage.path(name).join("model"));
    }
}

#[test]
fn a_host_without_a_receiver_is_named_and_does_not_hold_up_the_others() {
    let stage = Stage::new();
    let file = stage.file("model", 100_000);
    let (running, ports) = receivers(&stage, &["one"]);
    let dead = format!("127.0.0.2:{}", free_port());
    let hosts = format!("127.0.0.1:{},{dead}", ports[0]);
    let sent = stage.send(&[file.as_os_str(), "--to".as_ref(), hosts.as_ref()]).expect(3);
    assert_eq!(sent.result()["missing"][0].as_str(), Some(dead.as_str()));
    assert!(sent.error().contains("(1 of 2 complete)"), "{}", sent.error());
    for receiver in running {
        receiver.end().expect(0);
    }
    assert_same(&file, &stage.path("one/model"));
}

#[test]
fn hosts_and_group_are_sent_to_together() {
    let stage = Stage::new();
    let file = stage.file("model", 2_000_000);
    let group = format!("239.255.42.8:{}", free_port());
    let receiver = stage.recv_from(&group, "one", &["--once"]);
    let port = group.rsplit_once(':').unwrap().1;
    let host = format!("127.0.0.1:{port}");
    let file_text = file.to_str().unwrap();
    let options = [file_text, "--to", &host, "--with-group", "--expect=1", "--rate=40M"];
    Stage::start_in(&group, "send", &options).end().expect(0);
    receiver.end().expect(0);
    assert_same(&file, &stage.path("one/model"));
}

#[test]
fn a_receiver_that_wants_multicast_alone_hears_no_unicast() {
    let stage = Stage::new();
    let file = stage.file("model", 100_000);
    let port = free_port();
    let group = format!("239.255.42.8:{port}");
    let receiver = stage.recv_from(&group, "one", &["--once", "--no-unicast"]);
    let host = format!("127.0.0.1:{port}");
    let options = ["--to", host.as_str(), "--wait=1s"].map(OsStr::new);
    let sent = stage.send(&[file.as_os_str()].into_iter().chain(options).collect::<Vec<_>>());
    let sent = sent.expect(6);
    assert!(sent.error().contains("no receiver answered on host 127.0.0.1"), "{}", sent.error());
    receiver.interrupt();
    receiver.end();
}

#[test]
fn a_host_that_hears_no_multicast_is_named_and_served_and_goes_back_when_it_hears() {
    let stage = Stage::new();
    let file = stage.file("model", 12_000_000);
    let hosts = Hosts::new("df", 3);
    hosts.deafen(2);
    let start = |n, args: &[&str]| hosts.start(n, &args.iter().map(OsStr::new).collect::<Vec<_>>());
    let dirs = [2, 3].map(|n| stage.path(&format!("in{n}")));
    let receive = |n: u8| {
        let dir = dirs[usize::from(n) - 2].to_str().unwrap();
        let mut running = start(n, &["recv", dir, "--create-dirs", "--once"]);
        running.wait_for("start");
        running
    };
    let receivers = [2, 3].map(receive);
    let to = "10.77.0.2,10.77.0.3";
    let file_text = file.to_str().unwrap();
    let args = ["send", file_text, "--to", to, "--with-group", "--expect=2", "--rate=12M"];
    let mut sender = start(1, &args);
    let told = sender.wait_for_warning("reach.deaf");
    assert_eq!(told, "host 10.77.0.2 does not hear the group: it is sent copies");
    hosts.undeafen(2);
    let told = sender.wait_for_warning("reach.back");
    assert_eq!(told, "host 10.77.0.2 hears the group again: no more copies for it");
    let ended = sender.end().expect(0);
    let deaf = |line: &&serde_json::Value| line["code"] == "reach.deaf";
    assert_eq!(ended.all("warning").into_iter().filter(deaf).count(), 1);
    receivers.into_iter().for_each(|receiver| drop(receiver.end().expect(0)));
    dirs.iter().for_each(|dir| assert_same(&file, &dir.join("model")));
}

#[test]
fn a_silent_receiver_that_is_sent_to_by_name_says_why_nothing_comes_and_so_does_the_sender() {
    let stage = Stage::new();
    let file = stage.file("out/f", 1000);
    let group = format!("239.255.42.7:{}", free_port());
    let mut receiver = stage.recv_from(&group, "in", &["--once", "--silent"]);
    let options = ["--to", "127.0.0.1", "--wait", "2s"].map(OsStr::new);
    let words = [&[file.as_os_str()], &options[..]].concat();
    let sent = Stage::start_in(&group, "send", &words).end().expect(6);
    assert!(sent.error().contains("without --silent"), "{}", sent.error());
    let told = receiver.wait_for_warning("reach.silent");
    assert!(told.contains("Start it without --silent"), "{told}");
    assert!(crate::support::entries(&stage.path("in")).is_empty());
}
