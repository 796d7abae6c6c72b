//! `fanfare norm-exec` starts a program that finds our libnorm first.

use std::process::{Command, Output};

use crate::support::Stage;

fn norm_exec(args: &[&str]) -> Output {
    let mut program = Command::new(crate::PROGRAM);
    program.arg("norm-exec").args(args).env("LD_LIBRARY_PATH", "/before");
    program.output().unwrap()
}

#[test]
fn the_program_is_given_the_librarys_folder_the_options_and_all_that_follows() {
    let stage = Stage::new();
    // The loader would refuse an empty one, but no program here is linked with it.
    let library = stage.text("libnorm.so.1", "");
    let folder = library.parent().unwrap().canonicalize().unwrap();
    let folder = folder.to_str().unwrap();
    let script = "echo $LD_LIBRARY_PATH $FANFARE_NORM_OPTIONS $1 $2; exit 7";
    let ended = norm_exec(&[
        "--library",
        folder,
        "--options",
        "rate=5M",
        "sh",
        "-c",
        script,
        "sh",
        "--own",
        "word",
    ]);
    let told = String::from_utf8(ended.stdout).unwrap();
    assert_eq!(told, format!("{folder}:/before rate=5M --own word\n"));
    assert_eq!(ended.status.code(), Some(7), "the exit code is the program's");
}

#[test]
fn a_library_and_a_program_that_are_not_there_are_refused_by_their_names() {
    let stage = Stage::new();
    let library = stage.text("libnorm.so.1", "");
    let folder = library.parent().unwrap().to_str().unwrap();
    for (args, word) in [
        (&["--library", "/nowhere", "true"][..], "/nowhere"),
        (&["--library", folder, "no-such-program"], "no-such-program"),
    ] {
        let ended = norm_exec(args);
        let told = String::from_utf8(ended.stderr).unwrap();
        assert_eq!(ended.status.code(), Some(2), "{told}");
        assert!(told.starts_with("error: ") && told.contains(word), "{told}");
    }
}
