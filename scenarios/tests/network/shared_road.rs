//! Hops that flows share: a bottleneck carries its rate, and its queue decides which packets wait
//! and which are dropped.

use core::ops::Range;
use fanfare_proto::{Bitrate, Duration, SenderConfig};
use fanfare_scenarios::{chosen_seed, ms, plan, secs};
use fanfare_sim::{
    Change, Flow, FlowKind, Hop, Host, Link, Object, Plan, Queue, Report, Router, TraceId, Until,
    jain_index,
};

/// 1 Mbit/s, 50 ms one way.
fn megabit() -> Hop {
    Hop::from(Link::default().delay(ms(50)).rate(Bitrate::mbps(1), 0)).queue(Queue::packets(20))
}
/// More than can ever be sent.
fn endless() -> Object {
    Object::data(1 << 36)
}
fn window() -> Range<Duration> {
    secs(10)..secs(40)
}
/// Pairs that send at `kbps` each over one bottleneck for 40 s; seed 1.
fn pairs(n: u8, kbps: u64, hop: Hop) -> Plan {
    let mut plan = Plan::dumbbell(chosen_seed().unwrap_or(1), n, hop)
        .until(Until::Limit, secs(40))
        .warm_up(secs(10));
    for pair in 0..n {
        let sender = Plan::sender_of(pair);
        plan = plan.at(Duration::ZERO, Change::Send(sender, endless())).adjust(sender, |config| {
            config.sender = Some(SenderConfig {
                rate: Bitrate::kbps(kbps),
                ..config.sender.clone().unwrap_or_default()
            });
        });
    }
    plan
}
fn goodputs(report: &Report, n: u8) -> Vec<f64> {
    (0..n).map(|pair| report.goodput(Plan::receiver_of(pair), &window())).collect()
}

#[test]
fn a_flow_below_the_bottleneck_s_rate_passes_whole_and_does_not_wait() {
    let report = pairs(1, 900, megabit()).run();
    let hop = report.hop(Router(0), Router(1)).unwrap();
    // 1400 of 1420 to 1456 payload bytes are the object's.
    let share = goodputs(&report, 1)[0] / 900e3;
    report.check((0.94..0.99).contains(&share), &format!("goodput is its rate: {share}"));
    report.check(hop.dropped == 0 && hop.delay.percentile(0.99) < ms(15), "no queue");
    report.check_content();
}

#[test]
fn flows_that_want_more_than_the_bottleneck_fill_it_and_no_more() {
    let report = pairs(3, 500, megabit()).run();
    let hop = report.hop(Router(0), Router(1)).unwrap();
    let used = hop.utilisation(&window());
    report.check((0.99..=1.001).contains(&used), &format!("all of the line is used: {used}"));
    report.check(hop.dropped > 500, "what does not fit is dropped");
    // 20 packets of 12 ms.
    let p95 = hop.delay.percentile(0.95);
    report.check(p95 > ms(200) && p95 < ms(250), &format!("the queue is full: {p95:?}"));
}

#[test]
fn fair_queuing_gives_the_modest_what_they_ask_and_shares_the_rest() {
    // 200 kbit/s beside two that want 900.
    let fair = megabit().queue(Queue::fair(60));
    let report = pairs(3, 900, fair)
        .adjust(Plan::sender_of(0), |config| {
            config.sender.as_mut().unwrap().rate = Bitrate::kbps(200);
        })
        .run();
    let hop = report.hop(Router(0), Router(1)).unwrap();
    let of =
        |pair| hop.bytes_of[&fanfare_sim::FlowId::Host(Plan::sender_of(pair))].bps(&window()) / 1e3;
    // On the wire: 200 kbit/s of payload and 2 % headers.
    report.check((195.0..215.0).contains(&of(0)), &format!("the modest: {}", of(0)));
    let jain = jain_index(&[of(1), of(2)]);
    report.check(jain > 0.999 && of(1) > 370.0, &format!("the others: {} {}", of(1), of(2)));
}

#[test]
fn a_constant_flow_takes_its_rate_and_leaves_when_it_ends() {
    let cross = FlowKind::Cbr { rate: Bitrate::kbps(400), bytes: 1000 };
    let report = pairs(1, 900, megabit())
        .flow(Flow::new(Router(0), Router(1), cross).during(secs(10)..secs(20)))
        .run();
    let flow = &report.flows[0].received;
    let (during, after) = (flow.bps(&(secs(12)..secs(20))), flow.bps(&(secs(22)..secs(40))));
    // 972 of 1000 bytes are payload, some are dropped.
    report.check((250e3..390e3).contains(&during) && after == 0.0, &format!("{during} {after}"));
    report.check(report.hops_csv().contains("15.0,router0-router1,"), "the series is told");
}

