//! Lines that the kernel shapes with a token bucket, as home routers and operators do (`tc`, tbf).

use std::{ffi::OsStr, process::Command, time::Instant};

use crate::support::{Stage, assert_same, hosts::Hosts};

/// Bytes of the file: what 56 kbit/s carry in five seconds.
const BYTES: usize = 35_000;

/// All that the first host sends goes over a line of this rate, with a bucket of so many bytes.
fn shape(hosts: &Hosts, rate: &str, bucket: &str) {
    let shaped = Command::new("tc")
        .args(["-n", &hosts.host(1), "qdisc", "add", "dev", "eth0", "root", "tbf"])
        .args(["rate", rate, "burst", bucket, "latency", "200ms"])
        .status();
    assert!(shaped.is_ok_and(|status| status.success()), "tc: no tbf");
}

/// Sends a file to two hosts over one line of 56 kbit/s that lets a bucket of so many bytes pass at once. Gives
/// seconds, and how often the file was sent.
fn over_56_kbits(name: &str, bucket: &str) -> (f64, f64) {
    let (stage, hosts) = (Stage::new(), Hosts::new(name, 3));
    shape(&hosts, "56kbit", bucket);
    let file = stage.file("image", BYTES);
    let receivers = [2, 3].map(|n| {
        let dir = stage.path(&format!("in{n}"));
        let words = ["--create-dirs", "--once"].map(OsStr::new);
        let mut receiver =
            hosts.start(n, &[&[OsStr::new("recv"), dir.as_os_str()], &words[..]].concat());
        receiver.wait_for("start");
        (receiver, dir)
    });
    let began = Instant::now();
    let words = ["--expect", "2"].map(OsStr::new);
    let sent = hosts.start(1, &[&[OsStr::new("send"), file.as_os_str()], &words[..]].concat());
    let sent = sent.end().expect(0);
    let seconds = began.elapsed().as_secs_f64();
    for (receiver, dir) in receivers {
        receiver.end().expect(0);
        assert_same(&file, &dir.join("image"));
    }
    let wire = sent.result()["wire_bytes"].as_f64().unwrap();
    println!("bucket of {bucket}: {seconds:.1} s, sent {:.2} times", wire / BYTES as f64);
    (seconds, wire / BYTES as f64)
}

#[test]
fn over_a_shaped_line_a_transfer_ends_in_about_the_time_that_the_line_takes() {
    // The line alone takes 2.9 and 4.8 s. When probes filled its queue, it took for ever and 14 to 16 s.
    for (name, bucket, most, times) in [("sa", "16kb", 15.0, 1.6), ("sb", "3kb", 20.0, 2.6)] {
        let (seconds, sent) = over_56_kbits(name, bucket);
        assert!(seconds < most && sent < times, "{bucket}: {seconds:.1} s, sent {sent:.2} times");
    }
}

#[test]
fn who_publishes_lines_fast_is_held_to_what_a_shaped_line_carries_and_loses_none() {
    // With a fixed rate of 10 Mbit/s most of them were dropped by the line, and 700 of 5,000 were missing in the end.
    const LINES: usize = 3000;
    let (stage, hosts) = (Stage::new(), Hosts::new("sl", 3));
    shape(&hosts, "1mbit", "64kb");
    let lines: String = (0..LINES).map(|number| format!("{number:.<99}\n")).collect();
    let lines = stage.text("lines", &lines);
    let count = LINES.to_string();
    let subs = [2, 3].map(|n| {
        let mut sub = hosts.start(n, &["sub", "log", "--count", &count].map(OsStr::new));
        sub.wait_for("start");
        sub
    });
    let began = Instant::now();
    let words = [OsStr::new("pub"), OsStr::new("log"), lines.as_os_str(), OsStr::new("--lines")];
    hosts.start(1, &words).end().expect(0);
    let seconds = began.elapsed().as_secs_f64();
    for sub in subs {
        assert_eq!(sub.end().expect(0).all("message").len(), LINES);
    }
    // The line alone takes 2.4 s, and `pub` stays for 2.5 s at least.
    println!("{LINES} lines: {seconds:.1} s");
    assert!(seconds < 20.0, "{seconds:.1} s");
}
