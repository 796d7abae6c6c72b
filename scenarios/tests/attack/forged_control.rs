//! Forged control messages: one datagram must not destroy a transfer.

use core::net::SocketAddr;
use fanfare_proto::{DropReason, SenderConfig};
use fanfare_scenarios::{SENDER, ms, plan, receivers};
use fanfare_sim::{Change, Host, Link, Object, Plan, Report};

/// Somebody outside the plan, on the same network.
fn stranger() -> SocketAddr {
    SocketAddr::from(([10, 0, 200, 200], 4000))
}

/// Where a sender's messages carry what (RFC 5740 4.2): offsets in the header.
const SEQUENCE: usize = 2;
const INSTANCE: usize = 8;
const OBJECT: usize = 14;

/// A SQUELCH in the sender's name: nothing before `object` can be repaired.
fn squelch(object: u16) -> Vec<u8> {
    let (sequence, source, instance) = (9u16, Plan::node_id(SENDER).0, 1u16);
    let (grtt, backoff_gsize, flavor, fec_id) = (100, 0x42, 3, 5);
    let mut bytes = vec![0x13, 5];
    bytes.extend(sequence.to_be_bytes());
    bytes.extend(source.to_be_bytes());
    bytes.extend(instance.to_be_bytes());
    bytes.extend([grtt, backoff_gsize, flavor, fec_id]);
    bytes.extend(object.to_be_bytes());
    bytes.extend([0; 4]);
    bytes
}

/// An object of 0.7 s; loss 5 % each way, delay 5 ms.
fn under_attack(seed: u64) -> Plan {
    plan(seed)
        .sender(SenderConfig::default())
        .receivers(3)
        .link(Link::default().loss(0.05))
        .send(Object::file("target", 800_000))
}

/// The forgery was understood, and refused for this reason, at each of the three.
fn check_refused(report: &Report, reason: DropReason) {
    report.check_complete();
    report.check(report.sum(|s| s.dropped(reason)) >= 3, "the forgery is refused and counted");
}

fn tamper(source: Option<SocketAddr>, patches: Vec<(usize, Vec<u8>)>) -> Change {
    Change::Tamper { like: SENDER, to: receivers(3), source, patches }
}

#[test]
fn a_single_forged_squelch_from_a_stranger_does_not_abort() {
    // seed 1
    let change = Change::Inject { to: receivers(3), source: stranger(), bytes: squelch(1000) };
    check_refused(&under_attack(1).at(ms(300), change).run(), DropReason::ForeignSource);
}

#[test]
fn a_single_forged_squelch_with_the_senders_address_does_not_abort() {
    // seed 2
    let source = SENDER.address();
    let change = Change::Inject { to: receivers(3), source, bytes: squelch(1000) };
    check_refused(&under_attack(2).at(ms(300), change).run(), DropReason::Unconfirmed);
}

#[test]
fn a_single_forged_instance_change_does_not_abort() {
    // seed 3 from a stranger, seed 4 with the sender's address
    let patches = vec![(INSTANCE, vec![0x77, 0x77])];
    let foreign = under_attack(3).at(ms(300), tamper(Some(stranger()), patches.clone())).run();
    check_refused(&foreign, DropReason::ForeignSource);
    let close = under_attack(4).at(ms(300), tamper(None, patches)).run();
    check_refused(&close, DropReason::Unconfirmed);
}

#[test]
fn a_single_forged_object_far_ahead_does_not_abort() {
    // seed 5: object id 20,000 further, from a stranger; seed 6: with the sender's address
    let patches = vec![(OBJECT, vec![0x4e, 0x20])];
    let outcome = |seed, source| {
        let report = under_attack(seed).at(ms(300), tamper(source, patches.clone())).run();
        report.check(report.complete, "the true object is completed");
    };
    outcome(5, Some(stranger()));
    outcome(6, None);
}

#[test]
fn a_single_forged_sequence_number_does_no_harm() {
    // seed 7
    let patches = vec![(SEQUENCE, vec![0x80, 0])];
    let report = under_attack(7).at(ms(300), tamper(None, patches)).run();
    report.check_complete();
}

#[test]
fn a_forged_backoff_of_zero_does_not_make_all_speak() {
    // K = 0, group size 10 in every tenth millisecond of the transfer; 30 receivers, common loss
    // 5 %, delay 5 ms, seed 8
    let (n, factor) = (30, 11);
    let mut plan = plan(8)
        .sender(SenderConfig::default())
        .receivers(n)
        .uplink(SENDER, Link::wire().loss(0.05))
        .send(Object::data(400_000));
    for step in 1..35 {
        let patches = vec![(factor, vec![0])];
        let to = receivers(n);
        let forged = Change::Tamper { like: SENDER, to, source: Some(stranger()), patches };
        plan = plan.at(ms(step * 10), forged);
    }
    let report = plan.run();
    report.check_complete();
    report.check(report.nacks_per_loss_event() <= 10.0, "suppression still works");
}

#[test]
fn a_flood_of_forged_squelches_from_a_stranger_does_not_abort() {
    // one each 10 ms for 0.5 s, from an address that is not the sender's; seed 9
    let mut plan = under_attack(9);
    for step in 0..50 {
        let change = Change::Inject { to: receivers(3), source: stranger(), bytes: squelch(1000) };
        plan = plan.at(ms(100 + step * 10), change);
    }
    let report = plan.run();
    report.check_complete();
    report.check(report.host(Host(1)).completions.len() == 1, "the true object is there");
}
