//! Relays in memory: what comes on one side goes out on the others, once.

use std::{net::SocketAddr, time::Duration};

use fanfare_relay::{Config, Event, From, Outgoing, Relay, Side, To};
use fanfare_wire::{
    Data, EncodingSymbolId, FecId, FecPayloadId, FieldSize, GroupSize, InstanceId, Message, Nack,
    NodeId, ObjectFlags, ObjectTransportId, QuantizedRtt, RepairLevel, Sequence, SourceBlockNumber,
    ext::{Extensions, Fti},
    fec::RawPayloadId,
    header::{FeedbackFields, SenderFields},
    nack::{RepairRequests, RequestWriter},
};

const SENDER: u32 = 7;
const FTI: Fti = Fti {
    object_size: 80,
    field: FieldSize::M8,
    segment_size: 10,
    max_block_len: 4,
    num_parity: 3,
};

fn address(last: u8) -> SocketAddr {
    SocketAddr::from(([10, 0, 0, last], 6003))
}

fn groups(count: usize) -> Vec<SocketAddr> {
    (0..count).map(|_| SocketAddr::from(([239, 255, 42, 1], 6003))).collect()
}

fn relay(id: u32, groups: usize, peers: &[u8]) -> Relay {
    Relay::new(Config {
        id,
        groups: self::groups(groups),
        peers: peers.iter().map(|last| address(*last)).collect(),
        accept: Vec::new(),
        open: false,
        limit: 1_000_000_000,
        cache: 1 << 20,
    })
}

fn by_group(group: usize, last: u8) -> From {
    From { address: address(last), group, multicast: true }
}

fn single(last: u8) -> From {
    From { address: address(last), group: 0, multicast: false }
}

fn id(block: u32, symbol: u16) -> FecPayloadId {
    let (block, symbol) = (SourceBlockNumber(block), EncodingSymbolId(symbol));
    FecPayloadId { block, block_len: 0, symbol }
}

fn data(sequence: u16, block: u32, symbol: u16) -> Vec<u8> {
    let payload = [block as u8 * 16 + symbol as u8; 10];
    let message = Data {
        sender: SenderFields {
            sequence: Sequence(sequence),
            source_id: NodeId(SENDER),
            instance_id: InstanceId(1),
            grtt: QuantizedRtt::from_nanos(1_000_000),
            backoff: 4,
            gsize: GroupSize::from_receivers(10),
        },
        flags: ObjectFlags(ObjectFlags::FILE),
        object_transport_id: ObjectTransportId(0),
        payload_id: RawPayloadId::pack(FecId::ReedSolomon8, FieldSize::M8, id(block, symbol)),
        extensions: Extensions::default(),
        payload: &payload,
    };
    let mut bytes = Vec::new();
    message.encode_header(Some(&FTI), &mut bytes);
    bytes.extend_from_slice(&payload);
    bytes
}

fn nack(member: u32, symbols: &[(u32, u16)]) -> Vec<u8> {
    let mut writer = RequestWriter::new(FecId::ReedSolomon8, FieldSize::M8, 1000);
    for (block, symbol) in symbols {
        let level = RepairLevel(RepairLevel::SEGMENT);
        assert!(writer.item(level, ObjectTransportId(0), id(*block, *symbol)));
    }
    let requests = writer.finish();
    let message = Nack {
        feedback: FeedbackFields {
            sequence: Sequence(0),
            source_id: NodeId(member),
            server_id: NodeId(SENDER),
            instance_id: InstanceId(1),
            grtt_response: None,
        },
        extensions: Extensions::default(),
        requests: RepairRequests::parse(&requests).unwrap(),
    };
    let mut bytes = Vec::new();
    message.encode(None, &requests, &mut bytes);
    bytes
}

/// All that goes out but hellos.
fn sent(relay: &mut Relay) -> Vec<Outgoing> {
    let all = std::iter::from_fn(|| relay.poll_transmit());
    all.filter(|one| Message::parse(&one.bytes).is_ok()).collect()
}

/// After a start, when it has listened for others.
fn ms(ms: u64) -> Duration {
    Duration::from_millis(1000 + ms)
}

fn symbols(sent: &[Outgoing]) -> Vec<(To, u16, u32, u16)> {
    let one = |one: &Outgoing| match Message::parse(&one.bytes) {
        Ok(Message::Data(data)) => {
            let id = data.payload_id.unpack(FieldSize::M8);
            Some((one.to, data.sender.sequence.0, id.block.0, id.symbol.0))
        }
        _ => None,
    };
    sent.iter().filter_map(one).collect()
}

