//! Writes the message of the machine that sends next.

use super::{
    Sender, TransmitObject, ack::Point, repair_adv, roll_call::CallTiming, schedule::NextMessage,
};
use crate::{
    congestion::{Mode, Probing},
    context::Context,
    roll_call,
    time::{Duration, Time},
};
use alloc::vec::Vec;
use fanfare_wire::{
    FecPayloadId, GroupSize, ObjectTransportId, QuantizedRate, RepairRequests,
    cmd::{Application, Cc, CcNodes, Eot, Flush, NodeIds, ObjectIds, RepairAdv, Squelch},
    ext::{ExtMode, Extensions},
    header::SenderFields,
};

/// NORM_REPAIR_ADV_FLAG_LIMIT: not all requests found room (RFC 5740 4.2.3.5).
const REPAIR_ADV_LIMIT: u8 = 0x01;
/// Longest roll call: receivers that do not know the segment size yet must take it, too.
const ROLL_CALL_MAX: usize = 1400;
/// Bytes of a roll call besides its names and content.
const ROLL_CALL_HEADER: usize = 12;
/// Calls take one part in so many of the rate while data flows, at most; and so do probes.
const ASIDE_PARTS: u32 = 2000;
/// Bytes of a probe that names one receiver: NORM's 32, IP's and UDP's 28.
const PROBE_BYTES: usize = 60;
/// Probes that the rate hangs on take no more than one part of so many of it, with a few receivers' names two.
const PROBE_PARTS: u32 = 6;
/// Bytes of a call and its headers, besides names and content: NORM's 16, IP's and UDP's 28.
const ROLL_CALL_BYTES: usize = ROLL_CALL_HEADER + 44;
/// Bytes of an answer to a call, with a short name and headers.
const ANSWER_BYTES: usize = 112;
/// Messages that go together after a probe when the controller wants it.
const PAIR: u8 = 2;
/// Parts of objects that go out in a row before it is asked again whose turn it is: a super-packet.
const BATCH: u8 = 64;
/// Bytes of a node id.
const NODE_ID_BYTES: usize = 4;
/// Bytes of an object id in SQUELCH.
const OBJECT_ID_BYTES: usize = 2;

impl Sender {
    /// Appends one message to `out` if one may go now.
    pub fn poll_message(&mut self, ctx: &mut Context<'_>, out: &mut Vec<u8>) -> bool {
        self.now = self.now.max(ctx.now);
        if self.ticked != Some(self.now) {
            self.tick(ctx);
        }
        let rate = self.rate();
        if self.pacer.next(rate) > self.now {
            let pending = self.next_message().is_some();
            self.pacer.on_early(pending, rate);
            return false;
        }
        let start = out.len();
        // A turn that cannot be taken (unreadable object) removes its cause: the loop ends.
        while let Some(next_message) = self.next_due() {
            if self.write(ctx, next_message, out) {
                self.sequence = self.sequence.next();
                self.messages.on_sent(self.now, 1);
                self.pacer.on_sent(self.now, out.len() - start, rate);
                self.note_sent(out.len() - start);
                if next_message == NextMessage::Probe && self.controller.pairs() {
                    self.pacer.join(PAIR);
                }
                return true;
            }
            out.truncate(start);
            self.batch_left = 0;
        }
        self.pacer.on_nothing();
        false
    }

    /// When a message of the driver's own may take a turn.
    pub fn next_own(&self) -> Time {
        self.pacer.next(self.rate())
    }

    /// It has.
    pub fn on_own(&mut self, now: Time, bytes: usize) {
        self.now = self.now.max(now);
        let rate = self.rate();
        self.pacer.on_sent(self.now, bytes, rate);
        self.note_sent(bytes);
    }

    /// The rate control learns of a message, and may want to know at once what becomes of it.
    fn note_sent(&mut self, bytes: usize) {
        self.controller.on_sent(self.now, bytes);
        if self.controller.wants_probe() {
            self.probe.hasten(self.now, Duration::ZERO);
        }
    }

    /// Whose turn it is. Of a row of parts that go out together nothing but the last can make another
    /// machine's turn due: it is requested once in a row.
    fn next_due(&mut self) -> Option<NextMessage> {
        let more = self.cache.has_new() || self.cache.has_repair();
        if self.batch_left > 0 && more {
            self.batch_left -= 1;
            return Some(NextMessage::Object);
        }
        let next_message = self.next_message();
        self.repeated = self.repeated_fields();
        self.batch_left = if next_message == Some(NextMessage::Object) { BATCH } else { 0 };
        next_message
    }

