//! Requests that the publisher hears: it answers with sums over its short messages.

use super::*;
use crate::{coding::coded_packet::Class, frames::frame::Frame};
use alloc::rc::Rc;
use core::cell::Cell;

fn is_sum(message: &Message<'_>) -> bool {
    matches!(Frame::of(message), Some((Frame::CodedPacket(sum), _)) if sum.scope.1 == Class::Info)
}

/// So many that others still wait to be sent when some are requested.
const MANY: usize = 200;

/// The object of a NORM_INFO.
fn info(message: &Message<'_>) -> Option<u16> {
    match message {
        Message::Info(info) => Some(info.object_transport_id.0),
        _ => None,
    }
}

/// What its publisher sent: sums, and messages once more.
struct Sent {
    sums: Cell<usize>,
    infos: Cell<[usize; MANY]>,
}

impl Sent {
    fn again(&self) -> usize {
        self.infos.get().iter().map(|count| count.saturating_sub(1)).sum()
    }
}

/// A publisher, and three that want all; each misses what this says of it when it is sent first.
fn run(mut bus: Bus, lost: impl Fn(u16) -> Option<usize> + 'static) -> (Bus, Rc<Sent>) {
    for node in 1..4 {
        bus.subscribe(node, "#");
    }
    bus.run(10, &mut none);
    let sent = Rc::new(Sent { sums: Cell::new(0), infos: Cell::new([0; MANY]) });
    let told = sent.clone();
    for n in 0..MANY {
        bus.publish(0, "a", &bytes(400 - n % 40), Options::default());
    }
    bus.run(20, &mut move |from, to, message| {
        if from == 0 && to == 1 && is_sum(message) {
            told.sums.set(told.sums.get() + 1);
        }
        let Some(object) = info(message).filter(|_| from == 0) else { return false };
        let mut infos = told.infos.get();
        infos[usize::from(object)] += usize::from(to == 1);
        let first = infos[usize::from(object)] == 1;
        told.infos.set(infos);
        first && lost(object) == Some(to)
    });
    (bus, sent)
}

#[test]
fn one_sum_repairs_different_losses_of_three_receivers() {
    let (bus, sent) = run(Bus::new(4), |object| match object {
        100..103 => Some(usize::from(object) - 99),
        _ => None,
    });
    for node in 1..4 {
        assert_eq!(bus.messages(node).len(), MANY);
    }
    assert_eq!((sent.sums.get(), sent.again()), (1, 0));
    assert_eq!(bus.nodes[0].0.stats().answers_sent, 1);
    let repaired: u64 = (1..4).map(|node| bus.nodes[node].0.stats().repairs_sent).sum();
    assert_eq!(repaired, 0, "nobody else need answer");
}

#[test]
fn a_message_that_one_node_lacks_is_sent_as_it_is() {
    let (bus, sent) = run(Bus::new(4), |object| (object == 5).then_some(1));
    assert_eq!(bus.messages(1).len(), MANY);
    assert_eq!((sent.sums.get(), sent.again()), (0, 1));
}

#[test]
fn a_plain_norm_node_gets_norm_info() {
    let mut bus = Bus::new(4);
    // It says nothing that NORM does not.
    let plain = GroupConfig { announces: false, repairs: false, ..GroupConfig::default() };
    bus.nodes[1].0 = GroupNode::new(plain, session(1), 2, Time::ZERO);
    let (bus, sent) = run(bus, |object| match object {
        100..103 => Some(usize::from(object) - 99),
        _ => None,
    });
    for node in 1..4 {
        assert_eq!(bus.messages(node).len(), MANY);
    }
    assert_eq!((sent.sums.get(), sent.again(), sent.infos.get()[100]), (1, 1, 2));
}

#[test]
fn a_publisher_that_does_not_cooperate_sends_no_sums() {
    let mut bus = Bus::new(4);
    let plain = GroupConfig { announces: false, repairs: false, ..GroupConfig::default() };
    bus.nodes[0].0 = GroupNode::new(plain, session(0), 1, Time::ZERO);
    let (bus, sent) = run(bus, |object| match object {
        5..8 => Some(usize::from(object) - 4),
        _ => None,
    });
    assert!((1..4).all(|node| bus.messages(node).len() == MANY));
    assert_eq!(sent.sums.get(), 0);
}

#[test]
fn beside_a_plain_node_a_node_with_some_sums_requests_only_what_it_cannot_solve() {
    let mut bus = Bus::new(3);
    for node in 1..3 {
        bus.subscribe(node, "#");
    }
    bus.run(10, &mut none);
    (0..3).for_each(|node| bus.hear_plain(node));
    for n in 0..MANY {
        bus.publish(0, "a", &bytes(400 - n % 40), Options::default());
    }
    // The first lacks four, of which two follow from the sums that it gets; the other lacks two.
    let (asked, count) = (Rc::new(Cell::new(Vec::new())), Rc::new(Cell::new(0)));
    let told = asked.clone();
    bus.run(30, &mut move |from, to, message| {
        if let (Message::Nack(nack), 1, 0) = (message, from, to) {
            let ranges =
                nack.requests.iter().flat_map(|request| request.ranges().collect::<Vec<_>>());
            let named = ranges
                .map(|(first, last)| last.object_transport_id.0 - first.object_transport_id.0 + 1);
            let mut all = told.take();
            all.push(named.sum::<u16>());
            told.set(all);
        }
        let first = count.get() == 0
            && match info(message) {
                Some(3 | 9 | 12 | 15) => to == 1,
                Some(20 | 21) => to == 2,
                _ => false,
            };
        count.set(count.get() + usize::from(to == 1 && is_sum(message)));
        from == 0 && (first || to == 1 && is_sum(message) && count.get() > 2)
    });
    assert!((1..3).all(|node| bus.messages(node).len() == MANY));
    let asked = asked.take();
    assert!(asked.contains(&2) && asked.last() <= Some(&2), "{asked:?}");
}