#[test]
fn what_comes_on_one_side_goes_out_on_all_others_as_it_is() {
    let mut relay = relay(1, 2, &[50]);
    let message = data(3, 0, 0);
    relay.on_datagram(ms(0), by_group(0, 2), &message);
    let sent = sent(&mut relay);
    assert_eq!(
        sent.iter().map(|one| one.to).collect::<Vec<_>>(),
        [To::Group(1), To::Address(0, address(50))]
    );
    assert!(sent.iter().all(|one| one.bytes == message));
    let side = Side::Group(0);
    let told = Event::Source { sender: SENDER, side, address: address(2) };
    assert_eq!(relay.poll_event(), Some(told));
}

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

#[test]
fn relays_in_a_ring_pass_each_message_on_once() {
    // Each has an island of its own; all know each other.
    let hosts = [11, 12, 13];
    let others = |own: u8| hosts.iter().copied().filter(|one| *one != own).collect::<Vec<_>>();
    let mut ring: Vec<Relay> =
        hosts.iter().map(|own| relay(u32::from(*own), 1, &others(*own))).collect();
    let mut islands = [0; 3];
    for step in 0..2000_u64 {
        let now = ms(step * 5);
        let number = (step % 2 == 0).then_some((step / 2) as u16).filter(|_| step < 400);
        if let Some(number) = number {
            let message = data(number, u32::from(number) % 2, number / 2 % 4);
            ring[0].on_datagram(now, by_group(0, 2), &message);
        }
        for at in 0..3 {
            ring[at].handle_timeout(now);
            while let Some(out) = ring[at].poll_transmit() {
                match out.to {
                    To::Layer(..) => panic!("no layers are here"),
                    To::Group(_) => islands[at] += usize::from(Message::parse(&out.bytes).is_ok()),
                    To::Address(_, to) => {
                        let next = hosts.iter().position(|one| address(*one) == to).unwrap();
                        ring[next].on_datagram(now, single(hosts[at]), &out.bytes);
                    }
                }
            }
        }
    }
    // Eight symbols are all that there is: what came again was left out.
    assert_eq!(islands, [0, 8, 8]);
    let elsewhere: u64 = ring.iter().map(|one| one.counts().elsewhere).sum();
    assert!((1..8).contains(&elsewhere), "until they knew of each other's ways: {elsewhere}");
}

#[test]
fn of_two_relays_in_one_island_one_stands_by_and_takes_over_when_the_other_is_silent() {
    let (mut low, mut high) = (relay(1, 1, &[50]), relay(2, 1, &[50]));
    let (at_low, at_high) = (by_group(0, 41), by_group(0, 42));
    let mut passed = [0; 2];
    let mut number = 0;
    for step in 0..2400_u64 {
        let now = ms(step * 5);
        let low_lives = step < 1200;
        let message = data(number, u32::from(number) % 2, number / 2 % 4);
        number = number.wrapping_add(1);
        let mut said = Vec::new();
        for (relay, here) in [(&mut low, at_low), (&mut high, at_high)] {
            if here == at_low && !low_lives {
                continue;
            }
            // Each hears a life of the sender of its own: eight symbols are soon over.
            relay.on_datagram(now, single(50), &with_object(&message, (step / 8) as u16));
            relay.handle_timeout(now);
            while let Some(out) = relay.poll_transmit() {
                if out.to == To::Group(0) {
                    said.push((here, out.bytes));
                }
            }
        }
        for (from, bytes) in said {
            passed[usize::from(from == at_high)] += u32::from(Message::parse(&bytes).is_ok());
            if from == at_low { &mut high } else { &mut low }.on_datagram(now, from, &bytes);
        }
    }
    let told: Vec<Event> = std::iter::from_fn(|| high.poll_event()).collect();
    let stands = |one: &Event| matches!(one, Event::StandBy { side: Side::Group(0), .. });
    assert!(told.iter().any(stands), "{told:?}");
    // The one with the lower number served half of the time, the other one after its lease.
    assert!(passed[0] > 1190, "{passed:?}");
    assert!((500..700).contains(&passed[1]), "{passed:?}");
}

/// The same symbol of another object.
fn with_object(message: &[u8], object: u16) -> Vec<u8> {
    let mut message = message.to_vec();
    message[14..16].copy_from_slice(&object.to_be_bytes());
    message
}

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

