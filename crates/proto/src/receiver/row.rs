//! DATA that follow each other in a super-packet: what they have in common is looked at once.
//!
//! Only the plain case is taken here, symbols in order that are all wanted; whatever else a row may
//! hold is left to be heard message by message.

use super::{Local, guard::Identity, loss::PathState, remote_sender::RemoteSender};
use crate::{
    congestion::Mode,
    context::Context,
    datagram::{Ecn, RecvMeta},
};
use fanfare_wire::{Data, EncodingSymbolId, FecPayloadId, Row, Sequence};

impl RemoteSender {
    /// What follows `head`, which was heard. Returns how much of it is done with.
    pub(super) fn on_row(
        &mut self,
        ctx: &mut Context<'_>,
        local: &Local,
        meta: &RecvMeta,
        head: &Data<'_>,
        row: Row<'_>,
    ) -> usize {
        let identity = Identity { source: meta.source, instance: head.sender.instance_id };
        if !self.guard.is_established() || self.guard.pinned() != identity {
            return 0;
        }
        let field = self.field(head.object_transport_id, head.payload_id.fec_id, None);
        let id = head.payload_id.unpack(field);
        let Some(symbol) = id.symbol.0.checked_add(1) else { return 0 };
        let id = FecPayloadId { symbol: EncodingSymbolId(symbol), ..id };
        let Some(objects) = &mut self.objects else { return 0 };
        let object = objects.newest().nearest(head.object_transport_id);
        let row = row.first(objects.row_wanted(object, id, &row));
        if row.is_empty() {
            return 0;
        }
        self.measure_row(ctx, meta, head, &row);
        let Some(objects) = &mut self.objects else { return 0 };
        if objects.on_row(ctx, &mut self.decoder, object, id, row) {
            self.on_new(ctx, local, object, id.block.0);
        }
        row.len()
    }

    /// As [`Self::measure`] would of each.
    fn measure_row(
        &mut self,
        ctx: &mut Context<'_>,
        meta: &RecvMeta,
        head: &Data<'_>,
        row: &Row<'_>,
    ) {
        let (now, bytes, count) = (ctx.now, row.datagram_size(), row.len() as u16);
        let first = Sequence(head.sender.sequence.0.wrapping_add(1));
        let marked = meta.ecn == Some(Ecn::Ce);
        self.reception.on_messages(count);
        let rtt = self.feedback.path_rtt(&self.timing);
        let events = self.loss.events();
        self.rate.on_row(now, (bytes, count), rtt, events == 0);
        let (rate, size) = (self.rate.bytes_per_second(), self.rate.message_size());
        let path = PathState { rtt, rate, size };
        let lost = self.loss.on_row(now, (first, count), marked, path);
        ctx.stats.lost += lost;
        self.measure_path(ctx, meta, (head, bytes), (count, lost));
        if self.loss.events() > events {
            self.feedback.on_news(now, self.path.pause());
        }
    }

    fn measure_path(
        &mut self,
        ctx: &Context<'_>,
        meta: &RecvMeta,
        (head, bytes): (&Data<'_>, usize),
        (count, mut lost): (u16, u64),
    ) {
        let (arrived, marked) = (ctx.now.before(meta.waited), meta.ecn == Some(Ecn::Ce));
        let rtt = self.feedback.path_rtt(&self.timing);
        let (stamp, counts) = (head.extensions.time(), self.feedback.mode() == Mode::Path);
        if !counts && stamp.is_none() {
            return;
        }
        for _ in 0..count {
            if counts {
                self.path.on_message(arrived, bytes, core::mem::take(&mut lost), marked, rtt);
            }
            // Stamps count before the sender has said that it wants to know of the path.
            if let Some(time) = stamp {
                self.path.on_stamp(arrived, time);
            }
        }
        if self.path.take_jump() {
            self.feedback.on_news(ctx.now, self.path.pause());
        }
    }
}
