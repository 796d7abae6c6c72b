//! Receivers that repair for each other: three sessions, of which the third hears only the second.

use crate::{
    Event, FecConfig, Incarnation, MemoryStorage, NewObject, NodeId, ObjectKey, ObjectKind,
    ReceiverConfig, RecvMeta, Retransmission, SenderConfig, SenderSummary, Session, SessionConfig,
    Time, enqueue::FirstPass, time::Duration,
};
use alloc::{vec, vec::Vec};
use fanfare_wire::{
    FecId, GroupSize, InstanceId, Message, ObjectTransportId, QuantizedRtt, RepairLevel,
};

const META: RecvMeta = RecvMeta {
    source: core::net::SocketAddr::new(core::net::IpAddr::V4(core::net::Ipv4Addr::LOCALHOST), 7),
    ecn: None,
    unicast: false,
    waited: Duration::ZERO,
};
const KEY: ObjectKey =
    ObjectKey { sender: NodeId(1), instance: InstanceId(1), object: ObjectTransportId(0) };
const INCARNATION: Incarnation = (NodeId(1), InstanceId(1));
const SIZE: usize = 1_950;

fn receiver(node: u32) -> Session {
    let receiver = ReceiverConfig { outlive_senders: true, ..ReceiverConfig::default() };
    let config = SessionConfig {
        node_id: NodeId(node),
        receiver: Some(receiver),
        ..SessionConfig::default()
    };
    Session::new(config, u64::from(node), Time::ZERO)
}

/// What a sender of one object (20 symbols in blocks of 7, 7 and 6) says in its first pass.
fn first_pass(content: &[u8]) -> Vec<Vec<u8>> {
    let fec = FecConfig { source: 8, parity: 6, ..FecConfig::default() };
    let sender = SenderConfig { segment_size: 100, fec, ..SenderConfig::default() };
    let config = SessionConfig { sender: Some(sender), ..SessionConfig::default() };
    let (mut session, mut storage) = (Session::new(config, 1, Time::ZERO), MemoryStorage::new(0));
    let object = NewObject {
        kind: ObjectKind::Data,
        size: content.len() as u64,
        info: Some(b"info".to_vec()),
        pass: FirstPass::Whole,
    };
    storage.put(session.sender().enqueue(Time::ZERO, object).unwrap(), content.to_vec());
    let (mut now, mut said, mut buffer) = (Time::ZERO, Vec::new(), Vec::new());
    while said.len() < 30 {
        while session.poll_transmit(now, 1, &mut buffer, &mut storage).is_some() {
            said.push(buffer.clone());
        }
        now = now + Duration::from_millis(1);
        session.handle_timeout(now, &mut storage);
    }
    let of_object =
        |m: &Vec<u8>| matches!(Message::parse(m), Ok(Message::Data(_) | Message::Info(_)));
    said.retain(of_object);
    said
}

/// The second session after it has heard all but some of the messages, and its storage.
fn holder(content: &[u8], lost: &[usize]) -> (Session, MemoryStorage) {
    let (mut session, mut storage) = (receiver(2), MemoryStorage::new(10_000));
    for (number, message) in first_pass(content).iter().enumerate() {
        if !lost.contains(&number) {
            session.handle_datagram(Time::ZERO, META, message, &mut storage);
        }
    }
    (session, storage)
}

fn symbol(block: u32, symbol: u16) -> Retransmission<'static> {
    Retransmission::Symbol { block, symbol, has_info: true }
}

fn content() -> Vec<u8> {
    (0..SIZE).map(|n| (n * 31 + 7) as u8).collect()
}

/// Passes things on from one to the other; which of them were new.
fn pass(
    from: (&mut Session, &mut MemoryStorage),
    to: (&mut Session, &mut MemoryStorage),
    passages: &[Retransmission<'_>],
) -> Vec<bool> {
    let hand_over = |retransmission: &Retransmission<'_>| {
        let mut message = Vec::new();
        assert!(
            from.0.receiver().retransmit(KEY, *retransmission, from.1, &mut message),
            "{retransmission:?}"
        );
        to.0.receiver().accept(Time::ZERO, &Message::parse(&message).unwrap(), to.1)
    };
    passages.iter().map(hand_over).collect::<Vec<_>>()
}

