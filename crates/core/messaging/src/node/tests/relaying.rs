//! A radio that does not reach every node: who forwards what to whom.

use super::*;
use crate::frames::frame::Frame;
use alloc::rc::Rc;
use core::cell::RefCell;

/// Nodes in a row hear their neighbours only.
fn row(from: usize, to: usize, _: &Message<'_>) -> bool {
    from.abs_diff(to) > 1
}

fn row_of(count: usize) -> Bus {
    let mut bus = Bus::new(count);
    (0..count).for_each(|node| {
        bus.subscribe(node, "#");
    });
    bus.run(60, &mut row);
    bus
}

fn relayed(bus: &Bus) -> Vec<u64> {
    bus.nodes.iter().map(|(node, _)| node.stats().relays_sent).collect()
}

#[test]
fn a_short_message_is_forwarded_along_a_chain_once_by_each_node() {
    let mut bus = row_of(5);
    bus.publish(0, "a", b"short", Options::default());
    bus.run(3, &mut row);
    assert!((1..5).all(|node| bus.topics(node) == [("a", 0)]));
    assert_eq!(relayed(&bus), [0, 1, 1, 1, 0]);
    assert_eq!((bus.nodes[4].0.stats().repairs_heard, bus.messages(0).len()), (1, 0));
}

#[test]
fn nobody_forwards_when_all_nodes_hear_each_other() {
    let mut bus = Bus::new(5);
    (0..5).for_each(|node| {
        bus.subscribe(node, "#");
    });
    bus.run(60, &mut none);
    bus.publish(0, "a", b"short", Options::default());
    bus.run(5, &mut none);
    assert_eq!((relayed(&bus), bus.messages(4).len()), (vec![0; 5], 1));
}

#[test]
fn a_node_that_missed_a_forwarded_message_gets_it_after_its_announcement() {
    let mut bus = row_of(3);
    bus.publish(0, "a", b"first", Options::default());
    bus.run(5, &mut row);
    bus.publish(0, "a", b"short", Options::default());
    // What is forwarded is lost, and so are all announcements that would tell of it.
    bus.run(90, &mut |from, to, message| {
        row(from, to, message) || from == 1 && is_unasked(message)
    });
    assert_eq!(bus.topics(2), [("a", 0), ("a", 1)]);
    assert!(bus.nodes[1].0.stats().repairs_sent > 0);
}

/// What is forwarded to the third of a row, without a request: whether each says its topic. The first of two messages is lost there
/// if need be.
fn topics_told(apart: u64, lose_first: bool) -> (Vec<bool>, Bus) {
    let mut bus = row_of(3);
    bus.publish(0, "a", b"first", Options::default());
    let told = Rc::new(RefCell::new(Vec::new()));
    for (seconds, loses) in [(apart, lose_first), (30, false)] {
        let seen = told.clone();
        bus.run(seconds, &mut move |from, to, message| {
            if let (Some((Frame::CompactInfo(bytes), _)), (1, 2)) = (Frame::of(message), (from, to))
            {
                seen.borrow_mut().extend(Some(bytes[0] & 0x10 == 0).filter(|_| bytes[0] & 1 == 0));
            }
            row(from, to, message) || loses && to == 2
        });
        if seconds == apart {
            bus.publish(0, "a", b"second", Options::default());
        }
    }
    (told.take(), bus)
}

#[test]
fn a_topic_is_not_repeated_once_others_can_know_it() {
    let (told, bus) = topics_told(20, false);
    assert_eq!((told, bus.messages(2).len()), (vec![true, false], 2));
    assert_eq!(topics_told(2, false).0, [true, true], "too soon");
}

#[test]
fn a_node_that_does_not_know_a_forwarded_messages_topic_requests_it() {
    let (told, bus) = topics_told(20, true);
    assert_eq!((told, bus.topics(2)), (vec![true, false], vec![("a", 1), ("a", 0)]));
    assert_eq!(bus.nodes[2].0.stats().topics_unknown, 1);
}

/// How what is forwarded to the third of a row travels: whether in a report. Whether the second has heard a plain node.
fn in_reports(plain: bool) -> Vec<bool> {
    let mut bus = row_of(3);
    if plain {
        bus.hear_plain(1);
    }
    bus.publish(0, "a", b"first", Options::default());
    let told = Rc::new(RefCell::new(Vec::new()));
    let seen = told.clone();
    bus.run(10, &mut move |from, to, message| {
        if let (Some((Frame::CompactInfo(_), _)), (1, 2)) = (Frame::of(message), (from, to)) {
            seen.borrow_mut().push(matches!(message, Message::Report(_)));
        }
        row(from, to, message)
    });
    assert_eq!(bus.topics(2), [("a", 0)]);
    told.take()
}

#[test]
fn frames_are_reports_but_commands_where_a_plain_node_is_heard() {
    assert_eq!((in_reports(false), in_reports(true)), (vec![true], vec![false]));
}

#[test]
fn the_topic_is_left_out_until_a_message_is_requested_again() {
    let mut bus = row_of(3);
    bus.publish(0, "a", b"first", Options::default());
    bus.run(20, &mut row);
    bus.publish(0, "a", b"second", Options::default());
    let told = Rc::new(RefCell::new(Vec::new()));
    let seen = told.clone();
    // What is forwarded, and the first two answers, are lost.
    bus.run(120, &mut move |from, to, message| {
        let mut lost = false;
        if let (Some((Frame::CompactInfo(bytes), _)), (1, 2)) = (Frame::of(message), (from, to)) {
            let asked = bytes[0] & 0x01 != 0;
            seen.borrow_mut().extend(Some(bytes[0] & 0x10 == 0).filter(|_| asked));
            lost = !asked || seen.borrow().len() <= 2;
        }
        row(from, to, message) || lost
    });
    assert_eq!((told.take(), bus.topics(2)), (vec![false, true, true], vec![("a", 0), ("a", 1)]));
}

/// Whether it is an announcement, or a message alone that is forwarded and was not requested.
fn is_unasked(message: &Message<'_>) -> bool {
    match Frame::of(message) {
        Some((Frame::CompactInfo(bytes), _)) => bytes[0] & 1 == 0,
        frame => matches!(frame, Some((Frame::State(_), _))),
    }
}

#[test]
fn only_the_description_of_an_unwanted_message_is_requested() {
    let mut bus = row_of(2);
    let narrow = bus.nodes.len();
    bus.nodes.push(Bus::new(3).nodes.remove(2));
    bus.events.push(Vec::new());
    bus.sent.push(0);
    bus.bytes.push(0);
    bus.subscribe(narrow, "other");
    bus.run(60, &mut row);
    bus.publish(0, "a", &bytes(9_000), Options::default());
    bus.run(60, &mut row);
    assert_eq!(bus.messages(1).len(), 1);
    // The third hears of it by announcements, learns that it does not want it, and leaves it at that.
    let asked = bus.nodes[1].0.stats().repairs_sent;
    assert!((1..=3).contains(&asked), "{asked}");
}
