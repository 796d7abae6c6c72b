//! What is missing or wrong, and who repairs it.

use super::*;

#[test]
fn a_node_without_subscriptions_requests_nothing() {
    let mut bus = Bus::new(2);
    bus.publish(0, "a", &bytes(20_000), Options::default());
    let mut third = 0;
    bus.run(20, &mut move |from, _, message| {
        assert!(from == 0 || !matches!(message, Message::Nack(_)));
        third += u32::from(matches!(message, Message::Data(_)));
        third % 3 == 1
    });
    assert!(bus.messages(1).is_empty());
}

#[test]
fn a_deaf_senders_message_is_completed_by_others_from_their_parts() {
    let mut bus = Bus::new(5);
    for node in 1..5 {
        bus.subscribe(node, "#");
    }
    bus.publish(0, "a", &bytes(40_000), Options::default());
    let mut heard = 0;
    bus.run(60, &mut move |from, to, message| {
        let content = matches!(message, Message::Data(_) | Message::Info(_));
        heard += u32::from(from == 0 && to == 1 && content);
        // Nothing reaches the sender; each of its messages reaches one other alone.
        to == 0 || from == 0 && content && heard as usize % 4 + 1 != to
    });
    for node in 1..5 {
        assert_eq!(bus.topics(node), [("a", 0)], "node {node}");
        let key = bus.messages(node)[0].key;
        assert_eq!(bus.nodes[node].1.get(key), Some(&bytes(40_000)[..]));
    }
}

#[test]
fn nodes_with_parts_send_sums_when_others_lack_different_symbols() {
    let mut bus = Bus::new(6);
    for node in 1..6 {
        bus.subscribe(node, "#");
    }
    bus.publish(0, "a", &bytes(8_000), Options::default());
    let mut heard = 0_u32;
    bus.run(60, &mut move |from, to, message| {
        let content = matches!(message, Message::Data(_));
        heard += u32::from(from == 0 && content);
        // Nothing reaches the sender; of its 16 symbols each reaches about three in five, and never all.
        to == 0 || from == 0 && content && heard.wrapping_mul(0x9e37_79b9) >> 28 < 7
    });
    let (mut sums, mut all) = (0, 0);
    for node in 1..6 {
        assert_eq!(bus.topics(node), [("a", 0)], "node {node}");
        let key = bus.messages(node)[0].key;
        assert_eq!(bus.nodes[node].1.get(key), Some(&bytes(8_000)[..]));
        let stats = bus.nodes[node].0.stats();
        (sums, all) = (sums + stats.sums_sent, all + stats.repairs_sent);
    }
    assert!(sums >= 5 && all <= 16, "{sums} of {all}");
}

#[test]
fn a_publisher_that_hears_nobody_sends_proactive_sums_or_parity_unless_nobody_hears_it() {
    // Four messages of 14 symbols, or of 40 in three blocks.
    let ahead = |deaf: bool, bytes_of_each: usize| {
        let mut bus = Bus::new(3);
        (1..3).for_each(|node| {
            bus.subscribe(node, "#");
        });
        let quiet = move |from: usize, to: usize| if deaf { to == 0 } else { from == 0 };
        bus.run(10, &mut move |from, to, _| quiet(from, to));
        (0..4).for_each(|_| {
            bus.publish(0, "a", &bytes(bytes_of_each), Options::default());
        });
        bus.run(20, &mut move |from, to, _| quiet(from, to));
        let stats = bus.nodes[0].0.session_stats();
        assert_eq!((stats.bytes_sent, stats.datagrams_sent), (bus.bytes[0], bus.sent[0]));
        let sums = bus.nodes[0].0.stats().proactive_sums_sent;
        (stats.source_sent, stats.proactive_sent, sums, bus.messages(2).len())
    };
    // One sum for 32 symbols, and three of them and of the descriptions behind the last message.
    assert_eq!(ahead(true, 7_000), (56, 0, 1 + 3 + 3, 4));
    // Long ones have parity of their own for 32, each block.
    assert_eq!(ahead(true, 20_000), (160, 15, 3, 4));
    assert_eq!(ahead(false, 7_000), (56, 0, 0, 0));
}

