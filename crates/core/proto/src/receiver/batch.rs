//! A batch of NORM_DATA messages from one super-packet. What they have in common is processed once.
//!
//! Only the simple case is handled here: consecutive symbols that are all wanted. Other messages
//! are processed one by one.

use super::{Local, pinned_identity::Identity, remote_sender::RemoteSender};
use crate::{
    congestion::Mode,
    context::Context,
    datagram::{Ecn, RecvMeta},
    time::Duration,
};
use fanfare_wire::{Data, DataBatch, EncodingSymbolId, FecPayloadId, Sequence, ext::ExtTime};

impl RemoteSender {
    /// What follows `head`, which was heard. Returns how much of it is done with.
    pub(super) fn on_batch(
        &mut self,
        ctx: &mut Context<'_>,
        local: &Local,
        meta: &RecvMeta,
        head: &Data<'_>,
        batch: DataBatch<'_>,
    ) -> usize {
        let identity = Identity { source: meta.source, instance: head.sender.instance_id };
        if !self.identity.is_established() || self.identity.pinned() != identity {
            return 0;
        }
        let field = self.field(head.object_transport_id, head.payload_id.fec_id, None);
        let id = head.payload_id.unpack(field);
        let Some(symbol) = id.symbol.0.checked_add(1) else { return 0 };
        let id = FecPayloadId { symbol: EncodingSymbolId(symbol), ..id };
        let Some(objects) = &mut self.objects else { return 0 };
        let object = objects.newest().nearest(head.object_transport_id);
        let id = objects.open(object).map_or(id, |open| open.whole_number(id));
        let batch = batch.first(objects.batch_wanted(object, id, &batch));
        if batch.is_empty() {
            return 0;
        }
        self.measure_batch(ctx, meta, head, &batch);
        self.reflection.on_heard(meta.source, batch.len() * batch.datagram_size());
        let Some(objects) = &mut self.objects else { return 0 };
        if objects.on_batch(ctx, &mut self.decoder, object, id, batch) {
            self.on_new(ctx, local, object, id.block.0);
        }
        batch.len()
    }

    /// As [`Self::measure`] would of each. Messages that find none missing count together; one that finds a
    /// loss counts alone, for what came before it tells what the loss means.
    fn measure_batch(
        &mut self,
        ctx: &mut Context<'_>,
        meta: &RecvMeta,
        head: &Data<'_>,
        batch: &DataBatch<'_>,
    ) {
        let (bytes, mut left) = (batch.datagram_size(), batch.len() as u16);
        let (mut next, stamp) = (head.sender.sequence.0.wrapping_add(1), head.extensions.time());
        let marked = meta.ecn == Some(Ecn::Ce);
        let rtt = self.feedback.path_rtt(&self.timing);
        self.reception.on_messages(left);
        while left > 0 {
            let calm = if marked { 0 } else { self.loss.on_calm(ctx.now, Sequence(next), left) };
            let count = calm.max(1);
            self.rate.on_batch(ctx.now, (bytes, count), rtt, self.loss.events() == 0);
            if calm > 0 {
                self.measure_calm(ctx, meta, (bytes, calm), (stamp, rtt));
            } else {
                self.measure_loss(ctx, meta, (Sequence(next), bytes), rtt);
                if let Some(time) = stamp {
                    self.on_stamp(ctx.now, meta, time);
                }
            }
            (next, left) = (next.wrapping_add(count), left - count);
        }
    }

    /// What the path does to `count` messages, unmarked and none missing before any of them.
    fn measure_calm(
        &mut self,
        ctx: &Context<'_>,
        meta: &RecvMeta,
        (bytes, count): (usize, u16),
        (stamp, rtt): (Option<ExtTime>, Duration),
    ) {
        let (arrived, counts) = (ctx.now.before(meta.waited), self.feedback.mode() == Mode::Path);
        if !counts && stamp.is_none() {
            return;
        }
        for _ in 0..count {
            if counts {
                self.path.on_message(arrived, bytes, 0, false, rtt);
            }
            // Stamps count before the sender has said that it wants to know of the path.
            if let Some(time) = stamp {
                self.path.on_stamp(arrived, time);
            }
        }
        self.tell_jump(ctx.now);
    }
}
