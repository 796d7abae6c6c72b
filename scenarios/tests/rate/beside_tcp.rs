//! TCP flows on a shared link: among themselves, and beside a Fanfare sender.

use core::ops::Range;
use fanfare_proto::{Bitrate, CongestionControl, Duration, SenderConfig};
use fanfare_scenarios::{chosen_seed, ms, secs};
use fanfare_sim::{
    Change, Flow, FlowKind, Hop, Limit, Link, Object, Plan, Queue, Red, Report, Router, Until,
    jain_index, tcp::Config,
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

/// What `auto` and TCP's flows get of a LAN, as parts of what each would have were all equal.
fn on_a_lan(mbps: u64, queue: Queue, flows: u16, length: u64) -> (f64, f64) {
    let link = Link::default().delay(Duration::from_micros(100)).rate(Bitrate::mbps(mbps), 0);
    let window = secs(length / 4)..secs(length);
    let sender = SenderConfig {
        rate: Bitrate::mbps(10_000),
        congestion: CongestionControl::Auto,
        ..SenderConfig::default()
    };
    let mut plan = Plan::dumbbell(chosen_seed().unwrap_or(1), 1, Hop::from(link).queue(queue))
        .until(Until::Limit, secs(length))
        .adjust(Plan::sender_of(0), |config| {
            config.sender = Some(sender.clone());
        })
        .at(ms(700), Change::Send(Plan::sender_of(0), Object::data(1 << 36)));
    for n in 0..flows {
        let flow = Flow::new(Router(0), Router(1), FlowKind::tcp(Config::default()));
        plan = plan.flow(flow.during(ms(137 * u64::from(n))..Duration::MAX));
    }
    let report = plan.run();
    let fair = mbps as f64 * 1e6 * 0.95 / f64::from(flows + 1);
    let ours = report.goodput(Plan::receiver_of(0), &window) / fair;
    let least = report.flows.iter().map(|flow| flow.received.bps(&window) / fair);
    (ours, least.fold(f64::INFINITY, f64::min))
}

#[test]
fn auto_and_tcp_share_a_lan_where_queues_are_fair_or_short() {
    // Each has 0.3 to 3 times its fair share. In a queue of seventeen packets a trial of random loss begins from the
    // lower of two rates each time, which keeps a policer's loss short: beside one TCP it has 0.19 there.
    let shares = |mbps, queue: Queue, flows, length| {
        let (ours, least) = on_a_lan(mbps, queue, flows, length);
        let short = matches!(queue, Queue::DropTail(_)) && flows == 1;
        let from = if short { 0.15 } else { 0.3 };
        let fair = (from..3.0).contains(&ours) && least > 0.3;
        assert!(fair, "{mbps} Mbit/s, {queue:?}, {flows} of TCP: {ours:.2} and {least:.2}");
    };
    for flows in [1, 3] {
        shares(100, Queue::Fair { limit: Limit::Packets(100), quantum: 1514 }, flows, 10);
        shares(1000, Queue::Fair { limit: Limit::Packets(100), quantum: 1514 }, flows, 4);
        shares(1000, Queue::bdp(1.0, Duration::from_micros(200)), flows, 4);
    }
}
