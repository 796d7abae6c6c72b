//! A receiver that comes late gets what its policy asks for, and no more.

use fanfare_proto::{JoinPolicy, SenderConfig};
use fanfare_scenarios::{SENDER, plan, secs};
use fanfare_sim::{Change, Host, Link, Object, Report, Until};

/// Three objects of 0.7 s each, the third after a pause; host 2 joins in the middle of the second.
/// loss 2 %, delay 5 ms.
fn late(seed: u64, join: JoinPolicy) -> Report {
    plan(seed)
        .sender(SenderConfig::default())
        .receivers(2)
        .link(Link::default().loss(0.02))
        .adjust_receivers(|receiver| receiver.join = join)
        .joins(Host(2), fanfare_scenarios::ms(1_000))
        .send(Object::file("first", 800_000))
        .send(Object::file("second", 800_000))
        .at(secs(20), Change::Send(SENDER, Object::file("third", 800_000)))
        .until(Until::Limit, secs(60))
        .run()
}

/// Which objects the late one has.
fn late_ones(report: &Report) -> Vec<u16> {
    let mut ids: Vec<_> = report.host(Host(2)).completions.iter().map(|c| c.key.object).collect();
    let first = report.offers[0].key.object;
    ids.sort_by_key(|id| first.distance_to(*id));
    ids.into_iter().map(|id| first.distance_to(id) as u16).collect()
}

#[test]
fn with_all_cached_a_late_joiner_gets_everything() {
    // seed 1
    let report = late(1, JoinPolicy::AllCached);
    report.check_content();
    report.check(late_ones(&report) == [0, 1, 2], "the late one has all three");
}

#[test]
fn with_object_start_a_late_joiner_gets_the_object_under_way_from_its_start() {
    // seed 2
    let report = late(2, JoinPolicy::ObjectStart);
    report.check_content();
    report.check(late_ones(&report) == [1, 2], "the late one has the second and third");
}

#[test]
fn with_from_now_a_late_joiner_gets_what_begins_afterwards() {
    // seed 3
    let report = late(3, JoinPolicy::FromNow);
    report.check_content();
    report.check(late_ones(&report) == [2], "the late one has the third");
}

#[test]
fn a_joiner_after_the_end_gets_everything_that_is_cached_once_the_sender_speaks_again() {
    // loss 5 %, delay 5 ms, seed 4; host 2 joins 20 s after the last byte, the next object comes
    // 10 s later. (Probes alone name no object: RFC 5740 4.2.3.4.)
    let report = plan(4)
        .sender(SenderConfig::default())
        .receivers(2)
        .link(Link::default().loss(0.05))
        .joins(Host(2), secs(20))
        .send(Object::file("early", 300_000))
        .at(secs(30), Change::Send(SENDER, Object::data(10)))
        .run();
    report.check_complete();
    report.check(late_ones(&report) == [0, 1], "the late one has both");
}

#[test]
fn a_joiner_after_the_end_who_answers_the_roll_gets_everything_that_is_cached() {
    // loss 5 %, delay 5 ms, seed 5; host 2 joins 20 s after the last byte; its answer to the roll
    // call makes the sender flush again, and the flush tells it what there is to ask for.
    let report = plan(5)
        .sender(SenderConfig::default())
        .receivers(2)
        .link(Link::default().loss(0.05))
        .at(fanfare_scenarios::ms(1), Change::RollCall(SENDER, secs(1)))
        .joins(Host(2), secs(20))
        .send(Object::file("early", 300_000))
        .run();
    report.check_complete();
}
