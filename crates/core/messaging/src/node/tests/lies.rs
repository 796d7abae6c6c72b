//! False claims of others cost little, and true messages still arrive.

use super::*;
use crate::{
    coding::coded_packet::{Class, CodedPacket, term_of},
    frames::frame::{HEADER, Kind},
    membership::members::MEMBERS_MAX,
    membership::state::{Holding, State, tests::summary},
};
use fanfare_proto::RunSet;
use fanfare_wire::{FecId, ObjectTransportId, cmd::Application, ext::Extensions};

/// Node `to` hears a frame of a node that is none of ours.
fn say(bus: &mut Bus, to: usize, (from, kind): (u32, Kind), content: &[u8]) {
    let sender = SenderFields { source_id: NodeId(from), ..own_fields(&session(8)) };
    let mut bytes = kind.header().to_vec();
    bytes.extend_from_slice(content);
    assert!(bytes.len() > HEADER);
    let mut datagram = Vec::new();
    let extensions = Extensions::default();
    Application { sender, extensions, content: &bytes }.encode(&mut datagram);
    let source = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 0, 0, 99)), 6003);
    let meta = RecvMeta { source, ecn: None, unicast: false, waited: Duration::ZERO };
    let (node, storage) = &mut bus.nodes[to];
    node.handle_datagram(bus.now, meta, &datagram, storage);
}

/// A sum of these terms of node 0's, of bytes that are none.
fn forged(of: Incarnation, class: Class, terms: &[u32]) -> Vec<u8> {
    let scope = (of, class);
    let (fec_id, terms) = (FecId::ReedSolomon8, terms.to_vec());
    let mut out = Vec::new();
    CodedPacket { scope, fec_id, known: 0, seed: 1, terms, sum: &[0x55; 400] }.append(&mut out);
    out
}

/// Node 0 hears nobody; what others lack of it they have from each other. Node 2 has missed half.
fn half_heard() -> Bus {
    let mut bus = Bus::new(3);
    bus.subscribe(2, "#");
    bus.nodes[2].0.config.verifies = true;
    bus.run(10, &mut |_, to, _| to == 0);
    for n in 0..20 {
        bus.publish(0, "short", &[n; 300], Options::default());
        let hash = Some([n; 16]);
        bus.publish(0, "long", &bytes(2_000), Options { hash, ..Options::default() });
    }
    bus.run(4, &mut |from, to, message| {
        let number = match message {
            Message::Data(data) => data.sender.sequence.0,
            Message::Info(info) => info.sender.sequence.0,
            _ => 0,
        };
        to == 0 || to == 2 && (from == 1 || number % 2 == 1)
    });
    bus
}

#[test]
fn impossible_sums_are_refused_and_wrong_ones_are_detected_and_dropped() {
    let mut bus = half_heard();
    let of = bus.nodes[0].0.own_incarnation();
    let refused = |bus: &Bus| bus.nodes[2].0.stats().frames_refused;
    // Far ahead of all that is known; a symbol that its block does not have.
    say(&mut bus, 2, (66, Kind::CodedPacket), &forged(of, Class::Info, &[20_000, 20_001]));
    let symbols = [term_of(ObjectTransportId(1), 0, 200), term_of(ObjectTransportId(3), 0, 0)];
    say(&mut bus, 2, (66, Kind::CodedPacket), &forged(of, Class::Symbol, &symbols));
    assert_eq!(refused(&bus), 2);
    // Each says something of two messages of which one is here, so that the other follows, wrong.
    for first in 0..39 {
        say(&mut bus, 2, (66, Kind::CodedPacket), &forged(of, Class::Info, &[first, first + 1]));
    }
    let dropped = bus.nodes[2].0.stats().sums_dropped;
    assert!(dropped > 0, "what follows has a check");
    let mut verdicts = 0;
    for _ in 0..60 {
        bus.run(1, &mut |_, to, _| to == 0);
        for event in core::mem::take(&mut bus.events[2]) {
            if let Event::Verify { key, .. } = event {
                let (node, storage) = &mut bus.nodes[2];
                let right = storage.get(key) == Some(&bytes(2_000)[..]);
                node.verdict(bus.now, key, right, storage);
                verdicts += u32::from(right);
            } else if let Event::Message(message) = &event
                && let Some(content) = &message.description.content
            {
                assert!(content.len() == 300 && content.iter().all(|byte| *byte == content[0]));
            }
        }
    }
    let missing = bus.nodes[2].0.logs.values().map(SourceLog::first_unsettled).max();
    assert_eq!((verdicts, missing), (20, Some(0x1_0000 + 40)), "all is there, and right");
}

#[test]
fn a_node_that_claims_nonexistent_messages_costs_only_requests() {
    let mut bus = Bus::new(3);
    (0..3).for_each(|node| _ = bus.subscribe(node, "#"));
    bus.publish(0, "a", b"first", Options::default());
    bus.run(10, &mut none);
    let incarnation = bus.nodes[0].0.own_incarnation();
    let mut asked = 0;
    for round in 0..40_u16 {
        let newest = 30_000 + round;
        let summary =
            SenderSummary { sender: incarnation.0, instance: incarnation.1, ..summary(newest) };
        let mut all = RunSet::default();
        all.insert(0, u64::from(newest) + 1);
        let holding = Holding::of(summary, (0, newest.into()), &all, &RunSet::default());
        let state = State { asks: true, holdings: vec![holding], ..State::default() };
        let mut content = Vec::new();
        state.append(1_000, &mut content);
        (1..3).for_each(|node| say(&mut bus, node, (66, Kind::State), &content));
        bus.publish(0, "a", b"next", Options::default());
        let before: u64 = bus.bytes.iter().sum();
        bus.run(3, &mut none);
        asked += bus.bytes.iter().sum::<u64>() - before;
    }
    assert_eq!((bus.messages(1).len(), bus.messages(2).len()), (41, 41));
    assert!(asked < 6_000, "{asked} bytes in 120 s, with 40 messages");
}

#[test]
fn nodes_beyond_the_limit_are_counted_and_replace_nobody() {
    let mut bus = Bus::new(2);
    bus.subscribe(1, "#");
    bus.run(5, &mut none);
    let mut content = Vec::new();
    State::default().append(100, &mut content);
    for n in 0..MEMBERS_MAX as u32 + 10 {
        say(&mut bus, 1, (1_000 + n, Kind::State), &content);
    }
    let node = &bus.nodes[1].0;
    assert_eq!((node.members().len(), node.stats().members_dropped), (MEMBERS_MAX, 11));
    assert!(node.members().iter().any(|(member, _)| *member == NodeId(1)));
    bus.publish(0, "a", b"still heard", Options::default());
    bus.run(5, &mut none);
    assert_eq!(bus.messages(1).len(), 1);
}
