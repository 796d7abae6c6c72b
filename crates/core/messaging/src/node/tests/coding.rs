//! A publisher that hears nobody: coded packets across its messages, and NACKs that it cannot hear.

use super::*;
use crate::{
    coding::coded_packet::Class, frames::frame::Frame, frames::nack, repair::demand::Part,
};
use alloc::rc::Rc;
use core::cell::{Cell, RefCell};
use fanfare_wire::RepairLevel;

fn frame<'a>(message: &Message<'a>) -> Option<Frame<'a>> {
    Frame::of(message).map(|(frame, _)| frame)
}

/// What a NACK frame requests: names of symbols, and whole blocks.
fn asked(bytes: &[u8]) -> (usize, usize) {
    let nack = nack::expand(NodeId(9), bytes).unwrap();
    let Ok(Message::Nack(nack)) = Message::parse(&nack) else { panic!("a NACK") };
    asked_by(&nack)
}

fn asked_by(nack: &fanfare_wire::Nack<'_>) -> (usize, usize) {
    let (mut names, mut blocks) = (0, 0);
    for request in nack.requests.iter() {
        for (first, last) in request.ranges() {
            let field = fanfare_wire::FieldSize::M8;
            let count = usize::from(last.id(field).symbol.0 - first.id(field).symbol.0) + 1;
            names += if request.level.0 == RepairLevel::SEGMENT { count } else { 0 };
            blocks += usize::from(request.level.0 == RepairLevel::BLOCK);
        }
    }
    (names, blocks)
}

/// A publisher that hears nobody, one that keeps all, and one that wants its messages.
fn bus() -> Bus {
    let mut bus = Bus::new(3);
    bus.subscribe(2, "#");
    bus.run(10, &mut |_, to, _| to == 0);
    bus
}

/// So many messages, each of so many bytes.
fn publish(bus: &mut Bus, count: usize, len: usize) {
    (0..count).for_each(|_| {
        bus.publish(0, "a", &bytes(len), Options::default());
    });
}

#[test]
fn a_nack_for_a_publisher_that_hears_nobody_is_a_compact_frame() {
    let mut bus = bus();
    publish(&mut bus, 20, 1_400);
    let (frames, plain) = (Rc::new(Cell::new(0)), Rc::new(Cell::new(0)));
    let (short, long) = (frames.clone(), plain.clone());
    let mut sent = 0;
    bus.run(40, &mut move |from, to, message| {
        let nack = from == 2 && matches!(frame(message), Some(Frame::Nack(_)));
        short.set(short.get() + u32::from(nack));
        long.set(long.get() + u32::from(matches!(message, Message::Nack(_))));
        sent += u32::from(from == 0 && to == 2);
        to == 0 || from == 0 && to == 2 && sent % 2 == 0
    });
    assert_eq!((plain.get(), bus.messages(2).len()), (0, 20));
    assert!(frames.get() > 0);
    assert_eq!(bus.nodes[2].0.session_stats().bytes_sent, bus.bytes[2]);
}

#[test]
fn symbols_of_missing_blocks_that_sums_will_solve_are_not_requested() {
    let mut bus = bus();
    publish(&mut bus, 4, 1_400);
    // Its descriptions arrive, its twelve symbols do not; of the sums five do, before it asks again.
    let asks = Rc::new(RefCell::new(Vec::new()));
    let (told, mut sums) = (asks.clone(), 0);
    bus.run(12, &mut move |from, to, message| {
        let heard = frame(message);
        let mut asks = told.borrow_mut();
        if let Some(Frame::Nack(bytes)) = &heard
            && (from, to) == (2, 1)
        {
            asks.push((sums, asked(bytes)));
        }
        let sum = to == 2 && matches!(heard, Some(Frame::CodedPacket(_)));
        let lost = sums >= 5 && asks.len() < 2;
        sums += usize::from(sum && !lost);
        to == 0 || from == 0 && to == 2 && matches!(message, Message::Data(_)) || sum && lost
    });
    let asks = asks.take();
    assert_eq!(asks[0], (0, (0, 4)));
    assert_eq!(asks[1].0, 5);
    let (names, blocks) = asks[1].1;
    assert!((1..=12 - 5).contains(&(names + 3 * blocks)), "{asks:?}");
    assert_eq!(bus.messages(2).len(), 4);
}

