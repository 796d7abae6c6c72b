//! NRL's norp at the other end: a peer of our own over Debian's libnorm, both directions, and ours at
//! both ends.

use std::{
    path::PathBuf,
    process::{Command, Stdio},
};

use crate::{road::Road, scripts::AFTER_END};

const SOURCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../interop/peer/norp_peer.cpp");
const SOCKS: [&str; 2] = ["--socks5-hostname", "127.0.0.1:7000"];

/// The peer, where libnorm and a compiler are.
fn peer(road: &Road) -> Option<PathBuf> {
    let program = road.directory.join("norp_peer");
    let mut compiler = Command::new("c++");
    compiler.args(["-std=c++17", "-O1", SOURCE, "-lnorm", "-o"]).arg(&program);
    let built = compiler.stderr(Stdio::null()).status().is_ok_and(|status| status.success());
    if !built {
        eprintln!("not tested: it needs c++ and libnorm-dev");
    }
    built.then_some(program)
}

/// From now on both hosts lose so many of a hundred datagrams that come in. False where the kernel
/// cannot.
fn lose(road: &Road, percent: u32) -> bool {
    let rules = format!(
        "table inet lossy {{ chain in {{ type filter hook input priority 0; \
         meta l4proto udp numgen random mod 100 < {percent} drop; }}; }}"
    );
    ["near", "far"].iter().all(|host| road.output(host, &["nft", &rules]).status.success())
}

fn ours_near(road: &Road, more: &[&str]) -> crate::road::Running {
    let words = ["proxy", "client", "--compat", "nrl", "--peer", "far=10.88.0.2"];
    road.start("near", &[&words[..], more].concat())
}

fn ours_far(road: &Road, more: &[&str]) -> crate::road::Running {
    let words = ["proxy", "server", "--compat", "nrl", "--listen", "0.0.0.0:7001"];
    let who = ["--accept", "near=10.88.0.1", "--allow", "10.88.0.2"];
    road.start("far", &[&words[..], &who, more].concat())
}

#[test]
fn both_ends_of_ours_speak_norp_with_refusals_uploads_and_ends_in_one_direction() {
    let Some(road) = Road::make() else { return };
    let (_web, _far, _near) = (road.web(), ours_far(&road, &[]), ours_near(&road, &[]));
    assert_eq!(road.curl(2_000_000, &SOCKS), ("200 2000000".to_owned(), Some(0)));
    assert_eq!(road.curl(1, &SOCKS), ("200 1".to_owned(), Some(0)));
    let said = |url: &str| {
        let words = ["curl", "-sS", "--max-time", "40", SOCKS[0], SOCKS[1], url];
        String::from_utf8_lossy(&road.output("near", &words).stderr).into_owned()
    };
    assert!(said("http://10.88.0.2:81/").contains("(5)"), "refused by the machine");
    assert!(said("http://10.88.0.9:80/").contains("(2)"), "refused by the policy");
    let _echo = road.python("far", AFTER_END);
    assert_eq!(road.half_close(1_000_000), "1000000");
}

#[test]
fn a_norp_of_libnorm_at_the_far_side_carries_downloads_of_ours_also_with_a_tenth_lost() {
    let Some(road) = Road::make() else { return };
    let Some(program) = peer(&road) else { return };
    let (_web, _near) = (road.web(), ours_near(&road, &["--connect-timeout", "40s"]));
    for bytes in [1_000_000, 100_000] {
        let mut far = road.program("far", &program, &["far"]);
        let got = (format!("200 {bytes}"), Some(0));
        assert_eq!(road.curl(bytes, &SOCKS), got);
        assert_eq!(far.child.wait().unwrap().code(), Some(0));
        if !lose(&road, 10) {
            eprintln!("not tested with loss: nft has no random numbers here");
            return;
        }
    }
}

#[test]
fn a_norp_of_libnorm_at_the_near_side_downloads_by_our_far_side_also_with_a_tenth_lost() {
    let Some(road) = Road::make() else { return };
    let Some(program) = peer(&road) else { return };
    let (_web, _far) = (road.web(), ours_far(&road, &[]));
    let words = ["near", "2222", "10.88.0.2", "10.88.0.2", "8080"];
    for bytes in [1_000_000, 100_000] {
        let mut near = road.program("near", &program, &words);
        let url = format!("http://127.0.0.1:2222/{bytes}");
        let words = ["curl", "-sS", "--max-time", "50", "-o", "got", &url];
        assert!(road.output("near", &words).status.success());
        assert_eq!(std::fs::metadata(road.directory.join("got")).unwrap().len(), bytes);
        assert_eq!(near.child.wait().unwrap().code(), Some(0));
        if !lose(&road, 10) {
            return;
        }
    }
}

#[test]
fn who_is_not_named_is_not_answered_and_a_norp_that_is_not_there_is_gone_round() {
    let Some(road) = Road::make() else { return };
    let _web = road.web();
    let strange = ["--connections", "10"];
    let words = ["proxy", "server", "--compat", "nrl", "--listen", "0.0.0.0:7001"];
    let who = ["--accept", "other=10.88.0.7", "--allow", "10.88.0.2"];
    let _far = road.start("far", &[&words[..], &who, &strange].concat());
    let mut near = ours_near(&road, &["--fallback", "direct", "-v"]);
    assert_eq!(road.curl(1000, &SOCKS).0, "200 1000");
    assert_eq!(near.wait_for("fallback")["peer"], "far");
}
