//! Groups that repair themselves: with a sender that cannot hear, that is gone, or that is there; a
//! partition; a thousand nodes.

use fanfare_messaging::{Filter, GroupConfig, Subscription, Topic};
use fanfare_proto::{Bitrate, FecConfig, ReceiverConfig, SenderConfig, SessionConfig};
use fanfare_scenarios::{SENDER, ms, plan, receivers, secs};
use fanfare_sim::{
    Change, Host, Hosts, Kind, Link, Plan, Publication, Report, Scenario, Until, Values,
};

fn sender(rate: Bitrate) -> SenderConfig {
    let fec = FecConfig { source: 64, parity: 64, ..FecConfig::default() };
    let grtt_initial = ms(50);
    SenderConfig { rate, fec, group_size: 10, grtt_initial, ..SenderConfig::default() }
}

fn everything() -> Subscription {
    Subscription::new(Filter::new("#").unwrap())
}

fn messages(size: u64, count: u64) -> Publication {
    Publication::new(Topic::new("group/test").unwrap(), size, count)
}

/// A sender and `n` receivers, all of them group nodes that send and receive.
fn group(seed: u64, n: u16, sender: SenderConfig, config: GroupConfig) -> Plan {
    let node = SessionConfig {
        sender: Some(sender),
        receiver: Some(ReceiverConfig { objects_max: 1024, ..ReceiverConfig::default() }),
        ..SessionConfig::default()
    };
    let plan = (0..=n).fold(plan(seed), |plan, _| plan.host(node.clone()));
    plan.cooperate(Hosts::All, config).subscribe(receivers(n), &everything())
}

fn config(rate: Bitrate) -> GroupConfig {
    GroupConfig { repair_rate: rate, ..GroupConfig::default() }
}

/// UDP payload that all hosts but the first sent.
fn peers_sent(report: &Report) -> u64 {
    report.hosts[1..].iter().map(|host| host.sum(|stats| stats.bytes_sent)).sum()
}

#[test]
fn a_deaf_senders_messages_are_completed_by_the_others() {
    // 6 receivers, 20 % loss from the sender (what all six miss nobody can have: 0.05 symbols of 840),
    // 10 % between receivers, nothing back to it, seed 1
    let report = group(1, 6, sender(Bitrate::mbps(1)), config(Bitrate::mbps(1)))
        .link(Link::default().loss(0.1))
        .path(SENDER, Hosts::All, Link::default().loss(0.2))
        .path(Hosts::All, SENDER, Link::down())
        .at(ms(0), Change::Publish(SENDER, messages(50_000, 20)))
        .at(ms(0), Change::Publish(SENDER, messages(800, 100)))
        .until(Until::Complete, secs(120))
        .run();
    report.check_complete();
    for host in &report.hosts[1..] {
        report.check(host.messages.len() == 120, "every message was handed over, once");
    }
    let peers = || report.hosts[1..].iter().map(|host| host.group_lives[0]);
    let repairs: u64 = peers().map(|stats| stats.repairs_sent).sum();
    report.check(repairs > 100, "the others repaired");
    let sums: u64 = peers().map(|stats| stats.sums_sent).sum();
    report.check(
        2 * sums > repairs,
        &format!("{sums} sums of {repairs} repairs: one serves several"),
    );
    let wrong: u64 = peers().map(|stats| stats.sums_dropped).sum();
    report.check(wrong == 0, "no sum was wrong, and there was room for all");
}

#[test]
fn a_sender_that_dies_after_its_first_pass_is_not_needed_any_more() {
    // 10 MB at 8 Mbit/s to 10 receivers with 30 % loss of their own on every path: no receiver has a
    // whole block, but every symbol was heard by somebody (but for 0.04 of 7143). New data go
    // first, so that the first pass ends at 10.5 s; killed at 10.9 s, seed 2
    let fast = sender(Bitrate::mbps(8));
    let report = group(2, 10, SenderConfig { repair_share: 0, ..fast }, config(Bitrate::mbps(4)))
        .link(Link::default().loss(0.3))
        .at(ms(0), Change::Publish(SENDER, messages(10_000_000, 1)))
        .at(ms(10_900), Change::Crash(SENDER))
        .until(Until::Complete, secs(600))
        .run();
    report.check_complete();
    report.check(report.hosts[1..].iter().all(|host| host.messages.len() == 1), "all have it");
}

