//! What is sent as it is read: standard input, and files that stand for block devices.

use std::{
    fs::File,
    io::{Read, Write},
    os::unix::fs::FileExt,
    path::Path,
    process::{Child, Command, Stdio},
    time::Duration,
};

use crate::support::{Running, Stage, assert_same, entries};

const MIB: usize = 1 << 20;

/// `fanfare send -`, and its standard input.
fn send_input(stage: &Stage, more: &[&str]) -> Child {
    Command::new(crate::PROGRAM)
        .args(["send", "-", "--group", &stage.group, "--interface", "127.0.0.1", "--quiet"])
        .args(more)
        .stdin(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .unwrap()
}

/// `fanfare recv --stdout`, and its standard output.
fn recv_output(stage: &Stage, name: &str) -> Child {
    Command::new(crate::PROGRAM)
        .args(["recv", "--stdout", "--group", &stage.group, "--interface", "127.0.0.1"])
        .args(["--quiet", "--name", name])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Kilobytes that a process has had in memory at most.
fn peak(child: &Child) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

fn kind_of(path: &Path) -> Vec<u8> {
    std::fs::read(path).unwrap()
}

#[test]
fn what_is_written_to_standard_input_arrives_before_it_is_closed() {
    let stage = Stage::new();
    let mut receiver = recv_output(&stage, "a");
    let mut sender = send_input(&stage, &["--expect", "1"]);
    let mut input = sender.stdin.take().unwrap();
    let mut output = receiver.stdout.take().unwrap();
    for line in ["one\n", "two\n"] {
        input.write_all(line.as_bytes()).unwrap();
        let mut come = [0; 4];
        output.read_exact(&mut come).unwrap();
        assert_eq!(come, line.as_bytes());
    }
    drop(input);
    let mut rest = Vec::new();
    output.read_to_end(&mut rest).unwrap();
    assert!(rest.is_empty());
    assert!(sender.wait().unwrap().success() && receiver.wait().unwrap().success());
}

#[test]
fn a_stream_longer_than_both_ends_keep_in_memory_arrives_whole() {
    let stage = Stage::new();
    let mut receiver = recv_output(&stage, "a");
    let mut sender = send_input(&stage, &["--expect", "1"]);
    let mut input = sender.stdin.take().unwrap();
    let block: Vec<u8> = (0..MIB).map(|n| (n % 251) as u8 + 1).collect();
    let feeder = std::thread::spawn(move || {
        (0..400).for_each(|_| input.write_all(&block).unwrap());
        block
    });
    let mut output = receiver.stdout.take().unwrap();
    let (mut buffer, mut bytes) = (vec![0; MIB], 0);
    let mut hasher = blake3::Hasher::new();
    let mut most = 0;
    loop {
        let count = output.read(&mut buffer).unwrap();
        if count == 0 {
            break;
        }
        hasher.update(&buffer[..count]);
        bytes += count;
        most = most.max(peak(&sender)).max(peak(&receiver));
    }
    let block = feeder.join().unwrap();
    let mut expected = blake3::Hasher::new();
    (0..400).for_each(|_| {
        expected.update(&block);
    });
    assert_eq!((bytes, hasher.finalize()), (400 * MIB, expected.finalize()));
    assert!(sender.wait().unwrap().success() && receiver.wait().unwrap().success());
    assert!(most < 200_000, "{most} kB");
}

#[test]
fn a_pipe_that_nobody_empties_slows_the_sender_and_then_all_arrives() {
    let stage = Stage::new();
    let mut receiver = recv_output(&stage, "a");
    let mut sender = send_input(&stage, &["--expect", "1"]);
    let mut input = sender.stdin.take().unwrap();
    let (told, written) = std::sync::mpsc::channel();
    let feeder = std::thread::spawn(move || {
        for n in 0..200_u64 {
            input.write_all(&vec![n as u8 | 1; MIB]).unwrap();
            told.send(n).unwrap();
        }
    });
    let mut last = 0;
    while let Ok(n) = written.recv_timeout(Duration::from_secs(5)) {
        last = n;
    }
    assert!(last < 120, "{last} MiB were read ahead of a pipe that nobody reads");
    let mut bytes = 0;
    let mut buffer = vec![0; MIB];
    let mut output = receiver.stdout.take().unwrap();
    while let count @ 1.. = output.read(&mut buffer).unwrap() {
        bytes += count;
    }
    feeder.join().unwrap();
    assert_eq!(bytes, 200 * MIB);
    assert!(sender.wait().unwrap().success() && receiver.wait().unwrap().success());
}

#[test]
fn a_pipe_that_nobody_empties_is_dropped_when_slow_receivers_are() {
    let stage = Stage::new();
    let stuck = recv_output(&stage, "stuck");
    let mut good = stage.recv("good", &["--once"]);
    let more = ["--expect", "2", "--slow", "evict", "--min-rate", "100M"];
    let mut sender = send_input(&stage, &more);
    let mut input = sender.stdin.take().unwrap();
    for n in 0..150_u64 {
        input.write_all(&vec![n as u8 | 1; MIB]).unwrap();
    }
    drop(input);
    assert_eq!(sender.wait().unwrap().code(), Some(3));
    good.wait_for("file");
    assert_eq!(std::fs::metadata(stage.path("good/stdin")).unwrap().len(), 150 * MIB as u64);
    let mut stuck = stuck;
    stuck.kill().unwrap();
    stuck.wait().unwrap();
}

#[test]
fn an_image_is_written_in_place_verified_and_its_zeros_do_not_travel() {
    let stage = Stage::new();
    let path = stage.path("disk");
    let disk = File::create(&path).unwrap();
    disk.set_len(64 << 20).unwrap();
    let data = kind_of(&stage.file("data", 3 * MIB + 77));
    disk.write_all_at(&data, (20 << 20) + 4096 * 3).unwrap();
    let old = stage.file("target", 70 * MIB);
    let to = [old.to_str().unwrap(), "--verify"];
    let mut receiver = stage.start("recv", &[&["--to"], &to[..]].concat());
    receiver.wait_for("start");
    let args = [path.to_str().unwrap(), "--as-stream", "--expect=1", "--rate=200M"];
    let sent = stage.send(&args).expect(0);
    let wire = sent.result()["wire_bytes"].as_u64().unwrap();
    assert!(wire < 4 << 20, "{wire}");
    let receipt = sent.all("receipt")[0];
    let hash = blake3::hash(&kind_of(&path)).to_hex().to_string();
    assert_eq!((&receipt["hash"], &receipt["bytes"]), (&hash.into(), &(64_u64 << 20).into()));
    let received = receiver.end().expect(0);
    assert_eq!(received.all("file")[0]["path"], old.to_str().unwrap());
    assert_same(&path, &old);
}

#[test]
fn what_an_interrupted_image_has_left_in_its_place_does_not_travel_again() {
    let stage = Stage::new();
    let source = stage.path("disk");
    let disk = File::create(&source).unwrap();
    disk.set_len(64 << 20).unwrap();
    let data = kind_of(&stage.file("data", 12 * MIB));
    disk.write_all_at(&data, 4096).unwrap();
    disk.write_all_at(&data[MIB..], 40 << 20).unwrap();
    let targets = ["a", "b"].map(|name| stage.path(name));
    // What an older image has left is no zeros.
    let old = kind_of(&stage.file("old", 66 * MIB));
    targets.iter().for_each(|target| std::fs::write(target, &old).unwrap());
    let start = |more: &[&str]| {
        let receivers = targets.each_ref().map(|target| {
            let mut receiver = stage.start("recv", &["--to", target.to_str().unwrap()]);
            receiver.wait_for("start");
            receiver
        });
        let args = [source.to_str().unwrap(), "--as-stream", "--sync", "--expect=2", "--cc=fixed"];
        (receivers, stage.start("send", &[&args, more].concat()))
    };
    let written = || {
        let same = |target: &Path| {
            let mut there = vec![0; data.len()];
            File::open(target).unwrap().read_exact_at(&mut there, 4096).unwrap();
            there.iter().zip(&data).take_while(|(one, other)| one == other).count()
        };
        targets.iter().map(|target| same(target)).min().unwrap()
    };
    let (receivers, sender) = start(&["--rate=12M"]);
    let begun = std::time::Instant::now();
    while written() < 6 * MIB && begun.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_millis(50));
    }
    sender.kill();
    receivers.into_iter().for_each(|receiver| receiver.kill());
    let left = written();
    assert!(left >= 6 * MIB && left < data.len(), "{left}");
    let (receivers, sender) = start(&["--rate=200M"]);
    let sent = sender.end().expect(0);
    receivers.into_iter().for_each(|receiver| drop(receiver.end().expect(0)));
    let wire = sent.result()["wire_bytes"].as_u64().unwrap() as usize;
    let lost = 23 * MIB - left;
    assert!(wire < lost * 11 / 10 + MIB, "{wire} sent, {lost} were lost");
    targets.iter().for_each(|target| assert_same(&source, target));
}

