//! Who comes late has the newest at once.

use super::*;

const SOON: Duration = Duration::from_millis(200);

/// A publisher, holders, and one who comes when all has been quiet for long.
fn late(holders: usize, messages: &[(&str, &[u8])]) -> (Bus, usize) {
    let mut bus = Bus::new(1 + holders);
    bus.greets();
    for node in 1..=holders {
        bus.subscribe(node, "#");
    }
    for (topic, content) in messages {
        bus.publish(0, topic, content, Options::default());
        bus.run(1, &mut |_, _, _| false);
    }
    bus.run(120, &mut |_, _, _| false);
    let late = bus.join();
    bus.greets();
    (bus, late)
}

fn contents(bus: &Bus, node: usize) -> Vec<Vec<u8>> {
    bus.messages(node).iter().filter_map(|message| message.description.content.clone()).collect()
}

#[test]
fn a_late_subscriber_has_the_newest_of_a_topic_within_two_tenths_of_a_second() {
    for holders in [0, 1, 9] {
        let (mut bus, late) = late(holders, &[("a", b"1"), ("a", b"2"), ("b", b"3")]);
        bus.subscribe(late, "#");
        bus.run_for(SOON, &mut |_, _, _| false);
        let told = contents(&bus, late);
        assert!(told.contains(&b"2".to_vec()) && told.contains(&b"3".to_vec()), "{told:?}");
    }
}

#[test]
fn it_has_it_from_others_when_the_publisher_is_gone() {
    for holders in [1, 9] {
        let (mut bus, late) = late(holders, &[("a", b"1")]);
        bus.subscribe(late, "a");
        let mut publisher_is_gone = |from, to, _: &Message<'_>| from == 0 || to == 0;
        bus.run_for(SOON, &mut publisher_is_gone);
        assert_eq!(contents(&bus, late), [b"1".to_vec()], "{holders}");
        let repairs: u64 = bus.nodes.iter().map(|(node, _)| node.stats().compact_frames_sent).sum();
        assert!(repairs <= 3, "{repairs} of {holders}");
    }
}

#[test]
fn a_greeting_that_is_lost_is_repeated_and_one_that_is_answered_is_answered_once() {
    let (mut bus, late) = late(1, &[("a", b"1")]);
    let states = |bus: &Bus| bus.nodes[late].0.stats().states_sent;
    bus.subscribe(late, "a");
    bus.run_for(Duration::from_millis(20), &mut |_, _, _| true);
    assert_eq!(states(&bus), 1);
    bus.run_for(SOON, &mut |_, _, _| false);
    assert_eq!((states(&bus), contents(&bus, late)), (2, vec![b"1".to_vec()]));
    let (mut bus, late) = self::late(1, &[("a", b"1")]);
    let before = bus.sent[0];
    bus.subscribe(late, "a");
    bus.run_for(SOON, &mut |_, _, _| false);
    // The message, what follows each message, and announcements.
    assert!(bus.sent[0] <= before + 6, "{}", bus.sent[0] - before);
}
