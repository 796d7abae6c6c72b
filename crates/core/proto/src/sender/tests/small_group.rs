//! Short transfers to a few receivers: waits and messages that they do without.

use super::*;
use crate::roll_call::STATUS_ACK;

#[test]
fn a_short_backoff_is_advertised_to_a_few_receivers_that_all_answered_the_roll_call() {
    let mut hand = sent();
    let answer = |hand: &mut Harness, node| {
        hand.ack(node, AckKind::Application(STATUS_ACK, b"here"), None, 1);
    };
    (2..4).for_each(|node| answer(&mut hand, node));
    assert_eq!(hand.sender.backoff(), 4, "nobody has said who counts");
    hand.sender.set_watermark(hand.now, &[NodeId(2), NodeId(3)]);
    assert_eq!(hand.sender.backoff(), 1);
    hand.ask(9, 0, 0..1);
    assert_eq!(hand.sender.backoff(), 4, "who is not of ours may stand for many");
    let mut many = sent();
    let nodes: Vec<NodeId> = (2..13).map(NodeId).collect();
    nodes.iter().for_each(|node| answer(&mut many, node.0));
    many.sender.set_watermark(many.now, &nodes);
    assert_eq!(many.sender.backoff(), 4, "eleven are many");
}

/// Blocks of 8 symbols were sent to two receivers that are known and waited for; of the first object
/// receiver 2 has lost one symbol in 8.
fn few(blocks: usize) -> Harness {
    let fec = FecConfig { source: 8, parity: 8, ..FecConfig::default() };
    let mut hand = Harness::new(SenderConfig { fec, ..config() });
    hand.enqueue(100 * 8 * blocks, None);
    hand.run(ms(2));
    for node in [2, 3] {
        hand.ack(node, AckKind::Application(STATUS_ACK, b"here"), None, 1);
    }
    hand.sender.set_watermark(hand.now, &[NodeId(2), NodeId(3)]);
    hand
}

/// A receiver asks for all of the first object, of 400 blocks.
fn ask_for_all(hand: &mut Harness, node: u32) {
    hand.nack(node, false, |w| {
        w.range(RepairLevel(RepairLevel::BLOCK), (OBJECT, OBJECT), id(0, 0), id(399, 0));
    });
}

#[test]
fn who_lacks_nearly_all_waits_for_the_others_unless_all_lack_as_much() {
    // Source symbols that are sent again, where the other one lacks as much, or a symbol.
    let again = |all_lack: bool| {
        let mut hand = few(400);
        // What is sent ahead of any request goes first.
        hand.run(ms(1200));
        hand.sender.set_watermark(hand.now, &[NodeId(2), NodeId(3)]);
        hand.ask(3, 1, 8..9);
        hand.run(ms(100));
        if all_lack {
            ask_for_all(&mut hand, 3);
        }
        ask_for_all(&mut hand, 2);
        data(&hand.run(ms(100))).iter().filter(|(_, symbol)| *symbol < 8).count()
    };
    let (all, one) = (again(true), again(false));
    assert!(all > 500 && one == 0, "{all} {one}");
}

/// Some blocks of 64 symbols of many were sent at `rate` to two receivers that are known and waited for.
fn few_at(rate: Bitrate) -> Harness {
    let fec = FecConfig { source: 64, parity: 8, ..FecConfig::default() };
    let mut hand = Harness::new(SenderConfig { fec, rate, ..config() });
    hand.enqueue(100 * 64 * 2000, None);
    hand.run(ms(5));
    for node in [2, 3] {
        hand.ack(node, AckKind::Application(STATUS_ACK, b"here"), None, 1);
    }
    hand.sender.set_watermark(hand.now, &[NodeId(2), NodeId(3)]);
    hand
}

#[test]
fn a_fast_sender_repairs_a_few_symbols_explicitly_and_a_slow_one_by_parity() {
    for (rate, symbol) in [(Bitrate::mbps(200), 7), (Bitrate::mbps(20), 64)] {
        let mut hand = few_at(rate);
        hand.ask(2, 0, 7..8);
        let of_first = |(block, _): &(u32, u16)| *block == 0;
        let sent: Vec<_> = data(&hand.run(ms(1))).into_iter().filter(of_first).collect();
        assert_eq!(sent, [(0, symbol)], "{rate}");
    }
}

#[test]
fn a_few_known_receivers_are_served_at_once_and_nothing_is_sent_twice() {
    let mut hand = few(10);
    hand.run(ms(10));
    hand.ask(2, 0, 8..10);
    assert_eq!(data(&hand.run(ms(1))), [(0, 8), (0, 9)]);
    hand.ask(3, 0, 8..11);
    assert_eq!(data(&hand.run(ms(1))), [(0, 10)], "two are on their way");
    hand.run(hand.sender.grtt() * 2);
    hand.ask(3, 0, 8..11);
    assert_eq!(data(&hand.run(ms(1))), [(0, 11), (0, 12), (0, 13)], "they were lost");
}

