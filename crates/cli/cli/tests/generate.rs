//! `fanfare completions` and `fanfare man` are made of the same definition as the command line.

use std::{
    fs,
    process::{Command, Output},
};

use crate::support::Stage;

fn run(args: &[&str]) -> Output {
    Command::new(crate::PROGRAM).args(args).output().unwrap()
}

fn told(output: Output) -> String {
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn completions_know_commands_and_options() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = told(run(&["completions", shell]));
        assert!(script.contains("recv") && script.contains("carousel"), "{shell}: {script}");
    }
}

#[test]
fn a_page_of_the_manual_is_printed_and_an_unknown_command_is_refused() {
    let page = told(run(&["man", "node", "status"]));
    assert!(page.contains(".TH fanfare-node-status 1"), "{page}");
    assert!(told(run(&["man"])).contains(".TH fanfare 1"));
    let refused = run(&["man", "sned"]);
    assert_eq!(refused.status.code(), Some(2));
    let error = String::from_utf8(refused.stderr).unwrap();
    assert!(error.starts_with("error: command (sned): is not known. Use one of: send"), "{error}");
}

#[test]
fn all_pages_are_written_into_a_directory() {
    let stage = Stage::new();
    let dir = stage.path("man1");
    told(run(&["man", "--dir", dir.to_str().unwrap()]));
    let page = fs::read_to_string(dir.join("fanfare-send.1")).unwrap();
    // Options that -h leaves out, examples and exit codes are there.
    for part in ["\\-\\-carousel", "Examples:", "Exit codes:"] {
        assert!(page.contains(part), "{part}: {page}");
    }
    let refused = run(&["man", "--dir", "/proc/no"]);
    assert_eq!(refused.status.code(), Some(5));
}