#[test]
fn one_datagram_feeds_a_whole_tree_over_a_thin_trunk() {
    // 10 receivers behind 1 Mbit/s: 200 kB in 1.7 s, which ten copies could not.
    let mut plan = Plan::new(chosen_seed().unwrap_or(1))
        .sender(SenderConfig { rate: Bitrate::kbps(950), ..SenderConfig::default() })
        .receivers(10)
        .wire(Host(0), Router(0), Link::wire())
        .wire(Router(0), Router(1), megabit());
    for n in 1..=10 {
        plan = plan.wire(Router(1), Host(n), Link::default().loss(0.05));
    }
    let report = plan.send(Object::data(200_000)).run();
    report.check_complete();
    report.check(report.last_completion().as_secs_f64() < 4.0, "one copy on the trunk");
}

#[test]
fn a_bottleneck_that_changes_its_rate_carries_the_new_one_at_once() {
    let slow = Hop { link: megabit().link.rate(Bitrate::kbps(500), 0), ..megabit() };
    let change = |hop| Change::Hop(Router(0).into(), Router(1).into(), hop);
    let report =
        pairs(1, 1_200, megabit()).at(secs(20), change(slow)).at(secs(30), change(megabit())).run();
    let bytes = &report.hop(Router(0), Router(1)).unwrap().bytes;
    let kbps = |from, to| (bytes.bps(&(secs(from)..secs(to))) / 1e3).round() as u64;
    let rates = [kbps(10, 20), kbps(21, 30), kbps(31, 40)];
    report.check(
        [999..=1001, 499..=501, 999..=1001]
            .iter()
            .zip(rates)
            .all(|(range, rate)| range.contains(&rate)),
        &format!("{rates:?}"),
    );
}

#[test]
fn a_transfer_survives_a_partition_and_a_crash_on_a_shared_road() {
    // 4 receivers, 5 % loss; from 1 s to 3 s nothing crosses, and host 2 starts afresh.
    let hop = Hop { link: megabit().link.loss(0.05), ..megabit() };
    let mut plan = Plan::new(chosen_seed().unwrap_or(1))
        .sender(SenderConfig { rate: Bitrate::kbps(800), ..SenderConfig::default() })
        .receivers(4)
        .wire(Host(0), Router(0), hop)
        .at(secs(1), Change::Partition(Host(0).into()))
        .at(secs(3), Change::Heal)
        .at(secs(1), Change::Crash(Host(2)))
        .at(secs(4), Change::Start(Host(2)));
    for n in 1..=4 {
        plan = plan.wire(Router(0), Host(n), Link::default());
    }
    let report = plan.send(Object::data(300_000)).run();
    report.check_complete();
    report.check(report.hops[0].down > 0, "the partition was felt");
}

#[test]
fn losses_come_as_they_were_recorded() {
    // Every fourth datagram towards the receiver, and none back.
    let trace = TraceId(0);
    let report = plan(1)
        .sender(SenderConfig::default())
        .receivers(1)
        .loss_trace(trace, vec![false, false, false, true])
        .hop(Host(0), Host(1), Link::default().trace(trace))
        .hop(Host(1), Host(0), Link::default())
        .send(Object::data(100_000))
        .run();
    report.check_complete();
    let hop = &report.hops[0];
    report.check(hop.lost == hop.carried / 4 && hop.lost > 15, "a quarter, exactly");
}

#[test]
fn a_shared_road_repeats_to_the_bit() {
    let run = |seed| {
        let hop = Hop { link: megabit().link.loss(0.05).jitter(ms(2)), ..megabit() };
        let mut plan = Plan::dumbbell(seed, 2, hop).until(Until::Limit, secs(5));
        for pair in 0..2 {
            plan = plan.at(Duration::ZERO, Change::Send(Plan::sender_of(pair), endless()));
        }
        plan.run()
    };
    let (a, b) = (run(1), run(1));
    assert_eq!((a.hash, a.hops_csv()), (b.hash, b.hops_csv()));
    assert_eq!(a.to_string(), b.to_string());
    assert_ne!(a.hash, run(2).hash);
}
