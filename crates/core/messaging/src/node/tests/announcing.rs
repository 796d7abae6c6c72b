//! What nodes announce about themselves and about what they have.

use super::*;
use crate::{
    frames::frame::{Frame, Kind},
    membership::state::State,
};
use fanfare_wire::{ext::Extensions, header::SenderFields};

#[test]
fn joining_leaving_and_hearing_are_reported() {
    let mut bus = Bus::new(2);
    bus.run(100, &mut |_, to, _| to == 1);
    assert!(bus.events[0].contains(&Event::Joined { node: NodeId(2) }));
    assert!(bus.events[0].contains(&Event::HearsUs { node: NodeId(2), hears: false }));
    assert!(!bus.events[1].contains(&Event::Joined { node: NodeId(1) }));
    bus.run(300, &mut |_, _, _| true);
    assert!(bus.events[0].contains(&Event::Left { node: NodeId(2) }));
}

#[test]
fn a_node_leaves_seconds_after_its_good_bye_or_minutes_after_falling_silent() {
    let mut bus = Bus::new(3);
    bus.run(30, &mut none);
    bus.nodes[1].0.leave(bus.now);
    let mut silent = |from: usize, _: usize, _: &Message<'_>| from == 2;
    bus.run(2, &mut silent);
    bus.run(13, &mut |from, _, _| from >= 1);
    let left = |bus: &Bus, node| bus.events[0].contains(&Event::Left { node: NodeId(node) });
    assert_eq!((left(&bus, 2), left(&bus, 3)), (true, false));
    bus.run(200, &mut |from, _, _| from >= 1);
    assert!(left(&bus, 3));
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
fn a_node_with_a_part_of_an_unwanted_message_does_not_announce_it() {
    let mut bus = Bus::new(3);
    bus.subscribe(1, "a");
    bus.subscribe(2, "b");
    let key = bus.publish(0, "a", &bytes(3_000), Options::default()).key;
    bus.nodes[0].0.watch(key);
    bus.run(20, &mut |_, to, message| to == 2 && matches!(message, Message::Data(_)));
    assert_eq!(bus.standings(0, key), [(2, Standing::Holds), (3, Standing::Unwanted)]);
}

#[test]
fn all_nodes_announce_within_seconds_in_a_group_where_most_may_be_silent() {
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

#[test]
fn all_nodes_tell_a_new_publisher_within_two_seconds_whether_they_have_its_message() {
    for seconds in 0..30 {
        let mut bus = Bus::new(3);
        (1..3).for_each(|node| {
            bus.subscribe(node, "#");
        });
        bus.run(seconds, &mut none);
        let newcomer = bus.join();
        let key = bus.publish(newcomer, "a", b"short", Options::default()).key;
        bus.nodes[newcomer].0.watch(key);
        bus.run(2, &mut none);
        let all = [1, 2, 3].map(|node| (node, Standing::Holds));
        assert_eq!(bus.standings(newcomer, key), all, "after {seconds} s");
    }
}

/// Flushes that node 0 sends behind a message, in a row of three of which the first hears only the next.
fn flushes_in_a_row(ends_meet: bool, content: &[u8]) -> usize {
    let mut bus = Bus::new(3);
    bus.subscribe(2, "#");
    let apart = |from: usize, to: usize| !ends_meet && from.abs_diff(to) == 2;
    bus.run(30, &mut |from, to, _| apart(from, to));
    bus.publish(0, "a", content, Options::default());
    let mut flushes = 0;
    bus.run(30, &mut |from, to, message| {
        let flush = matches!(message, Message::Cmd(fanfare_wire::Cmd::Flush(_)));
        flushes += usize::from(flush && (from, to) == (0, 1));
        apart(from, to)
    });
    flushes
}

#[test]
fn a_short_message_is_flushed_unless_others_forward_it() {
    assert!((1..=2).contains(&flushes_in_a_row(true, b"short")));
    assert_eq!(flushes_in_a_row(false, b"short"), 0);
}

#[test]
fn a_longer_message_is_flushed_more_often_unless_others_forward() {
    // Some do not count, as receivers may be unable to answer yet.
    let (passed_on, meet) =
        ([15_000, 200_000].map(|size| flushes_in_a_row(false, &bytes(size))), |size| {
            flushes_in_a_row(true, &bytes(size))
        });
    assert!(meet(15_000) > passed_on[0] && meet(200_000) >= passed_on[1] + 15, "{passed_on:?}");
}

#[test]
fn probes_are_rarer_in_larger_groups() {
    // In 1500 s, after 500 in which they become rarely.
    let probes = |count: usize| {
        let mut bus = Bus::new(count);
        let mut probes = 0;
        for tenth in 0..200 {
            bus.publish(0, "a", b"short", Options::default());
            bus.run(10, &mut |from, to, message| {
                let probe = matches!(message, Message::Cmd(fanfare_wire::Cmd::Cc(_)));
                probes += usize::from(tenth >= 50 && probe && (from, to) == (0, 1));
                false
            });
        }
        probes
    };
    let (few, many) = (probes(3), probes(25));
    assert!((12..14).contains(&few) && (5..7).contains(&many), "{few} {many}");
}

/// An announcement's flags and whether it calls the node with this id.
fn announced(message: &Message<'_>, id: u32) -> Option<(bool, bool)> {
    let Some((Frame::State(bytes), _)) = Frame::of(message) else { return None };
    let state = State::parse(bytes, &mut |_| None)?;
    Some((state.short, state.called.contains(&NodeId(id))))
}

#[test]
fn most_announcements_are_short_and_a_node_that_cannot_read_one_requests_a_long_one() {
    let mut bus = Bus::new(3);
    bus.subscribe(2, "#");
    // The third hears the second alone, and of its announcements at first only short ones.
    bus.run(30, &mut |from, to, _| from.min(to) == 0 && from.max(to) == 2);
    let (mut shorts, mut longs, mut calls) = (0, 0, 0);
    let own = bus.nodes[1].0.session.node_id();
    bus.publish(0, "a", &bytes(5_000), Options::default());
    bus.run(400, &mut |from, to, message| {
        let state = announced(message, own.0);
        if (from, to) == (1, 2) {
            shorts += u32::from(state.is_some_and(|(short, _)| short));
            longs += u32::from(state.is_some_and(|(short, _)| !short));
        }
        calls += u32::from((from, to) == (2, 1) && state.is_some_and(|(_, calls)| calls));
        let far = from.min(to) == 0 && from.max(to) == 2;
        far || to == 2 && calls == 0 && !state.is_some_and(|(short, _)| short)
    });
    assert!(shorts > 2 * longs && calls > 0, "{shorts} {longs} {calls}");
    assert_eq!(bus.messages(2).len(), 1);
}

#[test]
fn a_node_that_leaves_as_soon_as_it_has_a_message_acknowledges_it_unasked() {
    let mut bus = Bus::new(2);
    bus.subscribe(1, "#");
    bus.run(20, &mut none);
    let key = bus.publish(0, "a", b"short", Options::default()).key;
    bus.nodes[0].0.watch(key);
    bus.run_for(Duration::from_millis(5), &mut none);
    assert_eq!((bus.topics(1).len(), bus.standings(0, key)), (1, vec![]));
    bus.nodes[1].0.leave(bus.now);
    bus.run_for(Duration::from_millis(5), &mut none);
    assert_eq!(bus.standings(0, key), [(2, Standing::Holds)]);
}

/// Node 0 hears a node 9 that says to hold all up to its newest object, in words of versions before there were digests.
#[test]
fn what_versions_before_say_that_they_hold_by_numbers_alone_counts() {
    let mut bus = Bus::new(1);
    let key = bus.publish(0, "a", b"short", Options::default()).key;
    bus.nodes[0].0.watch(key);
    let own = bus.nodes[0].0.own_incarnation();
    let holdings = bus.nodes[0].0.holding(own).into_iter().collect();
    let mut content = Kind::State.header().to_vec();
    State { asks: true, holdings, ..State::default() }.append(1_000, &mut content);
    let sender = SenderFields { source_id: NodeId(9), ..bus.nodes[0].0.fields };
    let mut bytes = Vec::new();
    let extensions = Extensions::default();
    fanfare_wire::cmd::Application { sender, extensions, content: &content }.encode(&mut bytes);
    let meta = RecvMeta {
        source: SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 0, 0, 9)), 6003),
        ecn: None,
        unicast: false,
        waited: Duration::ZERO,
    };
    let say = |bus: &mut Bus| {
        let (node, storage) = &mut bus.nodes[0];
        node.handle_datagram(bus.now, meta, &bytes, storage);
        bus.run(20, &mut none);
        bus.standings(0, key)
    };
    assert_eq!(say(&mut bus), [], "it was not called on");
    (0..3).for_each(|_| drop(say(&mut bus)));
    assert_eq!(say(&mut bus), [(9, Standing::Holds)]);
}

#[test]
fn a_publisher_is_told_once_that_others_hold_messages_of_another_with_its_numbers() {
    let mut bus = Bus::new(3);
    let twin = (
        GroupNode::new(bus.nodes[0].0.config, session(0), 9, bus.now),
        MemoryStorage::new(1 << 20),
    );
    bus.nodes[1] = twin;
    bus.subscribe(2, "#");
    bus.run(20, &mut none);
    let theirs = bus.publish(1, "a", b"theirs", Options::default()).key;
    bus.run(5, &mut none);
    let ours = bus.publish(0, "a", b"ours", Options::default()).key;
    assert_eq!(ours, theirs);
    [0, 1].into_iter().for_each(|node| bus.nodes[node].0.watch(ours));
    bus.run(100, &mut none);
    assert_eq!(bus.standings(0, ours), [(3, Standing::Lacks)]);
    assert_eq!(bus.standings(1, theirs), [(3, Standing::Holds)]);
    let told = |bus: &Bus, node: usize| {
        bus.events[node].iter().filter(|event| matches!(event, Event::Twin { .. })).count()
    };
    assert_eq!([told(&bus, 0), told(&bus, 1)], [1, 0]);
}
