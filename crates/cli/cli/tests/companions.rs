//! `fanfare lab`, `sim` and `bench` start `fanfare-lab`, or say how to get it.

use std::{
    fs,
    io::ErrorKind,
    os::unix::fs::PermissionsExt as _,
    process::{Command, Output},
};

use crate::support::Stage;

/// A copy of the program in a directory of its own, so that nothing is beside it.
fn alone(stage: &Stage, args: &[&str]) -> Output {
    let program = stage.path("fanfare");
    fs::copy(crate::PROGRAM, &program).unwrap();
    let mut command = Command::new(program);
    command.args(args).env("PATH", "/nowhere");
    // While another test starts a program, that one has what was just written open, too.
    loop {
        match command.output() {
            Err(error) if error.kind() == ErrorKind::ExecutableFileBusy => {}
            Ok(ended) if String::from_utf8_lossy(&ended.stderr).contains("Text file busy") => {}
            ended => return ended.unwrap(),
        }
        std::thread::yield_now();
    }
}

#[test]
fn without_the_other_program_it_is_said_how_to_get_it() {
    for command in ["lab", "sim", "bench"] {
        let stage = Stage::new();
        let ended = alone(&stage, &[command, "up", "x.toml", "--json"]);
        let (told, json) = (ended.stderr, ended.stdout);
        let (told, json) = (String::from_utf8(told).unwrap(), String::from_utf8(json).unwrap());
        assert_eq!(ended.status.code(), Some(2), "{told}");
        let first = format!("error: command ({command}): needs the program fanfare-lab");
        assert!(told.starts_with(&first), "{told}");
        assert!(told.contains("cargo install --path crates/lab/lab"), "{told}");
        assert!(json.contains("\"code\":\"laboratory.missing\""), "{json}");
        assert!(json.ends_with("{\"event\":\"result\",\"ok\":false,\"exit\":2}\n"), "{json}");
    }
}

#[test]
fn the_program_beside_it_is_given_all_that_follows_and_its_exit_code_is_ours() {
    let stage = Stage::new();
    let script = "#!/bin/sh\necho \"$FANFARE_BIN\"\nprintf '%s\\n' \"$@\"\nexit 7\n";
    let other = stage.text("fanfare-lab", script);
    fs::set_permissions(&other, fs::Permissions::from_mode(0o755)).unwrap();
    let ended = alone(&stage, &["lab", "--help", "-x", "--", "a b", "--json"]);
    let told = String::from_utf8(ended.stdout).unwrap();
    let lines: Vec<&str> = told.lines().collect();
    assert_eq!(ended.status.code(), Some(7), "{told}");
    assert_eq!(lines[0], stage.path("fanfare").to_str().unwrap());
    assert_eq!(lines[1..], ["lab", "--help", "-x", "--", "a b", "--json"]);
}
