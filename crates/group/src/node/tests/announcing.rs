//! What nodes tell of themselves and of what they hold.

use super::*;

#[test]
fn joining_leaving_and_hearing_are_told() {
    let mut bus = Bus::new(2);
    bus.run(100, &mut |_, to, _| to == 1);
    assert!(bus.events[0].contains(&Event::Joined { node: NodeId(2) }));
    assert!(bus.events[0].contains(&Event::HearsUs { node: NodeId(2), hears: false }));
    assert!(!bus.events[1].contains(&Event::Joined { node: NodeId(1) }));
    bus.run(300, &mut |_, _, _| true);
    assert!(bus.events[0].contains(&Event::Left { node: NodeId(2) }));
}

#[test]
fn a_publisher_learns_who_holds_its_message() {
    let mut bus = Bus::new(3);
    bus.subscribe(1, "#");
    let key = bus.publish(0, "a", &bytes(3_000), Options::default()).key;
    bus.nodes[0].0.watch(key);
    bus.run(20, &mut |_, to, _| to == 2);
    assert_eq!(bus.standings(0, key), [(2, Standing::Holds), (3, Standing::Unwanted)]);
}

#[test]
fn who_does_not_want_a_message_and_has_not_all_of_it_does_not_say_that_it_holds_it() {
    let mut bus = Bus::new(3);
    bus.subscribe(1, "a");
    bus.subscribe(2, "b");
    let key = bus.publish(0, "a", &bytes(3_000), Options::default()).key;
    bus.nodes[0].0.watch(key);
    bus.run(20, &mut |_, to, message| to == 2 && matches!(message, Message::Data(_)));
    assert_eq!(bus.standings(0, key), [(2, Standing::Holds), (3, Standing::Unwanted)]);
}

#[test]
fn in_a_group_where_most_may_be_silent_all_say_within_seconds_how_they_stand() {
    let mut bus = Bus::new(12);
    (1..12).for_each(|node| {
        bus.subscribe(node, "#");
    });
    bus.run(200, &mut none);
    let key = bus.publish(0, "a", b"short", Options::default()).key;
    bus.nodes[0].0.watch(key);
    // Two announcements of the publisher, each with answers within a second.
    bus.run(7, &mut none);
    let all: Vec<(u32, Standing)> = (2..13).map(|node| (node, Standing::Holds)).collect();
    assert_eq!(bus.standings(0, key), all);
}
