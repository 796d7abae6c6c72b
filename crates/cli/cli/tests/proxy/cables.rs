//! Cables that are out for so long that the link is lost. As people pull them, for 45 and for 120
//! seconds, it takes three minutes: FANFARE_LONG=1.

use std::{
    process::Command,
    time::{Duration, Instant},
};

use crate::{
    faults::{MUCH, SOCKS, in_the_middle},
    road::Road,
};

/// So many seconds, and others with FANFARE_LONG.
fn seconds(short: u64, long: u64) -> u64 {
    if std::env::var_os("FANFARE_LONG").is_some() { long } else { short }
}

fn set(road: &Road, host: &str, device: &str, state: &str) {
    let words = ["-n", &road.host(host), "link", "set", device, state];
    assert!(Command::new("ip").args(words).status().unwrap().success());
}

#[test]
fn a_download_goes_on_after_a_cable_was_out_for_longer_than_the_link_lasts() {
    let Some(road) = Road::make() else { return };
    let (_web, _server) = (road.web(), road.server(&[]));
    let mut client = road.client(&[]);
    client.wait_for_link("connected");
    let mut curl = in_the_middle(&road);
    set(&road, "far", "e0", "down");
    // A connection of the link is lost after three seconds here.
    client.wait_for_link("lost");
    std::thread::sleep(Duration::from_secs(seconds(1, 42)));
    set(&road, "far", "e0", "up");
    assert!(curl.wait().unwrap().success(), "the download goes on");
    assert!(road.got_is_right(MUCH));
    client.wait_for_link("connected");
}

#[test]
fn when_a_cable_was_out_for_too_long_old_connections_are_reset_and_new_ones_work() {
    let Some(road) = Road::make() else { return };
    let persist = format!("{}s", seconds(2, 60));
    let (_web, _server) = (road.web(), road.server(&["--persist", &persist]));
    let mut client = road.client(&["--persist", &persist]);
    client.wait_for_link("connected");
    let mut curl = in_the_middle(&road);
    let begun = Instant::now();
    set(&road, "far", "e0", "down");
    client.wait_for_link("ended");
    assert!(!curl.wait().unwrap().success(), "what it had is lost");
    let out = Duration::from_secs(seconds(0, 120));
    std::thread::sleep(out.saturating_sub(begun.elapsed()));
    set(&road, "far", "e0", "up");
    road.curl_until(100_000, &SOCKS);
}

#[test]
fn a_download_goes_on_over_a_path_that_became_narrow_while_the_cable_was_out() {
    let Some(road) = Road::with_router(1500) else { return };
    let (_web, _server) = (road.web(), road.server(&[]));
    let mut client = road.client(&[]);
    client.wait_for_link("connected");
    let mut curl = in_the_middle(&road);
    set(&road, "middle", "m1", "down");
    client.wait_for_link("quiet");
    set(&road, "middle", "m1", "up");
    road.set_mtu(1280);
    assert!(curl.wait().unwrap().success(), "the download goes on");
    assert!(road.got_is_right(MUCH));
}
