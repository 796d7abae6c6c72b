//! The whole sender by hand: what goes on the wire, and when.

use super::{
    demand::tests::{id, nack},
    *,
};
use crate::{
    config::FecConfig,
    event::WatermarkOutcome,
    rng::Rng,
    session::{RecvMeta, Timer},
    stats::{DropReason, Stats},
    storage::{MemoryStorage, ObjectKind, StorageError},
};
use core::net::SocketAddr;
use fanfare_wire::{
    Ack, AckKind, Cmd, Data, EncodingSymbolId, FecPayloadId, FieldSize, FlushAck, InstanceId,
    Message, ObjectFlags, RepairLevel, SourceBlockNumber,
    ext::Extensions,
    fec::RawPayloadId,
    header::{FeedbackFields, SendTime},
    nack::RequestWriter,
};

/// A sender, its world, and the hand that drives them.
struct Hand {
    sender: Sender,
    now: Time,
    rng: Rng,
    storage: MemoryStorage,
    events: EventQueue,
    stats: Stats,
}

const SEGMENT: RepairLevel = RepairLevel(RepairLevel::SEGMENT);
const OBJECT: ObjectTransportId = ObjectTransportId(0);

fn config() -> SenderConfig {
    SenderConfig {
        segment_size: 100,
        fec: FecConfig { source: 8, parity: 4, ..FecConfig::default() },
        rate: Bitrate::mbps(8),
        grtt_initial: ms(20),
        robust_factor: 3,
        ..SenderConfig::default()
    }
}

const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn meta(unicast: bool) -> RecvMeta {
    RecvMeta { source: SocketAddr::from(([10, 0, 0, 2], 6003)), ecn: None, unicast }
}

/// A datagram in short.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Said {
    Info { object: u16, payload: Vec<u8> },
    Data { block: u32, symbol: u16, repair: bool },
    Flush { nodes: Vec<u32>, symbol: u16 },
    Squelch { earliest: u16, invalid: Vec<u16> },
    Probe { clock: SendTime },
    RepairAdv { requests: usize },
    RollCall,
    Eot,
}

fn said(datagram: &[u8]) -> Said {
    let place = |id: RawPayloadId| id.unpack(FieldSize::M8);
    match Message::parse(datagram).expect("what we send parses") {
        Message::Info(m) => {
            Said::Info { object: m.object_transport_id.0, payload: m.payload.to_vec() }
        }
        Message::Data(Data { payload_id, flags, .. }) => {
            let id = place(payload_id);
            let repair = flags.has(ObjectFlags::REPAIR);
            Said::Data { block: id.block.0, symbol: id.symbol.0, repair }
        }
        Message::Cmd(Cmd::Flush(m)) => {
            let nodes = m.acking_nodes.iter().map(|n| n.0).collect();
            Said::Flush { nodes, symbol: place(m.payload_id).symbol.0 }
        }
        Message::Cmd(Cmd::Squelch(m)) => Said::Squelch {
            earliest: m.object_transport_id.0,
            invalid: m.invalid_objects.iter().map(|id| id.0).collect(),
        },
        Message::Cmd(Cmd::Cc(m)) => {
            assert!(m.extensions.rate().is_some(), "EXT_RATE makes receivers answer");
            Said::Probe { clock: m.send_time }
        }
        Message::Cmd(Cmd::RepairAdv(m)) => {
            assert!(m.extensions.cc().is_some(), "EXT_CC always");
            Said::RepairAdv { requests: m.requests.iter().count() }
        }
        Message::Cmd(Cmd::Application(_)) => Said::RollCall,
        Message::Cmd(Cmd::Eot(_)) => Said::Eot,
        other => panic!("unexpected {other:?}"),
    }
}

impl Hand {
    fn new(config: SenderConfig) -> Self {
        Self::with(config, false)
    }

    fn with(config: SenderConfig, unicast: bool) -> Self {
        let mut rng = Rng::new(1);
        let sender = Sender::new(NodeId(1), unicast, config, Time::ZERO, &mut rng);
        let (now, storage) = (Time::ZERO, MemoryStorage::new(u64::MAX));
        let (events, stats) = (EventQueue::new(1000), Stats::default());
        Self { sender, now, rng, storage, events, stats }
    }

