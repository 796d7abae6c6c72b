//! Receivers that have a part of an object from an earlier attempt get only the rest.

use fanfare_proto::{FecConfig, SenderConfig, Time};
use fanfare_scenarios::{SENDER, ms, plan, secs};
use fanfare_sim::{Change, Host, Kind, Link, Object, Plan, Report};

const SIZE: u64 = 4_000_000;

/// 4 MB on demand at 10 Mbit/s; host n holds the n-th list of ranges.
fn resumed(seed: u64, loss: f64, held: &[Vec<(u64, u64)>]) -> Plan {
    let mut plan = plan(seed)
        .sender(SenderConfig::default())
        .receivers(held.len() as u16)
        .link(Link::default().loss(loss))
        .send(Object::file("resumed", SIZE).on_demand());
    for (n, ranges) in (1..).zip(held) {
        plan = plan.at(secs(0), Change::Have(Host(n), ranges.clone()));
    }
    plan
}

/// Symbol bytes sent for each byte that was lacking.
fn cost(report: &Report, lacking: u64) -> f64 {
    report.traffic.data_payload as f64 / lacking as f64
}

/// All of the object but `gaps` (offset, bytes).
fn all_but(gaps: &[(u64, u64)]) -> Vec<(u64, u64)> {
    let starts = gaps.iter().map(|(offset, bytes)| offset + bytes);
    let ends = gaps.iter().map(|(offset, _)| *offset).chain([SIZE]);
    std::iter::once(0).chain(starts).zip(ends).map(|(start, end)| (start, end - start)).collect()
}

#[test]
fn who_has_nine_tenths_gets_only_the_rest() {
    // loss 0, delay 5 ms, seed 1; 400,000 bytes are missing from the middle
    let report = resumed(1, 0.0, &[all_but(&[(1_234_567, 400_000)])]).run();
    report.check_complete();
    let cost = cost(&report, 400_000);
    report.check((1.0..=1.05).contains(&cost), &format!("{cost:.3} of what was lacking is sent"));
}

#[test]
fn with_loss_the_rest_costs_no_more_than_the_loss() {
    // loss 5 % each way, delay 5 ms, seed 2; ten holes of 40,000 bytes
    let holes: Vec<(u64, u64)> = (0..10).map(|n| (n * 390_000 + 12_345, 40_000)).collect();
    let report = resumed(2, 0.05, &[all_but(&holes)]).run();
    report.check_complete();
    let cost = cost(&report, 400_000);
    report.check(cost <= 1.2, &format!("{cost:.3} of what was lacking is sent"));
}

#[test]
fn two_receivers_with_different_gaps_cost_about_the_union() {
    // loss 1 % each way, delay 5 ms, seed 3; 400,000 bytes each, 200,000 of them the same
    let held = [all_but(&[(800_000, 400_000)]), all_but(&[(1_000_000, 400_000)])];
    let report = resumed(3, 0.01, &held).run();
    report.check_complete();
    let cost = cost(&report, 600_000);
    report.check(cost <= 1.15, &format!("{cost:.3} of the union is sent"));
}

#[test]
fn who_has_nothing_gets_everything_beside_who_has_most() {
    // loss 5 % each way, delay 5 ms, seed 4
    let report = resumed(4, 0.05, &[all_but(&[(0, 100_000)]), Vec::new()]).run();
    report.check_complete();
    let cost = cost(&report, SIZE);
    report.check(cost <= 1.2, &format!("{cost:.3} of the object is sent"));
}

#[test]
fn who_has_everything_is_sent_nothing() {
    // loss 0, delay 5 ms, seed 5
    let report = resumed(5, 0.0, &[vec![(0, SIZE)]]).run();
    report.check_complete();
    report.check(report.traffic.of(Kind::Data).messages == 0, "no symbol is sent");
}

#[test]
fn proactive_parity_is_not_taken_for_sent() {
    // loss 10 % each way, delay 5 ms, 8 proactive parity symbols, seed 6
    let fec = FecConfig { proactive: 8, ..FecConfig::default() };
    let report = resumed(6, 0.1, &[all_but(&[(2_000_000, 400_000)])])
        .adjust(SENDER, |config| {
            config.sender = Some(SenderConfig { fec, ..SenderConfig::default() });
        })
        .run();
    report.check_complete();
    let cost = cost(&report, 400_000);
    report.check(cost <= 1.25, &format!("{cost:.3} of what was lacking is sent"));
}

#[test]
fn a_watermark_on_an_object_on_demand_is_acknowledged_when_the_rest_is_there() {
    // loss 5 % each way, delay 5 ms, seed 7
    let report = resumed(7, 0.05, &[all_but(&[(500_000, 400_000)])])
        .at(ms(1), Change::Watermark(SENDER, vec![Host(1)]))
        .until(fanfare_sim::Until::Quiet, secs(60))
        .run();
    report.check_complete();
    let had = report.host(Host(1)).completed(report.offers[0].key);
    let acked: Option<Time> = report.host(SENDER).events.iter().find_map(|(at, event)| {
        matches!(event, fanfare_proto::Event::WatermarkAck { .. }).then_some(*at)
    });
    report.check(had.is_some() && acked >= had, "it is acknowledged, and not before");
}

#[test]
fn what_comes_while_an_earlier_part_is_examined_does_not_travel_again() {
    // loss 0, delay 5 ms, seed 8; 4 MB take 3.4 s. The receiver crashes in the middle, comes back
    // at once and takes a second to see what it has, while its sender goes on.
    let report = plan(8)
        .sender(SenderConfig::default())
        .receivers(1)
        .send(Object::file("resumed", SIZE))
        .at(ms(1690), Change::Have(Host(1), vec![(0, 1_900_000)]))
        .at(ms(1690), Change::Examine(Host(1), true))
        .at(ms(1700), Change::Crash(Host(1)))
        .at(ms(1710), Change::Start(Host(1)))
        .at(ms(2710), Change::Examine(Host(1), false))
        .run();
    report.check_complete();
    // 1 s at 10 Mbit/s is 31 % of the object.
    let cost = cost(&report, SIZE);
    report.check(cost <= 1.06, &format!("{cost:.3} of the object is sent"));
}
