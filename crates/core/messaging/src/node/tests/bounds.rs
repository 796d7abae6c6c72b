//! Forged messages do not fill any table without limit.

use super::*;
use crate::{
    frames::compact_info::{self, CompactInfo},
    frames::frame::Kind,
    membership::state::tests::summary,
    node::requests::Allowance,
    occupancy::{DEADLINES_MAX, PUBLISHERS_MAX},
};
use fanfare_wire::{
    FecId, FecPayloadId, FieldSize, Nack, ObjectTransportId, RepairLevel, Sequence,
    cmd::Application,
    ext::Extensions,
    header::FeedbackFields,
    nack::{RepairRequests, RequestWriter},
};

/// Somebody forwards a short message of a publisher that nobody knows.
fn tell(bus: &mut Bus, publisher: u32, object: u16) {
    let topic = Topic::new("a").unwrap();
    let content = Some(b"x".to_vec());
    let info = Description { topic, number: 0, options: Options::default(), batch: None, content }
        .encode();
    let told = SenderSummary { sender: NodeId(publisher), ..summary(object) };
    let sender = own_fields(&session(8));
    let mut content = Kind::CompactInfo.header().to_vec();
    compact_info::append(
        &[CompactInfo::new(false, told, &info, None).unwrap()],
        compact_info::Envelope::command(&sender),
        &mut content,
    );
    let mut datagram = Vec::new();
    let extensions = Extensions::default();
    Application { sender, extensions, content: &content }.encode(&mut datagram);
    let source = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 0, 0, 9)), 6003);
    let meta = RecvMeta { source, ecn: None, unicast: false, waited: Duration::ZERO };
    let (node, storage) = &mut bus.nodes[0];
    node.handle_datagram(bus.now, meta, &datagram, storage);
    while node.poll_event().is_some() {}
}

#[test]
fn forged_publishers_are_replaced_by_others() {
    let mut bus = Bus::new(1);
    bus.subscribe(0, "#");
    let more = 200;
    (0..PUBLISHERS_MAX as u32 + more).for_each(|n| tell(&mut bus, 1_000 + n, 5));
    let (load, stats) = (bus.nodes[0].0.load(), bus.nodes[0].0.stats());
    assert_eq!((load.publishers, stats.publishers_dropped), (PUBLISHERS_MAX, u64::from(more)));
    let (kept, _) = bus.nodes[0].0.kept();
    assert!(kept <= PUBLISHERS_MAX as u64, "their messages go with them: {kept}");
}

#[test]
fn when_too_many_messages_are_awaited_those_with_the_next_deadline_are_given_up() {
    let mut bus = Bus::new(1);
    let deadline = Some(Duration::from_secs(3_600));
    let all = Subscription::new(Filter::new("#").unwrap());
    bus.nodes[0].0.subscribe(bus.now, Subscription { deadline, ..all });
    for n in 0..DEADLINES_MAX as u32 + 100 {
        // Time goes on, or the same message has the same deadline.
        bus.now = bus.now + Duration::from_micros(1);
        tell(&mut bus, 1_000, (n & 0xffff) as u16);
    }
    let (load, stats) = (bus.nodes[0].0.load(), bus.nodes[0].0.stats());
    assert!(
        load.deadlines == DEADLINES_MAX && stats.deadlines_dropped >= 100,
        "{load:?}, {stats:?}"
    );
}

/// A NACK for this object, its ranges as `fill` writes them into 11,200 bytes.
fn nack_for(key: ObjectKey, fill: impl Fn(&mut RequestWriter, FecPayloadId)) -> Vec<u8> {
    let mut writer =
        RequestWriter::new(FecId::ReedSolomon8, FieldSize::M8, crate::frames::nack::NACK_MAX);
    let block = fanfare_wire::SourceBlockNumber(0);
    let symbol = fanfare_wire::EncodingSymbolId(0);
    fill(&mut writer, FecPayloadId { block, block_len: 0, symbol });
    let feedback = FeedbackFields {
        sequence: Sequence(0),
        source_id: NodeId(99),
        server_id: key.sender,
        instance_id: key.instance,
        grtt_response: None,
    };
    let (extensions, requests) = (Extensions::default(), RepairRequests::parse(&[]).unwrap());
    let mut out = Vec::new();
    Nack { feedback, extensions, requests }.encode(None, &writer.finish(), &mut out);
    out
}
fn read(nack: &[u8]) -> Nack<'_> {
    let Ok(Message::Nack(nack)) = Message::parse(nack) else { panic!("a NACK") };
    nack
}

/// Two nodes, of which the second has an object of the first.
fn bus_with_object() -> (Bus, ObjectKey) {
    let mut bus = Bus::new(2);
    bus.subscribe(1, "#");
    let key = bus.publish(0, "a", &bytes(40_000), Options::default()).key;
    bus.run(10, &mut none);
    assert_eq!(bus.messages(1).len(), 1);
    (bus, key)
}

#[test]
fn a_nack_that_repeats_one_object_is_processed_once_for_it() {
    let (mut bus, key) = bus_with_object();
    let level = RepairLevel(RepairLevel::OBJECT);
    let mut looked = |nack: &[u8]| {
        let mut left = Allowance::default();
        let asked = bus.nodes[1].0.requests(&read(nack), &mut left).len();
        (asked, left)
    };
    let (blocks, left) = looked(&nack_for(key, |writer, id| {
        writer.item(level, key.object, id);
    }));
    // Its blocks and itself.
    let once = Allowance::default().wanted - left.wanted;
    assert!(blocks >= 5 && (blocks..=blocks + 1).contains(&once), "{blocks} {once}");
    let (asked, left) =
        looked(&nack_for(key, |writer, id| while writer.item(level, key.object, id) {}));
    assert_eq!((asked, left.wanted), (blocks, 0));
    assert!(left.items > Allowance::default().items / 3, "it ends there: {}", left.items);
    let last = ObjectTransportId(key.object.0.wrapping_add(20_000));
    let info = RepairLevel(RepairLevel::INFO);
    let (_, left) = looked(&nack_for(
        key,
        |writer, id| {
            while writer.range(info, (key.object, last), id, id) {}
        },
    ));
    assert_eq!(left.ids, 0);
}

#[test]
fn no_nack_is_longer_than_a_frame_even_of_what_cannot_be_read() {
    let (mut bus, key) = bus_with_object();
    bus.hear_plain(1);
    let frame_max = bus.nodes[1].0.config.frame_max;
    let stranger = ObjectKey { sender: NodeId(77), ..key };
    for key in [key, stranger] {
        let long = nack_for(key, |writer, id| {
            let object = |n: u16| ObjectTransportId(key.object.0.wrapping_add(n));
            let mut n = 0;
            while writer.range(RepairLevel(RepairLevel::INFO), (object(n), object(n + 1)), id, id) {
                n += 3;
            }
        });
        assert!(long.len() > 11_000);
        let sent = bus.nodes[1].0.own_nack(&read(&long)).unwrap();
        assert!((frame_max - 20..=frame_max).contains(&sent.len()), "{}", sent.len());
        let items = |nack: &[u8]| read(nack).requests.iter().next().unwrap().ranges().next();
        assert_eq!(items(&sent), items(&long));
    }
}
