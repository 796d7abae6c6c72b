//! Acknowledgements of watermarks, probes and roll calls.

use super::{GRTT, Harness, RECEIVER, SENDER, Script, key, raw};
use crate::{
    config::{AckPolicy, FeedbackPath, ReceiverConfig},
    time::{Duration, Time},
};
use alloc::vec::Vec;
use fanfare_wire::{
    Message, NodeId, QuantizedRate,
    cmd::{Cc, CcNodes},
    ext::{CcFlags, Extensions},
    header::SendTime,
};

fn received(config: ReceiverConfig, lost: bool) -> (Harness, Script) {
    let (mut rig, mut script) = (Harness::new(config), Script::new());
    for symbol in 0..if lost { 3 } else { 4 } {
        rig.hear(&script.data(0, 40, 0, symbol));
    }
    (rig, script)
}

#[test]
fn a_watermark_is_acknowledged_when_everything_has_arrived() {
    let (mut rig, mut script) = received(ReceiverConfig::default(), false);
    assert!(rig.senders.set_ack_content((SENDER, fanfare_wire::InstanceId(1)), b"tail".to_vec()));
    rig.hear(&script.flush(0, raw(0, 3), &[RECEIVER]));
    rig.pass(GRTT * 2);
    let Ok(Message::Ack(ack)) = Message::parse(&rig.sent[0].1) else { panic!() };
    assert!(ack.extensions.app_ack().unwrap().content.starts_with(b"tail"));
    assert!(ack.extensions.cc().is_some());
    assert_eq!(rig.acks(), ["flush 0"]);
}

#[test]
fn it_is_acknowledged_again_when_asked_again() {
    let (mut rig, mut script) = received(ReceiverConfig::default(), false);
    for _ in 0..3 {
        rig.hear(&script.flush(0, raw(0, 3), &[NodeId(9), RECEIVER]));
        rig.pass(GRTT * 2);
    }
    assert_eq!(rig.acks().len(), 3);
}

#[test]
fn a_flush_that_does_not_name_us_is_not_acknowledged() {
    let (mut rig, mut script) = received(ReceiverConfig::default(), false);
    rig.hear(&script.flush(0, raw(0, 3), &[NodeId(9)]));
    rig.pass(GRTT * 2);
    assert!(rig.acks().is_empty());
}

#[test]
fn missing_symbols_are_requested_before_the_acknowledgement() {
    let (mut rig, mut script) = received(ReceiverConfig::default(), true);
    rig.hear(&script.flush(0, raw(0, 3), &[RECEIVER]));
    rig.pass(GRTT * 5);
    assert_eq!(rig.asked(), ["0/0/4"]);
    rig.hear(&script.data(0, 40, 0, 4));
    rig.pass(GRTT);
    assert_eq!(rig.acks(), ["flush 0"]);
}

#[test]
fn with_confirmation_a_status_comes_first_and_the_acknowledgement_after_it() {
    let config = ReceiverConfig { ack: AckPolicy::Confirmed, ..ReceiverConfig::default() };
    let (mut rig, mut script) = received(config, false);
    assert!(rig.senders.set_status(rig.now, &mut rig.rng, b"checking".to_vec(), false));
    rig.hear(&script.flush(0, raw(0, 3), &[RECEIVER]));
    rig.pass(GRTT * 2);
    rig.hear(&script.flush(0, raw(0, 3), &[RECEIVER]));
    rig.pass(GRTT * 2);
    assert_eq!(rig.acks(), ["16 checking"]);
    rig.senders.confirm(key(0));
    rig.pass(GRTT);
    assert_eq!(rig.acks(), ["flush 0"]);
}

#[test]
fn an_object_given_up_is_never_acknowledged() {
    let (mut rig, mut script) = received(ReceiverConfig::default(), true);
    rig.cancel(key(0));
    rig.hear(&script.data(1, 10, 0, 0));
    rig.hear(&script.flush(1, raw(0, 0), &[RECEIVER]));
    rig.pass(Duration::from_secs(1));
    assert!(rig.acks().is_empty());
}

#[test]
fn an_object_in_whose_place_another_has_come_holds_up_no_acknowledgement() {
    let (mut rig, mut script) = received(ReceiverConfig::default(), false);
    rig.hear(&script.data(1, 40, 0, 0));
    rig.cancel(key(1));
    rig.hear(&script.flush(1, raw(0, 3), &[RECEIVER]));
    rig.pass(GRTT * 2);
    assert!(rig.acks().is_empty());
    rig.senders.excuse(key(1));
    rig.hear(&script.flush(1, raw(0, 3), &[RECEIVER]));
    rig.pass(GRTT * 2);
    assert_eq!(rig.acks(), ["flush 1"]);
}

fn probe(script: &mut Script, rate: Option<f64>) -> Vec<u8> {
    let mut out = Vec::new();
    let cc = Cc {
        sender: script.fields(),
        cc_sequence: 77,
        send_time: SendTime { seconds: 100, micros: 900_000 },
        extensions: Extensions::default(),
        nodes: CcNodes::default(),
    };
    cc.encode(rate.map(QuantizedRate::from_bytes_per_second), &[], &mut out);
    out
}

#[test]
fn a_probe_with_a_rate_is_answered_with_the_time_it_was_held() {
    let mut rig = Harness::on(FeedbackPath::Group, true, ReceiverConfig::default());
    let mut script = Script::new();
    rig.hear(&probe(&mut script, Some(1e5)));
    let Ok(Message::Ack(ack)) = Message::parse(&rig.sent[0].1) else { panic!() };
    let cc = ack.extensions.cc().unwrap();
    assert!(cc.cc_sequence == 77 && cc.flags.has(CcFlags::START));
    let echo = ack.feedback.grtt_response.unwrap();
    assert_eq!((echo.seconds, echo.micros), (100, 900_000));
}

#[test]
fn in_a_group_the_answer_waits_for_its_backoff_and_the_echo_says_how_long() {
    let (mut rig, mut script) = (Harness::new(ReceiverConfig::default()), Script::new());
    rig.hear(&probe(&mut script, Some(1e5)));
    let due = rig.next().unwrap().0;
    rig.pass(GRTT * 5);
    let Ok(Message::Ack(ack)) = Message::parse(&rig.sent[0].1) else { panic!() };
    let echo = ack.feedback.grtt_response.unwrap();
    let held = u64::from(echo.seconds - 100) * 1_000_000 + u64::from(echo.micros) - 900_000;
    assert_eq!(held, due.since(Time::ZERO).as_micros() as u64);
}

#[test]
fn a_probe_without_a_rate_is_not_answered() {
    let (mut rig, mut script) = (Harness::new(ReceiverConfig::default()), Script::new());
    rig.hear(&probe(&mut script, None));
    rig.pass(Duration::from_secs(1));
    assert!(rig.sent.is_empty());
}