#[test]
fn a_receiver_of_a_stream_refuses_files_and_says_how_to_send_them() {
    let stage = Stage::new();
    let file = stage.file("out/data", 100_000);
    let target = stage.path("target");
    let mut receiver = stage.start("recv", &["--to", target.to_str().unwrap()]);
    receiver.wait_for("start");
    stage.send(&[file.to_str().unwrap(), "--expect=1", "--rate=50M"]).expect(3);
    let received = receiver.end();
    assert_ne!(received.code, Some(0));
    assert!(received.stderr.contains("--as-stream"), "{}", received.stderr);
}

#[test]
fn a_stream_whose_sender_is_interrupted_leaves_no_file_and_is_a_failure() {
    let stage = Stage::new();
    let receiver = stage.recv("in", &["--once"]);
    let args = ["send", "-", "--json", "--interface", "127.0.0.1", "--group", &stage.group];
    let mut sender = Command::new(crate::PROGRAM)
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut input = sender.stdin.take().unwrap();
    input.write_all(&vec![1; 3 * MIB]).unwrap();
    let mut receiver = receiver;
    receiver.wait_for("object");
    let id = sender.id().to_string();
    assert!(Command::new("kill").args(["-INT", &id]).status().unwrap().success());
    sender.wait().unwrap();
    let ended = receiver.end();
    assert!(matches!(ended.code, Some(1 | 3)), "{:?} {}", ended.code, ended.stderr);
    assert_eq!(entries(&stage.path("in")), [""; 0]);
}