#[test]
fn a_node_with_sums_requests_everything_once_its_publisher_hears_somebody() {
    let mut bus = bus();
    publish(&mut bus, 1, 6_000);
    // Of its twelve symbols seven follow from as many sums.
    let mut sums = 0;
    bus.run(12, &mut |from, to, message| {
        let sum = to == 2 && matches!(frame(message), Some(Frame::CodedPacket(_)));
        sums += usize::from(sum);
        to == 0 || from == 0 && to == 2 && matches!(message, Message::Data(_)) || sum && sums > 7
    });
    assert!(sums > 7 && bus.messages(2).is_empty());
    // It hears the one that keeps all, and says so; nothing reaches who asks.
    let mut plain = Vec::new();
    bus.run(60, &mut |from, to, message| {
        match (frame(message), message) {
            (Some(Frame::Nack(bytes)), _) if (from, to) == (2, 1) => plain.push(asked(bytes)),
            (_, Message::Nack(nack)) if (from, to) == (2, 1) => plain.push(asked_by(nack)),
            _ => {}
        }
        to == 0 && from == 2 || to == 2 && !matches!(frame(message), Some(Frame::State(_)))
    });
    assert!(plain.last().is_some_and(|(names, blocks)| *names == 12 || *blocks == 1), "{plain:?}");
    bus.run(20, &mut |from, to, _| to == 0 && from == 2);
    assert_eq!(bus.messages(2).len(), 1);
}

#[test]
fn symbols_that_nobody_has_come_from_a_node_with_parity() {
    let mut bus = bus();
    publish(&mut bus, 2, 8_500);
    // One of 34 symbols nobody hears; the parity ahead of its block who keeps all does.
    bus.run(60, &mut |from, to, message| {
        let lost = match message {
            Message::Data(data) if from == 0 => {
                let (block, symbol) = incoming::symbol_of(data);
                let second = data.object_transport_id.0 == 1 && block == Part::Block(0);
                second && (symbol == 5 || to == 2 && symbol > 8)
            }
            _ => false,
        };
        to == 0 || lost
    });
    assert_eq!(bus.topics(2).last(), Some(&("a", 1)));
    assert!(bus.nodes[1].0.stats().repairs_sent > 0);
}

/// Whether it is a sum of this class.
fn is_sum(message: &Message<'_>, class: Class) -> bool {
    matches!(frame(message), Some(Frame::CodedPacket(coded)) if coded.scope.1 == class)
}

/// Object and symbol of a message of its publisher; the description is symbol 99.
fn place(message: &Message<'_>) -> Option<(u16, u16)> {
    match message {
        Message::Info(info) => Some((info.object_transport_id.0, 99)),
        Message::Data(data) => Some((data.object_transport_id.0, incoming::symbol_of(data).1)),
        _ => None,
    }
}

#[test]
fn a_symbol_that_all_others_missed_is_solved_from_a_proactive_sum() {
    let mut bus = bus();
    publish(&mut bus, 4, 7_000);
    // A symbol of the second message and the third's description nobody hears; who wants them misses
    // every other symbol, too.
    bus.run(60, &mut |from, to, message| {
        let nobody = from == 0 && matches!(place(message), Some((1, 4) | (2, 99)));
        let half = to == 2 && matches!(place(message), Some((_, symbol)) if symbol % 2 == 0);
        to == 0 || nobody || from == 0 && half
    });
    let all = bus.messages(2);
    assert_eq!(all.len(), 4);
    for message in all {
        assert_eq!(bus.nodes[2].1.get(message.key), Some(&bytes(7_000)[..]));
    }
}

#[test]
fn short_messages_that_all_others_missed_are_solved_including_the_last_ones() {
    let mut bus = bus();
    publish(&mut bus, 40, 200);
    bus.run(60, &mut |from, to, message| {
        to == 0 || from == 0 && matches!(place(message), Some((3 | 38, _)))
    });
    assert_eq!(bus.messages(2).len(), 40);
    // One for 32 of them, three behind the last.
    assert_eq!(bus.nodes[0].0.stats().proactive_sums_sent, 1 + 3);
}

#[test]
fn after_a_request_in_vain_another_term_of_the_same_sum_is_requested() {
    let mut bus = bus();
    publish(&mut bus, 4, 7_000);
    // Where one sum of the last behind all messages arrives a newer symbol is missing as well, which others have.
    let mut sums = 0;
    bus.run(90, &mut move |from, to, message| {
        let nobody = from == 0 && place(message) == Some((1, 4));
        let one = from == 0 && to == 2 && place(message) == Some((3, 6));
        let sum = from == 0 && is_sum(message, Class::Symbol);
        sums += u32::from(sum && to == 2);
        to == 0 || nobody || one || sum && (to == 1 || sums != 2) || from == 1 && sums < 2
    });
    assert_eq!(bus.messages(2).len(), 4);
}

