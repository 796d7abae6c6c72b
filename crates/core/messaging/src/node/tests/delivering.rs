//! How messages are delivered: in which order, how many, and which not.

use super::*;
use proptest::prelude::{ProptestConfig, prop_assert_eq, proptest};

#[test]
fn short_messages_come_in_their_description_and_long_ones_in_storage() {
    let mut bus = Bus::new(2);
    bus.subscribe(1, "a/#");
    assert!(bus.publish(0, "a/short", b"hello", Options::default()).inline);
    assert!(!bus.publish(0, "a/long", &bytes(20_000), Options::default()).inline);
    bus.publish(0, "b", b"not for you", Options::default());
    bus.run(5, &mut none);
    assert_eq!(bus.topics(1), [("a/short", 0), ("a/long", 0)]);
    let messages = bus.messages(1);
    assert_eq!(messages[0].description.content.as_deref(), Some(&b"hello"[..]));
    assert_eq!((messages[0].size, messages[1].size), (5, 20_000));
    assert_eq!(bus.nodes[1].1.get(messages[1].key), Some(&bytes(20_000)[..]));
}

#[test]
fn a_late_message_does_not_delay_others() {
    let mut bus = Bus::new(2);
    let deadline = Some(Duration::from_secs(3));
    let ordering = Ordering::Source;
    let all = Subscription::new(Filter::new("#").unwrap());
    bus.nodes[1].0.subscribe(bus.now, Subscription { deadline, ordering, ..all });
    let broken = bus.publish(0, "a", &bytes(5_000), Options::default()).key;
    bus.publish(0, "b", b"after", Options::default());
    let mut lose = move |_: usize, _: usize, message: &Message<'_>| match message {
        Message::Data(data) => {
            data.object_transport_id == broken.object && data.payload_id.as_bytes() != [0; 4]
        }
        _ => false,
    };
    bus.run(2, &mut lose);
    assert_eq!(bus.topics(1), []);
    bus.run(3, &mut lose);
    assert_eq!(bus.topics(1), [("b", 0)]);
}

/// Two nodes that keep so many objects of their own, and so many in view; the second wants all in order.
fn narrow(cache_objects: usize, objects_max: u16) -> Bus {
    let mut bus = Bus::new(2);
    for (number, (node, _)) in bus.nodes.iter_mut().enumerate() {
        let mut session = session(number);
        session.sender = session.sender.map(|sender| SenderConfig { cache_objects, ..sender });
        session.receiver = session.receiver.map(|r| ReceiverConfig { objects_max, ..r });
        *node = GroupNode::new(GroupConfig::default(), session, 1 + number as u64, Time::ZERO);
    }
    let all = Subscription::new(Filter::new("#").unwrap());
    bus.nodes[1].0.subscribe(bus.now, Subscription { ordering: Ordering::Source, ..all });
    bus
}

#[test]
fn a_message_that_left_the_view_unheard_does_not_delay_others_and_is_counted() {
    let mut bus = narrow(64, 4);
    let mut unheard = |_: usize, _: usize, message: &Message<'_>| match message {
        Message::Info(info) => info.object_transport_id.0 == 2,
        _ => false,
    };
    for _ in 0..8 {
        bus.publish(0, "a", b"heard", Options::default());
        bus.run(1, &mut unheard);
    }
    let numbers: Vec<u64> = bus.topics(1).iter().map(|(_, number)| *number).collect();
    assert_eq!(numbers, [0, 1, 3, 4, 5, 6, 7]);
    assert_eq!((bus.nodes[1].0.stats().missed, bus.nodes[0].0.stats().missed), (1, 0));
}

#[test]
fn messages_gone_before_a_subscription_do_not_delay_others_and_are_not_missed() {
    let mut bus = narrow(4, 64);
    for _ in 0..8 {
        bus.publish(0, "a", b"before", Options::default());
        bus.run(1, &mut |_, _, _| true);
    }
    bus.publish(0, "a", b"after", Options::default());
    bus.run(60, &mut none);
    let numbers: Vec<u64> = bus.topics(1).iter().map(|(_, number)| *number).collect();
    assert_eq!(numbers, [5, 6, 7, 8]);
    assert_eq!(bus.nodes[1].0.stats().missed, 0);
}

