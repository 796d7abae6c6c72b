//! Groups joined by gateways: one gateway, two, a ring; a gateway that dies, one that restarts, a
//! partition.

use fanfare_messaging::{Filter, GroupConfig, Options, Subscription, Topic};
use fanfare_proto::Time;
use fanfare_scenarios::{member, plan, secs};
use fanfare_sim::{Change, GatewayPlan, Host, Hosts, Link, Plan, Publication, Report, Until};
use std::collections::BTreeSet;

/// Nodes of each group beside its gateways.
const MEMBERS: u16 = 4;

/// `groups` groups of [`MEMBERS`] nodes that subscribe to everything, one after the other.
fn groups(seed: u64, groups: u8) -> Plan {
    let node = member();
    let everything = Subscription::new(Filter::new("#").unwrap());
    let count = u16::from(groups) * MEMBERS;
    let mut plan = (0..count + 8).fold(plan(seed), |plan, _| plan.host(node.clone()));
    plan = plan.cooperate(Hosts::All, GroupConfig::default());
    for group in 0..groups {
        plan = plan.group(members(group), group).subscribe(members(group), &everything);
    }
    // Up to eight hosts of gateways wait behind them, in no group yet.
    plan.group(Hosts::Span(Host(count), Host(count + 7)), 255)
}

fn members(group: u8) -> Hosts {
    let first = u16::from(group) * MEMBERS;
    Hosts::Span(Host(first), Host(first + MEMBERS - 1))
}

/// The first node of a group.
fn first_of(group: u8) -> Host {
    Host(u16::from(group) * MEMBERS)
}

/// Gateway `n` of a plan of `groups` groups between two of them.
fn join(plan: Plan, groups: u8, n: u16, (from, to): (u8, u8)) -> Plan {
    let [a, b] = sides(groups, n);
    plan.group(a, from).group(b, to).gateway(GatewayPlan::new([a, b]))
}

fn sides(groups: u8, n: u16) -> [Host; 2] {
    let first = u16::from(groups) * MEMBERS + 2 * n;
    [Host(first), Host(first + 1)]
}

/// `count` messages of 300 bytes, one a second from `at` on, of a topic of the host's own.
fn reports(plan: Plan, at: u64, host: Host, count: u64) -> Plan {
    messages(plan, at, host, (300, count))
}

fn messages(plan: Plan, at: u64, host: Host, (size, count): (u64, u64)) -> Plan {
    let topic = Topic::new(&format!("report/{}", host.0)).unwrap();
    (0..count).fold(plan, |plan, n| {
        let one = Publication::new(topic.clone(), size, 1);
        plan.at(secs(at + n), Change::Publish(host, one))
    })
}

/// What a host was handed: who published it first, and the number. Fails where anything came twice, or
/// came back to its publisher.
fn handed(report: &Report, host: Host) -> BTreeSet<(u32, u64)> {
    let mut all = BTreeSet::new();
    for (_, message) in &report.host(host).messages {
        let identity = message.description.identity(message.key);
        report.check(identity.node != Plan::node_id(host), "nothing came back to its publisher");
        let new = all.insert((identity.node.0, identity.number));
        report.check(new, &format!("host {} was handed everything once: {identity:?}", host.0));
    }
    all
}

/// Every member of every group was handed all but its own of `(publisher, count)`, once.
fn check_all(report: &Report, groups: u8, published: &[(Host, u64)]) {
    for number in 0..u16::from(groups) * MEMBERS {
        let all = handed(report, Host(number));
        let wanted = published.iter().filter(|(host, _)| host.0 != number);
        let wanted =
            wanted.flat_map(|(host, count)| (0..*count).map(|n| (Plan::node_id(*host).0, n)));
        let wanted: BTreeSet<(u32, u64)> = wanted.collect();
        let missing: Vec<_> = wanted.difference(&all).collect();
        report.check(missing.is_empty(), &format!("host {number} has all: lacks {missing:?}"));
    }
}

/// UDP payload that was sent in a group.
fn sent_in(report: &Report, hosts: impl IntoIterator<Item = Host>) -> u64 {
    hosts.into_iter().map(|host| report.host(host).sum(|stats| stats.bytes_sent)).sum()
}

fn hosts_of(group: u8, more: &[Host]) -> Vec<Host> {
    let first = u16::from(group) * MEMBERS;
    (first..first + MEMBERS).map(Host).chain(more.iter().copied()).collect()
}

fn carried(report: &Report) -> u64 {
    report.gateways.iter().map(|gateway| gateway.sum(|stats| stats.carried)).sum()
}

fn after(seconds: u64) -> Time {
    Time::ZERO + secs(seconds)
}

