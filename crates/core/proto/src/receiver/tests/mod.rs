//! A receiver without a network: tests feed it messages of an imaginary sender, and look at its
//! events, bytes and feedback.

mod batch;
mod complete;
mod confirm;
mod incarnations;
mod peer_repair;
mod repair;
mod resume;
mod status;
mod stream;
mod stream_crowd;
mod turns;
mod watermark;

use super::RemoteSenders;
use crate::{
    config::{FeedbackPath, ReceiverConfig},
    context::Context,
    datagram::{Destination, RecvMeta},
    event::{Event, EventQueue},
    rng::Rng,
    roll_call,
    stats::Stats,
    storage::{MemoryStorage, ObjectKey},
    time::{Duration, Time},
    timer::Timer,
};
use alloc::{format, string::String, vec, vec::Vec};
use core::net::SocketAddr;
use fanfare_fec::{Code, Field, Matrix};
use fanfare_wire::{
    Data, EncodingSymbolId, FecId, FecPayloadId, FieldSize, Info, InstanceId, Message, NodeId,
    ObjectFlags, ObjectTransportId, QuantizedRtt, RepairForm, Sequence, SourceBlockNumber,
    cmd::{Application, Eot, Flush, NodeIds, ObjectIds, Squelch},
    ext::{Extensions, Fti},
    fec::RawPayloadId,
    header::SenderFields,
    quantized::GroupSize,
};

pub(super) const SENDER: NodeId = NodeId(1);
pub(super) const RECEIVER: NodeId = NodeId(2);
pub(super) const GRTT: Duration = Duration::from_millis(50);
/// After so long a claim that is repeated is believed.
pub(super) const CONFIRMED: Duration = Duration::from_millis(1_100);

/// The sender's side, as far as a receiver sees it: blocks of 4 + 2, segments of 10 bytes.
pub(super) struct Script {
    pub(super) id: NodeId,
    pub(super) instance: u16,
    pub(super) sequence: u16,
    pub(super) with_fti: bool,
    /// What its INFO and DATA say beside.
    pub(super) area: Vec<u8>,
}

pub(super) fn content(object: u16, size: usize) -> Vec<u8> {
    (0..size).map(|n| (n * 7 + usize::from(object) * 13 + n / 256) as u8).collect()
}

impl Script {
    pub(super) fn new() -> Self {
        Self { id: SENDER, instance: 1, sequence: 0, with_fti: true, area: Vec::new() }
    }

    pub(super) fn fields(&mut self) -> SenderFields {
        self.sequence = self.sequence.wrapping_add(1);
        SenderFields {
            sequence: Sequence(self.sequence),
            source_id: self.id,
            instance_id: InstanceId(self.instance),
            grtt: QuantizedRtt::from_nanos(GRTT.as_nanos() as u64),
            backoff: 4,
            gsize: GroupSize::from_receivers(1000),
        }
    }

    pub(super) fn fti(size: usize) -> Fti {
        super::format::tests::small(size as u64, 10)
    }

    /// Symbol of a `size`-byte object; symbols from the block's length on are parity.
    pub(super) fn data(&mut self, object: u16, size: usize, block: u32, symbol: u16) -> Vec<u8> {
        let bytes = content(object, size);
        let p = crate::partition::Partition::new(size as u64, 10, 4, 1 << 24).unwrap();
        let len = p.block_len(SourceBlockNumber(block));
        let span = |s| {
            let (at, n) = p.span(SourceBlockNumber(block), s).unwrap();
            &bytes[at as usize..at as usize + n]
        };
        let payload = if symbol < len {
            span(symbol).to_vec()
        } else {
            let code = Code::new(Field::Gf8, Matrix::Nrl, 4, 2).unwrap();
            let source: Vec<&[u8]> = (0..len).map(span).collect();
            let mut parity = vec![0; 10];
            code.encode(&source, usize::from(symbol - len), &mut [&mut parity]);
            parity
        };
        self.raw_data(object, Some(Self::fti(size)), block, symbol, &payload)
    }

    pub(super) fn raw_data(
        &mut self,
        object: u16,
        fti: Option<Fti>,
        block: u32,
        symbol: u16,
        payload: &[u8],
    ) -> Vec<u8> {
        let mut out = Vec::new();
        let data = Data {
            sender: self.fields(),
            flags: ObjectFlags(0),
            object_transport_id: ObjectTransportId(object),
            payload_id: raw(block, symbol),
            extensions: Extensions::parse(&self.area).unwrap(),
            payload: &[],
        };
        data.encode_header(fti.filter(|_| self.with_fti).as_ref(), &mut out);
        out.extend_from_slice(payload);
        out
    }

