//! Nodes that take datagrams of one address alone, as `--source` says.

use super::*;

/// Nodes 0 and 1 publish; node 2 hears node 1 alone, as its system lets nothing else in.
fn elsewhere(from: usize, to: usize, _: &Message<'_>) -> bool {
    (from, to) == (0, 2)
}

fn group(one_source: bool) -> Bus {
    let mut bus = Bus::new(3);
    bus.nodes[2].0.config.one_source = one_source;
    (0..3).for_each(|node| {
        bus.subscribe(node, "#");
    });
    bus.run(20, &mut elsewhere);
    bus
}

#[test]
fn who_hears_one_source_is_given_nothing_that_others_publish() {
    for size in [5, 3_000] {
        let mut bus = group(true);
        let other = bus.publish(0, "a", &bytes(size), Options::default()).key;
        let own = bus.publish(1, "b", &bytes(size), Options::default()).key;
        [(0, other), (1, own)].into_iter().for_each(|(node, key)| bus.nodes[node].0.watch(key));
        bus.run(90, &mut elsewhere);
        assert_eq!(bus.topics(2), [("b", 0)], "{size} bytes");
        assert_eq!((bus.topics(0), bus.topics(1)), (vec![("b", 0)], vec![("a", 0)]));
        // The publisher that it does not hear knows that, and the other one that it has all.
        assert_eq!(bus.nodes[0].0.listeners_elsewhere(), [NodeId(3)]);
        assert_eq!(bus.nodes[1].0.listeners_elsewhere(), []);
        assert_eq!(bus.standings(0, other), [(2, Standing::Holds)]);
        assert_eq!(bus.standings(1, own), [1, 3].map(|node| (node, Standing::Holds)));
        assert_eq!(relays(&bus), 0, "{size} bytes");
    }
}

#[test]
fn who_does_not_hear_a_publisher_and_says_nothing_of_one_source_is_given_all_by_others() {
    let mut bus = group(false);
    bus.publish(0, "a", b"short", Options::default());
    bus.run(90, &mut elsewhere);
    assert_eq!(bus.topics(2), [("a", 0)]);
    assert_eq!(bus.nodes[0].0.listeners_elsewhere(), []);
    assert!(relays(&bus) > 0);
}

fn relays(bus: &Bus) -> u64 {
    bus.nodes.iter().map(|(node, _)| node.stats().relays_sent).sum()
}

#[test]
fn who_hears_one_source_is_given_what_that_one_published_in_an_earlier_life() {
    let mut bus = Bus::new(3);
    bus.subscribe(1, "#");
    bus.run(20, &mut none);
    bus.publish(0, "a", b"early", Options::default());
    bus.run(20, &mut none);
    // Node 1 has the message of node 0, which has gone; it was node 0 before, and node 2 was not.
    let now = bus.now;
    bus.nodes[1].0.set_former_ids(now, [NodeId(1)]);
    let late = bus.join();
    bus.nodes[late].0.config.one_source = true;
    bus.subscribe(late, "#");
    bus.run(60, &mut |from, to, _| from == 0 || to == 0 || (from, to) == (2, late));
    assert_eq!(bus.topics(late), [("a", 0)]);
}
