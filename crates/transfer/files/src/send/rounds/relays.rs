//! What relays do to a transfer: one that takes over speaks from another address in the sender's name, and
//! brings the receivers' answers from other ports. Whole senders and receivers in virtual time.

use std::{net::SocketAddr, time::Duration};

use super::{
    super::{Expect, SendOptions},
    LIMIT, World,
};
use crate::event::{Outcome, ReceiveEvent};

/// Bytes of the file: eight seconds at the rate.
const SIZE: usize = 10_000_000;
/// When one relay is killed, and for how long nothing is passed on.
const KILLED: Duration = Duration::from_secs(3);
const LEASE: Duration = Duration::from_secs(3);

fn host(last: u8, port: u16) -> SocketAddr {
    SocketAddr::from(([10, 0, 1, last], port))
}

/// A transfer of one file to three receivers. `step` is called before each turn.
fn transfer(seed: u64, mut step: impl FnMut(&mut World)) -> World {
    let content: Vec<u8> =
        (0..SIZE as u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let wait = Duration::from_secs(60);
    let options = SendOptions { expect: Expect::Count(3), wait, ..SendOptions::default() };
    let mut world = World::with(&[content], options, 0.01, seed);
    world.latest = Duration::from_millis(5);
    (0..3).for_each(|_| world.join(false));
    while !world.sender.job.is_done() && world.now < LIMIT {
        step(&mut world);
        world.send();
        world.receive();
        world.pass_time();
    }
    world
}

#[track_caller]
fn assert_all_have_it(world: &mut World, seed: u64) {
    for told in &world.told {
        let failed = told.iter().find(|event| matches!(event, ReceiveEvent::Failed { .. }));
        assert!(failed.is_none(), "seed {seed}: {failed:?}");
        let files = told.iter().filter(|event| matches!(event, ReceiveEvent::File { .. }));
        assert_eq!(files.count(), 1, "seed {seed}");
    }
    let results = world.report().receivers;
    let complete = results.iter().filter(|result| matches!(result.outcome, Outcome::Complete));
    assert_eq!(complete.count(), 3, "seed {seed}: {results:?}");
}

/// Two relays pass a sender on until `both`, then one of them, which is killed, and three seconds later
/// the other one.
fn taken_over(seed: u64, both: Duration) -> World {
    let (first, second) = (host(1, 7003), host(2, 7003));
    let mut turn = 0;
    transfer(seed, |world| {
        let now = world.now.since(fanfare_proto::Time::ZERO);
        turn += 1;
        let silent = (KILLED..KILLED + LEASE).contains(&now);
        world.loss = if silent { 1.0 } else { 0.01 };
        let of_second = now >= KILLED || (now < both && turn % 2 == 0);
        world.sender.address = if of_second { second } else { first };
    })
}

#[test]
fn receivers_go_on_when_a_relay_takes_over_that_spoke_beside_the_other_at_the_start() {
    // Loss 1 %, three silent seconds, seeds 1 to 3. Whether or not it seems an impostor that was heard first.
    for seed in 1..=3 {
        for both in [Duration::ZERO, Duration::from_millis(500)] {
            assert_all_have_it(&mut taken_over(seed, both), seed);
        }
    }
}

#[test]
fn receivers_whose_answers_come_from_other_ports_get_their_repairs_and_their_receipts() {
    // Loss 1 %, seeds 1 to 3: another relay gives its ports to the members in another order.
    for seed in 1..=3 {
        let mut world = transfer(seed, |world| {
            let killed = world.now.since(fanfare_proto::Time::ZERO) >= KILLED;
            for (at, receiver) in world.receivers.iter_mut().enumerate() {
                let port = if killed { 7003 + (at as u16 + 1) % 3 } else { 7003 + at as u16 };
                receiver.address = host(1, port);
            }
        });
        assert_all_have_it(&mut world, seed);
    }
}
