//! What the sender learns from answers to the roll call: the first rate, the first probes, and a
//! short good-bye.

use super::*;
use crate::{congestion::CongestionControl, roll_call::STATUS_ACK};

fn far() -> SenderConfig {
    let (congestion, rate) = (CongestionControl::Auto, Bitrate::mbps(1000));
    let grtt_initial = ms(250);
    SenderConfig { congestion, rate, grtt_initial, segment_size: 1400, ..SenderConfig::default() }
}

/// Two receivers have answered the roll after so many milliseconds, and data may flow.
fn answered(after: [u64; 2]) -> Harness {
    let mut hand = Harness::new(far());
    hand.sender.hold(hand.now, true);
    let calls = RollCalls { content: Vec::new(), interval: ms(500), awaited: Some(2), again: 0 };
    hand.sender.set_roll_call(hand.now, Some(calls));
    hand.enqueue(1_000_000, None);
    let said = hand.say();
    let [Said::Probe { clock }, Said::RollCall] = said[..] else { panic!("{said:?}") };
    let mut answers = [(after[0], 2), (after[1], 3)];
    answers.sort_unstable();
    for (millis, node) in answers {
        hand.now = Time::ZERO + ms(millis);
        hand.ack(node, AckKind::Application(STATUS_ACK, b"here"), Some(clock), 1);
    }
    hand.sender.set_watermark(hand.now, &[NodeId(2), NodeId(3)]);
    hand.sender.hold(hand.now, false);
    hand
}

#[test]
fn quick_answers_to_the_roll_call_start_the_transfer_at_the_rate_of_a_short_round_trip() {
    let mut hand = answered([1, 1]);
    let (said, _) = hand.run_until(Time::ZERO + ms(9));
    let data = said.iter().filter(|(_, said)| matches!(said, Said::Data { .. })).count();
    assert!((5..=9).contains(&data), "{data} of ten in ten milliseconds");
    let probes: Vec<Time> = said
        .iter()
        .filter_map(|(at, said)| matches!(said, Said::Probe { .. }).then_some(*at))
        .collect();
    assert!(probes.len() == 1 && probes[0] <= Time::ZERO + ms(7), "{probes:?}");
    assert_eq!(hand.sender.controller.limiting().len(), 1, "one answers each probe at once");
}

#[test]
fn at_a_low_rate_probes_take_no_more_than_a_sixth_of_it() {
    let mut hand = answered([60, 60]);
    let grtt = hand.sender.grtt();
    // 60 bytes of 4 kbit/s take 120 ms.
    for (rate, least) in [(Bitrate::mbps(10), Duration::ZERO), (Bitrate::kbps(4), ms(720))] {
        hand.sender.set_rate(hand.now, rate);
        let wanted = hand.sender.controller.probe_interval(grtt).unwrap();
        assert!(wanted <= ms(100), "{wanted:?} at {rate}");
        assert_eq!(hand.sender.rate_bound_interval(), Some(wanted.max(least)));
    }
}

#[test]
fn the_first_rate_follows_the_farthest_receiver_that_answered() {
    let mut hand = answered([1, 300]);
    let slow = hand.sender.rate();
    assert!(slow <= Bitrate::kbps(448), "ten messages in the first round trip: {slow}");
    assert_eq!(hand.sender.controller.limiting()[0].0, NodeId(3));
    assert!(data(&hand.run(ms(50))).len() <= 3);
}

#[test]
fn good_bye_is_short_when_all_known_receivers_have_acknowledged() {
    for (acknowledged, most) in [(2, 4), (1, 5)] {
        let mut hand = sent();
        let nodes = [NodeId(2), NodeId(3)];
        for node in nodes {
            hand.ack(node.0, AckKind::Application(STATUS_ACK, b"here"), None, 1);
        }
        hand.sender.set_watermark(hand.now, &nodes);
        hand.run(ms(1));
        nodes[..acknowledged].iter().for_each(|node| hand.ack_flush(node.0, 0, 1, 7));
        hand.sender.hold(hand.now, true);
        hand.sender.end(hand.now);
        let said = hand.run(ms(2000));
        assert_eq!(said, alloc::vec![Said::Eot; most]);
    }
}
