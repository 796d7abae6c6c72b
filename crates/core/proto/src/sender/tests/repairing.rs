//! Requests of receivers, and how the sender serves them.

use super::*;

#[test]
fn a_nack_is_answered_with_parity_once_aggregation_ends() {
    let mut hand = sent();
    let asked = hand.now;
    hand.ask(2, 0, 8..10);
    let (all, _) = hand.run_until(asked + ms(200));
    let repairs: Vec<&(Time, Said)> =
        all.iter().filter(|(_, said)| matches!(said, Said::Data { .. })).collect();
    let wait = hand.sender.grtt() * 5;
    assert!(repairs[0].0 >= asked + wait && repairs[0].0 < asked + wait + ms(2));
    let parity = |symbol| Said::Data { block: 0, symbol, repair: true };
    assert_eq!((&repairs[0].1, &repairs[1].1, repairs.len()), (&parity(8), &parity(9), 2));
    assert_eq!(hand.stats.parity_repair_sent, 2);
}

#[test]
fn two_receivers_with_different_losses_are_served_by_the_greater_not_the_sum() {
    let mut hand = sent();
    hand.ask(2, 1, 8..10);
    hand.ask(3, 1, 8..11);
    assert_eq!(data(&hand.run(ms(300))), [(1, 8), (1, 9), (1, 10)]);
    assert!(hand.events().iter().filter(|e| matches!(e, Event::ReceiverNew { .. })).count() == 2);
}

#[test]
fn exhausted_parity_falls_back_to_what_was_named() {
    let mut hand = sent();
    hand.ask(2, 0, 8..11);
    assert_eq!(data(&hand.run(ms(300))).len(), 3);
    hand.ask(2, 0, 5..7);
    assert_eq!(data(&hand.run(ms(300))), [(0, 5), (0, 6), (0, 11)]);
    assert_eq!(hand.stats.explicit_repair_sent, 2);
}

#[test]
fn a_whole_object_is_sent_again_with_its_info() {
    let mut hand = Harness::new(config());
    hand.enqueue(1600, Some(b"i"));
    hand.run(ms(10));
    hand.nack(2, false, |w| {
        assert!(w.item(RepairLevel(RepairLevel::OBJECT), OBJECT, id(0, 0)));
    });
    let said = hand.run(ms(300));
    assert_eq!(data(&said).len(), 16);
    assert!(said.contains(&Said::Info { object: 0, payload: b"i".to_vec() }));
}

#[test]
fn an_object_on_demand_is_flushed_at_once_and_serves_what_is_asked_for() {
    let mut hand = Harness::new(config());
    let key = hand.enqueue_as(1600, None, FirstPass::OnDemand);
    let said = hand.run(ms(10));
    assert_eq!(said[0], Said::Info { object: 0, payload: Vec::new() });
    assert!(data(&said).is_empty() && flushes(&said) > 0);
    assert!(hand.events().contains(&Event::ObjectSent { key }));
    hand.nack(2, false, |w| {
        assert!(w.item(RepairLevel(RepairLevel::BLOCK), OBJECT, id(1, 0)));
    });
    let said = hand.run(ms(300));
    assert_eq!(data(&said), (0..8).map(|symbol| (1, symbol)).collect::<Vec<_>>());
    assert!(flushes(&said) > 0, "and it is flushed again");
}

#[test]
fn an_object_from_before_a_restart_is_not_sent_but_is_repaired_under_its_old_id() {
    let mut hand = Harness::new(config());
    hand.sender.resume_at(ObjectTransportId(700));
    let key = hand.enqueue_as(1600, Some(b"i"), FirstPass::Before(ms(0)));
    assert_eq!(key.object, ObjectTransportId(700));
    hand.sender.resume_at(ObjectTransportId(702));
    assert!(hand.run(ms(2000)).is_empty());
    let next = hand.enqueue_as(100, None, FirstPass::Whole);
    assert_eq!(next.object, ObjectTransportId(702));
}

