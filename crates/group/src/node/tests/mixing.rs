//! Of a publisher that hears nobody: sums across its messages, and NACKs that it does not hear.

use super::*;
use crate::{frame::Frame, nack};
use alloc::rc::Rc;
use core::cell::{Cell, RefCell};
use fanfare_wire::{Cmd, RepairLevel};

fn frame<'a>(message: &Message<'a>) -> Option<Frame<'a>> {
    match message {
        Message::Cmd(Cmd::Application(command)) => Frame::parse(command.content),
        _ => None,
    }
}

/// What a NACK frame asks for: names of symbols, and whole blocks.
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

#[test]
fn a_nack_to_who_hears_nobody_is_a_frame_of_fewer_bytes_and_counted_as_such() {
    let mut bus = bus();
    (0..20).for_each(|_| {
        bus.publish(0, "a", &bytes(1_400), Options::default());
    });
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
fn of_blocks_that_are_missing_whole_what_follows_from_sums_is_not_asked_for() {
    let mut bus = bus();
    (0..4).for_each(|_| {
        bus.publish(0, "a", &bytes(1_400), Options::default());
    });
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
        let sum = to == 2 && matches!(heard, Some(Frame::Mixture(_)));
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
fn once_its_publisher_hears_somebody_a_node_that_has_sums_asks_for_all_that_it_lacks() {
    let mut bus = bus();
    bus.publish(0, "a", &bytes(6_000), Options::default());
    // Of its twelve symbols seven follow from as many sums.
    let mut sums = 0;
    bus.run(12, &mut |from, to, message| {
        let sum = to == 2 && matches!(frame(message), Some(Frame::Mixture(_)));
        sums += usize::from(sum);
        to == 0 || from == 0 && to == 2 && matches!(message, Message::Data(_)) || sum && sums > 7
    });
    assert!(sums > 7 && bus.messages(2).is_empty());
    // It hears the one that keeps all, and says so; nothing reaches who asks.
    let mut plain = Vec::new();
    bus.run(60, &mut |from, to, message| {
        if let (Message::Nack(nack), 2, 1) = (message, from, to) {
            plain.push(asked_by(nack));
        }
        to == 0 && from == 2 || to == 2 && !matches!(frame(message), Some(Frame::State(_)))
    });
    assert!(plain.last().is_some_and(|(names, blocks)| *names == 12 || *blocks == 1), "{plain:?}");
    bus.run(20, &mut |from, to, _| to == 0 && from == 2);
    assert_eq!(bus.messages(2).len(), 1);
}

#[test]
fn what_nobody_has_comes_from_who_has_parity_of_it() {
    let mut bus = bus();
    (0..3).for_each(|_| {
        bus.publish(0, "a", &bytes(7_000), Options::default());
    });
    // The last of 42 symbols nobody hears; the parity ahead, behind it, who keeps all does.
    bus.run(60, &mut |from, to, message| {
        let symbol = match message {
            Message::Data(data) if from == 0 => incoming::symbol_of(data).1,
            _ => 0,
        };
        to == 0 || symbol == 13 || to == 2 && symbol > 13
    });
    assert_eq!(bus.topics(2).last(), Some(&("a", 2)));
    assert!(bus.nodes[1].0.stats().repairs_sent > 0);
}
