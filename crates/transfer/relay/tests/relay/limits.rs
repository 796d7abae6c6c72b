//! Whom a relay hears, how much it passes on and how much it keeps.

use std::{net::SocketAddr, time::Duration};

use fanfare_relay::{Config, Event, Relay};

use crate::world::{address, by_group, data, groups, ms, relay, sent, single, with_object};

#[test]
fn strangers_are_refused_and_told_once_and_those_who_are_named_are_heard() {
    let mut relay = Relay::new(Config {
        id: 1,
        groups: groups(1),
        peers: Vec::new(),
        accept: vec![address(60).ip()],
        open: false,
        limit: 1_000_000_000,
        cache: 1 << 20,
    });
    for sequence in 0..5 {
        relay.on_datagram(ms(0), single(66), &data(sequence, 0, sequence % 4));
    }
    assert!(sent(&mut relay).is_empty());
    assert_eq!(relay.poll_event(), Some(Event::Refused(address(66))));
    assert_eq!(relay.poll_event(), None);
    relay.on_datagram(ms(0), single(60), &data(0, 0, 0));
    assert_eq!(sent(&mut relay).len(), 1);
}

#[test]
fn a_flood_passes_at_no_more_than_the_limit_and_memory_stays_within_its_own() {
    let config = Config {
        id: 1,
        groups: groups(2),
        peers: Vec::new(),
        accept: Vec::new(),
        open: false,
        limit: 800_000,
        cache: 200_000,
    };
    let mut relay = Relay::new(config);
    let mut bytes = 0;
    for step in 0..100_000_u64 {
        let message = data(step as u16, 0, (step % 4) as u16);
        let message = with_object(&message, (step / 4) as u16);
        relay.on_datagram(ms(0) + Duration::from_micros(step * 50), by_group(0, 2), &message);
        bytes += sent(&mut relay).iter().map(|one| one.bytes.len()).sum::<usize>();
    }
    // Five seconds at 100 kB/s, and what may go at once.
    assert!(bytes < 500_000 + 70_000, "{bytes}");
    assert!(relay.cached() <= 210_000, "{}", relay.cached());
    assert!(relay.counts().dropped > 10_000);
}

#[test]
fn a_relay_of_other_groups_is_given_nothing_and_nothing_is_taken_from_it() {
    let mut own = relay(1, 1, &[50]);
    let mut other = Relay::new(Config {
        id: 2,
        groups: vec![SocketAddr::from(([239, 255, 42, 2], 6003))],
        peers: vec![address(51)],
        accept: Vec::new(),
        open: false,
        limit: 1_000_000_000,
        cache: 1 << 20,
    });
    other.handle_timeout(ms(0));
    while let Some(hello) = other.poll_transmit() {
        own.on_datagram(ms(0), single(50), &hello.bytes);
    }
    assert_eq!(own.poll_event(), Some(Event::Apart(address(50))));
    sent(&mut own);
    own.on_datagram(ms(300), single(50), &data(0, 0, 0));
    own.on_datagram(ms(301), by_group(0, 2), &data(1, 0, 1));
    let out = sent(&mut own);
    assert!(out.is_empty(), "{out:?}");
}
