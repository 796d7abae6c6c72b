//! A sender that has little to send at first, as the list of a tree, and much after a while.

use fanfare_proto::{Bitrate, CongestionControl, SenderConfig};
use fanfare_scenarios::{SENDER, chosen_seed, ms, secs};
use fanfare_sim::{Change, Host, Link, Object, Plan, Router, Until};

/// Full messages that go at first: so few that nothing can be said of the path, and a few more.
const FIRST: [u64; 2] = [2, 8];

#[test]
fn what_follows_a_few_messages_and_a_pause_goes_as_fast_as_ever() {
    // Three receivers on a LAN of 100 Mbit/s without loss, seed 1. Less goes at first than a report can
    // be about.
    let line = || Link::default().rate(Bitrate::mbps(100), 150_000);
    let sender = SenderConfig {
        congestion: CongestionControl::Auto,
        rate: Bitrate::mbps(1000),
        ..SenderConfig::default()
    };
    for first in FIRST {
        let mut plan = Plan::new(chosen_seed().unwrap_or(1))
            .sender(sender.clone())
            .receivers(3)
            .wire(SENDER, Router(0), line())
            .at(ms(0), Change::Send(SENDER, Object::data(first * 1400)))
            .at(secs(10), Change::Send(SENDER, Object::data(1 << 36)))
            .until(Until::Limit, secs(13));
        for host in 1..=3 {
            plan = plan.wire(Host(host), Router(0), line());
        }
        let report = plan.run();
        let goodput = report.goodput(Host(1), &(secs(11)..secs(13)));
        report.check(goodput > 0.85 * 1e8, &format!("{:.1} Mbit/s", goodput / 1e6));
    }
}
