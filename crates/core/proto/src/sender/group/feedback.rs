//! Checks that NACKs and ACKs are for this sender and this instance, and passes them to the
//! machines.

use crate::{
    context::Context,
    datagram::RecvMeta,
    event::Event,
    explicit_repair,
    roll_call::{RECEPTION_ACK, STATUS_ACK},
    sender::{
        CYCLE_BEYOND_BACKOFF, Sender,
        cache::Found,
        demand::{Demand, Reading},
        in_flight::BlockInFlight,
        once,
        receivers::{Heard, Report},
    },
    stats::DropReason,
    time::{Duration, Time},
};
use alloc::vec::Vec;
use fanfare_wire::{
    Ack, AckKind, Nack, NodeId, ObjectTransportId, ext::Extensions, header::FeedbackFields,
};

/// By so much, a scheduler's slices, a round trip may have been measured too long.
const RTT_NOISE: Duration = Duration::from_millis(20);
/// A receiver that seems to have moved is probed no more often than this: whoever pretends to cannot
/// cause more than two probes a second.
const CHALLENGE: Duration = Duration::from_millis(500);
/// Blocks that are requested again wait when they are more than this part of what has been sent: who was there from the beginning is not held up by more than about 2 % then.
const HISTORY_PART: u64 = 64;
/// NACK cycles of silence after which others have been served. Two: in the first they may have kept
/// silent because they overheard one who is put off.
const SILENT: u32 = 2;
/// And where others have yet to acknowledge, so that they may lack something: who is put off lacks so
/// much that its requests cover theirs, and silence them twice before they speak all the same
/// (`UNHEEDED_MAX` of the receiver); what they say then may be lost once.
const SILENCED: u32 = 4;
/// Number of receivers that are waited for where all lack as much: nobody. So it is when a shaper has let the first
/// kilobytes pass at once, and has dropped what followed.
const SAME_FOR_ALL: u32 = 0;

impl Sender {
    /// A receiver requests repair.
    pub fn on_nack(&mut self, ctx: &mut Context<'_>, meta: &RecvMeta, nack: &Nack<'_>) {
        let Some(rtt) = self.hear(ctx, meta, &nack.feedback, &nack.extensions, Heard::Nack) else {
            return;
        };
        ctx.stats.nacks_received += 1;
        self.watermark.on_alive(nack.feedback.source_id);
        if self.is_put_off(nack.feedback.source_id) {
            return self.defer_nack(ctx, nack);
        }
        let mut reading = Reading::new(&nack.requests, &self.coding, &self.cache);
        (0..reading.ignored).for_each(|_| ctx.stats.drop(DropReason::RepairRequest));
        self.squelch.on_gone(&reading.gone);
        self.on_late_requests(&reading.gone);
        self.keep_wanted(&reading.demand);
        let put_off = self.put_off_history(ctx, nack.feedback.source_id, &mut reading.demand);
        self.slow.on_asked(nack.feedback.source_id, put_off);
        if !put_off && !reading.demand.is_empty() {
            self.slow.on_busy(self.now);
        }
        let node = nack.feedback.source_id;
        self.count_first_requests(node, &reading.demand);
        self.counts_by_share(node);
        // While there is more to send, a repair that is lost can be requested again at no cost. At
        // the end every round of requests is time in which nothing is sent. Who is put off has lost
        // much, and gets no more than it requests.
        if self.is_ending() && !self.slow.is_deferred(node) {
            let loss = self.loss(node);
            reading.demand.allow(|need| self.parity_worth(need, &[loss]));
        }
        if self.is_small_group() && explicit_repair::is_fast(self.message_time()) {
            reading.demand.serve_by_name();
        }
        self.deduct_in_flight(rtt, &mut reading.demand);
        let timing = self.cycle_timing();
        let now = self.now;
        if let Some(demand) = self.repair.on_demand(now, reading.demand, timing, self.position) {
            self.activate(&demand);
        }
        self.repair.on_asker(node);
        if self.all_have_asked()
            && let Some(demand) = self.repair.activate_early(now, timing)
        {
            self.activate(&demand);
        }
        if meta.unicast && self.backoff() > 0 && self.repair.collecting().is_some() {
            self.repair_adv.on_unicast_nack();
        }
    }

    /// What is on its way to the asker need not be sent again, where that is known of everybody. The
    /// asker's clock is that of the probe that it has heard last; a full message begun then is on the
    /// line for its own time. Who has heard none is as far away as anybody.
    fn deduct_in_flight(&self, rtt: Option<Duration>, demand: &mut Demand) {
        if self.is_small_group() {
            let age = rtt.unwrap_or(self.grtt()).saturating_add(self.message_time());
            let age = u64::try_from(age.as_nanos()).unwrap_or(u64::MAX);
            let seen = Time::from_nanos(self.now.as_nanos().saturating_sub(age));
            demand.deduct(&self.in_flight.since(seen));
        }
    }