/// Relays with these numbers in one island, each of which hears the sender by a road of its own. `lives` says
/// whether one is there. How many messages of the sender's came to the island from each, in each second.
fn in_one_island(
    numbers: &[u32],
    seconds: u64,
    lives: impl Fn(usize, u64) -> bool,
) -> Vec<Vec<usize>> {
    let start = |number: &u32| relay(*number, 1, &[50]);
    let mut relays: Vec<Option<(Relay, u64)>> = numbers.iter().map(|_| None).collect();
    let mut spoke = vec![vec![0; numbers.len()]; seconds as usize];
    for step in 0..seconds * 200 {
        // Each message is of another object.
        let message = with_object(&data(step as u16, 0, 0), step as u16);
        let mut said = Vec::new();
        for (n, one) in relays.iter_mut().enumerate() {
            if !lives(n, step / 200) {
                *one = None;
                continue;
            }
            let (relay, begun) = one.get_or_insert_with(|| (start(&numbers[n]), step));
            let own = Duration::from_millis((step - *begun) * 5);
            if step >= 200 {
                relay.on_datagram(own, single(50), &message);
            }
            relay.handle_timeout(own);
            let out = std::iter::from_fn(|| relay.poll_transmit());
            said.extend(out.filter(|out| out.to == To::Group(0)).map(|out| (n, out.bytes)));
        }
        for (from, bytes) in said {
            spoke[(step / 200) as usize][from] += usize::from(Message::parse(&bytes).is_ok());
            for (_, one) in relays.iter_mut().enumerate().filter(|(n, _)| *n != from) {
                if let Some((relay, begun)) = one {
                    let own = Duration::from_millis((step - *begun) * 5);
                    relay.on_datagram(own, by_group(0, 41 + from as u8), &bytes);
                }
            }
        }
    }
    spoke
}

#[test]
fn a_relay_that_stands_by_never_speaks_before_the_other_one_is_gone() {
    let spoke = in_one_island(&[1, 2], 12, |n, second| n == 1 || second < 6);
    // The first second is without a sender.
    assert!(spoke[2..6].iter().all(|each| each[0] > 190), "{spoke:?}");
    assert!(spoke[..8].iter().all(|each| each[1] == 0), "{spoke:?}");
    assert!(spoke[10..].iter().all(|each| each[1] > 190), "{spoke:?}");
}

#[test]
fn a_relay_that_comes_later_lets_the_other_one_go_on_although_its_own_number_is_lower() {
    let spoke = in_one_island(&[1, 2], 10, |n, second| n == 1 || second >= 4);
    assert!(spoke[2..].iter().all(|each| each[0] == 0 && each[1] > 190), "{spoke:?}");
}

#[test]
fn of_two_relays_that_know_each_other_neither_waits_for_the_other_when_a_sender_begins() {
    // By turns one of them hears the sender first, and the other one hears of that first.
    for numbers in [[1, 2], [2, 1]] {
        let spoke = in_one_island(&numbers, 4, |_, _| true);
        let low = usize::from(numbers[0] > numbers[1]);
        assert!(spoke[1][low] > 195 && spoke[1][1 - low] == 0, "{spoke:?}");
    }
}

#[test]
fn a_relay_that_hears_the_sender_by_the_other_one_first_stands_by_when_it_hears_it_first_hand() {
    let mut high = relay(2, 1, &[50]);
    let told = |relay: u32, ways: &[u32]| {
        // As in `hello`: one sender, heard lately.
        let mut bytes = b"FFR2".to_vec();
        bytes.extend(relay.to_be_bytes());
        bytes.extend([0, 1]);
        bytes.extend(SENDER.to_be_bytes());
        bytes.push(0x80 | ways.len() as u8);
        ways.iter().for_each(|way| bytes.extend(way.to_be_bytes()));
        bytes
    };
    high.on_datagram(ms(0), by_group(0, 41), &data(0, 0, 0));
    high.on_datagram(ms(1), by_group(0, 41), &told(1, &[9, 1]));
    high.on_datagram(ms(1), single(50), &told(9, &[9]));
    high.on_datagram(ms(2), single(50), &data(1, 0, 1));
    high.on_datagram(ms(3), by_group(0, 41), &data(1, 0, 1));
    assert!(sent(&mut high).iter().all(|out| out.to != To::Group(0)));
    let stands = |one: &Event| matches!(one, Event::StandBy { side: Side::Group(0), .. });
    assert!(std::iter::from_fn(|| high.poll_event()).any(|event| stands(&event)));
}

#[test]
fn a_relay_that_does_not_hear_the_sender_keeps_no_other_one_waiting_for_long() {
    let (mut low, mut high) = (relay(1, 1, &[51]), relay(2, 1, &[50]));
    let mut spoke = Vec::new();
    for step in 0..600_u64 {
        let now = ms(step * 5);
        low.handle_timeout(now);
        while let Some(out) = low.poll_transmit() {
            high.on_datagram(now, by_group(0, 41), &out.bytes);
        }
        high.on_datagram(now, single(50), &with_object(&data(step as u16, 0, 0), step as u16));
        high.handle_timeout(now);
        let out = std::iter::from_fn(|| high.poll_transmit()).filter(|out| out.to == To::Group(0));
        for out in out.collect::<Vec<_>>() {
            low.on_datagram(now, by_group(0, 42), &out.bytes);
            spoke.extend(Message::parse(&out.bytes).is_ok().then_some(step * 5));
        }
    }
    assert!(spoke.first().is_some_and(|first| *first <= 1600), "{:?}", spoke.first());
    assert!(spoke.len() > 250, "{}", spoke.len());
}