    pub(super) fn info(&mut self, object: u16, size: usize, payload: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        let info = Info {
            sender: self.fields(),
            flags: ObjectFlags(ObjectFlags::INFO),
            fec_id: FecId::ReedSolomon8,
            object_transport_id: ObjectTransportId(object),
            extensions: Extensions::parse(&self.area).unwrap(),
            payload,
        };
        info.encode(Some(&Self::fti(size)), &mut out);
        out
    }

    pub(super) fn flush(&mut self, object: u16, id: RawPayloadId, nodes: &[NodeId]) -> Vec<u8> {
        let mut out = Vec::new();
        let flush = Flush {
            sender: self.fields(),
            object_transport_id: ObjectTransportId(object),
            payload_id: id,
            extensions: Extensions::default(),
            acking_nodes: NodeIds::default(),
        };
        flush.encode(None, nodes, &mut out);
        out
    }

    pub(super) fn squelch(&mut self, object: u16) -> Vec<u8> {
        let mut out = Vec::new();
        let squelch = Squelch {
            sender: self.fields(),
            object_transport_id: ObjectTransportId(object),
            payload_id: raw(0, 0),
            extensions: Extensions::default(),
            invalid_objects: ObjectIds::default(),
        };
        squelch.encode(&[], &mut out);
        out
    }

    pub(super) fn application(&mut self, content: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        let sender = self.fields();
        Application { sender, extensions: Extensions::default(), content }.encode(&mut out);
        out
    }

    pub(super) fn roll_call(&mut self, known: &[NodeId]) -> Vec<u8> {
        let mut content = Vec::new();
        roll_call::encode(Duration::from_millis(200), (known, 0), b"", 100, &mut content);
        self.application(&content)
    }

    pub(super) fn end(&mut self) -> Vec<u8> {
        let mut out = Vec::new();
        Eot { sender: self.fields(), extensions: Extensions::default() }.encode(&mut out);
        out
    }
}

pub(super) fn raw(block: u32, symbol: u16) -> RawPayloadId {
    let id = FecPayloadId {
        block: SourceBlockNumber(block),
        block_len: 0,
        symbol: EncodingSymbolId(symbol),
    };
    RawPayloadId::pack(FecId::ReedSolomon8, FieldSize::M8, id)
}

/// The receiver under test and everything it touches.
pub(super) struct Harness {
    pub(super) senders: RemoteSenders,
    pub(super) now: Time,
    pub(super) storage: MemoryStorage,
    pub(super) stats: Stats,
    pub(super) source: SocketAddr,
    pub(super) sent: Vec<(Destination, Vec<u8>)>,
    pub(super) rng: Rng,
    queue: EventQueue,
}

impl Harness {
    pub(super) fn new(config: ReceiverConfig) -> Self {
        Self::on(FeedbackPath::Group, false, config)
    }

    pub(super) fn on(feedback: FeedbackPath, unicast: bool, config: ReceiverConfig) -> Self {
        Self {
            senders: RemoteSenders::new(RECEIVER, feedback, unicast, config),
            now: Time::ZERO,
            storage: MemoryStorage::new(1 << 20),
            stats: Stats::default(),
            source: SocketAddr::from(([10, 0, 0, 1], 6003)),
            sent: Vec::new(),
            rng: Rng::new(1),
            queue: EventQueue::new(10_000),
        }
    }

