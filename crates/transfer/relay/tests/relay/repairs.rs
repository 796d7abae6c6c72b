//! Repairs and feedback: what a relay has for its members, and what goes on to the sender.

use fanfare_relay::{Outgoing, To};
use fanfare_wire::{
    FieldSize, InstanceId, Message, NodeId, Sequence, ext::Extensions, header::FeedbackFields,
};

use crate::world::{SENDER, address, by_group, data, id, ms, nack, relay, sent, single, symbols};

#[test]
fn members_get_from_the_relay_what_it_has_and_it_asks_once_for_what_it_lacks() {
    let mut relay = relay(1, 2, &[]);
    for symbol in [0, 1, 3] {
        relay.on_datagram(ms(u64::from(symbol)), by_group(0, 2), &data(symbol, 0, symbol));
    }
    sent(&mut relay);
    // One has lost 1 on its own, and both lack 2.
    relay.on_datagram(ms(10), by_group(1, 30), &nack(100, &[(0, 1), (0, 2)]));
    relay.on_datagram(ms(12), by_group(1, 31), &nack(101, &[(0, 2)]));
    relay.handle_timeout(ms(13));
    let out = sent(&mut relay);
    assert_eq!(symbols(&out), [(To::Group(1), 4, 0, 1)]);
    let asked: Vec<&Outgoing> = out.iter().filter(|one| one.member.is_some()).collect();
    assert_eq!(asked.len(), 1, "once");
    assert_eq!((asked[0].to, asked[0].member), (To::Group(0), Some(100)));
    let Ok(Message::Nack(upstream)) = Message::parse(&asked[0].bytes) else { panic!("a NACK") };
    let items: Vec<_> = upstream.requests.iter().flat_map(|one| one.iter()).collect();
    assert_eq!(items.len(), 1);
    assert_eq!(items[0].id(FieldSize::M8), id(0, 2));
    // The repair goes to all of the island, with the next number.
    relay.on_datagram(ms(20), by_group(0, 2), &data(4, 0, 2));
    assert_eq!(symbols(&sent(&mut relay)), [(To::Group(1), 5, 0, 2)]);
    assert_eq!((relay.counts().requests, relay.counts().repaired), ((2, 1), 1));
}

#[test]
fn parity_is_made_here_as_soon_as_the_block_can_be_decoded() {
    let mut relay = relay(1, 2, &[]);
    for symbol in [0, 1, 2] {
        relay.on_datagram(ms(u64::from(symbol)), by_group(0, 2), &data(symbol, 0, symbol));
    }
    sent(&mut relay);
    // A member lacks 3, as the relay does, and one more.
    relay.on_datagram(ms(10), by_group(1, 30), &nack(100, &[(0, 4), (0, 5)]));
    let out = sent(&mut relay);
    let Ok(Message::Nack(upstream)) = Message::parse(&out[0].bytes) else { panic!("a NACK") };
    assert_eq!(upstream.requests.iter().flat_map(|one| one.iter()).count(), 1, "one is enough");
    relay.on_datagram(ms(20), by_group(0, 2), &data(4, 0, 3));
    relay.handle_timeout(ms(21));
    let made: Vec<u16> = symbols(&sent(&mut relay)).iter().map(|one| one.3).collect();
    assert_eq!(made, [3, 4, 5]);
}

#[test]
fn repairs_for_the_senders_own_island_are_not_passed_on() {
    let mut relay = relay(1, 1, &[50]);
    for symbol in 0..4 {
        relay.on_datagram(ms(0), by_group(0, 2), &data(symbol, 0, symbol));
    }
    relay.on_datagram(ms(5), by_group(0, 2), &data(4, 0, 4));
    relay.on_datagram(ms(5), by_group(0, 2), &data(5, 0, 1));
    relay.on_datagram(ms(6), by_group(0, 2), &data(6, 1, 0));
    let numbers: Vec<u16> = symbols(&sent(&mut relay)).iter().map(|one| one.1).collect();
    assert_eq!(numbers, [0, 1, 2, 3, 4], "without a gap that would look like loss");
    assert_eq!(relay.counts().left_out, 2);
}

#[test]
fn an_acknowledgement_goes_back_unaltered_and_the_senders_own_island_needs_no_relay() {
    let mut relay = relay(1, 1, &[50]);
    relay.on_datagram(ms(0), single(50), &data(0, 0, 0));
    sent(&mut relay);
    let ack = fanfare_wire::Ack {
        feedback: FeedbackFields {
            sequence: Sequence(0),
            source_id: NodeId(100),
            server_id: NodeId(SENDER),
            instance_id: InstanceId(1),
            grtt_response: None,
        },
        extensions: Extensions::default(),
        ack_id: 0,
        kind: fanfare_wire::AckKind::Cc,
    };
    let mut bytes = Vec::new();
    ack.encode(None, Some(b"receipt"), &mut bytes);
    relay.on_datagram(ms(1), by_group(0, 30), &bytes);
    let out = sent(&mut relay);
    assert_eq!((out[0].to, &out[0].bytes), (To::Address(0, address(50)), &bytes));
    relay.on_datagram(ms(2), single(50), &bytes);
    assert!(sent(&mut relay).is_empty());
}
