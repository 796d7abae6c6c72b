//! TCP flows on a shared road: among themselves, and beside a sender of ours.

use core::ops::Range;
use fanfare_proto::{Bitrate, Duration, SenderConfig};
use fanfare_scenarios::{chosen_seed, ms, secs};
use fanfare_sim::{
    Change, Flow, FlowKind, Hop, Link, Object, Plan, Queue, Red, Report, Router, Until, jain_index,
    tcp::Config,
};

/// 10 Mbit/s, 40 ms there and back, a round trip of queue.
fn bottleneck() -> Hop {
    let link = Link::default().delay(ms(20)).rate(Bitrate::mbps(10), 0);
    Hop::from(link).queue(Queue::bdp(1.0, ms(40)))
}
fn window() -> Range<Duration> {
    secs(10)..secs(60)
}
/// `flows` of TCP, a minute.
fn tcp(pairs: u8, flows: u16, config: Config, hop: Hop) -> Plan {
    let mut plan = Plan::dumbbell(chosen_seed().unwrap_or(1), pairs, hop)
        .until(Until::Limit, secs(60))
        .warm_up(secs(10));
    for n in 0..flows {
        let start = ms(137 * u64::from(n));
        let flow = Flow::new(Router(0), Router(1), FlowKind::tcp(config));
        plan = plan.flow(flow.during(start..Duration::MAX));
    }
    plan
}
fn shares(report: &Report) -> Vec<f64> {
    report.flows.iter().map(|flow| flow.received.bps(&window())).collect()
}

#[test]
fn tcp_flows_fill_the_road_and_share_it() {
    let report = tcp(0, 5, Config::default(), bottleneck()).run();
    let shares = shares(&report);
    let (sum, jain) = (shares.iter().sum::<f64>(), jain_index(&shares));
    // 1440 of 1492 bytes are payload.
    report.check(sum > 0.97 * 10e6 * 1440.0 / 1492.0, &format!("the road is full: {sum}"));
    report.check(jain > 0.9, &format!("and shared: {jain} {shares:?}"));
}

#[test]
fn marks_take_the_place_of_drops_for_a_flow_that_understands_them() {
    let red = bottleneck().queue(Queue::Red(Red::new(10.0, 30.0)));
    let (marked, dropped) = {
        let report = tcp(0, 2, Config { ecn: true, ..Config::default() }, red).run();
        let hop = report.hop(Router(0), Router(1)).unwrap();
        let late = hop.drops.sum(&window());
        let used = hop.utilisation(&window());
        report.check(used > 0.85, &format!("the road is used: {used}"));
        (hop.marked, late)
    };
    assert!(marked > 20 && dropped == 0, "{marked} marked, {dropped} dropped");
    let report = tcp(0, 2, Config::default(), red).run();
    let hop = report.hop(Router(0), Router(1)).unwrap();
    report.check(hop.marked == 0 && hop.dropped > 20, "without ECN it drops");
}

#[test]
fn tcp_leaves_to_a_fixed_rate_what_it_takes() {
    // A sender of 4 Mbit/s that does not yield: TCP gets the rest, not more.
    let rate = SenderConfig { rate: Bitrate::mbps(4), ..SenderConfig::default() };
    let report = tcp(1, 2, Config::default(), bottleneck())
        .adjust(Plan::sender_of(0), |config| config.sender = Some(rate.clone()))
        .at(Duration::ZERO, Change::Send(Plan::sender_of(0), Object::data(1 << 36)))
        .run();
    let ours = report.goodput(Plan::receiver_of(0), &window());
    let rest: f64 = shares(&report).iter().sum();
    report.check((3.6e6..3.95e6).contains(&ours), &format!("ours: {ours}"));
    report.check((5.2e6..5.9e6).contains(&rest), &format!("theirs: {rest}"));
}