    /// Somebody may have been heard, or told something, since the last batch.
    pub fn begin_batch(&mut self) {
        self.batch_left = 0;
    }

    fn write(
        &mut self,
        ctx: &mut Context<'_>,
        next_message: NextMessage,
        out: &mut Vec<u8>,
    ) -> bool {
        self.last = None;
        match next_message {
            NextMessage::Eot => self.write_eot(out),
            NextMessage::RepairAdv => self.write_repair_adv(out),
            NextMessage::Squelch => self.write_squelch(out),
            NextMessage::Probe => self.write_probe(out),
            NextMessage::RollCall => self.write_roll_call(out),
            NextMessage::Watermark(point) => return self.write_watermark(point, out),
            NextMessage::Object => return self.write_object(ctx, out),
            NextMessage::Flush => return self.write_flush(out),
        }
        true
    }

    /// What every message repeats.
    pub(super) fn fields(&self) -> SenderFields {
        let (backoff, gsize) = self.repeated;
        SenderFields {
            sequence: self.sequence,
            source_id: self.node_id,
            instance_id: self.config.instance_id,
            grtt: self.advertised.0,
            backoff,
            gsize,
        }
    }

    /// The group is at least those already heard, and no more where all are known.
    fn repeated_fields(&self) -> (u8, GroupSize) {
        let heard = u32::try_from(self.receivers.len()).unwrap_or(u32::MAX);
        let least = if self.is_small_group() { 0 } else { self.config.group_size };
        (self.backoff(), GroupSize::from_receivers(least.max(heard)))
    }

    fn write_eot(&mut self, out: &mut Vec<u8>) {
        Eot { sender: self.fields(), extensions: Extensions::default() }.encode(out);
        self.eot.on_sent(self.now, self.grtt());
    }

    fn write_repair_adv(&mut self, out: &mut Vec<u8>) {
        let bound = usize::from(self.coding.segment_size);
        let (requests, complete) = self
            .repair
            .collecting()
            .map_or((Vec::new(), true), |demand| repair_adv::encode(demand, &self.coding, bound));
        let cc = self.receivers.limiting(self.probe.sequence(), &self.slow);
        let message = RepairAdv {
            sender: self.fields(),
            flags: if complete { 0 } else { REPAIR_ADV_LIMIT },
            extensions: Extensions::default(),
            requests: RepairRequests::default(),
        };
        message.encode(Some(&cc), &requests, out);
        self.repair_adv.on_sent(self.now, self.grtt());
    }

    /// The repair window's lower end, and holes above it that were requested.
    fn write_squelch(&mut self, out: &mut Vec<u8>) {
        let mut invalid = self.squelch.on_sent(self.now, self.grtt());
        invalid.retain(|id| self.cache.is_hole(*id));
        let (earliest, object) = self.cache.earliest();
        let low = object.map_or(0, TransmitObject::low);
        invalid.sort_by_key(|id| earliest.distance_to(*id));
        invalid.truncate(usize::from(self.coding.segment_size) / OBJECT_ID_BYTES);
        let block_len = object.map_or(0, |object| object.block_len(0));
        let message = Squelch {
            sender: self.fields(),
            object_transport_id: earliest,
            payload_id: self.coding.payload_id(low, block_len, 0),
            extensions: Extensions::default(),
            invalid_objects: ObjectIds::default(),
        };
        message.encode(&invalid, out);
    }

    fn write_probe(&mut self, out: &mut Vec<u8>) {
        let few = self.is_small_group();
        self.grtt.on_probe(self.now, few);
        self.advertise_grtt();
        let interval = self.rate_bound_interval();
        let least = self.least_interval(PROBE_BYTES);
        let (cc_sequence, send_time) = self.probe.on_sent(self.now, (self.grtt(), least), interval);
        let sending = core::mem::take(&mut self.active);
        let probing = Probing { grtt: self.grtt(), cc_sequence, sending };
        self.pass_over_silent();
        self.pass_over_lossy();
        self.controller.on_probe(self.now, &probing);
        let mut limiting = self.controller.limiting();
        if limiting.is_empty() {
            limiting = self.heeded.asked(cc_sequence);
        }
        let nodes = self.receivers.take_recent(&limiting);
        let rate = self.controller.rate().as_bytes_per_second();
        let mode = self.controller.mode().and_then(Mode::to_wire).map(ExtMode::to_bytes);
        let message = Cc {
            sender: self.fields(),
            cc_sequence,
            send_time,
            extensions: own_extension(&mode),
            nodes: CcNodes::default(),
        };
        message.encode(Some(QuantizedRate::from_bytes_per_second(rate)), &nodes, out);
    }

