//! Mistakes that newcomers have made: each is answered with what is wrong, why, and what to do, and with the
//! exit code of the table in docs/reference/exit-codes.md.

use std::{
    ffi::OsStr,
    fs,
    net::UdpSocket,
    os::unix::fs::PermissionsExt as _,
    path::Path,
    process::{Command, Output, Stdio},
    time::Duration,
};

use crate::support::{Ended, Running, Stage, assert_same};

/// Somebody else's user, who may do nothing in the directories of root.
const NOBODY: &str = "65534";

/// One command line that is wrong, from a directory in which a file `f`, a directory `d`, a pipe `fifo`, a
/// key `open` that others may read and a directory `out` with a link that leads out are.
struct Mistake {
    line: &'static str,
    code: i32,
    /// Parts of what is said: the thing as the user typed it, why, and what to do.
    says: &'static [&'static str],
}

const MISTAKES: &[Mistake] = &[
    Mistake { line: "send nope", code: 2, says: &["file (nope)", "no such file", "Check"] },
    Mistake { line: "send", code: 2, says: &["PATH", "missing", "send --help"] },
    Mistake { line: "send f --exepct 3", code: 2, says: &["--exepct", "not known", "--expect?"] },
    Mistake { line: "snd f", code: 2, says: &["snd", "not known", "mean send?"] },
    Mistake { line: "send f --interface eht0", code: 2, says: &["eht0", "no interface", "lo ("] },
    Mistake { line: "recv d --interface eht0", code: 2, says: &["eht0", "no interface", "lo ("] },
    Mistake { line: "send f NET --wait 1s", code: 6, says: &["no receiver", "recv", "doctor"] },
    Mistake { line: "send f NET --wait x", code: 2, says: &["wait (x)", "not a time", "30s"] },
    Mistake { line: "recv nope NET", code: 2, says: &["(nope)", "no such dir", "--create-dirs"] },
    Mistake { line: "recv f NET", code: 2, says: &["(f)", "not a directory", "Name one"] },
    Mistake { line: "send f --group 300.1.1.1:5", code: 2, says: &["300.1.1.1:5", "239.255.42.1"] },
    Mistake {
        line: "send f --group 239.1.1.1",
        code: 2,
        says: &["239.1.1.1", "with a port", "6003"],
    },
    Mistake { line: "send f NET --rate 10x", code: 2, says: &["10x", "not a unit", "10M"] },
    Mistake { line: "send f NET --rate 10 --wait 1s", code: 6, says: &["10 bit/s", "as 10M"] },
    Mistake {
        line: "send f NET --expect 0",
        code: 2,
        says: &["expect (0)", "not a number", "as 3"],
    },
    Mistake { line: "send f NET --expect three --wait 1s", code: 6, says: &["three", "missing"] },
    Mistake {
        line: "send f NET --one-way --expect 3",
        code: 2,
        says: &["expect (3)", "with --one-way", "Give"],
    },
    Mistake {
        line: "send f NET --key open",
        code: 4,
        says: &["(open)", "others may", "chmod 600"],
    },
    Mistake {
        line: "send f NET --key nope",
        code: 4,
        says: &["(nope)", "cannot be read", "Check"],
    },
    Mistake { line: "key new open", code: 2, says: &["(open)", "of this name", "another name"] },
    Mistake {
        line: "recv 7-otter-granit-river NET",
        code: 2,
        says: &["granit", "no word of a code", "'granite'"],
    },
    Mistake {
        line: "recv --to /dev/nwcY NET",
        code: 2,
        says: &["/dev/nwcY", "no such dev", "lsblk"],
    },
    Mistake { line: "recv --to / NET", code: 2, says: &["(/)", "a directory", "name a file"] },
    Mistake { line: "recv --to= NET", code: 2, says: &["to", "value", "--help"] },
    Mistake { line: "send /dev/null NET", code: 2, says: &["/dev/null", "neither a file", "pipe"] },
    Mistake { line: "send fifo NET", code: 2, says: &["fifo", "neither a file", "pipe"] },
    Mistake { line: "send out NET", code: 2, says: &["out/link", "leads out", "--links"] },
];