#[test]
fn only_the_requested_history_is_delivered() {
    let mut bus = Bus::new(2);
    for _ in 0..10 {
        bus.publish(0, "a", b"old", Options::default());
    }
    bus.run(1, &mut |_, _, _| true);
    let all = Subscription::new(Filter::new("#").unwrap());
    bus.nodes[1].0.subscribe(bus.now, Subscription { history: History::Last(2), ..all });
    bus.publish(0, "a", b"new", Options::default());
    bus.run(100, &mut none);
    let mut numbers: Vec<u64> = bus.topics(1).iter().map(|(_, number)| *number).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, [8, 9, 10]);
}

#[test]
fn for_a_new_node_everything_that_others_announce_first_is_history() {
    for (history, expected) in [
        (History::Last(0), &[4_u64][..]),
        (History::Last(1), &[3, 4]),
        (History::All, &[0, 1, 2, 3, 4]),
    ] {
        let mut bus = Bus::new(3);
        bus.subscribe(1, "#");
        (0..4).for_each(|_| _ = bus.publish(0, "a", b"old", Options::default()));
        bus.run(60, &mut |_, to, _| to == 2);
        let all = Subscription::new(Filter::new("#").unwrap());
        bus.nodes[2].0.subscribe(bus.now, Subscription { history, ..all });
        bus.run(70, &mut none);
        bus.publish(0, "a", b"new", Options::default());
        bus.run(10, &mut none);
        let mut numbers: Vec<u64> = bus.topics(2).iter().map(|(_, number)| *number).collect();
        numbers.sort_unstable();
        assert_eq!(numbers, expected, "{history:?}");
    }
}

/// Of three nodes the first publishes, and the third hears of it by the second one first: so long before the third
/// subscribed to what is new, or after it. Gives what the third was given.
fn told_by_another(before: Duration, after: Duration) -> Vec<u64> {
    let mut bus = Bus::new(3);
    bus.subscribe(1, "#");
    let mut away = |from: usize, to: usize, _: &Message<'_>| from == 2 || to == 2;
    let publish = |bus: &mut Bus| {
        (0..3).for_each(|_| _ = bus.publish(0, "a", b"first", Options::default()));
    };
    if !before.is_zero() {
        publish(&mut bus);
        bus.run_for(before, &mut away);
    }
    let all = Subscription::new(Filter::new("#").unwrap());
    bus.nodes[2].0.subscribe(bus.now, Subscription { history: History::Last(0), ..all });
    if !after.is_zero() {
        bus.run_for(after, &mut none);
        publish(&mut bus);
    }
    bus.run(10, &mut |from, to, _| (from, to) == (0, 2));
    bus.run(20, &mut none);
    let mut numbers: Vec<u64> = bus.topics(2).iter().map(|(_, number)| *number).collect();
    numbers.sort_unstable();
    numbers
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn what_was_published_after_a_subscription_is_no_history_though_others_tell_of_it_first(
        after_us in 1_u64..20_000_000,
    ) {
        let after = Duration::from_micros(after_us);
        prop_assert_eq!(told_by_another(Duration::ZERO, after), [0, 1, 2]);
    }

    #[test]
    fn what_was_published_two_seconds_before_a_subscription_is_history_when_others_tell_of_it_first(
        before_us in 2_000_000_u64..20_000_000,
    ) {
        let before = Duration::from_micros(before_us);
        prop_assert_eq!(told_by_another(before, Duration::ZERO), []);
    }
}

#[test]
fn a_newer_message_with_the_same_tag_replaces_the_older_one() {
    let mut bus = Bus::new(2);
    bus.subscribe(1, "#");
    let options = Options { tag: Some(1), replaces: true, ..Options::default() };
    let old = bus.publish(0, "a", &bytes(5_000), options).key;
    bus.run(3, &mut none);
    bus.publish(0, "a", &bytes(6_000), options);
    bus.run(3, &mut none);
    assert!(bus.events[1].contains(&Event::Released { key: old }));
    assert_eq!(bus.nodes[0].0.cancel(1), 1);
    assert_eq!(bus.nodes[0].0.cancel(1), 0);
}

#[test]
fn a_late_subscription_gets_the_messages_that_are_here() {
    let mut bus = Bus::new(2);
    bus.nodes[0].0.config.hears_itself = true;
    bus.publish(0, "a", b"short", Options::default());
    bus.publish(0, "a", &bytes(3_000), Options::default());
    bus.run(5, &mut none);
    for node in 0..2 {
        bus.subscribe(node, "a");
        bus.run(1, &mut none);
        assert_eq!(bus.topics(node), [("a", 0), ("a", 1)], "{node}");
    }
}

