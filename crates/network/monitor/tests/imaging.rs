//! A recorded imaging of thirty machines is played again, in virtual time: page and terminal name each trouble
//! within two seconds, and nobody else.

mod journal;

use std::{collections::BTreeMap, time::Duration};

use fanfare_monitor::{
    terminal::lines,
    transfer::{Kind, Transfer},
};
use serde_json::Value;

use journal::SOON;

/// A page is renewed so often when nothing else wakes it.
const RENEWED: f64 = 0.5;

fn sentence(machine: &str, cause: &str) -> String {
    match cause {
        "lossy-path" => format!("the path to {machine} loses"),
        "slow-machine" => format!("{machine} is a slow machine"),
        _ => format!("the disk of {machine} is full"),
    }
}

#[test]
fn a_lossy_cable_a_slow_machine_and_a_full_disk_are_named_within_two_seconds_and_nobody_else() {
    let journal = journal::read();
    let mut transfer = Transfer::new(Kind::Send);
    let mut named: BTreeMap<(String, String), f64> = BTreeMap::new();
    let mut in_terminal: BTreeMap<String, f64> = BTreeMap::new();
    let mut look = |transfer: &mut Transfer, now: f64| {
        let document = transfer.document(journal.since_start(now));
        for (_, alert) in document["alerts"].as_object().unwrap() {
            let text = |field: &str| alert[field].as_str().unwrap().to_owned();
            named.entry((text("subject"), text("cause"))).or_insert(now);
        }
        for line in lines(&document, 100) {
            for trouble in &journal.troubles {
                if line.contains(&sentence(&trouble.machine, &trouble.cause)) {
                    in_terminal.entry(trouble.machine.clone()).or_insert(now);
                }
            }
        }
    };
    let mut renewed = f64::MIN;
    for (at, line) in &journal.lines {
        let is_news = |line: &Value| line["event"] == "receivers" || line["event"] == "reported";
        transfer.on_line(journal.since_start(*at), line.clone());
        if is_news(line) || *at >= renewed + RENEWED {
            renewed = *at;
            look(&mut transfer, *at);
        }
    }
    for trouble in &journal.troubles {
        let key = (trouble.machine.clone(), trouble.cause.clone());
        let late = |at: Option<&f64>| at.map(|at| at - trouble.at);
        let (page, terminal) = (late(named.get(&key)), late(in_terminal.get(&trouble.machine)));
        let soon = |late: Option<f64>| late.is_some_and(|late| (0.0..=SOON).contains(&late));
        assert!(soon(page) && soon(terminal), "{trouble:?}: {page:?}, {terminal:?}");
    }
    let right = |(machine, cause): &(String, String)| {
        let is = journal.troubles.iter().any(|one| &one.machine == machine && &one.cause == cause);
        // Its disk has little room from the beginning: that is said, too.
        is || cause == "disk-short"
    };
    let wrong: Vec<_> = named.keys().filter(|key| !right(key)).collect();
    assert!(wrong.is_empty(), "{wrong:?}");
    assert_eq!(
        transfer.document(Duration::from_secs(3600))["receivers"].as_object().unwrap().len(),
        30
    );
}