    /// What a receiver lacks of blocks that it has not requested before is what the path has lost.
    /// Who lacks whole blocks was not there, and what is sent on demand was not sent.
    fn count_first_requests(&mut self, node: NodeId, demand: &Demand) {
        let Some(tally) = self.receivers.tally_mut(node) else { return };
        for (ordinal, wanted) in &demand.objects {
            let (Some(object), Some((last, _))) =
                (self.cache.get(*ordinal), wanted.symbols.last_key_value())
            else {
                continue;
            };
            let (first, end) = (tally.counted(*ordinal), last + 1);
            if first >= end || object.is_on_demand() {
                continue;
            }
            let whole = wanted.whole || !wanted.blocks.is_empty();
            let new = wanted.symbols.range(first..);
            let lost = new.map(|(_, symbols)| u64::from(symbols.need)).sum();
            let partition = &object.partition;
            let bytes = partition.block_start(end) - partition.block_start(first);
            let of = bytes.div_ceil(u64::from(partition.segment_size));
            let (lost, of) = if whole { (0, 0) } else { (lost, of) };
            tally.on_first_request((*ordinal, end), lost, of);
        }
    }

    /// Whether nobody is left to wait for: there is a watermark, so that the application has said
    /// who counts; all who have yet to acknowledge it have asked in this cycle, and so have all
    /// others that have been heard.
    fn all_have_asked(&self) -> bool {
        let asked = |node| self.repair.has_asked(node);
        let late = |node| self.slow.is_deferred(node);
        let done = |node| asked(node) || self.watermark.is_settled(node) || late(node);
        self.repair.collecting().is_some()
            && self.watermark.point().is_some()
            && self.watermark.pending().all(|node| asked(node) || late(node))
            && self.receivers.nodes().all(done)
    }

    /// What is wanted stays in the cache.
    fn keep_wanted(&mut self, demand: &Demand) {
        for ordinal in demand.objects.keys() {
            if let Some(object) = self.cache.get_mut(*ordinal) {
                object.active = self.now;
            }
        }
    }

    /// Whether a node's requests are put off: until the first pass is done, and the others, who
    /// could request some NACK cycles ([`CYCLE_BEYOND_BACKOFF`]) since, have been served.
    fn is_put_off(&mut self, node: NodeId) -> bool {
        if !self.slow.is_deferred(node) {
            return false;
        }
        let served = self.serves_tail(node);
        if served {
            self.begin_tail();
        }
        !served
    }

    fn serves_tail(&mut self, asker: NodeId) -> bool {
        let busy = self.cache.has_first_pass() || self.cache.has_repair();
        let other = |node| node != asker && !self.slow.is_deferred(node);
        let faster = |node| other(node) && !self.slow.lacks_much(node);
        let silent = if self.is_small_group() && !self.watermark.pending().any(faster) {
            SAME_FOR_ALL
        } else if self.watermark.pending().any(other) {
            SILENCED
        } else {
            SILENT
        };
        let cycles = self.nack_cycle() * silent;
        self.slow.serves_tail(if busy { Time::ZERO } else { self.now }, cycles)
    }

    /// A receiver's longest NACK cycle.
    pub(in crate::sender) fn nack_cycle(&self) -> Duration {
        self.grtt() * (2 * u32::from(self.backoff()) + CYCLE_BEYOND_BACKOFF)
    }

    /// Who comes late, or was away for long, requests blocks that were sent before and of which it
    /// has next to nothing: more of them than could be sent in one NACK cycle wait until the first
    /// pass is done and the others have been served. What it loses now is repaired at once.
    fn put_off_history(
        &mut self,
        ctx: &mut Context<'_>,
        node: NodeId,
        demand: &mut Demand,
    ) -> bool {
        let alone = self.unicast || self.receivers.len() < 2;
        let asked =
            |(ordinal, wanted): (&u64, _)| Some(self.cache.get(*ordinal)?.asked_again(wanted));
        let again: u64 = demand.objects.iter().filter_map(asked).sum();
        let at_once = self.controller.rate().bytes_in(self.nack_cycle());
        if alone || again <= at_once.max(self.progress / HISTORY_PART) || self.serves_tail(node) {
            return false;
        }
        ctx.stats.drop(DropReason::Deferred);
        self.flush.renew(self.now);
        demand.strip_again(&self.cache);
        true
    }