#[test]
fn short_messages_that_wait_for_the_token_bucket_share_a_datagram() {
    let mut bus = Bus::new(3);
    bus.subscribe(1, "#");
    bus.subscribe(2, "#");
    // 500 bytes a second, after a first 1500.
    bus.nodes[1].0.repairer = Repairer::new(NodeId(2), Time::ZERO, Bitrate::kbps(4));
    bus.run(5, &mut |_, to, _| to == 2);
    (0..20).for_each(|_| {
        bus.publish(0, "a", &bytes(200), Options::default());
    });
    bus.run(5, &mut |_, to, _| to == 2);
    // The third comes back when the publisher has gone.
    bus.run(100, &mut |from, to, _| from == 0 || to == 0);
    assert_eq!(bus.messages(2).len(), 20);
    let stats = bus.nodes[1].0.stats();
    assert!(stats.repairs_sent >= 20 && stats.compact_frames_sent <= 14, "{stats:?}");
    let most = stats.compact_bytes_sent / stats.compact_frames_sent;
    assert!(most <= 1400, "{stats:?}");
}

#[test]
fn a_late_joiner_gets_everything_from_peers_when_the_publisher_is_gone() {
    let mut bus = Bus::new(3);
    bus.subscribe(1, "#");
    bus.subscribe(2, "#");
    bus.publish(0, "a", &bytes(9_000), Options::default());
    bus.publish(0, "b", b"short", Options::default());
    bus.run(5, &mut |_, to, _| to == 2);
    assert!(bus.messages(1).len() == 2 && bus.messages(2).is_empty());
    // The third node never hears the publisher, nor does the publisher hear anybody.
    bus.run(200, &mut |from, to, _| from == 0 || to == 0);
    let mut topics = bus.topics(2);
    topics.sort_unstable();
    assert_eq!(topics, [("a", 0), ("b", 0)]);
}

#[test]
fn the_publishers_announcement_reveals_a_last_message_that_all_lost() {
    let mut bus = Bus::new(2);
    bus.subscribe(1, "#");
    bus.publish(0, "a", b"first", Options::default());
    bus.run(5, &mut none);
    // For a minute, longer than any flush, nothing but announcements goes.
    bus.publish(0, "a", b"last", Options::default());
    bus.run(60, &mut |_, _, _| true);
    assert_eq!(bus.messages(1).len(), 1);
    bus.run(150, &mut none);
    assert_eq!(bus.topics(1), [("a", 0), ("a", 1)]);
}

#[test]
fn garbage_and_forged_frames_are_refused_and_counted() {
    let mut bus = Bus::new(2);
    bus.subscribe(1, "#");
    let published = bus.publish(0, "a", &bytes(2_000), Options::default());
    bus.run(3, &mut none);
    let (node, storage) = &mut bus.nodes[1];
    let meta = RecvMeta {
        source: SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 0, 0, 99)), 6003),
        ecn: None,
        unicast: false,
        waited: Duration::ZERO,
    };
    let mut forged = Vec::new();
    let retransmission =
        fanfare_proto::Retransmission::Symbol { block: 0, symbol: 0, has_info: true };
    assert!(node.session().receiver().retransmit(
        published.key,
        retransmission,
        storage,
        &mut forged
    ));
    for (at, byte) in [(None, 0), (Some(9), 0x77), (Some(7), 2)] {
        let mut content = crate::frames::frame::Kind::Repair.header().to_vec();
        content.extend_from_slice(&forged);
        match at {
            Some(at) => content[6 + at] = byte,
            None => content.truncate(30),
        }
        let sender = SenderFields { source_id: NodeId(99), ..node.fields };
        let extensions = fanfare_wire::ext::Extensions::default();
        let mut datagram = Vec::new();
        fanfare_wire::cmd::Application { sender, extensions, content: &content }
            .encode(&mut datagram);
        node.handle_datagram(Time::ZERO + Duration::from_secs(4), meta, &datagram, storage);
    }
    let stats = node.stats();
    assert_eq!((stats.frames_refused, stats.repairs_heard, stats.repairs_useful), (1, 2, 0));
    assert_eq!(storage.get(published.key), Some(&bytes(2_000)[..]));
}