#[test]
fn a_node_that_has_a_requested_term_only_in_a_sum_forwards_the_sum() {
    let mut bus = bus();
    publish(&mut bus, 4, 7_000);
    // What nobody has is in a sum that reaches who has not all else of it, and not who does.
    let (passed, mut sums) = (Rc::new(Cell::new(0)), 0);
    let count = passed.clone();
    bus.run(120, &mut move |from, to, message| {
        let nobody = from == 0 && place(message) == Some((1, 4));
        let other = to == 1 && matches!(place(message), Some((0, 2) | (2, 2)));
        let sum = is_sum(message, Class::Symbol);
        count.set(count.get() + u32::from(sum && (from, to) == (1, 2)));
        sums += u32::from(sum && (from, to) == (0, 1));
        to == 0 || from == 0 && (nobody || other || sum && (to == 2 || sums != 2))
    });
    assert_eq!(bus.messages(2).len(), 4);
    assert!(passed.get() > 0 && bus.nodes[1].0.stats().sums_sent > 0);
}

#[test]
fn messages_too_long_for_a_coded_packet_have_no_sums() {
    let mut bus = Bus::new(2);
    let mut jumbo = session(0);
    if let Some(sender) = &mut jumbo.sender {
        sender.segment_size = 4_000;
    }
    bus.nodes[0].0 = GroupNode::new(GroupConfig::default(), jumbo, 1, Time::ZERO);
    bus.subscribe(1, "#");
    bus.run(10, &mut |_, to, _| to == 0);
    publish(&mut bus, 70, 3_000);
    bus.run(30, &mut |_, to, _| to == 0);
    assert_eq!((bus.messages(1).len(), bus.nodes[0].0.stats().proactive_sums_sent), (70, 0));
}

#[test]
fn proactive_sums_stop_when_the_publisher_hears_somebody_again() {
    let mut bus = bus();
    publish(&mut bus, 1, 200);
    bus.run(10, &mut none);
    publish(&mut bus, 40, 200);
    bus.run(60, &mut none);
    assert_eq!((bus.messages(2).len(), bus.nodes[0].0.stats().proactive_sums_sent), (41, 0));
}

/// What one that gets every second symbol of forty messages, and no sum, requests each time: in frames, and in NACKs.
fn asked_of_many(plain: bool, lost: impl Fn(&Message<'_>) -> bool) -> [Vec<(usize, usize)>; 2] {
    let mut bus = Bus::new(3);
    bus.subscribe(2, "#");
    bus.run(10, &mut |_, to, message| to == 0 || lost(message));
    if plain {
        bus.hear_plain(2);
    }
    publish(&mut bus, 40, 6_000);
    let asks = Rc::new(RefCell::new([Vec::new(), Vec::new()]));
    let (told, mut symbols) = (asks.clone(), 0);
    bus.run(120, &mut move |from, to, message| {
        let heard = frame(message);
        match (message, &heard) {
            (_, Some(Frame::Nack(bytes))) if (from, to) == (2, 1) => {
                told.borrow_mut()[0].push((asked(bytes).0, bytes.len()));
            }
            (Message::Nack(nack), _) if (from, to) == (2, 1) => {
                told.borrow_mut()[1].push((asked_by(nack).0, nack.requests.as_bytes().len()));
            }
            _ => {}
        }
        symbols += usize::from(to == 2 && matches!(message, Message::Data(_)));
        let brings =
            matches!(heard, Some(Frame::CodedPacket(_) | Frame::Sum(_) | Frame::Repair(_)));
        let odd = matches!(message, Message::Data(_)) && symbols % 2 == 1;
        to == 0 || to == 2 && (odd || brings) || lost(message)
    });
    asks.take()
}

#[test]
fn a_compact_nack_requests_more_than_one_nack_can_name() {
    let [frames, _] = asked_of_many(false, |_| false);
    let most = frames.iter().max().unwrap();
    assert!(most.0 >= 240 && most.1 <= 400, "{frames:?}");
}

#[test]
fn beside_a_plain_node_requests_to_a_publisher_of_unknown_hearing_fit_into_a_frame() {
    let states = |message: &Message<'_>| matches!(frame(message), Some(Frame::State(_)));
    let [frames, nacks] = asked_of_many(true, states);
    let most = nacks.iter().max().unwrap();
    assert!(frames.is_empty() && most.0 > 100 && most.1 <= 1400, "{nacks:?}");
}

#[test]
fn a_node_waits_for_a_deaf_publisher_no_longer_than_others_back_off() {
    let mut bus = bus();
    publish(&mut bus, 1, 200);
    bus.run(10, &mut |_, to, _| to == 0);
    let timing = timing(2, QuantizedRtt::from_nanos(100_000_000), 4, GroupSize::from_receivers(10));
    let incarnation = bus.nodes[0].0.own_incarnation();
    let awaited = |bus: &mut Bus| bus.nodes[2].0.awaited(incarnation, timing);
    assert_eq!(awaited(&mut bus), timing.window());
    bus.run(30, &mut none);
    assert_eq!(
        awaited(&mut bus),
        crate::repair::origin_timeout::OriginTimeout::grace(timing.grtt, timing.backoff)
    );
}
