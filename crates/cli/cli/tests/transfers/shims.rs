//! Scripts that call udpcast or UFTP, with only the path changed.

use std::{
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use crate::support::{Stage, assert_same};

/// A link to the program under this name.
fn link(stage: &Stage, name: &str) -> PathBuf {
    let path = stage.path(name);
    symlink(crate::PROGRAM, &path).unwrap();
    path
}

fn run(program: &Path, words: &str) -> Command {
    let mut command = Command::new(program);
    command.args(words.split_whitespace()).stdin(Stdio::null()).stderr(Stdio::null());
    command
}

#[test]
fn udp_sender_and_udp_receiver_carry_a_file_through_their_pipes() {
    let stage = Stage::new();
    let file = stage.file("image", 1_500_000);
    let (group, port) = stage.group.rsplit_once(':').unwrap();
    let place = format!("--mcast-rdv-address {group} --portbase {port} --interface lo --nokbd");
    let out = stage.path("out");
    let mut receiver = run(&link(&stage, "udp-receiver"), &place);
    receiver.args(["--pipe", "gzip -dc", "--file", out.to_str().unwrap()]);
    let mut receiver = receiver.spawn().unwrap();
    let words = format!("--full-duplex --min-receivers 1 --max-wait 60 --ttl 1 {place}");
    let mut sender = run(&link(&stage, "udp-sender"), &words);
    sender.args(["--pipe", "gzip -c", "-f", file.to_str().unwrap()]);
    assert!(sender.status().unwrap().success());
    assert!(receiver.wait().unwrap().success());
    assert_same(&file, &out);
}

#[test]
fn uftp_sends_to_uftpd() {
    let stage = Stage::new();
    let file = stage.file("image", 300_000);
    let (group, port) = stage.group.rsplit_once(':').unwrap();
    let place = format!("-I lo -M {group} -p {port}");
    let dir = stage.path("in");
    let words = format!("-d {place} -D {}", dir.display());
    let mut receiver = run(&link(&stage, "uftpd"), &words).spawn().unwrap();
    let words = format!("{place} -R -1 {}", file.display());
    let sent = run(&link(&stage, "uftp"), &words).status().unwrap();
    let _ = receiver.kill();
    receiver.wait().unwrap();
    assert!(sent.success());
    assert_same(&file, &dir.join("image"));
}