#[test]
fn after_a_partition_what_differs_is_sent_and_little_else() {
    // 2 + 1 publishers' side and 3 others, cut off for 10 minutes in which 20 messages of 10 KB are
    // published; 1 % loss, seed 3
    let size = 10_000;
    let away = Hosts::Span(Host(3), Host(5));
    let run = |published: u64| {
        group(3, 5, sender(Bitrate::mbps(1)), config(Bitrate::mbps(1)))
            .link(Link::default().loss(0.01))
            .at(ms(0), Change::Publish(SENDER, messages(size, 20)))
            .at(secs(30), Change::Partition(away))
            .at(secs(40), Change::Publish(SENDER, messages(size, published)))
            .at(secs(630), Change::Heal)
            .until(Until::Limit, secs(830))
            .run()
    };
    let (report, without) = (run(20), run(0));
    let before_heal = {
        let healed = |n| {
            group(3, 5, sender(Bitrate::mbps(1)), config(Bitrate::mbps(1)))
                .link(Link::default().loss(0.01))
                .at(ms(0), Change::Publish(SENDER, messages(size, 20)))
                .at(secs(30), Change::Partition(away))
                .at(secs(40), Change::Publish(SENDER, messages(size, n)))
                .until(Until::Limit, secs(630))
                .run()
        };
        (all_sent(&healed(20)), all_sent(&healed(0)))
    };
    for host in &report.hosts[1..] {
        report.check(host.messages.len() == 40, "every message was handed over");
    }
    // What the heal cost: all that was sent after it, less what a quiet group sends in that time.
    let after = all_sent(&report) - before_heal.0;
    let quiet = all_sent(&without) - before_heal.1;
    let difference = 20 * size;
    let cost = after.saturating_sub(quiet);
    report.check(
        cost <= 2 * difference + 10_000,
        &format!("reconciliation cost {cost} bytes for a difference of {difference}"),
    );
    let last = report.hosts[5].messages.iter().map(|(at, _)| *at).max().unwrap();
    report.check(last < fanfare_proto::Time::ZERO + secs(760), "within two minutes of the heal");
}

fn all_sent(report: &Report) -> u64 {
    report.sum(|stats| stats.bytes_sent)
}

#[test]
fn with_the_sender_reachable_cooperation_costs_nothing() {
    // 10 MB at 10 Mbit/s to 5 receivers, 10 % loss of their own each, seeds 1 to 3
    let run = |seed, repairs| {
        let config = GroupConfig { repairs, announces: repairs, ..config(Bitrate::mbps(4)) };
        let report = group(seed, 5, sender(Bitrate::mbps(10)), config)
            .link(Link::default().loss(0.1))
            .at(ms(0), Change::Publish(SENDER, messages(10_000_000, 1)))
            .run();
        report.check_complete();
        all_sent(&report) as f64
    };
    let (with, without): (Vec<f64>, Vec<f64>) =
        (1..=3).map(|seed| (run(seed, true), run(seed, false))).unzip();
    let ratio = with.iter().sum::<f64>() / without.iter().sum::<f64>();
    assert!((0.99..=1.01).contains(&ratio), "{ratio}: {with:?} against {without:?}");
}

#[test]
fn repair_traffic_per_lost_symbol_is_bounded_in_large_groups() {
    // A deaf sender of 64 KB, 30 % loss on every path; 100 and 1000 receivers, seed 4. Every symbol is
    // lost by somebody: repairs are reckoned per symbol of the object.
    let repairs = |n: u16| {
        let sender = SenderConfig { group_size: 1000, ..sender(Bitrate::mbps(1)) };
        let report = group(4, n, sender, config(Bitrate::kbps(500)))
            .link(Link::default().loss(0.3))
            .path(Hosts::All, SENDER, Link::down())
            .at(ms(0), Change::Publish(SENDER, messages(64_000, 1)))
            .until(Until::Complete, secs(300))
            .run();
        report.check_complete();
        let sent: u64 = report.hosts.iter().map(|host| host.group_lives[0].repairs_sent).sum();
        (sent as f64 / 46.0, report.traffic.of(Kind::Nack).messages, peers_sent(&report))
    };
    let (few, many) = (repairs(100), repairs(1000));
    assert!(many.0 <= 2.0 * few.0, "{few:?} and {many:?}");
}

#[test]
fn in_a_company_on_the_move_position_reports_reach_all_whom_a_path_leads_to() {
    // 24 vehicles on one radio of 600 kbit/s for 100 s, half a kilometre to four apart, seed 1
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/files/company.toml");
    let text = std::fs::read_to_string(file).unwrap();
    let text = text.replace("duration = \"1264s\"", "duration = \"164s\"");
    let values = Values::from([(String::from("stop"), String::from("100s"))]);
    let none = |name: &str| Err(String::from(name));
    let scenario = Scenario::parse_with(&text, &values, &none).unwrap();
    let report = scenario.plan(1).run();
    let metrics = scenario.metrics_of(&report);
    let metric = |name: &str| metrics.iter().find(|(n, _)| n == name).unwrap().1;
    report.check(metric("delivered_share:position") == 1.0, "every position report arrived");
    report.check(metric("delivered_share:sensor") == 1.0, "all sensor data arrived");
    report.check(metric("delivered_share:document") == 1.0, "every document arrived");
    // Who hears whom is not known for the first seconds.
    let in_time = metric("within_5s_share:position");
    report.check(in_time > 0.97, &format!("{in_time} within 5 s"));
    let relays: u64 = report.hosts.iter().map(|host| host.group_lives[0].relays_sent).sum();
    let published = report.hosts.iter().map(|host| host.published.0).sum::<u64>();
    report.check(relays < 6 * published, &format!("{relays} relays of {published} messages"));
}
