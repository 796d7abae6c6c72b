//! Object transport ids have 16 bits, and wrap in a long session.

use fanfare_proto::{Bitrate, SenderConfig};
use fanfare_scenarios::{plan, secs};
use fanfare_sim::{Host, Link, Object, Report, Until};
use std::collections::BTreeSet;

/// 70,000 objects of 10 bytes at 100 Mbit/s through the default cache of 256; delay 5 ms.
fn run(seed: u64, loss: f64) -> Report {
    let sender = SenderConfig { rate: Bitrate::mbps(100), ..SenderConfig::default() };
    let mut plan = plan(seed).sender(sender).receivers(1).link(Link::default().loss(loss));
    for _ in 0..70_000 {
        plan = plan.send(Object::data(10));
    }
    plan.until(Until::Limit, secs(200)).run()
}

#[test]
fn seventy_thousand_objects_pass_the_wrap() {
    // loss 0, seed 1
    let report = run(1, 0.0);
    let received = &report.host(Host(1)).completions;
    let ids: BTreeSet<u16> = received.iter().map(|c| c.key.object.0).collect();
    report.check(received.len() == 70_000 && ids.len() == 1 << 16, "all arrive under all ids");
}

#[test]
fn loss_around_the_wrap_is_repaired_before_objects_leave_the_cache() {
    // loss 1 % each way, seed 2. An object may leave the cache when a repair is lost, too: at 1 %
    // that takes a few of 70,000.
    let report = run(2, 0.01);
    let received = report.host(Host(1)).completions.len();
    report.check(received >= 69_990, "all but a few arrive");
    report.check(report.host(Host(1)).wrong_bytes == 0, "an id's second life has its own bytes");
}
