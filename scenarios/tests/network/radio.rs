//! A radio medium: one node sends at a time, all may hear it, and each pair has its own loss.

use fanfare_proto::{Bitrate, SenderConfig};
use fanfare_scenarios::{plan, secs};
use fanfare_sim::{Flow, FlowKind, Host, Loss, Medium, Object, Place, Plan, Router, Until};

/// A sender and `n` receivers on 500 kbit/s half duplex; the sender asks for `kbps`.
fn air(n: u16, kbps: u64, medium: Medium) -> Plan {
    let sender = SenderConfig { rate: Bitrate::kbps(kbps), ..SenderConfig::default() };
    plan(1).sender(sender).receivers(n).medium(medium.nodes((0..=n).map(Host)))
}
fn medium() -> Medium {
    Medium::new(Bitrate::kbps(500))
}

#[test]
fn a_group_hears_one_transmission_and_each_loses_its_own() {
    // 10 receivers; receiver 1 loses 30 %, the others 5 %.
    let medium =
        medium().loss(Loss::Independent(0.05)).pair(Host(0), Host(1), Loss::Independent(0.3));
    let report = air(10, 400, medium).send(Object::data(200_000)).run();
    report.check_complete();
    let air = report.hop(Host(0), Place::Medium(0)).unwrap();
    let sent = report.hosts[0].sum(|s| s.datagrams_sent);
    report.check(air.carried <= sent && air.carried > sent * 9 / 10, "each datagram once on air");
    let lost = |n| report.hop(Place::Medium(0), Host(n)).unwrap().lost as f64;
    let share = |n| lost(n) / (air.carried as f64);
    report.check((0.2..0.4).contains(&share(1)), &format!("the far one loses: {}", share(1)));
    report.check((0.02..0.1).contains(&share(5)), &format!("a near one less: {}", share(5)));
}

#[test]
fn half_duplex_antennas_share_the_rate_and_full_duplex_ones_do_not() {
    // Two stations that send 400 kbit/s to each other over 500 kbit/s.
    let carried = |medium: Medium| {
        let cbr = FlowKind::Cbr { rate: Bitrate::kbps(400), bytes: 1000 };
        let report = plan(1)
            .sender(SenderConfig::default())
            .medium(medium.nodes([Router(0), Router(1)]))
            .flow(Flow::new(Router(0), Router(1), cbr))
            .flow(Flow::new(Router(1), Router(0), cbr))
            .until(Until::Limit, secs(20))
            .run();
        [0, 1].map(|n| {
            let hop = report.hop(Router(n), Place::Medium(0)).unwrap();
            (hop.bytes.bps(&(secs(5)..secs(20))) / 1e3).round() as u64
        })
    };
    assert_eq!(carried(medium()), [250, 250]);
    assert_eq!(carried(medium().full_duplex()), [400, 400]);
}

#[test]
fn feedback_of_many_takes_its_share_of_the_air_and_the_transfer_still_ends() {
    // 30 receivers with 20 % loss each: they must ask over the air they listen to.
    let medium = medium().loss(Loss::Independent(0.2));
    let report = air(30, 300, medium).send(Object::data(100_000)).run();
    report.check_complete();
    let asked = (1..=30).filter(|n| report.hop(Host(*n), Place::Medium(0)).unwrap().carried > 0);
    // Most hear others ask for the same: between six and fifteen ask.
    report.check(asked.count() > 5, "receivers sent over the air");
}
