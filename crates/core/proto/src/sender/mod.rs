//! Objects to send, and everything that keeps them repairable (RFC 5740 5.1, 5.4, 5.5).
//!
//! [`Sender`] owns the machines and decides which of them sends next. Each rule is in a machine.
//!
//! # Map, in reading order
//! - `objects`: what was sent of each object, and what must be sent again
//! - `mending`: requests for repair, and how repairs and new data share the rate
//! - `ending`: the start of a transfer, watermarks, the end, good-bye
//! - `group`: what is known of the receivers; `feedback` passes NACKs and ACKs to the machines
//! - `stream`: what an application writes without an end
//! - `tuning`: settings that change while it runs
//! - `schedule`: which machine sends next; `messages`: writes the messages; `batch`: many at once

mod batch;
mod ending;
mod group;
mod mending;
mod messages;
mod objects;
mod schedule;
mod stream;
mod tuning;

#[cfg(test)]
mod tests;

use crate::{
    config::{FtiMode, SenderConfig},
    congestion::{
        Limits, RateController, Reason,
        flow_control::FlowControl,
        grtt::{Grtt, GrttLimits},
        pacer::Pacer,
    },
    context::Context,
    datagram::Ecn,
    enqueue::{EnqueueError, FirstPass, NewObject, Turn},
    event::{Event, EventQueue},
    rate::Bitrate,
    report::ReceiverReport,
    rng::Rng,
    roll_call::RollCalls,
    storage::ObjectKey,
    time::{Duration, Time},
};
use ack::{Point, Watermark};
use alloc::{boxed::Box, collections::BTreeSet, vec::Vec};
use cache::{Cache, Found};
use coding::Coding;
use cover::Cover;
use ending::{ack, eot, flush};
use eot::Eot;
use fanfare_wire::{
    GroupSize, NodeId, ObjectTransportId, QuantizedRtt, Sequence, header::SenderFields,
};
use flush::Flush;
use group::{
    heeded::Heeded, lossy_receivers::LossyReceivers, probe, receivers, roll_call,
    sent_messages::SentMessages, set_aside::SetAside, slow_receivers,
};
use in_flight::InFlight;
use mending::{
    cover, demand, in_flight, once, peer_repair, repair, repair_adv, repair_share, squelch, worth,
};
use object::TransmitObject;
use objects::{
    block, block_ranges, cache, coding, object, object_message, parity, piece, stream_detector,
    symbol_batch,
};
use parity::ParityCache;
use piece::Piece;
use probe::Probe;
use receivers::Receivers;
use repair::{CycleTiming, RepairCycle};
use repair_adv::RepairAdvert;
use repair_share::RepairShare;
use roll_call::RollCaller;
use slow_receivers::SlowReceivers;
use squelch::Squelch;
use stream_detector::StreamDetector;

/// An object that was sent or requested within this many GRTT * (K + 1) is not purged to make room,
/// nor within the least time. NRL's flow control factor is 2; but a receiver may be in hold-off for
/// (K + 2) GRTT, back off for K, and be gathered for K + 1: 3 K + 4 in all, with the way there and
/// back. With 2, 0.5 % of a row of small objects were purged before their first repair at 1 % loss.
const FLOW_CONTROL_FACTOR: f64 = 4.0;
const FLOW_CONTROL_MIN: Duration = Duration::from_millis(20);
/// A receiver's NACK cycle is a backoff of up to K and a hold-off of K + 2 GRTT (RFC 5740 5.3), and
/// its request takes one to arrive.
const CYCLE_BEYOND_BACKOFF: u32 = 3;
/// So many receivers need not leave time to each other: if all of them asked at once, their requests
/// would be as many as those that slip through in a large group. The least group that can be
/// advertised, in which receivers take the short back-off.
const SMALL_GROUP: usize = 10;
/// Their backoff factor. Not zero: two that lack the same still mostly ask but once.
const SMALL_GROUP_BACKOFF: u8 = 1;
/// Flushes that go without regard to the least interval: at 30 % loss one in 100 times all of them,
/// or the requests that they cause, are lost.
const PROMPT_FLUSHES: u32 = 6;
/// Headers counted with a segment when a packet interval is reckoned (NRL's value).
const HEADER_ALLOWANCE: usize = 44;