/// A directory as [`Mistake`] says.
fn place(stage: &Stage) -> String {
    stage.text("f", "content");
    fs::create_dir_all(stage.path("d")).unwrap();
    fs::create_dir_all(stage.path("out")).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", stage.path("out/link")).unwrap();
    let key = stage.text("open", "no key");
    fs::set_permissions(&key, fs::Permissions::from_mode(0o644)).unwrap();
    assert!(Command::new("mkfifo").arg(stage.path("fifo")).status().unwrap().success());
    format!("--group {} --interface 127.0.0.1", stage.group)
}

fn run(mut command: Command, stage: &Stage) -> Output {
    command
        .current_dir(stage.path(""))
        .env("XDG_CONFIG_HOME", stage.path("config"))
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

/// Fault of an answer, if it has one.
fn fault(output: &Output, code: i32, says: &[&str]) -> Option<String> {
    let told = String::from_utf8_lossy(&output.stderr);
    let said = || format!("{:?}\n{told}", output.status.code());
    let errors: Vec<&str> = told.lines().filter(|line| line.starts_with("error: ")).collect();
    let [error] = errors[..] else { return Some(format!("not one error: {}", said())) };
    if output.status.code() != Some(code) {
        return Some(format!("not exit {code}: {}", said()));
    }
    if let Some(word) = says.iter().find(|word| !told.contains(**word)) {
        return Some(format!("nothing of '{word}': {}", said()));
    }
    // WHAT (VALUE): WHY. WHAT TO DO
    let in_form = error.split_once(": ").and_then(|(_, rest)| rest.split_once(": "));
    let tells_what_to_do = in_form.is_some_and(|(_, why)| why.contains(". ") || why.contains("? "));
    let asks = error.ends_with('?');
    (!tells_what_to_do && !asks).then(|| format!("does not say what to do: {}", said()))
}

#[test]
fn each_mistake_on_a_command_line_says_what_why_and_what_to_do() {
    let stage = Stage::new();
    let net = place(&stage);
    let mut wrong = Vec::new();
    for Mistake { line, code, says } in MISTAKES {
        let words = line.replace("NET", &net);
        let mut command = Command::new(crate::PROGRAM);
        command.args(words.split(' '));
        if let Some(fault) = fault(&run(command, &stage), *code, says) {
            wrong.push(format!("{line}: {fault}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn who_may_not_read_or_write_is_told_so_with_exit_4() {
    let is_root = Command::new("id").arg("-u").output().unwrap().stdout == b"0\n";
    let stage = Stage::new();
    let net = place(&stage);
    fs::set_permissions(stage.path("f"), fs::Permissions::from_mode(0o000)).unwrap();
    fs::set_permissions(stage.path("d"), fs::Permissions::from_mode(0o555)).unwrap();
    for (line, says) in [
        ("send f NET", ["file (f)", "permission denied", "Run as"]),
        ("recv d NET", ["(d)", "not writable", "Use one"]),
    ] {
        let words = line.replace("NET", &net);
        let mut command = Command::new("setpriv");
        let ids =
            [format!("--reuid={NOBODY}"), format!("--regid={NOBODY}"), "--clear-groups".into()];
        command.args(ids).arg(crate::PROGRAM);
        if !is_root {
            command = Command::new(crate::PROGRAM);
        }
        command.args(words.split(' ')).env("HOME", "/nowhere");
        let output = run(command, &stage);
        assert_eq!(fault(&output, 4, &says), None, "{line}");
    }
}

#[test]
fn a_port_that_another_program_has_for_itself_is_told_with_exit_5() {
    let stage = Stage::new();
    let net = place(&stage);
    let group = stage.group.clone();
    // The stage keeps the same number on loopback; a program that takes it everywhere is another one.
    let free = UdpSocket::bind("0.0.0.0:0").unwrap();
    let port = free.local_addr().unwrap().port().to_string();
    let (_, of_stage) = group.split_once(':').unwrap();
    let net = net.replace(of_stage, &port);
    let mut command = Command::new(crate::PROGRAM);
    command.args(["recv", "d"]).args(net.split(' '));
    let says = ["port (", "another program", "use another port"];
    assert_eq!(fault(&run(command, &stage), 5, &says), None);
}

#[test]
fn two_senders_on_one_machine_both_have_their_file_received_once() {
    let stage = Stage::new();
    let (large, small) = (stage.file("large", 6_000_000), stage.file("small", 100_000));
    let receiver = stage.recv("in", &["--once"]);
    let mut first = stage.start("send", &[large.as_os_str(), OsStr::new("--rate=16M")]);
    first.wait_for("sending");
    first.wait_for("progress");
    stage.send(&[small.as_os_str()]).expect(0);
    first.end().expect(0);
    receiver.end().expect(0);
    assert_same(&large, &stage.path("in/large"));
    assert_same(&small, &stage.path("in/small"));
}

#[test]
fn a_sender_that_was_killed_is_not_waited_for_when_another_has_ended() {
    let stage = Stage::new();
    let (large, small) = (stage.file("large", 6_000_000), stage.file("small", 100_000));
    let receiver = stage.recv("in", &["--once"]);
    let mut first = stage.start("send", &[large.as_os_str(), OsStr::new("--rate=4M")]);
    first.wait_for("sending");
    first.wait_for("progress");
    first.kill();
    stage.send(&[small.as_os_str()]).expect(0);
    let begun = std::time::Instant::now();
    receiver.end().expect(0);
    assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", begun.elapsed());
    assert_same(&small, &stage.path("in/small"));
}

#[test]
fn a_file_that_changes_while_it_is_sent_arrives_as_it_is_and_that_is_told() {
    let stage = Stage::new();
    let file = stage.file("f", 2_000_000);
    let receiver = stage.recv("in", &["--once"]);
    let mut sender = stage.start("send", &[file.as_os_str(), OsStr::new("--rate=8M")]);
    sender.wait_for("sending");
    sender.wait_for("progress");
    fs::write(&file, vec![7; 2_000_000]).unwrap();
    let told = sender.wait_for_warning("source.again");
    assert!(told.contains("/f)") && told.contains("changed while it was sent"), "{told}");
    sender.end().expect(0);
    receiver.end().expect(0);
    assert_same(&file, &stage.path("in/f"));
}

#[test]
fn a_name_that_a_directory_has_is_told_by_both_ends_with_exit_3() {
    let stage = Stage::new();
    let file = stage.file("f", 1000);
    fs::create_dir_all(stage.path("in/f/mine")).unwrap();
    let receiver = stage.recv("in", &["--once"]);
    let sent = stage.send(&[file.as_os_str(), OsStr::new("--expect=1")]).expect(3);
    assert!(sent.error().contains("in partial"), "{}", sent.stderr);
    let received = receiver.end().expect(3);
    let error = received.error();
    assert!(
        error.contains("not under their names") && error.contains("See the warnings"),
        "{error}"
    );
    assert!(received.stderr.contains("is a directory here"), "{}", received.stderr);
}

#[test]
fn too_many_expected_are_told_and_too_few_are_no_fault() {
    let stage = Stage::new();
    let file = stage.file("f", 1000);
    for (expect, code) in [("--expect=3", 3), ("--expect=1", 0)] {
        let (a, b) = (stage.recv("a", &["--once"]), stage.recv("b", &["--once"]));
        let args = [file.as_os_str(), OsStr::new(expect), OsStr::new("--wait=2s")];
        let sent = stage.send(&args).expect(code);
        if code == 3 {
            assert!(sent.error().contains("(2 of 3 complete)"), "{}", sent.stderr);
        }
        a.end().expect(0);
        b.end().expect(0);
        fs::remove_dir_all(stage.path("a")).unwrap();
        fs::remove_dir_all(stage.path("b")).unwrap();
    }
}

/// `fanfare send`, as people run it: without JSON.
fn plain(stage: &Stage, args: &[&str]) -> Command {
    let mut command = Command::new(crate::PROGRAM);
    command.args(args).args(["--group", &stage.group, "--interface", "127.0.0.1"]);
    command.env("XDG_CONFIG_HOME", stage.path("config")).stdin(Stdio::null());
    command
}

#[test]
fn who_presses_ctrl_c_is_told_how_to_go_on_and_the_same_command_does() {
    let stage = Stage::new();
    let file = stage.file("f", 3_000_000);
    let path = file.to_str().unwrap();
    let receiver = stage.recv("in", &[]);
    let mut sender = stage.start("send", &[path, "--rate=8M"]);
    sender.wait_for("sending");
    sender.wait_for("progress");
    sender.wait_for("progress");
    sender.interrupt();
    let ended: Ended = sender.end().expect(130);
    assert!(ended.stderr.contains("the same command sends the rest"), "{}", ended.stderr);
    let again = plain(&stage, &["send", path, "--expect=1"]).output().unwrap();
    let told = String::from_utf8_lossy(&again.stderr);
    assert_eq!(again.status.code(), Some(0), "{told}");
    assert_same(&file, &stage.path("in/f"));
    drop::<Running>(receiver);
}

#[test]
fn a_closed_error_stream_ends_no_transfer() {
    let stage = Stage::new();
    let file = stage.file("f", 1_000_000);
    for closed in ["2>&-", "2>&1 | head -c 1 >/dev/null"] {
        let receiver = stage.recv("in", &["--once"]);
        let line = format!(
            "set -o pipefail; \"$0\" send \"$1\" --expect 1 --group {} --interface 127.0.0.1 {closed}",
            stage.group
        );
        let mut shell = Command::new("bash");
        shell.args(["-c", &line, crate::PROGRAM]).arg(&file).stdout(Stdio::null());
        assert_eq!(shell.status().unwrap().code(), Some(0), "{closed}");
        receiver.end().expect(0);
        assert_same(&file, &stage.path("in/f"));
        fs::remove_dir_all(stage.path("in")).unwrap();
    }
}

#[test]
fn a_key_at_one_side_only_and_another_key_are_told_with_exit_4() {
    let stage = Stage::new();
    let file = stage.file("f", 1000);
    let keys = ["one", "two"].map(|name| stage.path(name));
    for key in &keys {
        let made = plain(&stage, &[]).get_program().to_owned();
        let done = Command::new(made).args(["key", "new"]).arg(key).arg("-q").output().unwrap();
        assert!(done.status.success());
    }
    let key = |path: &Path| format!("--key={}", path.display());
    let (one, two) = (key(&keys[0]), key(&keys[1]));
    let receiver = stage.recv("in", &["--once", "--timeout=8s", &one]);
    let sent = stage.send(&[file.as_os_str(), OsStr::new("--wait=3s"), OsStr::new(&two)]).expect(4);
    assert!(sent.error().contains("another key") && sent.error().contains("fingerprint"));
    let received = receiver.end().expect(4);
    assert!(received.error().contains("another key"), "{}", received.stderr);
    let receiver = stage.recv("in", &["--once", "--timeout=8s", &one]);
    stage.send(&[file.as_os_str(), OsStr::new("--wait=3s")]).expect(6);
    let received = receiver.end().expect(4);
    assert!(received.error().contains("needs --key"), "{}", received.stderr);
}

#[test]
fn names_that_are_no_text_arrive_and_are_shown_escaped() {
    use std::os::unix::ffi::OsStrExt as _;
    let stage = Stage::new();
    let names = [OsStr::new("x\ny"), OsStr::from_bytes(b"z\xff"), OsStr::new("\u{fc}\u{2603}")];
    let paths: Vec<_> = names.iter().map(|name| stage.path("").join(name)).collect();
    for path in &paths {
        fs::write(path, "content").unwrap();
    }
    let receiver =
        plain(&stage, &["recv", stage.path("in").to_str().unwrap(), "--create-dirs", "--once"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
    let args: Vec<&OsStr> = paths.iter().map(|path| path.as_os_str()).collect();
    stage.send(&[&args[..], &[OsStr::new("--expect=1")]].concat()).expect(0);
    let told = receiver.wait_with_output().unwrap();
    let told = String::from_utf8(told.stdout).unwrap();
    assert!(told.contains("x\\ny") && told.contains("z\\xff"), "{told}");
    for (name, path) in names.iter().zip(&paths) {
        assert_same(path, &stage.path("in").join(name));
    }
}

#[test]
fn a_full_disk_is_told_by_both_ends_with_what_to_do() {
    let stage = Stage::new();
    let Some(_mounted) = stage.file_system("in", "size=1m") else { return };
    let file = stage.file("f", 4_000_000);
    let receiver = stage.recv("in", &["--once"]);
    let sent = stage.send(&[file.as_os_str(), OsStr::new("--expect=1")]).expect(3);
    assert!(sent.stderr.contains("'f': disk-full"), "{}", sent.stderr);
    let received = receiver.end().expect(5);
    assert!(received.error().contains("Free some space"), "{}", received.stderr);
}
