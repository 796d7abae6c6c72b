//! `fanfare lab` from outside. It needs root; elsewhere each test says that it was not run, and why.

use std::{
    ffi::OsStr,
    os::unix::process::CommandExt as _,
    path::Path,
    process::{Command, Output},
};

use crate::support::{Running, Stage};
use fanfare_lab::check_rights;
use serde_json::Value;

const FANFARE: &str = crate::PROGRAM;

/// A network of two hosts, with a name of its own.
fn two(name: &str) -> String {
    format!(
        "[scenario]\nname = \"{name}\"\nduration = \"60s\"\n\
         [[node]]\nname = \"a\"\n[[node]]\nname = \"b\"\n[[node]]\nname = \"c\"\n\
         [[link]]\nfrom = \"*\"\nto = \"*\"\ndelay = \"2ms\"\n"
    )
}

fn may_not() -> bool {
    let refused = check_rights().err();
    refused.iter().for_each(|why| eprintln!("not tested: {why}"));
    refused.is_some()
}

fn start(args: &[&OsStr]) -> Running {
    Running::start(&[&[OsStr::new("lab")], args].concat(), None)
}
fn up(file: &Path) -> (Running, Value) {
    let mut lab = start(&["up".as_ref(), file.as_ref(), "--json".as_ref()]);
    let up = lab.wait_for("up");
    (lab, up)
}
fn lab(args: &[&str]) -> Output {
    Command::new(FANFARE).arg("lab").args(args).output().unwrap()
}
fn has_namespace(name: &str) -> bool {
    let listed = Command::new("ip").args(["netns", "list"]).output().unwrap();
    String::from_utf8_lossy(&listed.stdout).lines().any(|line| line.starts_with(name))
}

#[test]
fn a_lab_that_is_up_is_found_by_others_and_goes_down_when_it_is_told() {
    if may_not() {
        return;
    }
    let stage = Stage::new();
    let file = stage.path("two.toml");
    std::fs::write(&file, two("found")).unwrap();
    let (running, up) = up(&file);
    let name = up["lab"].as_str().unwrap();
    let told =
        lab(&["exec", "b", "--lab", name, "--", "sh", "-c", "echo $FANFARE_ADDRESS; exit 7"]);
    let text = String::from_utf8_lossy(&told.stderr).into_owned();
    assert_eq!((told.status.code(), told.stdout), (Some(7), b"10.77.0.2\n".to_vec()), "{text}");
    let status = lab(&["status", "--lab", "found", "--json"]).stdout;
    let first: Value =
        serde_json::from_slice(status.split(|b| *b == b'\n').next().unwrap()).unwrap();
    assert_eq!((&first["lab"], &first["hosts"][2]["name"]), (&up["lab"], &"c".into()));
    let nobody = lab(&["exec", "z", "--lab", name, "--", "true"]);
    assert_eq!(nobody.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&nobody.stderr).contains("Hosts: a, b, c"));
    assert!(lab(&["down", "--lab", name]).status.success());
    assert!(!has_namespace(name));
    running.end().expect(0);
}

#[test]
fn what_a_killed_lab_has_left_is_cleared() {
    if may_not() {
        return;
    }
    let stage = Stage::new();
    let file = stage.path("two.toml");
    std::fs::write(&file, two("killed")).unwrap();
    let (running, up) = up(&file);
    let name = up["lab"].as_str().unwrap();
    running.kill();
    // Another test's lab may have cleared it by now; after this it is gone for certain.
    assert!(lab(&["down", "--lab", name]).status.success());
    assert!(!has_namespace(name));
}

#[test]
fn ctrl_c_takes_a_lab_down() {
    if may_not() {
        return;
    }
    let stage = Stage::new();
    let file = stage.path("two.toml");
    std::fs::write(&file, two("interrupted")).unwrap();
    let (running, up) = up(&file);
    running.interrupt();
    running.end().expect(0);
    assert!(!has_namespace(up["lab"].as_str().unwrap()));
}

#[test]
fn ctrl_c_twice_leaves_no_namespace_of_a_run() {
    if may_not() {
        return;
    }
    let stage = Stage::new();
    let file = stage.path("many.toml");
    let run = "[[program]]\nnode = \"a\"\ncommand = \"trap '' INT TERM; sleep 60\"\n";
    let nodes = "[[node]]\nname = \"n\"\ncount = 31\n";
    let many = two("twice").replace("[[node]]\nname = \"c\"\n", nodes) + run;
    std::fs::write(&file, many).unwrap();
    let mut running = start(&["run".as_ref(), file.as_ref(), "--json".as_ref()]);
    let up = running.wait_for("up");
    running.interrupt();
    running.interrupt();
    let ended = running.end();
    assert_eq!(ended.code, Some(130), "{:?}", ended.events);
    assert!(!has_namespace(up["lab"].as_str().unwrap()));
}