/// The sending half of a session.
#[derive(Debug)]
pub struct Sender {
    node_id: NodeId,
    config: SenderConfig,
    /// The session has one receiver.
    unicast: bool,
    /// So many listen, and all of them are known.
    few: Option<usize>,
    coding: Coding,
    now: Time,
    /// When the machines were last told the time.
    ticked: Option<Time>,
    sequence: Sequence,
    messages: SentMessages,
    controller: Box<dyn RateController>,
    /// Data was sent since the last probe.
    active: bool,
    /// GRTT as it travels, and what that stands for.
    advertised: (QuantizedRtt, Duration),
    /// Receivers may be waiting until then by a GRTT much longer than the present one: what goes
    /// unanswered before does not count.
    answerable_from: Time,
    held: bool,
    /// So many parts more may go before it is asked again whose turn it is.
    batch_left: u8,
    /// Backoff factor and group size, as they travel.
    repeated: (u8, GroupSize),
    /// Source bytes of first passes sent.
    progress: u64,
    /// What was said last, if it was a part of an object, and of which.
    last: Option<(u64, Piece)>,
    /// Ordinal and block sent last.
    position: Option<(u64, u32)>,
    /// Objects that have left, and whether they were sent whole: to be closed when storage is at
    /// hand.
    closing: Vec<(ObjectKey, bool)>,
    cache: Cache,
    parity: ParityCache,
    repair: RepairCycle,
    in_flight: InFlight,
    cover: Cover,
    share: RepairShare,
    repair_adv: RepairAdvert,
    squelch: Squelch,
    flush: Flush,
    /// Objects of no bytes are flushed, too.
    flushes_infos: bool,
    watermark: Watermark,
    /// What those who acknowledge it are asked to answer.
    question: Option<Vec<u8>>,
    /// Cycles of requests that what was sent is kept for ([`FLOW_CONTROL_FACTOR`]); none: it may go
    /// at once.
    patience: f64,
    grtt: Grtt,
    probe: Probe,
    receivers: Receivers,
    slow: SlowReceivers,
    aside: SetAside,
    lossy: LossyReceivers,
    /// Receivers that need nothing more, as the application says.
    finished: BTreeSet<NodeId>,
    heeded: Heeded,
    stream: StreamDetector,
    /// Ordinals of streams that may be written to.
    streams: Vec<u64>,
    roll_call: RollCaller,
    pacer: Pacer,
    flow_control: FlowControl,
    /// The most that may be sent for now, whatever the rate is.
    ceiling: Option<Bitrate>,
    eot: Eot,
}

impl Sender {
    /// A sender that speaks from `now` on, as soon as it has something to do.
    pub fn new(
        node_id: NodeId,
        unicast: bool,
        config: SenderConfig,
        now: Time,
        rng: &mut Rng,
    ) -> Self {
        let rate_limits =
            Limits::new(config.rate, usize::from(config.segment_size), config.grtt_initial);
        let rate_limits = Limits { open: config.open_group, ..rate_limits };
        let limits = GrttLimits {
            min: config.grtt_min,
            max: config.grtt_max,
            unicast,
            decay_interval: config.probe_min,
        };
        let mut sender = Self {
            node_id,
            unicast,
            few: None,
            coding: Coding::new(&config),
            now,
            ticked: None,
            sequence: Sequence(0),
            messages: SentMessages::default(),
            controller: config.congestion.start(rate_limits, now),
            active: false,
            advertised: (QuantizedRtt(0), Duration::ZERO),
            answerable_from: now,
            held: false,
            batch_left: 0,
            repeated: (0, GroupSize(0)),
            progress: 0,
            last: None,
            position: None,
            closing: Vec::new(),
            cache: Cache::new(config.cache_objects, config.cache_bytes),
            parity: ParityCache::new(config.parity_cache),
            repair: RepairCycle::new(),
            in_flight: InFlight::default(),
            cover: Cover::default(),
            share: RepairShare::new(config.repair_share),
            repair_adv: RepairAdvert::default(),
            squelch: Squelch::default(),
            flush: Flush::new(config.robust_factor),
            flushes_infos: true,
            watermark: Watermark::new(config.robust_factor, config.patience),
            question: None,
            patience: FLOW_CONTROL_FACTOR,
            grtt: Grtt::new(now, config.grtt_initial, limits),
            probe: Probe::new(now, config.probe_min, config.probe_max, rng),
            receivers: Receivers::default(),
            slow: SlowReceivers::default(),
            aside: SetAside::default(),
            lossy: LossyReceivers::default(),
            finished: BTreeSet::new(),
            heeded: Heeded::default(),
            stream: StreamDetector::default(),
            streams: Vec::new(),
            roll_call: RollCaller::new(),
            pacer: Pacer::new(now, config.burst),
            flow_control: FlowControl::new(),
            ceiling: None,
            eot: Eot::default(),
            config,
        };
        sender.advertise_grtt();
        sender
    }

