//! History by time: which ages a late subscriber learns, and from whom.

use super::{restoring::restart, *};
use alloc::rc::Rc;
use core::cell::RefCell;
use fanfare_wire::ext::ExtAge;

fn since(seconds: u64) -> Subscription {
    let history = History::Since(Duration::from_secs(seconds));
    Subscription { history, ..Subscription::new(Filter::new("#").unwrap()) }
}

/// A short message and one of several segments.
fn publish_pair(bus: &mut Bus, topic: &str) {
    bus.publish(0, topic, b"short", Options::default());
    bus.publish(0, topic, &bytes(3_000), Options::default());
}

/// "old" 100 s before "young", which is 20 s old at the end; node 2 hears nothing of it.
fn published(nodes: usize) -> Bus {
    let mut bus = Bus::new(nodes);
    let mut deaf = |from: usize, to: usize, _: &Message<'_>| from == 2 || to == 2;
    if nodes > 2 {
        bus.subscribe(1, "#");
    }
    publish_pair(&mut bus, "old");
    bus.run(100, &mut deaf);
    publish_pair(&mut bus, "young");
    bus.run(20, &mut deaf);
    bus
}

fn sorted(bus: &Bus, node: usize) -> Vec<(&str, u64)> {
    let mut topics = bus.topics(node);
    topics.sort_unstable();
    topics
}

const YOUNG: [(&str, u64); 2] = [("young", 0), ("young", 1)];

#[test]
fn a_late_joiner_learns_the_age_of_messages_from_their_publisher() {
    let mut bus = published(2);
    bus.nodes[1] = Bus::new(2).nodes.remove(1);
    bus.nodes[1].0.subscribe(bus.now, since(60));
    bus.run(100, &mut none);
    assert_eq!(sorted(&bus, 1), YOUNG);
}

#[test]
fn when_the_publisher_is_gone_repairers_tell_the_age() {
    for (history, wanted) in [(60, &YOUNG[..]), (5, &[]), (110, &YOUNG[..])] {
        let mut bus = published(3);
        bus.nodes[2].0.subscribe(bus.now, since(history));
        bus.run(100, &mut |from, to, _| from == 0 || to == 0);
        assert_eq!(sorted(&bus, 2), wanted, "{history} s");
    }
    let mut bus = published(3);
    bus.nodes[2].0.subscribe(bus.now, since(130));
    bus.run(100, &mut |from, to, _| from == 0 || to == 0);
    assert_eq!(bus.topics(2).len(), 4);
}

#[test]
fn an_age_grows_over_two_forwarding_nodes() {
    let mut bus = published(4);
    // Node 2 takes all of it late, from node 1; then both others are gone.
    bus.subscribe(2, "#");
    bus.run(60, &mut |from, to, _| [0, 3].contains(&from) || [0, 3].contains(&to));
    assert_eq!(bus.topics(2).len(), 4);
    bus.nodes[3] = Bus::new(4).nodes.remove(3);
    bus.nodes[3].0.subscribe(bus.now, since(120));
    bus.run(100, &mut |from, to, _| from < 2 || to < 2);
    assert_eq!(sorted(&bus, 3), YOUNG);
}

#[test]
fn a_later_subscription_gets_the_young_messages_that_are_here() {
    let mut bus = published(3);
    bus.events[1].clear();
    bus.nodes[0].0.config.hears_itself = true;
    for node in [0, 1] {
        bus.nodes[node].0.subscribe(bus.now, since(60));
        bus.run(0, &mut none);
        assert_eq!(sorted(&bus, node), YOUNG, "{node}");
    }
}

#[test]
fn an_age_survives_a_restart_of_the_node_that_has_the_message() {
    let mut bus = published(3);
    let (node, storage) = &mut bus.nodes[1];
    let whole = bus.events[1].iter().filter_map(|event| match event {
        Event::Message(message) => Some(message.key),
        _ => None,
    });
    let kept: Vec<(ObjectKey, Vec<u8>)> =
        whole.map(|key| (key, node.info_message(key, storage).unwrap())).collect();
    // Node 1 comes back after 30 s: "young" is 50 s old then, "old" 150.
    restart(&mut bus, 1, &kept, Duration::from_secs(30));
    bus.nodes[2].0.subscribe(bus.now, since(60));
    bus.run(100, &mut |from, to, _| from == 0 || to == 0);
    assert_eq!(sorted(&bus, 2), YOUNG);
    let mut bus = published(3);
    // The publisher itself, all of whose messages pass for 100 s old.
    restart(&mut bus, 0, &[], Duration::from_secs(100));
    bus.nodes[2].0.subscribe(bus.now, since(60));
    bus.run(100, &mut |from, to, _| from == 1 || to == 1);
    assert_eq!(bus.topics(2), []);
}

#[test]
fn the_age_of_a_new_message_costs_nothing_and_of_an_old_one_four_bytes() {
    let mut bus = Bus::new(2);
    let told = Rc::new(RefCell::new(Vec::new()));
    publish_pair(&mut bus, "a");
    for lost in [true, false] {
        if !lost {
            bus.subscribe(1, "#");
        }
        let told = Rc::clone(&told);
        bus.run(30, &mut move |_, _, message| {
            if let Message::Info(info) = message {
                told.borrow_mut().push(info.extensions.age(0).map(ExtAge::seconds));
            }
            lost
        });
    }
    let told = told.borrow();
    let old: Vec<u64> = told.iter().flatten().copied().collect();
    assert_eq!(told[..2], [None, None]);
    assert!(!old.is_empty() && old.iter().all(|age| *age >= 30), "{told:?}");
}

fn expiring(seconds: u64) -> Options {
    Options { expiry: Some(Duration::from_secs(seconds)), ..Options::default() }
}

#[test]
fn nobody_repairs_an_expired_message_not_even_its_publisher() {
    let mut bus = Bus::new(3);
    bus.subscribe(1, "#");
    bus.publish(0, "a", b"short", expiring(20));
    bus.publish(0, "a", &bytes(3_000), expiring(20));
    bus.publish(0, "a", b"stays", Options::default());
    bus.run(25, &mut |_, to, _| to == 2);
    assert_eq!((bus.messages(1).len(), bus.nodes[0].0.own_count()), (3, 1));
    assert_eq!((bus.nodes[0].0.stats().expired, bus.nodes[1].0.stats().expired), (2, 2));
    bus.subscribe(2, "#");
    bus.run(70, &mut none);
    assert_eq!(bus.topics(2), [("a", 2)]);
}

#[test]
fn a_message_that_arrives_expired_is_not_delivered() {
    let mut bus = Bus::new(2);
    bus.publish(0, "a", b"late", expiring(60));
    bus.publish(0, "a", b"in time", expiring(200));
    bus.run(50, &mut |_, _, _| true);
    bus.subscribe(1, "#");
    // The publisher goes on telling it: its own clock stands still, as it were.
    bus.nodes[0].0.publisher.expire(Time::FAR_FUTURE);
    bus.run(90, &mut |_, _, _| true);
    bus.run(30, &mut none);
    assert_eq!(bus.topics(1), [("a", 1)]);
    assert_eq!(bus.nodes[1].0.stats().expired, 1);
    bus.run(50, &mut none);
    assert_eq!(bus.nodes[1].0.stats().expired, 2, "of the other 200 s are over");
}
