//! What the command says and how it ends when something is wrong.

use std::{
    ffi::OsStr,
    time::{Duration, Instant},
};

use crate::support::{Ended, Running, Stage, assert_same, entries};

fn run(args: &[&str]) -> Ended {
    Running::start(&args.iter().map(OsStr::new).collect::<Vec<_>>(), None).end()
}

/// The error of a command that must fail with `code`.
#[track_caller]
fn error(code: i32, args: &[&str]) -> String {
    run(&[args, &["--json"]].concat()).expect(code).error()
}

/// Which receiver reported something first, and what.
fn reported(sent: &Ended) -> (String, String) {
    let first = sent.all("reported")[0];
    let outcomes = sent.result()["outcomes"].as_array().unwrap();
    let receiver = outcomes.iter().find(|outcome| outcome["id"] == first["id"]).unwrap();
    let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
    (text(&receiver["name"]), text(&first["reason"]))
}

#[test]
fn a_missing_file_is_named_and_nothing_is_sent() {
    let missing = "error: file (x.bin): there is no such file. Check its name";
    assert_eq!(error(2, &["send", "x.bin"]), missing);
}

#[test]
fn an_address_that_is_no_group_is_explained() {
    let told = error(2, &["send", "/etc/hostname", "--group", "10.0.0.1:6003"]);
    let why = "10.0.0.1 is not a multicast address (224.0.0.0/4 or ff00::/8). For one receiver use --unicast.";
    assert!(told.ends_with(why), "{told}");
}

#[test]
fn an_unknown_interface_is_answered_with_those_there_are() {
    let told = error(2, &["send", "/etc/hostname", "--interface", "eth99"]);
    assert!(
        told.contains("eth99") && told.contains("--interface") && told.contains("127.0.0.1"),
        "{told}"
    );
}

#[test]
fn rates_that_are_none_are_answered_with_the_accepted_forms() {
    let huge = "18446744073709551616";
    for rate in ["0", "-1", "1,000", "1GB", "", "1e999", huge, "10 M"] {
        let told = error(2, &["send", "/etc/hostname", "--rate", rate]);
        assert!(told.starts_with(&format!("error: rate ({rate}): ")), "{told}");
        let write = if rate == "1GB" { ". Write 1G for" } else { ". Write bits per second as" };
        assert!(told.contains(write) && told.trim_end().lines().count() == 1, "{told}");
    }
    assert!(
        error(2, &["send", "/etc/hostname", "--one-way", "--cc", "auto"]).contains("--one-way")
    );
}

#[test]
fn a_block_too_long_for_its_code_is_refused() {
    assert_eq!(
        error(2, &["send", "/etc/hostname", "--fec", "200:100"]),
        "error: fec (200:100): k+parity = 300 > 255 for GF(2^8). Use --fec-id 2 or at most 255"
    );
}

#[test]
fn a_segment_that_receivers_do_not_take_is_refused() {
    let told =
        error(2, &["send", "/etc/hostname", "--segment", "9000", "--interface", "127.0.0.1"]);
    assert!(told.contains("9000") && told.contains("1400"), "{told}");
}

#[test]
fn what_the_command_line_cannot_read_is_told_in_json_too() {
    let told = run(&["send", "--no-such-option", "--json"]).expect(2);
    assert_eq!(told.all("error")[0]["code"], "usage");
}

#[test]
fn a_directory_that_cannot_be_used_is_refused_before_anything_is_joined() {
    let stage = Stage::new();
    let missing = stage.path("nowhere");
    let told = error(2, &["recv", missing.to_str().unwrap()]);
    assert!(told.contains("--create-dirs"), "{told}");
    assert!(error(5, &["recv", "/proc"]).contains("not writable"));
    let file = stage.file("file", 1);
    error(2, &["recv", file.to_str().unwrap()]);
}

#[test]
fn with_nobody_there_it_says_so_and_never_ends_with_success() {
    let stage = Stage::new();
    let sent = stage.send(&["/etc/hostname", "--wait", "300ms"]).expect(6);
    let port = stage.group.rsplit_once(':').unwrap().1;
    let expected = format!(
        "error: receivers (0): no receiver answered on {} in 0.3 s. Start receivers with 'fanfare \
         recv', or send to whoever listens with --one-way. Firewalls of both sides must let in UDP \
         port {port}. To find the cause, run 'fanfare doctor --group {} --interface lo'",
        stage.group, stage.group
    );
    assert_eq!(sent.error(), expected);
}

