//! Standard output and standard error that are closed, full, or read by nobody any more: no command ends for
//! that as if it had crashed, and transfers go on.

use std::{
    fs::File,
    process::{Command, ExitStatus, Stdio},
    thread,
    time::{Duration, Instant},
};

use crate::support::{Stage, assert_same};

/// A fault of a stream.
#[derive(Debug, Clone, Copy)]
enum StreamFault {
    /// Its reader has gone away.
    Unread,
    /// A full disk.
    Full,
}

const FAULTS: [StreamFault; 2] = [StreamFault::Unread, StreamFault::Full];

impl StreamFault {
    fn stream(self) -> Stdio {
        match self {
            Self::Unread => std::io::pipe().unwrap().1.into(),
            Self::Full => File::options().write(true).open("/dev/full").unwrap().into(),
        }
    }
}

/// Exit status with both streams at fault; ended by SIGINT where it goes on for long.
fn end(args: &[&str], fault: StreamFault) -> ExitStatus {
    let mut child = Command::new(crate::PROGRAM)
        .args(args)
        .env("XDG_CONFIG_HOME", std::env::temp_dir().join("fanfare-tests"))
        .stdin(Stdio::null())
        .stdout(fault.stream())
        .stderr(fault.stream())
        .spawn()
        .unwrap();
    let until = Instant::now() + Duration::from_secs(2);
    while Instant::now() < until {
        if let Some(status) = child.try_wait().unwrap() {
            return status;
        }
        thread::sleep(Duration::from_millis(20));
    }
    let id = child.id().to_string();
    let _ = Command::new("kill").args(["-INT", &id]).status();
    child.wait().unwrap()
}

#[test]
fn no_command_crashes_where_nobody_reads_what_it_says() {
    let stage = Stage::new();
    let net = ["--group", &stage.group, "--interface", "127.0.0.1"];
    let socket = stage.path("node.sock");
    let (socket, dir) = (socket.to_str().unwrap(), stage.path("in"));
    let (file, dir) = (stage.file("f", 9), dir.to_str().unwrap());
    let file = file.to_str().unwrap();
    let alone: [&[&str]; 16] = [
        &["--help"],
        &["snd"],
        &["send", "/none", "--json"],
        &["recv", "/none/none"],
        &["parts", "/none"],
        &["man", "send"],
        &["completions", "bash"],
        &["config", "check", "/none"],
        &["receipts", "verify", "/none"],
        &["trust", "list", "--file", "/none"],
        &["node", "status", "--socket", socket],
        &["lab", "run", "none"],
        &["relay", "none"],
        &["watch", "127.0.0.1:1"],
        &["norm-exec", "/none"],
        &["recv", "7-otter-granite-river", "--timeout", "1s"],
    ];
    let grouped: [&[&str]; 8] = [
        &["send", file, "--wait", "1s", "-vv"],
        &["recv", dir, "--create-dirs", "--timeout", "1s", "-vv"],
        &["pub", "t", "x"],
        &["sub", "t", "--timeout", "1s", "-v"],
        &["node", "--socket", socket, "-v"],
        &["pipe", "recv", "--timeout", "1s"],
        &["monitor"],
        &["doctor", "--peer-wait", "1s"],
    ];
    let all = alone.iter().map(|args| args.to_vec());
    let all = all.chain(grouped.iter().map(|args| [args, &net[..]].concat()));
    thread::scope(|scope| {
        for args in all {
            scope.spawn(move || {
                for fault in FAULTS {
                    let status = end(&args, fault);
                    // An exit code of its own: no signal, and no panic (101).
                    let is_own = status.code().is_some_and(|code| code <= 6 || code == 130);
                    assert!(is_own, "{args:?}, {fault:?}: {status}");
                }
            });
        }
    });
}

#[test]
fn what_is_printed_to_a_full_disk_is_told_as_lost_and_what_nobody_reads_is_not() {
    let stage = Stage::new();
    let key = stage.path("k");
    let key = key.to_str().unwrap();
    let made = Command::new(crate::PROGRAM).args(["key", "new", key]).output().unwrap();
    assert!(made.status.success());
    let printing: [&[&str]; 14] = [
        &["--help"],
        &["-h"],
        &["--version"],
        &["help"],
        &["help", "send"],
        &["send", "--help"],
        &["recv", "-h"],
        &["key", "show", key],
        &["key", "fingerprint", key],
        &["id"],
        &["man", "send"],
        &["completions", "bash"],
        &["doctor", "--peer-wait", "0s", "--interface", "127.0.0.1"],
        &["send", key, "--dry-run", "--interface", "127.0.0.1"],
    ];
    for args in printing {
        for fault in FAULTS {
            let output = Command::new(crate::PROGRAM)
                .args(args)
                .env("XDG_CONFIG_HOME", stage.path("config"))
                .stdin(Stdio::null())
                .stdout(fault.stream())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap()
                .wait_with_output()
                .unwrap();
            let said = String::from_utf8_lossy(&output.stderr);
            let lost = said.contains("error: output (standard output): cannot be written");
            let is_full = matches!(fault, StreamFault::Full);
            assert_eq!(lost, is_full, "{args:?}, {fault:?}: {said}");
            assert_eq!(output.status.code() == Some(5), is_full, "{args:?}, {fault:?}: {said}");
        }
    }
}

#[test]
fn a_transfer_goes_on_when_nobody_reads_what_both_ends_say() {
    for fault in FAULTS {
        let stage = Stage::new();
        let file = stage.file("f", 300_000);
        let start = |args: &[&str], mut output: Command| {
            let net = ["--group", &stage.group, "--interface", "127.0.0.1"];
            output.args(args).args(net).stdin(Stdio::null());
            output.stdout(fault.stream()).stderr(fault.stream()).spawn().unwrap()
        };
        let program = || Command::new(crate::PROGRAM);
        let dir = stage.path("in");
        let recv = ["recv", dir.to_str().unwrap(), "--create-dirs", "--once", "-v"];
        let mut receiver = start(&recv, program());
        let mut sender = start(&["send", file.to_str().unwrap(), "--expect", "1", "-v"], program());
        assert!(sender.wait().unwrap().success(), "{fault:?}");
        let code = receiver.wait().unwrap().code();
        // Names of files are data on standard output: a full disk there is told in the end.
        assert!(matches!(code, Some(0 | 5)), "{fault:?}: {code:?}");
        assert_same(&file, &stage.path("in/f"));
    }
}