    /// Not served now. Nor remembered: the flushes that follow, and go on meanwhile, make the
    /// receiver request just what it lacks then.
    fn defer_nack(&mut self, ctx: &mut Context<'_>, nack: &Nack<'_>) {
        ctx.stats.drop(DropReason::Deferred);
        self.flush.renew(self.now);
        let reading = Reading::new(&nack.requests, &self.coding, &self.cache);
        self.squelch.on_gone(&reading.gone);
        self.keep_wanted(&reading.demand);
    }

    /// Requests become what is to be sent, but for blocks that were sent again a moment ago.
    pub(in crate::sender) fn activate(&mut self, demand: &Demand) {
        self.repair_adv.on_activation();
        let grtt = u64::try_from(self.grtt().as_nanos()).unwrap_or(u64::MAX);
        let since = Time::from_nanos(self.now.as_nanos().saturating_sub(grtt));
        let repaired = once::repaired(&self.in_flight.since(since), &self.cache);
        let left;
        let demand = if repaired.is_empty() {
            demand
        } else {
            left = once::without(demand, &repaired, &self.cache);
            &left
        };
        for (ordinal, wanted) in &demand.objects {
            if let Some(object) = self.cache.get_mut(*ordinal) {
                object.active = self.now;
                object.demand(wanted, &self.coding);
                self.cache.refresh(*ordinal);
                self.watermark.on_rewind(*ordinal);
            }
        }
    }

    /// Another node was heard to send a symbol of a block of ours, or a sum: who asked for that block is likely to have it
    /// from there.
    pub fn on_repaired(&mut self, object: ObjectTransportId, (block, symbol): (u32, Option<u16>)) {
        let Found::Cached(ordinal) = self.cache.find(object) else { return };
        let Some(object) = self.cache.get_mut(ordinal) else { return };
        if !object.on_repaired(block, symbol, &self.coding) {
            return;
        }
        let source = symbol.filter(|symbol| *symbol < object.block_len(block));
        let parity = u16::from(source.is_none());
        let by = BlockInFlight { parity, sources: source.into_iter().collect() };
        self.repair.on_repaired(ordinal, block, &by);
        self.cache.refresh(ordinal);
    }

    /// The same of the NORM_INFO of an object.
    pub fn on_info_repaired(&mut self, object: ObjectTransportId) {
        let Found::Cached(ordinal) = self.cache.find(object) else { return };
        let gathered = self.repair.has_info(ordinal);
        if self.cache.get_mut(ordinal).is_some_and(|object| object.on_info_repaired(gathered)) {
            self.repair.on_info_repaired(ordinal);
            self.cache.refresh(ordinal);
        }
    }

    /// A receiver acknowledges, reports, or answers the roll.
    pub fn on_ack(&mut self, ctx: &mut Context<'_>, meta: &RecvMeta, ack: &Ack<'_>) {
        let Some(rtt) = self.hear(ctx, meta, &ack.feedback, &ack.extensions, Heard::Ack) else {
            return;
        };
        let node = ack.feedback.source_id;
        match ack.kind {
            AckKind::Cc => {}
            AckKind::Flush(flush) => {
                let (object, id) = (flush.object_transport_id, flush.payload_id);
                let ours = id.fec_id == self.coding.fec_id;
                if ours && self.watermark.on_ack(node, object, id.unpack(self.coding.field)) {
                    let app = ack.extensions.app_ack().map_or(Vec::new(), |a| a.content.to_vec());
                    ctx.events.push(Event::WatermarkAck { node, object, app });
                }
                self.tell_watermark(ctx);
            }
            AckKind::Application(STATUS_ACK, content) => {
                let rtt = self.receivers.rtt(node).unwrap_or_default();
                self.watermark.on_status(self.now, node, rtt.saturating_sub(RTT_NOISE));
                // Who answers before it has heard a probe shall answer once more.
                if self.receivers.on_status(node) {
                    self.roll_call.on_answer(node);
                }
                ctx.events.push(Event::ReceiverStatus { node, status: content.to_vec() });
            }
            AckKind::Application(RECEPTION_ACK, content) => {
                self.on_reception(node, rtt, content);
            }
            AckKind::Application(..) => {}
        }
    }

