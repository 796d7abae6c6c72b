//! An idle session costs nearly nothing.

use fanfare_proto::SenderConfig;
use fanfare_scenarios::{plan, secs};
use fanfare_sim::{Kind, Object, Report, Until};

/// 100 KB, then silence until `limit` seconds; loss 0, delay 5 ms, seed 1.
fn run(limit: u64) -> Report {
    plan(1)
        .sender(SenderConfig::default())
        .receivers(2)
        .send(Object::data(100_000))
        .until(Until::Limit, secs(limit))
        .run()
}

#[test]
fn an_idle_session_wakes_at_most_once_a_second() {
    // one minute after everything has settled
    let (before, after) = (run(120), run(180));
    after.check_complete();
    for (a, b) in before.hosts.iter().zip(&after.hosts) {
        after.check(b.wakes - a.wakes <= 60, "at most 60 wakes in 60 s");
    }
    let nothing = after.traffic.of(Kind::Data) == before.traffic.of(Kind::Data);
    after.check(nothing, "no data without need");
}

#[test]
fn a_session_that_was_never_used_is_quiet() {
    // no object at all; 60 s, seed 2
    let report =
        plan(2).sender(SenderConfig::default()).receivers(2).until(Until::Limit, secs(60)).run();
    for host in &report.hosts {
        report.check(host.wakes <= 70, "about one wake a second at most");
    }
}
