//! Short messages that travel together: what holds for one message holds for them.

use fanfare_messaging::{Filter, GroupConfig, Subscription, Topic};
use fanfare_proto::{Bitrate, FecConfig, ReceiverConfig, SenderConfig, SessionConfig};
use fanfare_scenarios::{SENDER, ms, plan, receivers, secs};
use fanfare_sim::{Change, Host, Hosts, Link, Plan, Publication, Report, Until};

/// Bytes of a message, and how many travel together: in one datagram, and in thirty.
const SIZE: u64 = 100;
const FEW: u32 = 12;
const MANY: u32 = 400;

fn group(seed: u64, n: u16) -> Plan {
    let fec = FecConfig { source: 64, parity: 64, ..FecConfig::default() };
    let (rate, grtt_initial) = (Bitrate::mbps(10), ms(50));
    let sender =
        SenderConfig { rate, fec, group_size: 10, grtt_initial, ..SenderConfig::default() };
    let node = SessionConfig {
        sender: Some(sender),
        receiver: Some(ReceiverConfig { objects_max: 1024, ..ReceiverConfig::default() }),
        ..SessionConfig::default()
    };
    let config = GroupConfig { repair_rate: Bitrate::mbps(4), ..GroupConfig::default() };
    let plan = (0..=n).fold(plan(seed), |plan, _| plan.host(node.clone()));
    let everything = Subscription::new(Filter::new("#").unwrap());
    plan.cooperate(Hosts::All, config).subscribe(receivers(n), &everything)
}

fn together(count: u64, together: u32) -> Publication {
    let topic = Topic::new("group/together").unwrap();
    Publication { together, ..Publication::new(topic, SIZE, count) }
}

/// The numbers of all messages that a host was given.
fn numbers(report: &Report, host: usize) -> Vec<u64> {
    let given = report.hosts[host].messages.iter().flat_map(|(_, message)| {
        let first = message.description.number;
        message.members.clone().map(move |member| first + u64::from(member))
    });
    let mut given: Vec<u64> = given.collect();
    given.sort_unstable();
    given
}

fn check_all(report: &Report, hosts: usize, count: u64) {
    let wanted: Vec<u64> = (0..count).collect();
    for host in 1..=hosts {
        let given = numbers(report, host);
        report.check(given == wanted, &format!("host {host} was given {} messages", given.len()));
    }
}

#[test]
fn each_of_them_is_given_once_under_loss() {
    // 5 receivers, 10 % loss on every path, seed 1
    let report = group(1, 5)
        .link(Link::default().loss(0.1))
        .at(ms(0), Change::Publish(SENDER, together(40, FEW)))
        .at(ms(0), Change::Publish(SENDER, together(10, MANY)))
        .until(Until::Complete, secs(120))
        .run();
    report.check_complete();
    check_all(&report, 5, 40 * u64::from(FEW) + 10 * u64::from(MANY));
}

#[test]
fn the_others_repair_them_when_their_publisher_is_gone() {
    // As above, with 20 % loss; the publisher is killed once everything was sent, seed 2
    let report = group(2, 5)
        .link(Link::default().loss(0.2))
        .at(ms(0), Change::Publish(SENDER, together(40, FEW)))
        .at(ms(0), Change::Publish(SENDER, together(5, MANY)))
        .at(ms(1_500), Change::Crash(SENDER))
        .until(Until::Complete, secs(300))
        .run();
    report.check_complete();
    check_all(&report, 5, 40 * u64::from(FEW) + 5 * u64::from(MANY));
}

#[test]
fn who_was_cut_off_gets_them_after_the_partition() {
    // hosts 3 to 5 cut off from 5 s to 65 s, in which both kinds are published; 1 % loss, seed 3
    let report = group(3, 5)
        .link(Link::default().loss(0.01))
        .at(ms(0), Change::Publish(SENDER, together(10, FEW)))
        .at(secs(5), Change::Partition(Hosts::Span(Host(3), Host(5))))
        .at(secs(10), Change::Publish(SENDER, together(40, FEW)))
        .at(secs(20), Change::Publish(SENDER, together(5, MANY)))
        .at(secs(65), Change::Heal)
        .until(Until::Limit, secs(200))
        .run();
    check_all(&report, 5, 50 * u64::from(FEW) + 5 * u64::from(MANY));
}
