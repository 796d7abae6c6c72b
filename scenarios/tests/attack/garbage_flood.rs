//! Meaningless datagrams are counted and bounded, and do no harm.

use core::net::SocketAddr;
use fanfare_proto::{DropReason, Event, SenderConfig, rng::Rng};
use fanfare_scenarios::{ms, plan};
use fanfare_sim::{Change, Host, Hosts, Link, Object, Plan};

fn stranger(n: u64) -> SocketAddr {
    SocketAddr::from(([10, 0, 200, (n % 250) as u8 + 1], 4000))
}

fn transfer(seed: u64) -> Plan {
    plan(seed)
        .sender(SenderConfig::default())
        .receivers(2)
        .link(Link::default().loss(0.02))
        .send(Object::file("among garbage", 400_000))
}

#[test]
fn random_bytes_are_dropped_and_counted() {
    // 2000 datagrams of 0 to 99 random bytes to all; loss 2 %, delay 5 ms, seed 1
    let mut plan = transfer(1);
    let mut rng = Rng::new(1);
    for step in 0..2_000 {
        let bytes = (0..rng.below(100)).map(|_| rng.next_u64() as u8).collect();
        let change = Change::Inject { to: Hosts::All, source: stranger(step), bytes };
        plan = plan.at(ms(step / 5), change);
    }
    let report = plan.run();
    report.check_complete();
    let malformed = report.host(Host(1)).sum(|s| s.dropped(DropReason::Malformed));
    report.check(malformed > 1_900, "garbage is counted as malformed");
}

#[test]
fn well_formed_messages_of_a_thousand_invented_senders_are_bounded() {
    // the true sender's NORM_DATA under 1000 other names; loss 2 %, delay 5 ms, seed 2
    let mut plan = transfer(2);
    for step in 0..1_000u64 {
        let name = (0x5000_0000 + step as u32).to_be_bytes().to_vec();
        let change = Change::Tamper {
            like: Host(0),
            to: Hosts::All,
            source: Some(stranger(step)),
            patches: vec![(4, name)],
        };
        plan = plan.at(ms(20 + step / 5), change);
    }
    let report = plan.run();
    let known = report.offers[0].key;
    for n in 1..=2 {
        report.check(report.host(Host(n)).completed(known).is_some(), "the true object arrives");
        let (mut open, mut most) = (0i32, 0);
        for (_, event) in &report.host(Host(n)).events {
            open += match event {
                Event::ObjectNew { .. } => 1,
                Event::ObjectCompleted { .. } | Event::ObjectAborted { .. } => -1,
                _ => 0,
            };
            most = most.max(open);
        }
        report.check(most <= 64, "objects of at most 64 senders are open at any time");
    }
}

#[test]
fn random_nacks_in_a_receivers_name_do_not_stop_a_sender() {
    // NACK headers with random content, 5 a millisecond for 200 ms; loss 2 %, 5 ms, seed 3
    let mut plan = transfer(3);
    let mut rng = Rng::new(3);
    for step in 0..1_000 {
        let mut bytes = vec![0x14, 6, 0, 0, 0, 0, 0, 2, 0, 0, 0, 1, 0, 1, 0, 0];
        bytes.extend((0..8 + rng.below(20) * 4).map(|_| rng.next_u64() as u8));
        let to = Host(0).into();
        plan = plan.at(ms(10 + step / 5), Change::Inject { to, source: stranger(step), bytes });
    }
    plan.run().check_complete();
}
