//! What is sent, in which order, and how fast.

use super::*;
use crate::{congestion::CongestionControl, roll_call::RollCalls};

#[test]
fn an_idle_sender_sends_nothing_and_sleeps() {
    let mut hand = Harness::new(config());
    assert_eq!((hand.say(), hand.sender.next_timeout()), (Vec::new(), None));
    assert!(hand.sender.is_idle());
}

#[test]
fn the_first_message_is_a_probe_then_come_info_and_data_in_order() {
    let mut hand = Harness::new(config());
    hand.enqueue(1000, Some(b"name"));
    let (all, _) = hand.run_until(Time::ZERO + ms(10));
    assert!(matches!(all[0], (Time::ZERO, Said::Probe { .. })));
    assert_eq!(all[1].1, Said::Info { object: 0, payload: b"name".to_vec() });
    let said: Vec<Said> = all.into_iter().map(|(_, said)| said).collect();
    let expected: Vec<_> = (0..5).map(|s| (0, s)).chain((0..5).map(|s| (1, s))).collect();
    assert_eq!(data(&said), expected);
    assert_eq!((hand.stats.source_sent, hand.sender.progress()), (10, 1000));
}

#[test]
fn sequence_numbers_count_every_message_and_the_rate_is_kept() {
    let mut hand = Harness::new(SenderConfig { rate: Bitrate::kbps(80), ..config() });
    hand.enqueue(1600, None);
    let (mut sequence, mut bytes) = (0, 0);
    while let Some((at, _)) =
        hand.sender.next_timeout().filter(|(at, _)| *at < Time::ZERO + ms(500))
    {
        hand.now = at.max(hand.now);
        let mut out = Vec::new();
        if hand.call(|sender, ctx| sender.poll_message(ctx, &mut out)) {
            assert_eq!(u16::from_be_bytes([out[2], out[3]]), sequence);
            sequence += 1;
            bytes += out.len();
        } else {
            hand.call(|sender, ctx| sender.on_timeout(ctx));
        }
    }
    assert!(sequence > 10);
    let most = Bitrate::kbps(80).bytes_in(ms(500)) as usize + 200;
    assert!(bytes <= most, "{bytes} of {most}");
}

#[test]
fn an_empty_object_is_its_info_even_when_it_has_none() {
    for (info, payload) in [(None, &b""[..]), (Some(&b"name"[..]), b"name")] {
        let mut hand = Harness::new(config());
        hand.enqueue(0, info);
        let said = hand.run(ms(5));
        assert_eq!(said[0], Said::Info { object: 0, payload: payload.to_vec() });
        assert_eq!(said[1], Said::Flush { nodes: Vec::new(), symbol: 0 });
        hand.nack(2, false, |w| {
            w.item(RepairLevel(RepairLevel::OBJECT), OBJECT, id(0, 0));
        });
        let said = hand.run(ms(300));
        assert!(matches!(said[0], Said::Info { .. }), "{said:?}");
    }
}

#[test]
fn data_and_info_tell_when_they_went_to_those_who_measure_the_path() {
    let auto = SenderConfig { congestion: CongestionControl::Auto, ..config() };
    for (config, tells) in [(config(), false), (auto, true)] {
        let mut hand = Harness::new(config);
        hand.enqueue(0, Some(b"a small message"));
        hand.enqueue(300, None);
        let (mut info, mut data) = (0, 0);
        for _ in 0..100 {
            let mut out = Vec::new();
            while hand.call(|sender, ctx| sender.poll_message(ctx, &mut out)) {
                match Message::parse(&core::mem::take(&mut out)).unwrap() {
                    Message::Info(m) => {
                        assert_eq!(m.extensions.time().is_some(), tells);
                        info += 1;
                    }
                    Message::Data(m) => {
                        assert_eq!(m.extensions.time().is_some(), tells);
                        data += 1;
                    }
                    _ => {}
                }
            }
            hand.now = hand.now + ms(1);
            hand.call(|sender, ctx| sender.on_timeout(ctx));
        }
        assert!(info > 0 && data > 0, "{info} {data}");
    }
}

#[test]
fn an_unreadable_object_is_withdrawn_and_the_others_continue() {
    let mut hand = Harness::new(config());
    let bad = hand.enqueue(1600, Some(b"bad"));
    hand.enqueue(300, None);
    hand.storage.take(bad);
    let said = hand.run(ms(20));
    assert!(matches!(said[1], Said::Squelch { earliest: 1, .. }), "{said:?}");
    assert_eq!(data(&said).len(), 3);
    assert_eq!(hand.stats.dropped(DropReason::Storage), 1);
    assert!(hand.events().contains(&Event::ObjectPurged { key: bad }));
}

#[test]
fn a_held_sender_probes_and_calls_the_roll_but_sends_no_object() {
    let mut hand = Harness::new(config());
    hand.sender.hold(hand.now, true);
    hand.sender.set_roll_call(
        hand.now,
        Some(RollCalls { content: Vec::new(), interval: ms(100), awaited: None, again: 0 }),
    );
    hand.enqueue(1600, None);
    let (all, _) = hand.run_until(Time::ZERO + ms(450));
    assert!(all.iter().all(|(_, s)| matches!(s, Said::Probe { .. } | Said::RollCall)));
    assert_eq!(all.iter().filter(|(_, s)| *s == Said::RollCall).count(), 5);
    hand.sender.hold(hand.now, false);
    assert_eq!(data(&hand.run(ms(20))).len(), 16);
}