#[test]
fn a_receiver_that_comes_late_to_a_stream_is_told_so_and_the_others_have_it() {
    let stage = Stage::new();
    let early = stage.recv("early", &["--once"]);
    let mut sender = send_input(&stage, &["--expect", "1"]);
    let mut input = sender.stdin.take().unwrap();
    for n in 0..150_u64 {
        input.write_all(&vec![n as u8 | 1; MIB]).unwrap();
    }
    let late = stage.recv("late", &["--once"]);
    for n in 0..150_u64 {
        input.write_all(&vec![n as u8 | 1; MIB]).unwrap();
    }
    drop(input);
    assert!(matches!(sender.wait().unwrap().code(), Some(0 | 3)));
    early.end().expect(0);
    assert_eq!(std::fs::metadata(stage.path("early/stdin")).unwrap().len(), 300 * MIB as u64);
    let late: Running = late;
    assert!(matches!(late.end().code, Some(1 | 3)));
    assert_eq!(entries(&stage.path("late")), [""; 0]);
}

#[test]
fn a_receiver_that_names_a_stream_takes_no_other() {
    let stage = Stage::new();
    let (one, two) = (stage.file("d1p1.img", 300_000), stage.file("d1p2.img", 300_000));
    let out = stage.path("disk");
    let named = ["--stream-name", "d1p2.img"];
    let args = [&["--to", out.to_str().unwrap()][..], &named].concat();
    let mut target = stage.start("recv", &args);
    target.wait_for("start");
    let directory = stage.recv("in", &[&named[..], &["--once"]].concat());
    let send = |path: &Path, expect: &str| {
        let path = path.to_str().unwrap();
        stage.send(&[path, "--as-stream", "--expect", expect, "--wait", "3s"])
    };
    // Nobody is there for it, although two listen.
    assert_eq!(send(&one, "2").code, Some(6));
    assert_eq!(std::fs::metadata(&out).map_or(0, |meta| meta.len()), 0);
    assert_eq!(send(&two, "2").code, Some(0));
    assert_eq!((target.end().code, directory.end().code), (Some(0), Some(0)));
    assert_same(&two, &out);
    assert_same(&two, &stage.path("in/d1p2.img"));
    assert_eq!(entries(&stage.path("in")), ["d1p2.img"]);
}

