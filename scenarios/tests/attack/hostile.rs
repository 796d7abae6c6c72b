//! A host that is no part of the transfer speaks in others' names, many times a second.

use core::net::SocketAddr;
use fanfare_proto::{DropReason, SenderConfig};
use fanfare_scenarios::{SENDER, ms, plan, receivers};
use fanfare_sim::{Change, Host, Link, Object, Plan, Report};

/// The attacker's own address.
fn attacker() -> SocketAddr {
    SocketAddr::from(([10, 0, 200, 200], 4000))
}

/// Offsets in a sender's message (RFC 5740 4.2).
const INSTANCE: usize = 8;
const OBJECT: usize = 14;

/// An object of 0.7 s to three; loss 2 % each way, delay 5 ms.
fn transfer(seed: u64) -> Plan {
    plan(seed)
        .sender(SenderConfig::default())
        .receivers(3)
        .link(Link::default().loss(0.02))
        .send(Object::file("target", 800_000))
}

/// The attack goes on for three seconds, every 10 ms: longer than the transfer.
fn under(plan: Plan, change: impl Fn(u64) -> Change) -> Plan {
    (1..300).fold(plan, |plan, n| plan.at(ms(n * 10), change(n)))
}

/// All three have the true object, and none of it was given up; when the last had it.
fn last_completion(report: &Report) -> fanfare_proto::Time {
    let key = report.offers[0].key;
    let done = (1..=3).map(|n| report.host(Host(n)).completed(key));
    let done: Option<Vec<_>> = done.collect();
    report.check(done.is_some(), "everyone has the true object");
    done.into_iter().flatten().max().unwrap_or_default()
}

/// In at most twice the time of the same transfer in peace.
fn check_not_held_up(report: &Report, seed: u64) {
    let (under, peace) = (last_completion(report), last_completion(&transfer(seed).run()));
    let zero = fanfare_proto::Time::ZERO;
    let within = under.since(zero) <= peace.since(zero) * 2;
    report.check(within, &format!("{under} against {peace} in peace"));
}

/// A sender's CMD of this flavour in its name: EOT is 2, SQUELCH 3.
fn command(flavor: u8, rest: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0x13, 3 + (rest.len() as u8).div_ceil(4)];
    bytes.extend(9u16.to_be_bytes());
    bytes.extend(Plan::node_id(SENDER).0.to_be_bytes());
    bytes.extend(1u16.to_be_bytes());
    bytes.extend([1, 0x42, flavor]);
    bytes.extend(rest);
    bytes
}

#[test]
fn new_instances_from_another_address_do_not_end_a_transfer() {
    // 100 a second for 3 s, seed 1
    let report = under(transfer(1), |_| Change::Tamper {
        like: SENDER,
        to: receivers(3),
        source: Some(attacker()),
        patches: vec![(INSTANCE, vec![0x77, 0x77])],
    });
    check_not_held_up(&report.run(), 1);
}

#[test]
fn spoofed_farewells_do_not_end_a_transfer() {
    // 100 a second for 3 s in the sender's name and from its address, seed 2
    let report = under(transfer(2), |_| Change::Inject {
        to: receivers(3),
        source: SENDER.address(),
        bytes: command(2, &[0]),
    });
    check_not_held_up(&report.run(), 2);
}

#[test]
fn spoofed_jumps_of_the_object_id_do_not_end_a_transfer() {
    // 100 a second for 3 s in the sender's name and from its address, seed 3
    let report = under(transfer(3), |_| Change::Tamper {
        like: SENDER,
        to: receivers(3),
        source: None,
        patches: vec![(OBJECT, vec![0x4e, 0x20])],
    });
    check_not_held_up(&report.run(), 3);
}

