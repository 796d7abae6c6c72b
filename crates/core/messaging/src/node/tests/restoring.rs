//! Nodes that restart with what they kept.

use super::*;

/// The life of a node that begins now: the instances of one node differ, and so may the ids.
fn begin(bus: &Bus, number: usize, instance: u16) -> GroupNode {
    let config = bus.nodes[number].0.config;
    let mut session = session(number);
    session.sender.as_mut().unwrap().instance_id = InstanceId(instance);
    GroupNode::new(config, session, 77 + u64::from(instance), bus.now)
}

/// The node begins another life in a new process, with its storage and what was kept of others' messages.
pub(super) fn restart(bus: &mut Bus, number: usize, kept: &[(ObjectKey, Vec<u8>)], age: Duration) {
    let mut node = begin(bus, number, 40);
    let old = &mut bus.nodes[number];
    let mut storage = MemoryStorage::new(1 << 20);
    let own = old.0.publisher.own().map(|(key, own)| (*key, own.message.encode()));
    for (key, info) in own.collect::<Vec<_>>() {
        let stored = Description::decode(&info).unwrap().content.is_none();
        let bytes = old.1.take(key).filter(|_| stored).unwrap_or_default();
        let size = bytes.len() as u64;
        assert!(node.restore_own(bus.now, key, &info, size, age, &mut storage));
        storage.put(key, bytes);
    }
    node.resume(core::iter::once((Topic::new("a").unwrap(), 9)));
    for (key, info_message) in kept {
        let bytes = old.1.take(*key).unwrap_or_default();
        assert!(node.restore(bus.now, info_message, (bytes.len() as u64, age), &mut storage));
        storage.put(*key, bytes);
    }
    bus.nodes[number] = (node, storage);
}

#[test]
fn a_restarted_publisher_begins_another_life_and_repairs_earlier_messages() {
    let mut bus = Bus::new(2);
    let first = bus.publish(0, "a", b"short", Options::default()).key;
    bus.publish(0, "a", &bytes(3_000), Options::default());
    bus.run(1, &mut |_, _, _| true);
    restart(&mut bus, 0, &[], Duration::ZERO);
    let everything = Subscription::new(Filter::new("#").unwrap());
    bus.nodes[1].0.subscribe(bus.now, Subscription { history: History::All, ..everything });
    let next = bus.publish(0, "a", b"next", Options::default()).key;
    assert!(next.incarnation() != first.incarnation());
    bus.run(120, &mut none);
    let mut topics = bus.topics(1);
    topics.sort_unstable();
    assert_eq!(topics, [("a", 0), ("a", 1), ("a", 9)]);
    let long = bus.messages(1).into_iter().find(|message| message.size == 3_000).unwrap().key;
    assert_eq!(bus.nodes[1].1.get(long), Some(&bytes(3_000)[..]));
}

#[test]
fn a_message_of_this_life_is_not_taken_from_a_disk() {
    let mut bus = Bus::new(1);
    let published = bus.publish(0, "a", b"short", Options::default());
    let info = bus.nodes[0].0.own(published.key).unwrap().encode();
    let instance = published.key.instance.0;
    let (mut storage, now) = (MemoryStorage::new(1 << 20), bus.now);
    let mut same = begin(&bus, 0, instance);
    assert!(!same.restore_own(now, published.key, &info, 0, Duration::ZERO, &mut storage));
    let mut other = begin(&bus, 0, instance.wrapping_add(1));
    assert!(other.restore_own(now, published.key, &info, 0, Duration::ZERO, &mut storage));
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

/// A publisher that began again on its cache, with what it had published: two messages of one tag, one of another. The other
/// node knows nothing of them.
fn begun_again_with_tags() -> Bus {
    let mut bus = Bus::new(2);
    for (content, tag) in [(&b"first"[..], 7), (b"second", 7), (b"third", 8)] {
        bus.publish(0, "a", content, Options { tag: Some(tag), ..Options::default() });
    }
    bus.run(1, &mut |_, _, _| true);
    restart(&mut bus, 0, &[], Duration::ZERO);
    bus
}

fn contents_heard_late(bus: &mut Bus) -> Vec<Vec<u8>> {
    let everything = Subscription::new(Filter::new("#").unwrap());
    bus.nodes[1].0.subscribe(bus.now, Subscription { history: History::All, ..everything });
    bus.run(120, &mut none);
    let contents = bus.messages(1).into_iter().filter_map(|m| m.description.content.clone());
    let mut contents: Vec<Vec<u8>> = contents.collect();
    contents.sort();
    contents
}

#[test]
fn a_node_withdraws_what_its_earlier_lives_published() {
    let mut bus = begun_again_with_tags();
    assert_eq!((bus.nodes[0].0.cancel(7), bus.nodes[0].0.cancel(7)), (2, 0));
    assert_eq!(contents_heard_late(&mut bus), [b"third"]);
}

#[test]
fn a_message_takes_the_place_of_what_earlier_lives_published() {
    let mut bus = begun_again_with_tags();
    let options = Options { tag: Some(7), replaces: true, ..Options::default() };
    bus.publish(0, "a", b"newer", options);
    assert_eq!(contents_heard_late(&mut bus), [&b"newer"[..], b"third"]);
}

#[test]
fn a_clone_withdraws_nothing_of_what_its_original_gives() {
    let mut bus = Bus::new(2);
    let options = Options { tag: Some(7), ..Options::default() };
    let original = bus.publish(0, "a", b"first", options).key;
    bus.run(1, &mut |_, _, _| true);
    let clone = bus.join();
    let info = bus.nodes[0].0.own(original).unwrap().encode();
    let (now, (node, storage)) = (bus.now, &mut bus.nodes[clone]);
    assert!(node.restore_own(now, original, &info, 0, Duration::ZERO, storage));
    assert_eq!(node.cancel(7), 1);
    assert_eq!(contents_heard_late(&mut bus), [b"first"]);
}