#[test]
fn a_subscription_to_a_partial_message_requests_the_rest() {
    let mut bus = Bus::new(2);
    bus.subscribe(1, "other");
    bus.publish(0, "a", &bytes(5_000), Options::default());
    let mut lose = |_: usize, _: usize, message: &Message<'_>| match message {
        Message::Data(data) => data.payload_id.as_bytes()[3] % 2 == 0,
        _ => false,
    };
    bus.run(20, &mut lose);
    assert_eq!(bus.nodes[1].0.kept().0, 0);
    bus.subscribe(1, "a");
    bus.run(20, &mut none);
    assert_eq!(bus.topics(1), [("a", 0)]);
}

#[test]
fn a_message_from_two_gateways_is_delivered_once_and_never_to_its_publisher() {
    // 0 and 1 are gateways, and bring what another published elsewhere, and what 2 did; 3 hears all
    // copies.
    let mut bus = Bus::new(4);
    bus.subscribe(2, "#");
    let all = Subscription::new(Filter::new("#").unwrap());
    bus.nodes[3].0.subscribe(bus.now, Subscription { copies: true, ..all });
    let instance = bus.nodes[2].0.instance();
    let of = |node, number| {
        let origin = Some(crate::Origin { node: NodeId(node), instance, number, hops: 1 });
        Options { origin, ..Options::default() }
    };
    for gateway in [0, 1] {
        bus.publish(gateway, "a", b"short", of(9, 0));
        bus.publish(gateway, "a", &bytes(3_000), of(9, 1));
        bus.publish(gateway, "a", b"its own", of(3, 0));
        bus.run(5, &mut none);
    }
    assert_eq!(bus.topics(2), [("a", 0), ("a", 1)]);
    let origins = bus.messages(2).into_iter().map(|m| m.description.identity(m.key));
    assert!(origins.map(|identity| (identity.node.0, identity.number)).eq([(9, 0), (9, 1)]));
    assert_eq!(bus.messages(3).len(), 6);
}

#[test]
fn only_the_latest_of_each_first_publisher_counts_whoever_carries_it() {
    let mut bus = Bus::new(3);
    let all = Subscription::new(Filter::new("#").unwrap());
    bus.nodes[2].0.subscribe(bus.now, Subscription { ordering: Ordering::Latest, ..all });
    let mut publish = |gateway, node, number, text: &[u8]| {
        let (node, instance) = (NodeId(node), InstanceId(7));
        let origin = Some(crate::Origin { node, instance, number, hops: 1 });
        bus.publish(gateway, "a", text, Options { origin, ..Options::default() });
        bus.run(3, &mut none);
    };
    publish(0, 50, 5, b"new");
    publish(1, 50, 4, b"old, by another");
    publish(0, 51, 0, b"of somebody else");
    let texts = bus.messages(2).into_iter().map(|m| m.description.content.clone().unwrap());
    assert!(texts.eq([b"new".to_vec(), b"of somebody else".to_vec()]));
}

#[test]
fn after_ids_wrap_later_messages_are_still_awaited() {
    // 1000 a second, kept for 33.5 s: what expires is more than half the ids behind.
    let mut bus = Bus::new(2);
    for (number, (node, _)) in bus.nodes.iter_mut().enumerate() {
        let mut session = session(number);
        session.sender = session.sender.map(|sender| SenderConfig {
            rate: Bitrate::mbps(1000),
            cache_objects: 4000,
            ..sender
        });
        session.receiver = session.receiver.map(|r| ReceiverConfig { objects_max: 4000, ..r });
        let cache_age = Duration::from_millis(33_500);
        let config = GroupConfig { cache_age, ..GroupConfig::default() };
        *node = GroupNode::new(config, session, 1 + number as u64, Time::ZERO);
    }
    let all = Subscription::new(Filter::new("#").unwrap());
    bus.nodes[1].0.subscribe(bus.now, Subscription { ordering: Ordering::Source, ..all });
    let mut next = 0_u32;
    let mut lost = 0;
    for second in 0..69 {
        for _ in 0..1000 {
            bus.publish(0, "a", &next.to_be_bytes(), Options::default());
            next += 1;
        }
        bus.run(1, &mut |_, _, message| {
            let first = second == 67 && lost == 0 && matches!(message, Message::Info(_));
            lost += u32::from(first);
            first
        });
    }
    bus.run(5, &mut none);
    let numbers: Vec<u64> = bus.topics(1).iter().map(|(_, number)| *number).collect();
    assert_eq!((numbers.len(), lost), (69_000, 1));
    assert!(numbers.is_sorted(), "out of order");
}