#[test]
fn two_groups_joined_by_a_gateway_are_handed_everything_once() {
    // 5 % loss; 30 short messages and 5 of 20 KB of each group, seed 1
    let [a, b] = [first_of(0), first_of(1)];
    let plan = join(groups(1, 2), 2, 0, (0, 1)).link(Link::default().loss(0.05));
    let plan = reports(reports(plan, 10, a, 30), 10, b, 30);
    let plan = messages(messages(plan, 12, Host(1), (20_000, 5)), 12, Host(5), (20_000, 5));
    let report = plan.until(Until::Limit, secs(120)).run();
    check_all(&report, 2, &[(a, 30), (b, 30), (Host(1), 5), (Host(5), 5)]);
    report.check(carried(&report) == 70, "each crossed once");
    // Once it has carried, it carries at once.
    let late =
        report.host(b).messages.iter().rfind(|(_, m)| m.description.options.origin.is_some());
    report.check(late.is_some_and(|(at, _)| *at < after(41)), "the last came within 2 s");
}

#[test]
fn a_second_gateway_costs_next_to_nothing() {
    // 2 % loss; 60 messages of each group through two gateways, and through one while the hosts of the
    // other are members like others, seeds 1 to 3
    for seed in 1..=3 {
        let run = |gateways: u16| {
            let plan = groups(seed, 2).link(Link::default().loss(0.02));
            let plan = (0..2).fold(plan, |plan, n| match n < gateways {
                true => join(plan, 2, n, (0, 1)),
                false => {
                    let ([a, b], all) = (sides(2, n), Subscription::new(Filter::new("#").unwrap()));
                    plan.group(a, 0).group(b, 1).subscribe(Hosts::Span(a, b), &all)
                }
            });
            let plan = reports(reports(plan, 10, first_of(0), 60), 10, first_of(1), 60);
            let report = plan.until(Until::Limit, secs(150)).run();
            check_all(&report, 2, &[(first_of(0), 60), (first_of(1), 60)]);
            report
        };
        let (one, two) = (run(1), run(2));
        let bytes = |report: &Report| {
            sent_in(report, hosts_of(1, &[sides(2, 0)[1], sides(2, 1)[1]])) as f64
        };
        let ratio = bytes(&two) / bytes(&one);
        println!("seed {seed}: {ratio:.3} of the bytes, {} carried", carried(&two));
        two.check(carried(&two) <= 122, &format!("{} carried of 120", carried(&two)));
        two.check(ratio <= 1.1, &format!("{ratio} times the bytes of one gateway"));
    }
}

#[test]
fn a_ring_of_three_groups_has_no_loop() {
    // 2 % loss; 30 messages of each group, seed 4
    let run = |ring: bool| {
        let plan = groups(4, 3).link(Link::default().loss(0.02));
        let plan = join(join(plan, 3, 0, (0, 1)), 3, 1, (1, 2));
        let plan = if ring { join(plan, 3, 2, (2, 0)) } else { plan };
        let plan = (0..3).fold(plan, |plan, group| reports(plan, 10, first_of(group), 30));
        let report = plan.until(Until::Limit, secs(150)).run();
        check_all(&report, 3, &[(first_of(0), 30), (first_of(1), 30), (first_of(2), 30)]);
        report
    };
    let (line, ring) = (run(false), run(true));
    // Each of 90 messages goes into two other groups.
    line.check(carried(&line) == 180, &format!("{} carried", carried(&line)));
    println!("{} carried in the ring", carried(&ring));
    ring.check(carried(&ring) <= 190, &format!("{} carried where 180 are needed", carried(&ring)));
}

#[test]
fn when_a_gateway_dies_another_stands_in() {
    // Two gateways, 2 % loss; the one that carries dies at 40 s, seed 5
    let run = |dead: Option<u16>| {
        let plan = groups(5, 2).link(Link::default().loss(0.02));
        let mut plan = join(join(plan, 2, 0, (0, 1)), 2, 1, (0, 1));
        for host in dead.into_iter().flat_map(|n| sides(2, n)) {
            plan = plan.at(secs(40), Change::Crash(host));
        }
        reports(plan, 10, first_of(0), 60).until(Until::Limit, secs(150)).run()
    };
    let before = run(None);
    let leader =
        (0..2).max_by_key(|n| before.gateways[usize::from(*n)].sum(|s| s.carried)).unwrap();
    let report = run(Some(leader));
    check_all(&report, 2, &[(first_of(0), 60)]);
    let times = report.host(first_of(1)).messages.iter().map(|(at, _)| *at);
    let times: Vec<Time> = times.filter(|at| *at > after(38)).collect();
    let gap = times.windows(2).map(|pair| pair[1].since(pair[0])).max().unwrap();
    println!("the longest silence was {gap:?}");
    report.check(gap > secs(1) && gap < secs(5), &format!("the longest silence was {gap:?}"));
}

