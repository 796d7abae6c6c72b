//! A publisher that restarts, or seems to. Others still have what it published before.

use super::*;

/// A node that knows nothing of what it did before, in another instance.
fn anew(bus: &mut Bus, number: usize, instance: u16) {
    let mut session = session(number);
    session.sender.as_mut().unwrap().instance_id = InstanceId(instance);
    if let Some(receiver) = &mut session.receiver {
        receiver.join = JoinPolicy::AllCached;
    }
    let config = GroupConfig { repair_rate: Bitrate::mbps(1), ..GroupConfig::default() };
    let node = GroupNode::new(config, session, 100 + number as u64, bus.now);
    bus.nodes[number] = (node, MemoryStorage::new(1 << 20));
    bus.events[number].clear();
}

fn subscribe_to_all(bus: &mut Bus, node: usize, ordering: Ordering) {
    let subscription = Subscription::new(Filter::new("#").unwrap());
    let (now, history) = (bus.now, History::All);
    bus.nodes[node].0.subscribe(now, Subscription { history, ordering, ..subscription });
}

/// Nodes 1 to 3 are subscribed, node 3 is away. Node 0 publishes a short message and one of 3000 bytes, then begins again and
/// publishes another.
fn begun_anew() -> Bus {
    let mut bus = Bus::new(4);
    (1..4).for_each(|node| anew(&mut bus, node, 1));
    (1..4).for_each(|node| subscribe_to_all(&mut bus, node, Ordering::Arrival));
    bus.publish(0, "first/short", b"of the first life", Options::default());
    bus.publish(0, "first/long", &bytes(3000), Options::default());
    bus.run(10, &mut away);
    anew(&mut bus, 0, 2);
    bus.publish(0, "second", b"of the second life", Options::default());
    bus.run(20, &mut away);
    bus
}
fn away(from: usize, to: usize, _: &Message<'_>) -> bool {
    from == 3 || to == 3
}
fn sorted(bus: &Bus, node: usize) -> Vec<&str> {
    let mut topics: Vec<_> = bus.topics(node).into_iter().map(|(topic, _)| topic).collect();
    topics.sort_unstable();
    topics
}
const ALL: [&str; 3] = ["first/long", "first/short", "second"];

#[test]
fn a_late_joiner_gets_messages_from_peers_that_a_restarted_publisher_lost() {
    let mut bus = begun_anew();
    assert_eq!((sorted(&bus, 1), sorted(&bus, 2)), (ALL.to_vec(), ALL.to_vec()));
    bus.run(60, &mut none);
    assert_eq!(sorted(&bus, 3), ALL);
    let long = bus.messages(3).into_iter().find(|message| message.size == 3000).unwrap();
    assert_eq!(bus.nodes[3].1.get(long.key), Some(&bytes(3000)[..]));
}

#[test]
fn peers_repair_both_instances_of_a_publisher_that_is_gone() {
    let mut bus = begun_anew();
    bus.run(120, &mut |from, to, _| from == 0 || to == 0);
    assert_eq!(sorted(&bus, 3), ALL);
    // Each instance is told once in a while; in between all read the short announcements of the others.
    let refused: u64 = (1..4).map(|node| bus.nodes[node].0.stats().frames_refused).sum();
    assert_eq!(refused, 0);
}

#[test]
fn a_restarted_node_repairs_what_it_kept_of_each_instance() {
    let mut bus = begun_anew();
    let (node, storage) = &mut bus.nodes[1];
    let mut keys: Vec<_> = node.cache.whole().map(|(key, _)| *key).collect();
    keys.sort_unstable_by_key(|key| (key.instance, key.object.0));
    let kept: Vec<_> =
        keys.iter().map(|key| (*key, node.info_message(*key, storage).unwrap())).collect();
    assert_eq!(kept.len(), 3);
    restoring::restart(&mut bus, 1, &kept, Duration::from_secs(100));
    bus.run(120, &mut |from, to, _| [from, to].iter().any(|end| [0, 2].contains(end)));
    assert_eq!(sorted(&bus, 3), ALL);
    assert_eq!(bus.nodes[1].0.kept().0, 3);
}

#[test]
fn a_forged_instance_of_a_publisher_takes_nothing_from_nodes_with_its_messages() {
    let mut bus = Bus::new(4);
    (1..4).for_each(|node| anew(&mut bus, node, 1));
    (1..4).for_each(|node| subscribe_to_all(&mut bus, node, Ordering::Arrival));
    bus.publish(0, "true", b"one", Options::default());
    bus.publish(0, "true", b"two", Options::default());
    bus.run(10, &mut away);
    // Node 0 is off; what comes of it now is forged.
    for instance in 100..110 {
        anew(&mut bus, 0, instance);
        bus.publish(0, "forged", b"x", Options::default());
        bus.run(5, &mut away);
    }
    bus.run(120, &mut |from, to, _| from == 0 || to == 0);
    let of_true = |node: usize| sorted(&bus, node).iter().filter(|topic| **topic == "true").count();
    assert_eq!((of_true(1), of_true(3)), (2, 2));
}

#[test]
fn waiting_messages_are_delivered_when_nothing_more_can_come_of_that_instance() {
    let mut bus = Bus::new(2);
    anew(&mut bus, 1, 1);
    subscribe_to_all(&mut bus, 1, Ordering::Source);
    let lost = bus.publish(0, "a", &bytes(5000), Options::default()).key;
    bus.publish(0, "b", b"waits for it", Options::default());
    let gone = |message: &Message<'_>| matches!(message, Message::Data(data) if data.object_transport_id == lost.object);
    bus.run(3, &mut |_, to, message| to == 0 || gone(message));
    assert_eq!(bus.topics(1), []);
    // Of more instances than are kept in view the first is dropped.
    for instance in 2..9 {
        anew(&mut bus, 0, instance);
        (0..3).for_each(|_| _ = bus.publish(0, "later", b"x", Options::default()));
        bus.run(5, &mut none);
    }
    let topics: Vec<_> = bus.topics(1).into_iter().map(|(topic, _)| topic).collect();
    let waited = topics.iter().filter(|topic| **topic == "b").count();
    assert_eq!((waited, topics.len()), (1, 1 + 7 * 3));
    assert_eq!(bus.nodes[1].0.load().publishers, 4);
}
