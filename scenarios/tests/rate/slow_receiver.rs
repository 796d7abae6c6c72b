//! One receiver loses far more than the others: the sender defers or evicts it.

use fanfare_proto::{DropReason, Event, SenderConfig, Time, WatermarkOutcome};
use fanfare_scenarios::{SENDER, ms, plan, secs};
use fanfare_sim::{Change, Host, Hosts, Link, Object, Plan, Report, Until};

const SLOW: Host = Host(3);

/// Two receivers with 1 % loss and one with 50 %; 3 MB at 10 Mbit/s, acknowledged by name.
fn beside_a_slow_one(seed: u64) -> Plan {
    plan(seed)
        .sender(SenderConfig::default())
        .receivers(3)
        .link(Link::default().loss(0.01))
        .path(Hosts::All, SLOW, Link::default().loss(0.5))
        .send(Object::file("first", 1_500_000))
        .send(Object::file("second", 1_500_000))
        .at(ms(1), Change::Watermark(SENDER, vec![Host(1), Host(2), SLOW]))
        .until(Until::Limit, secs(120))
}

fn last_completion(report: &Report, host: Host) -> Time {
    report.check(report.host(host).completions.len() == 2, "it has both objects");
    report.host(host).completions.iter().map(|c| c.at).max().unwrap_or(Time::ZERO)
}

fn first_pass(report: &Report) -> Time {
    let sent = report.host(SENDER).events.iter().filter_map(|(at, event)| match event {
        Event::ObjectSent { .. } => Some(*at),
        _ => None,
    });
    sent.max().unwrap_or(Time::ZERO)
}

/// When the first pass ended and each of the others was complete, with the slow one served and with
/// it deferred.
fn with_and_without(seed: u64) -> [[Time; 3]; 2] {
    let served = beside_a_slow_one(seed).run();
    let deferred = beside_a_slow_one(seed).at(ms(0), Change::Defer(SENDER, SLOW, true)).run();
    let ignored = deferred.host(SENDER).sum(|s| s.dropped(DropReason::Deferred));
    deferred.check(ignored > 0, "its requests were put off");
    let last = last_completion(&deferred, SLOW);
    deferred.check(last > first_pass(&deferred), "the slow one comes last");
    [served, deferred].map(|report| {
        report.check_complete();
        let [one, other] = [Host(1), Host(2)].map(|host| last_completion(&report, host));
        [first_pass(&report), one, other]
    })
}

#[test]
fn a_deferred_receiver_holds_up_neither_the_first_pass_nor_the_others() {
    // loss 1 %, 1 % and 50 %, delay 5 ms, seeds 1 to 15
    let runs: Vec<[[Time; 3]; 2]> = (1..=15).map(with_and_without).collect();
    let median = |of: &dyn Fn(&[[Time; 3]; 2]) -> Time| {
        let mut times: Vec<Time> = runs.iter().map(of).collect();
        times.sort();
        times[times.len() / 2]
    };
    let [with, without] = [0, 1].map(|way| median(&|run| run[way][0]));
    assert!(without < Time::ZERO + ms(2_700), "first pass {without}, {with} when all are served");
    assert!(with > without + ms(1_000), "more than a second sooner: {without}, {with}");
    for host in [1, 2] {
        let [late, soon] = [0, 1].map(|way| median(&|run| run[way][host]));
        assert!(soon < without + ms(300) && late > soon + secs(1), "{soon}, {late} with all");
    }
    // Who overhears the slow one keeps silent twice before it asks for its last symbols.
    for (run, seed) in runs.iter().zip(1..) {
        let [pass, one, other] = run[1];
        assert!(one.max(other) < pass + secs(1), "seed {seed}: {pass}, then {one} and {other}");
    }
}

#[test]
fn the_others_acknowledge_before_the_deferred_one_is_served() {
    // loss 1 %, 1 % and 50 %, delay 5 ms, seeds 1 to 15
    for seed in 1..=15 {
        let report = beside_a_slow_one(seed).at(ms(0), Change::Defer(SENDER, SLOW, true)).run();
        let acked: Vec<_> = report.events(SENDER, |event| match event {
            Event::WatermarkAck { node, .. } => Some(*node),
            _ => None,
        });
        report.check(acked.len() == 3 && acked[2] == Plan::node_id(SLOW), "the slow one is last");
    }
}

#[test]
fn an_evicted_receiver_is_told_and_asks_no_more() {
    // loss 1 %, 1 % and 50 %, delay 5 ms, seed 4; evicted at 1 s, the roll is called every 2 s
    let report = beside_a_slow_one(4)
        .at(ms(1), Change::RollCall(SENDER, secs(2)))
        .at(secs(1), Change::Evict(SENDER, SLOW))
        .until(Until::Limit, secs(20))
        .run();
    let told = report.host(SLOW).events.iter().find_map(|(at, event)| match event {
        Event::Evicted { .. } => Some(*at),
        _ => None,
    });
    // It asks for nothing after a second. What anybody could say in the sender's name it takes for
    // true after ten seconds without a word to the contrary, and then it is silent.
    let in_time = told.is_some_and(|at| at < Time::ZERO + secs(15));
    report.check(in_time, &format!("it learns of it: {told:?}"));
    let ignored = report.host(SENDER).sum(|s| s.dropped(DropReason::Evicted));
    report.check(ignored < 40, &format!("{ignored} of its messages come too late"));
    let others = [Host(1), Host(2)].map(|host| {
        report.events(host, |e| match e {
            Event::Evicted { .. } => Some(()),
            _ => None,
        })
    });
    report.check(others.iter().all(Vec::is_empty), "nobody else is told so");
}

#[test]
fn an_evicted_receiver_is_no_longer_waited_for() {
    // loss 1 %, 1 % and 50 %, delay 5 ms, seed 3; evicted at 1 s
    let report = beside_a_slow_one(3).at(secs(1), Change::Evict(SENDER, SLOW)).run();
    let outcomes = report.events(SENDER, |event| match event {
        Event::WatermarkDone { outcomes } => Some(outcomes.clone()),
        _ => None,
    });
    let good = |n| (Plan::node_id(Host(n)), WatermarkOutcome::Acknowledged);
    report.check(outcomes == [vec![good(1), good(2)]], "the others acknowledge, it is not named");
    let ignored = report.host(SENDER).sum(|s| s.dropped(DropReason::Evicted));
    report.check(ignored > 0, "what it says is counted and ignored");
    let spent = report.traffic.data_payload;
    report.check(spent < 4_000_000, &format!("{spent} bytes are sent, none for it after 1 s"));
    let done = last_completion(&report, Host(1)).max(last_completion(&report, Host(2)));
    report.check(done < Time::ZERO + secs(5), "the others are done soon");
}
