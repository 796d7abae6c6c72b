//! NORM_INFO repairs that the driver sends in its own form.

use super::*;

fn asked() -> Harness {
    let mut hand = Harness::new(config());
    for _ in 0..3 {
        hand.enqueue(0, Some(b"i"));
    }
    hand.run(ms(50));
    hand.nack(2, false, |w| {
        for object in [0, 2] {
            assert!(w.item(RepairLevel(RepairLevel::INFO), ObjectTransportId(object), id(0, 0)));
        }
    });
    hand
}

fn infos(said: &[Said]) -> Vec<u16> {
    let info = |said: &Said| match said {
        Said::Info { object, .. } => Some(*object),
        _ => None,
    };
    said.iter().filter_map(info).collect()
}

fn pending(hand: &mut Harness) -> Vec<u16> {
    hand.call(|sender, ctx| sender.on_timeout(ctx));
    hand.sender.info_repairs().iter().map(|object| object.0).collect()
}

#[test]
fn info_requests_are_reported_to_the_driver_when_aggregation_ends() {
    let mut hand = asked();
    assert_eq!(pending(&mut hand), []);
    hand.now = hand.now + hand.sender.gathering();
    assert_eq!(pending(&mut hand), [0, 2]);
    hand.sender.hold(hand.now, true);
    assert_eq!(pending(&mut hand), [], "what is held back is not to go");
}

#[test]
fn info_that_the_driver_takes_is_flushed_but_not_sent_and_info_that_it_gives_back_is_sent() {
    let mut hand = asked();
    hand.now = hand.now + hand.sender.gathering();
    assert_eq!(pending(&mut hand), [0, 2]);
    for object in [0, 2] {
        hand.sender.take_info_repair(hand.now, ObjectTransportId(object));
    }
    hand.sender.give_info_repair(ObjectTransportId(2));
    hand.sender.on_own_repair(hand.now, 100);
    let said = hand.run(ms(300));
    assert_eq!(infos(&said), [2]);
    assert!(flushes(&said) > 0);
    assert_eq!(pending(&mut hand), []);
}

#[test]
fn the_driver_gets_no_objects_with_bytes() {
    let mut hand = Harness::new(config());
    hand.enqueue(1600, Some(b"i"));
    hand.run(ms(50));
    hand.nack(2, false, |w| {
        assert!(w.item(RepairLevel(RepairLevel::INFO), OBJECT, id(0, 0)));
    });
    hand.now = hand.now + hand.sender.gathering();
    assert_eq!(pending(&mut hand), []);
    hand.sender.take_info_repair(hand.now, OBJECT);
    assert_eq!(infos(&hand.run(ms(50))), [0]);
}

#[test]
fn info_that_peers_send_is_left_out_until_it_is_requested_again() {
    let others_say = |hand: &mut Harness, objects: &[u16]| {
        for object in objects {
            hand.sender.on_info_repaired(ObjectTransportId(*object));
        }
    };
    let ask = |hand: &mut Harness, object: u16| {
        hand.nack(2, false, |w| {
            let level = RepairLevel(RepairLevel::INFO);
            assert!(w.item(level, ObjectTransportId(object), id(0, 0)));
        });
    };
    let mut hand = asked();
    others_say(&mut hand, &[0, 1, 77]);
    assert_eq!(infos(&hand.run(ms(1_000))), [2], "while requests are gathered");
    ask(&mut hand, 0);
    others_say(&mut hand, &[0]);
    assert_eq!(infos(&hand.run(ms(1_000))), [0], "it did not hear them");
    ask(&mut hand, 1);
    hand.now = hand.now + hand.sender.gathering();
    assert_eq!(pending(&mut hand), [1], "what was said when nobody asked helps nobody now");
    others_say(&mut hand, &[1]);
    assert_eq!(infos(&hand.run(ms(1_000))), [], "while it waits for its turn");
}

#[test]
fn only_a_message_that_comes_while_nothing_waits_is_sent_before_repairs() {
    let mut hand = asked();
    hand.now = hand.now + hand.sender.gathering();
    assert_eq!(pending(&mut hand), [0, 2]);
    assert!(!hand.sender.has_prompt());
    hand.enqueue(0, Some(b"i"));
    hand.enqueue(0, Some(b"i"));
    assert!(hand.sender.has_prompt());
    assert_eq!(infos(&hand.run(ms(300))), [3, 0, 2, 4]);
}