#[test]
fn a_peers_source_and_parity_symbols_complete_an_object() {
    let (mut second, mut theirs) = holder(&content(), &[]);
    let (mut third, mut ours) = (receiver(3), MemoryStorage::new(10_000));
    let mut wanted = vec![Retransmission::Info { content: b"info", age: Duration::ZERO }];
    wanted.extend((0..7).map(|n| symbol(0, n)));
    wanted.extend([7, 8, 9, 10, 11, 12, 3].map(|n| symbol(1, n)));
    wanted.extend([3, 4, 5, 9, 10, 0].map(|n| symbol(2, n)));
    let new = pass((&mut second, &mut theirs), (&mut third, &mut ours), &wanted);
    assert_eq!(new, [true; 21]);
    assert_eq!(ours.get(KEY), Some(&content()[..]));
    let again = pass((&mut second, &mut theirs), (&mut third, &mut ours), &[symbol(1, 0)]);
    assert_eq!(again, [false]);
}

#[test]
fn only_symbols_that_are_here_are_retransmitted() {
    // Message 0 is the INFO: the symbols 2 and 3 of block 0 are lost.
    let (mut second, mut theirs) = holder(&content(), &[3, 4]);
    let held = second.receiver().held(KEY, 0).unwrap();
    assert_eq!((held.len, held.parity, held.is_whole()), (7, 6, false));
    assert_eq!(held.sources, [0, 1, 4, 5, 6]);
    assert!(second.receiver().held(KEY, 1).unwrap().is_whole());
    assert_eq!(second.receiver().held(KEY, 3), None);
    for (block, number, given) in
        [(0, 1, true), (0, 2, false), (0, 7, false), (1, 12, true), (1, 13, false)]
    {
        let mut out = Vec::new();
        let passed =
            second.receiver().retransmit(KEY, symbol(block, number), &mut theirs, &mut out);
        assert_eq!((passed, out.is_empty()), (given, !given), "{block}:{number}");
    }
}

#[test]
fn buffered_parity_is_retransmitted_and_completes_a_peers_block() {
    // The second lacks the symbols 2 and 3 of block 0 and has one of parity; the third lacks 3 alone.
    let (mut second, mut theirs) = holder(&content(), &[3, 4]);
    let (mut third, mut ours) = holder(&content(), &[4]);
    let (mut whole, mut all) = holder(&content(), &[]);
    let parity = [symbol(0, 9)];
    assert_eq!(pass((&mut whole, &mut all), (&mut second, &mut theirs), &parity), [true]);
    assert_eq!(second.receiver().held(KEY, 0).unwrap().kept, [2]);
    assert_eq!(pass((&mut second, &mut theirs), (&mut third, &mut ours), &parity), [true]);
    let held = third.receiver().held(KEY, 0).unwrap();
    assert!(held.is_whole() && held.kept.is_empty());
    assert_eq!(ours.get(KEY), Some(&content()[..]));
}

#[test]
fn a_peers_repair_with_a_wrong_size_or_our_own_id_is_refused() {
    let (mut second, mut theirs) = holder(&content(), &[]);
    let (mut third, mut ours) = (receiver(3), MemoryStorage::new(10_000));
    let mut message = Vec::new();
    assert!(second.receiver().retransmit(KEY, symbol(0, 0), &mut theirs, &mut message));
    let mut accept = |third: &mut Session, bytes: &[u8]| {
        third.receiver().accept(Time::ZERO, &Message::parse(bytes).unwrap(), &mut ours)
    };
    assert!(!accept(&mut third, &message[..message.len() - 1]));
    assert!(accept(&mut third, &message));
    assert!(
        pass(
            (&mut second, &mut theirs),
            (&mut receiver(1), &mut MemoryStorage::new(9)),
            &[symbol(0, 1)]
        ) == [false]
    );
    let mut other_life = message.clone();
    other_life[9] ^= 1;
    assert!(accept(&mut third, &other_life));
    let mut held = |instance| third.receiver().held(ObjectKey { instance, ..KEY }, 0);
    let [one, other] = [1, other_life[9]].map(|n| InstanceId(u16::from(n)));
    assert!(one != other && held(one) == held(other) && held(one).is_some());
    assert_eq!(
        third.receiver().incarnation(KEY.sender),
        Some(INCARNATION),
        "the first that was spoken of"
    );
}

/// What is told of the sender, as far as it has come.
fn summary(newest: u16) -> SenderSummary {
    SenderSummary {
        sender: NodeId(1),
        instance: InstanceId(1),
        grtt: QuantizedRtt::from_nanos(20_000_000),
        backoff: 4,
        gsize: GroupSize::from_receivers(10),
        fec_id: FecId::ReedSolomon8,
        newest: ObjectTransportId(newest),
    }
}