    /// Takes an object into the cache, making room if an older one may go. Without a turn it is sent
    /// behind all that came before.
    pub fn enqueue(
        &mut self,
        now: Time,
        (object, turn): (NewObject, Option<Turn>),
        events: &mut EventQueue,
    ) -> Result<ObjectKey, EnqueueError> {
        self.now = self.now.max(now);
        let NewObject { kind, size, info, pass } = object;
        self.check_info(info.as_ref())?;
        let partition = self.coding.partition(size);
        let max = self.coding.object_limit();
        let partition = partition.ok_or(EnqueueError::TooLarge { size, max })?;
        self.make_room(events)?;
        // Something must carry EXT_FTI, and an object without symbols needs something to carry it:
        // NRL's receivers complete an empty object on its INFO.
        let must_have_info =
            size == 0 || self.config.fti == FtiMode::InfoOnly || pass == FirstPass::OnDemand;
        let info = info.or_else(|| must_have_info.then(Vec::new));
        let key = self.key(self.cache.next_id());
        let object = TransmitObject::new(self.now, key, kind, partition, info).in_turn(turn);
        self.slow.on_enqueued();
        self.stream.on_enqueued(self.now, self.nack_cycle());
        self.cache.push(match pass {
            FirstPass::Whole => object,
            FirstPass::Awaited => object.awaited(),
            FirstPass::WithParity(more) => object.with_parity(more),
            FirstPass::OnDemand => object.on_demand(),
            FirstPass::Before(age) => object.sent_before(self.now, age),
        });
        Ok(key)
    }

    fn check_info(&self, info: Option<&Vec<u8>>) -> Result<(), EnqueueError> {
        if self.eot.is_asked() {
            return Err(EnqueueError::Closed);
        }
        let max = usize::from(self.coding.segment_size);
        match info.map(Vec::len).filter(|bytes| *bytes > max) {
            Some(bytes) => Err(EnqueueError::InfoTooLong { bytes, max }),
            None => Ok(()),
        }
    }

    /// The next object gets this id.
    pub fn resume_at(&mut self, id: ObjectTransportId) {
        self.cache.skip_to(id);
    }

    /// The key that the object enqueued next gets.
    #[must_use]
    pub fn next_key(&self) -> ObjectKey {
        self.key(self.cache.next_id())
    }

    fn key(&self, object: ObjectTransportId) -> ObjectKey {
        ObjectKey { sender: self.node_id, instance: self.config.instance_id, object }
    }

    fn make_room(&mut self, events: &mut EventQueue) -> Result<(), EnqueueError> {
        if !self.cache.is_full() {
            return Ok(());
        }
        let objects = self.cache.len();
        let purged = self.cache.make_room(self.now, self.quiet());
        self.on_purged(&purged.ok_or(EnqueueError::CacheFull { objects })?, events);
        Ok(())
    }

    fn on_purged(&mut self, object: &TransmitObject, events: &mut EventQueue) {
        events.push(Event::ObjectPurged { key: object.key });
        self.closing.push((object.key, object.sent.is_some()));
    }

    /// Sends a cached object once more from its start; false when it is gone.
    pub fn requeue(&mut self, now: Time, object: ObjectTransportId) -> bool {
        self.now = self.now.max(now);
        let Found::Cached(ordinal) = self.cache.find(object) else { return false };
        match self.cache.get_mut(ordinal) {
            Some(object) if object.stream.is_some() => return false,
            Some(object) => object.requeue(),
            None => {}
        }
        self.cache.refresh(ordinal);
        true
    }

