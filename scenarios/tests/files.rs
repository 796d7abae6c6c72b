//! The scenario files beside these tests: each is accepted, and does what it says.

use core::ops::Range;
use fanfare_proto::Duration;
use fanfare_sim::{Report, Scenario, jain_index};
use std::{fs, path::PathBuf};

fn directory() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("files")
}
fn scenario(name: &str) -> Scenario {
    let read = |file: &str| fs::read_to_string(directory().join(file)).map_err(|e| e.to_string());
    let text = read(&format!("{name}.toml")).unwrap();
    // Programs run on real hosts.
    let parse = match text.contains("[[program]]") {
        true => Scenario::parse_for_laboratory,
        false => Scenario::parse,
    };
    parse(&text, &read).unwrap_or_else(|mistakes| panic!("{name}: {mistakes:#?}"))
}
fn run(name: &str) -> (Report, Range<Duration>) {
    let scenario = scenario(name);
    (scenario.plan(scenario.seed).run(), scenario.window)
}

#[test]
fn every_file_is_understood_and_named_as_it_says() {
    let mut names = Vec::new();
    for entry in fs::read_dir(directory()).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "toml") {
            let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
            let scenario = scenario(&name);
            assert_eq!(scenario.name, name);
            assert!(!scenario.about.is_empty(), "{name}");
            names.push(name);
        }
    }
    assert!(names.len() >= 6, "{names:?}");
}

#[test]
fn transfers_with_an_end_reach_it() {
    for name in ["small", "radio", "outage", "thousand"] {
        run(name).0.check_complete();
    }
}

#[test]
fn tcp_takes_what_two_fixed_flows_leave_of_a_dumbbell() {
    let (report, window) = run("dumbbell");
    let tcp = report.flows[0].received.bps(&window);
    report.check((5.3e6..6.0e6).contains(&tcp), &format!("about 6 Mbit/s less headers: {tcp}"));
}

#[test]
fn five_tcp_flows_share_a_lossy_satellite_link_and_nearly_fill_it() {
    let (report, window) = run("satellite");
    let shares: Vec<f64> = report.flows.iter().map(|flow| flow.received.bps(&window)).collect();
    let (sum, jain) = (shares.iter().sum::<f64>(), jain_index(&shares));
    // 1440 of 1492 bytes are payload, 1 % is lost: 955 kbit/s at most.
    report.check((800e3..965e3).contains(&sum), &format!("{sum}"));
    report.check(jain > 0.9, &format!("{jain}"));
}

#[test]
fn a_flow_that_can_be_marked_is() {
    let (report, _) = run("marking");
    report.check(report.hops[0].marked > 10 && report.hops[0].dropped > 0, "both signals");
}

#[test]
fn an_outage_is_felt() {
    let (report, _) = run("outage");
    let hop = |name: &str| report.hops.iter().find(|hop| report.hop_name(hop) == name).unwrap();
    report.check(hop("sender-trunk").down > 0, "the trunk was cut");
    let lost: u64 = report.hops.iter().map(|hop| hop.lost).sum();
    report.check(report.paths.lost == lost, "losses of hops are in the sum");
    report.check(report.to_string().ends_with("sim run outage.toml --seed 1 --seeds 1"), "again");
    report.check(hop("trunk-r1").lost > 0 && report.hosts[2].lives.len() == 2, "loss and crash");
}
