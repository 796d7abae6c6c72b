//! What a proxy refuses, and who is cut off.

use std::{
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use crate::{
    faults::{SOCKS, in_the_middle},
    road::Road,
};

#[test]
fn a_proxy_that_other_machines_could_use_is_refused_with_exit_2_and_says_what_to_give() {
    for (option, address) in [("--listen", "0.0.0.0:7000"), ("--http", "[::]:3128")] {
        let key = fanfare_crypto::Identity::from_seed([9; 32]).public();
        let peer = format!("far=127.0.0.1:9,{key}");
        let mut command = Command::new(crate::PROGRAM);
        command.args(["proxy", "client", "--peer", &peer, option, address]);
        let output = command.stdin(Stdio::null()).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(address) && said.contains("--allow-from or --auth-file"), "{said}");
    }
}

#[test]
fn a_key_that_is_taken_from_the_list_loses_its_connections_at_the_next_sighup() {
    let Some(road) = Road::make() else { return };
    let list = |names: &[&str]| {
        let lines = names.iter().map(|name| format!("{name} {}\n", road.key(name)));
        std::fs::write(road.directory.join("peers"), lines.collect::<String>()).unwrap();
    };
    list(&["near", "other"]);
    road.key("far");
    let words = ["proxy", "server", "--listen", "0.0.0.0:7001", "--accept-file", "peers"];
    let server = road.start("far", &[&words[..], &["--allow", "10.88.0.2"]].concat());
    let _web = road.web();
    for carrier in ["norm", "quic"] {
        list(&["near", "other"]);
        server.signal("-HUP");
        let mut client = road.client(&["--wait-link", "300ms", "--carrier", carrier]);
        client.wait_for_link("connected");
        let mut curl = in_the_middle(&road);
        list(&["other"]);
        let begun = Instant::now();
        server.signal("-HUP");
        assert!(!curl.wait().unwrap().success(), "{carrier}: it is cut off");
        assert!(begun.elapsed() < Duration::from_secs(10), "{carrier}: {:?}", begun.elapsed());
        assert_eq!(road.curl(1000, &SOCKS).1, Some(97), "{carrier}: and gets no other");
        // The server has nothing open to its destination, either.
        let open = || {
            let words = ["ss", "-Htn", "state", "established", "dport", "=", ":8080"];
            String::from_utf8_lossy(&road.output("far", &words).stdout).trim().to_owned()
        };
        while !open().is_empty() {
            assert!(begun.elapsed() < Duration::from_secs(20), "{carrier}: {}", open());
        }
        std::fs::remove_file(road.directory.join("got")).unwrap();
    }
}

#[test]
fn with_few_file_descriptors_clients_wait_for_each_other_and_all_get_their_bytes() {
    let Some(road) = Road::make() else { return };
    let (_web, _server) = (road.web(), road.server(&[]));
    road.key("near");
    let peer = format!("far=10.88.0.2:7001,{}", road.key("far"));
    // Thirty-two are kept free, so that eight connections have one.
    let words = ["proxy", "client", "--peer", &peer];
    let mut client = road.start_with("near", &["prlimit", "--nofile=40:40"], &words);
    client.wait_for_link("connected");
    road.threads_get(&(0..40).map(|n| 100_000 + n).collect::<Vec<_>>());
    assert_eq!(client.wait_for("warning")["code"], "descriptors.exhausted");
}
