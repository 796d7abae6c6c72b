//! Daemons that are killed and started again, cables that are out, addresses that change.

use std::time::{Duration, Instant};

use crate::road::{LONG, Road};

pub(crate) const SOCKS: [&str; 2] = ["--socks5-hostname", "127.0.0.1:7000"];

/// More than all credit and buffers on the way hold: what happens now happens in the middle of it.
pub(crate) const MUCH: usize = 40_000_000;
/// Curl takes it no faster than this, so that it takes some seconds.
const RATE: &str = "8M";

/// A download that has begun.
pub(crate) fn in_the_middle(road: &Road) -> std::process::Child {
    in_the_middle_of(road, &format!("http://10.88.0.2:8080/{MUCH}"))
}

pub(crate) fn in_the_middle_of(road: &Road, url: &str) -> std::process::Child {
    let mut curl = road.on("near", "curl");
    curl.args(["-s", "--max-time", "200", "--limit-rate", RATE, "-o", "got"]);
    curl.args([SOCKS[0], SOCKS[1], url]);
    let child = curl.spawn().unwrap();
    let begun = Instant::now();
    let got = road.directory.join("got");
    while std::fs::metadata(&got).map_or(0, |meta| meta.len()) < 100_000 {
        assert!(begun.elapsed() < LONG, "nothing comes");
        std::thread::sleep(Duration::from_millis(20));
    }
    child
}

#[test]
fn a_far_side_that_is_killed_and_started_again_ends_connections_and_serves_new_ones() {
    let Some(road) = Road::make() else { return };
    let (_web, server) = (road.web(), road.server(&[]));
    let mut client = road.client(&[]);
    client.wait_for_link("connected");
    let mut curl = in_the_middle(&road);
    server.kill();
    let _server = road.server(&[]);
    let begun = Instant::now();
    assert!(!curl.wait().unwrap().success(), "the download cannot go on");
    assert!(begun.elapsed() < Duration::from_secs(15), "{:?}", begun.elapsed());
    road.curl_until(100_000, &SOCKS);
}

#[test]
fn a_near_side_that_is_killed_and_started_again_works_at_once() {
    let Some(road) = Road::make() else { return };
    let (_web, mut server) = (road.web(), road.server(&[]));
    let mut client = road.client(&[]);
    client.wait_for_link("connected");
    let mut curl = in_the_middle(&road);
    client.kill();
    assert!(!curl.wait().unwrap().success());
    let _client = road.client(&[]);
    road.curl_until(100_000, &SOCKS);
    // What the killed one had open is closed there, too.
    assert_eq!(server.wait_for("close")["how"], "peer_reset");
}

fn address_changes(carrier: &str) {
    let Some(road) = Road::make() else { return };
    let (_web, mut server) = (road.web(), road.server(&[]));
    let mut client = road.client(&["--carrier", carrier]);
    client.wait_for_link("connected");
    let mut curl = in_the_middle(&road);
    let near = road.host("near");
    let ip = |words: &[&str]| {
        assert!(std::process::Command::new("ip").args(words).status().unwrap().success());
    };
    ip(&["-n", &near, "addr", "del", "10.88.0.1/24", "dev", "e0"]);
    ip(&["-n", &near, "addr", "add", "10.88.0.77/24", "dev", "e0"]);
    assert!(curl.wait().unwrap().success(), "the download goes on");
    assert!(road.got_is_right(MUCH));
    server.wait_for_link("moved");
}

#[test]
fn a_download_goes_on_when_the_near_sides_address_changes_over_norm() {
    address_changes("norm");
}

#[test]
fn a_download_goes_on_when_the_near_sides_address_changes_over_quic() {
    address_changes("quic");
}

#[test]
fn a_download_goes_on_after_a_cable_was_out_for_two_seconds() {
    let Some(road) = Road::make() else { return };
    let (_web, _server) = (road.web(), road.server(&[]));
    let mut client = road.client(&[]);
    client.wait_for_link("connected");
    let mut curl = in_the_middle(&road);
    let far = road.host("far");
    let set = |state: &str| {
        let words = ["-n", &far, "link", "set", "e0", state];
        assert!(std::process::Command::new("ip").args(words).status().unwrap().success());
    };
    set("down");
    std::thread::sleep(Duration::from_secs(2));
    set("up");
    assert!(curl.wait().unwrap().success(), "the download goes on");
    assert!(road.got_is_right(MUCH));
}

#[test]
fn without_a_far_side_requests_are_refused_and_with_a_fallback_they_go_directly() {
    let Some(road) = Road::make() else { return };
    let _web = road.web();
    road.key("far");
    let client = road.client(&["--wait-link", "100ms"]);
    assert_eq!(road.curl(1000, &SOCKS).1, Some(97));
    client.kill();
    let mut client = road.client(&["--wait-link", "100ms", "--fallback", "direct", "-v"]);
    assert_eq!(road.curl(1000, &SOCKS).0, "200 1000");
    assert_eq!(client.wait_for("fallback")["peer"], "far");
}