    /// Withdraws an object and says so to receivers that have begun with it; false when it is gone.
    pub fn cancel(
        &mut self,
        now: Time,
        object: ObjectTransportId,
        events: &mut EventQueue,
    ) -> bool {
        self.now = self.now.max(now);
        let Found::Cached(ordinal) = self.cache.find(object) else { return false };
        self.withdraw(ordinal, events);
        true
    }

    /// Lets go of an object that nobody needs any more; false when it is gone.
    pub fn release(
        &mut self,
        now: Time,
        object: ObjectTransportId,
        events: &mut EventQueue,
    ) -> bool {
        self.now = self.now.max(now);
        let Found::Cached(ordinal) = self.cache.find(object) else { return false };
        let Some(object) = self.cache.remove(ordinal) else { return false };
        if self.cache.newest_begun().is_none() {
            self.flush.abandon();
        }
        self.on_purged(&object, events);
        true
    }

    fn withdraw(&mut self, ordinal: u64, events: &mut EventQueue) {
        let Some(object) = self.cache.remove(ordinal) else { return };
        if object.has_begun() {
            self.squelch.on_gone(&[object.key.object]);
        }
        if self.cache.newest_begun().is_none() {
            self.flush.abandon();
        }
        self.on_purged(&object, events);
    }

    /// Asks `nodes` to acknowledge the last object enqueued and all before it.
    pub fn set_watermark(&mut self, now: Time, nodes: &[NodeId]) {
        self.now = self.now.max(now);
        let newest = self.cache.newest().map(|(ordinal, _)| ordinal);
        let point = newest.and_then(|ordinal| self.end_of(ordinal));
        self.question = None;
        self.begin_watermark(point, nodes);
    }

    /// Where an object ends; a stream as far as it was packed.
    fn end_of(&mut self, ordinal: u64) -> Option<Point> {
        let object = self.cache.get(ordinal)?;
        if object.stream.is_some() {
            return self.stream_point(ordinal);
        }
        let (key, id) = (object.key, object.partition.last());
        Some(Point { ordinal, object: key.object, id, until: 0 })
    }

    fn begin_watermark(&mut self, point: Option<Point>, nodes: &[NodeId]) {
        let served = |node: &&NodeId| !self.slow.is_evicted(**node);
        let nodes: Vec<NodeId> = nodes.iter().filter(served).copied().collect();
        self.watermark.set(self.now, point, &nodes);
    }

    /// Asks one more node to acknowledge the present or the next watermark.
    pub fn add_acking_node(&mut self, now: Time, node: NodeId) {
        self.now = self.now.max(now);
        if !self.slow.is_evicted(node) {
            self.watermark.add(self.now, node);
        }
    }

    /// No longer asks `node`.
    pub fn remove_acking_node(&mut self, now: Time, node: NodeId) {
        self.now = self.now.max(now);
        self.watermark.remove(node);
    }

    /// No longer listens to `node`, and tells it so when it calls the roll.
    pub fn evict(&mut self, now: Time, node: NodeId) {
        self.now = self.now.max(now);
        self.slow.evict(node);
        self.aside.forget(node);
        self.lossy.forget(node);
        self.controller.on_left(self.now, node);
        self.watermark.remove(node);
        self.receivers.forget_recent(node);
        self.roll_call.give_up(self.now, node);
    }

    /// Serves `node` only after the first pass and the others, or as all others again.
    pub fn defer(&mut self, node: NodeId, defer: bool) {
        self.slow.defer(node, defer);
    }

    /// The rate follows only the reports of those who are named ([`Self::heed`]) from now on.
    pub fn heed_only_named(&mut self) {
        self.heeded.only_named();
    }

    /// Names `node` as one whose reports the rate follows.
    pub fn heed(&mut self, node: NodeId) {
        self.heeded.name(node);
    }

    /// Calls the roll from now on, or no more.
    pub fn set_roll_call(&mut self, now: Time, calls: Option<RollCalls>) {
        self.now = self.now.max(now);
        self.roll_call.set(self.now, calls);
    }

