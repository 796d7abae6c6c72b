//! Flushes, watermarks, good-bye, and idle senders.

use super::*;

#[test]
fn the_flush_is_repeated_names_the_last_symbol_and_ends_with_an_event() {
    let mut hand = sent();
    let said = hand.run(ms(1000));
    assert_eq!(flushes(&said), 3 - 1, "the first was in the run before");
    assert_eq!(said[0], Said::Flush { nodes: Vec::new(), symbol: 7 });
    let events = hand.events();
    assert!(matches!(events[..], [Event::ObjectSent { .. }, Event::FlushDone]), "{events:?}");
    assert!(hand.sender.is_idle());
}

#[test]
fn an_idle_sender_wakes_less_than_once_a_second_after_its_flush() {
    let mut hand = sent();
    hand.run(ms(1000));
    let (said, wakes) = hand.run_until(hand.now + Duration::from_secs(1000));
    assert!(said.is_empty() && wakes < 1000, "{wakes} wakes, {said:?}");
    assert!(hand.events().iter().any(|e| matches!(e, Event::ObjectPurged { .. })));
    assert_eq!(hand.sender.next_timeout(), None);
}

#[test]
fn a_repair_restarts_the_flush() {
    let mut hand = sent();
    hand.run(ms(50));
    hand.ask(2, 0, 8..9);
    assert_eq!(flushes(&hand.run(ms(1000))), 3);
}

#[test]
fn a_flush_lasts_until_receivers_with_an_older_longer_grtt_can_have_answered() {
    let mut hand = Harness::new(SenderConfig { grtt_initial: ms(250), ..config() });
    hand.enqueue(1600, None);
    let (all, _) = hand.run_until(Time::ZERO + ms(5));
    let Said::Probe { clock } = all[0].1 else { panic!("{all:?}") };
    hand.ack(2, AckKind::Cc, Some(clock), 1);
    let (all, _) = hand.run_until(Time::ZERO + Duration::from_secs(10));
    let last = all.iter().rev().find(|(_, said)| matches!(said, Said::Flush { .. })).unwrap().0;
    assert!(last >= Time::ZERO + ms(250) * 11 && last < Time::ZERO + ms(250) * 14, "{last}");
    assert!(hand.sender.grtt() < ms(20));
}

#[test]
fn a_flush_that_is_answered_with_a_request_has_not_ended() {
    let mut hand = sent();
    let interval = hand.sender.flush_interval();
    hand.run(interval * 2 + ms(1));
    hand.ask(2, 0, 8..9);
    hand.run(hand.sender.grtt() * 4);
    assert!(!hand.events().contains(&Event::FlushDone));
    assert_eq!(data(&hand.run(ms(1000))), [(0, 8)]);
    let done = hand.events().iter().filter(|e| **e == Event::FlushDone).count();
    assert_eq!(done, 1);
}

#[test]
fn a_watermark_names_who_must_answer_until_all_have() {
    let mut hand = Harness::new(config());
    hand.enqueue(1600, None);
    hand.sender.set_watermark(hand.now, &[NodeId(2), NodeId(3)]);
    let said = hand.run(ms(5));
    assert!(said.contains(&Said::Flush { nodes: alloc::vec![2, 3], symbol: 7 }));
    hand.ack_flush(2, 0, 1, 7);
    let said = hand.run(ms(1000));
    assert_eq!(said[0], Said::Flush { nodes: alloc::vec![3], symbol: 7 });
    assert_eq!(flushes(&said), 2, "a watermark at the end is a flush, too");
    let done = hand.events().into_iter().find_map(|event| match event {
        Event::WatermarkDone { outcomes } => Some(outcomes),
        _ => None,
    });
    let outcomes =
        [(NodeId(2), WatermarkOutcome::Acknowledged), (NodeId(3), WatermarkOutcome::Unanswered)];
    assert_eq!(done.unwrap(), outcomes);
    assert!(hand.sender.is_idle());
}

#[test]
fn a_watermark_waits_for_repairs_of_what_lies_before_it() {
    let mut hand = Harness::new(config());
    hand.enqueue(1600, None);
    hand.sender.set_watermark(hand.now, &[NodeId(2), NodeId(3)]);
    hand.run(ms(5));
    hand.ask(2, 0, 8..9);
    let said = hand.run(ms(300));
    assert!(matches!(said[0], Said::Data { .. }), "{said:?}");
    assert_eq!(flushes(&said), 3, "attempts begin again");
}

#[test]
fn good_bye_is_said_after_the_flush_and_nothing_after_it() {
    let mut hand = Harness::new(config());
    hand.enqueue(1600, None);
    hand.sender.end(hand.now);
    let said = hand.run(ms(3000));
    let last: Vec<&Said> = said.iter().rev().take(3).collect();
    assert_eq!(last, [&Said::Eot; 3]);
    assert_eq!((data(&said).len(), flushes(&said)), (16, 3));
    assert!(hand.sender.is_idle() && hand.sender.next_timeout().is_none());
    hand.ask(2, 0, 8..9);
    assert!(hand.run(ms(1000)).is_empty());
}

#[test]
fn no_object_is_accepted_after_good_bye_and_a_too_large_one_never() {
    let mut hand = Harness::new(config());
    let object =
        |size| NewObject { kind: ObjectKind::Data, size, info: None, pass: FirstPass::Whole };
    let refused = hand.sender.enqueue(hand.now, (object(1 << 48), None), &mut hand.events);
    assert!(matches!(refused, Err(EnqueueError::TooLarge { size, .. }) if size == 1 << 48));
    hand.sender.end(hand.now);
    let refused = hand.sender.enqueue(hand.now, (object(1), None), &mut hand.events);
    assert_eq!(refused, Err(EnqueueError::Closed));
    assert!(data(&hand.run(ms(300))).is_empty());
}
