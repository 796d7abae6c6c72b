//! What each machine says, in the words of the wire.

use super::{Sender, ack::Point, repair_adv, roll_call::CallPace, schedule::Turn};
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
/// Bytes of a call and its headers, besides names and content: NORM's 16, IP's and UDP's 28.
const ROLL_CALL_BYTES: usize = ROLL_CALL_HEADER + 44;
/// Bytes of an answer to a call, with a short name and headers.
const ANSWER_BYTES: usize = 112;
/// Messages that go together after a probe when the controller wants it.
const PAIR: u8 = 2;
/// Parts of objects that go out in a row before it is asked again whose turn it is: a super-packet.
const ROW: u8 = 64;
/// Bytes of a node id.
const NODE_ID_BYTES: usize = 4;
/// Bytes of an object id in SQUELCH.
const OBJECT_ID_BYTES: usize = 2;

impl Sender {
    /// Appends one message to `out` if one may go now.
    pub(crate) fn poll_message(&mut self, ctx: &mut Context<'_>, out: &mut Vec<u8>) -> bool {
        self.now = self.now.max(ctx.now);
        if self.ticked != Some(self.now) {
            self.tick(ctx);
        }
        let rate = self.rate();
        if self.pace.next(rate) > self.now {
            let pending = self.turn().is_some();
            self.pace.on_early(pending, rate);
            return false;
        }
        let start = out.len();
        // A turn that cannot be taken (unreadable object) removes its cause: the loop ends.
        while let Some(turn) = self.next_turn() {
            if self.speak(ctx, turn, out) {
                self.sequence = self.sequence.next();
                self.messages += 1;
                self.pace.on_sent(self.now, out.len() - start, rate);
                self.controller.on_sent(self.now, out.len() - start);
                if turn == Turn::Probe && self.controller.pairs() {
                    self.pace.join(PAIR);
                }
                return true;
            }
            out.truncate(start);
            self.row = 0;
        }
        self.pace.on_nothing();
        false
    }

    /// When a message of the driver's own may take a turn.
    pub(crate) fn next_own(&self) -> Time {
        self.pace.next(self.rate())
    }

    /// It has.
    pub(crate) fn on_own(&mut self, now: Time, bytes: usize) {
        self.now = self.now.max(now);
        let rate = self.rate();
        self.pace.on_sent(self.now, bytes, rate);
        self.controller.on_sent(self.now, bytes);
    }

    /// Whose turn it is. Of a row of parts that go out together nothing but the last can make another
    /// machine's turn due: it is asked for once in a row.
    fn next_turn(&mut self) -> Option<Turn> {
        let more = self.cache.has_new() || self.cache.has_repair();
        if self.row > 0 && more {
            self.row -= 1;
            return Some(Turn::Object);
        }
        let turn = self.turn();
        self.repeated = self.repeated_fields();
        self.row = if turn == Some(Turn::Object) { ROW } else { 0 };
        turn
    }

    /// Somebody may have been heard, or told something, since the last batch.
    pub(crate) fn begin_batch(&mut self) {
        self.row = 0;
    }