    /// Sets the rate, or the cap of it.
    pub fn set_rate(&mut self, now: Time, rate: Bitrate) {
        self.now = self.now.max(now);
        self.config.rate = rate;
        self.controller.on_rate_set(self.now, rate);
        self.advertise_grtt();
    }

    /// Why the rate is what it is.
    pub fn reason(&self) -> Reason {
        match self.flow_control.node(self.now) {
            Some(node) => Reason::Overrun(node),
            None if self.is_capped() => Reason::Set,
            None => self.controller.reason(),
        }
    }

    /// The controller would send no less than what was set allows.
    fn is_capped(&self) -> bool {
        let most = self.ceiling.map_or(self.config.rate, |most| most.min(self.config.rate));
        self.controller.rate() >= most
    }

    /// How messages are to be marked.
    pub fn ecn(&self) -> Option<Ecn> {
        self.controller.ecn()
    }

    /// The rate at present.
    pub fn rate(&self) -> Bitrate {
        let rate = self.flow_control.flow_control(self.now, self.controller.rate());
        self.ceiling.map_or(rate, |ceiling| rate.min(ceiling))
    }

    /// Sends at most so much, for a moment: what is reckoned from the rate stays as it is.
    pub fn set_ceiling(&mut self, ceiling: Option<Bitrate>) {
        self.ceiling = ceiling;
    }

    /// Whether objects of no bytes are flushed.
    pub fn set_flushes_infos(&mut self, flushes: bool) {
        self.flushes_infos = flushes;
    }

    /// Messages of each flush.
    pub fn set_flushes(&mut self, flushes: u32) {
        self.flush.set_robust(flushes);
    }

    /// The shortest interval of probes after the first few, and the longest.
    pub fn set_probe_range(&mut self, min: Duration, max: Duration) {
        self.config.probe_max = max;
        self.probe.set_range(min, max);
    }

    /// Whether data or repairs wait to be sent.
    pub fn has_data(&self) -> bool {
        !self.held && (self.cache.has_new() || self.cache.has_repair())
    }

    /// Keeps at most so many bytes of computed parity from now on.
    pub fn set_parity_cache(&mut self, max: usize) {
        self.parity.set_max(max);
    }

    /// Whether more room for parity would have been of use since this was asked last.
    pub fn take_parity_shortage(&mut self) -> bool {
        self.parity.take_short()
    }

    /// The GRTT as advertised.
    pub fn grtt(&self) -> Duration {
        self.advertised.1
    }

    /// What a message of the driver's own begins with; it takes part in the count of messages.
    pub fn next_fields(&mut self) -> SenderFields {
        let fields = self.fields();
        self.sequence = self.sequence.next();
        self.messages.on_sent(self.now, 1);
        fields
    }

    /// Says good-bye when all is sent and flushed (at once when held).
    pub fn end(&mut self, now: Time) {
        self.now = self.now.max(now);
        let queued = matches!(self.controller.reason(), Reason::Queue(..));
        self.eot.ask(self.may_leave_quickly(), queued);
    }

    /// Source bytes of first passes sent so far.
    pub fn progress(&self) -> u64 {
        self.progress
    }

    /// What is known of each receiver heard.
    pub fn receivers(&self) -> Vec<ReceiverReport> {
        let mut reports = self.receivers.reports(&self.slow);
        reports
            .iter_mut()
            .for_each(|report| report.deferred &= !self.aside.is_on_trial(report.node));
        reports
    }

    /// The session's time has come.
    pub fn on_timeout(&mut self, ctx: &mut Context<'_>) {
        self.now = self.now.max(ctx.now);
        self.tick(ctx);
    }

    /// Backoff factor as advertised: one receiver need not back off (RFC 5740 5.4.1).
    fn backoff(&self) -> u8 {
        match self.config.backoff_factor.min(15) {
            _ if self.unicast => 0,
            factor if self.is_small_group() => factor.min(SMALL_GROUP_BACKOFF),
            factor => factor,
        }
    }

    /// Whoever was heard without a measure when data began to flow may be measured now.
    fn settle_grtt(&mut self) {
        if !self.held && self.is_small_group() && self.all_measured() {
            self.grtt.settle(self.now);
        }
    }

