use fanfare_proto::{Bitrate, Duration, SessionConfig};

use super::*;
use crate::{Change, Hop, Link, Queue, Router, Scenario};

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}
fn at(n: u64) -> Time {
    Time::ZERO + ms(n)
}
fn packet(bytes: usize) -> Rc<[u8]> {
    vec![0; bytes].into()
}
fn hosts(count: u16) -> Plan {
    (0..count).fold(Plan::new(1), |plan, _| plan.host(SessionConfig::default()))
}
/// Host 0, a line of 1 Mbit/s, and two receivers behind it.
fn line() -> Plan {
    let hop = Hop::from(Link::wire().rate(Bitrate::mbps(1), 0).delay(ms(10)));
    let plan = hosts(3).wire(Host(0), Router(0), hop.queue(Queue::packets(2)));
    let wire = Hop::from(Link::wire());
    plan.wire(Router(0), Host(1), wire).wire(Router(0), Host(2), wire)
}
fn emulation(plan: Plan) -> Emulation {
    let mut emulation = Emulation::new(plan);
    emulation.poll(Time::ZERO, &mut Vec::new());
    emulation
}
/// Everything that arrives: when, at whom.
fn arrivals(emulation: &mut Emulation) -> Vec<(u64, u16)> {
    let mut due = Vec::new();
    while let Some(at) = emulation.next_time() {
        emulation.poll(at, &mut due);
    }
    due.iter().map(|due| (due.at.as_nanos() / 1_000_000, due.to.0)).collect()
}

#[test]
fn a_packet_for_the_group_passes_a_shared_line_once_and_reaches_all_others() {
    let mut emulation = emulation(line());
    assert!(emulation.on_packet(at(5), Host(0), Recipient::Group, None, packet(1250)));
    assert_eq!(arrivals(&mut emulation), [(25, 1), (25, 2)]);
    assert_eq!(emulation.accounts()[0].bytes, 1250);
}

#[test]
fn a_driver_that_is_late_does_not_slow_the_line() {
    let mut emulation = emulation(line());
    for _ in 0..3 {
        emulation.on_packet(Time::ZERO, Host(0), Recipient::Host(Host(2)), None, packet(1250));
    }
    let mut due = Vec::new();
    emulation.poll(at(500), &mut due);
    let times: Vec<Time> = due.iter().map(|due| due.at).collect();
    assert_eq!(times, [at(20), at(30), at(40)]);
}

#[test]
fn every_packet_of_a_hop_is_accounted_for_at_any_time() {
    let loss = Link::wire().rate(Bitrate::mbps(1), 0).loss(0.3).duplicate(0.2);
    let mut emulation = emulation(line().hop(Host(0), Router(0), Hop::from(loss).mtu(1300)));
    let mut due = Vec::new();
    for n in 0..2_000_u64 {
        let now = Time::from_nanos(n * 9_500_000);
        emulation.poll(now, &mut due);
        let size = if n % 50 == 0 { 1400 } else { 1250 };
        emulation.on_packet(now, Host(0), Recipient::Group, None, packet(size));
        assert!(emulation.accounts().iter().all(LinkAccount::is_balanced), "{n}");
    }
    let account = &emulation.accounts()[0];
    assert_eq!((account.came, account.too_large), (2_000, 40));
    assert!(account.lost > 500 && account.duplicated > 200 && account.waiting > 0, "{account:?}");
}

#[test]
fn a_path_of_its_own_counts_the_packet_as_it_is_and_loses_for_each_receiver_alone() {
    // 1250 bytes at 1 Mbit/s take 10 ms: the headers are in the packet.
    let plan = hosts(3).link(Link::wire().rate(Bitrate::mbps(1), 64 << 10).loss(0.4));
    let mut emulation = emulation(plan);
    emulation.on_packet(Time::ZERO, Host(0), Recipient::Group, None, packet(1250));
    let first = arrivals(&mut emulation);
    assert!(first.iter().all(|(at, _)| *at == 10), "{first:?}");
    let mut alone = 0;
    for n in 1..500 {
        emulation.on_packet(at(n * 20), Host(0), Recipient::Group, None, packet(1250));
        alone += usize::from(arrivals(&mut emulation).len() == 1);
    }
    // Of two independent losses of 0.4, one alone has a chance of 0.48.
    assert!((190..290).contains(&alone), "{alone}");
    assert!(emulation.accounts().iter().all(|a| a.is_balanced() && a.came == 500));
}

#[test]
fn a_corrupted_packet_differs_in_one_bit_behind_its_headers_on_a_path() {
    let mut emulation = emulation(hosts(2).link(Link::wire().corrupt(1.0)));
    emulation.on_packet(Time::ZERO, Host(0), Recipient::Host(Host(1)), None, packet(100));
    let mut due = Vec::new();
    emulation.poll(Time::ZERO, &mut due);
    let ones: u32 = due[0].bytes.iter().map(|byte| byte.count_ones()).sum();
    assert!(due[0].corrupted && ones == 1 && due[0].bytes[..28] == [0; 28]);
}