#[test]
fn parity_of_the_last_blocks_is_sent_without_a_request_when_the_loss_is_known() {
    for (lost, sent) in [(1, true), (0, false)] {
        let mut hand = few(20);
        if lost > 0 {
            hand.nack(2, false, |w| {
                for block in 0..5 {
                    assert!(w.item(SEGMENT, OBJECT, id(block, 8)));
                }
            });
        }
        let (said, _) = hand.run_until(hand.now + ms(40));
        let last = said.iter().rev().map(|(_, said)| said);
        let parity = |s: &&Said| matches!(s, Said::Data { block: 19, repair: true, .. });
        assert_eq!(last.filter(parity).count() > 0, sent, "{said:?}");
    }
}

#[test]
fn the_first_flushes_do_not_wait_for_the_least_interval() {
    let grtt = ms(1);
    let mut hand = Harness::new(SenderConfig { grtt_initial: grtt, robust_factor: 20, ..config() });
    hand.enqueue(100, None);
    let (all, _) = hand.run_until(Time::ZERO + ms(500));
    let flushes = all.iter().filter(|(_, said)| matches!(said, Said::Flush { .. }));
    let at: Vec<Time> = flushes.map(|(at, _)| *at).collect();
    let gaps: Vec<Duration> = at.windows(2).map(|pair| pair[1].since(pair[0])).collect();
    assert_eq!(gaps.len(), 19);
    assert!(gaps[..5].iter().all(|gap| *gap < ms(4)), "{gaps:?}");
    assert!(gaps[6..].iter().all(|gap| *gap >= ms(20)), "{gaps:?}");
}

#[test]
fn the_first_symbols_of_an_object_and_some_later_ones_carry_fti() {
    let fec = FecConfig { source: 64, parity: 4, ..FecConfig::default() };
    let told = |fec| {
        let mut hand = Harness::new(SenderConfig { fec, ..config() });
        hand.enqueue(128 * 100, None);
        let mut told = Vec::new();
        while told.len() < 128 {
            let mut out = Vec::new();
            if !hand.call(|sender, ctx| sender.poll_message(ctx, &mut out)) {
                hand.now = hand.sender.next_timeout().map_or(hand.now, |(at, _)| at.max(hand.now));
                continue;
            }
            if let Ok(Message::Data(data)) = Message::parse(&out) {
                told.push(data.extensions.fti(fec.id).is_some());
            }
        }
        let places = told.iter().enumerate().filter(|(_, told)| **told);
        places.map(|(place, _)| place).collect::<Vec<_>>()
    };
    assert_eq!(told(fec), [0, 1, 2, 3, 4, 5, 6, 7, 32, 64, 96]);
    let unnamed = FecConfig { id: fanfare_wire::FecId::ReedSolomonM, ..fec };
    assert_eq!(told(unnamed).len(), 128, "symbols could not be named without it");
}

#[test]
fn a_few_that_are_known_otherwise_are_probed_before_anything_is_sent_and_served_at_once() {
    let fec = FecConfig { source: 8, parity: 8, ..FecConfig::default() };
    let mut hand = Harness::new(SenderConfig { fec, ..config() });
    let probes = |hand: &mut Harness| {
        let (said, _) = hand.run_until(hand.now + Duration::from_secs(60));
        said.iter().filter(|(_, said)| matches!(said, Said::Probe { .. })).count()
    };
    assert_eq!(probes(&mut hand), 0, "nobody is known");
    hand.sender.set_few(Some(2));
    let tried = probes(&mut hand);
    assert!((8..=16).contains(&tried), "{tried}: not for ever where nobody answers");
    assert_eq!(hand.sender.backoff(), 1);
    hand.enqueue(1600, None);
    hand.run(ms(10));
    hand.ask(2, 0, 7..8);
    assert_eq!(data(&hand.run(ms(1))).len(), 1, "it is served at once");
    (3..5).for_each(|node| hand.ask(node, 0, 6..7));
    assert_eq!(hand.sender.backoff(), 4, "there are more than two");
    hand.sender.set_few(Some(11));
    assert_eq!(hand.sender.backoff(), 4, "eleven are many");
}

#[test]
fn a_newcomer_is_probed_at_once_until_a_round_trip_was_measured() {
    let clocks = |hand: &mut Harness, time| {
        let (all, _) = hand.run_until(hand.now + time);
        let clock = |said| if let (_, Said::Probe { clock }) = said { Some(clock) } else { None };
        all.into_iter().filter_map(clock).collect::<Vec<SendTime>>()
    };
    let mut hand = Harness::new(config());
    hand.enqueue(2_000_000, None);
    let alone = clocks(&mut hand, ms(500));
    assert_eq!(alone.len(), 4, "the next is due after a second");
    hand.sender.on_newcomer(hand.now);
    assert_eq!(clocks(&mut hand, ms(20)).len(), 1);
    (0..20).for_each(|_| hand.sender.on_newcomer(hand.now));
    assert_eq!(clocks(&mut hand, ms(20)).len(), 0, "the last one is fresh");
    let [clock] = clocks(&mut hand, ms(20))[..] else { panic!("not one for all of them") };
    hand.ack(2, AckKind::Application(STATUS_ACK, b"here"), Some(clock), 1);
    hand.sender.on_newcomer(hand.now);
    assert_eq!(clocks(&mut hand, ms(200)).len(), 0, "the round trip is known");
}