    /// Messages that have arrived, and, of receivers of this version, runs of them that their systems
    /// have dropped.
    fn on_reception(&mut self, node: NodeId, rtt: Option<Duration>, content: &[u8]) {
        let Some((arrived, rest)) = content.split_first_chunk() else { return };
        // What has gone since then is still on its way.
        let sent = self.messages.until(self.now.before(rtt.unwrap_or(self.grtt())));
        let arrived = u32::from_be_bytes(*arrived);
        self.receivers.on_count(self.now, node, arrived, sent);
        if let Some(overruns) = rest.first_chunk()
            && self.heeded.has(node)
            && !self.is_overrun_ignored(node)
            && self.receivers.on_overruns(node, u32::from_be_bytes(*overruns))
            && !self.controller.on_overrun(self.now, node)
        {
            self.flow_control.on_overrun(self.now, node);
        }
    }

    fn tell_watermark(&mut self, ctx: &mut Context<'_>) {
        if let Some(outcomes) = self.watermark.poll_done() {
            self.on_watermark_done(&outcomes);
            ctx.events.push(Event::WatermarkDone { outcomes });
        }
    }

    /// What every feedback message tells of its sender: the round trip, where it echoes a probe.
    /// `None` when it is not for us.
    fn hear(
        &mut self,
        ctx: &mut Context<'_>,
        meta: &RecvMeta,
        feedback: &FeedbackFields,
        extensions: &Extensions<'_>,
        heard: Heard,
    ) -> Option<Option<Duration>> {
        self.now = self.now.max(ctx.now);
        let ours = (self.node_id, self.config.instance_id);
        if (feedback.server_id, feedback.instance_id) != ours {
            ctx.stats.drop(DropReason::NotForUs);
            return None;
        }
        if self.slow.is_evicted(feedback.source_id) {
            ctx.stats.drop(DropReason::Evicted);
            self.roll_call.on_given_up(self.now);
            return None;
        }
        let (claim, echoed) = ((feedback.source_id, meta.source), extensions.cc());
        let echoed = echoed.map(|cc| cc.cc_sequence);
        if !self.receivers.is_believed(self.now, claim, echoed, self.probe.sequence()) {
            // It may have moved: the next probe tells.
            self.probe.hasten(self.now, CHALLENGE);
            self.receivers.on_contested(feedback.source_id);
            self.watermark.on_contested(self.now, feedback.source_id);
            ctx.stats.drop(DropReason::ForeignSource);
            return None;
        }
        let plausible = |sequence| self.probe.is_plausible(sequence, feedback.grtt_response);
        let forged = echoed.is_some_and(|sequence| !plausible(sequence));
        let node = feedback.source_id;
        let rtt = match forged {
            true => None,
            false => self.measure(ctx, feedback, echoed.is_some()),
        };
        if forged {
            ctx.stats.drop(DropReason::Unconfirmed);
        }
        let (cc, path) = (extensions.cc(), extensions.path());
        let (cc, path) = (cc.filter(|_| !forged), path.filter(|_| !forged));
        if let Some(path) = path.filter(|_| self.unicast) {
            self.cover.on_report(self.messages.count(), path.loss());
        }
        let noted = self
            .receivers
            .on_report(self.now, &Report { node, source: meta.source, heard, rtt, cc, path });
        if noted.full {
            ctx.stats.drop(DropReason::TooManyReceivers);
        }
        if noted.new {
            ctx.events.push(Event::ReceiverNew { node, source: meta.source });
            if self.position.is_some() {
                self.flush.on_newcomer(self.now);
                self.roll_call.on_newcomer(self.now);
            }
        }
        let counts = self.counts(node, noted.feedback.as_ref());
        if let Some(rtt) = rtt.filter(|_| counts) {
            self.grtt.on_sample(self.now, rtt);
        }
        if let Some(feedback) = noted.feedback.filter(|_| counts && self.heeded.has(node)) {
            self.controller.on_feedback(self.now, &feedback);
            self.hasten_probe();
        }
        self.settle_grtt();
        self.advertise_grtt();
        Some(rtt)
    }

    /// The round trip that an echo tells, where it is believed. `proved`: with the number of a probe sent
    /// lately, of which it cannot be older.
    fn measure(
        &mut self,
        ctx: &mut Context<'_>,
        feedback: &FeedbackFields,
        proved: bool,
    ) -> Option<Duration> {
        let longest = self.config.grtt_max.saturating_mul(self.config.robust_factor.max(1));
        let rtt = self.probe.rtt(self.now, feedback.grtt_response?, longest)?;
        // Before anybody has answered the estimate is a guess, and may be half of what is true.
        let guess = if self.grtt.is_measured() { 1 } else { 2 };
        let usual = self.grtt.estimate() * guess;
        let told = (feedback.source_id, rtt);
        if !proved && !self.receivers.believes_rtt(self.now, told, usual) {
            ctx.stats.drop(DropReason::Unconfirmed);
            return None;
        }
        Some(rtt)
    }
}