#[test]
fn hosts_come_and_go_and_partitions_cut_at_their_times() {
    let plan = line()
        .joins(Host(2), ms(100))
        .at(ms(200), Change::Partition(Host(1).into()))
        .at(ms(300), Change::Heal)
        .at(ms(400), Change::Crash(Host(0)));
    let mut emulation = emulation(plan);
    let mut heard = Vec::new();
    for n in [50, 150, 250, 350, 450] {
        emulation.poll(at(n), &mut Vec::new());
        let sent = emulation.on_packet(at(n), Host(0), Recipient::Group, None, packet(1250));
        let mut due = Vec::new();
        emulation.poll(at(n + 40), &mut due);
        heard.push((sent, due.iter().map(|due| due.to.0).collect::<Vec<_>>()));
    }
    let expected =
        [(true, vec![1]), (true, vec![1, 2]), (true, vec![2]), (true, vec![1, 2]), (false, vec![])];
    assert_eq!(heard, expected);
}

#[test]
fn a_driver_cuts_and_heals_when_it_wants() {
    let mut emulation = emulation(line());
    let mut heard = Vec::new();
    for (n, change) in [(100, Change::Partition(Host(1).into())), (200, Change::Heal)] {
        emulation.poll(at(n), &mut Vec::new());
        emulation.apply(at(n), change);
        emulation.on_packet(at(n), Host(0), Recipient::Group, None, packet(1250));
        let mut due = Vec::new();
        emulation.poll(at(n + 40), &mut due);
        heard.push(due.iter().map(|due| due.to.0).collect::<Vec<_>>());
    }
    assert_eq!(heard, [vec![2], vec![1, 2]]);
}

#[test]
fn background_flows_of_the_plan_take_their_share_of_the_line() {
    let kind = crate::FlowKind::Cbr { rate: Bitrate::kbps(500), bytes: 1250 };
    let mut emulation = emulation(line().flow(crate::Flow::new(Host(0), Router(0), kind)));
    emulation.poll(at(10_000), &mut Vec::new());
    let account = &emulation.accounts()[0];
    assert!((49..=51).contains(&(account.arrived / 10)), "{account:?}");
}

#[test]
fn hosts_have_the_names_and_the_mtu_of_the_file() {
    let text = "[scenario]\nname = \"x\"\nduration = \"1s\"\n[[node]]\nname = \"a\"\n\
        [[node]]\nname = \"b\"\n[[link]]\nfrom = \"a\"\nto = \"b\"\nmtu = 9000\n\
        [[flow]]\nkind = \"fanfare-send\"\nnode = \"a\"\nsize = 1\n\
        [[flow]]\nkind = \"fanfare-recv\"\nnode = \"b\"\n";
    let scenario = Scenario::parse(text, &|_| Err(String::new())).unwrap();
    let hosts = scenario.plan(1).emulated_hosts();
    let told: Vec<_> = hosts.iter().map(|h| (h.host.0, h.name.as_str(), h.mtu)).collect();
    assert_eq!(told, [(0, "a", 9000), (1, "b", 9000)]);
}

#[test]
fn where_the_plan_prunes_a_groups_packets_go_to_members_alone() {
    let leave = crate::MembershipLatency { join: Duration::ZERO, leave: ms(100) };
    let mut emulation = emulation(line().pruned(true).membership(leave));
    let group = Ipv4Addr::new(239, 1, 2, 3);
    let sent = |now: u64, emulation: &mut Emulation| {
        assert!(emulation.on_packet(
            at(now),
            Host(0),
            Recipient::Members(group),
            None,
            packet(125)
        ));
        arrivals(emulation).into_iter().map(|(_, host)| host).collect::<Vec<u16>>()
    };
    assert_eq!(sent(0, &mut emulation), []);
    emulation.on_membership(at(50), Host(2), group, true);
    assert_eq!(sent(60, &mut emulation), [2]);
    emulation.on_membership(at(100), Host(2), group, false);
    // It hears no more, but its hop is used until the network knows.
    assert_eq!(sent(150, &mut emulation), []);
    assert_eq!(emulation.accounts()[4].bytes, 250);
    assert_eq!(sent(250, &mut emulation), []);
    assert_eq!(emulation.accounts()[4].bytes, 250);
}

#[test]
fn where_it_does_not_they_go_to_all() {
    let mut emulation = emulation(line());
    let to = Recipient::Members(Ipv4Addr::new(239, 1, 2, 3));
    emulation.on_packet(at(0), Host(0), to, None, packet(125));
    assert_eq!(arrivals(&mut emulation).len(), 2);
}