#[test]
fn a_receiver_with_nothing_of_an_object_on_demand_gets_all_of_it() {
    let mut hand = Harness::new(config());
    hand.enqueue_as(1600, Some(b"i"), FirstPass::OnDemand);
    hand.run(ms(10));
    hand.nack(2, false, |w| {
        assert!(w.item(RepairLevel(RepairLevel::OBJECT), OBJECT, id(0, 0)));
    });
    let said = hand.run(ms(300));
    assert!(said.contains(&Said::Info { object: 0, payload: b"i".to_vec() }));
    assert!(data(&said).is_empty() && flushes(&said) > 0, "first it learns what there is");
    hand.nack(2, false, |w| {
        w.range(RepairLevel(RepairLevel::BLOCK), (OBJECT, OBJECT), id(0, 0), id(1, 0));
    });
    assert_eq!(data(&hand.run(ms(300))).len(), 16);
}

#[test]
fn in_holdoff_a_request_for_what_was_just_served_is_not_served_again() {
    let mut hand = sent();
    hand.ask(2, 1, 8..10);
    let wait = hand.sender.grtt() * 5 + ms(1);
    assert_eq!(data(&hand.run(wait)).len(), 2);
    hand.ask(3, 0, 8..10);
    assert!(data(&hand.run(ms(300))).is_empty());
    hand.ask(3, 0, 8..10);
    assert_eq!(data(&hand.run(ms(300))).len(), 2);
}

#[test]
fn with_one_receiver_repair_is_at_once() {
    let mut hand = Harness::with(config(), true);
    hand.enqueue(1600, None);
    hand.run(ms(10));
    hand.ask(2, 0, 8..9);
    assert_eq!(data(&hand.say()), [(0, 8)]);
}

#[test]
fn a_cancelled_object_is_squelched_and_so_are_requests_for_it() {
    let mut hand = Harness::new(config());
    hand.enqueue(1600, None);
    hand.enqueue(1600, None);
    hand.run(ms(10));
    assert!(hand.sender.cancel(hand.now, ObjectTransportId(0), &mut hand.events));
    let squelch = Said::Squelch { earliest: 1, invalid: Vec::new() };
    assert_eq!(hand.run(ms(2))[0], squelch);
    hand.ask(2, 0, 8..10);
    hand.ask(3, 0, 8..10);
    let said = hand.run(ms(300));
    assert_eq!(said.iter().filter(|s| **s == squelch).count(), 1);
    assert!(data(&said).is_empty());
    assert_eq!(hand.stats.dropped(DropReason::RepairRequest), 4);
}

#[test]
fn a_hole_between_cached_objects_is_named() {
    let mut hand = Harness::new(config());
    for _ in 0..3 {
        hand.enqueue(100, None);
    }
    hand.run(ms(10));
    hand.sender.cancel(hand.now, ObjectTransportId(1), &mut hand.events);
    assert_eq!(hand.run(ms(2))[0], Said::Squelch { earliest: 0, invalid: alloc::vec![1] });
}

#[test]
fn feedback_for_another_life_or_node_is_dropped() {
    let mut hand = sent();
    hand.ack(2, AckKind::Cc, None, 9);
    assert_eq!(hand.stats.dropped(DropReason::NotForUs), 1);
    assert!(hand.sender.receivers().is_empty());
}

#[test]
fn an_echoed_probe_gives_rtt_and_grtt() {
    let mut hand = Harness::new(SenderConfig { grtt_initial: ms(250), ..config() });
    hand.enqueue(1600, None);
    let (all, _) = hand.run_until(Time::ZERO + ms(30));
    let Said::Probe { clock } = all[0].1 else { panic!("{all:?}") };
    hand.ack(2, AckKind::Cc, Some(clock), 1);
    assert_eq!(hand.sender.receivers()[0].rtt, Some(ms(30)));
    hand.run(ms(400));
    assert!(
        hand.sender.grtt() >= ms(54) && hand.sender.grtt() < ms(70),
        "{:?}",
        hand.sender.grtt()
    );
}

