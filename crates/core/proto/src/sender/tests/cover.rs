//! Short objects that somebody waits for.

use super::*;
use crate::roll_call::STATUS_ACK;

/// The one receiver is known and waited for, and has lost so much of what came lately.
fn lossy(rate: Bitrate, loss: f64) -> Harness {
    let grtt_initial = ms(500);
    let mut hand = Harness::with(SenderConfig { rate, grtt_initial, ..config() }, true);
    hand.enqueue(100, None);
    hand.run(ms(10));
    hand.ack(2, AckKind::Application(STATUS_ACK, b"here"), None, 1);
    hand.sender.set_watermark(hand.now, &[NodeId(2)]);
    hand.ack_flush(2, 0, 0, 0);
    (0..100).for_each(|n| hand.sender.cover.on_report(n * 10, loss));
    hand.run(ms(600));
    hand
}

/// Symbols that go out in the next 100 ms, and which of them are repairs.
fn symbols(hand: &mut Harness) -> Vec<(u16, bool)> {
    let said = hand.run(ms(100));
    let symbol = |said: &Said| match said {
        Said::Data { symbol, repair, .. } => Some((*symbol, *repair)),
        _ => None,
    };
    said.iter().filter_map(symbol).collect()
}

#[test]
fn of_an_object_that_somebody_waits_for_a_lost_symbol_is_covered_where_something_is_lost() {
    for (loss, pass, sent) in [
        (0.01, FirstPass::Awaited, &[(0, false), (0, true)][..]),
        (0.0, FirstPass::Awaited, &[(0, false)]),
        (0.01, FirstPass::Whole, &[(0, false)]),
    ] {
        let mut hand = lossy(Bitrate::mbps(1), loss);
        hand.enqueue_as(100, None, pass);
        assert_eq!(symbols(&mut hand), sent, "{loss} {pass:?}");
    }
}

#[test]
fn a_longer_object_is_covered_by_parity() {
    let mut hand = lossy(Bitrate::mbps(1), 0.002);
    hand.enqueue_as(400, None, FirstPass::Awaited);
    let sent = [(0, false), (1, false), (2, false), (3, false), (4, true)];
    assert_eq!(symbols(&mut hand), sent);
}

#[test]
fn cover_waits_until_nothing_else_is_to_be_sent_and_not_for_longer_than_a_round_trip() {
    let mut hand = lossy(Bitrate::mbps(1), 0.01);
    hand.enqueue_as(100, None, FirstPass::Awaited);
    hand.enqueue(300, None);
    let all = symbols(&mut hand);
    let sent = [(0, false), (0, false), (1, false), (2, false), (0, true)];
    assert_eq!(all, sent);
    // As long as others take it takes.
    hand.enqueue_as(100, None, FirstPass::Awaited);
    hand.enqueue(80_000, None);
    let repaired = (0..10).flat_map(|_| symbols(&mut hand)).filter(|(_, repair)| *repair);
    assert_eq!(repaired.count(), 0);
}

#[test]
fn cover_takes_a_quarter_of_the_rate_at_most() {
    let mut hand = lossy(Bitrate::mbps(1), 0.1);
    let (mut first, mut cover) = (0, 0);
    for _ in 0..50 {
        // 60 % of the line: as much again would be more than all of it.
        for _ in 0..8 {
            hand.enqueue_as(900, None, FirstPass::Awaited);
        }
        let all = symbols(&mut hand);
        first += all.iter().filter(|(_, repair)| !repair).count();
        cover += all.iter().filter(|(_, repair)| *repair).count();
    }
    assert_eq!(first, 50 * 8 * 9);
    // 100 bytes each, and half a second of the quarter was saved up.
    assert!((1000..=1720).contains(&cover), "{cover} of {first}");
}
