//! Stored bytes turn out wrong: they are rejected and repaired.

use fanfare_proto::SenderConfig;
use fanfare_scenarios::{ms, plan, secs};
use fanfare_sim::{Change, Host, Link, Object, Report, Until};

/// Completions of the only object at host 1, each with all bytes.
fn completions(report: &Report) -> usize {
    report.check_content().host(Host(1)).completions.len()
}

#[test]
fn a_corrupted_range_of_a_complete_object_is_mended() {
    // loss 5 % each way, delay 5 ms, seed 1; 1 MB, 100,000 bytes rejected at 5 s
    let report = plan(1)
        .sender(SenderConfig::default())
        .receivers(2)
        .link(Link::default().loss(0.05))
        .send(Object::file("torn", 1_000_000))
        .at(secs(5), Change::Reject(Host(1), 0, (333_333, 100_000)))
        .until(Until::Limit, secs(20))
        .run();
    report.check_complete();
    report.check(completions(&report) == 2, "it is complete, and complete once more");
    let cost = report.traffic.data_payload;
    report.check(cost <= 1_250_000, &format!("{cost} bytes for 1,100,000"));
}

#[test]
fn a_range_found_wrong_while_the_object_comes_in_is_mended() {
    // loss 5 % each way, delay 5 ms, seed 2; the first 200,000 of 1 MB rejected at 500 ms
    let report = plan(2)
        .sender(SenderConfig::default())
        .receivers(1)
        .link(Link::default().loss(0.05))
        .send(Object::file("torn", 1_000_000))
        .at(ms(500), Change::Reject(Host(1), 0, (0, 200_000)))
        .run();
    report.check_complete();
    report.check(completions(&report) == 1, "it is complete once");
}

#[test]
fn a_resumed_part_that_proves_wrong_is_mended() {
    // loss 0, delay 5 ms, seed 3; 1 MB held whole, its last 10,000 bytes rejected at once
    let report = plan(3)
        .sender(SenderConfig::default())
        .receivers(1)
        .send(Object::file("rotten", 1_000_000).on_demand())
        .at(ms(0), Change::Have(Host(1), vec![(0, 1_000_000)]))
        .at(ms(20), Change::Reject(Host(1), 0, (990_000, 10_000)))
        .until(Until::Limit, secs(10))
        .run();
    report.check_complete();
    report.check(completions(&report) == 2, "it is complete, and complete once more");
    report.check(report.traffic.data_payload <= 13_000, "no more than what was wrong is sent");
}
