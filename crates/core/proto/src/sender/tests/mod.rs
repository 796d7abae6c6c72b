//! A whole sender without a network: what it sends, and when.

mod cover;
mod ending;
mod info_repair;
mod release;
mod repairing;
mod sending;
mod small_group;
mod stream;
mod turns;

use super::{
    demand::tests::{id, nack},
    *,
};
use crate::{
    config::FecConfig,
    datagram::RecvMeta,
    event::WatermarkOutcome,
    rng::Rng,
    stats::{DropReason, Stats},
    storage::{MemoryStorage, ObjectKind},
    timer::Timer,
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
struct Harness {
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
    RecvMeta {
        source: SocketAddr::from(([10, 0, 0, 2], 6003)),
        ecn: None,
        unicast,
        waited: Duration::ZERO,
    }
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

impl Harness {
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
        self.enqueue_as(bytes, info, FirstPass::Whole)
    }

    fn enqueue_as(&mut self, bytes: usize, info: Option<&[u8]>, pass: FirstPass) -> ObjectKey {
        let object = NewObject {
            kind: ObjectKind::Data,
            size: bytes as u64,
            info: info.map(<[u8]>::to_vec),
            pass,
        };
        let key = self.sender.enqueue(self.now, (object, None), &mut self.events).unwrap();
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
fn sent() -> Harness {
    let mut hand = Harness::new(config());
    hand.enqueue(1600, None);
    assert_eq!(data(&hand.run(ms(5))).len(), 16);
    hand
}