#[test]
fn an_empty_object_is_completed_by_the_info_from_a_peer() {
    let (mut third, mut storage) = (receiver(3), MemoryStorage::new(10_000));
    let mut accept = |summary: &SenderSummary, info: &[u8]| {
        third.receiver().accept_info(Time::ZERO, summary, info, &mut storage)
    };
    assert!(accept(&summary(2), b"short"));
    assert!(!accept(&summary(2), b"short"), "it was told before");
    assert!(
        accept(&SenderSummary { instance: InstanceId(9), ..summary(3) }, b"short"),
        "another life"
    );
    assert!(
        accept(&SenderSummary { sender: NodeId(3), ..summary(3) }, b"short"),
        "of an earlier life of its own: the driver has kept it"
    );
    let mut files = Session::new(
        SessionConfig { node_id: NodeId(3), ..SessionConfig::default() },
        3,
        Time::ZERO,
    );
    let own = SenderSummary { sender: NodeId(3), ..summary(3) };
    let mut none = MemoryStorage::new(10_000);
    assert!(!files.receiver().accept_info(Time::ZERO, &own, b"short", &mut none), "its own");
    let events: Vec<Event> = core::iter::from_fn(|| third.poll_event()).collect();
    let key = ObjectKey { object: ObjectTransportId(2), ..KEY };
    assert!(events.contains(&Event::ObjectInfo { key, info: b"short".to_vec() }), "{events:?}");
    assert!(events.contains(&Event::ObjectCompleted { key, size: 0 }), "{events:?}");
}

#[test]
fn compact_info_does_not_fix_the_structure_of_other_objects() {
    // A NACK has as many bytes as a segment, whose length only the sender tells.
    let (mut third, mut storage) = holder(&content(), &[3, 4]);
    let before = third.receiver().held(KEY, 0);
    assert!(third.receiver().accept_info(Time::ZERO, &summary(1), b"short", &mut storage));
    assert_eq!(third.receiver().held(KEY, 0), before);
    let empty = ObjectKey { object: ObjectTransportId(1), ..KEY };
    assert_eq!(third.receiver().blocks(empty), Some(0));
}

#[test]
fn objects_of_an_unheard_sender_that_peers_report_are_requested_from_the_group() {
    let mut third = receiver(3);
    let mut storage = MemoryStorage::new(10_000);
    let summary = summary(2);
    assert!(third.receiver().hear_of(Time::ZERO, &summary, &mut storage));
    let at = Time::ZERO + Duration::from_millis(200);
    let mut out = Vec::new();
    let sent = third.poll_transmit(at, 1, &mut out, &mut storage).expect("a NACK");
    assert_eq!(sent.destination, crate::Destination::Group);
    let Ok(Message::Nack(nack)) = Message::parse(&out) else { panic!("a NACK") };
    let asked = nack.requests.iter().next().unwrap();
    assert!(asked.level.has(RepairLevel::OBJECT), "{asked}");
    let (first, last) = asked.ranges().next().unwrap();
    assert_eq!((first.object_transport_id.0, last.object_transport_id.0), (0, 2));
}

#[test]
fn symbols_of_a_silent_sender_are_requested_explicitly_from_peers() {
    let (mut second, mut storage) = holder(&content(), &[3, 4]);
    second.receiver().request_explicitly(INCARNATION, true);
    // The first block's end has begun a back-off; the GRTT is 250 ms until measured, K is 4.
    assert!(second.receiver().ask(Time::ZERO, INCARNATION));
    let mut out = Vec::new();
    let at = Time::ZERO + Duration::from_secs(2);
    assert!(second.poll_transmit(at, 1, &mut out, &mut storage).is_some());
    let Ok(Message::Nack(nack)) = Message::parse(&out) else { panic!("a NACK") };
    let asked: Vec<_> =
        nack.requests.iter().flat_map(|request| request.iter().collect::<Vec<_>>()).collect();
    let ids: Vec<_> =
        asked.iter().map(|item| item.id(fanfare_wire::FieldSize::M8).symbol.0).collect();
    assert_eq!(ids, [2, 3]);
}

#[test]
fn nothing_is_requested_if_nothing_is_missing_or_the_receiver_is_silent() {
    let (mut second, _) = holder(&content(), &[]);
    assert!(!second.receiver().ask(Time::ZERO, INCARNATION));
    let (mut lacking, mut storage) = holder(&content(), &[3]);
    lacking.receiver().set_silent(true);
    lacking.receiver().ask(Time::ZERO, INCARNATION);
    let at = Time::ZERO + Duration::from_secs(3);
    assert!(lacking.poll_transmit(at, 1, &mut Vec::new(), &mut storage).is_none());
}