#[test]
fn unicast_requests_are_advertised_to_the_group() {
    let mut hand = sent();
    hand.nack(2, true, |w| assert!(w.item(SEGMENT, OBJECT, id(0, 8))));
    assert_eq!(hand.run(ms(1))[0], Said::RepairAdv { requests: 1 });
    assert!(!hand.run(ms(300)).iter().any(|s| matches!(s, Said::RepairAdv { .. })));
}

#[test]
fn a_late_joiner_gets_the_part_already_sent_while_sending_continues() {
    let mut hand = Harness::new(SenderConfig { rate: Bitrate::kbps(800), ..config() });
    hand.enqueue(16_000, None);
    let before = data(&hand.run(ms(20))).len();
    hand.nack(2, false, |w| {
        w.range(RepairLevel(RepairLevel::BLOCK), (OBJECT, OBJECT), id(0, 0), id(0, 0));
    });
    let said = hand.run(ms(1000));
    let first: Vec<(u32, u16)> =
        data(&said).into_iter().filter(|(block, _)| *block == 0 && before >= 8).collect();
    assert_eq!(first, (0..8).map(|symbol| (0, symbol)).collect::<Vec<_>>());
    assert_eq!(data(&said).len(), 160 - before + 8);
}

#[test]
fn requests_are_served_at_once_when_all_pending_receivers_have_sent_one() {
    let mut hand = sent();
    hand.sender.set_watermark(hand.now, &[NodeId(2), NodeId(3)]);
    hand.ack_flush(3, 0, 1, 7);
    let asked = hand.now;
    hand.ask(2, 0, 8..10);
    let (said, _) = hand.run_until(asked + ms(2));
    let repairs = said.iter().filter(|(_, said)| matches!(said, Said::Data { .. }));
    assert_eq!(repairs.count(), 2, "{said:?}");
}

#[test]
fn requests_are_aggregated_while_a_pending_receiver_is_silent() {
    let mut hand = sent();
    hand.sender.set_watermark(hand.now, &[NodeId(2), NodeId(3)]);
    hand.ack(3, AckKind::Application(crate::roll_call::STATUS_ACK, b""), None, 1);
    hand.ask(2, 0, 8..10);
    assert_eq!(data(&hand.run(ms(2))), []);
    hand.ask(3, 0, 8..11);
    assert_eq!(data(&hand.run(ms(4))), [(0, 8), (0, 9), (0, 10)]);
}

#[test]
fn at_the_end_a_repair_has_extra_parity_for_its_own_expected_loss() {
    let mut hand = sent();
    let count = |arrived: u32| arrived.to_be_bytes();
    let counted = |hand: &mut Harness, content: &[u8]| {
        hand.ack(2, AckKind::Application(crate::roll_call::RECEPTION_ACK, content), None, 1);
    };
    counted(&mut hand, &count(0));
    hand.sender.messages.on_sent(hand.now, 100);
    hand.now = hand.now + ms(1000);
    hand.sender.messages.on_sent(hand.now, 0);
    counted(&mut hand, &count(50));
    hand.ask(2, 0, 0..2);
    assert_eq!(data(&hand.run(ms(300))), [(0, 8), (0, 9), (0, 10), (0, 11)]);
}

#[test]
fn a_receiver_whose_buffer_runs_over_slows_the_sender_whatever_its_rate() {
    let mut hand = sent();
    let full = hand.sender.rate();
    let told = |hand: &mut Harness, overruns: u32| {
        let content = [9_u32.to_be_bytes(), overruns.to_be_bytes()].concat();
        hand.ack(2, AckKind::Application(crate::roll_call::RECEPTION_ACK, &content), None, 1);
    };
    told(&mut hand, 0);
    assert_eq!(hand.sender.rate(), full);
    told(&mut hand, 3);
    let braked = hand.sender.rate();
    assert_eq!(braked.as_bps() / 1000, full.as_bps() * 7 / 10_000);
    told(&mut hand, 3);
    assert_eq!(hand.sender.rate(), braked, "nothing new");
    assert_eq!(hand.sender.reason(), Reason::Overrun(NodeId(2)));
    // Time is told with every call.
    hand.sender.hold(hand.now + ms(10_000), false);
    assert_eq!((hand.sender.rate(), hand.sender.reason()), (full, Reason::Set));
}

