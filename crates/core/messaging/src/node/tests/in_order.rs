//! Messages that are used in their order, from nodes that answer for a silent publisher.

use super::*;

/// Messages of a publisher that has gone, each of 16 symbols.
const MESSAGES: u64 = 30;
const BYTES: usize = 8_000;

/// Who comes late gets them all from one that has them, and loses some symbols of the first message:
/// the numbers in the order in which they are whole, and when the first and the last are.
fn late(in_order: bool) -> (Vec<u64>, Duration, Duration) {
    let mut bus = Bus::new(2);
    bus.subscribe(1, "#");
    for _ in 0..MESSAGES {
        bus.publish(0, "a", &bytes(BYTES), Options::default());
        bus.run(1, &mut none);
    }
    bus.run(20, &mut none);
    assert_eq!(bus.messages(1).len() as u64, MESSAGES);
    let late = bus.join();
    for (number, (node, _)) in bus.nodes.iter_mut().enumerate() {
        (node.config.greets, node.config.in_order) = (true, in_order);
        node.requester = Requester::new(in_order);
        // Of what it has sent already nothing is left over.
        node.repairer = Repairer::new(NodeId(number as u32 + 1), bus.now, Bitrate::mbps(1));
        // What arrived before shows that the medium carries more than that.
        node.repairer.on_arrived(bus.now, 160_000, false);
    }
    bus.subscribe(late, "#");
    let (began, step) = (bus.now, Duration::from_millis(20));
    let (mut first, mut symbols) = (Duration::ZERO, 0);
    while bus.messages(late).len() < MESSAGES as usize && bus.now.since(began).as_secs() < 100 {
        bus.run_for(step, &mut |from, to, message| {
            symbols += u32::from(from == 1 && to == late && is_repair_of_data(message));
            from == 0 || to == 0 || (3..6).contains(&symbols)
        });
        if first.is_zero() && bus.topics(late).iter().any(|(_, number)| *number == 0) {
            first = bus.now.since(began);
        }
    }
    let order = bus.topics(late).iter().map(|(_, number)| *number).collect();
    (order, first, bus.now.since(began))
}

fn is_repair_of_data(message: &Message<'_>) -> bool {
    let repair = crate::frames::frame::Frame::of(message);
    matches!(repair, Some((crate::frames::frame::Frame::Repair(Message::Data(_)), _)))
}

#[test]
fn what_a_silent_publisher_sent_is_given_oldest_first_and_what_was_lost_is_asked_for_at_once() {
    let (order, first, last) = late(true);
    assert_eq!(order.len() as u64, MESSAGES);
    assert!(order.iter().take(4).any(|number| *number == 0), "{order:?}");
    let inversions = order.windows(2).filter(|two| two[0] > two[1]).count();
    assert!(inversions <= 2, "{order:?}");
    // 240 kB take 2 s at 1 Mbit/s; one message takes 70 ms.
    assert!(first < Duration::from_millis(900), "{first:?}");
    assert!(last < Duration::from_millis(3_500), "{last:?}");
}

#[test]
fn otherwise_it_comes_in_any_order() {
    let (order, ..) = late(false);
    let inversions = order.windows(2).filter(|two| two[0] > two[1]).count();
    assert!(inversions > 5, "{order:?}");
}
