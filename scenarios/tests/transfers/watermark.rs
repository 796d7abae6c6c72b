//! Acknowledgements by named receivers up to a watermark.

use fanfare_proto::{AckPolicy, Event, NodeId, SenderConfig, Time, WatermarkOutcome};
use fanfare_scenarios::{SENDER, ms, plan, secs};
use fanfare_sim::{Change, Host, Link, Object, Plan, Report, Until};

fn outcomes(report: &Report) -> Vec<(NodeId, WatermarkOutcome)> {
    let all = report.events(SENDER, |event| match event {
        Event::WatermarkDone { outcomes } => Some(outcomes.clone()),
        _ => None,
    });
    report.check(all.len() == 1, "the watermark ends once");
    all.into_iter().flatten().collect()
}

fn asking(seed: u64, loss: f64) -> Plan {
    let all = vec![Host(1), Host(2), Host(3)];
    plan(seed)
        .sender(SenderConfig::default())
        .receivers(3)
        .link(Link::default().loss(loss))
        .send(Object::file("acknowledged", 300_000))
        .at(ms(1), Change::Watermark(SENDER, all))
        .until(Until::Limit, secs(120))
}

#[test]
fn all_receivers_acknowledge_what_they_have() {
    // loss 20 % each way, delay 5 ms, seed 1
    let report = asking(1, 0.2).run();
    report.check_complete();
    let outcomes = outcomes(&report);
    let good = outcomes.iter().all(|(_, o)| *o == WatermarkOutcome::Acknowledged);
    report.check(good && outcomes.len() == 3, "three acknowledge");
}

#[test]
fn no_receiver_acknowledges_before_it_has_everything() {
    // loss 30 % each way, delay 5 ms, seed 2
    let report = asking(2, 0.3).run();
    for n in 1..=3 {
        let id = Plan::node_id(Host(n));
        let acked: Option<Time> =
            report.host(SENDER).events.iter().find_map(|(at, event)| match event {
                Event::WatermarkAck { node, .. } if *node == id => Some(*at),
                _ => None,
            });
        let had = report.host(Host(n)).completed(report.offers[0].key);
        report.check(had.is_some() && acked >= had, "it acknowledges what it has");
    }
}

#[test]
fn a_dead_node_is_reported_unanswered_and_the_others_acknowledged() {
    // host 3 dies after 100 ms; loss 5 % each way, delay 5 ms, seed 3
    let report = asking(3, 0.05).at(ms(100), Change::Crash(Host(3))).run();
    let outcomes = outcomes(&report);
    let of = |n| outcomes.iter().find(|(id, _)| *id == Plan::node_id(Host(n))).map(|(_, o)| *o);
    let expected = [
        Some(WatermarkOutcome::Acknowledged),
        Some(WatermarkOutcome::Acknowledged),
        Some(WatermarkOutcome::Unanswered),
    ];
    report.check([of(1), of(2), of(3)] == expected, "two acknowledge, one does not answer");
}

#[test]
fn with_the_confirmed_policy_an_acknowledgement_waits_for_the_driver() {
    // loss 5 % each way, delay 5 ms, seed 4; confirmed 8 s after the start
    let mut plan = asking(4, 0.05).adjust_receivers(|receiver| receiver.ack = AckPolicy::Confirmed);
    for n in 1..=3 {
        plan = plan.at(secs(8), Change::Confirm(Host(n)));
    }
    let report = plan.run();
    let early = report.host(SENDER).events.iter().any(|(at, event)| {
        matches!(event, Event::WatermarkAck { .. }) && *at < Time::ZERO + secs(8)
    });
    report.check(!early, "nobody acknowledges before the driver has confirmed");
    let outcomes = outcomes(&report);
    let good = outcomes.iter().all(|(_, o)| *o == WatermarkOutcome::Acknowledged);
    report.check(good && outcomes.len() == 3, "all acknowledge in the end");
}