    fn call<R>(&mut self, run: impl FnOnce(&mut Sender, &mut Context<'_>) -> R) -> R {
        let mut ctx = Context {
            now: self.now,
            rng: &mut self.rng,
            storage: &mut self.storage,
            events: &mut self.events,
            stats: &mut self.stats,
        };
        run(&mut self.sender, &mut ctx)
    }

    fn enqueue(&mut self, bytes: usize, info: Option<&[u8]>) -> ObjectKey {
        let object = NewObject {
            kind: ObjectKind::Data,
            size: bytes as u64,
            info: info.map(<[u8]>::to_vec),
        };
        let key = self.sender.enqueue(self.now, object, &mut self.events).unwrap();
        self.storage.put(key, (0..bytes).map(|i| i as u8).collect());
        key
    }

    /// What may be said now.
    fn say(&mut self) -> Vec<Said> {
        let mut all = Vec::new();
        loop {
            let mut out = Vec::new();
            if !self.call(|sender, ctx| sender.poll_message(ctx, &mut out)) {
                return all;
            }
            all.push(said(&out));
        }
    }

    /// Runs until `end` as a driver does; what was said, and how often it was woken.
    fn run_until(&mut self, end: Time) -> (Vec<(Time, Said)>, usize) {
        let (mut all, mut wakes) = (Vec::new(), 0);
        loop {
            let now = self.now;
            all.extend(self.say().into_iter().map(|said| (now, said)));
            let next = self.sender.next_timeout().map(|(at, _)| at).filter(|at| *at <= end);
            let Some(at) = next else { break };
            wakes += 1;
            assert!(
                wakes < 100_000,
                "the sender spins at {} {:?}",
                self.now,
                self.sender.next_timeout()
            );
            self.now = self.now.max(at);
            self.call(|sender, ctx| sender.on_timeout(ctx));
        }
        self.now = end;
        (all, wakes)
    }

    /// Runs on for a time; what was said but for probes.
    fn run(&mut self, time: Duration) -> Vec<Said> {
        let (all, _) = self.run_until(self.now + time);
        all.into_iter().map(|(_, s)| s).filter(|s| !matches!(s, Said::Probe { .. })).collect()
    }

    fn nack(&mut self, from: u32, unicast: bool, write: impl FnOnce(&mut RequestWriter)) {
        let bytes = nack(from, write);
        let Ok(Message::Nack(nack)) = Message::parse(&bytes) else { panic!("not a NACK") };
        self.call(|sender, ctx| sender.on_nack(ctx, &meta(unicast), &nack));
    }

    fn ask(&mut self, from: u32, block: u32, symbols: core::ops::Range<u16>) {
        self.nack(from, false, |w| {
            for symbol in symbols {
                assert!(w.item(SEGMENT, OBJECT, id(block, symbol)));
            }
        });
    }

    fn ack(&mut self, from: u32, kind: AckKind<'_>, echo: Option<SendTime>, instance: u16) {
        let feedback = FeedbackFields {
            sequence: Sequence(0),
            source_id: NodeId(from),
            server_id: NodeId(1),
            instance_id: InstanceId(instance),
            grtt_response: echo,
        };
        let ack = Ack { feedback, kind, ack_id: 0, extensions: Extensions::default() };
        self.call(|sender, ctx| sender.on_ack(ctx, &meta(false), &ack));
    }

    fn ack_flush(&mut self, from: u32, object: u16, block: u32, symbol: u16) {
        let id = FecPayloadId {
            block: SourceBlockNumber(block),
            block_len: 0,
            symbol: EncodingSymbolId(symbol),
        };
        let coding = &self.sender.coding;
        let payload_id = RawPayloadId::pack(coding.fec_id, coding.field, id);
        let object_transport_id = ObjectTransportId(object);
        self.ack(from, AckKind::Flush(FlushAck { object_transport_id, payload_id }), None, 1);
    }

    fn events(&mut self) -> Vec<Event> {
        core::iter::from_fn(|| self.events.pop()).collect()
    }
}

fn data(said: &[Said]) -> Vec<(u32, u16)> {
    let data = |s: &Said| match s {
        Said::Data { block, symbol, .. } => Some((*block, *symbol)),
        _ => None,
    };
    said.iter().filter_map(data).collect()
}

fn flushes(said: &[Said]) -> usize {
    said.iter().filter(|s| matches!(s, Said::Flush { .. })).count()
}

/// 16 symbols in two blocks, sent, not flushed yet.
fn sent() -> Hand {
    let mut hand = Hand::new(config());
    hand.enqueue(1600, None);
    assert_eq!(data(&hand.run(ms(5))).len(), 16);
    hand
}

#[test]
fn a_sender_with_nothing_to_do_says_nothing_and_sleeps() {
    let mut hand = Hand::new(config());
    assert_eq!((hand.say(), hand.sender.next_timeout()), (Vec::new(), None));
    assert!(hand.sender.is_idle());
}

#[test]
fn the_first_message_is_a_probe_then_come_info_and_data_in_order() {
    let mut hand = Hand::new(config());
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
    let mut hand = Hand::new(SenderConfig { rate: Bitrate::kbps(80), ..config() });
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
    let mut hand = Hand::new(config());
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
    let mut hand = Hand::with(config(), true);
    hand.enqueue(1600, None);
    hand.run(ms(10));
    hand.ask(2, 0, 8..9);
    assert_eq!(data(&hand.say()), [(0, 8)]);
}

#[test]
fn the_flush_goes_robustly_often_names_the_last_symbol_and_ends_with_an_event() {
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
fn a_flush_outlasts_receivers_that_wait_by_an_older_longer_grtt() {
    let mut hand = Hand::new(SenderConfig { grtt_initial: ms(250), ..config() });
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
    let mut hand = Hand::new(config());
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
    let mut hand = Hand::new(config());
    hand.enqueue(1600, None);
    hand.sender.set_watermark(hand.now, &[NodeId(2)]);
    hand.run(ms(5));
    hand.ask(2, 0, 8..9);
    let said = hand.run(ms(300));
    assert!(matches!(said[0], Said::Data { .. }), "{said:?}");
    assert_eq!(flushes(&said), 3, "attempts begin again");
}

#[test]
fn a_cancelled_object_is_squelched_and_so_are_requests_for_it() {
    let mut hand = Hand::new(config());
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
    let mut hand = Hand::new(config());
    for _ in 0..3 {
        hand.enqueue(100, None);
    }
    hand.run(ms(10));
    hand.sender.cancel(hand.now, ObjectTransportId(1), &mut hand.events);
    assert_eq!(hand.run(ms(2))[0], Said::Squelch { earliest: 0, invalid: alloc::vec![1] });
}

#[test]
fn an_empty_object_is_its_info_even_when_it_has_none() {
    for (info, payload) in [(None, &b""[..]), (Some(&b"name"[..]), b"name")] {
        let mut hand = Hand::new(config());
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
fn an_object_that_cannot_be_read_is_withdrawn_and_the_rest_goes_on() {
    let mut hand = Hand::new(config());
    let bad = hand.enqueue(1600, Some(b"bad"));
    hand.enqueue(300, None);
    hand.storage.take(bad);
    let said = hand.run(ms(20));
    assert!(matches!(said[1], Said::Squelch { earliest: 1, .. }), "{said:?}");
    assert_eq!(data(&said).len(), 3);
    assert_eq!(hand.stats.dropped(DropReason::Storage), 1);
    assert!(hand.events().contains(&Event::ObjectPurged { key: bad }));
    let mut bytes = [0];
    assert_eq!(hand.storage_read(bad, &mut bytes), Err(StorageError::Failed));
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
    let mut hand = Hand::new(SenderConfig { grtt_initial: ms(250), ..config() });
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
fn a_held_sender_probes_and_calls_the_roll_but_sends_no_object() {
    let mut hand = Hand::new(config());
    hand.sender.hold(hand.now, true);
    hand.sender.set_roll_call(hand.now, Some((Vec::new(), ms(100))));
    hand.enqueue(1600, None);
    let (all, _) = hand.run_until(Time::ZERO + ms(450));
    assert!(all.iter().all(|(_, s)| matches!(s, Said::Probe { .. } | Said::RollCall)));
    assert_eq!(all.iter().filter(|(_, s)| *s == Said::RollCall).count(), 5);
    hand.sender.hold(hand.now, false);
    assert_eq!(data(&hand.run(ms(20))).len(), 16);
}

#[test]
fn good_bye_is_said_after_the_flush_and_nothing_after_it() {
    let mut hand = Hand::new(config());
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
    let mut hand = Hand::new(SenderConfig { cache_objects: 2, ..config() });
    hand.enqueue(100, None);
    hand.enqueue(100, None);
    let object = NewObject { kind: ObjectKind::Data, size: 1, info: None };
    let refused = hand.sender.enqueue(hand.now, object.clone(), &mut hand.events);
    assert_eq!(refused, Err(EnqueueError::CacheFull { objects: 2 }));
    hand.run(ms(1000));
    assert!(hand.events().iter().any(|e| matches!(e, Event::ObjectPurged { .. })));
    assert!(hand.sender.enqueue(hand.now, object, &mut hand.events).is_ok());
}

#[test]
fn a_paused_sender_does_not_spin_and_resumes() {
    let mut hand = Hand::new(SenderConfig { rate: Bitrate::bps(0), ..config() });
    hand.enqueue(1600, None);
    let (said, wakes) = hand.run_until(Time::ZERO + ms(1000));
    assert_eq!((said.len(), wakes), (0, 0));
    hand.sender.set_rate(hand.now, Bitrate::mbps(8));
    assert_eq!(hand.sender.next_timeout().map(|(_, timer)| timer), Some(Timer::Pace));
    assert_eq!(data(&hand.run(ms(20))).len(), 16);
}

impl Hand {
    fn storage_read(&mut self, key: ObjectKey, into: &mut [u8]) -> Result<(), StorageError> {
        crate::storage::Storage::read(&mut self.storage, key, 0, into)
    }
}
