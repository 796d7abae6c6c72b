//! Loss: what the receiver requests, when, and what the repair does.

use super::{GRTT, Harness, Script, content, key};
use crate::{
    config::{FeedbackPath, ReceiverConfig},
    datagram::Destination,
    time::Duration,
    timer::Timer,
};
use alloc::{vec, vec::Vec};
use fanfare_wire::Message;

/// All symbols of a 95-byte object (4 + 3 + 3) but `lost` (block, symbol).
fn lossy(rig: &mut Harness, script: &mut Script, lost: &[(u32, u16)]) {
    for (block, len) in [(0, 4), (1, 3), (2, 3)] {
        for symbol in (0..len).filter(|symbol| !lost.contains(&(block, *symbol))) {
            rig.hear(&script.data(0, 95, block, symbol));
        }
    }
}

#[test]
fn a_lost_symbol_is_requested_as_parity_after_its_block_and_recovered() {
    let (mut rig, mut script) = (Harness::new(ReceiverConfig::default()), Script::new());
    lossy(&mut rig, &mut script, &[(0, 2)]);
    assert_eq!(rig.next().unwrap().1, Timer::NackBackoff);
    rig.pass(GRTT * 5);
    assert_eq!(rig.sent[0].0, Destination::Group);
    assert_eq!(rig.asked(), ["0/0/4"]);
    rig.hear(&script.data(0, 95, 0, 4));
    assert_eq!((rig.bytes(0), rig.stats.recovered), (Some(&content(0, 95)[..]), 1));
}

#[test]
fn nothing_is_requested_within_the_current_block() {
    let (mut rig, mut script) = (Harness::new(ReceiverConfig::default()), Script::new());
    rig.hear(&script.data(0, 95, 0, 0));
    rig.hear(&script.data(0, 95, 0, 3));
    rig.pass(GRTT * 10);
    assert!(rig.asked().is_empty());
}

#[test]
fn parity_of_a_shortened_block_is_named_from_its_own_length() {
    let (mut rig, mut script) = (Harness::new(ReceiverConfig::default()), Script::new());
    lossy(&mut rig, &mut script, &[(1, 0), (1, 1)]);
    rig.pass(GRTT * 5);
    assert_eq!(rig.asked(), ["0/1/3", "0/1/4"]);
    rig.hear(&script.data(0, 95, 1, 3));
    rig.hear(&script.data(0, 95, 1, 4));
    assert_eq!(rig.bytes(0), Some(&content(0, 95)[..]));
}

#[test]
fn a_flush_asks_for_the_last_block_too() {
    let (mut rig, mut script) = (Harness::new(ReceiverConfig::default()), Script::new());
    lossy(&mut rig, &mut script, &[(2, 2)]);
    rig.pass(GRTT * 5);
    assert!(rig.asked().is_empty());
    rig.hear(&script.flush(0, super::raw(2, 2), &[]));
    rig.pass(GRTT * 5);
    assert_eq!(rig.asked(), ["0/2/3"]);
}

#[test]
fn a_sender_that_falls_silent_is_asked_and_then_reported() {
    let (mut rig, mut script) = (Harness::new(ReceiverConfig::default()), Script::new());
    lossy(&mut rig, &mut script, &[(2, 2)]);
    rig.pass(Duration::from_secs(3));
    assert_eq!(rig.asked(), ["0/2/3"]);
    rig.pass(Duration::from_secs(120));
    assert!(rig.told().contains(&"inactive".into()));
    assert_eq!(rig.next(), None);
}

#[test]
fn an_idle_receiver_wakes_at_most_once_a_second() {
    let (mut rig, mut script) = (Harness::new(ReceiverConfig::default()), Script::new());
    lossy(&mut rig, &mut script, &[]);
    assert!(rig.pass(Duration::from_secs(10)) <= 10);
    assert!(rig.sent.is_empty());
}

/// The NACK of a receiver that lacks `lost`, as another one would send it.
fn nack_of_another(lost: &[(u32, u16)]) -> Vec<u8> {
    let (mut rig, mut script) = (Harness::new(ReceiverConfig::default()), Script::new());
    lossy(&mut rig, &mut script, lost);
    rig.pass(GRTT * 5);
    let mut nack = rig.sent.remove(0).1;
    nack[4..8].copy_from_slice(&[0, 0, 0, 9]);
    nack
}

#[test]
fn an_equal_nack_of_another_suppresses_ours() {
    let (mut rig, mut script) = (Harness::new(ReceiverConfig::default()), Script::new());
    lossy(&mut rig, &mut script, &[(0, 2)]);
    rig.hear(&nack_of_another(&[(0, 2)]));
    rig.pass(GRTT * 5);
    assert!(rig.asked().is_empty());
    assert_eq!(rig.stats.nacks_suppressed, 1);
}

#[test]
fn a_nack_for_as_many_other_symbols_suppresses_ours() {
    let (mut rig, mut script) = (Harness::new(ReceiverConfig::default()), Script::new());
    lossy(&mut rig, &mut script, &[(0, 2)]);
    rig.hear(&nack_of_another(&[(0, 1), (0, 3)]));
    rig.pass(GRTT * 5);
    assert!(rig.asked().is_empty());
}

