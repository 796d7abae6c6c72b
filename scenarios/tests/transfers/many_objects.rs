//! Many objects in sequence, with a bounded cache.

use fanfare_proto::{Event, SenderConfig};
use fanfare_scenarios::{SENDER, plan};
use fanfare_sim::{Link, Object, Plan};

fn row(mut plan: Plan, count: u64) -> Plan {
    for n in 0..count {
        plan = plan.send(Object::file(&format!("file {n}"), n * 37 % 5_000));
    }
    plan
}

#[test]
fn three_hundred_objects_pass_through_a_cache_of_sixteen() {
    // loss 5 % each way, delay 5 ms, seed 1
    let sender = SenderConfig { cache_objects: 16, ..SenderConfig::default() };
    let plan = plan(1).sender(sender).receivers(2).link(Link::default().loss(0.05));
    let report = row(plan, 300).run();
    let purged =
        report.events(SENDER, |e| matches!(e, Event::ObjectPurged { .. }).then_some(())).len();
    report.check(report.offers.len() == 300, "all objects were taken in time");
    report.check(purged >= 300 - 16, "the cache gives room by purging");
    report.check_content();
}

#[test]
fn three_hundred_objects_arrive_whole_when_the_cache_holds_them() {
    // loss 10 % each way, delay 5 ms, seed 2; the default cache of 256
    let plan = plan(2).sender(SenderConfig::default()).receivers(2).link(Link::default().loss(0.1));
    row(plan, 250).run().check_complete();
}
