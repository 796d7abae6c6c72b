//! The demonstration runs where these tests run: no root, loopback only.

use std::{
    ffi::OsStr,
    process::Command,
    time::{Duration, Instant},
};

use crate::support::Running;

#[test]
fn the_demonstration_delivers_to_all_three_in_a_quarter_of_a_minute() {
    let begun = Instant::now();
    let output = Command::new(env!("CARGO_BIN_EXE_fanfare")).arg("demo").output().unwrap();
    let table = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{table}");
    for name in ["near", "far", "radio"] {
        let row = table.lines().find(|line| line.starts_with(name)).expect(&table);
        assert!(row.ends_with("ok"), "{table}");
    }
    assert!(begun.elapsed() < Duration::from_secs(15), "{:?}", begun.elapsed());
}

#[test]
fn the_demonstration_speaks_json() {
    let ended = Running::start(&["demo", "--json"].map(OsStr::new), None).end().expect(0);
    assert_eq!(ended.result()["complete"], 3);
    assert_eq!(ended.all("receipt").len(), 3);
}
