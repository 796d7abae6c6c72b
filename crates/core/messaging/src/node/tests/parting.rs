//! A group that is partitioned, and joins again.

use super::*;
use crate::frames::frame::Frame;

/// Two nodes and two, all subscribed, that have known each other for a minute and then do not hear each other for
/// ten; node 0 publishes `count` short messages meanwhile. Then they meet for half a minute. Bytes sent in that.
fn meet_again(count: u8) -> (Bus, u64) {
    let mut bus = Bus::new(4);
    (0..4).for_each(|node| _ = bus.subscribe(node, "#"));
    bus.publish(0, "before", &[0; 20], Options::default());
    bus.run(60, &mut |_, _, _| false);
    let apart = &mut |from: usize, to: usize, _: &Message<'_>| (from < 2) != (to < 2);
    bus.run(10, apart);
    (0..count).for_each(|n| _ = bus.publish(0, "missed", &[n; 200], Options::default()));
    bus.run(590, apart);
    let before: u64 = bus.bytes.iter().sum();
    bus.run(30, &mut |_, _, _| false);
    let sent = bus.bytes.iter().sum::<u64>() - before;
    (bus, sent)
}

#[test]
fn messages_missed_in_a_partition_arrive_soon_after_it_and_are_sent_once() {
    for count in [5, 100] {
        let (bus, sent) = meet_again(count);
        for node in 2..4 {
            assert_eq!(bus.messages(node).len(), 1 + usize::from(count), "{count} missed");
        }
        let missed = u64::from(count) * 200;
        assert!(sent < 2 * missed + 1500, "{sent} bytes for {missed}");
    }
}

#[test]
fn messages_before_a_reported_newest_message_are_requested() {
    let mut bus = Bus::new(3);
    (0..3).for_each(|node| _ = bus.subscribe(node, "#"));
    bus.publish(0, "before", &[0; 20], Options::default());
    bus.run(10, &mut |_, _, _| false);
    // Node 2 hears nothing of what node 0 says. Node 1 tells it of the newest, before either announces what there is.
    let announces =
        |message: &Message<'_>| matches!(Frame::of(message), Some((Frame::State(_), _)));
    (0..100).for_each(|n| _ = bus.publish(0, "a", &[n; 200], Options::default()));
    bus.run(8, &mut |from, to, message| to == 2 && (from == 0 || announces(message)));
    let told = bus.messages(2).len();
    assert!((2..100).contains(&told), "{told}");
    let mut asked = 0;
    bus.run(150, &mut |from, to, message| {
        asked += u32::from(from == 2 && matches!(message, Message::Nack(_)));
        to == 2 && !announces(message)
    });
    assert!(asked > 0, "nothing was asked for");
}
