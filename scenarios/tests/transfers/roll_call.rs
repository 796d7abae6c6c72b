//! The roll call finds every receiver by name.

use fanfare_proto::{Event, NodeId, SenderConfig};
use fanfare_scenarios::{SENDER, ms, plan, secs};
use fanfare_sim::{Change, Host, Link, Plan, Report, Until};
use std::collections::BTreeSet;

fn answers(report: &Report) -> Vec<NodeId> {
    report.events(SENDER, |event| match event {
        Event::ReceiverStatus { node, .. } => Some(*node),
        _ => None,
    })
}

fn answered(report: &Report) -> BTreeSet<NodeId> {
    answers(report).into_iter().collect()
}

/// `n` receivers, each with its number as status.
fn group(seed: u64, n: u16, loss: f64) -> Plan {
    let mut plan =
        plan(seed).sender(SenderConfig::default()).receivers(n).link(Link::default().loss(loss));
    for number in 1..=n {
        let status = number.to_be_bytes().to_vec();
        plan = plan.at(ms(0), Change::Status(Host(number), status, false));
    }
    plan
}

#[test]
fn a_roll_call_finds_all_receivers_under_loss() {
    // 50 receivers, call each 500 ms for 20 s; loss 20 % each way, delay 5 ms, seed 1
    let report = group(1, 50, 0.2)
        .at(ms(1), Change::RollCall(SENDER, ms(500)))
        .until(Until::Limit, secs(20))
        .run();
    report.check(answered(&report).len() == 50, "all 50 answered");
}

#[test]
fn receivers_that_have_answered_keep_silent() {
    // 20 receivers, loss 0, delay 5 ms, seed 2
    let report = group(2, 20, 0.0)
        .at(ms(1), Change::RollCall(SENDER, ms(500)))
        .until(Until::Limit, secs(20))
        .run();
    report.check(answered(&report).len() == 20, "all 20 answered");
    report.check(answers(&report).len() <= 30, "few answers are repeated");
}

#[test]
fn news_that_cannot_wait_reach_the_sender_unasked() {
    // host 1 announces at 5 s, after it has heard an object; loss 0, delay 5 ms, seed 3
    let report = group(3, 2, 0.0)
        .send(fanfare_sim::Object::data(10_000))
        .at(secs(5), Change::Status(Host(1), b"disk full".to_vec(), true))
        .until(Until::Limit, secs(10))
        .run();
    let news = report.events(SENDER, |event| match event {
        Event::ReceiverStatus { node, status } => Some((*node, status.clone())),
        _ => None,
    });
    let from = Plan::node_id(Host(1));
    // Padded to a word on the wire.
    let told = |status: &[u8]| status.starts_with(b"disk full");
    let arrived = news.iter().any(|(node, status)| *node == from && told(status));
    report.check(arrived, "the news arrived");
}