    /// How often the rate control has to probe, if the rate hangs on it. On a short path once per round trip would
    /// be thousands a second. And at a low rate probes would take all of it: no data would flow, and nobody
    /// could see that the path is free again.
    pub(in crate::sender) fn rate_bound_interval(&self) -> Option<Duration> {
        let interval = self.controller.probe_interval(self.grtt())?;
        let least = self.controller.rate().time_for(PROBE_BYTES).saturating_mul(PROBE_PARTS);
        Some(interval.max(self.config.grtt_min).max(least.min(self.config.probe_max)))
    }

    fn write_roll_call(&mut self, out: &mut Vec<u8>) {
        let max = usize::from(self.coding.segment_size).min(ROLL_CALL_MAX);
        let fit =
            max.saturating_sub(ROLL_CALL_HEADER + self.roll_call.content().len()) / NODE_ID_BYTES;
        let round = self.roll_call.on_sent(self.now, self.call_timing(), fit);
        let mut content = Vec::new();
        let named = (&round.known[..], round.given_up);
        roll_call::encode(round.spread, named, self.roll_call.content(), max, &mut content);
        let (sender, extensions) = (self.fields(), Extensions::default());
        Application { sender, extensions, content: &content }.encode(out);
    }

    fn call_timing(&self) -> CallTiming {
        let backoff = self.grtt() * u32::from(self.backoff());
        let least = self.least_interval(ROLL_CALL_BYTES + self.roll_call.content().len());
        let answer = self.controller.rate().time_for(ANSWER_BYTES);
        CallTiming { backoff, least, answer, alone: self.unicast }
    }

    /// By when whoever has heard the last roll call, and is no farther than those who have answered, has
    /// answered. `None`: the roll is not called.
    pub fn answered_by(&self, now: Time) -> Option<Time> {
        let rtt = self
            .receivers
            .farthest(|node| self.heeded.has(node) && !self.aside.has(node))
            .map_or(self.grtt(), |(_, rtt)| rtt);
        self.roll_call.answered_by(now, rtt, self.call_timing())
    }

    /// The least interval of calls, or of probes, of so many bytes while data flows: on a slow line
    /// a call every two seconds would take more than all requests. While receivers are waited for,
    /// nothing else is to be sent.
    fn least_interval(&self, bytes: usize) -> Duration {
        let least = self.controller.rate().time_for(bytes).saturating_mul(ASIDE_PARTS);
        if self.held { Duration::ZERO } else { least.min(self.config.probe_max) }
    }

    fn write_watermark(&mut self, point: Point, out: &mut Vec<u8>) -> bool {
        let interval = self.flush_interval();
        let fit = usize::from(self.coding.segment_size) / NODE_ID_BYTES;
        let nodes = self.watermark.on_flushed(self.now, interval, fit, self.answerable_from);
        if nodes.is_empty() {
            return false;
        }
        // At the end of transmission it tells the others as much as a plain flush.
        let all = point.until == 0 || !self.cache.has_new();
        if all && self.cache.newest_begun() == Some(point.ordinal) {
            self.flush.on_flushed(self.now, interval, self.answerable_from);
        }
        let question = self.question.as_deref();
        self.flush_message(point.object, point.id).encode(question, &nodes, out);
        true
    }

    fn write_flush(&mut self, out: &mut Vec<u8>) -> bool {
        let newest = self.cache.newest_begun().and_then(|ordinal| self.cache.get(ordinal));
        let last = newest.and_then(|object| Some((object.key.object, object.last_sent()?)));
        let Some((object, id)) = last else {
            self.flush.abandon();
            return false;
        };
        self.flush_message(object, id).encode(None, &[], out);
        self.flush.on_flushed(self.now, self.flush_interval(), self.answerable_from);
        true
    }

    fn flush_message(&self, object: ObjectTransportId, id: FecPayloadId) -> Flush<'static> {
        Flush {
            sender: self.fields(),
            object_transport_id: object,
            payload_id: self.coding.pack(id),
            extensions: Extensions::default(),
            acking_nodes: NodeIds::default(),
        }
    }
}

/// An extension of our own, if there is one, as what an encoder takes.
fn own_extension(bytes: &Option<[u8; 4]>) -> Extensions<'_> {
    let area = bytes.as_ref().map_or(&[][..], |bytes| &bytes[..]);
    Extensions::parse(area).unwrap_or_default()
}