    /// Whether there are but a few receivers, and all of them are known: each has answered the roll,
    /// and is waited for. Whoever else listens makes itself heard by its answer to a probe.
    fn is_small_group(&self) -> bool {
        let count = self.receivers.len();
        if let Some(few) = self.few {
            return count <= few;
        }
        let waited_for = |node| self.watermark.has(node) || self.slow.is_deferred(node);
        let known = |node| self.receivers.is_ours(node) && waited_for(node);
        (1..=SMALL_GROUP).contains(&count) && self.receivers.nodes().all(known)
    }

    /// Whether the round trip to each receiver that is known has been measured.
    fn all_measured(&self) -> bool {
        self.receivers.len() >= self.few.unwrap_or(0) && self.receivers.all_measured()
    }

    /// Somebody is new who may listen: while the round trip is a guess, the next probe does not wait for
    /// its turn.
    pub fn on_newcomer(&mut self, now: Time) {
        self.now = self.now.max(now);
        if !self.receivers.any_measured() {
            self.probe.renew(self.now);
        }
    }

    /// Just so many listen from now on, as somebody knows who hears them otherwise; `None`: nobody knows.
    /// More than are a small group do not count.
    pub fn set_few(&mut self, few: Option<usize>) {
        self.few = few.filter(|few| (1..=SMALL_GROUP).contains(few));
    }

    fn cycle_timing(&self) -> CycleTiming {
        let grtt = self.grtt();
        let backoff = u32::from(self.backoff());
        // What is on its way to all that are known is known, too.
        if self.is_small_group() && self.coding.parity > 0 {
            return CycleTiming { aggregate: Duration::ZERO, holdoff: Duration::ZERO };
        }
        let at_once = self.unicast || (self.coding.parity == 0 && backoff == 0);
        let aggregate = if at_once { Duration::ZERO } else { grtt * (backoff + 1) };
        CycleTiming { aggregate, holdoff: grtt }
    }

    /// How long an object must have been quiet before it may give way to another.
    fn quiet(&self) -> Duration {
        if self.patience <= 0.0 {
            return Duration::ZERO;
        }
        let cycles = self.patience * f64::from(self.backoff() + 1);
        self.grtt().mul_f64(cycles).max(FLOW_CONTROL_MIN)
    }

    /// Interval of flushes and of requests for acknowledgement (RFC 5740 5.1, 5.5.3). The first after
    /// something was sent follow each other as soon as they may: they, or what they bring back, may
    /// be lost, and meanwhile nothing is sent.
    fn flush_interval(&self) -> Duration {
        let soon = self.grtt() * 2;
        match self.flush.sent() {
            0..PROMPT_FLUSHES => soon,
            _ => soon.max(self.config.flush_min),
        }
    }

    /// What a full message takes.
    fn message_time(&self) -> Duration {
        let bytes = HEADER_ALLOWANCE + usize::from(self.coding.segment_size);
        self.controller.rate().time_for(bytes)
    }

    /// Advertises the estimate, but at least one packet interval: at a low rate nothing is answered
    /// sooner.
    fn advertise_grtt(&mut self) {
        let rate = self.controller.rate();
        let packet = if rate == Bitrate::bps(0) { Duration::ZERO } else { self.message_time() };
        let grtt = self.grtt.estimate().max(packet).min(self.config.grtt_max);
        let quantized =
            QuantizedRtt::from_nanos(u64::try_from(grtt.as_nanos()).unwrap_or(u64::MAX));
        if quantized != self.advertised.0 || self.advertised.1.is_zero() {
            let old = self.advertised.1;
            self.advertised = (quantized, Duration::from_nanos(quantized.to_nanos()));
            self.wait_out(old);
        }
    }

    /// A receiver's NACK cycle keeps the GRTT it began with. When the estimate falls so far that
    /// all requests of a flush could pass within one such cycle, that time is waited out.
    fn wait_out(&mut self, old: Duration) {
        let cycle = old * (2 * u32::from(self.backoff()) + CYCLE_BEYOND_BACKOFF);
        if cycle > self.flush_interval().saturating_mul(self.config.robust_factor) {
            self.answerable_from = self.answerable_from.max(self.now + cycle);
        }
    }
}