#[test]
fn only_what_nobody_else_requested_is_requested() {
    let (mut rig, mut script) = (Harness::new(ReceiverConfig::default()), Script::new());
    (0..3).for_each(|symbol| rig.hear(&script.data(0, 95, 2, symbol)));
    rig.hear(&nack_of_another(&[(0, 0), (0, 1), (0, 2), (0, 3)]));
    rig.pass(GRTT * 5);
    assert_eq!(rig.asked(), ["block 0/1"]);
}

#[test]
fn after_two_suppressed_cycles_without_repair_a_receiver_sends_its_nack() {
    let (mut rig, mut script) = (Harness::new(ReceiverConfig::default()), Script::new());
    lossy(&mut rig, &mut script, &[(0, 2)]);
    let mut asked = Vec::new();
    for _ in 0..3 {
        rig.hear(&script.flush(0, super::raw(1, 2), &[]));
        rig.hear(&nack_of_another(&[(0, 2)]));
        rig.pass(GRTT * 12);
        asked.extend(rig.asked());
    }
    assert_eq!((asked, rig.stats.nacks_suppressed), (vec!["0/0/4".into()], 2));
}

#[test]
fn between_nacks_there_is_a_holdoff() {
    let (mut rig, mut script) = (Harness::new(ReceiverConfig::default()), Script::new());
    lossy(&mut rig, &mut script, &[(0, 2)]);
    while rig.sent.is_empty() {
        rig.pass(GRTT / 10);
    }
    rig.sent.clear();
    for _ in 0..11 {
        rig.hear(&script.flush(0, super::raw(2, 2), &[]));
        rig.pass(GRTT / 2);
    }
    assert!(rig.sent.is_empty());
    rig.pass(GRTT * 6);
    assert_eq!(rig.asked(), ["0/0/4"]);
}

#[test]
fn symbols_that_the_sender_is_resending_are_not_requested() {
    let (mut rig, mut script) = (Harness::new(ReceiverConfig::default()), Script::new());
    lossy(&mut rig, &mut script, &[(0, 2), (1, 0)]);
    rig.hear(&script.data(0, 95, 0, 4));
    rig.hear(&script.data(0, 95, 0, 5));
    rig.pass(GRTT * 5);
    assert!(rig.asked().is_empty());
}

#[test]
fn missed_blocks_and_objects_are_requested_whole() {
    let (mut rig, mut script) = (Harness::new(ReceiverConfig::default()), Script::new());
    rig.hear(&script.data(0, 400, 0, 0));
    rig.hear(&script.data(0, 400, 5, 0));
    rig.hear(&script.data(4, 10, 0, 0));
    rig.pass(GRTT * 5);
    assert_eq!(rig.asked(), ["0/0/3 to 0/0/5", "block 0/1 to block 0/4"]);
    // One NACK was full; the rest comes in the next cycle.
    for symbol in 1..4 {
        rig.hear(&script.data(0, 400, 0, symbol));
    }
    for block in 1..5 {
        (0..4).for_each(|symbol| rig.hear(&script.data(0, 400, block, symbol)));
    }
    (1..4).for_each(|symbol| rig.hear(&script.data(0, 400, 5, symbol)));
    rig.hear(&script.flush(4, super::raw(0, 0), &[]));
    rig.pass(GRTT * 12);
    assert_eq!(rig.asked(), ["block 0/6 to block 0/9", "object 1 to object 3"]);
}

#[test]
fn in_a_unicast_session_the_sender_is_asked_at_once() {
    let mut rig = Harness::on(FeedbackPath::Group, true, ReceiverConfig::default());
    let mut script = Script::new();
    lossy(&mut rig, &mut script, &[(0, 2)]);
    assert_eq!(rig.sent[0].0, Destination::Peer(rig.source));
    assert_eq!(rig.asked(), ["0/0/4"]);
}

#[test]
fn feedback_by_unicast_goes_to_the_senders_address() {
    let mut rig = Harness::on(FeedbackPath::Sender, false, ReceiverConfig::default());
    let mut script = Script::new();
    lossy(&mut rig, &mut script, &[(0, 2)]);
    for _ in 0..20 {
        rig.hear(&script.flush(0, super::raw(2, 2), &[]));
        rig.pass(GRTT * 2);
    }
    assert!(!rig.sent.is_empty());
    assert!(rig.sent.iter().all(|(to, _)| *to == Destination::Peer(rig.source)));
}

#[test]
fn a_silent_receiver_sends_nothing() {
    let config = ReceiverConfig { silent: true, ..ReceiverConfig::default() };
    let (mut rig, mut script) = (Harness::new(config), Script::new());
    lossy(&mut rig, &mut script, &[(0, 2)]);
    rig.hear(&script.flush(0, super::raw(2, 2), &[super::RECEIVER]));
    rig.pass(Duration::from_secs(60));
    assert!(rig.sent.is_empty() && rig.bytes(0).is_some());
}

#[test]
fn a_nack_is_cut_at_one_segment_with_the_lowest_needs_first() {
    let (mut rig, mut script) = (Harness::new(ReceiverConfig::default()), Script::new());
    for block in 0..100 {
        rig.hear(&script.data(0, 4000, block, 0));
    }
    rig.pass(GRTT * 5);
    assert_eq!(rig.sent.len(), 1);
    let Ok(Message::Nack(nack)) = Message::parse(&rig.sent[0].1) else { panic!() };
    assert!(nack.requests.as_bytes().len() <= 40);
    assert!(rig.asked()[0].starts_with("0/0/"));
    assert_eq!(rig.senders.progress(key(0)), Some(1000));
}