#[test]
fn the_first_receiver_may_come_later_than_a_receiver_may_be_silent() {
    let stage = Stage::new();
    let file = stage.file("image", 300_000);
    let args = [file.to_str().unwrap(), "--expect", "2", "--wait", "1s"];
    let waits = ["--first-wait", "forever", "--start-wait", "1s"];
    let mut sender = stage.start("send", &[&args[..], &waits].concat());
    sender.wait_for("start");
    std::thread::sleep(Duration::from_millis(2500));
    let receiver = stage.recv("in", &["--once"]);
    // It starts with the one that is there, and misses the other.
    assert_eq!((sender.end().code, receiver.end().code), (Some(3), Some(0)));
    assert_same(&file, &stage.path("in/image"));
}

#[test]
fn a_stream_ends_though_its_sender_dies_while_its_source_pauses() {
    let stage = Stage::new();
    let mut receiver = Command::new(crate::PROGRAM)
        .args(["recv", "--stdout", "--group", &stage.group, "--interface", "127.0.0.1"])
        .args(["--quiet", "--silence", "2s"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut sender = send_input(&stage, &["--expect", "1"]);
    let mut input = sender.stdin.take().unwrap();
    input.write_all(b"half").unwrap();
    let mut come = [0; 4];
    receiver.stdout.as_mut().unwrap().read_exact(&mut come).unwrap();
    // A source that pauses for longer than that is no silence.
    std::thread::sleep(Duration::from_millis(3500));
    input.write_all(b"more").unwrap();
    receiver.stdout.as_mut().unwrap().read_exact(&mut come).unwrap();
    assert_eq!(&come, b"more");
    sender.kill().unwrap();
    sender.wait().unwrap();
    assert_eq!(receiver.wait().unwrap().code(), Some(3));
}

#[test]
fn a_receiver_ends_when_nothing_begins_and_waits_for_a_source_that_pauses() {
    let stage = Stage::new();
    let out = stage.path("nothing");
    let args = ["--to", out.to_str().unwrap(), "--start-timeout", "1s"];
    let ended = stage.start("recv", &args).end();
    assert_eq!(ended.code, Some(6));
    assert!(ended.stderr.contains("start-timeout (1 s)"), "{}", ended.stderr);
    let mut receiver = stage.start("recv", &args);
    receiver.wait_for("start");
    let mut sender = send_input(&stage, &["--expect", "1"]);
    let mut input = sender.stdin.take().unwrap();
    input.write_all(b"half").unwrap();
    receiver.wait_for("object");
    std::thread::sleep(Duration::from_millis(2000));
    input.write_all(b"more").unwrap();
    drop(input);
    assert!(sender.wait().unwrap().success());
    assert_eq!(receiver.end().code, Some(0));
    assert_eq!(kind_of(&out), b"halfmore");
}