#[test]
fn symbols_that_peers_repair_are_left_out_until_they_are_requested_again() {
    let mut hand = sent();
    let object = ObjectTransportId(0);
    let repaired = |hand: &mut Harness| {
        hand.sender.on_repaired(object, (0, Some(1)));
        hand.sender.on_repaired(object, (0, None));
    };
    hand.ask(2, 0, 0..3);
    repaired(&mut hand);
    assert_eq!(data(&hand.run(ms(1_000))), [(0, 8)]);
    hand.ask(2, 0, 0..3);
    repaired(&mut hand);
    assert_eq!(data(&hand.run(ms(1_000))), [(0, 9), (0, 10), (0, 11)], "it did not hear them");
    hand.sender.on_repaired(object, (77, Some(1)));
    hand.sender.on_repaired(ObjectTransportId(9), (0, None));
    assert_eq!(data(&hand.run(ms(1_000))), []);
}

#[test]
fn an_evicted_receiver_is_ignored_and_not_waited_for() {
    let mut hand = sent();
    hand.sender.set_watermark(hand.now, &[NodeId(2), NodeId(3)]);
    hand.ask(2, 0, 8..9);
    hand.sender.evict(hand.now, NodeId(2));
    hand.sender.add_acking_node(hand.now, NodeId(2));
    hand.run(ms(150));
    let repaired = hand.stats.parity_repair_sent;
    hand.ask(2, 0, 8..9);
    hand.ack(2, AckKind::Application(crate::roll_call::STATUS_ACK, b"slow"), None, 1);
    hand.ack_flush(3, 0, 1, 7);
    hand.run(ms(400));
    assert_eq!(
        (hand.stats.parity_repair_sent, hand.stats.dropped(DropReason::Evicted)),
        (repaired, 2)
    );
    let outcomes = alloc::vec![(NodeId(3), WatermarkOutcome::Acknowledged)];
    let events = hand.events();
    assert!(events.contains(&Event::WatermarkDone { outcomes }), "{events:?}");
    assert!(!events.iter().any(|e| matches!(e, Event::ReceiverStatus { .. })));
    let evicted: Vec<bool> = hand.sender.receivers().iter().map(|r| r.evicted).collect();
    assert_eq!(evicted, [true, false]);
}

#[test]
fn a_deferred_receiver_is_served_after_the_first_pass() {
    let mut hand = Harness::new(SenderConfig { rate: Bitrate::kbps(800), ..config() });
    hand.enqueue(16_000, None);
    hand.sender.defer(NodeId(2), true);
    hand.run(ms(20));
    hand.ask(2, 0, 8..9);
    hand.ask(3, 0, 8..10);
    let said = hand.run(ms(150));
    assert_eq!(hand.stats.dropped(DropReason::Deferred), 1);
    assert!(data(&said).contains(&(0, 9)), "others are served meanwhile");
    hand.ask(2, 1, 8..9);
    assert!(!data(&hand.run(ms(1500))).contains(&(1, 8)));
    hand.ask(2, 1, 8..9);
    assert_eq!(data(&hand.run(ms(300))), [(1, 8)]);
    hand.enqueue(16_000, None);
    hand.sender.defer(NodeId(2), false);
    hand.ask(2, 1, 9..10);
    assert!(data(&hand.run(ms(300))).contains(&(1, 9)));
}

#[test]
fn a_status_is_an_event_and_makes_the_receiver_known_to_the_roll_call() {
    let mut hand = Harness::new(config());
    hand.ack(2, AckKind::Application(crate::roll_call::STATUS_ACK, b"ready"), None, 1);
    let status = Event::ReceiverStatus { node: NodeId(2), status: b"ready".to_vec() };
    assert_eq!(hand.events()[1], status);
}
