//! The demonstration runs where these tests run: no root, loopback only.

use std::{ffi::OsStr, process::Command};

use crate::support::Running;

#[test]
fn the_demonstration_delivers_to_all_three() {
    let output = Command::new(crate::PROGRAM).arg("demo").output().unwrap();
    let table = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{table}");
    for name in ["near", "far", "radio"] {
        let row = table.lines().find(|line| line.starts_with(name)).expect(&table);
        assert!(row.ends_with("ok"), "{table}");
    }
}

#[test]
fn the_demonstration_speaks_json() {
    let ended = Running::start(&["demo", "--json"].map(OsStr::new), None).end().expect(0);
    assert_eq!(ended.result()["complete"], 3);
    assert_eq!(ended.all("receipt").len(), 3);
}