    fn with<R>(&mut self, run: impl FnOnce(&mut RemoteSenders, &mut Context<'_>) -> R) -> R {
        let mut ctx = Context {
            now: self.now,
            rng: &mut self.rng,
            storage: &mut self.storage,
            events: &mut self.queue,
            stats: &mut self.stats,
        };
        run(&mut self.senders, &mut ctx)
    }

    /// What is here of the first block of an object of the sender's, in this instance of it.
    pub(super) fn held(&self, instance: u16, object: u16) -> Option<crate::HeldBlock> {
        let (instance, object) = (InstanceId(instance), ObjectTransportId(object));
        self.senders.held(ObjectKey { sender: SENDER, instance, object }, 0)
    }

    /// A datagram arrives; what is due is said.
    pub(super) fn hear(&mut self, datagram: &[u8]) {
        let meta =
            RecvMeta { source: self.source, ecn: None, unicast: false, waited: Duration::ZERO };
        let message = Message::parse(datagram).unwrap();
        self.with(|senders, ctx| match &message {
            Message::Nack(nack) => senders.on_overheard_nack(ctx, nack),
            Message::Ack(ack) => senders.on_overheard_ack(ctx, ack),
            message => senders.on_sender_message(ctx, &meta, message, datagram.len()),
        });
        self.speak();
    }

    fn speak(&mut self) {
        let mut out = Vec::new();
        while let Some(to) = self.with(|senders, ctx| senders.poll_message(ctx, &mut out)) {
            self.sent.push((to, core::mem::take(&mut out)));
        }
    }

    /// Time passes, with every timer on the way.
    pub(super) fn pass(&mut self, time: Duration) -> usize {
        let (end, mut wakes) = (self.now + time, 0);
        while let Some((at, _)) = self.senders.next_timeout().filter(|(at, _)| *at <= end) {
            self.now = self.now.max(at);
            self.with(|senders, ctx| senders.on_timeout(ctx));
            self.speak();
            wakes += 1;
            assert!(wakes < 10_000, "spins at {at}");
        }
        self.now = end;
        wakes
    }

    pub(super) fn next(&self) -> Option<(Time, Timer)> {
        self.senders.next_timeout()
    }

    pub(super) fn cancel(&mut self, key: ObjectKey) {
        self.with(|senders, ctx| senders.cancel(ctx, key));
    }

    pub(super) fn have(&mut self, object: u16, offset: u64, len: u64) -> bool {
        self.with(|senders, ctx| senders.have(ctx, key(object), (offset, len)))
    }

    pub(super) fn reject(&mut self, object: u16, offset: u64, len: u64) -> bool {
        self.with(|senders, ctx| senders.reject(ctx.now, ctx.rng, key(object), (offset, len)))
    }

    pub(super) fn reject_info(&mut self, object: u16) -> bool {
        self.with(|senders, ctx| senders.reject_info(ctx.now, ctx.rng, key(object)))
    }

    pub(super) fn examine(&mut self, object: u16, examined: bool) -> bool {
        self.with(|senders, ctx| senders.examine(ctx.now, ctx.rng, key(object), examined))
    }

    pub(super) fn events(&mut self) -> Vec<Event> {
        core::iter::from_fn(|| self.queue.pop()).collect()
    }

    /// Short names of the events, for comparison.
    pub(super) fn told(&mut self) -> Vec<String> {
        let name = |event: &Event| match event {
            Event::SenderNew { .. } => "sender".into(),
            Event::SenderReset { .. } => "reset".into(),
            Event::SenderInactive { .. } => "inactive".into(),
            Event::SenderEnded { .. } => "ended".into(),
            Event::ObjectNew { key, .. } => format!("new {}", key.object),
            Event::ObjectInfo { key, .. } => format!("info {}", key.object),
            Event::ObjectCompleted { key, .. } => format!("complete {}", key.object),
            Event::ObjectAborted { key, reason } => format!("aborted {} {reason:?}", key.object),
            other => format!("{other:?}"),
        };
        self.events().iter().map(name).collect()
    }

    pub(super) fn bytes(&self, object: u16) -> Option<&[u8]> {
        self.storage.get(key(object))
    }

    /// What was requested in NACKs so far, readably; clears what was sent.
    pub(super) fn asked(&mut self) -> Vec<String> {
        let mut asked = Vec::new();
        for (_, datagram) in core::mem::take(&mut self.sent) {
            if let Message::Nack(nack) = Message::parse(&datagram).unwrap() {
                nack.requests.iter().for_each(|request| shown(&request, &mut asked));
            }
        }
        asked
    }

    /// Acknowledgements sent so far; clears what was sent.
    pub(super) fn acks(&mut self) -> Vec<String> {
        let mut acks = Vec::new();
        for (_, datagram) in core::mem::take(&mut self.sent) {
            if let Message::Ack(ack) = Message::parse(&datagram).unwrap() {
                acks.push(match ack.kind {
                    fanfare_wire::AckKind::Cc => "cc".into(),
                    fanfare_wire::AckKind::Flush(f) => format!("flush {}", f.object_transport_id),
                    fanfare_wire::AckKind::Application(kind, bytes) => {
                        format!("{kind} {}", String::from_utf8_lossy(bytes))
                    }
                });
            }
        }
        acks
    }
}

fn shown(request: &fanfare_wire::RepairRequest<'_>, asked: &mut Vec<String>) {
    let items: Vec<String> = request
        .iter()
        .map(|item| {
            let id = item.id(FieldSize::M8);
            let object = item.object_transport_id;
            match request.level.0 {
                8 => format!("object {object}"),
                4 => format!("info {object}"),
                2 => format!("block {object}/{}", id.block),
                _ => format!("{object}/{}/{}", id.block, id.symbol),
            }
        })
        .collect();
    match request.form {
        RepairForm::Ranges => asked.push(items.join(" to ")),
        _ => asked.extend(items),
    }
}

pub(super) fn key(object: u16) -> ObjectKey {
    ObjectKey { sender: SENDER, instance: InstanceId(1), object: ObjectTransportId(object) }
}