#[test]
fn wrong_sums_are_detected_by_the_hash_and_impossible_ones_are_counted() {
    let mut bus = Bus::new(2);
    bus.nodes[1].0.config.verifies = true;
    bus.subscribe(1, "#");
    let options = Options { hash: Some([7; 16]), ..Options::default() };
    let key = bus.publish(0, "a", &bytes(3_000), options).key;
    // The second half of its six symbols is lost.
    let mut heard = 0;
    bus.run(1, &mut move |from, to, message| {
        heard += u32::from(from == 0 && matches!(message, Message::Data(_)));
        to == 0 || heard > 3
    });
    let (node, storage) = &mut bus.nodes[1];
    let mut sums = 0;
    for (seed, symbols) in [(0, 0..6), (1, 0..6), (2, 0..6), (3, 0..6), (4, 0..90)] {
        let of = fanfare_proto::RunSet::default();
        let of = symbols.fold(of, |mut of, symbol: u64| {
            of.insert(symbol, symbol + 1);
            of
        });
        let mut content = crate::frames::frame::Kind::Sum.header().to_vec();
        crate::frames::frame::Sum::append(seed, &of, &mut content);
        let retransmission =
            fanfare_proto::Retransmission::Symbol { block: 0, symbol: 0, has_info: true };
        assert!(node.session().receiver().retransmit(key, retransmission, storage, &mut content));
        let sender = SenderFields { source_id: NodeId(99), ..node.fields };
        let extensions = fanfare_wire::ext::Extensions::default();
        let command = fanfare_wire::cmd::Application { sender, extensions, content: &content };
        let mut datagram = Vec::new();
        command.encode(&mut datagram);
        let source = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 0, 0, 99)), 6003);
        let meta = RecvMeta { source, ecn: None, unicast: false, waited: Duration::ZERO };
        node.handle_datagram(bus.now, meta, &datagram, storage);
        sums += 1;
    }
    let stats = node.stats();
    assert_eq!((stats.repairs_heard, stats.repairs_useful), (sums, 3), "{stats:?}");
    bus.run(1, &mut |_, _, _| true);
    assert!(bus.events[1].contains(&Event::Verify { key, size: 3_000, hash: [7; 16] }));
    assert!(bus.nodes[1].1.get(key).is_some_and(|got| got != bytes(3_000)));
    let (node, storage) = &mut bus.nodes[1];
    node.verdict(bus.now, key, false, storage);
    bus.run(30, &mut none);
    let wrong = bus.nodes[1].0.stats().wrong;
    assert_eq!((bus.nodes[1].1.get(key), wrong), (Some(&bytes(3_000)[..]), 1));
}

#[test]
fn wrong_bytes_are_requested_again_before_delivery() {
    let mut bus = Bus::new(2);
    bus.nodes[1].0.config.verifies = true;
    bus.subscribe(1, "#");
    let options = Options { hash: Some([7; 16]), ..Options::default() };
    let key = bus.publish(0, "a", &bytes(3_000), options).key;
    let verify = Event::Verify { key, size: 3_000, hash: [7; 16] };
    let asked = |bus: &Bus| bus.events[1].iter().filter(|event| **event == verify).count();
    for round in 0..2 {
        bus.run(5, &mut none);
        assert_eq!((asked(&bus), bus.messages(1).len()), (round + 1, 0));
        let (node, storage) = &mut bus.nodes[1];
        node.verdict(bus.now, key, round == 1, storage);
    }
    bus.run(1, &mut none);
    assert_eq!(bus.messages(1).len(), 1);
    assert_eq!(bus.nodes[1].0.stats().wrong, 1);
}

#[test]
fn a_message_that_is_always_wrong_is_given_up() {
    let mut bus = Bus::new(2);
    bus.nodes[1].0.config.verifies = true;
    bus.subscribe(1, "#");
    let options = Options { hash: Some([7; 16]), ..Options::default() };
    let key = bus.publish(0, "a", &bytes(3_000), options).key;
    for _ in 0..4 {
        bus.run(5, &mut none);
        let (node, storage) = &mut bus.nodes[1];
        node.verdict(bus.now, key, false, storage);
    }
    bus.run(5, &mut none);
    assert!(bus.events[1].contains(&Event::Released { key }));
    assert_eq!(bus.messages(1).len(), 0);
}