#[test]
fn a_requeued_object_goes_out_once_more() {
    let mut hand = sent();
    assert!(hand.sender.requeue(hand.now, OBJECT));
    let said = hand.run(ms(50));
    assert_eq!(data(&said).len(), 16);
    assert!(said.iter().all(|s| !matches!(s, Said::Data { repair: true, .. })));
    assert!(!hand.sender.requeue(hand.now, ObjectTransportId(5)));
}

#[test]
fn a_full_cache_refuses_until_an_old_object_has_been_quiet() {
    let mut hand = Harness::new(SenderConfig { cache_objects: 2, ..config() });
    hand.enqueue(100, None);
    hand.enqueue(100, None);
    let object = NewObject { kind: ObjectKind::Data, size: 1, info: None, pass: FirstPass::Whole };
    let refused = hand.sender.enqueue(hand.now, (object.clone(), None), &mut hand.events);
    assert_eq!(refused, Err(EnqueueError::CacheFull { objects: 2 }));
    hand.run(ms(1000));
    assert!(hand.events().iter().any(|e| matches!(e, Event::ObjectPurged { .. })));
    assert!(hand.sender.enqueue(hand.now, (object, None), &mut hand.events).is_ok());
}

#[test]
fn a_paused_sender_does_not_spin_and_resumes() {
    let mut hand = Harness::new(SenderConfig { rate: Bitrate::bps(0), ..config() });
    hand.enqueue(1600, None);
    let (said, wakes) = hand.run_until(Time::ZERO + ms(1000));
    assert_eq!((said.len(), wakes), (0, 0));
    hand.sender.set_rate(hand.now, Bitrate::mbps(8));
    assert_eq!(hand.sender.next_timeout().map(|(_, timer)| timer), Some(Timer::Pace));
    assert_eq!(data(&hand.run(ms(20))).len(), 16);
}

#[test]
fn a_rate_limited_by_its_cap_does_not_blame_a_receiver() {
    let cap = Bitrate::mbps(1000);
    let auto = SenderConfig { congestion: CongestionControl::Auto, rate: cap, ..config() };
    let mut hand = Harness::new(auto);
    assert_ne!(hand.sender.reason(), Reason::Set);
    let now = hand.sender.rate();
    hand.sender.set_ceiling(Some(now));
    assert_eq!(hand.sender.reason(), Reason::Set);
    hand.sender.set_ceiling(None);
    assert_ne!(hand.sender.reason(), Reason::Set);
    hand.sender.set_rate(hand.now, now);
    assert_eq!((hand.sender.rate(), hand.sender.reason()), (now, Reason::Set));
}

#[test]
fn a_temporary_ceiling_lowers_the_rate_but_not_the_grtt() {
    let mut hand = Harness::new(config());
    assert!(!hand.sender.has_data());
    hand.enqueue(160_000, None);
    assert!(hand.sender.has_data());
    let grtt = hand.sender.grtt();
    hand.sender.set_ceiling(Some(Bitrate::kbps(80)));
    let slow = data(&hand.run(ms(500))).len();
    assert_eq!(hand.sender.grtt(), grtt);
    assert_eq!(hand.sender.reason(), Reason::Set);
    hand.sender.set_ceiling(None);
    let fast = data(&hand.run(ms(500))).len();
    assert!(slow <= 50 && fast >= 30 * slow, "{slow}, then {fast}");
    hand.sender.hold(hand.now, true);
    assert!(!hand.sender.has_data(), "what is held back does not wait for its turn");
}

/// Object, segment size in EXT_FTI, and bytes of each symbol that is said meanwhile.
fn segments(hand: &mut Harness, time: Duration) -> Vec<(u16, u16, usize)> {
    let (mut all, end) = (Vec::new(), hand.now + time);
    while let Some((at, _)) = hand.sender.next_timeout().filter(|(at, _)| *at < end) {
        hand.now = at.max(hand.now);
        let mut out = Vec::new();
        if !hand.call(|sender, ctx| sender.poll_message(ctx, &mut out)) {
            hand.call(|sender, ctx| sender.on_timeout(ctx));
        } else if let Ok(Message::Data(data)) = Message::parse(&out) {
            let fti = data.extensions.fti(data.payload_id.fec_id).unwrap();
            all.push((data.object_transport_id.0, fti.segment_size, data.payload.len()));
        }
    }
    all
}

#[test]
fn an_object_keeps_its_segments_when_those_of_later_ones_become_longer_or_shorter() {
    let mut hand = Harness::new(SenderConfig { fti: FtiMode::Always, ..config() });
    hand.enqueue(200, None);
    hand.sender.set_segment_size(150);
    hand.enqueue(300, None);
    hand.sender.set_segment_size(50);
    hand.enqueue(100, None);
    let each = [(0, 100, 100), (1, 150, 150), (2, 50, 50)];
    let twice: Vec<_> = each.into_iter().flat_map(|one| [one, one]).collect();
    assert_eq!(segments(&mut hand, ms(20)), twice);
    assert_eq!(hand.sender.progress(), 600);
    // A repair is as long as what it repairs.
    hand.ask(2, 0, 2..3);
    assert_eq!(segments(&mut hand, ms(300)), [(0, 100, 100)]);
}
