//! Roads that lose in one direction, change bytes, let nothing through; clocks that jump; a far side that
//! moves.

use std::process::Command;

use crate::{
    faults::{MUCH, SOCKS, in_the_middle, in_the_middle_of},
    road::Road,
};

/// From now on a host does this with UDP that comes in. False where the kernel cannot.
fn filter(road: &Road, host: &str, rule: &str) -> bool {
    let rules = format!(
        "table inet trouble {{ chain in {{ type filter hook input priority 0; \
         meta l4proto udp {rule}; }}; }}"
    );
    let done = road.output(host, &["nft", &rules]).status.success();
    if !done {
        eprintln!("not tested: it needs nft");
    }
    done
}

#[test]
fn downloads_and_uploads_come_whole_when_a_tenth_is_lost_in_one_direction_only() {
    for host in ["near", "far"] {
        let Some(road) = Road::make() else { return };
        let (_web, _server) = (road.web(), road.server(&[]));
        let _echo = road.python("far", crate::scripts::AFTER_END);
        let mut client = road.client(&[]);
        client.wait_for_link("connected");
        if !filter(&road, host, "numgen random mod 100 < 10 drop") {
            return;
        }
        assert_eq!(road.curl(3_000_000, &SOCKS), ("200 3000000".to_owned(), Some(0)), "{host}");
        assert_eq!(road.half_close(1_000_000), "1000000", "{host}");
    }
}

#[test]
fn bytes_are_right_when_two_of_a_hundred_packets_are_changed_on_the_way() {
    let Some(road) = Road::make() else { return };
    let (_web, _server) = (road.web(), road.server(&[]));
    let _middle = road.python("near", CORRUPTS);
    for carrier in ["norm", "quic"] {
        let mut client = road.client_to("127.0.0.1:7101", &["--carrier", carrier]);
        client.wait_for_link("connected");
        assert_eq!(road.curl(2_000_000, &SOCKS), ("200 2000000".to_owned(), Some(0)), "{carrier}");
        assert!(road.got_is_right(2_000_000), "{carrier}");
    }
}

#[test]
fn while_udp_is_blocked_connections_go_directly_and_by_the_link_when_it_is_not() {
    let Some(road) = Road::make() else { return };
    let (_web, _server) = (road.web(), road.server(&[]));
    let blocked = ["near", "far"].iter().all(|host| filter(&road, host, "drop"));
    let mut client = road.client(&["--wait-link", "300ms", "--fallback", "direct"]);
    if !blocked {
        return;
    }
    assert_eq!(road.curl(1000, &SOCKS).0, "200 1000");
    assert_eq!(client.wait_for("fallback")["peer"], "far");
    for host in ["near", "far"] {
        let words = ["nft", "delete", "table", "inet", "trouble"];
        assert!(road.output(host, &words).status.success());
    }
    client.wait_for_link("connected");
    assert_eq!(road.curl(1000, &SOCKS).0, "200 1000");
    // It did not go directly: the far side tells of it.
    while client.wait_for("open")["carrier"] != "norm" {}
    assert_eq!(client.wait_for("reply")["code"], 0);
}

#[test]
fn a_download_goes_on_when_the_far_sides_address_changes() {
    let Some(road) = Road::make() else { return };
    let (web, mut server) = (road.web(), road.server(&["--allow", "10.99.0.2"]));
    let mut client = road.client(&[]);
    client.wait_for_link("connected");
    let far = road.host("far");
    let ip = |words: &[&str]| {
        assert!(Command::new("ip").args(words).status().unwrap().success());
    };
    // The destination stays where it is.
    ip(&["-n", &far, "addr", "add", "10.99.0.2/32", "dev", "lo"]);
    let url = format!("http://10.99.0.2:8080/{}", MUCH);
    let mut curl = in_the_middle_of(&road, &url);
    ip(&["-n", &far, "addr", "del", "10.88.0.2/24", "dev", "e0"]);
    ip(&["-n", &far, "addr", "add", "10.88.0.66/24", "dev", "e0"]);
    assert!(curl.wait().unwrap().success(), "the download goes on");
    assert!(road.got_is_right(MUCH));
    server.wait_for_link("connected");
    drop(web);
}

#[test]
fn a_clock_that_jumps_an_hour_either_way_disturbs_no_download() {
    let Some(road) = Road::make() else { return };
    let shim = road.directory.join("clock.so");
    let source = road.directory.join("clock.c");
    std::fs::write(&source, CLOCK).unwrap();
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-O1", "-o"]).arg(&shim).arg(&source);
    if !compiler.status().is_ok_and(|status| status.success()) {
        eprintln!("not tested: it needs cc");
        return;
    }
    let (_web, _server) = (road.web(), road.server(&[]));
    let preload = format!("LD_PRELOAD={}", shim.display());
    let peer = format!("far=10.88.0.2:7001,{}", road.key("far"));
    road.key("near");
    let words = ["proxy", "client", "--peer", &peer, "--keep-alive", "1s"];
    let mut client = road.start_with("near", &["env", &preload], &words);
    client.wait_for_link("connected");
    for step in ["3600", "-3600"] {
        let mut curl = in_the_middle(&road);
        std::fs::write(road.directory.join("step"), step).unwrap();
        assert!(curl.wait().unwrap().success(), "{step} s");
        assert!(road.got_is_right(MUCH), "{step} s");
        // And a new connection, with the clock as it is now.
        assert_eq!(road.curl(1000, &SOCKS).0, "200 1000", "{step} s");
        std::fs::remove_file(road.directory.join("got")).unwrap();
    }
    assert!(road.directory.join("asked").exists(), "the program asked this clock");
}

/// Passes datagrams on between the near side and the far side, and changes a byte in two of a hundred.
const CORRUPTS: &str = r#"
import random, select, socket
rng = random.Random(7)
near = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
near.bind(("127.0.0.1", 7101))
far = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
far.connect(("10.88.0.2", 7001))
for s in (near, far):
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
print("ready", flush=True)
client = None
def changed(data):
    if rng.random() < 0.02:
        data = bytearray(data)
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    return bytes(data)
while True:
    for s in select.select([near, far], [], [])[0]:
        try:
            data, who = s.recvfrom(65535)
            if s is near:
                client = who
                far.send(changed(data))
            elif client:
                near.sendto(changed(data), client)
        except OSError:
            pass
"#;

/// The clock on the wall is as many seconds off as the file `step` says.
const CLOCK: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <time.h>
int clock_gettime(clockid_t id, struct timespec *at) {
    static int (*real)(clockid_t, struct timespec *);
    if (!real) real = dlsym(RTLD_NEXT, "clock_gettime");
    int done = real(id, at);
    if (id == CLOCK_REALTIME) {
        FILE *file = fopen("step", "r");
        long step = 0;
        if (file) {
            if (fscanf(file, "%ld", &step) == 1) {
                at->tv_sec += step;
                FILE *asked = fopen("asked", "w");
                if (asked) fclose(asked);
            }
            fclose(file);
        }
    }
    return done;
}
"#;