#[test]
fn fewer_receivers_than_expected_is_partial() {
    let stage = Stage::new();
    let receivers = ["a", "b"].map(|name| stage.recv(name, &["--once"]));
    let sent = stage.send(&["/etc/hostname", "--expect", "3", "--wait", "2s"]).expect(3);
    assert_eq!(sent.result()["complete"], 2);
    assert!(sent.error().contains("2 of 3 complete"), "{}", sent.error());
    assert!(sent.stderr.lines().filter(|line| line.contains("complete  ")).count() >= 2);
    receivers.into_iter().for_each(|receiver| {
        receiver.end().expect(0);
    });
}

#[test]
fn a_receiver_expected_by_name_and_not_there_is_named() {
    let stage = Stage::new();
    let receiver = stage.recv("a", &["--once"]);
    let sent = stage.send(&["/etc/hostname", "--expect", "a,ghost", "--wait", "1s"]).expect(3);
    assert_eq!(sent.result()["missing"], serde_json::json!(["ghost"]));
    assert!(sent.error().contains("ghost missing"));
    receiver.end().expect(0);
}

#[test]
fn a_receiver_with_a_full_disk_goes_on_with_other_files_and_its_sender_is_told() {
    let stage = Stage::new();
    stage.file("out/big", 5_000_000);
    stage.file("out/fits", 300_000);
    let Some(_mount) = stage.file_system("in", "size=2m") else { return };
    let receivers = ["in", "roomy", "wide"].map(|name| stage.recv(name, &["--once"]));
    let more = ["--expect=in,roomy,wide".into(), "--rate=50M".into()];
    let sent = stage.send(&[&[stage.path("out")], &more[..]].concat()).expect(3);
    assert_eq!(reported(&sent), ("in".to_owned(), "disk-full".to_owned()));
    let named = sent.stderr.lines().any(|line| line.starts_with("in ") && line.contains("partial"));
    assert!(named && sent.error().contains("2 of 3 complete"), "{}", sent.stderr);
    for outcome in sent.result()["outcomes"].as_array().unwrap() {
        let expected = if outcome["name"] == "in" { "partial" } else { "complete" };
        assert_eq!(outcome["outcome"], expected);
    }
    let [small, roomy, wide] = receivers.map(Running::end);
    assert!(
        small.stderr.contains("disk-full") || small.stderr.contains("space"),
        "{}",
        small.stderr
    );
    assert_eq!(small.expect(3).result()["files"], 1);
    roomy.expect(0);
    wide.expect(0);
    assert_eq!(entries(&stage.path("in/out")), ["fits"]);
    for name in ["roomy", "wide"] {
        assert_same(&stage.path("out/big"), &stage.path(name).join("out/big"));
    }
}

#[test]
fn a_read_only_file_system_is_refused_before_anything_is_joined() {
    let stage = Stage::new();
    let Some(_mount) = stage.file_system("in", "ro") else { return };
    let path = stage.path("in");
    assert!(error(5, &["recv", path.to_str().unwrap()]).contains("not writable"));
}

#[cfg(target_os = "linux")]
#[test]
fn a_disk_that_fails_to_sync_keeps_the_file_from_its_name_and_the_sender_is_told() {
    let stage = Stage::new();
    let file = stage.file("out/f", 3_000_000);
    let failing = stage.recv_without_sync("failing", &["--once"]);
    let sound = stage.recv("sound", &["--once"]);
    let args = ["--expect=failing,sound".into(), "--rate=50M".into()];
    let sent = stage.send(&[std::slice::from_ref(&file), &args[..]].concat()).expect(3);
    assert_eq!(reported(&sent), ("failing".to_owned(), "disk-error".to_owned()));
    failing.end().expect(5);
    sound.end().expect(0);
    assert_same(&file, &stage.path("sound/f"));
    assert!(!stage.path("failing/f").exists());
}

#[test]
fn a_hostile_name_never_leaves_the_directory_and_the_sender_is_told() {
    for name in ["../../etc/passwd", "/abs", ".fanfare-x", "a//b", &"x".repeat(300)] {
        let stage = Stage::new();
        let receiver = stage.recv("in", &["--once"]);
        let args = [
            "send",
            "-",
            "--stdin-name",
            name,
            "--json",
            "--interface",
            "127.0.0.1",
            "--group",
            &stage.group,
        ];
        let args = args.map(OsStr::new);
        let sent = Running::start(&args, Some(b"harmless")).end().expect(3);
        assert_eq!(sent.all("reported")[0]["reason"], "name-rejected");
        let received = receiver.end().expect(3);
        assert!(received.error().contains("not under their names"), "{}", received.stderr);
        assert!(received.all("file")[0]["name_rejected"].is_string());
        let hex = blake3::hash(b"harmless").to_hex();
        assert_eq!(entries(&stage.path("in")), [format!("unnamed-{}", &hex[..16])]);
        assert_eq!(entries(&stage.path("")), ["in"]);
    }
}