#[test]
fn what_a_gateway_missed_while_it_was_cut_off_crosses_after_the_heal_once() {
    // One gateway, 1 % loss; cut off from the first group, then from the second, a minute each, seed 6
    let [here, there] = sides(2, 0);
    let plan = join(groups(6, 2), 2, 0, (0, 1)).link(Link::default().loss(0.01));
    let report = reports(reports(plan, 10, first_of(0), 200), 10, first_of(1), 200)
        .at(secs(30), Change::Partition(here.into()))
        .at(secs(90), Change::Heal)
        .at(secs(120), Change::Partition(there.into()))
        .at(secs(180), Change::Heal)
        .until(Until::Limit, secs(330))
        .run();
    check_all(&report, 2, &[(first_of(0), 200), (first_of(1), 200)]);
    report.check(carried(&report) == 400, &format!("{} crossed", carried(&report)));
}

#[test]
fn what_both_sides_of_a_group_were_brought_while_it_was_parted_is_handed_over_once() {
    // Two gateways, 1 % loss; for a minute the second group is two, each with a gateway, seed 9
    let plan = join(groups(9, 2), 2, 0, (0, 1)).link(Link::default().loss(0.01));
    let plan = join(plan, 2, 1, (0, 1));
    let report = reports(plan, 10, first_of(0), 100)
        .at(secs(30), Change::Partition(Hosts::Span(Host(6), Host(7))))
        .at(secs(90), Change::Heal)
        .until(Until::Limit, secs(240))
        .run();
    check_all(&report, 2, &[(first_of(0), 100)]);
}

#[test]
fn a_gateway_that_begins_anew_does_not_flood_what_has_crossed() {
    // 60 messages cross by the first gateway, which dies at 80 s; another begins at 90 s under another id,
    // as a gateway without a cache directory does; 10 more messages follow. 1 % loss, seeds 7 to 11
    for seed in 7..=11 {
        let plan = join(groups(seed, 2), 2, 0, (0, 1)).link(Link::default().loss(0.01));
        let [a, b] = sides(2, 1);
        let plan = join(plan, 2, 1, (0, 1)).joins(Hosts::Span(a, b), secs(90));
        let plan = reports(reports(plan, 10, first_of(0), 60), 110, Host(1), 10);
        let report = plan
            .at(secs(80), Change::Crash(sides(2, 0)[0]))
            .at(secs(80), Change::Crash(sides(2, 0)[1]))
            .until(Until::Limit, secs(240))
            .run();
        check_all(&report, 2, &[(first_of(0), 60), (Host(1), 10)]);
        let second = report.gateways[1].sum(|stats| stats.carried);
        let learned = report.host(b).messages.iter().filter(|(at, _)| *at < after(110));
        println!(
            "seed {seed}: {second} carried; learned by {:?}",
            learned.map(|(at, _)| *at).max()
        );
        report.check(second == 10, &format!("the second carried {second}"));
    }
}

#[test]
fn under_its_old_id_and_without_what_it_kept_a_gateway_brings_all_again_and_nothing_is_handed_twice()
 {
    // As above, but the gateway that died comes back at 90 s itself: same ids, new lives, nothing kept. Its
    // old life is over for all who hear the new one, and with it what it had brought: nobody is left to
    // learn from. Why `fanfare` does not begin such a gateway. 1 % loss, seeds 7 to 9
    for seed in 7..=9 {
        let plan = join(groups(seed, 2), 2, 0, (0, 1)).link(Link::default().loss(0.01));
        let [a, b] = sides(2, 0);
        let plan = [a, b].into_iter().fold(plan, |plan, host| {
            plan.at(secs(80), Change::Crash(host)).at(secs(90), Change::Start(host))
        });
        let plan = reports(reports(plan, 10, first_of(0), 60), 110, Host(1), 10);
        let report = plan.until(Until::Limit, secs(240)).run();
        check_all(&report, 2, &[(first_of(0), 60), (Host(1), 10)]);
        let again = carried(&report);
        println!("seed {seed}: {again} carried by the second life");
        report.check(again == 70, &format!("the second life carried {again}"));
    }
}

#[test]
fn an_expiry_is_less_by_the_time_that_a_message_waits_at_a_gateway() {
    // A message of use for 60 s, left to others for 1 to 1.5 s; no loss, seed 8
    let topic = Topic::new("report").unwrap();
    let options = Options { expiry: Some(secs(60)), ..Options::default() };
    let publication = Publication { options, ..Publication::new(topic, 300, 1) };
    let report = join(groups(8, 2), 2, 0, (0, 1))
        .at(secs(30), Change::Publish(first_of(0), publication))
        .until(Until::Limit, secs(60))
        .run();
    let (at, message) = &report.host(first_of(1)).messages[0];
    let left = message.description.options.expiry.unwrap();
    let took = at.since(after(30));
    report.check(left <= secs(59) && left >= secs(58), &format!("{left:?} after {took:?}"));
}
