//! The receiver that limits the rate leaves, and the others get what their own paths bear.

use fanfare_proto::{Bitrate, CongestionControl, Duration, SenderConfig};
use fanfare_scenarios::{SENDER, chosen_seed, ms, secs};
use fanfare_sim::{Change, Hop, Host, Link, Object, Plan, Report, Router, Until};

/// It comes after two seconds and leaves after eight.
const SLOW: Host = Host(3);
const COMES: Duration = secs(2);
const LEAVES: Duration = secs(8);

/// Two receivers behind `rate`, and one behind a tenth of it.
fn group(rate: Bitrate, one_way: Duration, seed: u64) -> Report {
    lan(rate, one_way, seed).joins(SLOW, COMES).at(LEAVES, Change::Crash(SLOW)).run()
}

/// The same, and all are there from the beginning.
fn lan(rate: Bitrate, one_way: Duration, seed: u64) -> Plan {
    let switch = Router(0);
    let line = |bps: u64, delay: Duration| -> Hop {
        Hop::from(Link::default().delay(delay).rate(Bitrate::bps(bps), 150_000))
    };
    let full = 10 * rate.as_bps();
    let mut plan = Plan::new(chosen_seed().unwrap_or(seed))
        .sender(SenderConfig {
            congestion: CongestionControl::Auto,
            rate: Bitrate::mbps(1000),
            ..SenderConfig::default()
        })
        .receivers(3)
        .wire(SENDER, switch, line(rate.as_bps(), one_way / 2))
        .at(ms(0), Change::Send(SENDER, Object::data(1 << 36)))
        .until(Until::Limit, secs(20));
    for host in 1..=3 {
        let to = if Host(host) == SLOW { rate.as_bps() / 10 } else { full };
        plan = plan.hop(switch, Host(host), line(to, one_way / 2)).hop(
            Host(host),
            switch,
            line(full, one_way / 2),
        );
    }
    plan
}

/// What the first receiver gets of `rate` in these seconds.
fn share(report: &Report, rate: Bitrate, from: u64, until: u64) -> f64 {
    report.goodput(Host(1), &(secs(from)..secs(until))) / rate.as_bps() as f64
}

#[test]
fn when_the_limiting_receiver_leaves_the_others_get_the_whole_link_again() {
    // A LAN of 100 Mbit/s and a path of 10 Mbit/s and 50 ms; without loss, seed 1. The slow one has a
    // queue of 0.12 and 1.2 s, so that its round trip is long and ten of them are too.
    for (rate, one_way, again) in [(Bitrate::mbps(100), ms(0), 9), (Bitrate::mbps(10), ms(25), 14)]
    {
        let report = group(rate, one_way, 1);
        let mean = |from, until| share(&report, rate, from, until);
        report.check(mean(1, 2) > 0.9, "it has the link before");
        report.check(mean(5, 8) < 0.1, "the slow one limits it");
        let after = mean(again, 20);
        report.check(after > 0.9, &format!("the whole link again, {after:.3} at {rate}"));
    }
}

#[test]
fn after_three_seconds_without_any_receiver_the_rate_is_what_it_was() {
    // A LAN of 100 Mbit/s, one receiver behind 10 Mbit/s, without loss, seed 2
    let rate = Bitrate::mbps(100);
    let cut = lan(rate, ms(0), 2).at(secs(4), Change::Partition(SENDER.into()));
    let report = cut.at(secs(7), Change::Heal).run();
    let [before, without, after] =
        [(2, 4), (5, 7), (8, 20)].map(|(from, until)| share(&report, rate, from, until));
    report.check(without == 0.0, "nothing arrives meanwhile");
    report.check(after > 0.95 * before, &format!("{before:.3} before, {after:.3} after"));
}