#[test]
fn a_file_that_changes_and_is_gone_while_it_is_sent_leaves_an_older_one_at_receivers_as_it_was() {
    let stage = Stage::new();
    let file = stage.file("out/f", 500_000);
    stage.file("in/f", 1000);
    let before = std::fs::read(stage.path("in/f")).unwrap();
    let mut receiver = stage.recv("in", &["--timeout=20s"]);
    let mut sender = stage.start("send", &[file.as_os_str(), OsStr::new("--rate=4M")]);
    sender.wait_for("sending");
    std::fs::write(&file, vec![7; 500_000]).unwrap();
    std::fs::remove_file(&file).unwrap();
    let sent = sender.end().expect(3);
    assert!(sent.error().contains("/f"), "{}", sent.error());
    let failed = receiver.wait_for("failed");
    // Withdrawn before all of it had come, or after.
    let reason = failed["reason"].as_str().unwrap();
    assert!(failed["name"] == "f" && ["aborted", "hash-mismatch"].contains(&reason), "{failed}");
    receiver.interrupt();
    receiver.end().expect(130);
    assert_eq!(std::fs::read(stage.path("in/f")).unwrap(), before);
    assert_eq!(entries(&stage.path("in")), ["f"]);
}

#[test]
fn an_interrupted_sender_tells_its_receivers_and_is_gone_long_before_it_would_be_done() {
    let stage = Stage::new();
    let file = stage.file("out/f", 5_000_000);
    let mut receiver = stage.recv("in", &[]);
    let mut sender = stage.start("send", &[file.as_os_str(), OsStr::new("--rate=2M")]);
    sender.wait_for("progress");
    let asked = Instant::now();
    sender.interrupt();
    let sent = sender.end().expect(130);
    assert!(asked.elapsed() < Duration::from_secs(10), "{:?}", asked.elapsed());
    assert_eq!(sent.result()["complete"], 0);
    assert_eq!(receiver.wait_for("gone")["said"], true);
}

#[test]
fn an_interrupted_receiver_tells_its_sender_and_keeps_what_it_has() {
    let stage = Stage::new();
    let file = stage.file("out/f", 5_000_000);
    let mut receiver = stage.recv("in", &[]);
    let mut sender = stage.start("send", &[file.as_os_str(), OsStr::new("--rate=4M")]);
    sender.wait_for("sending");
    receiver.wait_for("object");
    let asked = Instant::now();
    receiver.interrupt();
    receiver.end().expect(130);
    assert!(asked.elapsed() < Duration::from_secs(10), "{:?}", asked.elapsed());
    let kept = entries(&stage.path("in"));
    assert!(kept.len() == 2 && kept[0].ends_with(".manifest"), "{kept:?}");
    assert!(kept[1].ends_with(".part"), "{kept:?}");
    let sent = sender.end().expect(3);
    assert_eq!(sent.result()["outcomes"][0]["outcome"], "left");
}

#[test]
fn a_receiver_that_nobody_sends_to_gives_up_when_told_so() {
    let stage = Stage::new();
    let received = stage.recv("in", &["--timeout", "200ms"]).end().expect(6);
    assert!(received.error().contains("200ms"));
}

#[test]
fn a_receiver_below_the_least_rate_is_given_up_told_and_named() {
    // Loss 50 % at one of two; 9 MB at 6 Mbit/s, of which it gets 3.
    let stage = Stage::new();
    let file = stage.file("out/f", 9_000_000);
    let fast = stage.recv("fast", &["--once"]);
    let slow = stage.recv("slow", &["--once", "--test-drop", "0.5"]);
    let options = ["--expect", "fast,slow", "--rate", "6M", "--slow", "evict", "--min-rate", "4M"];
    let options = options.map(OsStr::new);
    let sent = stage.send(&[&[file.as_os_str()], &options[..]].concat()).expect(3);
    let verdicts = sent.all("slow");
    assert_eq!((verdicts.len(), &verdicts[0]["verdict"]), (1, &"evicted".into()));
    assert_eq!(verdicts[0]["name"], "slow");
    assert!(verdicts[0]["rate_bps"].as_u64().unwrap() < 4_000_000);
    assert!(sent.error().contains("slow evicted"), "{}", sent.error());
    assert!(sent.all("progress").iter().any(|progress| progress["lossiest"] == "slow"));
    fast.end().expect(0);
    let slow = slow.end();
    assert_ne!(slow.code, Some(0));
    assert_eq!(slow.all("evicted").len(), 1, "{}", slow.stderr);
}

#[test]
fn two_quick_interrupts_leave_the_last_line_of_json() {
    let stage = Stage::new();
    for _ in 0..12 {
        let running = stage.recv("in", &[]);
        running.interrupt();
        running.interrupt();
        running.end().expect(130);
    }
}