#[test]
fn spoofed_squelches_do_not_end_a_transfer() {
    // 100 a second for 3 s in the sender's name and from its address, at one of three; seed 4
    let report = under(transfer(4), |_| Change::Inject {
        to: Host(2).into(),
        source: SENDER.address(),
        bytes: command(3, &[5, 0x03, 0xe8, 0, 0, 0, 0]),
    });
    check_not_held_up(&report.run(), 4);
}

#[test]
fn feedback_in_a_receivers_name_from_another_address_is_refused() {
    // 100 ACKs of CC a second for 3 s in the first receiver's name, seed 5
    let mut bytes = vec![0x15, 6, 0, 0];
    bytes.extend(Plan::node_id(Host(1)).0.to_be_bytes());
    bytes.extend(Plan::node_id(SENDER).0.to_be_bytes());
    bytes.extend([0, 1, 1, 0]);
    bytes.extend([0; 8]);
    let watermark = Change::Watermark(SENDER, vec![Host(1), Host(2), Host(3)]);
    let plan = transfer(5).at(ms(900), watermark);
    let report = under(plan, |_| Change::Inject {
        to: SENDER.into(),
        source: attacker(),
        bytes: bytes.clone(),
    })
    .run();
    check_not_held_up(&report, 5);
    let refused = report.host(SENDER).sum(|s| s.dropped(DropReason::ForeignSource));
    report.check(refused > 50, &format!("{refused} are refused"));
}

/// How a receiver's feedback of this type begins, from this node to the sender.
fn feedback(kind: u8, node: u32) -> Vec<u8> {
    let mut bytes = vec![0x10 | kind, 6, 0, 0];
    bytes.extend(node.to_be_bytes());
    bytes.extend(Plan::node_id(SENDER).0.to_be_bytes());
    bytes.extend([0, 1, 0, 0]);
    bytes.extend([0; 8]);
    bytes
}

#[test]
fn a_thousand_requests_a_second_of_invented_receivers_do_not_hold_a_transfer_up() {
    // each asks for all of the object; 1,000 a second for 3 s from one address, seed 6
    let object = transfer(6).run().offers[0].key.object.0.to_be_bytes();
    let mut plan = transfer(6);
    for n in 0..3000u32 {
        let mut bytes = feedback(4, 0x6000_0000 + n % 50);
        bytes.extend([1, 8, 0, 8, 5, 0, object[0], object[1], 0, 0, 0, 0]);
        let inject = Change::Inject { to: SENDER.into(), source: attacker(), bytes };
        plan = plan.at(ms(u64::from(n) + 10), inject);
    }
    let report = plan.run();
    check_not_held_up(&report, 6);
}

#[test]
fn of_a_strangers_flood_a_thousand_datagrams_a_second_are_read() {
    // 5,000 a second of 40 meaningless bytes to all for 3 s, seed 7
    let mut plan = transfer(7);
    for n in 0..15_000u64 {
        let change = Change::Inject {
            to: fanfare_sim::Hosts::All,
            source: attacker(),
            bytes: vec![n as u8 | 0x80; 40],
        };
        plan = plan.at(ms(n / 5), change);
    }
    let report = plan.run();
    check_not_held_up(&report, 7);
    let unread = report.host(Host(1)).sum(|s| s.dropped(DropReason::Flood));
    report.check(unread > 0, &format!("{unread} are not read"));
}

#[test]
fn of_hundreds_of_receivers_at_one_address_a_few_are_known() {
    // 500 ACKs of CC with as many ids from one address, 500 a second, seed 8
    let mut plan = transfer(8);
    for n in 0..500u32 {
        let mut bytes = feedback(5, 0x6000_0000 + n);
        bytes[14] = 1;
        let inject = Change::Inject { to: SENDER.into(), source: attacker(), bytes };
        plan = plan.at(ms(10 + u64::from(n) * 2), inject);
    }
    let report = plan.run();
    check_not_held_up(&report, 8);
    let refused = report.host(SENDER).sum(|s| s.dropped(DropReason::TooManyReceivers));
    report.check(refused > 400, &format!("{refused} are refused"));
}
