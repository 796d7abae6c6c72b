//! Nodes that restart with what they kept.

use super::*;

/// The node goes on in a new process, with its storage and what was kept of others' messages.
pub(super) fn restart(bus: &mut Bus, number: usize, kept: &[(ObjectKey, Vec<u8>)], age: Duration) {
    let config = bus.nodes[number].0.config;
    let mut node = GroupNode::new(config, session(number), 77, bus.now);
    let old = &mut bus.nodes[number];
    let own = old.0.publisher.own().map(|(key, own)| (*key, own.message.encode(), own.size));
    for (key, info, size) in own.collect::<Vec<_>>() {
        let stored = if Description::decode(&info).unwrap().content.is_some() { 0 } else { size };
        assert!(node.restore_own(bus.now, key.object, (info, stored, age)));
    }
    let next = ObjectTransportId(40);
    node.resume(next, core::iter::once((Topic::new("a").unwrap(), 9)));
    let mut storage = MemoryStorage::new(1 << 20);
    for (key, info_message) in kept {
        let bytes = old.1.take(*key).unwrap_or_default();
        assert!(node.restore(bus.now, info_message, (bytes.len() as u64, age), &mut storage));
        storage.put(*key, bytes);
    }
    for number in 0..100 {
        let object = ObjectTransportId(number);
        let key = ObjectKey { sender: node.session.node_id(), instance: node.instance(), object };
        old.1.take(key).into_iter().for_each(|bytes| storage.put(key, bytes));
    }
    bus.nodes[number] = (node, storage);
}

#[test]
fn a_restarted_publisher_continues_its_numbers_and_repairs_earlier_messages() {
    let mut bus = Bus::new(2);
    bus.publish(0, "a", b"short", Options::default());
    bus.publish(0, "a", &bytes(3_000), Options::default());
    bus.run(1, &mut |_, _, _| true);
    restart(&mut bus, 0, &[], Duration::ZERO);
    bus.subscribe(1, "#");
    let next = bus.publish(0, "a", b"next", Options::default()).key;
    assert_eq!(next.object.0, 40);
    bus.run(60, &mut none);
    let mut topics = bus.topics(1);
    topics.sort_unstable();
    assert_eq!(topics, [("a", 0), ("a", 1), ("a", 9)]);
    let long = bus.messages(1).into_iter().find(|message| message.size == 3_000).unwrap().key;
    assert_eq!(bus.nodes[1].1.get(long), Some(&bytes(3_000)[..]));
}

#[test]
fn a_restarted_node_repairs_messages_of_others_until_they_expire() {
    let mut bus = Bus::new(3);
    bus.subscribe(1, "#");
    let expiry = Some(Duration::from_secs(600));
    let options = Options { expiry, ..Options::default() };
    bus.publish(0, "a", b"short", options);
    bus.publish(0, "a", &bytes(3_000), options);
    bus.run(5, &mut |_, to, _| to == 2);
    let whole = bus.messages(1).iter().map(|message| message.key).collect::<Vec<_>>();
    let (node, storage) = &mut bus.nodes[1];
    let kept: Vec<(ObjectKey, Vec<u8>)> =
        whole.iter().map(|key| (*key, node.info_message(*key, storage).unwrap())).collect();
    restart(&mut bus, 1, &kept, Duration::from_secs(100));
    bus.events[1].clear();
    bus.subscribe(1, "#");
    bus.subscribe(2, "#");
    bus.run(60, &mut |from, to, _| from == 0 || to == 0);
    for node in [1, 2] {
        let mut topics = bus.topics(node);
        topics.sort_unstable();
        assert_eq!(topics, [("a", 0), ("a", 1)], "{node}");
    }
    // 100 s old then, 60 s have passed: 440 are left, and two objects go.
    let released = |bus: &Bus| {
        let released = |event: &&Event| matches!(event, Event::Released { .. });
        bus.events[1].iter().filter(released).count()
    };
    bus.run(430, &mut |_, _, _| true);
    assert_eq!(released(&bus), 0);
    bus.run(20, &mut |_, _, _| true);
    assert_eq!(released(&bus), 2);
}