#[test]
fn lab_down_all_finds_what_nobody_announced_by_its_name() {
    if may_not() {
        return;
    }
    // On a machine of its own, as it were: others may have labs up here.
    let program = std::fs::canonicalize(FANFARE).unwrap();
    let script = "mount -t tmpfs none /run && mkdir -p /run/netns && \
        for name in ffl1x0h0 ffl1x0h1 ffl1x3b mine; do ip netns add $name; done && \
        \"$0\" lab down --json && ip netns list | wc -l && \
        \"$0\" lab down --all --json && ip netns list";
    let done = Command::new("unshare")
        .args(["--mount", "sh", "-c", script])
        .arg(&program)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&done.stdout).into_owned();
    let told: Vec<&str> = text.lines().collect();
    // Process 1 is alive: only --all takes what it seems to have made.
    let expected = [
        r#"{"event":"result","ok":true,"exit":0,"count":0}"#,
        "4",
        r#"{"event":"result","ok":true,"exit":0,"count":2}"#,
        "mine",
    ];
    assert_eq!(told, expected, "{}", String::from_utf8_lossy(&done.stderr));
}

#[test]
fn an_interrupted_bench_is_no_error() {
    if may_not() {
        return;
    }
    let args = ["bench", "throughput", "--receivers", "1", "--size", "300000000", "--rates", "8M"];
    let args = args.map(OsStr::new);
    let mut running = Running::start(&[&args[..], &["--json".as_ref()]].concat(), None);
    running.wait_for("raw");
    running.interrupt();
    let ended = running.end().expect(130);
    assert!(!ended.stderr.contains("error:"), "{}", ended.stderr);
}

#[test]
fn a_transfer_of_a_scenario_runs_with_real_programs_over_a_network_that_loses() {
    if may_not() {
        return;
    }
    let stage = Stage::new();
    let file = stage.path("transfer.toml");
    let flows = "[[flow]]\nkind = \"fanfare-send\"\nnode = \"a\"\nsize = \"300kB\"\nrate = \"20Mbps\"\n\
        [[flow]]\nkind = \"fanfare-recv\"\nnode = [\"b\", \"c\"]\n";
    let lossy = two("transfer").replace("delay = \"2ms\"", "delay = \"2ms\"\nloss = \"5%\"");
    std::fs::write(&file, format!("{lossy}{flows}")).unwrap();
    let out = stage.path("out");
    // This machine may be busy: what is asked here is not how exact it is.
    let args = ["run".as_ref(), file.as_os_str(), "--accept-late".as_ref(), "--json".as_ref()];
    let ended = start(&[&args[..], &["--out".as_ref(), out.as_os_str()]].concat()).end();
    let result = ended.expect(0).result().clone();
    assert_eq!((&result["programs"], &result["failed"]), (&3.into(), &0.into()));
    let sent = std::fs::read(out.join("a/sent/0ms-0")).unwrap();
    for receiver in ["b", "c"] {
        let received = out.join(receiver).join("received/0ms-0");
        assert!(std::fs::read(received).unwrap() == sent && sent.len() == 300_000, "{receiver}");
    }
    let links = result["counted"]["links"].as_array().unwrap();
    assert!(links.iter().all(|link| link["balanced"] == true), "{links:#?}");
    assert!(links[0]["lost"].as_u64().unwrap() > 0, "{links:#?}");
}

#[test]
fn without_rights_the_laboratory_says_what_is_missing() {
    let stage = Stage::new();
    let (file, binary) = (stage.path("two.toml"), stage.path("fanfare"));
    std::fs::write(&file, two("refused")).unwrap();
    // Where nobody, too, may read it.
    std::fs::copy(FANFARE, &binary).unwrap();
    let mut command = Command::new(&binary);
    command.args(["lab", "up"]).arg(&file);
    if check_rights().is_ok() {
        // 65534 is nobody on every Linux.
        command.uid(65_534).gid(65_534);
    }
    let refused = command.output().unwrap();
    let text = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(4), "{text}");
    assert!(text.contains("CAP_NET_ADMIN") && text.contains("Run it as root"), "{text}");
}