    fn speak(&mut self, ctx: &mut Context<'_>, turn: Turn, out: &mut Vec<u8>) -> bool {
        self.last = None;
        match turn {
            Turn::Eot => self.speak_eot(out),
            Turn::RepairAdv => self.speak_repair_adv(out),
            Turn::Squelch => self.speak_squelch(out),
            Turn::Probe => self.speak_probe(out),
            Turn::RollCall => self.speak_roll_call(out),
            Turn::Watermark(point) => return self.speak_watermark(point, out),
            Turn::Object => return self.speak_object(ctx, out),
            Turn::Flush => return self.speak_flush(out),
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

    fn speak_eot(&mut self, out: &mut Vec<u8>) {
        Eot { sender: self.fields(), extensions: Extensions::default() }.encode(out);
        self.eot.on_sent(self.now, self.grtt());
    }

    fn speak_repair_adv(&mut self, out: &mut Vec<u8>) {
        let bound = usize::from(self.coding.segment_size);
        let (requests, complete) = self
            .repair
            .collecting()
            .map_or((Vec::new(), true), |demand| repair_adv::encode(demand, &self.coding, bound));
        let cc = self.receivers.limiting(self.probe.sequence(), &self.service);
        let message = RepairAdv {
            sender: self.fields(),
            flags: if complete { 0 } else { REPAIR_ADV_LIMIT },
            extensions: Extensions::default(),
            requests: RepairRequests::default(),
        };
        message.encode(Some(&cc), &requests, out);
        self.advert.on_sent(self.now, self.grtt());
    }

    /// The repair window's lower end, and holes above it that were asked for.
    fn speak_squelch(&mut self, out: &mut Vec<u8>) {
        let mut invalid = self.squelch.on_sent(self.now, self.grtt());
        invalid.retain(|id| self.cache.is_hole(*id));
        let (earliest, object) = self.cache.earliest();
        invalid.sort_by_key(|id| earliest.distance_to(*id));
        invalid.truncate(usize::from(self.coding.segment_size) / OBJECT_ID_BYTES);
        let block_len = object.map_or(0, |object| object.block_len(0));
        let message = Squelch {
            sender: self.fields(),
            object_transport_id: earliest,
            payload_id: self.coding.payload_id(0, block_len, 0),
            extensions: Extensions::default(),
            invalid_objects: ObjectIds::default(),
        };
        message.encode(&invalid, out);
    }

    fn speak_probe(&mut self, out: &mut Vec<u8>) {
        self.grtt.on_probe(self.now);
        self.advertise_grtt();
        // On a short path once per round trip would be thousands a second.
        let interval = self.controller.probe_interval(self.grtt());
        let interval = interval.map(|interval| interval.max(self.config.grtt_min));
        let least = self.least_interval(PROBE_BYTES);
        let (cc_sequence, send_time) = self.probe.on_sent(self.now, (self.grtt(), least), interval);
        let sending = core::mem::take(&mut self.active);
        let probing = Probing { grtt: self.grtt(), cc_sequence, sending };
        self.controller.on_probe(self.now, &probing);
        let nodes = self.receivers.take_recent(&self.controller.limiting());
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

    fn speak_roll_call(&mut self, out: &mut Vec<u8>) {
        let max = usize::from(self.coding.segment_size).min(ROLL_CALL_MAX);
        let fit = max.saturating_sub(ROLL_CALL_HEADER + self.roll.content().len()) / NODE_ID_BYTES;
        let round = self.roll.on_sent(self.now, self.call_pace(), fit);
        let mut content = Vec::new();
        let named = (&round.known[..], round.given_up);
        roll_call::encode(round.spread, named, self.roll.content(), max, &mut content);
        let (sender, extensions) = (self.fields(), Extensions::default());
        Application { sender, extensions, content: &content }.encode(out);
    }

    fn call_pace(&self) -> CallPace {
        let backoff = self.grtt() * u32::from(self.backoff());
        let least = self.least_interval(ROLL_CALL_BYTES + self.roll.content().len());
        let answer = self.controller.rate().time_for(ANSWER_BYTES);
        CallPace { backoff, least, answer, alone: self.unicast }
    }

    /// By when whoever has heard the last roll call, and is no farther than those who have answered, has
    /// answered. `None`: the roll is not called.
    pub(crate) fn answered_by(&self, now: Time) -> Option<Time> {
        let rtt = self.receivers.farthest().map_or(self.grtt(), |(_, rtt)| rtt);
        self.roll.answered_by(now, rtt, self.call_pace())
    }

    /// The least interval of calls, or of probes, of so many bytes while data flows: on a slow line
    /// a call every two seconds would take more than all requests. While receivers are waited for,
    /// nothing else is to be sent.
    fn least_interval(&self, bytes: usize) -> Duration {
        let least = self.controller.rate().time_for(bytes).saturating_mul(ASIDE_PARTS);
        if self.held { Duration::ZERO } else { least.min(self.config.probe_max) }
    }

    fn speak_watermark(&mut self, point: Point, out: &mut Vec<u8>) -> bool {
        let interval = self.flush_interval();
        let fit = usize::from(self.coding.segment_size) / NODE_ID_BYTES;
        let nodes = self.watermark.on_flushed(self.now, interval, fit, self.patience);
        if nodes.is_empty() {
            return false;
        }
        // At the end of transmission it tells the others as much as a plain flush.
        if self.cache.newest_begun() == Some(point.ordinal) {
            self.flush.on_flushed(self.now, interval, self.patience);
        }
        self.flush_message(point.object, point.id).encode(None, &nodes, out);
        true
    }

    fn speak_flush(&mut self, out: &mut Vec<u8>) -> bool {
        let newest = self.cache.newest_begun().and_then(|ordinal| self.cache.get(ordinal));
        let Some((object, id)) = newest.map(|o| (o.key.object, o.partition.last())) else {
            self.flush.abandon();
            return false;
        };
        self.flush_message(object, id).encode(None, &[], out);
        self.flush.on_flushed(self.now, self.flush_interval(), self.patience);
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
pub(super) fn own_extension(bytes: &Option<[u8; 4]>) -> Extensions<'_> {
    let area = bytes.as_ref().map_or(&[][..], |bytes| &bytes[..]);
    Extensions::parse(area).unwrap_or_default()
}
